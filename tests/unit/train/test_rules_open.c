/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients in functions where sizes depend on data: the same bits as op by op, or a failure that
 * says which op needs known sizes. And gradients while memory runs out. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gradient_case.h"
#include "train_fixture.h"

typedef gradient_tensor_t tensor;

/* ---- ops on rows, whose number depends on data: float32[-1,2] ---- */

static tensor *column(gantry_scope_t *s) {
    return gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(2), (float[]){1.5f, -0.5f}, 8);
}

static const int32_t rows_axis = 0, columns_axis = 1;
static const gantry_reduce_options_t over_rows = {.axes = &rows_axis, .axis_count = 1};
static const gantry_reduce_options_t over_columns = {
    .axes = &columns_axis, .axis_count = 1, .keep_dims = true};

static tensor *op_mul(gantry_scope_t *s, tensor *rows) { return gantry_mul(s, rows, column(s)); }
static tensor *op_mul_self(gantry_scope_t *s, tensor *rows) { return gantry_mul(s, rows, rows); }
static tensor *op_two(gantry_scope_t *s, tensor *rows) {
    return gantry_mul(s, gantry_sigmoid(s, rows), gantry_tanh(s, rows));
}
static tensor *op_relu(gantry_scope_t *s, tensor *rows) { return gantry_relu(s, rows); }
static tensor *op_sum(gantry_scope_t *s, tensor *rows) { return gantry_sum(s, rows, &over_rows); }
static tensor *op_mean(gantry_scope_t *s, tensor *rows) { return gantry_mean(s, rows, &over_rows); }
static tensor *op_mean_all(gantry_scope_t *s, tensor *rows) { return gantry_mean(s, rows, NULL); }
static tensor *op_max(gantry_scope_t *s, tensor *rows) {
    return gantry_max(s, rows, &over_columns);
}
static tensor *op_prod(gantry_scope_t *s, tensor *rows) { return gantry_prod(s, rows, &over_rows); }
static tensor *op_var(gantry_scope_t *s, tensor *rows) { return gantry_var(s, rows, &over_rows); }
static tensor *op_std(gantry_scope_t *s, tensor *rows) { return gantry_std(s, rows, &over_rows); }
static tensor *op_log_sum(gantry_scope_t *s, tensor *rows) {
    return gantry_log_sum_exp(s, rows, &over_rows);
}
static tensor *op_share(gantry_scope_t *s, tensor *rows) {
    tensor *exps = gantry_exp(s, rows);
    return gantry_div(s, exps, gantry_sum(s, exps, &over_columns));
}
static tensor *op_reshape(gantry_scope_t *s, tensor *rows) {
    return gantry_square(s, gantry_reshape(s, rows, GANTRY_SHAPE(-1)));
}
static tensor *op_expand(gantry_scope_t *s, tensor *rows) {
    return gantry_square(s, gantry_expand_dims(s, rows, 1));
}
static tensor *op_concat(gantry_scope_t *s, tensor *rows) {
    return gantry_concat(s, (tensor *[]){rows, gantry_square(s, rows), rows}, 3, 0);
}
static tensor *op_concat_columns(gantry_scope_t *s, tensor *rows) {
    return gantry_concat(s, (tensor *[]){gantry_exp(s, rows), rows}, 2, 1);
}
static tensor *op_pack(gantry_scope_t *s, tensor *rows) {
    return gantry_pack(s, (tensor *[]){rows, gantry_exp(s, rows)}, 2, 0);
}
static tensor *op_slice(gantry_scope_t *s, tensor *rows) {
    return gantry_slice(s, rows, (int64_t[]){1, 0}, (int64_t[]){-1, 1});
}
static tensor *op_strided(gantry_scope_t *s, tensor *rows) {
    return gantry_strided_slice(s, rows, (int64_t[]){1}, (int64_t[]){0}, (int64_t[]){2}, 1,
                                &(gantry_strided_slice_options_t){.end_mask = 1});
}
static tensor *op_pad(gantry_scope_t *s, tensor *rows) {
    return gantry_pad(s, rows, (int64_t[]){1, 2, 0, 1}, NULL);
}
static tensor *op_transpose(gantry_scope_t *s, tensor *rows) {
    return gantry_transpose(s, gantry_exp(s, rows), NULL);
}
static tensor *op_cumsum(gantry_scope_t *s, tensor *rows) {
    return gantry_cumsum(s, rows, 0, NULL);
}
static tensor *op_gather(gantry_scope_t *s, tensor *rows) {
    return gantry_gather(s, rows, I32(s, 1, 0, 1), 0);
}
static tensor *op_embedding(gantry_scope_t *s, tensor *rows) {
    return gantry_embedding_lookup(s, rows, I32(s, 1, 0, 1));
}
static tensor *op_matmul(gantry_scope_t *s, tensor *rows) {
    return gantry_matmul(s, rows, gantry_reshape(s, column(s), GANTRY_SHAPE(2, 1)), NULL);
}

typedef struct open_op_t {
    const char *name;
    tensor *(*run)(gantry_scope_t *scope, tensor *rows);
} open_op_t;

static const open_op_t open_ops[] = {
    {"mul", op_mul},
    {"mul_self", op_mul_self},
    {"two", op_two},
    {"relu", op_relu},
    {"sum", op_sum},
    {"mean", op_mean},
    {"mean_all", op_mean_all},
    {"max", op_max},
    {"prod", op_prod},
    {"var", op_var},
    {"std", op_std},
    {"log_sum", op_log_sum},
    {"share", op_share},
    {"reshape", op_reshape},
    {"expand", op_expand},
    {"concat", op_concat},
    {"concat_columns", op_concat_columns},
    {"pack", op_pack},
    {"slice", op_slice},
    {"strided", op_strided},
    {"pad", op_pad},
    {"transpose", op_transpose},
    {"cumsum", op_cumsum},
    {"gather", op_gather},
    {"embedding", op_embedding},
    {"matmul", op_matmul},
};

/* The gradient of the sum of squares of what the op makes of the rows that a mask takes. */
static void body_of_rows(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    const open_op_t *op = user;
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    (void)gantry_tape_watch(tape, inputs[0]);
    tensor *rows = gantry_boolean_mask(s, inputs[0], inputs[1], 0);
    tensor *target = gantry_sum(s, gantry_square(s, op->run(s, rows)), NULL);
    const gantry_source_t source = {.tensor = inputs[0]};
    outputs[0] = NULL;
    (void)gantry_tape_gradient(tape, target, NULL, &source, 1, NULL, outputs);
    gantry_tape_end(tape);
}

static void open_sizes_give_the_eager_bits(void **state) {
    (void)state;
    const float values[] = {0.5f, -1.25f, 2, 0.75f, -0.5f, 1.5f, 1, -2, 0.25f, 3};
    const uint8_t masks[][5] = {{1, 0, 1, 1, 0}, {0, 1, 1, 0, 0}, {1, 1, 1, 1, 1}};
    const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(5, 2)},
                                         {"mask", GANTRY_BOOL, GANTRY_SHAPE(5)}};
    for (size_t i = 0; i < sizeof open_ops / sizeof *open_ops; ++i) {
        gantry_function_t *function;
        if (gantry_function_trace(fixture.runtime, open_ops[i].name, body_of_rows,
                                  (void *)&open_ops[i], specs, 2, 1, NULL, &function) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        for (size_t m = 0; m < sizeof masks / sizeof *masks; ++m) {
            float eager[10], traced[10];
            gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
            tensor *inputs[] = {
                gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(5, 2), values, sizeof values),
                gantry_constant(s, GANTRY_BOOL, GANTRY_SHAPE(5), masks[m], 5)};
            tensor *outputs[2];
            body_of_rows(s, inputs, &outputs[0], (void *)&open_ops[i]);
            if (gantry_function_call(s, function, inputs, 2, &outputs[1], 1) != GANTRY_OK ||
                gantry_tensor_read(outputs[0], eager, sizeof eager) != GANTRY_OK ||
                gantry_tensor_read(outputs[1], traced, sizeof traced) != GANTRY_OK)
                fail_msg("%s: %s", open_ops[i].name, gantry_last_message());
            for (size_t k = 0; k < 10; ++k) {
                if (memcmp(&eager[k], &traced[k], sizeof *eager) != 0)
                    fail_msg("%s: element %zu is %.9g; op by op it is %.9g", open_ops[i].name, k,
                             (double)traced[k], (double)eager[k]);
            }
            expect_ended_well(s);
        }
        gantry_function_release(function);
    }
}

/* ---- what needs known sizes ---- */

static tensor *op_tile(gantry_scope_t *s, tensor *rows) {
    return gantry_tile(s, rows, (int64_t[]){2, 1});
}
static tensor *op_sort(gantry_scope_t *s, tensor *rows) { return gantry_sort(s, rows, 0, false); }
static tensor *op_prod_all(gantry_scope_t *s, tensor *rows) { return gantry_prod(s, rows, NULL); }

static void ops_that_need_known_sizes_say_so(void **state) {
    (void)state;
    const open_op_t ops[] = {{"Tile", op_tile}, {"Sort", op_sort}, {"Prod", op_prod_all}};
    const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(5, 2)},
                                         {"mask", GANTRY_BOOL, GANTRY_SHAPE(5)}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
        gantry_function_t *function;
        char text[64];
        assert_int_equal(gantry_function_trace(fixture.runtime, "f", body_of_rows, (void *)&ops[i],
                                               specs, 2, 1, NULL, &function),
                         GANTRY_UNIMPLEMENTED);
        (void)snprintf(text, sizeof text, "op %s ", ops[i].name);
        if (!strstr(gantry_last_message(), text) || !strstr(gantry_last_message(), "known sizes"))
            fail_msg("message: %s", gantry_last_message());
    }
}

/* ---- memory runs out within a rule ---- */

static void rules_survive_a_lack_of_memory(void **state) {
    static const char *const names[] = {"Gather_5_float32", "Prod_1_float32",
                                        "Pow_1_float32",    "Split_1_float32",
                                        "Sort_2_float32",   "UnsortedSegmentProd_1_float32"};
    (void)state;
    golden_file_t file;
    gradient_file_load(&file);
    size_t found = 0;
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        bool is_named = false;
        for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
            is_named |= strcmp(names[k], c.golden->name) == 0;
        if (!is_named) continue;
        ++found;
        bool has_failed = true;
        for (long n = 0; has_failed; n += 3) {
            tensor *inputs[GRADIENT_MOST_VALUES], *target, *gradients[GRADIENT_MOST_VALUES];
            gantry_source_t sources[GRADIENT_MOST_VALUES];
            size_t count = 0;
            gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
            gradient_case_inputs(s, &c, NULL, inputs);
            gantry_tape_t *tape = gantry_tape_begin(s, NULL);
            for (size_t k = 0; k < c.input_count; ++k) {
                if (!gradient_is_floating(inputs[k])) continue;
                (void)gantry_tape_watch(tape, inputs[k]);
                sources[count++] = (gantry_source_t){.tensor = inputs[k]};
            }
            target = gradient_case_target(s, &c, inputs);
            runtime_fixture_starve(&fixture, n);
            const gantry_status_t status =
                gantry_tape_gradient(tape, target, NULL, sources, count, NULL, gradients);
            has_failed = runtime_fixture_feed(&fixture);
            if (status != GANTRY_OK && status != GANTRY_RESOURCE_EXHAUSTED)
                fail_msg("%s: %s", c.golden->name, gantry_scope_message(s));
            assert_true(has_failed || status == GANTRY_OK);
            gantry_tape_end(tape);
            (void)gantry_scope_end(s);
        }
    }
    golden_free(&file);
    assert_int_equal(found, sizeof names / sizeof *names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(open_sizes_give_the_eager_bits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ops_that_need_known_sizes_say_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rules_survive_a_lack_of_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
