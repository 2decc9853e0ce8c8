/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Weights under each optimizer follow Keras's where gradients are slices with repeated
 * rows: of a small and of a large variable, on the CPU and on PoCL, eagerly and as a function.
 * Promise: Steps of slices read weights, values and indices in memory that cannot be written. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "locked_memory.h"
#include "test.h"
#include "train_runtime.h"

#include <gantry/gantry.h>
#include <gantry_train/optimizer.h>

enum {
    VARIABLES = 3,
    WIDTH = 3,
    DENSE = 3,
    SLICES = 6,
    INPUTS = 5,      /* values and indices of two, and a dense gradient */
    KEPT_ROWS = 5,   /* of each of two variables */
    MOST = 3000 * 3, /* elements */
    KEPT = 2 * KEPT_ROWS * WIDTH + DENSE,
    STEPS = 8
};

static const gantry_shape_t shapes[VARIABLES] = {
    {.rank = 2, .dims = {5, WIDTH}}, {.rank = 2, .dims = {3000, WIDTH}}, {.rank = 1, .dims = {3}}};
/* Rows that slices name, and one that they do not. */
static const int64_t rows[2][KEPT_ROWS] = {{0, 1, 3, 4, 2}, {0, 7, 1499, 2999, 5}};

/* ---- numbers that make_slice_trajectories.py computes, too ---- */

static double first_weight(size_t j) { return 1 + (double)(j * 11 % 17) / 16; }

static double value_at(size_t t, size_t v, size_t j) {
    return ((double)((t * 7 + v * 3 + j * 13 + j * j * 5) % 31) - 15) / 16;
}

static int64_t row_of(size_t t, size_t v, size_t i) { return rows[v][(t + v + i * i) % 4]; }

static locked_constant_fn *constant = gantry_constant;

static const gantry_tensor_t *make(gantry_scope_t *scope, gantry_dtype_t dtype,
                                   gantry_shape_t shape, const double *values) {
    static float narrow[MOST];
    const size_t count = (size_t)gantry_shape_elements(&shape);
    for (size_t i = 0; i < count; ++i) narrow[i] = (float)values[i];
    return dtype == GANTRY_FLOAT64 ? constant(scope, dtype, shape, values, count * sizeof *values)
                                   : constant(scope, dtype, shape, narrow, count * sizeof *narrow);
}

static const gantry_tensor_t *make_values(gantry_scope_t *scope, gantry_dtype_t dtype, size_t t,
                                          size_t v, gantry_shape_t shape) {
    double values[SLICES * WIDTH];
    for (size_t j = 0; j < SLICES * WIDTH; ++j) values[j] = value_at(t, v, j);
    return make(scope, dtype, shape, values);
}

static const gantry_tensor_t *make_indices(gantry_scope_t *scope, size_t t, size_t v) {
    int64_t wide[SLICES];
    int32_t narrow[SLICES];
    for (size_t i = 0; i < SLICES; ++i) narrow[i] = (int32_t)(wide[i] = row_of(t, v, i));
    return v == 0 ? constant(scope, GANTRY_INT32, GANTRY_SHAPE(SLICES), narrow, sizeof narrow)
                  : constant(scope, GANTRY_INT64, GANTRY_SHAPE(SLICES), wide, sizeof wide);
}

/* ---- one run ---- */

typedef struct run_t {
    const char *name, *device;
    gantry_optimizer_t *optimizer;
    gantry_dtype_t dtype;
    bool is_captured;
    gantry_variable_t *weights[VARIABLES];
    gantry_function_t *function;
} run_t;

static void fail_run(const run_t *run, const char *what) {
    fail_msg("%s, %s, %s, %s: %s: %s", run->name, run->device, gantry_dtype_name(run->dtype),
             run->is_captured ? "captured" : "eager", what, gantry_last_message());
}

static void apply(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    const run_t *run = user;
    const gantry_gradient_t gradients[VARIABLES] = {
        {.values = inputs[0], .indices = inputs[1], .shape = shapes[0]},
        {.values = inputs[2], .indices = inputs[3], .shape = shapes[1]},
        {.dense = inputs[4]}};
    (void)gantry_optimizer_apply_slices(run->optimizer, scope, run->weights, gradients, VARIABLES);
    if (outputs) outputs[0] = gantry_identity(scope, inputs[4]);
}

/* The number of slices is not known while the step is traced. */
static void trace_run(run_t *run, gantry_scope_t *scope) {
    const gantry_input_spec_t inputs[INPUTS] = {{NULL, run->dtype, GANTRY_SHAPE(-1, WIDTH)},
                                                {NULL, GANTRY_INT32, GANTRY_SHAPE(-1)},
                                                {NULL, run->dtype, GANTRY_SHAPE(-1, WIDTH)},
                                                {NULL, GANTRY_INT64, GANTRY_SHAPE(-1)},
                                                {NULL, run->dtype, GANTRY_SHAPE(DENSE)}};
    if (gantry_optimizer_build(run->optimizer, scope, run->weights, VARIABLES) != GANTRY_OK ||
        gantry_function_trace(runtime, "step", apply, run, inputs, INPUTS, 1, NULL,
                              &run->function) != GANTRY_OK)
        fail_run(run, "trace");
}

static void do_step(run_t *run, gantry_scope_t *scope, size_t t) {
    const gantry_shape_t slices = GANTRY_SHAPE(SLICES, WIDTH);
    const gantry_tensor_t *output, *const inputs[INPUTS] = {
                                       make_values(scope, run->dtype, t, 0, slices),
                                       make_indices(scope, t, 0),
                                       make_values(scope, run->dtype, t, 1, slices),
                                       make_indices(scope, t, 1),
                                       make_values(scope, run->dtype, t, 2, GANTRY_SHAPE(DENSE))};
    if (run->is_captured)
        (void)gantry_function_call(scope, run->function, inputs, INPUTS, &output, 1);
    else
        apply(scope, inputs, NULL, run);
    if (gantry_scope_status(scope) != GANTRY_OK) fail_run(run, "step");
}

/* ---- comparing ---- */

static void read_variable(const run_t *run, gantry_scope_t *scope, size_t v, double *out) {
    static float narrow[MOST];
    const gantry_tensor_t *value = gantry_variable_read(scope, run->weights[v]);
    const size_t count = (size_t)gantry_tensor_elements(value);
    const bool is_wide = run->dtype == GANTRY_FLOAT64;
    if (gantry_tensor_read(value, is_wide ? (void *)out : narrow,
                           count * (is_wide ? sizeof *out : sizeof *narrow)) != GANTRY_OK)
        fail_run(run, "read");
    for (size_t i = 0; !is_wide && i < count; ++i) out[i] = (double)narrow[i];
}

static void compare(const run_t *run, gantry_scope_t *scope, size_t t, const double *expected) {
    static double values[MOST];
    const double bound = run->dtype == GANTRY_FLOAT64 ? 1e-12 : 1e-5;
    for (size_t k = 0; k < KEPT; ++k) {
        const size_t v = k / (KEPT_ROWS * WIDTH), at = k % (KEPT_ROWS * WIDTH);
        if (at == 0) read_variable(run, scope, v, values);
        const double got = values[v < 2 ? (size_t)rows[v][at / WIDTH] * WIDTH + at % WIDTH : at];
        if (!(fabs(got - expected[k]) <= bound * fabs(expected[k])))
            fail_msg("%s, %s, %s, %s: step %zu, variable %zu, number %zu is %.17g, not %.17g",
                     run->name, run->device, gantry_dtype_name(run->dtype),
                     run->is_captured ? "captured" : "eager", t, v, at, got, expected[k]);
    }
}

/* Takes over the optimizer. `kept` steps have rows in expected. */
static void follow(run_t run, const size_t *kept, size_t kept_count, const double *expected) {
    static double values[MOST];
    gantry_scope_t *outer = gantry_scope_begin(runtime, run.device);
    size_t row = 0;
    if (!run.optimizer) fail_run(&run, "no optimizer");
    for (size_t j = 0; j < MOST; ++j) values[j] = first_weight(j);
    for (size_t v = 0; v < VARIABLES; ++v)
        run.weights[v] =
            gantry_variable_create(outer, make(outer, run.dtype, shapes[v], values), "w");
    if (run.is_captured) trace_run(&run, outer);
    for (size_t t = 1; t <= STEPS; ++t) {
        gantry_scope_t *scope = gantry_scope_begin_in(outer, NULL);
        do_step(&run, scope, t);
        if (row < kept_count && t == kept[row]) compare(&run, scope, t, expected + KEPT * row++);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    assert_int_equal(row, kept_count);
    for (size_t v = 0; v < VARIABLES; ++v) gantry_variable_release(run.weights[v]);
    gantry_function_release(run.function);
    gantry_optimizer_release(run.optimizer);
    assert_int_equal(gantry_scope_end(outer), GANTRY_OK);
}

static const size_t wide_steps[] = {1, 8}, narrow_steps[] = {8};

#define LIST(...) __VA_ARGS__
#define EACH_RUN(name, device, call, wide, narrow)                                    \
    for (int captured = 0; captured < 2; ++captured) {                                \
        static const double wide_rows[] = {LIST wide}, narrow_rows[] = {LIST narrow}; \
        run_t run = {name, device, NULL, GANTRY_FLOAT64, captured, {NULL}, NULL};     \
        assert_int_equal(sizeof wide_rows / sizeof *wide_rows, 2 * KEPT);             \
        assert_int_equal(sizeof narrow_rows / sizeof *narrow_rows, (int)KEPT);        \
        run.optimizer = call;                                                         \
        follow(run, wide_steps, 2, wide_rows);                                        \
        run.optimizer = call;                                                         \
        run.dtype = GANTRY_FLOAT32;                                                   \
        follow(run, narrow_steps, 1, narrow_rows);                                    \
    }

TEST(slices_follow_keras_on_the_cpu){
#define SLICE_ROW(name, call, wide, narrow) EACH_RUN(name, "/CPU:0", call, wide, narrow)
#include "slice_trajectories.inc"
#undef SLICE_ROW
}

TEST(slices_write_nothing_into_the_programs_memory) {
    constant = locked_constant;
#define SLICE_ROW(name, call, wide, narrow) EACH_RUN(name, "/CPU:0", call, wide, narrow)
#include "slice_trajectories.inc"
#undef SLICE_ROW
    constant = gantry_constant;
    assert_int_equal(atomic_load(&locked_live), 0);
}

/* Whether PoCL is there as a GPU; else the test is skipped. */
TEST(slices_follow_keras_on_pocl) {
    need_opencl();
#define SLICE_ROW(name, call, wide, narrow) EACH_RUN(name, "/GPU:0", call, wide, narrow)
#include "slice_trajectories.inc"
#undef SLICE_ROW
}

/* ---- an index outside, which a device finds later ---- */

static void apply_bad(const char *device, bool is_captured) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    run_t run = {"SGD", device, gantry_sgd(NULL), GANTRY_FLOAT64, is_captured, {NULL}, NULL};
    const gantry_shape_t slices = GANTRY_SHAPE(SLICES, WIDTH);
    const int64_t outside[SLICES] = {0, 0, 3000, 0, 0, 0};
    static double values[MOST];
    for (size_t v = 0; v < VARIABLES; ++v)
        run.weights[v] =
            gantry_variable_create(scope, make(scope, run.dtype, shapes[v], values), "w");
    if (is_captured) trace_run(&run, scope);
    const gantry_tensor_t *output, *const inputs[INPUTS] = {
                                       make_values(scope, run.dtype, 1, 0, slices),
                                       make_indices(scope, 1, 0),
                                       make_values(scope, run.dtype, 1, 1, slices),
                                       gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(SLICES),
                                                       outside, sizeof outside),
                                       make_values(scope, run.dtype, 1, 2, GANTRY_SHAPE(DENSE))};
    if (is_captured)
        (void)gantry_function_call(scope, run.function, inputs, INPUTS, &output, 1);
    else
        apply(scope, inputs, NULL, &run);
    const gantry_tensor_t *weights = gantry_variable_read(scope, run.weights[1]);
    const gantry_status_t status =
        weights ? gantry_tensor_read(weights, values, sizeof values) : gantry_scope_status(scope);
    if (status != GANTRY_INVALID_ARGUMENT || !strstr(gantry_last_message(), "does not index into"))
        fail_msg("%s, %d: %d, %s", device, (int)is_captured, (int)status, gantry_last_message());
    gantry_scope_clear(scope);
    for (size_t v = 0; v < VARIABLES; ++v) gantry_variable_release(run.weights[v]);
    gantry_function_release(run.function);
    gantry_optimizer_release(run.optimizer);
    (void)gantry_scope_end(scope);
}

TEST(an_index_outside_is_found_on_pocl) {
    need_opencl();
    apply_bad("/GPU:0", false);
    apply_bad("/GPU:0", true);
}

int main(void) { return test_main_with(open_runtime, close_runtime, NULL, NULL); }
