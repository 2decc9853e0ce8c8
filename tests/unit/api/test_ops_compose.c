/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The C functions of ops_compose.h give their op's result, refuse bad arguments, and leak
 * nothing if an allocation fails.
 *
 * Golden cases check the ops themselves. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void expect_i64(const gantry_tensor_t *tensor, size_t count, const int64_t *values) {
    int64_t got[8];
    assert_non_null(tensor);
    if (gantry_tensor_read(tensor, got, count * sizeof *got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) assert_int_equal(got[i], values[i]);
}

static void expect_near(const gantry_tensor_t *tensor, size_t count, const float *values) {
    float got[64];
    assert_non_null(tensor);
    if (gantry_tensor_read(tensor, got, count * sizeof *got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) {
        if (!(got[i] - values[i] < 1e-5f && values[i] - got[i] < 1e-5f))
            fail_msg("element %zu is %g, not %g", i, (double)got[i], (double)values[i]);
    }
}

#define EXPECT_NEAR(tensor, ...) \
    expect_near(tensor, COUNT(((float[]){__VA_ARGS__})), (const float[]){__VA_ARGS__})

/* [[1, 2, 3], [4, 5, 6]] */
static const gantry_tensor_t *matrix(gantry_scope_t *scope) {
    return gantry_reshape(scope, F32(scope, 1, 2, 3, 4, 5, 6), GANTRY_SHAPE(2, 3));
}

/* ---- results ---- */

static void pieces(gantry_scope_t *scope) {
    const gantry_tensor_t *x = matrix(scope), *rows[2], *columns[3], *parts[2];
    assert_int_equal(gantry_unpack(scope, x, 0, rows, 2), GANTRY_OK);
    EXPECT_F32(rows[1], 4, 5, 6);
    EXPECT_F32(gantry_pack(scope, rows, 2, -1), 1, 4, 2, 5, 3, 6);
    assert_int_equal(gantry_split(scope, x, 1, columns, 3), GANTRY_OK);
    EXPECT_F32(columns[2], 3, 6);
    assert_int_equal(gantry_split_v(scope, x, (const int64_t[]){-1, 1}, 1, parts, 2), GANTRY_OK);
    EXPECT_F32(parts[0], 1, 2, 4, 5);
    /* All pieces are as long as the whole, in a dimension of size 0. */
    const gantry_tensor_t *empty = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 0, 2));
    assert_int_equal(gantry_split_v(scope, empty, (const int64_t[]){0, 0}, 1, parts, 2), GANTRY_OK);
    assert_true(gantry_shape_equal(gantry_tensor_shape(parts[1]), &GANTRY_SHAPE(3, 0, 2)));
    assert_int_equal(gantry_split(scope, empty, 1, parts, 2), GANTRY_OK);
    assert_true(gantry_shape_equal(gantry_tensor_shape(parts[1]), &GANTRY_SHAPE(3, 0, 2)));
}

static void shapes(gantry_scope_t *scope) {
    const gantry_tensor_t *x = matrix(scope);
    EXPECT_I32(gantry_shape(scope, x, GANTRY_INT32), 2, 3);
    expect_i64(gantry_size(scope, x, GANTRY_INT64), 1, (const int64_t[]){6});
    EXPECT_I32(gantry_rank(scope, x), 2);
    EXPECT_I32(gantry_broadcast_args(scope, I32(scope, 2, 1), I32(scope, 5)), 2, 5);
}

static void made(gantry_scope_t *scope) {
    EXPECT_F32(gantry_eye(scope, 2, 3, GANTRY_FLOAT32), 1, 0, 0, 0, 1, 0);
    EXPECT_F32(gantry_lin_space(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 3), 3),
               1, 2, 3);
    const gantry_tensor_t *x = matrix(scope), *even = gantry_equal(scope, x, F32(scope, 2, 4, 6));
    EXPECT_F32(gantry_boolean_mask(scope, x, even, 0), 6);
    EXPECT_F32(gantry_embedding_lookup(scope, matrix(scope), I32(scope, 1, 1)), 4, 5, 6, 4, 5, 6);
    const gantry_tensor_t *both[] = {matrix(scope), matrix(scope)};
    EXPECT_F32(gantry_einsum(scope, "ij,kj->ik", both, 2), 14, 32, 32, 77);
}

static void normalised(gantry_scope_t *scope) {
    const gantry_tensor_t *x = matrix(scope), *mean, *variance, *out[3];
    const int32_t last = 1;
    assert_int_equal(
        gantry_moments(scope, x, &(gantry_reduce_options_t){.axes = &last, .axis_count = 1}, &mean,
                       &variance),
        GANTRY_OK);
    EXPECT_NEAR(mean, 2, 5);
    EXPECT_NEAR(variance, 2.0f / 3, 2.0f / 3);
    assert_int_equal(gantry_moments(scope, x, NULL, &mean, &variance), GANTRY_OK);
    EXPECT_NEAR(mean, 3.5f);
    const gantry_tensor_t *ones = F32(scope, 1, 1, 1), *threes = F32(scope, 3, 3, 3);
    EXPECT_NEAR(gantry_batch_norm(scope, x, ones, threes, ones, threes, 1), 1, 2.5f, 4, 5.5f, 7,
                8.5f);
    EXPECT_NEAR(gantry_layer_norm(scope, x, ones, threes, -1, 1e-9), 3 - 1.2247449f, 3,
                3 + 1.2247449f, 3 - 1.2247449f, 3, 3 + 1.2247449f);
    const gantry_tensor_t *image = gantry_reshape(scope, x, GANTRY_SHAPE(1, 2, 1, 3));
    assert_int_equal(gantry_fused_batch_norm(scope, image, ones, threes, ones, ones, NULL, out),
                     GANTRY_OK);
    EXPECT_NEAR(out[1], 2.5f, 3.5f, 4.5f);
    EXPECT_NEAR(out[2], 4.5f, 4.5f, 4.5f);
    const gantry_fused_batch_norm_options_t options = {.inference = true, .epsilon = 3};
    assert_int_equal(gantry_fused_batch_norm(scope, image, ones, threes, ones, ones, &options, out),
                     GANTRY_OK);
    EXPECT_NEAR(out[0], 3, 3.5f, 4, 4.5f, 5, 5.5f);
    EXPECT_NEAR(out[1], 1, 1, 1);
    const gantry_tensor_t *none = gantry_dropout(scope, x, 0, 1, 2);
    EXPECT_F32(none, 1, 2, 3, 4, 5, 6);
}

TEST(functions_give_what_their_ops_give) {
    static const char *const devices[] = {"CPU:0", NULL};
    for (size_t i = 0; i < COUNT(devices); ++i) {
        runtime_fixture_t f;
        /* without a wish, a part runs on the fake GPU if it has a kernel, and on the CPU
         * otherwise */
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[i]);
        pieces(scope);
        shapes(scope);
        made(scope);
        normalised(scope);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

TEST(dropout_keeps_about_what_it_should) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    static float got[10000];
    const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(10000));
    assert_int_equal(gantry_tensor_read(gantry_dropout(scope, x, 0.75, 3, 4), got, sizeof got),
                     GANTRY_OK);
    int kept = 0;
    for (int i = 0; i < 10000; ++i) {
        assert_true(got[i] <= 0 || (got[i] >= 4 && got[i] <= 4));
        kept += got[i] > 0;
    }
    assert_in_range(kept, 2300, 2700);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(shape_does_not_wait_and_lies_on_the_host) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    fake->close_gate(0, RUNTIME_FIXTURE_GATE);
    const gantry_tensor_t *shape = gantry_shape(scope, gantry_add(scope, x, x), GANTRY_INT32);
    expect_on(shape, "/device:CPU:0");
    EXPECT_I32(shape, 2); /* and the sum has not been computed yet */
    fake->open_gate(0, RUNTIME_FIXTURE_GATE);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(bad_id_is_told_with_the_op_that_was_called) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    float got[2];
    const gantry_tensor_t *rows =
        gantry_embedding_lookup(scope, F32(scope, 1, 2, 3), I32(scope, 0, 3));
    assert_int_equal(gantry_scope_status(scope), GANTRY_OK); /* the device finds the error */
    expect_failure(gantry_tensor_read(rows, got, sizeof got), GANTRY_INVALID_ARGUMENT,
                   "indices[1] = 3 is not in [0, 3): op Gather of EmbeddingLookup (number ");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- refusals ---- */

TEST(bad_calls_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = matrix(scope), *out[65] = {x};
    assert_int_equal(gantry_unpack(scope, x, 0, out, 3), GANTRY_INVALID_ARGUMENT);
    assert_null(out[0]);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "Unpack: Input shape axis 0 must equal 3, got shape [2,3]");
    assert_int_equal(gantry_split(scope, x, 0, out, 65), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Split: attribute 'num_split' is 65");
    assert_null(gantry_pack(scope, out, 0, 0));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Pack takes at least 1 input");
    assert_null(gantry_eye(scope, -1, 2, GANTRY_FLOAT32));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Eye: Dimension -1 must be >= 0");
    assert_null(gantry_einsum(scope, NULL, &x, 1));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "string attribute 'equation' is NULL");
    assert_null(gantry_einsum(scope, "ij->ik", &x, 1));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "Einsum: label 'k' of the output is in no input");
    assert_null(gantry_einsum(scope, "i..j->ij", &x, 1));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "a period outside of an ellipsis");
    assert_null(gantry_dropout(scope, x, 1, 1, 2));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "Dropout: rate must be in the range [0, 1), got 1");
    assert_null(gantry_shape(scope, x, GANTRY_FLOAT32));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "value for attr 'out_type' of float32");
    assert_null(gantry_shape(NULL, x, GANTRY_INT32));
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static uint32_t draw(uint64_t *random, uint32_t below) {
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 33) % below;
}

/* Subscripts of up to three labels or ellipses, sometimes with another character in between. */
static void append_subscripts(uint64_t *random, char *equation) {
    static const char *const tokens[] = {"i", "j", "k", "i", "j", "k", "..."}, *const odd[] = {
                                                                                   ",", "->", ".",
                                                                                   "-", " "};
    for (uint32_t left = draw(random, 4); left > 0; --left)
        strcat(equation, tokens[draw(random, COUNT(tokens))]);
    if (draw(random, 16) == 0) strcat(equation, odd[draw(random, COUNT(odd))]);
}

/* Random equations: none crashes, and each refusal has a reason. */
TEST(any_equation_is_answered) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2)),
                          *inputs[] = {x, x};
    uint64_t random = 7;
    int answered = 0;
    for (int i = 0; i < 20000; ++i) {
        char equation[64] = "";
        const uint32_t count = 1 + draw(&random, 2);
        append_subscripts(&random, equation);
        if (count == 2) strcat(equation, ",");
        if (count == 2) append_subscripts(&random, equation);
        strcat(equation, "->");
        append_subscripts(&random, equation);
        const gantry_tensor_t *y = gantry_einsum(scope, equation, inputs, count);
        gantry_status_t status = gantry_scope_status(scope);
        if (status != GANTRY_OK && status != GANTRY_INVALID_ARGUMENT &&
            status != GANTRY_UNIMPLEMENTED)
            fail_msg("'%s': %s", equation, gantry_scope_message(scope));
        answered += y != NULL;
        gantry_tensor_drop(scope, y);
        gantry_scope_clear(scope);
    }
    assert_in_range(answered, 500, 19000);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- every allocation fails once ---- */

static void run_all(gantry_scope_t *scope) {
    static const int64_t sizes[] = {1, 2};
    const gantry_tensor_t *x = matrix(scope), *out[6], *mean, *variance;
    const gantry_tensor_t *ones = F32(scope, 1, 1, 1),
                          *image = gantry_reshape(scope, x, GANTRY_SHAPE(1, 2, 1, 3));
    (void)gantry_unpack(scope, x, 0, out, 2);
    (void)gantry_pack(scope, out, 2, 0);
    (void)gantry_split(scope, x, 1, out, 3);
    (void)gantry_split_v(scope, x, sizes, 1, out, 2);
    (void)gantry_shape(scope, x, GANTRY_INT32);
    (void)gantry_boolean_mask(scope, x, gantry_equal(scope, x, x), 0);
    (void)gantry_eye(scope, 20, 20, GANTRY_FLOAT32);
    (void)gantry_lin_space(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 3), 30);
    (void)gantry_moments(scope, x, NULL, &mean, &variance);
    (void)gantry_batch_norm(scope, x, ones, ones, ones, ones, 1);
    (void)gantry_layer_norm(scope, x, ones, ones, -1, 1);
    (void)gantry_fused_batch_norm(scope, image, ones, ones, ones, ones, NULL, out);
    (void)gantry_dropout(scope, x, 0.5, 1, 2);
    (void)gantry_einsum(scope, "ij,kj->ik", (const gantry_tensor_t *const[]){x, x}, 2);
}

TEST(failing_allocation_leaves_nothing_behind) {
    bool reached = true;
    int failures = 0;
    for (long n = 0; reached; ++n) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 0);
        gantry_scope_t *warm = runtime_fixture_scope(&f, "CPU:0");
        run_all(warm); /* plans are cached: only the ops' own allocations fail below */
        expect_ended_well(warm);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        runtime_fixture_starve(&f, n);
        run_all(scope);
        reached = runtime_fixture_feed(&f);
        gantry_status_t status = gantry_scope_status(scope);
        if (status != GANTRY_OK && status != GANTRY_RESOURCE_EXHAUSTED)
            fail_msg("%s", gantry_scope_message(scope));
        failures += status != GANTRY_OK;
        if (!reached) assert_int_equal(status, GANTRY_OK);
        gantry_scope_clear(scope);
        run_all(scope);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
    assert_true(failures > 3);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
