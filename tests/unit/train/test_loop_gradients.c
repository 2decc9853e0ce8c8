/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: In a function, a loop has the gradients of its steps run one by one, of first and second
 * order, however often one tensor reaches its body.
 * Promise: A tape outside a function has the same gradients of a loop in the function as a tape
 * inside it, however often one tensor reaches the loop's body.
 * Promise: The gradient of a loop runs the loop's body with the tensors that it used at first, also
 * with those of a function that has returned. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "control_program.h"
#include "test.h"
#include "train_fixture.h"

typedef control_tensor_t tensor;

/* ---- programs: y of x; a is x again, b a read of w ---- */

static gantry_function_t *product; /* tanh(a) b */

static void tanh_times(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_mul(s, gantry_tanh(s, in[0]), in[1]);
}

/* A step that multiplies the second variable; the third one does not change. */
static void step_by(gantry_scope_t *s, tensor *const *in, tensor **out, tensor *factor) {
    out[0] = control_next(s, in[0]);
    out[1] = gantry_mul(s, in[1], factor);
    out[2] = in[2];
}

CONTROL_BODY(by_given) {
    CONTROL_USES;
    step_by(s, in, out, in[2]);
}
CONTROL_BODY(by_given_and_captured) {
    CONTROL_USES;
    step_by(s, in, out, gantry_mul(s, in[2], e->x));
}
CONTROL_BODY(by_given_twice) {
    CONTROL_USES;
    step_by(s, in, out, gantry_mul(s, in[2], in[3]));
    out[3] = in[3];
}
CONTROL_BODY(not_used) {
    CONTROL_USES;
    step_by(s, in, out, control_number(s, 1));
}
CONTROL_BODY(exchanging) {
    CONTROL_USES;
    step_by(s, in, out, e->x);
    out[2] = gantry_mul(s, in[3], in[2]);
    out[3] = in[1];
}
CONTROL_BODY(by_read) {
    CONTROL_USES;
    step_by(s, in, out, gantry_mul(s, in[2], control_w(s, e)));
}
CONTROL_BODY(by_captured_read) {
    CONTROL_USES;
    step_by(s, in, out, gantry_mul(s, in[2], e->b));
}
CONTROL_BODY(by_branch) {
    CONTROL_USES;
    tensor *factor = NULL;
    (void)gantry_cond(s, control_is_positive(s, in[1]), given_product, tanh_times, user,
                      (tensor *[]){e->x, in[2]}, 2, &factor, 1);
    step_by(s, in, out, factor);
}
CONTROL_BODY(by_function) {
    CONTROL_USES;
    tensor *factor = NULL;
    (void)gantry_function_call(s, product, (tensor *[]){e->x, in[2]}, 2, &factor, 1);
    step_by(s, in, out, factor);
}
CONTROL_BODY(by_loop) {
    CONTROL_USES;
    tensor *inner[3] = {NULL};
    (void)gantry_while(s, control_to_3, by_given_and_captured, user,
                       (tensor *[]){control_int(s, 1), in[2], in[2]}, 3, NULL, inner);
    step_by(s, in, out, inner[1]);
}

/* b: a read, so that one tensor is given and captured. */
typedef struct loop_t {
    const char *name;
    gantry_function_body_fn step;
    size_t count; /* of variables */
    bool is_read; /* they are b; else x */
} loop_t;

static const loop_t loops[] = {
    {"changing and given", by_given, 3, false},
    {"given and captured", by_given_and_captured, 3, false},
    {"given twice", by_given_twice, 4, false},
    {"given, and not used", not_used, 3, false},
    {"exchanged", exchanging, 4, false},
    {"a read given, and read again", by_read, 3, true},
    {"a read given and captured", by_captured_read, 3, true},
    {"through a branch", by_branch, 3, false},
    {"through a function", by_function, 3, false},
    {"through an inner loop", by_loop, 3, false},
};

/* ---- a step: y, its gradients, and those of their squares, of x and w ---- */

enum { OUTPUTS = 5 };

typedef struct case_t {
    const loop_t *loop;
    control_env_t env;
    bool is_plain; /* y is the only output */
} case_t;

static tensor *run_loop(gantry_scope_t *s, const case_t *c) {
    const control_env_t *e = &c->env;
    tensor *value = c->loop->is_read ? e->b : e->x, *y = control_number(s, 0),
           *values[4] = {control_int(s, 0), value, value, value}, *last[4] = {NULL};
    (void)gantry_while(s, control_to_3, c->loop->step, (void *)e, values, c->loop->count, NULL,
                       last);
    for (size_t i = 1; i < c->loop->count; ++i)
        y = gantry_add(s, y,
                       gantry_mul(s, control_total(s, last[i]), control_number(s, (double)i)));
    return y;
}

static gantry_tape_t *tape_of(gantry_scope_t *s, tensor *x) {
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    (void)gantry_tape_watch(tape, x);
    return tape;
}

static void differentiate(gantry_tape_t *tape, tensor *y, tensor *x, gantry_variable_t *w,
                          tensor **out) {
    const gantry_gradient_options_t zeros = {.struct_size = sizeof zeros,
                                             .zeros_where_unconnected = true};
    const gantry_source_t sources[] = {{.tensor = x}, {.variable = w}};
    (void)gantry_tape_gradient(tape, y, NULL, sources, 2, &zeros, out);
    gantry_tape_end(tape);
}

static void take_step(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    case_t *c = user;
    gantry_tape_t *outer = c->is_plain ? NULL : tape_of(s, in[0]),
                  *inner = c->is_plain ? NULL : tape_of(s, in[0]);
    c->env.x = in[0];
    c->env.b = control_w(s, &c->env);
    out[0] = run_loop(s, c);
    if (c->is_plain) return;
    differentiate(inner, out[0], in[0], c->env.w, out + 1);
    tensor *squares = gantry_add(s, control_total(s, gantry_mul(s, out[1], out[1])),
                                 control_total(s, gantry_mul(s, out[2], out[2])));
    differentiate(outer, squares, in[0], c->env.w, out + 3);
}

static gantry_function_t *trace(case_t *c, size_t outputs) {
    const gantry_input_spec_t x = {"x", GANTRY_FLOAT64, GANTRY_SHAPE(2)};
    gantry_function_t *function = NULL;
    if (gantry_function_trace(fixture.runtime, c->loop->name, take_step, c, &x, 1, outputs, NULL,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static void expect_same(const char *name, tensor *const *got, tensor *const *expected,
                        size_t count) {
    for (size_t i = 0; i < count; ++i) {
        double a[2] = {0}, b[2] = {0};
        const size_t bytes = gantry_tensor_bytes(expected[i]);
        assert_int_equal(gantry_tensor_read(got[i], a, bytes), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(expected[i], b, bytes), GANTRY_OK);
        for (int k = 0; k < 2; ++k)
            if (!(fabs(a[k] - b[k]) <= 1e-11 * (1 + fabs(b[k]))))
                fail_msg("%s: output %zu is %.17g, not %.17g", name, i, a[k], b[k]);
    }
}

static void trace_product(void) {
    const gantry_input_spec_t two[] = {{"a", GANTRY_FLOAT64, GANTRY_SHAPE(2)},
                                       {"b", GANTRY_FLOAT64, GANTRY_SHAPE(2)}};
    assert_int_equal(gantry_function_trace(fixture.runtime, "product", tanh_times, NULL, two, 2, 1,
                                           NULL, &product),
                     GANTRY_OK);
}

static tensor *pair(gantry_scope_t *s, double a, double b) {
    return gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(2), (double[]){a, b},
                           2 * sizeof(double));
}

static void check_all(void (*check)(gantry_scope_t *s, case_t *c, tensor *x)) {
    trace_product();
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; ++i) {
        gantry_scope_t *s = gantry_scope_begin(fixture.runtime, NULL);
        case_t c = {.loop = &loops[i], .env.w = gantry_variable_create(s, pair(s, 0.8, -0.6), "w")};
        check(s, &c, pair(s, 0.9, 1.1));
        gantry_variable_release(c.env.w);
        if (gantry_scope_status(s) != GANTRY_OK)
            fail_msg("%s: %s", loops[i].name, gantry_scope_message(s));
        assert_int_equal(gantry_scope_end(s), GANTRY_OK);
    }
    gantry_function_release(product);
}

static void check_inside(gantry_scope_t *s, case_t *c, tensor *x) {
    tensor *got[OUTPUTS] = {NULL}, *expected[OUTPUTS] = {NULL};
    gantry_function_t *function = trace(c, OUTPUTS);
    assert_int_equal(gantry_function_call(s, function, &x, 1, got, OUTPUTS), GANTRY_OK);
    take_step(s, &x, expected, c);
    expect_same(c->loop->name, got, expected, OUTPUTS);
    gantry_function_release(function);
}

TEST(one_tensor_reaches_the_body_of_a_loop_twice) { check_all(check_inside); }

static void check_outside(gantry_scope_t *s, case_t *c, tensor *x) {
    tensor *got[3] = {NULL}, *expected[OUTPUTS] = {NULL};
    take_step(s, &x, expected, c);
    c->is_plain = true;
    gantry_function_t *function = trace(c, 1);
    gantry_tape_t *tape = tape_of(s, x);
    assert_int_equal(gantry_function_call(s, function, &x, 1, got, 1), GANTRY_OK);
    differentiate(tape, got[0], x, c->env.w, got + 1);
    expect_same(c->loop->name, got, expected, 3);
    gantry_function_release(function);
}

TEST(tape_outside_of_a_function_with_such_a_loop) { check_all(check_outside); }

/* ---- tensors of a function ---- */

/* By a number and a mask that the function made; a tape has a gradient of neither. */
CONTROL_BODY(by_local) {
    CONTROL_USES;
    step_by(s, in, out, gantry_mul(s, e->a, gantry_cast(s, e->b, GANTRY_FLOAT64)));
}
static const loop_t local_loop = {"tensors of the function", by_local, 3, false};

static void make_locals(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    case_t *c = user;
    c->env.x = in[0];
    c->env.a = gantry_add(s, control_number(s, 0.25), control_number(s, 1));
    c->env.b = gantry_greater(s, pair(s, 1, 0), control_number(s, 0));
    out[0] = run_loop(s, c);
}

/* Ends the function's scope, and makes tensors where its tensors were. */
static void call_in_a_trace(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    gantry_tape_t *tape = tape_of(s, in[0]);
    (void)gantry_function_call(s, user, in, 1, out, 1);
    for (int i = 0; i < 64; ++i) (void)control_next(s, control_int(s, i));
    (void)gantry_tape_gradient(tape, out[0], NULL, &(gantry_source_t){.tensor = in[0]}, 1, NULL,
                               out + 1);
    gantry_tape_end(tape);
}

/* The slope of the second variable, x (1.25 m)^3, and that of twice the third, x; m: 1 and 0. */
static void expect_local(tensor *const *out) {
    double slope[2];
    assert_int_equal(gantry_tensor_read(out[1], slope, sizeof slope), GANTRY_OK);
    assert_true(fabs(slope[0] - (1.25 * 1.25 * 1.25 + 2)) < 1e-12);
    assert_true(fabs(slope[1] - 2) < 1e-12);
}

TEST(bodies_use_tensors_of_a_function_that_returned) {
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT64, GANTRY_SHAPE(2)};
    gantry_function_t *local = NULL, *around = NULL;
    case_t c = {.loop = &local_loop};
    gantry_scope_t *s = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = pair(s, 0.9, 1.1), *out[2] = {NULL};
    assert_int_equal(
        gantry_function_trace(fixture.runtime, "local", make_locals, &c, &spec, 1, 1, NULL, &local),
        GANTRY_OK);
    call_in_a_trace(s, &x, out, local); /* outside one */
    expect_local(out);
    assert_int_equal(gantry_function_trace(fixture.runtime, "around", call_in_a_trace, local, &spec,
                                           1, 2, NULL, &around),
                     GANTRY_OK);
    assert_int_equal(gantry_function_call(s, around, &x, 1, out, 2), GANTRY_OK);
    expect_local(out);
    gantry_function_release(around);
    gantry_function_release(local);
    assert_int_equal(gantry_scope_end(s), GANTRY_OK);
}

int main(void) { return test_main_each(set_up, tear_down); }
