/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with branches and loops, the twins of those in tests/golden/make_control_cases.py, and
 * TensorFlow's gradients of them. Header only. */
#ifndef TESTS_CONTROL_PROGRAM_H
#define TESTS_CONTROL_PROGRAM_H

#include <gantry_train/tape.h>

#include "train_case.h"

enum { CONTROL_TENSORS = 3, CONTROL_SOURCES = 5 };

typedef const gantry_tensor_t control_tensor_t;

/* What the bodies of a program use. */
typedef struct control_env_t {
    control_tensor_t *x, *a, *b;
    gantry_variable_t *w, *u;
} control_env_t;

typedef control_tensor_t *(*control_program_fn)(gantry_scope_t *s, const control_env_t *e);

typedef struct control_case_t {
    const char *name;
    golden_tensor_t values[CONTROL_SOURCES], y, first[CONTROL_SOURCES], second[CONTROL_SOURCES];
} control_case_t;

enum { CONTROL_CASES = 21 };

/* Of keras/control.json; control_load fills them before the tests. */
static golden_file_t control_file;
static control_case_t control_cases[CONTROL_CASES];

static inline int control_load(void **state) {
    (void)state;
    golden_file_open("keras/control.json", &control_file);
    assert_int_equal(control_file.case_count, CONTROL_CASES);
    for (size_t i = 0; i < CONTROL_CASES; ++i) {
        const golden_case_t *item = &control_file.cases[i];
        control_case_t *c = &control_cases[i];
        assert_int_equal(item->input_count, CONTROL_SOURCES);
        assert_int_equal(item->output_count, 1 + 2 * CONTROL_SOURCES);
        c->name = item->name;
        c->y = item->outputs[0];
        memcpy(c->values, item->inputs, sizeof c->values);
        memcpy(c->first, item->outputs + 1, sizeof c->first);
        memcpy(c->second, item->outputs + 1 + CONTROL_SOURCES, sizeof c->second);
    }
    return 0;
}

static inline int control_free(void **state) {
    (void)state;
    golden_free(&control_file);
    return 0;
}

/* ---- short names ---- */

static inline control_tensor_t *control_w(gantry_scope_t *s, const control_env_t *e) {
    return gantry_variable_read(s, e->w);
}
static inline control_tensor_t *control_u(gantry_scope_t *s, const control_env_t *e) {
    return gantry_variable_read(s, e->u);
}
static inline control_tensor_t *control_total(gantry_scope_t *s, control_tensor_t *x) {
    return gantry_sum(s, x, NULL);
}
static inline control_tensor_t *control_number(gantry_scope_t *s, double value) {
    return gantry_constant(s, GANTRY_FLOAT64, GANTRY_SCALAR, &value, sizeof value);
}
static inline control_tensor_t *control_int(gantry_scope_t *s, int32_t value) {
    return gantry_constant(s, GANTRY_INT32, GANTRY_SCALAR, &value, sizeof value);
}
static inline control_tensor_t *control_next(gantry_scope_t *s, control_tensor_t *i) {
    return gantry_add(s, i, control_int(s, 1));
}
static inline control_tensor_t *control_is_positive(gantry_scope_t *s, control_tensor_t *x) {
    return gantry_greater(s, control_total(s, x), control_number(s, 0));
}

/* A body: its inputs are `in`, its outputs `out`, what it uses `e`. */
#define CONTROL_BODY(name)                                                  \
    static inline void name(gantry_scope_t *s, control_tensor_t *const *in, \
                            control_tensor_t **out, void *user)
#define CONTROL_USES               \
    (void)s;                       \
    const control_env_t *e = user; \
    (void)in;                      \
    (void)e

/* One output of a branch of two bodies, which use what they take. */
static inline control_tensor_t *control_branch(gantry_scope_t *s, control_tensor_t *predicate,
                                               gantry_function_body_fn yes,
                                               gantry_function_body_fn no, const control_env_t *e) {
    control_tensor_t *out = NULL;
    (void)gantry_cond(s, predicate, yes, no, (void *)e, NULL, 0, &out, 1);
    return out;
}

/* The last of `count` loop variables. */
static inline control_tensor_t *control_loop(gantry_scope_t *s, gantry_function_body_fn condition,
                                             gantry_function_body_fn body, const control_env_t *e,
                                             control_tensor_t *const *values, size_t count) {
    control_tensor_t *out[4] = {NULL};
    (void)gantry_while(s, condition, body, (void *)e, values, count, NULL, out);
    return out[count - 1];
}

/* The last variable of a loop that counts up to a number. */
#define CONTROL_COUNT_TO(name, count)                          \
    CONTROL_BODY(name) {                                       \
        CONTROL_USES;                                          \
        out[0] = gantry_less(s, in[0], control_int(s, count)); \
    }
CONTROL_COUNT_TO(control_to_0, 0)
CONTROL_COUNT_TO(control_to_3, 3)
CONTROL_COUNT_TO(control_to_4, 4)
CONTROL_COUNT_TO(control_to_5, 5)
CONTROL_COUNT_TO(control_to_6, 6)
CONTROL_COUNT_TO(control_to_20, 20)
CONTROL_COUNT_TO(control_to_37, 37)

/* ---- bodies ---- */

CONTROL_BODY(x_times_a) {
    CONTROL_USES;
    out[0] = gantry_mul(s, e->x, e->a);
}
CONTROL_BODY(given_product) {
    CONTROL_USES;
    out[0] = gantry_mul(s, in[0], in[1]);
}
CONTROL_BODY(given_sine) {
    CONTROL_USES;
    out[0] = gantry_sin(s, in[0]);
}
CONTROL_BODY(sine_times_w) {
    CONTROL_USES;
    out[0] = gantry_mul(s, gantry_sin(s, e->x), control_w(s, e));
}
CONTROL_BODY(x_w_w) {
    CONTROL_USES;
    out[0] = gantry_mul(s, gantry_mul(s, e->x, control_w(s, e)), control_w(s, e));
}
CONTROL_BODY(a_squared) {
    CONTROL_USES;
    out[0] = gantry_mul(s, e->a, e->a);
}
CONTROL_BODY(hand_out_x) {
    CONTROL_USES;
    out[0] = e->x;
}
CONTROL_BODY(hand_out_w) {
    CONTROL_USES;
    out[0] = gantry_identity(s, control_w(s, e));
}
CONTROL_BODY(hand_out_b) {
    CONTROL_USES;
    out[0] = e->b;
}
CONTROL_BODY(product_and_sum) {
    CONTROL_USES;
    out[0] = gantry_mul(s, e->x, e->a);
    out[1] = gantry_add(s, e->x, control_w(s, e));
}
CONTROL_BODY(a_and_product) {
    CONTROL_USES;
    out[0] = e->a;
    out[1] = gantry_mul(s, e->x, e->b);
}
CONTROL_BODY(square_and_product) {
    CONTROL_USES;
    out[0] = gantry_mul(s, e->x, e->x);
    out[1] = gantry_mul(s, e->a, control_w(s, e));
}
CONTROL_BODY(x_and_a) {
    CONTROL_USES;
    out[0] = e->x;
    out[1] = e->a;
}
CONTROL_BODY(tanh_times_w) {
    CONTROL_USES;
    out[0] = gantry_mul(s, gantry_tanh(s, e->x), control_w(s, e));
}
CONTROL_BODY(b_squared) {
    CONTROL_USES;
    out[0] = gantry_mul(s, e->b, e->b);
}
CONTROL_BODY(b_b_u) {
    CONTROL_USES;
    out[0] = gantry_mul(s, gantry_mul(s, e->b, e->b), control_u(s, e));
}
CONTROL_BODY(x_a_w) {
    CONTROL_USES;
    out[0] = gantry_mul(s, gantry_mul(s, e->x, e->a), control_w(s, e));
}
CONTROL_BODY(inner_branch_times_u) {
    CONTROL_USES;
    control_tensor_t *is_large = gantry_greater(s, control_total(s, e->a), control_number(s, 100));
    out[0] = gantry_mul(s, control_branch(s, is_large, hand_out_x, x_a_w, e), control_u(s, e));
}
CONTROL_BODY(x_times_b) {
    CONTROL_USES;
    out[0] = gantry_mul(s, e->x, e->b);
}

/* ---- steps of loops ---- */

CONTROL_BODY(tanh_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_tanh(s, gantry_add(s, gantry_mul(s, in[1], control_w(s, e)), e->x));
}
CONTROL_BODY(sine_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_add(s, gantry_sin(s, gantry_mul(s, in[1], control_w(s, e))),
                        gantry_mul(s, control_number(s, 0.1), e->x));
}
CONTROL_BODY(is_below_1000) {
    CONTROL_USES;
    out[0] = gantry_less(s, control_total(s, gantry_mul(s, in[0], in[0])), control_number(s, 1000));
}
CONTROL_BODY(growing_step) {
    CONTROL_USES;
    out[0] = gantry_add(s, gantry_mul(s, in[0], control_number(s, 1.5)),
                        gantry_mul(s, control_w(s, e), e->a));
}
CONTROL_BODY(h_w_a_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_mul(s, gantry_mul(s, in[1], control_w(s, e)), e->a);
}
/* The variables are i, the constant, h, g. */
CONTROL_BODY(two_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = in[1];
    out[2] = gantry_add(s, in[2], gantry_mul(s, control_w(s, e), in[1]));
    out[3] = gantry_mul(s, in[3], in[2]);
}
CONTROL_BODY(is_below_u) {
    CONTROL_USES;
    control_tensor_t *u = control_u(s, e);
    out[0] =
        gantry_less(s, control_total(s, gantry_mul(s, in[0], in[0])),
                    gantry_mul(s, control_number(s, 50), control_total(s, gantry_mul(s, u, u))));
}
CONTROL_BODY(h_x_2_step) {
    CONTROL_USES;
    out[0] = gantry_mul(s, gantry_mul(s, in[0], e->x), control_number(s, 2));
}
CONTROL_BODY(overwriting_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_mul(s, e->x, control_w(s, e));
}
/* The variables are i, h, g. */
CONTROL_BODY(swapping_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_mul(s, in[2], control_w(s, e));
    out[2] = in[1];
}
CONTROL_BODY(given_h_times_w) {
    CONTROL_USES;
    out[0] = gantry_mul(s, in[0], control_w(s, e));
}
CONTROL_BODY(given_sine_and_a_x) {
    CONTROL_USES;
    out[0] = gantry_add(s, gantry_sin(s, in[0]), gantry_mul(s, e->a, e->x));
}
CONTROL_BODY(branching_step) {
    CONTROL_USES;
    control_tensor_t *is_even =
        gantry_equal(s, gantry_bitwise_and(s, in[0], control_int(s, 1)), control_int(s, 0));
    out[0] = control_next(s, in[0]);
    (void)gantry_cond(s, is_even, given_h_times_w, given_sine_and_a_x, user, &in[1], 1, &out[1], 1);
}
CONTROL_BODY(tanh_w_a_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_mul(s, gantry_tanh(s, gantry_add(s, in[1], control_w(s, e))), e->a);
}
CONTROL_BODY(loop_of_4) {
    CONTROL_USES;
    out[0] = control_loop(s, control_to_4, tanh_w_a_step, e,
                          (control_tensor_t *[]){control_int(s, 0), e->x}, 2);
}
CONTROL_BODY(sine_w_x_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_add(s, gantry_sin(s, gantry_mul(s, in[1], control_w(s, e))), e->x);
}
CONTROL_BODY(looping_step) {
    CONTROL_USES;
    control_tensor_t *inner = control_loop(s, control_to_3, sine_w_x_step, e,
                                           (control_tensor_t *[]){control_int(s, 0), in[1]}, 2);
    out[0] = control_next(s, in[0]);
    out[1] = gantry_mul(s, inner, control_u(s, e));
}
CONTROL_BODY(recurrent_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_tanh(
        s,
        gantry_add(
            s,
            gantry_add(s, gantry_matmul(s, gantry_gather(s, e->x, in[0], 0), control_w(s, e), NULL),
                       gantry_matmul(s, in[1], control_u(s, e), NULL)),
            e->b));
}

/* ---- steps without a gradient ---- */

CONTROL_BODY(noisy_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_mul(s, in[1], gantry_random_uniform(s, GANTRY_SHAPE(3), GANTRY_FLOAT64, NULL));
}
CONTROL_BODY(assigning_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_mul(s, in[1], e->x);
    (void)gantry_variable_assign(s, e->u, e->x);
}
CONTROL_BODY(remainder_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_truncate_mod(s, in[1], in[1]);
}
CONTROL_BODY(remainder_of_x) {
    CONTROL_USES;
    out[0] = gantry_truncate_mod(s, e->x, e->x);
}
CONTROL_BODY(growing_size_step) {
    CONTROL_USES;
    out[0] = control_next(s, in[0]);
    out[1] = gantry_concat(s, (control_tensor_t *[]){in[1], in[1]}, 2, 0);
}

/* ---- programs ---- */

#define CONTROL_PROGRAM(name) \
    static control_tensor_t *name(gantry_scope_t *s, const control_env_t *e)

CONTROL_PROGRAM(branch_of_inputs) {
    control_tensor_t *const in[] = {e->x, e->a}, *out = NULL;
    (void)gantry_cond(s, control_is_positive(s, e->x), given_product, given_sine, NULL, in, 2, &out,
                      1);
    return control_total(s, out);
}
CONTROL_PROGRAM(branch_not_taken) {
    control_tensor_t *is_negative = gantry_less(s, control_total(s, e->x), control_number(s, 0));
    return control_total(s, control_branch(s, is_negative, x_times_a, sine_times_w, e));
}
CONTROL_PROGRAM(branch_of_captured) {
    control_tensor_t *y = control_branch(s, control_is_positive(s, e->x), x_w_w, a_squared, e);
    return control_total(s, gantry_mul(s, y, e->a));
}
CONTROL_PROGRAM(branch_hands_out_captured) {
    control_tensor_t *y =
        control_branch(s, control_is_positive(s, e->a), hand_out_x, hand_out_w, e);
    return control_total(s, gantry_mul(s, y, e->x));
}
CONTROL_PROGRAM(branch_with_two_outputs) {
    control_tensor_t *out[2] = {NULL};
    (void)gantry_cond(s, control_is_positive(s, e->x), product_and_sum, a_and_product, (void *)e,
                      NULL, 0, out, 2);
    return control_total(s, gantry_mul(s, gantry_mul(s, out[0], out[0]), out[1]));
}
CONTROL_PROGRAM(branch_of_unused_output) {
    control_tensor_t *out[2] = {NULL};
    (void)gantry_cond(s, control_is_positive(s, e->x), square_and_product, x_and_a, (void *)e, NULL,
                      0, out, 2);
    return control_total(s, out[0]);
}
static inline control_tensor_t *control_case(gantry_scope_t *s, const control_env_t *e,
                                             int32_t index, gantry_function_body_fn last) {
    const gantry_function_body_fn bodies[] = {x_times_a, tanh_times_w, last};
    control_tensor_t *out = NULL;
    (void)gantry_case(s, gantry_add(s, control_int(s, index), control_int(s, 0)), bodies, 3,
                      (void *)e, NULL, 0, &out, 1);
    return control_total(s, out);
}
CONTROL_PROGRAM(case_of_three) { return control_case(s, e, 1, b_squared); }
CONTROL_PROGRAM(case_of_no_such_index) { return control_case(s, e, 7, b_b_u); }
CONTROL_PROGRAM(branch_in_branch) {
    return control_total(
        s, control_branch(s, control_is_positive(s, e->x), inner_branch_times_u, hand_out_b, e));
}
CONTROL_PROGRAM(loop_of_fixed_length) {
    return control_total(s, control_loop(s, control_to_5, tanh_step, e,
                                         (control_tensor_t *[]){control_int(s, 0), e->a}, 2));
}
CONTROL_PROGRAM(loop_longer_than_a_chunk) {
    return control_total(s, control_loop(s, control_to_37, sine_step, e,
                                         (control_tensor_t *[]){control_int(s, 0), e->a}, 2));
}
CONTROL_PROGRAM(loop_until_value) {
    control_tensor_t *h = control_loop(s, is_below_1000, growing_step, e, &e->x, 1);
    return control_total(s, gantry_mul(s, h, control_u(s, e)));
}
CONTROL_PROGRAM(loop_without_steps) {
    control_tensor_t *h = control_loop(s, control_to_0, h_w_a_step, e,
                                       (control_tensor_t *[]){control_int(s, 0), e->x}, 2);
    return control_total(s, gantry_mul(s, h, e->x));
}
CONTROL_PROGRAM(loop_of_two_variables) {
    return control_total(
        s, control_loop(s, control_to_4, two_step, e,
                        (control_tensor_t *[]){control_int(s, 0), e->b, e->a, e->x}, 4));
}
CONTROL_PROGRAM(loop_uses_only_in_condition) {
    return control_total(s, control_loop(s, is_below_u, h_x_2_step, e, &e->a, 1));
}
CONTROL_PROGRAM(loop_overwrites) {
    return control_total(s, control_loop(s, control_to_3, overwriting_step, e,
                                         (control_tensor_t *[]){control_int(s, 0), e->a}, 2));
}
CONTROL_PROGRAM(loop_swaps) {
    control_tensor_t *g = control_loop(s, control_to_3, swapping_step, e,
                                       (control_tensor_t *[]){control_int(s, 0), e->a, e->x}, 3);
    return control_total(s, gantry_mul(s, g, e->b));
}
CONTROL_PROGRAM(branch_in_loop) {
    return control_total(s, control_loop(s, control_to_6, branching_step, e,
                                         (control_tensor_t *[]){control_int(s, 0), e->x}, 2));
}
CONTROL_PROGRAM(loop_in_branch) {
    return control_total(s,
                         control_branch(s, control_is_positive(s, e->x), loop_of_4, x_times_b, e));
}
CONTROL_PROGRAM(loop_in_loop) {
    return control_total(s, control_loop(s, control_to_3, looping_step, e,
                                         (control_tensor_t *[]){control_int(s, 0), e->a}, 2));
}
CONTROL_PROGRAM(recurrent) {
    return control_total(s, control_loop(s, control_to_20, recurrent_step, e,
                                         (control_tensor_t *[]){control_int(s, 0), e->a}, 2));
}

static const control_program_fn control_programs[] = {branch_of_inputs,
                                                      branch_not_taken,
                                                      branch_of_captured,
                                                      branch_hands_out_captured,
                                                      branch_with_two_outputs,
                                                      branch_of_unused_output,
                                                      case_of_three,
                                                      case_of_no_such_index,
                                                      branch_in_branch,
                                                      loop_of_fixed_length,
                                                      loop_longer_than_a_chunk,
                                                      loop_until_value,
                                                      loop_without_steps,
                                                      loop_of_two_variables,
                                                      loop_uses_only_in_condition,
                                                      loop_overwrites,
                                                      loop_swaps,
                                                      branch_in_loop,
                                                      loop_in_branch,
                                                      loop_in_loop,
                                                      recurrent};

#endif
