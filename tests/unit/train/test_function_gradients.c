/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Gradients of functions that are called under a tape have the right values and Nones,
 * also of second order, and what has no gradient is refused by name.
 * Promise: The backward function of a function is traced once, has gradients for inputs, captured
 * tensors and variables, and serves several threads.
 * Promise: A branch and a loop have gradients for 1,000 variables. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "control_program.h"
#include "test.h"
#include "train_heap.h"

typedef control_tensor_t tensor;

static runtime_fixture_t fixture;
static gantry_runtime_t *runtime;
static gantry_scope_t *scope;

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, 0);
    runtime = fixture.runtime;
    scope = gantry_scope_begin(runtime, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

static tensor *pair(double a, double b) {
    return gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(2), (double[]){a, b},
                           2 * sizeof(double));
}

static void expect_pair(tensor *given, double a, double b) {
    double values[2];
    assert_non_null(given);
    assert_int_equal(gantry_tensor_read(given, values, sizeof values), GANTRY_OK);
    if (!(fabs(values[0] - a) < 1e-12 && fabs(values[1] - b) < 1e-12))
        fail_msg("%.17g, %.17g, not %g, %g", values[0], values[1], a, b);
}

/* The function of most tests: x x w + c, and x. */
typedef struct body_t {
    gantry_variable_t *w;
    tensor *c;
    int runs;
} body_t;

static void square_times_w(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    body_t *body = user;
    ++body->runs;
    out[0] =
        gantry_add(s, gantry_mul(s, gantry_mul(s, in[0], in[0]), gantry_variable_read(s, body->w)),
                   gantry_mul(s, body->c, in[0]));
    out[1] = gantry_mul(s, in[1], in[1]);
}

static const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT64, {.rank = 1, .dims = {2}}},
                                            {"z", GANTRY_FLOAT64, {.rank = 1, .dims = {2}}}};

static gantry_function_t *trace(gantry_function_body_fn body, void *user, size_t output_count) {
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "f", body, user, specs, 2, output_count, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

/* A tape that watches all tensors; sources: they, and a variable. */
static gantry_tape_t *begin_tape(const gantry_source_t *sources, size_t count) {
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    for (size_t i = 0; i < count; ++i) {
        if (sources[i].tensor)
            assert_int_equal(gantry_tape_watch(tape, sources[i].tensor), GANTRY_OK);
    }
    return tape;
}

/* ---- values ---- */

TEST(inputs_captures_and_variables_have_gradients) {
    tensor *x = pair(2, 3), *z = pair(5, 7), *c = pair(10, 20), *out[2], *g[4];
    body_t body = {gantry_variable_create(scope, pair(0.5, -1), "w"), c, 0};
    gantry_function_t *f = trace(square_times_w, &body, 2);
    const gantry_source_t sources[] = {
        {.tensor = x}, {.tensor = z}, {.tensor = c}, {.variable = body.w}};
    gantry_tape_t *tape = begin_tape(sources, 4);
    assert_int_equal(gantry_function_call(scope, f, (tensor *[]){x, z}, 2, out, 2), GANTRY_OK);
    tensor *y = gantry_mul(scope, out[0], out[0]);
    if (gantry_tape_gradient(tape, y, NULL, sources, 4, NULL, g) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    /* y0 = x x w + c x = 22, 51; 2 y0 (2 x w + c), 2 y0 x, 2 y0 x x */
    expect_pair(g[0], 2 * 22 * 12., 2 * 51 * 14.);
    expect_pair(g[1], 0,
                0); /* zeros: TensorFlow's backward function has a gradient of each output */
    expect_pair(g[2], 2 * 22 * 2., 2 * 51 * 3.);
    expect_pair(g[3], 2 * 22 * 4., 2 * 51 * 9.);
    gantry_tape_end(tape);
    gantry_function_release(f);
    gantry_variable_release(body.w);
}

/* ---- traces ---- */

/* The first call under a tape traces what the function uses, the first gradient its backward
 * function, after a trace that asks which sources have one. */
TEST(backward_function_is_traced_once) {
    body_t body = {gantry_variable_create(scope, pair(0.5, -1), "w"), pair(1, 1), 0};
    gantry_function_t *f = trace(square_times_w, &body, 2);
    assert_int_equal(body.runs, 1);
    for (int step = 0; step < 3; ++step) {
        tensor *x = pair(step, 3), *z = pair(5, 7), *out[2], *g[2];
        const gantry_source_t sources[] = {{.tensor = x}, {.variable = body.w}};
        gantry_tape_t *tape = begin_tape(sources, 2);
        assert_int_equal(gantry_function_call(scope, f, (tensor *[]){x, z}, 2, out, 2), GANTRY_OK);
        assert_int_equal(gantry_tape_gradient(tape, out[0], NULL, sources, 2, NULL, g), GANTRY_OK);
        expect_pair(g[0], step + 1, -5);
        expect_pair(g[1], step * step, 9);
        gantry_tape_end(tape);
        assert_int_equal(body.runs, 4);
    }
    /* another output, and other sources: another backward function */
    tensor *x = pair(2, 3), *z = pair(5, 7), *out[2], *g;
    const gantry_source_t source = {.tensor = z};
    gantry_tape_t *tape = begin_tape(&source, 1);
    assert_int_equal(gantry_function_call(scope, f, (tensor *[]){x, z}, 2, out, 2), GANTRY_OK);
    assert_int_equal(gantry_tape_gradient(tape, out[1], NULL, &source, 1, NULL, &g), GANTRY_OK);
    expect_pair(g, 10, 14);
    assert_int_equal(body.runs, 6);
    gantry_tape_end(tape);
    gantry_function_release(f);
    gantry_variable_release(body.w);
}

/* No tape: the body does not run again. No source: no gradient. */
TEST(function_without_sources_is_not_recorded) {
    body_t body = {gantry_variable_create(scope, pair(0.5, -1), "w"), pair(1, 1), 0};
    gantry_function_t *f = trace(square_times_w, &body, 2);
    tensor *x = pair(2, 3), *apart = pair(1, 1), *out[2], *g[2];
    assert_int_equal(gantry_function_call(scope, f, (tensor *[]){x, x}, 2, out, 2), GANTRY_OK);
    assert_int_equal(body.runs, 1);
    gantry_tape_t *tape =
        gantry_tape_begin(scope, &(gantry_tape_options_t){.watches_named_variables = true});
    assert_int_equal(gantry_tape_watch(tape, apart), GANTRY_OK);
    assert_int_equal(gantry_function_call(scope, f, (tensor *[]){x, x}, 2, out, 2), GANTRY_OK);
    const gantry_source_t sources[] = {{.tensor = apart}, {.variable = body.w}};
    assert_int_equal(gantry_tape_gradient(tape, out[0], NULL, sources, 2, NULL, g), GANTRY_OK);
    assert_null(g[0]);
    assert_null(g[1]);
    gantry_tape_end(tape);
    gantry_function_release(f);
    gantry_variable_release(body.w);
}

/* ---- higher order, other functions ---- */

/* y = x x w + c x: the gradient of sum of (2 x w + c)^2 */
TEST(second_order) {
    tensor *x = pair(2, 3), *c = pair(10, 20), *out[2], *first, *g[3];
    body_t body = {gantry_variable_create(scope, pair(0.5, -1), "w"), c, 0};
    gantry_function_t *f = trace(square_times_w, &body, 2);
    const gantry_source_t sources[] = {{.tensor = x}, {.tensor = c}, {.variable = body.w}};
    gantry_tape_t *outer = begin_tape(sources, 3), *inner = begin_tape(sources, 1);
    assert_int_equal(gantry_function_call(scope, f, (tensor *[]){x, x}, 2, out, 2), GANTRY_OK);
    if (gantry_tape_gradient(inner, out[0], NULL, sources, 1, NULL, &first) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    expect_pair(first, 12, 14);
    tensor *squares = gantry_mul(scope, first, first);
    if (gantry_tape_gradient(outer, squares, NULL, sources, 3, NULL, g) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    expect_pair(g[0], 2 * 12 * 1., 2 * 14 * -2.);
    expect_pair(g[1], 2 * 12, 2 * 14);
    expect_pair(g[2], 2 * 12 * 4., 2 * 14 * 6.);
    gantry_tape_end(inner);
    gantry_tape_end(outer);
    gantry_function_release(f);
    gantry_variable_release(body.w);
}

static void call_another(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    tensor *made[2];
    if (gantry_function_call(s, user, in, 2, made, 2) == GANTRY_OK)
        out[0] = gantry_mul(s, made[0], made[1]);
}

/* d (x x w + c x) z z, with x = z */
TEST(function_that_calls_another) {
    tensor *x = pair(2, 3), *y, *g[2];
    body_t body = {gantry_variable_create(scope, pair(0.5, -1), "w"), pair(10, 20), 0};
    gantry_function_t *f = trace(square_times_w, &body, 2), *outer = trace(call_another, f, 1);
    const gantry_source_t sources[] = {{.tensor = x}, {.variable = body.w}};
    gantry_tape_t *tape = begin_tape(sources, 2);
    assert_int_equal(gantry_function_call(scope, outer, (tensor *[]){x, x}, 2, &y, 1), GANTRY_OK);
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, sources, 2, NULL, g), GANTRY_OK);
    expect_pair(g[0], 4 * 8 * 0.5 + 3 * 4 * 10, 4 * 27 * -1. + 3 * 9 * 20);
    expect_pair(g[1], 16, 81);
    gantry_tape_end(tape);
    gantry_function_release(outer);
    gantry_function_release(f);
    gantry_variable_release(body.w);
}

/* A loop in a function that is called: all of control_program.h, against TensorFlow. */
typedef struct program_t {
    control_program_fn run;
    control_env_t env;
} program_t;

static void program_body(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    program_t *program = user;
    program->env.x = in[0];
    program->env.a = in[1];
    program->env.b = in[2];
    out[0] = program->run(s, &program->env);
}

static void check_program(size_t number) {
    const control_case_t *given = &control_cases[number];
    program_t program = {.run = control_programs[number]};
    tensor *in[CONTROL_TENSORS], *y, *g[CONTROL_SOURCES];
    gantry_input_spec_t inputs[CONTROL_TENSORS];
    gantry_source_t sources[CONTROL_SOURCES];
    gantry_function_t *f;
    for (int i = 0; i < CONTROL_TENSORS; ++i) {
        in[i] = train_make(scope, &given->values[i]);
        inputs[i] = train_spec(&given->values[i]);
        sources[i] = (gantry_source_t){.tensor = in[i]};
    }
    program.env.w = gantry_variable_create(scope, train_make(scope, &given->values[3]), "w");
    program.env.u = gantry_variable_create(scope, train_make(scope, &given->values[4]), "u");
    sources[3] = (gantry_source_t){.variable = program.env.w};
    sources[4] = (gantry_source_t){.variable = program.env.u};
    if (gantry_function_trace(runtime, given->name, program_body, &program, inputs, CONTROL_TENSORS,
                              1, NULL, &f) != GANTRY_OK)
        fail_msg("%s: %s", given->name, gantry_last_message());
    gantry_tape_t *tape = begin_tape(sources, CONTROL_SOURCES);
    assert_int_equal(gantry_function_call(scope, f, in, CONTROL_TENSORS, &y, 1), GANTRY_OK);
    if (gantry_tape_gradient(tape, y, NULL, sources, CONTROL_SOURCES, NULL, g) != GANTRY_OK)
        fail_msg("%s: %s", given->name, gantry_scope_message(scope));
    for (int i = 0; i < CONTROL_SOURCES; ++i) {
        const double bound = 1e-12;
        if (given->first[i].data)
            train_expect(given->name, g[i], &given->first[i], &bound);
        else
            assert_null(g[i]);
    }
    gantry_tape_end(tape);
    gantry_function_release(f);
    gantry_variable_release(program.env.w);
    gantry_variable_release(program.env.u);
}

TEST(branches_and_loops_in_a_function) {
    for (size_t i = 0; i < sizeof control_cases / sizeof control_cases[0]; ++i) check_program(i);
}

TEST(branches_and_loops_on_opencl) {
    gantry_scope_t *const outer = scope;
    runtime = train_open_gpu();
    scope = gantry_scope_begin(runtime, NULL);
    branches_and_loops_in_a_function(state);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
    scope = outer;
}

/* ---- several threads ---- */

static void *differentiate(void *user) {
    gantry_function_t *f = user;
    int right = 0;
    gantry_scope_t *own = gantry_scope_begin(runtime, NULL);
    for (int step = 0; step < 20; ++step) {
        const double values[] = {2, 3};
        tensor *x = gantry_constant(own, GANTRY_FLOAT64, GANTRY_SHAPE(2), values, sizeof values);
        tensor *out[2], *g = NULL;
        const gantry_source_t source = {.tensor = x};
        gantry_tape_t *tape = gantry_tape_begin(own, NULL);
        (void)gantry_tape_watch(tape, x);
        (void)gantry_function_call(own, f, (tensor *[]){x, x}, 2, out, 2);
        (void)gantry_tape_gradient(tape, out[0], NULL, &source, 1, NULL, &g);
        gantry_tape_end(tape);
        double got[2] = {0, 0};
        right += g && gantry_tensor_read(g, got, sizeof got) == GANTRY_OK && got[0] == 12;
    }
    return gantry_scope_end(own) == GANTRY_OK && right == 20 ? f : NULL;
}

TEST(threads_share_the_backward_function) {
    pthread_t threads[3];
    body_t body = {gantry_variable_create(scope, pair(0.5, -1), "w"), pair(10, 20), 0};
    gantry_function_t *f = trace(square_times_w, &body, 2);
    for (int i = 0; i < 3; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, differentiate, f), 0);
    for (int i = 0; i < 3; ++i) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, f);
    }
    gantry_function_release(f);
    gantry_variable_release(body.w);
}

/* ---- refused ---- */

static void expect_refused(gantry_function_body_fn body, void *user, gantry_status_t status,
                           const char *text) {
    tensor *x = pair(2, 3), *y, *g;
    gantry_function_t *f = trace(body, user, 1);
    const gantry_source_t source = {.tensor = x};
    gantry_tape_t *tape = begin_tape(&source, 1);
    assert_int_equal(gantry_function_call(scope, f, (tensor *[]){x, x}, 2, &y, 1), GANTRY_OK);
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &g), status);
    if (!strstr(gantry_scope_message(scope), text)) fail_msg("%s", gantry_scope_message(scope));
    gantry_scope_clear(scope);
    gantry_tape_end(tape);
    gantry_function_release(f);
}

static void add_noise(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_mul(s, in[0], gantry_random_uniform(s, GANTRY_SHAPE(2), GANTRY_FLOAT64, NULL));
}

static void count_calls(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)gantry_variable_assign(s, user, in[1]);
    out[0] = gantry_mul(s, in[0], in[0]);
}

static void take_remainder(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_truncate_mod(s, in[0], in[0]);
}

TEST(what_must_run_once_is_refused) {
    gantry_variable_t *v = gantry_variable_create(scope, pair(0, 0), "calls");
    expect_refused(
        add_noise, NULL, GANTRY_UNIMPLEMENTED,
        "the gradient of op PartitionedCall: it runs the body again, and RandomUniform in "
        "it must run once");
    expect_refused(count_calls, v, GANTRY_UNIMPLEMENTED, "and calls/Assign in it must run once");
    expect_refused(take_remainder, NULL, GANTRY_UNIMPLEMENTED, "op TruncateMod has no gradient");
    gantry_variable_release(v);
}

/* The body would read another value than it did. */
TEST(assigned_variable_is_refused) {
    tensor *x = pair(2, 3), *out[2], *g;
    body_t body = {gantry_variable_create(scope, pair(0.5, -1), "w"), pair(10, 20), 0};
    gantry_function_t *f = trace(square_times_w, &body, 2);
    const gantry_source_t source = {.variable = body.w};
    gantry_tape_t *tape = begin_tape(&source, 1);
    assert_int_equal(gantry_function_call(scope, f, (tensor *[]){x, x}, 2, out, 2), GANTRY_OK);
    assert_int_equal(gantry_variable_assign(scope, body.w, x), GANTRY_OK);
    assert_int_equal(gantry_tape_gradient(tape, out[0], NULL, &source, 1, NULL, &g),
                     GANTRY_FAILED_PRECONDITION);
    if (!strstr(gantry_scope_message(scope), "variable w was assigned after the body read it"))
        fail_msg("%s", gantry_scope_message(scope));
    gantry_scope_clear(scope);
    gantry_tape_end(tape);
    gantry_function_release(f);
    gantry_variable_release(body.w);
}

enum { MANY = 1000 };

typedef struct many_t {
    gantry_variable_t *variables[MANY];
    bool is_loop;
} many_t;

static void add_many(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    many_t *many = user;
    tensor *sum = control_number(s, 0);
    for (int i = 0; i < MANY; ++i)
        sum = gantry_add(s, sum, gantry_variable_read(s, many->variables[i]));
    if (many->is_loop) out[0] = control_next(s, in[0]);
    out[many->is_loop ? 1 : 0] = sum;
}

static void take_zero(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)in;
    (void)user;
    out[0] = control_number(s, 0);
}

static void differentiate_many(gantry_scope_t *s, tensor *const *inputs, tensor **outputs,
                               void *user) {
    many_t *many = user;
    gantry_source_t sources[MANY];
    tensor *gradients[MANY], *y;
    tensor *const values[] = {control_int(s, 0), control_number(s, 0)};
    for (int i = 0; i < MANY; ++i) sources[i] = (gantry_source_t){.variable = many->variables[i]};
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    if (many->is_loop)
        y = control_loop(s, control_to_3, add_many, user, values, 2);
    else
        (void)gantry_cond(s, control_is_positive(s, inputs[0]), add_many, take_zero, user, NULL, 0,
                          &y, 1);
    if (gantry_tape_gradient(tape, y, NULL, sources, MANY, NULL, gradients) == GANTRY_OK) {
        outputs[0] = y;
        for (int i = 0; i < MANY; ++i) outputs[0] = gantry_add(s, outputs[0], gradients[i]);
    }
    gantry_tape_end(tape);
}

TEST(branches_and_loops_have_1000_gradients) {
    many_t many = {{NULL}, false};
    gantry_function_t *function;
    const gantry_input_spec_t spec = {NULL, GANTRY_FLOAT64, {.rank = 0}};
    for (int i = 0; i < MANY; ++i)
        many.variables[i] = gantry_variable_create(scope, control_number(scope, i), NULL);
    for (int k = 0; k < 2; ++k) {
        tensor *one = control_number(scope, 1), *out;
        double sum;
        many.is_loop = k > 0;
        if (gantry_function_trace(runtime, "f", differentiate_many, &many, &spec, 1, 1, NULL,
                                  &function) != GANTRY_OK ||
            gantry_function_call(scope, function, &one, 1, &out, 1) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        assert_int_equal(gantry_tensor_read(out, &sum, sizeof sum), GANTRY_OK);
        /* the sum of the variables, and a slope of 1 for each */
        assert_true(sum == MANY * (MANY - 1) / 2 + MANY);
        gantry_function_release(function);
    }
    for (int i = 0; i < MANY; ++i) gantry_variable_release(many.variables[i]);
}

/* ---- memory ---- */

static gantry_status_t compute_once(gantry_variable_t *w, tensor *c) {
    body_t body = {w, c, 0};
    gantry_function_t *f = trace(square_times_w, &body, 2);
    gantry_scope_t *inner = gantry_scope_begin(runtime, NULL);
    tensor *x = gantry_identity(inner, c), *out[2], *first = NULL, *g[2];
    const gantry_source_t sources[] = {{.tensor = x}, {.variable = w}};
    gantry_tape_t *outer = gantry_tape_begin(inner, NULL);
    if (outer) (void)gantry_tape_watch(outer, x);
    gantry_tape_t *tape = gantry_tape_begin(inner, NULL);
    if (tape) (void)gantry_tape_watch(tape, x);
    if (gantry_function_call(inner, f, (tensor *[]){x, x}, 2, out, 2) == GANTRY_OK)
        (void)gantry_tape_gradient(tape, out[0], NULL, sources, 1, NULL, &first);
    if (first) (void)gantry_tape_gradient(outer, first, NULL, sources, 2, NULL, g);
    gantry_tape_end(tape);
    gantry_tape_end(outer);
    const gantry_status_t status = gantry_scope_end(inner);
    gantry_function_release(f);
    return status;
}

TEST(failing_allocations_leak_nothing) {
    tensor *c = pair(10, 20);
    gantry_variable_t *w = gantry_variable_create(scope, pair(0.5, -1), "w");
    assert_int_equal(compute_once(w, c), GANTRY_OK);
    const long count = train_heap_count();
    assert_true(count > 0);
    for (long i = 0; i < count; ++i) {
        train_heap_reset(i);
        const gantry_status_t status = compute_once(w, c);
        /* a trace for uses that fails is made again for the gradient */
        if (status != GANTRY_OK) assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(train_heap_live(), 0);
    }
    train_heap_reset(-1);
    gantry_variable_release(w);
}

int main(void) { return test_main_with(control_load, control_free, set_up, tear_down); }
