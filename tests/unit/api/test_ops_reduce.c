/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The C functions of ops_reduce.h give their op's result and refuse bad arguments.
 *
 * Golden cases check the ops themselves. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#define NEAR(x, y) ((x) - (y) < 1e-5f && (y) - (x) < 1e-5f)

static float read_one(const gantry_tensor_t *tensor) {
    float value = 0;
    assert_non_null(tensor);
    if (gantry_tensor_read(tensor, &value, sizeof value) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return value;
}

static void expect_bools(const gantry_tensor_t *tensor, size_t count, const uint8_t *values) {
    uint8_t got[8];
    assert_non_null(tensor);
    assert_int_equal(gantry_tensor_read(tensor, got, count), GANTRY_OK);
    assert_memory_equal(got, values, count);
}

/* [[1, 2, 3], [4, 5, 6]] */
static const gantry_tensor_t *matrix(gantry_scope_t *scope) {
    return gantry_reshape(scope, F32(scope, 1, 2, 3, 4, 5, 6), GANTRY_SHAPE(2, 3));
}

TEST(reductions_give_what_their_ops_give) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const int32_t last = 1;
    const gantry_reduce_options_t rows = {.axes = &last, .axis_count = 1, .keep_dims = true};
    const gantry_tensor_t *x = matrix(scope),
                          *small = gantry_less(scope, x, gantry_scalar_f32(scope, 3.5f));
    int64_t places[3];

    EXPECT_F32(gantry_prod(scope, x, &rows), 6, 120);
    assert_int_equal(gantry_tensor_shape(gantry_prod(scope, x, &rows))->rank, 2);
    EXPECT_F32(gantry_euclidean_norm(scope, F32(scope, 3, 4), NULL), 5);
    expect_bools(gantry_all(scope, small, &rows), 2, (const uint8_t[]){1, 0});
    expect_bools(gantry_any(scope, small, NULL), 1, (const uint8_t[]){1});
    assert_int_equal(gantry_tensor_read(gantry_argmin(scope, x, 0), places, sizeof places),
                     GANTRY_OK);
    assert_true(places[0] == 0 && places[1] == 0 && places[2] == 0);
    assert_true(NEAR(read_one(gantry_log_sum_exp(scope, x, NULL)), 6.4561934f));
    assert_true(NEAR(read_one(gantry_var(scope, x, NULL)), 35.0f / 12));
    assert_true(NEAR(read_one(gantry_std(scope, F32(scope, 1, 5), NULL)), 2));
    EXPECT_F32(gantry_l2_loss(scope, F32(scope, 2, 4)), 10);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(scans_take_options) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_scan_options_t both = {.exclusive = true, .reverse = true};
    const gantry_tensor_t *x = matrix(scope);

    EXPECT_F32(gantry_cumsum(scope, x, 1, NULL), 1, 3, 6, 4, 9, 15);
    EXPECT_F32(gantry_cumsum(scope, x, -1, &both), 5, 3, 0, 11, 6, 0);
    EXPECT_F32(gantry_cumprod(scope, x, 0, NULL), 1, 2, 3, 4, 10, 18);
    assert_true(NEAR(read_one(gantry_cumulative_logsumexp(scope, F32(scope, 7), 0, NULL)), 7));
    assert_null(gantry_cumsum(scope, x, 2, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "ScanOp: Expected scan axis in the range [-2, 2), but got 2");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(cross_entropies_agree) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = matrix(scope), *loss, *backprop, *sparse_loss;
    const gantry_tensor_t *labels =
        gantry_reshape(scope, F32(scope, 0, 1, 0, 0, 0, 1), GANTRY_SHAPE(2, 3));

    assert_int_equal(gantry_softmax_cross_entropy_with_logits(scope, x, labels, &loss, &backprop),
                     GANTRY_OK);
    assert_int_equal(gantry_sparse_softmax_cross_entropy_with_logits(scope, x, I32(scope, 1, 2),
                                                                     &sparse_loss, NULL),
                     GANTRY_OK);
    assert_true(NEAR(read_one(gantry_l2_loss(scope, gantry_sub(scope, loss, sparse_loss))), 0));
    assert_true(NEAR(read_one(gantry_sum(scope, loss, NULL)), 1.8152119f));
    assert_true(NEAR(read_one(gantry_sum(scope, backprop, NULL)), 0));
    assert_int_equal(gantry_sparse_softmax_cross_entropy_with_logits(scope, x, I32(scope, 1, 3),
                                                                     &loss, &backprop),
                     GANTRY_INVALID_ARGUMENT);
    assert_null(loss);
    assert_null(backprop);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "Received a label value of 3 which is outside the valid range of [0, 3).");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
