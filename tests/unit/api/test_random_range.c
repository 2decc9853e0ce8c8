/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Floats between two bounds continue the sequence of those from 0 to 1, eagerly and in
 * functions, and bounds that do not fit are refused without a draw.
 *
 * conformance_draws.c shows that the numbers are TensorFlow's on every device. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include "function_fixture.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

/* What gantry_random_uniform_range computes, of numbers of [0, 1). */
static tensor *between(gantry_scope_t *scope, tensor *drawn, tensor *low, tensor *high) {
    return gantry_add(scope, gantry_mul(scope, drawn, gantry_sub(scope, high, low)), low);
}

static void expect_same(tensor *got, tensor *expected) {
    float values[2][6];
    if (!got) fail_msg("%s", gantry_last_message());
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), gantry_tensor_shape(expected)));
    assert_int_equal(gantry_tensor_read(got, values[0], sizeof values[0]), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(expected, values[1], sizeof values[1]), GANTRY_OK);
    assert_memory_equal(values[0], values[1], sizeof values[0]);
}

/* Of one draw each: with the op's seed, with two seeds, of a generator. */
static void drawing_ranges(gantry_scope_t *scope, tensor *const *in, tensor **out, void *user) {
    const gantry_shape_t shape = GANTRY_SHAPE(2, 3);
    const int64_t seed = 4;
    out[0] = gantry_random_uniform_range(scope, shape, in[0], in[1], &seed);
    out[1] = gantry_stateless_random_uniform_range(scope, shape, in[0], in[1], 5, 6);
    out[2] = gantry_generator_uniform_range(scope, user, shape, in[0], in[1]);
}

static void drawing_units(gantry_scope_t *scope, tensor *const *in, tensor **out, void *user) {
    const gantry_shape_t shape = GANTRY_SHAPE(2, 3);
    const int64_t seed = 4;
    out[0] =
        between(scope, gantry_random_uniform(scope, shape, GANTRY_FLOAT32, &seed), in[0], in[1]);
    out[1] = between(scope, gantry_stateless_random_uniform(scope, shape, GANTRY_FLOAT32, 5, 6),
                     in[0], in[1]);
    out[2] =
        between(scope, gantry_generator_uniform(scope, user, shape, GANTRY_FLOAT32), in[0], in[1]);
}

static gantry_generator_t *begin(runtime_fixture_t *f) {
    gantry_generator_t *generator = NULL;
    assert_int_equal(gantry_set_seed(f->runtime, 11), GANTRY_OK);
    assert_int_equal(gantry_generator_from_seed(f->runtime, 7, GANTRY_RANDOM_PHILOX, &generator),
                     GANTRY_OK);
    return generator;
}

static void check_on(runtime_fixture_t *f, const char *device) {
    gantry_scope_t *scope = runtime_fixture_scope(f, device);
    const gantry_input_spec_t specs[] = {SPEC_F32(2, 1), SPEC_F32(3)};
    tensor *in[] = {gantry_reshape(scope, F32(scope, -0.1F, 10), GANTRY_SHAPE(2, 1)),
                    F32(scope, 0.3F, 4, 20)};
    tensor *expected[2][3], *eager[3], *called[3];
    gantry_generator_t *generators[] = {begin(f), begin(f), begin(f)};
    for (int round = 0; round < 2; ++round)
        drawing_units(scope, in, expected[round], generators[0]);
    gantry_function_t *function =
        function_fixture_trace(f->runtime, drawing_ranges, generators[2], specs, 2, 3, NULL);
    assert_int_equal(gantry_set_seed(f->runtime, 11), GANTRY_OK);
    for (int round = 0; round < 2; ++round) {
        drawing_ranges(scope, in, eager, generators[1]);
        for (int i = 0; i < 3; ++i) expect_same(eager[i], expected[round][i]);
    }
    assert_int_equal(gantry_set_seed(f->runtime, 11), GANTRY_OK);
    for (int round = 0; round < 2; ++round) {
        function_fixture_call(scope, function, in, 2, called, 3);
        for (int i = 0; i < 3; ++i) expect_same(called[i], expected[round][i]);
    }
    expect_ended_well(scope);
    gantry_function_release(function);
    for (int i = 0; i < 3; ++i) gantry_generator_release(generators[i]);
}

TEST(ranges_continue_the_sequence_of_units) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    check_on(&f, "CPU:0");
    check_on(&f, "GPU:0");
    runtime_fixture_close(&f);
}

TEST(bounds_that_do_not_fit_are_refused_without_a_draw) {
    runtime_fixture_t f;
    uint64_t before[3], after[3];
    runtime_fixture_open(&f, 0);
    gantry_generator_t *g = begin(&f);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_shape_t shape = GANTRY_SHAPE(2);
    tensor *low = F32(scope, 0, 1), *three = F32(scope, 1, 2, 3), *whole = I32(scope, 1, 2);
    tensor *wide = gantry_cast(scope, low, GANTRY_FLOAT64);
    tensor *rows = gantry_reshape(scope, low, GANTRY_SHAPE(2, 1));
    assert_int_equal(gantry_generator_get_state(g, before), GANTRY_OK);
#define REFUSED(minval, maxval, text)                                                 \
    do {                                                                              \
        assert_null(gantry_generator_uniform_range(scope, g, shape, minval, maxval)); \
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, text);                   \
    } while (0)
    REFUSED(NULL, low, "gantry_generator_uniform_range: minval is NULL");
    REFUSED(low, NULL, "gantry_generator_uniform_range: maxval is NULL");
    REFUSED(whole, whole, "minval is int32; float16, bfloat16, float32 and float64 are accepted");
    REFUSED(low, wide, "maxval is float64 and minval float32; one type is accepted");
    REFUSED(low, three, "maxval has shape [3]; one that broadcasts to [2] is accepted");
    REFUSED(rows, low, "minval has shape [2,1]; one that broadcasts to [2] is accepted");
#undef REFUSED
    assert_null(gantry_random_uniform_range(scope, shape, low, three, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "gantry_random_uniform_range: maxval");
    assert_null(gantry_stateless_random_uniform_range(scope, (gantry_shape_t){.rank = 1000}, low,
                                                      low, 1, 2));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the shape has rank 1000");
    assert_int_equal(gantry_generator_get_state(g, after), GANTRY_OK);
    assert_memory_equal(before, after, sizeof before);
    expect_ended_well(scope);
    gantry_generator_release(g);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
