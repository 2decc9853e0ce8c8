/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Gradients of branches and loops in a function, of first and second order, are
 * TensorFlow's, those of the same ops outside a function, and finite differences.
 * Promise: Where a gradient would run a body again, an op in it that must run once, such as a draw
 * or an assignment, is refused by name. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <stdio.h>

#include "control_program.h"
#include "test.h"
#include "train_fixture.h"

typedef control_tensor_t tensor;

enum { PROGRAMS = sizeof control_cases / sizeof control_cases[0] };

/* ---- a step: y, its gradients, and those of the sum of their squares ---- */

enum { STEP_OUTPUTS = 1 + 2 * CONTROL_SOURCES };

typedef struct step_t {
    const control_case_t *given;
    control_program_fn run;
    control_env_t env; /* lives until the gradients are computed */
    int order;         /* of the gradients: 0, 1 or 2 */
    bool has[STEP_OUTPUTS];
} step_t;

static void list_sources(const control_env_t *env, gantry_source_t *sources) {
    tensor *const tensors[] = {env->x, env->a, env->b};
    for (int i = 0; i < CONTROL_TENSORS; ++i) sources[i] = (gantry_source_t){.tensor = tensors[i]};
    sources[3] = (gantry_source_t){.variable = env->w};
    sources[4] = (gantry_source_t){.variable = env->u};
}

static gantry_tape_t *begin_tape(gantry_scope_t *scope, const gantry_source_t *sources) {
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    for (int i = 0; tape && i < CONTROL_TENSORS; ++i)
        (void)gantry_tape_watch(tape, sources[i].tensor);
    return tape;
}

static tensor *sum_squares(gantry_scope_t *scope, tensor *const *gradients) {
    tensor *sum = NULL;
    for (int i = 0; i < CONTROL_SOURCES; ++i) {
        if (!gradients[i]) continue;
        tensor *part = control_total(scope, gantry_mul(scope, gradients[i], gradients[i]));
        sum = sum ? gantry_add(scope, sum, part) : part;
    }
    return sum;
}

/* A function sets all outputs: a scalar stands for NULL. */
static void fill_gaps(step_t *step, gantry_scope_t *scope, tensor **outputs) {
    for (int i = 0; i < STEP_OUTPUTS; ++i) {
        step->has[i] = outputs[i] != NULL;
        if (!outputs[i]) outputs[i] = control_number(scope, 0);
    }
}

static void take_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    step_t *step = user;
    gantry_source_t sources[CONTROL_SOURCES];
    gantry_tape_t *outer = NULL, *inner = NULL;
    step->env.x = inputs[0];
    step->env.a = inputs[1];
    step->env.b = inputs[2];
    list_sources(&step->env, sources);
    for (int i = 0; i < STEP_OUTPUTS; ++i) outputs[i] = NULL;
    if (step->order > 1) outer = begin_tape(scope, sources);
    if (step->order > 0) inner = begin_tape(scope, sources);
    outputs[0] = step->run(scope, &step->env);
    if (inner && outputs[0])
        (void)gantry_tape_gradient(inner, outputs[0], NULL, sources, CONTROL_SOURCES, NULL,
                                   outputs + 1);
    if (outer && gantry_scope_status(scope) == GANTRY_OK)
        (void)gantry_tape_gradient(outer, sum_squares(scope, outputs + 1), NULL, sources,
                                   CONTROL_SOURCES, NULL, outputs + 1 + CONTROL_SOURCES);
    gantry_tape_end(inner);
    gantry_tape_end(outer);
    if (gantry_scope_status(scope) == GANTRY_OK) fill_gaps(step, scope, outputs);
}

static void make_inputs(step_t *step, gantry_scope_t *scope, tensor **inputs) {
    const golden_tensor_t *values = step->given->values;
    for (int i = 0; i < CONTROL_TENSORS; ++i) inputs[i] = train_make(scope, &values[i]);
    step->env.w = gantry_variable_create(scope, train_make(scope, &values[3]), "w");
    step->env.u = gantry_variable_create(scope, train_make(scope, &values[4]), "u");
    assert_non_null(step->env.u);
}

static gantry_function_t *trace_step(gantry_runtime_t *runtime, step_t *step) {
    gantry_input_spec_t specs[CONTROL_TENSORS];
    gantry_function_t *function;
    for (int i = 0; i < CONTROL_TENSORS; ++i) specs[i] = train_spec(&step->given->values[i]);
    if (gantry_function_trace(runtime, step->given->name, take_step, step, specs, CONTROL_TENSORS,
                              STEP_OUTPUTS, NULL, &function) != GANTRY_OK)
        fail_msg("%s: %s", step->given->name, gantry_last_message());
    return function;
}

static void release_variables(const step_t *step) {
    gantry_variable_release(step->env.w);
    gantry_variable_release(step->env.u);
}

static bool is_zero(const golden_tensor_t *given) {
    const unsigned char *bytes = given->data;
    for (size_t i = 0; i < given->bytes; ++i) {
        if (bytes[i] != 0) return false;
    }
    return bytes != NULL;
}

/* Where TensorFlow carries zeros from an output that nothing depends on, a second gradient may be
 * NULL. */
static void expect_gradient(const step_t *step, const char *what, int source, tensor *got, bool has,
                            const golden_tensor_t *expected) {
    char name[128];
    const double bound = 1e-12;
    (void)snprintf(name, sizeof name, "%s: %s of source %d", step->given->name, what, source);
    if (!has && is_zero(expected) && step->order > 1) return;
    if (has != (expected->data != NULL))
        fail_msg("%s is %s, TensorFlow's is not", name, has ? "a tensor" : "NULL");
    if (has) train_expect(name, got, expected, &bound);
}

static void expect_outputs(const step_t *step, tensor *const *outputs) {
    const double bound = 1e-12;
    train_expect(step->given->name, outputs[0], &step->given->y, &bound);
    for (int i = 0; i < CONTROL_SOURCES && step->order > 0; ++i)
        expect_gradient(step, "gradient", i, outputs[1 + i], step->has[1 + i],
                        &step->given->first[i]);
    for (int i = 0; i < CONTROL_SOURCES && step->order > 1; ++i)
        expect_gradient(step, "second gradient", i, outputs[1 + CONTROL_SOURCES + i],
                        step->has[1 + CONTROL_SOURCES + i], &step->given->second[i]);
}

static void check_program(gantry_runtime_t *runtime, size_t program, int order) {
    step_t step = {
        .given = &control_cases[program], .run = control_programs[program], .order = order};
    tensor *inputs[CONTROL_TENSORS], *outputs[STEP_OUTPUTS];
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    make_inputs(&step, scope, inputs);
    gantry_function_t *function = trace_step(runtime, &step);
    if (gantry_function_call(scope, function, inputs, CONTROL_TENSORS, outputs, STEP_OUTPUTS) !=
        GANTRY_OK)
        fail_msg("%s: %s", step.given->name, gantry_last_message());
    expect_outputs(&step, outputs);
    gantry_function_release(function);
    release_variables(&step);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

TEST(gradients_are_tensorflows) {
    assert_int_equal(PROGRAMS, sizeof control_programs / sizeof control_programs[0]);
    for (size_t i = 0; i < PROGRAMS; ++i) check_program(fixture.runtime, i, 1);
}

TEST(second_gradients_are_tensorflows) {
    for (size_t i = 0; i < PROGRAMS; ++i) check_program(fixture.runtime, i, 2);
}

/* ---- the same ops outside a function, and differences ---- */

/* Outside a trace each op of a body that runs is recorded: a loop is unrolled. */
TEST(unrolled_ops_have_the_same_gradients) {
    for (size_t i = 0; i < PROGRAMS; ++i) {
        step_t step = {.given = &control_cases[i], .run = control_programs[i], .order = 2};
        tensor *inputs[CONTROL_TENSORS], *outputs[STEP_OUTPUTS];
        gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
        make_inputs(&step, scope, inputs);
        take_step(scope, inputs, outputs, &step);
        for (int k = 0; k < STEP_OUTPUTS; ++k) {
            const golden_tensor_t *expected = k == 0 ? &step.given->y
                                              : k <= CONTROL_SOURCES
                                                  ? &step.given->first[k - 1]
                                                  : &step.given->second[k - 1 - CONTROL_SOURCES];
            const double bound = 1e-12;
            if (step.has[k] && expected->data)
                train_expect(step.given->name, outputs[k], expected, &bound);
            else if (expected->data && !is_zero(expected))
                fail_msg("%s: output %d is NULL", step.given->name, k);
        }
        release_variables(&step);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
}

typedef struct difference_t {
    gantry_function_t *function;
    gantry_scope_t *scope;
    double *values[CONTROL_SOURCES];
    size_t counts[CONTROL_SOURCES];
    const step_t *step;
} difference_t;

static double read_number(tensor *given) {
    double value = 0;
    assert_int_equal(gantry_tensor_read(given, &value, sizeof value), GANTRY_OK);
    return value;
}

static double measure(const difference_t *d) {
    tensor *inputs[CONTROL_SOURCES], *outputs[STEP_OUTPUTS];
    gantry_scope_t *scope = gantry_scope_begin_in(d->scope, NULL);
    for (int i = 0; i < CONTROL_SOURCES; ++i)
        inputs[i] = gantry_constant(scope, GANTRY_FLOAT64, d->step->given->values[i].shape,
                                    d->values[i], d->counts[i] * sizeof(double));
    (void)gantry_variable_assign(scope, d->step->env.w, inputs[3]);
    (void)gantry_variable_assign(scope, d->step->env.u, inputs[4]);
    if (gantry_function_call(scope, d->function, inputs, CONTROL_TENSORS, outputs, STEP_OUTPUTS) !=
        GANTRY_OK)
        fail_msg("%s: %s", d->step->given->name, gantry_scope_message(scope));
    const double y = read_number(outputs[0]);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return y;
}

static void expect_differences(difference_t *d, tensor *const *gradients) {
    const double h = 1e-6;
    double got[256];
    for (int i = 0; i < CONTROL_SOURCES; ++i) {
        memset(got, 0, sizeof got);
        if (d->step->has[1 + i])
            assert_int_equal(gantry_tensor_read(gradients[i], got, d->counts[i] * sizeof(double)),
                             GANTRY_OK);
        for (size_t k = 0; k < d->counts[i]; ++k) {
            const double at = d->values[i][k];
            d->values[i][k] = at + h;
            const double above = measure(d);
            d->values[i][k] = at - h;
            const double slope = (above - measure(d)) / (2 * h);
            d->values[i][k] = at;
            if (!(fabs(slope - got[k]) <= 1e-6 * (1 + fabs(slope))))
                fail_msg("%s: source %d, element %zu: %g, by differences %g", d->step->given->name,
                         i, k, got[k], slope);
        }
    }
}

TEST(gradients_are_differences) {
    static double numbers[CONTROL_SOURCES][TRAIN_MOST_BYTES / sizeof(double)];
    for (size_t i = 0; i < PROGRAMS; ++i) {
        step_t step = {.given = &control_cases[i], .run = control_programs[i], .order = 1};
        tensor *inputs[CONTROL_TENSORS], *outputs[STEP_OUTPUTS];
        gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
        make_inputs(&step, scope, inputs);
        difference_t d = {trace_step(fixture.runtime, &step), scope, {NULL}, {0}, &step};
        for (int k = 0; k < CONTROL_SOURCES; ++k) {
            const golden_tensor_t *given = &step.given->values[k];
            assert_true(given->bytes <= sizeof numbers[k]);
            memcpy(numbers[k], given->data, given->bytes);
            d.counts[k] = given->bytes / sizeof(double);
            d.values[k] = numbers[k];
        }
        assert_int_equal(
            gantry_function_call(scope, d.function, inputs, CONTROL_TENSORS, outputs, STEP_OUTPUTS),
            GANTRY_OK);
        expect_differences(&d, outputs + 1);
        gantry_function_release(d.function);
        release_variables(&step);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
}

/* ---- PoCL ---- */

TEST(gradients_on_opencl) {
    gantry_runtime_t *runtime = train_open_gpu();
    for (size_t i = 0; i < PROGRAMS; ++i) check_program(runtime, i, 1);
    gantry_runtime_release(runtime);
}

/* ---- refused ---- */

static tensor *run_steps(gantry_scope_t *s, const control_env_t *e, gantry_function_body_fn step) {
    return control_total(
        s, control_loop(s, control_to_3, step, e, (tensor *[]){control_int(s, 0), e->a}, 2));
}
CONTROL_PROGRAM(noisy) { return run_steps(s, e, noisy_step); }
CONTROL_PROGRAM(assigning) { return run_steps(s, e, assigning_step); }
CONTROL_PROGRAM(remainder_in_loop) { return run_steps(s, e, remainder_step); }
CONTROL_PROGRAM(remainder_in_branch) {
    return control_total(
        s, control_branch(s, control_is_positive(s, e->x), remainder_of_x, hand_out_b, e));
}
CONTROL_PROGRAM(growing_size) {
    tensor *some = gantry_boolean_mask(s, e->a, gantry_greater(s, e->x, control_number(s, 0)), 0);
    return control_total(s, control_loop(s, control_to_3, growing_size_step, e,
                                         (tensor *[]){control_int(s, 0), some}, 2));
}
CONTROL_PROGRAM(assigned_since) {
    tensor *y = run_steps(s, e, tanh_step);
    (void)gantry_variable_assign(s, e->w, e->x);
    return y;
}

static void expect_refused(control_program_fn run, gantry_status_t status, const char *text) {
    step_t step = {.given = &control_cases[0], .run = run, .order = 1};
    gantry_input_spec_t specs[CONTROL_TENSORS];
    gantry_function_t *function = NULL;
    tensor *inputs[CONTROL_TENSORS];
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    make_inputs(&step, scope, inputs);
    for (int i = 0; i < CONTROL_TENSORS; ++i) specs[i] = train_spec(&step.given->values[i]);
    assert_int_equal(gantry_function_trace(fixture.runtime, "step", take_step, &step, specs,
                                           CONTROL_TENSORS, STEP_OUTPUTS, NULL, &function),
                     status);
    if (!strstr(gantry_last_message(), text)) fail_msg("%s", gantry_last_message());
    release_variables(&step);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

TEST(what_must_run_once_is_refused) {
    expect_refused(noisy, GANTRY_UNIMPLEMENTED,
                   "the gradient of op While: it runs the body again, and RandomUniform in it must "
                   "run once");
    expect_refused(assigning, GANTRY_UNIMPLEMENTED, "and u/Assign in it must run once");
    expect_refused(remainder_in_loop, GANTRY_UNIMPLEMENTED, "op TruncateMod has no gradient");
    expect_refused(remainder_in_branch, GANTRY_UNIMPLEMENTED, "op TruncateMod has no gradient");
    expect_refused(growing_size, GANTRY_UNIMPLEMENTED,
                   "loop variable 1 changes and has shape [-1], of which a size depends on data");
    expect_refused(assigned_since, GANTRY_FAILED_PRECONDITION,
                   "variable w was assigned after the body read it");
}

static gantry_status_t trace_once(control_program_fn run) {
    step_t step = {.given = &control_cases[0], .run = run, .order = 2};
    gantry_input_spec_t specs[CONTROL_TENSORS];
    gantry_function_t *function = NULL;
    tensor *inputs[CONTROL_TENSORS];
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    make_inputs(&step, scope, inputs);
    for (int i = 0; i < CONTROL_TENSORS; ++i) specs[i] = train_spec(&step.given->values[i]);
    gantry_status_t status = gantry_function_trace(fixture.runtime, "step", take_step, &step, specs,
                                                   CONTROL_TENSORS, STEP_OUTPUTS, NULL, &function);
    gantry_function_release(function);
    release_variables(&step);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return status;
}

/* Before the loop it may be assigned, and one that the body does not read also later. */
CONTROL_PROGRAM(assigned_before) {
    tensor *w = control_w(s, e);
    (void)gantry_variable_assign(s, e->w, w);
    tensor *y = run_steps(s, e, tanh_step);
    (void)gantry_variable_assign(s, e->u, w);
    return y;
}

TEST(other_assignments_do_no_harm) { assert_int_equal(trace_once(assigned_before), GANTRY_OK); }

/* ---- more tapes ---- */

/* Two gradients of one tape: the bodies run again for each. What nothing uses has zeros. */
static void take_twice(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    step_t *step = user;
    const gantry_gradient_options_t zeros = {.zeros_where_unconnected = true};
    gantry_source_t sources[CONTROL_SOURCES];
    step->env.x = inputs[0];
    step->env.a = inputs[1];
    step->env.b = inputs[2];
    list_sources(&step->env, sources);
    gantry_tape_t *tape = gantry_tape_begin(scope, &(gantry_tape_options_t){.persistent = true});
    for (int i = 0; i < CONTROL_TENSORS; ++i) (void)gantry_tape_watch(tape, sources[i].tensor);
    tensor *y = step->run(scope, &step->env);
    (void)gantry_tape_gradient(tape, y, NULL, sources, CONTROL_SOURCES, &zeros, outputs);
    (void)gantry_tape_gradient(tape, gantry_mul(scope, y, y), NULL, sources, CONTROL_SOURCES,
                               &zeros, outputs + CONTROL_SOURCES);
    gantry_tape_end(tape);
}

static void expect_twice(const control_case_t *given, tensor *const *outputs) {
    double y, first[3], second[3], value = 0;
    memcpy(&y, given->y.data, sizeof y);
    for (int i = 0; i < CONTROL_SOURCES; ++i) {
        assert_int_equal(gantry_tensor_read(outputs[i], first, sizeof first), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(outputs[CONTROL_SOURCES + i], second, sizeof second),
                         GANTRY_OK);
        for (int k = 0; k < 3; ++k) {
            assert_true(fabs(second[k] - 2 * y * first[k]) < 1e-12);
            value += fabs(first[k]);
        }
    }
    assert_true(value > 0.1);
}

TEST(persistent_tape_gives_several) {
    step_t step = {.given = &control_cases[9], .run = loop_of_fixed_length};
    gantry_input_spec_t specs[CONTROL_TENSORS];
    gantry_function_t *function;
    tensor *inputs[CONTROL_TENSORS], *outputs[2 * CONTROL_SOURCES];
    assert_string_equal(step.given->name, "loop_of_fixed_length");
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    make_inputs(&step, scope, inputs);
    for (int i = 0; i < CONTROL_TENSORS; ++i) specs[i] = train_spec(&step.given->values[i]);
    if (gantry_function_trace(fixture.runtime, "twice", take_twice, &step, specs, CONTROL_TENSORS,
                              2 * CONTROL_SOURCES, NULL, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_function_call(scope, function, inputs, CONTROL_TENSORS, outputs,
                                          2 * CONTROL_SOURCES),
                     GANTRY_OK);
    expect_twice(step.given, outputs);
    gantry_function_release(function);
    release_variables(&step);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* A tape in the body of a branch, in which there is a loop. */
CONTROL_BODY(gradient_in_a_body) {
    CONTROL_USES;
    const gantry_source_t sources[] = {{.tensor = e->a}, {.variable = e->w}};
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    (void)gantry_tape_watch(tape, e->a);
    tensor *y = loop_of_fixed_length(s, e);
    (void)gantry_tape_gradient(tape, y, NULL, sources, 2, NULL, out);
    gantry_tape_end(tape);
}
CONTROL_BODY(two_zeros) {
    CONTROL_USES;
    out[0] = gantry_zeros_like(s, e->a);
    out[1] = out[0];
}

static void branch_with_a_gradient(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                                   void *user) {
    step_t *step = user;
    step->env.x = inputs[0];
    step->env.a = inputs[1];
    step->env.b = inputs[2];
    (void)gantry_cond(scope, control_is_positive(scope, inputs[0]), gradient_in_a_body, two_zeros,
                      &step->env, NULL, 0, outputs, 2);
}

TEST(gradient_in_the_body_of_a_branch) {
    step_t step = {.given = &control_cases[9]};
    gantry_input_spec_t specs[CONTROL_TENSORS];
    gantry_function_t *function;
    tensor *inputs[CONTROL_TENSORS], *outputs[2];
    const double bound = 1e-12;
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    make_inputs(&step, scope, inputs);
    for (int i = 0; i < CONTROL_TENSORS; ++i) specs[i] = train_spec(&step.given->values[i]);
    if (gantry_function_trace(fixture.runtime, "branch", branch_with_a_gradient, &step, specs,
                              CONTROL_TENSORS, 2, NULL, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_function_call(scope, function, inputs, CONTROL_TENSORS, outputs, 2),
                     GANTRY_OK);
    train_expect("a", outputs[0], &step.given->first[1], &bound);
    train_expect("w", outputs[1], &step.given->first[3], &bound);
    gantry_function_release(function);
    release_variables(&step);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* ---- sizes that depend on data ---- */

static tensor *some_of(gantry_scope_t *s, tensor *x) {
    return gantry_boolean_mask(s, x, gantry_greater(s, x, control_number(s, 0.6)), 0);
}
CONTROL_BODY(squares_of_given) {
    CONTROL_USES;
    out[0] = gantry_mul(s, in[0], in[0]);
}
CONTROL_BODY(some_of_w) {
    CONTROL_USES;
    out[0] = gantry_mul(s, some_of(s, control_w(s, e)), control_total(s, e->a));
}
/* Between branches, and out of them. */
CONTROL_PROGRAM(some_in_a_branch) {
    tensor *some = some_of(s, e->x), *out = NULL;
    (void)gantry_cond(s, control_is_positive(s, e->x), squares_of_given, some_of_w, (void *)e,
                      &some, 1, &out, 1);
    return control_total(s, gantry_mul(s, out, out));
}
/* The variables are i, a constant of such a size, a sum. */
CONTROL_BODY(adding_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = in[1];
    out[2] = gantry_add(s, gantry_mul(s, in[2], control_number(s, 0.5)),
                        control_total(s, gantry_mul(s, in[1], some_of(s, e->x))));
}
CONTROL_PROGRAM(some_in_a_loop) {
    return control_loop(
        s, control_to_5, adding_step, e,
        (tensor *[]){control_int(s, 0), some_of(s, e->x), control_total(s, control_w(s, e))}, 3);
}

/* Outside a function, all sizes are known. */
static void check_same(control_program_fn run) {
    const control_case_t *given = &control_cases[0];
    step_t traced = {.given = given, .run = run, .order = 2}, eager = traced;
    tensor *inputs[CONTROL_TENSORS], *got[STEP_OUTPUTS], *expected[STEP_OUTPUTS];
    double a[3], b[3];
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    make_inputs(&traced, scope, inputs);
    eager.env = traced.env;
    gantry_function_t *function = trace_step(fixture.runtime, &traced);
    if (gantry_function_call(scope, function, inputs, CONTROL_TENSORS, got, STEP_OUTPUTS) !=
        GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    take_step(scope, inputs, expected, &eager);
    for (int i = 0; i < STEP_OUTPUTS; ++i) {
        if (traced.has[i] && !eager.has[i]) continue; /* zeros */
        assert_int_equal(traced.has[i], eager.has[i]);
        const size_t bytes = gantry_tensor_bytes(expected[i]);
        assert_int_equal(gantry_tensor_bytes(got[i]), bytes);
        assert_int_equal(gantry_tensor_read(got[i], a, bytes), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(expected[i], b, bytes), GANTRY_OK);
        for (size_t k = 0; k < bytes / sizeof(double); ++k)
            if (!(fabs(a[k] - b[k]) <= 1e-12 * (1 + fabs(b[k]))))
                fail_msg("output %d, element %zu: %.17g, not %.17g", i, k, a[k], b[k]);
    }
    assert_true(traced.has[1]);
    gantry_function_release(function);
    release_variables(&traced);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

TEST(sizes_may_depend_on_data) {
    check_same(some_in_a_branch);
    check_same(some_in_a_loop);
}

/* ---- bodies with gradients of their own ---- */

static void forward_double(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_add(s, in[0], in[0]);
}

static void backward_ten(gantry_scope_t *s, tensor *const *in, tensor *const *out,
                         tensor *const *dy, tensor **dx, void *user) {
    (void)in;
    (void)out;
    (void)user;
    dx[0] = gantry_mul(s, dy[0], control_number(s, 10));
}

/* 2 a, whose gradient is 10; times x, through which no gradient flows. */
CONTROL_BODY(custom_step) {
    CONTROL_USES;
    tensor *twice = NULL;
    out[0] = control_next(s, in[0]);
    (void)gantry_custom_gradient(s, forward_double, backward_ten, NULL, &in[1], 1, &twice, 1);
    out[1] = gantry_mul(s, twice, gantry_stop_gradient(s, e->x));
}

static void take_custom_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                             void *user) {
    step_t *step = user;
    step->env.x = inputs[0];
    step->env.a = inputs[1];
    const gantry_source_t sources[] = {{.tensor = inputs[0]}, {.tensor = inputs[1]}};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, inputs[0]);
    (void)gantry_tape_watch(tape, inputs[1]);
    tensor *y = control_loop(scope, control_to_3, custom_step, &step->env,
                             (tensor *[]){control_int(scope, 0), inputs[1]}, 2);
    (void)gantry_tape_gradient(tape, y, NULL, sources, 2, NULL, outputs);
    gantry_tape_end(tape);
    step->has[0] = outputs[0] != NULL;
    if (!outputs[0]) outputs[0] = outputs[1];
}

TEST(gradients_of_the_programs_own_in_a_body) {
    step_t step = {.given = &control_cases[0]};
    gantry_input_spec_t specs[CONTROL_TENSORS];
    gantry_function_t *function;
    tensor *inputs[CONTROL_TENSORS], *outputs[2];
    double x[3], got[3];
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    make_inputs(&step, scope, inputs);
    for (int i = 0; i < CONTROL_TENSORS; ++i) specs[i] = train_spec(&step.given->values[i]);
    if (gantry_function_trace(fixture.runtime, "custom", take_custom_step, &step, specs,
                              CONTROL_TENSORS, 2, NULL, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_function_call(scope, function, inputs, CONTROL_TENSORS, outputs, 2),
                     GANTRY_OK);
    assert_false(step.has[0]);
    assert_int_equal(gantry_tensor_read(inputs[0], x, sizeof x), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(outputs[1], got, sizeof got), GANTRY_OK);
    for (int k = 0; k < 3; ++k)
        assert_true(fabs(got[k] - 1000 * x[k] * x[k] * x[k]) < 1e-9 * got[k]);
    gantry_function_release(function);
    release_variables(&step);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* ---- memory ---- */

/* Each program has its own way through the rules. */
static void fail_each_allocation(control_program_fn run) {
    train_heap_reset(-1);
    assert_int_equal(trace_once(run), GANTRY_OK);
    const long count = train_heap_count();
    assert_true(count > 0);
    for (long i = 0; i < count; ++i) {
        train_heap_reset(i);
        assert_int_equal(trace_once(run), GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(train_heap_live(), 0);
    }
}

TEST(failing_allocations_leak_nothing) {
    fail_each_allocation(branch_of_captured);
    fail_each_allocation(loop_of_fixed_length);
}

/* The library's own: its heap fails from an allocation on. Each seventh, since a trace has many. */
TEST(failing_heap_leaks_nothing) {
    failing_heap_t *heap = &fixture.heap.inner;
    step_t step = {.given = &control_cases[0], .run = branch_in_loop, .order = 2};
    gantry_input_spec_t specs[CONTROL_TENSORS];
    tensor *inputs[CONTROL_TENSORS];
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    make_inputs(&step, scope, inputs);
    for (int i = 0; i < CONTROL_TENSORS; ++i) specs[i] = train_spec(&step.given->values[i]);
    long at = 0;
    for (bool is_done = false; !is_done; at += 7) {
        gantry_function_t *function = NULL;
        heap->calls = 0;
        heap->fail_at = at;
        const gantry_status_t status =
            gantry_function_trace(fixture.runtime, "step", take_step, &step, specs, CONTROL_TENSORS,
                                  STEP_OUTPUTS, NULL, &function);
        heap->fail_at = -1;
        gantry_function_release(function);
        is_done = status == GANTRY_OK;
        if (!is_done) assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(train_heap_live(), 0);
    }
    assert_true(at > 300);
    release_variables(&step);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

int main(void) { return test_main_with(control_load, control_free, set_up, tear_down); }
