/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Weights under each optimizer, with each option and clip, and rates of each schedule
 * follow Keras's: on the CPU and on PoCL, eagerly and as a function, in float64 and in float32.
 * Promise: Accumulated gradients and averages of weights follow Keras, with clips, decay and
 * missing gradients.
 * Promise: Adadelta and Ftrl follow Keras's formulas with all their options.
 * Promise: Each optimizer steps from weights and gradients in memory that cannot be written. */
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

enum { VARIABLES = 3, ELEMENTS = 10, STEPS = 20, RATES = 26 };

static const gantry_shape_t shapes[VARIABLES] = {
    {.rank = 2, .dims = {2, 3}}, {.rank = 1, .dims = {3}}, {.rank = 0}};
static const size_t firsts[VARIABLES + 1] = {0, 6, 9, ELEMENTS};

/* ---- numbers that the script computes, too ---- */

static double first_weight(size_t j) { return 1 + (double)(j * 11 % 17) / 16; }

static double gradient_at(size_t step, size_t j) {
    return ((double)((step * 7 + j * 13 + j * j * 5) % 31) - 15) / 16;
}

static locked_constant_fn *constant = gantry_constant;

static const gantry_tensor_t *make_part(gantry_scope_t *scope, gantry_dtype_t dtype,
                                        const double *values, size_t variable) {
    float narrow[ELEMENTS];
    const size_t first = firsts[variable], count = firsts[variable + 1] - first;
    for (size_t i = 0; i < count; ++i) narrow[i] = (float)values[first + i];
    return dtype == GANTRY_FLOAT64
               ? constant(scope, dtype, shapes[variable], values + first, count * sizeof *values)
               : constant(scope, dtype, shapes[variable], narrow, count * sizeof *narrow);
}

/* ---- one run ---- */

typedef struct run_t {
    const char *name, *device;
    gantry_optimizer_t *optimizer;
    gantry_dtype_t dtype;
    bool is_captured, skips;
    gantry_variable_t *weights[VARIABLES];
    gantry_function_t *functions[2]; /* with all gradients, without the second */
} run_t;

static void fail_run(const run_t *run, const char *what) {
    fail_msg("%s, %s, %s, %s: %s: %s", run->name, run->device, gantry_dtype_name(run->dtype),
             run->is_captured ? "captured" : "eager", what, gantry_last_message());
}

static void apply_all(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const run_t *run = user;
    (void)gantry_optimizer_apply(run->optimizer, scope, run->weights, inputs, VARIABLES);
    outputs[0] = gantry_identity(scope, inputs[2]);
}

static void apply_without(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    const run_t *run = user;
    const gantry_tensor_t *given[] = {inputs[0], NULL, inputs[2]};
    (void)gantry_optimizer_apply(run->optimizer, scope, run->weights, given, VARIABLES);
    outputs[0] = gantry_identity(scope, inputs[2]);
}

static void begin_run(run_t *run, gantry_scope_t *scope) {
    double values[ELEMENTS];
    gantry_input_spec_t inputs[VARIABLES];
    for (size_t j = 0; j < ELEMENTS; ++j) values[j] = first_weight(j);
    for (size_t i = 0; i < VARIABLES; ++i) {
        run->weights[i] =
            gantry_variable_create(scope, make_part(scope, run->dtype, values, i), "w");
        inputs[i] = (gantry_input_spec_t){NULL, run->dtype, shapes[i]};
    }
    if (!run->is_captured) return;
    if (gantry_optimizer_build(run->optimizer, scope, run->weights, VARIABLES) != GANTRY_OK ||
        gantry_function_trace(runtime, "step", apply_all, run, inputs, VARIABLES, 1, NULL,
                              &run->functions[0]) != GANTRY_OK ||
        gantry_function_trace(runtime, "step", apply_without, run, inputs, VARIABLES, 1, NULL,
                              &run->functions[1]) != GANTRY_OK)
        fail_run(run, "trace");
}

static void do_step(run_t *run, gantry_scope_t *scope, size_t step) {
    double values[ELEMENTS];
    const gantry_tensor_t *gradients[VARIABLES], *output;
    const bool misses = run->skips && step % 3 == 0;
    for (size_t j = 0; j < ELEMENTS; ++j) values[j] = gradient_at(step, j);
    for (size_t i = 0; i < VARIABLES; ++i) gradients[i] = make_part(scope, run->dtype, values, i);
    if (run->is_captured) {
        (void)gantry_function_call(scope, run->functions[misses], gradients, VARIABLES, &output, 1);
    } else {
        if (misses) gradients[1] = NULL;
        (void)gantry_optimizer_apply(run->optimizer, scope, run->weights, gradients, VARIABLES);
    }
    if (gantry_scope_status(scope) != GANTRY_OK) fail_run(run, "step");
}

static void compare(const run_t *run, gantry_scope_t *scope, size_t step, const double *expected) {
    for (size_t i = 0; i < VARIABLES; ++i) {
        double wide[ELEMENTS];
        float narrow[ELEMENTS];
        const size_t count = firsts[i + 1] - firsts[i];
        const gantry_tensor_t *value = gantry_variable_read(scope, run->weights[i]);
        const bool is_wide = run->dtype == GANTRY_FLOAT64;
        if (gantry_tensor_read(value, is_wide ? (void *)wide : narrow,
                               count * (is_wide ? sizeof *wide : sizeof *narrow)) != GANTRY_OK)
            fail_run(run, "read");
        for (size_t k = 0; k < count; ++k) {
            const double got = is_wide ? wide[k] : (double)narrow[k],
                         want = expected[firsts[i] + k];
            if (!(fabs(got - want) <= (is_wide ? 1e-12 : 1e-5) * fabs(want)))
                fail_msg("%s, %s, %s, %s: step %zu, variable %zu, element %zu is %.17g, not %.17g",
                         run->name, run->device, gantry_dtype_name(run->dtype),
                         run->is_captured ? "captured" : "eager", step, i, k, got, want);
        }
    }
}

static void end_run(run_t *run) {
    for (size_t i = 0; i < VARIABLES; ++i) gantry_variable_release(run->weights[i]);
    for (size_t i = 0; i < 2; ++i) gantry_function_release(run->functions[i]);
    gantry_optimizer_release(run->optimizer);
}

/* Takes over the optimizer. `kept` steps have rows in expected. */
static void follow(run_t run, const size_t *kept, size_t kept_count, const double *expected) {
    gantry_scope_t *outer = gantry_scope_begin(runtime, run.device);
    size_t row = 0;
    if (!run.optimizer) fail_run(&run, "no optimizer");
    begin_run(&run, outer);
    for (size_t step = 1; step <= STEPS; ++step) {
        gantry_scope_t *scope = gantry_scope_begin_in(outer, NULL);
        do_step(&run, scope, step);
        if (row < kept_count && step == kept[row])
            compare(&run, scope, step, expected + ELEMENTS * row++);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    assert_int_equal(row, kept_count);
    end_run(&run);
    assert_int_equal(gantry_scope_end(outer), GANTRY_OK);
}

static const size_t wide_steps[] = {1, 2, 5, 20}, narrow_steps[] = {1, 20};

#define LIST(...) __VA_ARGS__
#define EACH_RUN(name, device, skips, call, wide, narrow, runs_wide, runs_narrow)                \
    for (int captured = 0; captured < 2; ++captured) {                                           \
        static const double wide_rows[] = {LIST wide}, narrow_rows[] = {LIST narrow};            \
        const run_t run = {name, device, NULL, GANTRY_FLOAT64, captured, skips, {NULL}, {NULL}}; \
        run_t now = run;                                                                         \
        assert_int_equal(sizeof wide_rows / sizeof *wide_rows, 4 * ELEMENTS);                    \
        assert_int_equal(sizeof narrow_rows / sizeof *narrow_rows, 2 * ELEMENTS);                \
        if (runs_wide) {                                                                         \
            now.optimizer = call;                                                                \
            follow(now, wide_steps, 4, wide_rows);                                               \
        }                                                                                        \
        if (runs_narrow) {                                                                       \
            now.optimizer = call;                                                                \
            now.dtype = GANTRY_FLOAT32;                                                          \
            follow(now, narrow_steps, 2, narrow_rows);                                           \
        }                                                                                        \
    }

TEST(optimizers_follow_keras_on_the_cpu){
#define OPTIMIZER_ROW(name, skips, call, wide, narrow) \
    EACH_RUN(name, "/CPU:0", skips, call, wide, narrow, true, true)
#include "optimizer_trajectories.inc"
#undef OPTIMIZER_ROW
}

TEST(optimizers_write_nothing_into_the_programs_memory) {
    constant = locked_constant;
#define OPTIMIZER_ROW(name, skips, call, wide, narrow) \
    EACH_RUN(name, "/CPU:0", skips, call, wide, narrow, true, true)
#include "optimizer_trajectories.inc"
#undef OPTIMIZER_ROW
    constant = gantry_constant;
    assert_int_equal(atomic_load(&locked_live), 0);
}

/* Whether PoCL is there as a GPU; else the test is skipped. One type after the other, because each
 * function has programs of its own: a row is captured in the one and eager in the other. */
TEST(optimizers_follow_keras_on_pocl) {
    int row = 0;
    need_opencl();
#define OPTIMIZER_ROW(name, skips, call, wide, narrow)                             \
    EACH_RUN(name, "/GPU:0", skips, call, wide, narrow, (row + captured) % 2 == 0, \
             (row + captured) % 2 == 1)                                            \
    ++row;
#include "optimizer_trajectories.inc"
#undef OPTIMIZER_ROW
}

/* ---- schedules ---- */

typedef struct rating_t {
    const gantry_schedule_t *schedule;
    gantry_dtype_t dtype;
} rating_t;

static void rate_of(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const rating_t *rating = user;
    outputs[0] = gantry_schedule_rate(scope, rating->schedule, inputs[0], rating->dtype);
}

static double read_rate(const gantry_tensor_t *rate, gantry_dtype_t dtype) {
    double wide = 0;
    float narrow = 0;
    assert_non_null(rate);
    if (dtype == GANTRY_FLOAT64) {
        assert_int_equal(gantry_tensor_read(rate, &wide, sizeof wide), GANTRY_OK);
        return wide;
    }
    assert_int_equal(gantry_tensor_read(rate, &narrow, sizeof narrow), GANTRY_OK);
    return (double)narrow;
}

/* A part of the largest rate: near the end of a cosine, float32 has lost the rest. */
static void expect_rate(const char *name, int64_t step, double got, double want, double most,
                        gantry_dtype_t dtype) {
    if (!(fabs(got - want) <= (dtype == GANTRY_FLOAT64 ? 1e-13 : 2e-6) * most))
        fail_msg("%s, %s: the rate of step %lld is %.17g, not %.17g", name,
                 gantry_dtype_name(dtype), (long long)step, got, want);
}

static void check_schedule(const char *name, const char *device, gantry_schedule_t *schedule,
                           gantry_dtype_t dtype, const double *expected) {
    rating_t rating = {schedule, dtype};
    const gantry_input_spec_t input = {NULL, GANTRY_INT64, {.rank = 0}};
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    gantry_function_t *function;
    double most = 0;
    for (size_t i = 0; i < RATES; ++i) most = fmax(most, expected[i]);
    if (!schedule || gantry_function_trace(runtime, "rate", rate_of, &rating, &input, 1, 1, NULL,
                                           &function) != GANTRY_OK)
        fail_msg("%s: %s", name, gantry_last_message());
    for (int64_t t = 0; t < RATES; ++t) {
        const gantry_tensor_t *step = gantry_scalar_i64(scope, t), *rate;
        rate_of(scope, &step, &rate, &rating);
        expect_rate(name, t, read_rate(rate, dtype), expected[t], most, dtype);
        assert_int_equal(gantry_function_call(scope, function, &step, 1, &rate, 1), GANTRY_OK);
        expect_rate(name, t, read_rate(rate, dtype), expected[t], most, dtype);
    }
    gantry_function_release(function);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

#define EACH_SCHEDULE(name, device, call, rates, runs_wide, runs_narrow)                   \
    {                                                                                      \
        static const double expected[] = {LIST rates};                                     \
        gantry_schedule_t *schedule = call;                                                \
        assert_int_equal(sizeof expected / sizeof *expected, (int)RATES);                  \
        if (runs_wide) check_schedule(name, device, schedule, GANTRY_FLOAT64, expected);   \
        if (runs_narrow) check_schedule(name, device, schedule, GANTRY_FLOAT32, expected); \
        gantry_schedule_release(schedule);                                                 \
    }

TEST(schedules_follow_keras_on_the_cpu){
#define SCHEDULE_ROW(name, call, rates) EACH_SCHEDULE(name, "/CPU:0", call, rates, true, true)
#include "optimizer_trajectories.inc"
#undef SCHEDULE_ROW
}

/* In one type after the other. */
TEST(schedules_follow_keras_on_pocl) {
    int row = 0;
    need_opencl();
#define SCHEDULE_ROW(name, call, rates)                                    \
    EACH_SCHEDULE(name, "/GPU:0", call, rates, row % 2 == 0, row % 2 == 1) \
    ++row;
#include "optimizer_trajectories.inc"
#undef SCHEDULE_ROW
}

int main(void) { return test_main_with(open_runtime, close_runtime, NULL, NULL); }
