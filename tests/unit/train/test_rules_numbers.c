/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every op with a gradient that takes numbers (axes, paddings, multiples) has it in a
 * function where these are arguments, of the second order too, with the bits of the ops one by one.
 * Promise: MatrixDiag and MatrixDiagPart of two diagonals that are arguments of a function are
 * refused with the input's name, because the rank of the result depends on them. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "gradient_case.h"
#include "op/op_def.h"
#include "test.h"
#include "train_fixture.h"

typedef gradient_tensor_t tensor;

/* A golden case, of which the numbered inputs are arguments of the function: others are constants
 * of it, floating ones always arguments. */
typedef struct given_t {
    gradient_case_t c;
    uint32_t numbers; /* those whose elements are arguments */
    uint32_t opened;  /* those that go through a mask of all rows: their first size is open */
} given_t;

static bool is_number(const given_t *g, size_t i) {
    const gantry__op_def_t *op = gantry__op_find(g->c.golden->op);
    const gantry__op_arg_t *arg = gantry__op_input_arg(op, (uint32_t)g->c.input_count, (uint32_t)i);
    return (arg->flags & GANTRY__ARG_HOST) && gantry_dtype_size(g->c.golden->inputs[i].dtype) >= 4;
}

static void find_inputs(gantry_scope_t *s, const given_t *g, tensor *const *given,
                        tensor **inputs) {
    gradient_case_inputs(s, &g->c, NULL, inputs);
    for (size_t i = 0; i < g->c.input_count; ++i) {
        const bool is_floating = gradient_is_floating(inputs[i]) && !is_number(g, i);
        if (is_floating || g->numbers >> i & 1) inputs[i] = given[2 * i];
        if (g->opened >> i & 1) inputs[i] = gantry_boolean_mask(s, inputs[i], given[2 * i + 1], 0);
    }
}

static void gradients_of(gantry_scope_t *s, tensor *const *given, tensor **outputs, void *user) {
    const given_t *g = user;
    tensor *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES];
    find_inputs(s, g, given, inputs);
    (void)gradient_case_try(s, &g->c, inputs, gradients);
    for (size_t k = 0; k < g->c.of_count; ++k) outputs[k] = gradients[g->c.of[k]];
}

/* The same of the sum of squares of these gradients. */
static void second_gradients_of(gantry_scope_t *s, tensor *const *given, tensor **outputs,
                                void *user) {
    const given_t *g = user;
    tensor *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES], *sum = NULL;
    gantry_source_t sources[GRADIENT_MOST_VALUES];
    find_inputs(s, g, given, inputs);
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    for (size_t k = 0; k < g->c.of_count; ++k) {
        sources[k] = (gantry_source_t){.tensor = inputs[g->c.of[k]]};
        (void)gantry_tape_watch(tape, sources[k].tensor);
    }
    (void)gradient_case_try(s, &g->c, inputs, gradients);
    for (size_t k = 0; k < g->c.of_count; ++k) {
        tensor *gradient = gradients[g->c.of[k]];
        tensor *part = gradient ? gantry_sum(s, gantry_square(s, gradient), NULL) : NULL;
        sum = sum && part ? gantry_add(s, sum, part) : part ? part : sum;
    }
    if (sum)
        (void)gantry_tape_gradient(
            tape, sum, NULL, sources, g->c.of_count,
            &(gantry_gradient_options_t){.struct_size = sizeof(gantry_gradient_options_t),
                                         .zeros_where_unconnected = true},
            outputs);
    gantry_tape_end(tape);
}

static void target_of(gantry_scope_t *s, tensor *const *given, tensor **outputs, void *user) {
    const given_t *g = user;
    tensor *inputs[GRADIENT_MOST_VALUES];
    find_inputs(s, g, given, inputs);
    outputs[0] = gradient_case_target(s, &g->c, inputs);
}

/* Each input, and a mask of all its rows. */
static void make_arguments(gantry_scope_t *s, const given_t *g, gantry_input_spec_t *specs,
                           tensor **out) {
    gradient_case_inputs(s, &g->c, NULL, out);
    for (size_t i = g->c.input_count; i-- > 0;) {
        const golden_tensor_t *x = &g->c.golden->inputs[i];
        const gantry_shape_t rows = GANTRY_SHAPE(x->shape.rank > 0 ? x->shape.dims[0] : 1);
        specs[2 * i] = (gantry_input_spec_t){"x", x->dtype, x->shape};
        specs[2 * i + 1] = (gantry_input_spec_t){"rows", GANTRY_BOOL, rows};
        out[2 * i] = out[i];
        out[2 * i + 1] = gantry_ones(s, GANTRY_BOOL, rows);
    }
}

static void compare(const given_t *g, tensor *const *eager, tensor *const *traced) {
    const golden_tolerance_t exact = {.exact = true};
    for (size_t k = 0; k < g->c.of_count; ++k) {
        golden_tensor_t expected = gradient_read(eager[k]);
        gradient_expect_equal(&g->c, (size_t)g->c.of[k], &expected, &exact, traced[k]);
        free(expected.data);
    }
}

/* Two numbers that may name one diagonal or several: the op itself is refused. */
static void expect_no_rank(const given_t *g, const gantry_input_spec_t *specs) {
    char text[512];
    gantry_function_t *function = NULL;
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    if ((strcmp(g->c.golden->op, "MatrixDiag") != 0 &&
         strcmp(g->c.golden->op, "MatrixDiagPart") != 0) ||
        !strstr(text, g->c.golden->op) ||
        !strstr(text, "depends on data: on the sizes and elements of k; known ones are accepted") ||
        gantry_function_trace(fixture.runtime, "f", target_of, (void *)g, specs,
                              2 * g->c.input_count, 1, NULL, &function) != GANTRY_UNIMPLEMENTED)
        fail_msg("%s, numbers %u, opened %u: %s", g->c.golden->name, g->numbers, g->opened, text);
}

static void check_order(given_t *g, gantry_function_body_fn body) {
    tensor *given[2 * GRADIENT_MOST_VALUES], *eager[GRADIENT_MOST_VALUES];
    tensor *traced[GRADIENT_MOST_VALUES];
    gantry_input_spec_t specs[2 * GRADIENT_MOST_VALUES];
    gantry_function_t *function = NULL;
    gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
    const size_t count = 2 * g->c.input_count;
    make_arguments(s, g, specs, given);
    body(s, given, eager, g);
    if (gantry_scope_status(s) != GANTRY_OK)
        fail_msg("%s: %s", g->c.golden->name, gantry_scope_message(s));
    if (gantry_function_trace(fixture.runtime, "f", body, g, specs, count, g->c.of_count, NULL,
                              &function) != GANTRY_OK)
        expect_no_rank(g, specs);
    else if (gantry_function_call(s, function, given, count, traced, g->c.of_count) != GANTRY_OK)
        fail_msg("%s, numbers %u: %s", g->c.golden->name, g->numbers, gantry_scope_message(s));
    else
        compare(g, eager, traced);
    gantry_function_release(function);
    expect_ended_well(s);
}

static void check(given_t *g) {
    check_order(g, gradients_of);
    /* the gradient of the boxes' gradient is refused */
    if (strncmp(g->c.golden->op, "CropAndResize", 13) != 0) check_order(g, second_gradients_of);
}

/* Each number by itself, and all; with known sizes of the other inputs, and with open ones. */
static bool check_case(given_t *g) {
    uint32_t all = 0, rows = 0;
    for (size_t i = 0; i < g->c.input_count; ++i) {
        if (is_number(g, i))
            all |= UINT32_C(1) << i;
        else if (g->c.golden->inputs[i].shape.rank > 0)
            rows |= UINT32_C(1) << i;
    }
    for (int opens = 0; all && opens < 2; ++opens) {
        g->opened = opens ? rows : 0;
        for (size_t i = 0; i < g->c.input_count; ++i) {
            g->numbers = all & UINT32_C(1) << i;
            if (g->numbers) check(g);
        }
        g->numbers = all;
        if (all & (all - 1)) check(g);
    }
    return all != 0;
}

/* A rule with a gradient, of an op that takes numbers. */
static bool takes_numbers(const char *name) {
    const gantry__op_def_t *op = gantry__op_find(name);
    bool takes = false;
    for (uint32_t i = 0; op && i < op->input_count; ++i)
        takes |= (op->inputs[i].flags & GANTRY__ARG_HOST) != 0;
    return takes && gantry_op_is_differentiable(name);
}

TEST(numbers_that_are_not_known_give_the_eager_bits) {
    golden_file_t file;
    bool is_seen[GANTRY__OP_COUNT] = {false};
    gantry_op_info_t info = {.struct_size = sizeof info};
    gradient_file_load(&file);
    for (size_t i = 0; i < file.case_count; ++i) {
        given_t g = {.c = gradient_case_read(&file.cases[i])};
        is_seen[gantry__op_find(g.c.golden->op)->id] |= check_case(&g);
    }
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        if (takes_numbers(info.name) && !is_seen[gantry__op_find(info.name)->id])
            fail_msg("no case of %s", info.name);
    }
    golden_free(&file);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(set_up, tear_down);
}
