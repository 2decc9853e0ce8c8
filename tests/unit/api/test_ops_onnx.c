/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The C functions of attention, rotary embedding, RMSNorm, GroupNorm, InstanceNorm, Resize
 * and SortByKeys give what gantry_op_call gives, with each option, and refuse by the op's name.
 * Promise: RMSNorm, GroupNorm and InstanceNorm refuse an epsilon below 0 or not finite. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>

#include "runtime_fixture.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

static runtime_fixture_t fixture;
static gantry_scope_t *scope;

static int begin_ops(void **state) {
    (void)runtime_fixture_set_up(state);
    runtime_fixture_open(&fixture, 0);
    scope = runtime_fixture_scope(&fixture, "CPU:0");
    return 0;
}

static int end_ops(void **state) {
    expect_ended_well(scope);
    runtime_fixture_close(&fixture);
    return runtime_fixture_tear_down(state);
}

static tensor *steps(int64_t count, double step, gantry_shape_t shape) {
    float values[512];
    assert_in_range(count, 0, 512);
    for (int64_t i = 0; i < count; ++i) values[i] = (float)((double)((i * 7) % 11) * step - 1);
    return gantry_constant(scope, GANTRY_FLOAT32, shape, values, (size_t)count * sizeof *values);
}

#define STEPS(step, ...) \
    steps(gantry_shape_elements(&GANTRY_SHAPE(__VA_ARGS__)), step, GANTRY_SHAPE(__VA_ARGS__))

#define TEXT_ATTR(key, value) \
    { .name = key, .kind = GANTRY_ATTR_STRING, .s = (value) }
#define INT_ATTR(key, value) \
    { .name = key, .kind = GANTRY_ATTR_INT, .i = (value) }
#define BOOL_ATTR(key, value) \
    { .name = key, .kind = GANTRY_ATTR_BOOL, .i = (value) }
#define FLOAT_ATTR(key, value) \
    { .name = key, .kind = GANTRY_ATTR_FLOAT, .f = (value) }
#define INTS_ATTR(key, ...)                                                                  \
    {                                                                                        \
        .name = key, .kind = GANTRY_ATTR_INTS,                                               \
        .i = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .list = (const int64_t[]) { \
            __VA_ARGS__                                                                      \
        }                                                                                    \
    }

static void expect_bits(tensor *got, tensor *wanted) {
    char a[4096], b[4096];
    if (!got || !wanted) fail_msg("%s", gantry_scope_message(scope));
    const size_t bytes = gantry_tensor_bytes(wanted);
    assert_in_range(bytes, 0, sizeof a);
    assert_int_equal(gantry_tensor_dtype(got), gantry_tensor_dtype(wanted));
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), gantry_tensor_shape(wanted)));
    assert_int_equal(gantry_tensor_read(got, a, bytes), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(wanted, b, bytes), GANTRY_OK);
    assert_memory_equal(a, b, bytes);
}

/* What gantry_op_call gives; inputs end at the first NULL. */
static void expect_call(tensor *const *got, size_t got_count, const char *op, tensor *const *inputs,
                        const gantry_attr_value_t *attrs, size_t attr_count) {
    tensor *outputs[6];
    size_t input_count = 0, count = 6;
    while (inputs[input_count]) ++input_count;
    if (gantry_op_call(scope, op, inputs, input_count, attrs, attr_count, outputs, &count) !=
        GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_true(count >= got_count);
    for (size_t i = 0; i < got_count; ++i) expect_bits(got[i], outputs[i]);
}

/* The attributes of a call. */
#define ATTRS(...)                              \
    (const gantry_attr_value_t[]){__VA_ARGS__}, \
        sizeof((const gantry_attr_value_t[]){__VA_ARGS__}) / sizeof(gantry_attr_value_t)
#define INPUTS(...) ((tensor *const[]){__VA_ARGS__, NULL})

/* ---- attention ---- */

TEST(attention_takes_each_option) {
    tensor *query = STEPS(0.25, 1, 4, 3, 2), *key = STEPS(0.5, 1, 2, 3, 2),
           *value = STEPS(0.125, 1, 2, 3, 4), *outputs[4];
    const gantry_scaled_attention_options_t causal = {
        .struct_size = sizeof causal, .is_causal = true, .scale = 0.5, .softcap = 3};
    assert_int_equal(gantry_scaled_dot_product_attention(scope, query, key, value, NULL, outputs),
                     GANTRY_OK);
    expect_call(outputs, 4, "ScaledDotProductAttention", INPUTS(query, key, value), NULL, 0);
    (void)gantry_scaled_dot_product_attention(scope, query, key, value, &causal, outputs);
    expect_call(
        outputs, 4, "ScaledDotProductAttention", INPUTS(query, key, value),
        ATTRS(BOOL_ATTR("is_causal", true), FLOAT_ATTR("scale", 0.5), FLOAT_ATTR("softcap", 3)));
}

TEST(attention_takes_a_mask_and_a_past) {
    tensor *query = STEPS(0.25, 1, 4, 3, 2), *key = STEPS(0.5, 1, 2, 3, 2),
           *value = STEPS(0.125, 1, 2, 3, 4), *past_key = STEPS(0.75, 1, 2, 2, 2),
           *past_value = STEPS(0.375, 1, 2, 2, 4), *outputs[4];
    tensor *added = STEPS(1, 3, 5), *all = gantry_ones(scope, GANTRY_BOOL, GANTRY_SCALAR);
    gantry_scaled_attention_options_t o = {
        .struct_size = sizeof o, .past_key = past_key, .past_value = past_value};
    (void)gantry_scaled_dot_product_attention(scope, query, key, value, &o, outputs);
    expect_call(outputs, 4, "ScaledDotProductAttention",
                INPUTS(query, key, value, all, past_key, past_value), NULL, 0);
    o.mask = added;
    (void)gantry_scaled_dot_product_attention(scope, query, key, value, &o, outputs);
    expect_call(outputs, 4, "ScaledDotProductAttention",
                INPUTS(query, key, value, added, past_key, past_value), NULL, 0);
    o.past_value = NULL;
    (void)gantry_scaled_dot_product_attention(scope, query, key, value, &o, outputs);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "ScaledDotProductAttention");
    assert_null(outputs[0]);
}

TEST(rotary_embedding_takes_each_option) {
    tensor *x = STEPS(0.25, 1, 2, 3, 4), *flat = STEPS(0.25, 1, 3, 8), *wide = STEPS(0.5, 3, 2),
           *narrow = STEPS(0.5, 3, 1);
    tensor *places = gantry_reshape(scope, I32(scope, 2, 0, 1), GANTRY_SHAPE(1, 3));
    tensor *made = gantry_rotary_embedding(scope, x, wide, wide, NULL, NULL);
    expect_call(&made, 1, "RotaryEmbedding", INPUTS(x, wide, wide), NULL, 0);
    const gantry_rotary_options_t part = {
        .struct_size = sizeof part, .interleaved = true, .dim = 2};
    made = gantry_rotary_embedding(scope, x, narrow, narrow, places, &part);
    expect_call(&made, 1, "RotaryEmbedding", INPUTS(x, narrow, narrow, places),
                ATTRS(BOOL_ATTR("interleaved", true), INT_ATTR("rotary_embedding_dim", 2)));
    made = gantry_rotary_embedding(scope, flat, wide, wide, NULL,
                                   &(gantry_rotary_options_t){.num_heads = 2});
    expect_call(&made, 1, "RotaryEmbedding", INPUTS(flat, wide, wide),
                ATTRS(INT_ATTR("num_heads", 2)));
}

/* ---- norms ---- */

TEST(norms_are_the_ops) {
    tensor *x = STEPS(0.25, 2, 3, 4), *four = STEPS(0.5, 4), *three = STEPS(0.5, 3),
           *offset = STEPS(0.75, 4), *rows = STEPS(0.5, 3, 4);
    tensor *made = gantry_rms_norm(scope, x, four, -1, 1e-3);
    expect_call(&made, 1, "RMSNorm", INPUTS(x, four), ATTRS(FLOAT_ATTR("epsilon", 1e-3)));
    made = gantry_rms_norm(scope, x, rows, 1, 1e-3);
    expect_call(&made, 1, "RMSNorm", INPUTS(x, rows),
                ATTRS(INT_ATTR("axis", 1), FLOAT_ATTR("epsilon", 1e-3)));
    made = gantry_group_norm(scope, x, four, offset, 2, 1e-3, false);
    expect_call(&made, 1, "GroupNorm", INPUTS(x, four, offset),
                ATTRS(INT_ATTR("num_groups", 2), FLOAT_ATTR("epsilon", 1e-3)));
    made = gantry_group_norm(scope, x, three, three, 3, 1e-3, true);
    expect_call(&made, 1, "GroupNorm", INPUTS(x, three, three),
                ATTRS(INT_ATTR("num_groups", 3), FLOAT_ATTR("epsilon", 1e-3),
                      TEXT_ATTR("data_format", "NCHW")));
    made = gantry_instance_norm(scope, x, four, offset, 1e-3, false);
    expect_call(&made, 1, "InstanceNorm", INPUTS(x, four, offset),
                ATTRS(FLOAT_ATTR("epsilon", 1e-3)));
    made = gantry_instance_norm(scope, x, three, three, 1e-3, true);
    expect_call(&made, 1, "InstanceNorm", INPUTS(x, three, three),
                ATTRS(FLOAT_ATTR("epsilon", 1e-3), TEXT_ATTR("data_format", "NCHW")));
    assert_null(gantry_group_norm(scope, x, four, four, 3, 1e-3, false));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "GroupNorm");
}

TEST(an_epsilon_below_0_or_not_finite_is_refused) {
    static const struct {
        double epsilon;
        const char *text;
    } bad[] = {{-1e-5, "epsilon is -1e-05; a finite number from 0 on is accepted"},
               {NAN, "nan; a finite number from 0 on is accepted"},
               {INFINITY, "epsilon is inf; a finite number from 0 on is accepted"}};
    tensor *x = STEPS(0.25, 2, 3, 4), *four = STEPS(0.5, 4);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        assert_null(gantry_rms_norm(scope, x, four, -1, bad[i].epsilon));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, bad[i].text);
        assert_null(gantry_group_norm(scope, x, four, four, 2, bad[i].epsilon, false));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, bad[i].text);
        assert_null(gantry_instance_norm(scope, x, four, four, bad[i].epsilon, false));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, bad[i].text);
    }
    assert_non_null(gantry_rms_norm(scope, x, four, -1, 0));
}

/* ---- Resize ---- */

static tensor *numbers64(const int64_t *values, int64_t count) {
    return gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(count), values,
                           (size_t)count * sizeof *values);
}

TEST(resize_takes_each_option) {
    static const int64_t sizes[] = {4, 3}, axes[] = {1, 2};
    static const float scales[] = {1, 2, 1.5f}, roi[] = {0, 0.25f, 1, 0.5f};
    tensor *x = STEPS(0.25, 2, 3, 5), *none = numbers64(NULL, 0);
    tensor *no_floats = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0), NULL, 0);
    gantry_resize_options_t o = {.struct_size = sizeof o, .scales = scales};
    tensor *made = gantry_resize(scope, x, NULL, 3, &o);
    tensor *by = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3), scales, sizeof scales);
    expect_call(&made, 1, "Resize", INPUTS(x, none, by), NULL, 0);
    o = (gantry_resize_options_t){.mode = "CUBIC",
                                  .coordinate_transformation = "TF_CROP_AND_RESIZE",
                                  .cubic_coeff_a = -0.5,
                                  .exclude_outside = true,
                                  .extrapolation_value = 7,
                                  .axes = axes,
                                  .roi = roi};
    made = gantry_resize(scope, x, sizes, 2, &o);
    tensor *region = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), roi, sizeof roi);
    expect_call(&made, 1, "Resize", INPUTS(x, numbers64(sizes, 2), no_floats, region),
                ATTRS(TEXT_ATTR("mode", "CUBIC"),
                      TEXT_ATTR("coordinate_transformation", "TF_CROP_AND_RESIZE"),
                      FLOAT_ATTR("cubic_coeff_a", -0.5), BOOL_ATTR("exclude_outside", true),
                      FLOAT_ATTR("extrapolation_value", 7), INTS_ATTR("axes", 1, 2)));
    o = (gantry_resize_options_t){.mode = "LINEAR",
                                  .antialias = true,
                                  .keep_aspect_ratio_policy = "NOT_LARGER",
                                  .axes = axes};
    made = gantry_resize(scope, x, (int64_t[]){2, 2}, 2, &o);
    expect_call(
        &made, 1, "Resize", INPUTS(x, numbers64((int64_t[]){2, 2}, 2)),
        ATTRS(TEXT_ATTR("mode", "LINEAR"), BOOL_ATTR("antialias", true),
              TEXT_ATTR("keep_aspect_ratio_policy", "NOT_LARGER"), INTS_ATTR("axes", 1, 2)));
    o = (gantry_resize_options_t){.nearest_mode = "CEIL", .axes = axes};
    made = gantry_resize(scope, x, sizes, 2, &o);
    expect_call(&made, 1, "Resize", INPUTS(x, numbers64(sizes, 2)),
                ATTRS(TEXT_ATTR("nearest_mode", "CEIL"), INTS_ATTR("axes", 1, 2)));
}

TEST(bad_resizes_are_refused) {
    static const int64_t sizes[9] = {1};
    tensor *x = STEPS(0.25, 2, 3);
    assert_null(gantry_resize(scope, x, sizes, 9, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "gantry_resize: count is 9");
    assert_null(gantry_resize(scope, x, NULL, 2, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "sizes has 0 numbers and scales 0");
    assert_null(gantry_resize(scope, x, sizes, 1, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "sizes has 1 numbers; 0 or 2");
    assert_null(gantry_resize(scope, x, sizes, 2, &(gantry_resize_options_t){.mode = "AREA"}));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "mode");
}

/* ---- SortByKeys ---- */

TEST(sort_by_keys_takes_directions) {
    static const bool descending[] = {false, true};
    tensor *operands[] = {I32(scope, 2, 1, 2, 1), F32(scope, 1, 5, 3, 4), I32(scope, 0, 1, 2, 3)};
    tensor *outputs[3];
    assert_int_equal(gantry_sort_by_keys(scope, operands, 3, 2, 0, descending, outputs), GANTRY_OK);
    EXPECT_I32(outputs[0], 1, 1, 2, 2);
    EXPECT_F32(outputs[1], 5, 4, 3, 1);
    EXPECT_I32(outputs[2], 1, 3, 2, 0);
    (void)gantry_sort_by_keys(scope, operands, 3, 2, -1, NULL, outputs);
    EXPECT_I32(outputs[2], 3, 1, 0, 2);
    (void)gantry_sort_by_keys(scope, operands, 3, SIZE_MAX, 0, descending, outputs);
    expect_scope_failure(
        scope, GANTRY_INVALID_ARGUMENT,
        sizeof(size_t) > 4 ? "num_keys is 9223372036854775807" : "num_keys is 4294967295");
    (void)gantry_sort_by_keys(scope, operands, 3, 4, 0, (bool[]){0, 1, 0, 1}, outputs);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "num_keys is 4");
    (void)gantry_sort_by_keys(scope, NULL, 3, 1, 0, NULL, outputs);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "gantry_sort_by_keys: operands");
}

int main(void) { return test_main_each(begin_ops, end_ops); }
