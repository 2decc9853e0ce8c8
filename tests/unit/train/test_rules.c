/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The gradient of each op has TensorFlow's values, agrees with differences, also of second
 * order, and has the same bits in a function. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gradient_case.h"
#include "test.h"
#include "train/tape/rule.h"
#include "train_heap.h"

static runtime_fixture_t fixture;
static golden_file_t file;

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, 0);
    gradient_file_load(&file);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    golden_free(&file);
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

/* ---- TensorFlow's values ---- */

static void check_golden(const gradient_case_t *c) {
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gradient_case_inputs(scope, c, NULL, inputs);
    gradient_case_gradients(scope, c, inputs, gradients);
    for (size_t k = 0; k < c->of_count; ++k) {
        const size_t i = (size_t)c->of[k];
        if (!gradients[i]) fail_msg("%s: input %zu has no gradient", c->golden->name, i);
        if (!c->has_only_differences)
            gradient_expect_equal(c, i, &c->golden->outputs[k], &c->golden->tolerance,
                                  gradients[i]);
        gradients[i] = NULL;
    }
    for (size_t i = 0; i < c->input_count; ++i) {
        if (gradients[i])
            fail_msg("%s: input %zu has a gradient, TensorFlow has None", c->golden->name, i);
    }
    expect_ended_well(scope);
}

TEST(gradients_are_tensorflows) {
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        check_golden(&c);
    }
}

/* ---- differences: in float64, of a sum of outputs ---- */

typedef struct values_t {
    double *data[GRADIENT_MOST_VALUES]; /* of inputs of float64; NULL for others */
} values_t;

static void values_init(values_t *values, const gradient_case_t *c) {
    *values = (values_t){{NULL}};
    for (size_t i = 0; i < c->input_count; ++i) {
        const golden_tensor_t *given = &c->golden->inputs[i];
        if (given->dtype != GANTRY_FLOAT64) continue;
        values->data[i] = malloc(given->bytes + 1);
        assert_non_null(values->data[i]);
        memcpy(values->data[i], given->data, given->bytes);
    }
}

static void values_deinit(values_t *values) {
    for (size_t i = 0; i < GRADIENT_MOST_VALUES; ++i) free(values->data[i]);
}

/* Weights of the gradients' sum, for the second order. */
static double weight_of(size_t element) { return 0.5 + 0.25 * (double)(element % 5); }

typedef double (*measure_fn)(const gradient_case_t *c, values_t *values);

static double add_up(gradient_tensor_t *tensor, const double *weights) {
    golden_tensor_t got = gradient_read(tensor);
    double sum = 0;
    for (size_t k = 0; k < gradient_count(&got); ++k)
        sum += golden_number_at(got.dtype, got.data, k) * (weights ? weights[k] : weight_of(k));
    free(got.data);
    return sum;
}

/* The sum of the outputs, each times its gradient. */
static double sum_of_outputs(const gradient_case_t *c, values_t *values) {
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *outputs[GANTRY_MAX_OP_OUTPUTS];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gradient_case_inputs(scope, c, values->data, inputs);
    const size_t count = gradient_case_call(scope, c, inputs, outputs);
    size_t weight = c->input_count;
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        if (weight < c->golden->input_count && gantry_tensor_dtype(outputs[i]) == GANTRY_FLOAT64)
            sum += add_up(outputs[i], c->golden->inputs[weight++].data);
    }
    expect_ended_well(scope);
    return sum;
}

/* The sum of the gradients, weighted. */
static double sum_of_gradients(const gradient_case_t *c, values_t *values) {
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gradient_case_inputs(scope, c, values->data, inputs);
    gradient_case_gradients(scope, c, inputs, gradients);
    double sum = 0;
    for (size_t i = 0; i < c->input_count; ++i)
        sum += gradients[i] ? add_up(gradients[i], NULL) : 0;
    expect_ended_well(scope);
    return sum;
}

/* Central differences, element by element. */
static void compare_input(const gradient_case_t *c, values_t *values, size_t input,
                          gradient_tensor_t *gradient, measure_fn measure) {
    const double step = 1e-5;
    golden_tensor_t got = {.dtype = GANTRY_FLOAT64};
    if (gradient) got = gradient_read(gradient);
    for (size_t k = 0; k < gradient_count(&c->golden->inputs[input]); ++k) {
        double *x = &values->data[input][k];
        const double given = *x;
        *x = given + step;
        const double above = measure(c, values);
        *x = given - step;
        const double below = measure(c, values);
        *x = given;
        const double expected = (above - below) / (2 * step);
        const double actual = gradient ? ((const double *)got.data)[k] : 0;
        if (!(fabs(expected - actual) <= 1e-6 * (1 + fabs(expected))))
            fail_msg(
                "%s: element %zu of the gradient of input %zu is %.12g; differences give %.12g",
                c->golden->name, k, input, actual, expected);
    }
    free(got.data);
}

static void check_differences(const gradient_case_t *c) {
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES];
    values_t values;
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gradient_case_inputs(scope, c, NULL, inputs);
    gradient_case_gradients(scope, c, inputs, gradients);
    values_init(&values, c);
    for (size_t k = 0; k < c->of_count; ++k)
        compare_input(c, &values, (size_t)c->of[k], gradients[c->of[k]], sum_of_outputs);
    values_deinit(&values);
    expect_ended_well(scope);
}

TEST(gradients_are_those_of_differences) {
    size_t checked = 0;
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        if (!c.is_double || !c.is_smooth) continue;
        check_differences(&c);
        ++checked;
    }
    assert_true(checked > 200);
}

/* ---- the second order ---- */

static gradient_tensor_t *weights_like(gantry_scope_t *scope, gradient_tensor_t *like) {
    double weights[64];
    const size_t count = (size_t)gantry_tensor_elements(like);
    assert_in_range(count, 1, 64);
    for (size_t k = 0; k < count; ++k) weights[k] = weight_of(k);
    return gantry_constant(scope, GANTRY_FLOAT64, *gantry_tensor_shape(like), weights,
                           count * sizeof *weights);
}

static void check_second_order(const gradient_case_t *c) {
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *first[GRADIENT_MOST_VALUES];
    gradient_tensor_t *second[GRADIENT_MOST_VALUES], *sum = NULL;
    gantry_source_t sources[GRADIENT_MOST_VALUES];
    values_t values;
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gradient_case_inputs(scope, c, NULL, inputs);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    for (size_t k = 0; k < c->of_count; ++k) {
        sources[k] = (gantry_source_t){.tensor = inputs[c->of[k]]};
        assert_int_equal(gantry_tape_watch(tape, sources[k].tensor), GANTRY_OK);
    }
    gradient_case_gradients(scope, c, inputs, first);
    for (size_t k = 0; k < c->of_count; ++k) {
        gradient_tensor_t *gradient = first[c->of[k]];
        gradient_tensor_t *part =
            gantry_sum(scope, gantry_mul(scope, gradient, weights_like(scope, gradient)), NULL);
        sum = sum ? gantry_add(scope, sum, part) : part;
    }
    if (gantry_tape_gradient(tape, sum, NULL, sources, c->of_count, NULL, second) != GANTRY_OK)
        fail_msg("%s: %s", c->golden->name, gantry_scope_message(scope));
    gantry_tape_end(tape);
    values_init(&values, c);
    for (size_t k = 0; k < c->of_count; ++k)
        compare_input(c, &values, (size_t)c->of[k], second[k], sum_of_gradients);
    values_deinit(&values);
    expect_ended_well(scope);
}

TEST(second_gradients_are_those_of_differences) {
    size_t checked = 0;
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        if (!c.is_double || !c.is_second) continue;
        check_second_order(&c);
        ++checked;
    }
    assert_true(checked > 80);
}

/* ---- functions ---- */

TEST(functions_give_the_same_bits) {
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        if (c.of_count > 0) gradient_expect_traced(fixture.runtime, NULL, &c);
    }
}

/* ---- all ops ---- */

static bool has_case(const char *op) {
    for (size_t i = 0; i < file.case_count; ++i) {
        if (strcmp(file.cases[i].op, op) == 0) return true;
    }
    return false;
}

TEST(each_differentiable_op_has_a_case) {
    char missing[2048] = "";
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        if (!gantry_op_is_differentiable(info.name) || has_case(info.name)) continue;
        /* test_rules_parts.c compares this one with the op's parts. */
        if (strcmp(info.name, "ScaledDotProductAttentionGrad") == 0) continue;
        (void)strncat(missing, info.name, sizeof missing - strlen(missing) - 2);
        (void)strcat(missing, " ");
    }
    assert_string_equal(missing, "");
}

/* Whether a name is that of an op, or of what a tape records besides ops. */
static bool is_known(const char *name) {
    static const char *const others[] = {
        "Case", "CustomGradient", "If", "PartitionedCall", "PreventGradient", "While"};
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        if (strcmp(others[i], name) == 0) return true;
    }
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        if (strcmp(info.name, name) == 0) return true;
    }
    return false;
}

TEST(tables_are_sorted_and_name_ops) {
    size_t table = 0, count = 0;
    for (const gantry__rule_t *rule; (rule = gantry__rule_table(table)) != NULL; ++table) {
        for (; rule->op; ++rule, ++count) {
            assert_ptr_equal(gantry__rule_find(rule->op), rule); /* it is in one table */
            if (!is_known(rule->op)) fail_msg("%s is no op", rule->op);
            if (rule[1].op && strcmp(rule->op, rule[1].op) >= 0)
                fail_msg("%s comes before %s", rule->op, rule[1].op);
        }
    }
    assert_true(count > 180);
    assert_null(gantry__rule_find("NoSuchOp"));
    assert_null(gantry__rule_find(""));
    assert_false(gantry_op_is_differentiable("NoSuchOp"));
    assert_false(gantry_op_is_differentiable(NULL));
    assert_false(gantry_op_is_differentiable("Floor"));
}

/* A name that lies where another one lay. */
TEST(memo_of_rules_compares_names) {
    gantry__rule_memo_t memo = {{NULL}, {NULL}};
    char name[16] = "Add";
    assert_string_equal(gantry__rule_recall(&memo, name)->op, "Add");
    assert_string_equal(gantry__rule_recall(&memo, name)->op, "Add");
    (void)strcpy(name, "Mul");
    assert_string_equal(gantry__rule_recall(&memo, name)->op, "Mul");
    (void)strcpy(name, "NoSuchOp");
    assert_null(gantry__rule_recall(&memo, name));
    for (size_t i = 0; i < gantry_op_count(); ++i) { /* more names than places */
        gantry_op_info_t info = {.struct_size = sizeof info};
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        assert_ptr_equal(gantry__rule_recall(&memo, info.name), gantry__rule_find(info.name));
    }
}

/* docs/ops.md: the last cell of an op's row. */
TEST(document_names_the_differentiable_ops) {
    char line[4096];
    size_t rows = 0;
    bool is_inside = false;
    FILE *page = fopen(GANTRY_TEST_SOURCE_DIR "/docs/ops.md", "r");
    assert_non_null(page);
    while (fgets(line, sizeof line, page)) {
        char name[128];
        if (strncmp(line, "<!-- ", 5) == 0) is_inside = strstr(line, "table: ops") != NULL;
        if (!is_inside || sscanf(line, "| %127s |", name) != 1 || !is_known(name)) continue;
        const bool says_yes = strstr(line, "| yes |\n") != NULL;
        if (says_yes != gantry_op_is_differentiable(name))
            fail_msg("docs/ops.md, %s: %s", name, says_yes ? "it has no gradient" : "it has one");
        ++rows;
    }
    (void)fclose(page);
    assert_int_equal(rows, gantry_op_count());
}

int main(void) { return test_main_each(set_up, tear_down); }
