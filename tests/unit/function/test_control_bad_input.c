/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Wrong use of branches and loops is an error that names the op, the value and what is
 * accepted, at once and in a trace; the outputs are NULL. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

static void widening(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_expand_dims(scope, inputs[0], 0);
}

static gantry_status_t branch(gantry_scope_t *scope, const gantry_tensor_t *const *x,
                              const gantry_tensor_t **y, gantry_function_body_fn then_body,
                              gantry_function_body_fn else_body) {
    const unsigned char no = 0;
    const gantry_tensor_t *is = gantry_constant(scope, GANTRY_BOOL, GANTRY_SCALAR, &no, 1);
    return gantry_cond(scope, is, then_body, else_body, NULL, x, 1, y, 1);
}

static gantry_status_t branch_on_floats(gantry_scope_t *scope, const gantry_tensor_t *const *x,
                                        const gantry_tensor_t **y) {
    return gantry_cond(scope, x[0], negating, negating, NULL, x, 1, y, 1);
}

static gantry_status_t branch_without_a_body(gantry_scope_t *scope, const gantry_tensor_t *const *x,
                                             const gantry_tensor_t **y) {
    return branch(scope, x, y, negating, NULL);
}

static gantry_status_t branch_that_sets_nothing(gantry_scope_t *scope,
                                                const gantry_tensor_t *const *x,
                                                const gantry_tensor_t **y) {
    return branch(scope, x, y, negating, setting_nothing);
}

static gantry_status_t case_on_two_numbers(gantry_scope_t *scope, const gantry_tensor_t *const *x,
                                           const gantry_tensor_t **y) {
    const gantry_function_body_fn bodies[] = {negating, negating};
    return gantry_case(scope, I32(scope, 0, 1), bodies, 2, NULL, x, 1, y, 1);
}

static gantry_status_t case_of_no_body(gantry_scope_t *scope, const gantry_tensor_t *const *x,
                                       const gantry_tensor_t **y) {
    const gantry_function_body_fn bodies[] = {negating};
    return gantry_case(scope, I32(scope, 0), bodies, 0, NULL, x, 1, y, 1);
}

static gantry_status_t loop_on_floats(gantry_scope_t *scope, const gantry_tensor_t *const *x,
                                      const gantry_tensor_t **y) {
    return gantry_while(scope, negating, negating, NULL, x, 1, NULL, y);
}

static gantry_status_t branch_of_two_shapes(gantry_scope_t *scope, const gantry_tensor_t *const *x,
                                            const gantry_tensor_t **y) {
    return branch(scope, x, y, negating, widening);
}

typedef gantry_status_t (*branch_fn)(gantry_scope_t *scope, const gantry_tensor_t *const *x,
                                     const gantry_tensor_t **y);

static const struct {
    branch_fn call;
    const char *text;
    bool is_seen_at_once; /* also where the one body runs at once */
} bad_branches[] = {
    {branch_on_floats, "the predicate has type float32 and 2 elements; a bool of one element",
     true},
    {branch_without_a_body, "else_body is NULL; a function is accepted", true},
    {branch_that_sets_nothing, "else_body does not set output 0; a tensor of its scope", true},
    {case_on_two_numbers, "the index has type int32 and 2 elements; a int32 of one element", true},
    {case_of_no_body, "0 bodies; 1 to 64 are accepted", true},
    {loop_on_floats, "the condition is float32[2]; a bool of one element is accepted", true},
    {branch_of_two_shapes,
     "else_body sets output 0 to float32[1,2]; float32[2] is accepted, as then_body sets it",
     false},
};

static void calling_branch(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    const branch_fn *call = user;
    outputs[0] = inputs[0];
    assert_true((*call)(scope, inputs, outputs) != GANTRY_OK);
    assert_null(outputs[0]);
    outputs[0] = inputs[0];
    assert_true((*call)(scope, inputs, outputs) != GANTRY_OK); /* the scope has failed */
    assert_null(outputs[0]);
}

TEST(wrong_branches_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *y;
    for (size_t i = 0; i < sizeof bad_branches / sizeof bad_branches[0]; ++i) {
        branch_fn call = bad_branches[i].call;
        expect_refusal(function_fixture_try(&f, calling_branch, &call), GANTRY_INVALID_ARGUMENT,
                       bad_branches[i].text);
        if (!bad_branches[i].is_seen_at_once) continue;
        y = x;
        assert_true(call(scope, &x, &y) != GANTRY_OK);
        assert_null(y);
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, bad_branches[i].text);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- loops whose variables change ---- */

static void is_low(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_less(scope, inputs[1], gantry_scalar_i32(scope, 3));
}

/* A change of the first variable; the second counts. */
typedef struct change_t {
    const gantry_tensor_t *(*change)(gantry_scope_t *scope, const gantry_tensor_t *x);
    const char *text;
} change_t;

static void changing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const change_t *change = user;
    outputs[0] = change->change(scope, inputs[0]);
    outputs[1] = gantry_add(scope, inputs[1], gantry_scalar_i32(scope, 1));
}

static const gantry_tensor_t *to_integers(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_cast(scope, x, GANTRY_INT32);
}

static const gantry_tensor_t *to_rank_2(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_expand_dims(scope, x, 0);
}

static const gantry_tensor_t *to_four(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_concat(scope, (const gantry_tensor_t *const[]){x, x}, 2, 0);
}

static const gantry_tensor_t *to_some(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_boolean_mask(scope, x, gantry_less(scope, x, gantry_scalar_f32(scope, 1.5F)), 0);
}

/* TensorFlow refuses each in a tf.function, with TypeError or ValueError. The last one has a size
 * that is only known where the body runs. */
static const change_t changes[] = {
    {to_integers, "While: body sets output 0 to int32[2]; float32[2] is accepted"},
    {to_rank_2, "While: body sets output 0 to float32[1,2]; float32[2] is accepted"},
    {to_four, "While: body sets output 0 to float32[4]; float32[2] is accepted"},
    {to_some, "; float32[2] is accepted, as the loop's variable has"},
};

static void looping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *const values[] = {inputs[0], gantry_scalar_i32(scope, 0)};
    const gantry_tensor_t *made[2] = {inputs[0], inputs[0]};
    (void)gantry_while(scope, is_low, changing, user, values, 2, NULL, made);
    outputs[0] = made[0];
}

TEST(loops_keep_types_and_shapes) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *y;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
        change_t change = changes[i];
        expect_refusal(function_fixture_try(&f, looping, &change), GANTRY_INVALID_ARGUMENT,
                       change.text);
        looping(scope, &x, &y, &change);
        assert_null(y);
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, change.text);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void ending_its_scope(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = inputs[0];
    (void)gantry_scope_end(scope);
}

static void branching_to_the_end(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs, void *user) {
    (void)user;
    (void)branch(scope, inputs, outputs, ending_its_scope, ending_its_scope);
}

/* In a trace, and where the body runs at once. */
TEST(a_body_does_not_end_its_scope) {
    static const char *const text = "If: a body ends a scope that it did not begin";
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *y;
    expect_refusal(function_fixture_try(&f, branching_to_the_end, NULL), GANTRY_FAILED_PRECONDITION,
                   text);
    assert_int_equal(branch(scope, &x, &y, negating, ending_its_scope), GANTRY_FAILED_PRECONDITION);
    assert_null(y);
    expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION, text);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
