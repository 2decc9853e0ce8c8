/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An error of an inner scope that the body of a function ignores is reported if an output
 * is missing.
 *
 * No body ends a scope that it did not begin. */
#define _DEFAULT_SOURCE

#include "function_fixture.h"
#include "test.h"

/* Leaves the output alone after an op of an inner scope has failed; user: whether that scope stays
 * open. */
static void ignoring(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    gantry_scope_t *inner = gantry_scope_begin_in(gantry_scope_begin_in(scope, NULL), NULL);
    (void)gantry_matmul(inner, inputs[0], inputs[0], NULL);
    (void)outputs;
    if (!user) (void)gantry_scope_end(inner);
}

static void setting_anyway(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    ignoring(scope, inputs, outputs, user);
    outputs[0] = inputs[0];
}

static const gantry_tensor_t *truth(gantry_scope_t *scope) {
    return gantry_less(scope, gantry_scalar_f32(scope, 0), gantry_scalar_f32(scope, 1));
}

static void branching_to_ignoring(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                  const gantry_tensor_t **outputs, void *user) {
    (void)gantry_cond(scope, truth(scope), ignoring, ignoring, user, inputs, 1, outputs, 1);
}

TEST(an_ignored_error_is_told_if_an_output_is_missing) {
    static const gantry_function_body_fn bodies[] = {ignoring, branching_to_ignoring};
    static char open_scope[1];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < 4; ++i)
        expect_refusal(function_fixture_try(&f, bodies[i / 2], i % 2 ? open_scope : NULL),
                       GANTRY_INVALID_ARGUMENT, "MatMul");
    assert_int_equal(function_fixture_try(&f, setting_anyway, NULL), GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *y;
    branching_to_ignoring(scope, &x, &y, NULL); /* where the bodies run at once */
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "MatMul");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* user: a scope around the body. */
static void ending_a_scope_around_it(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                     const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_neg(scope, inputs[0]);
    assert_int_equal(gantry_scope_end(*(gantry_scope_t **)user), GANTRY_FAILED_PRECONDITION);
}

TEST(a_body_does_not_end_a_scope_around_its_own) {
    static const char text[] = "a body ends a scope that it did not begin";
    const gantry_input_spec_t any = SPEC_F32(-1);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (int i = 0; i < 8; ++i) {
        gantry_scope_t *outer = runtime_fixture_scope(&f, NULL), *ended = outer;
        gantry_scope_t *scope = i & 1 ? gantry_scope_begin_in(outer, "CPU:0") : outer;
        const gantry_tensor_t *x = F32(scope, 1, 2), *y = x;
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .runs_eagerly = (i & 2) != 0};
        gantry_function_t *function = function_fixture_trace(f.runtime, ending_a_scope_around_it,
                                                             &ended, &any, 1, 1, &options);
        if (i & 4) {
            (void)gantry_cond(scope, truth(scope), ending_a_scope_around_it,
                              ending_a_scope_around_it, &ended, &x, 1, &y, 1);
        } else {
            (void)gantry_function_call(scope, function, &x, 1, &y, 1);
        }
        assert_null(y);
        expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION, text);
        EXPECT_F32(gantry_neg(scope, x), -1, -2); /* the scopes are there */
        gantry_function_release(function);
        if (scope != outer) expect_ended_well(scope);
        expect_ended_well(outer);
    }
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
