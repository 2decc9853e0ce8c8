/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A shape or an axis that follows from constants is known while a function is traced.
 * Promise: A Reshape that works outside a function works inside one, whatever the number of
 * elements. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

static const uint32_t passes[] = {0, GANTRY_PASS_ALL};

static tensor *op_of(gantry_scope_t *s, const char *op, tensor *first, tensor *second) {
    tensor *made = NULL, *both[] = {first, second};
    size_t count = 1;
    (void)gantry_op_call(s, op, both, second ? 2 : 1, NULL, 0, &made, &count);
    return made;
}

static tensor *pack(gantry_scope_t *s, tensor *first, tensor *second) {
    return gantry_pack(s, (tensor *[]){first, second}, 2, 0);
}

/* x is float32[3,2]: reshaped to [3-1, 3], then turned by range(1, -1, 1-2). */
static void computing(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    tensor *one = gantry_scalar_i32(s, 1), *three = gantry_scalar_i32(s, 3);
    tensor *two = gantry_sub(s, three, one), *minus = gantry_sub(s, one, two);
    outputs[0] = op_of(s, "Reshape", inputs[0], pack(s, two, three));
    assert_true(gantry_shape_equal(gantry_tensor_shape(outputs[0]), &GANTRY_SHAPE(2, 3)));
    outputs[1] = op_of(s, "Transpose", outputs[0], gantry_range(s, one, minus, minus));
    assert_true(gantry_shape_equal(gantry_tensor_shape(outputs[1]), &GANTRY_SHAPE(3, 2)));
}

TEST(constants_decide_shapes_while_traced) {
    const gantry_input_spec_t input = SPEC_F32(3, 2);
    const float x[] = {1, 2, 3, 4, 5, 6}, turned[] = {1, 4, 2, 5, 3, 6};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t i = 0; i < 2; ++i) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .passes_off = passes[i]};
        gantry_function_t *function =
            function_fixture_trace(f.runtime, computing, NULL, &input, 1, 2, &options);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        tensor *given = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), x, sizeof x);
        tensor *got[2];
        function_fixture_call(scope, function, &given, 1, got, 2);
        expect_f32(got[0], 6, x);
        expect_f32(got[1], 6, turned);
        gantry_function_release(function);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

/* ---- in a branch: numbers of the body around it ---- */

static void reshaping(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    outputs[0] = op_of(s, "Reshape", inputs[0], *(tensor **)user);
    assert_int_equal(gantry_tensor_elements(outputs[0]), 2);
}

static void branching(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *one = gantry_scalar_i32(s, 1), *shape = pack(s, one, gantry_add(s, one, one));
    tensor *positive = gantry_greater(s, gantry_sum(s, inputs[0], NULL), gantry_scalar_f32(s, 0));
    (void)user;
    (void)gantry_cond(s, positive, reshaping, reshaping, (void *)&shape, inputs, 1, outputs, 1);
}

/* A chain as long as a body may be: no recursion follows it. */
static void chaining(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *one = gantry_scalar_i32(s, 1), *sum = gantry_scalar_i32(s, 0);
    (void)user;
    for (int i = 0; i < 20000; ++i) sum = i % 2 ? gantry_sub(s, sum, one) : gantry_add(s, sum, one);
    tensor *shape = gantry_reshape(s, gantry_add(s, sum, gantry_scalar_i32(s, 2)), GANTRY_SHAPE(1));
    outputs[0] = op_of(s, "Reshape", inputs[0], shape);
    assert_int_equal(gantry_tensor_elements(outputs[0]), 2);
}

/* An argument is not a constant, nor is what follows from it. */
static void mixing(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    tensor *one = gantry_scalar_i32(s, 1);
    tensor *two =
        gantry_add(s, gantry_cast(s, gantry_size(s, inputs[0], GANTRY_INT64), GANTRY_INT32),
                   gantry_sub(s, one, one));
    tensor *sum = gantry_cast(s, gantry_sum(s, inputs[0], NULL), GANTRY_INT32);
    outputs[0] = op_of(s, "Fill", gantry_reshape(s, two, GANTRY_SHAPE(1)), one);
    assert_int_equal(gantry_tensor_elements(outputs[0]), 2);
    outputs[0] = op_of(s, "Fill", gantry_reshape(s, sum, GANTRY_SHAPE(1)), one);
    assert_int_equal(gantry_tensor_elements(outputs[0]), -1);
}

TEST(branches_and_long_chains_are_followed) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(function_fixture_try(&f, branching, NULL), GANTRY_OK);
    assert_int_equal(function_fixture_try(&f, chaining, NULL), GANTRY_OK);
    assert_int_equal(function_fixture_try(&f, mixing, NULL), GANTRY_OK);
    runtime_fixture_close(&f);
}

static void filling(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *one = gantry_scalar_i32(s, 1);
    (void)user;
    outputs[0] = op_of(s, "Fill", pack(s, one, gantry_add(s, one, one)), inputs[0]);
}

static gantry_status_t trace_filling(gantry_runtime_t *runtime) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SCALAR};
    gantry_function_t *function;
    GANTRY__TRY(gantry_function_trace(runtime, "f", filling, NULL, &input, 1, 1, NULL, &function));
    gantry_function_release(function);
    return GANTRY_OK;
}

TEST(nothing_leaks_when_memory_runs_out) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        runtime_fixture_starve(&f, n);
        const gantry_status_t status = trace_filling(f.runtime);
        has_failed = runtime_fixture_feed(&f);
        assert_true(status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED);
        assert_true(has_failed || status == GANTRY_OK);
    }
    runtime_fixture_close(&f);
}

/* ---- sizes that are not known ---- */

static void taking(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *positive = gantry_greater(s, inputs[0], gantry_scalar_f32(s, 0));
    tensor *taken = gantry_boolean_mask(s, inputs[0], positive, 0);
    outputs[0] = gantry_reshape(s, gantry_tanh(s, taken), *(const gantry_shape_t *)user);
}

TEST(any_number_of_elements_reshapes) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (int64_t n = 2; n < 70; ++n) {
        gantry_shape_t shape = n % 2 ? GANTRY_SHAPE(n) : GANTRY_SHAPE(2, n / 2);
        const gantry_input_spec_t input = SPEC_F32(2 * n);
        float values[140];
        for (int i = 0; i < 2 * n; ++i) values[i] = i % 2 ? (float)i : -1;
        gantry_function_t *function =
            function_fixture_trace(f.runtime, taking, &shape, &input, 1, 1, NULL);
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        tensor *given = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2 * n), values,
                                        (size_t)n * 8),
               *got;
        function_fixture_call(scope, function, &given, 1, &got, 1);
        assert_true(gantry_shape_equal(gantry_tensor_shape(got), &shape));
        /* another number of elements fails the call, in the op's words */
        values[0] = 1;
        given = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2 * n), values, (size_t)n * 8);
        (void)gantry_function_call(scope, function, &given, 1, &got, 1);
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Input to reshape is a tensor with ");
        expect_ended_well(scope);
        gantry_function_release(function);
    }
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
