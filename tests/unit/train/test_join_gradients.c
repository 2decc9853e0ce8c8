/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Reductions, windows, scans and scatters with a body have the gradients of their body,
 * for operands, inits and updates, at once and in a function: differences of float64 give the
 * same. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "test.h"
#include "train_fixture.h"

#include <gantry_train/tape.h>

typedef const gantry_tensor_t tensor;

enum { ROWS = 2, COLUMNS = 70, COUNT = ROWS * COLUMNS };

typedef enum kind_t {
    AS_SUM,
    IN_ORDER,
    WINDOWS,
    SCAN,
    EXCLUSIVE,
    FEW_PLACES,
    MANY_PLACES,
    KINDS
} kind_t;

static tensor *number(gantry_scope_t *s, double value) {
    return gantry_constant(s, GANTRY_FLOAT64, GANTRY_SCALAR, &value, sizeof value);
}

static void smooth(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    tensor *product = gantry_mul(s, gantry_mul(s, in[0], in[1]), number(s, 0.1));
    out[0] = gantry_add(s, gantry_add(s, gantry_tanh(s, in[0]), in[1]), product);
}

/* x is scattered onto places that have init. */
static tensor *scattered(gantry_scope_t *s, tensor *x, tensor *init, int64_t places) {
    int32_t rows[COUNT];
    for (int i = 0; i < COUNT; ++i) rows[i] = i * i % 23 % 5 - (i == 30);
    const gantry_scatter_body_options_t options = {.struct_size = sizeof options,
                                                   .bad_indices_policy = "IGNORE"};
    tensor *at =
        gantry_constant(s, GANTRY_INT32, GANTRY_SHAPE(ROWS, COLUMNS, 1), rows, sizeof rows);
    tensor *onto = gantry_add(s, gantry_zeros(s, GANTRY_FLOAT64, GANTRY_SHAPE(places)), init);
    tensor *made = NULL;
    (void)gantry_scatter_with_body(s, &onto, at, &x, 1, smooth, NULL, &options, &made);
    return made;
}

/* The sum of what a body joins from x and init. */
static tensor *joined_sum(gantry_scope_t *s, tensor *x, tensor *init, kind_t kind) {
    static const int32_t axis[] = {1};
    const gantry_reduce_body_options_t reduce = {
        .struct_size = sizeof reduce, .axes = axis, .axis_count = 1, .in_order = kind == IN_ORDER};
    const gantry_window_body_options_t windows = {.struct_size = sizeof windows,
                                                  .strides = (int64_t[]){1, 2},
                                                  .base_dilations = (int64_t[]){1, 2},
                                                  .window_dilations = (int64_t[]){1, 2},
                                                  .paddings = (int64_t[]){1, 1, -1, 3}};
    const gantry_scan_body_options_t scan = {
        .struct_size = sizeof scan, .exclusive = kind == EXCLUSIVE, .reverse = kind == EXCLUSIVE};
    tensor *made = NULL;
    if (kind == SCAN) x = gantry_reshape(s, x, GANTRY_SHAPE(1, COUNT));
    if (kind >= FEW_PLACES)
        made = scattered(s, x, init, kind == FEW_PLACES ? 5 : 2 * COUNT);
    else if (kind >= SCAN)
        (void)gantry_scan_with_body(s, &x, &init, 1, 1, smooth, NULL, &scan, &made);
    else if (kind == WINDOWS)
        (void)gantry_reduce_window_with_body(s, &x, &init, 1, smooth, NULL, (int64_t[]){2, 5},
                                             &windows, &made);
    else
        (void)gantry_reduce_with_body(s, &x, &init, 1, smooth, NULL, &reduce, &made);
    return gantry_sum(s, made, NULL);
}

static void value_and_gradients(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    const kind_t *kind = user;
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    for (int i = 0; i < 2; ++i) (void)gantry_tape_watch(tape, in[i]);
    out[0] = joined_sum(s, in[0], in[1], *kind);
    const gantry_source_t sources[] = {{.tensor = in[0]}, {.tensor = in[1]}};
    (void)gantry_tape_gradient(tape, out[0], NULL, sources, 2, NULL, out + 1);
    gantry_tape_end(tape);
}

static double value_at(gantry_scope_t *s, const double *x, double init, kind_t kind) {
    double value = NAN;
    tensor *given =
        gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, COLUMNS), x, COUNT * sizeof *x);
    tensor *sum = joined_sum(s, given, number(s, init), kind);
    if (!sum) fail_msg("%s", gantry_scope_message(s));
    assert_int_equal(gantry_tensor_read(sum, &value, sizeof value), GANTRY_OK);
    return value;
}

static void expect_gradient(gantry_scope_t *s, double *x, double *at, const double *init,
                            double gradient, kind_t kind) {
    const double step = 1e-5, before = *at;
    *at = before + step;
    const double above = value_at(s, x, *init, kind);
    *at = before - step;
    const double below = value_at(s, x, *init, kind);
    *at = before;
    const double expected = (above - below) / (2 * step);
    if (fabs(expected - gradient) > 1e-6 * (1 + fabs(expected)))
        fail_msg("kind %d: %g, not %g", (int)kind, gradient, expected);
}

static void check_gradients(gantry_scope_t *s, tensor *const *out, double *x, double *init,
                            kind_t kind) {
    double gradients[COUNT], of_init;
    if (gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_scope_message(s));
    assert_int_equal(gantry_tensor_read(out[1], gradients, sizeof gradients), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(out[2], &of_init, sizeof of_init), GANTRY_OK);
    for (size_t i = 0; i < COUNT; i += 9) expect_gradient(s, x, x + i, init, gradients[i], kind);
    expect_gradient(s, x, init, init, of_init, kind);
}

TEST(gradients_are_those_of_differences) {
    double x[COUNT], init = 0.3;
    for (int i = 0; i < COUNT; ++i) x[i] = sin(1.7 * i) * 0.4;
    const gantry_input_spec_t specs[] = {{NULL, GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, COLUMNS)},
                                         {NULL, GANTRY_FLOAT64, GANTRY_SCALAR}};
    for (kind_t kind = AS_SUM; kind < KINDS; ++kind) {
        gantry_scope_t *s = gantry_scope_begin(fixture.runtime, NULL);
        tensor *in[] = {
            gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(ROWS, COLUMNS), x, sizeof x),
            number(s, init)};
        tensor *out[3];
        gantry_function_t *function;
        value_and_gradients(s, in, out, &kind);
        check_gradients(s, out, x, &init, kind);
        if (gantry_function_trace(fixture.runtime, "gradients", value_and_gradients, &kind, specs,
                                  2, 3, NULL, &function) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        (void)gantry_function_call(s, function, in, 2, out, 3);
        check_gradients(s, out, x, &init, kind);
        gantry_function_release(function);
        assert_int_equal(gantry_scope_end(s), GANTRY_OK);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
