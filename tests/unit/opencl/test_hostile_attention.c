/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Attention on GPUs of several sizes of groups and of local memory, by tiles, gives the
 * CPU's outputs and gradients within 8e-6, and the same bits again.
 * Promise: On a GPU attention and its gradients take memory that grows with the length, not with
 * its square, in one launch and in three.
 * Promise: On a GPU, queries that see no key give zeros, and a NaN stays in its own rows. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "hostile_gpu.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

enum { MOST = 1 << 20, MASK_NONE = 0, MASK_BOOL = 1, MASK_ADDED = 2 };

typedef struct attention_case_t {
    int64_t heads, key_heads, queries, keys, dim, value_dim;
    int mask;
    bool is_causal, has_nan;
    double softcap;
} attention_case_t;

typedef struct results_t {
    float *values[5]; /* output, log_sum_exp, the gradients by query, key and value */
    size_t counts[5];
} results_t;

static tensor *numbers(gantry_scope_t *s, gantry_shape_t shape, uint32_t seed, bool has_nan) {
    const size_t count = (size_t)gantry_shape_elements(&shape);
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525U + 1013904223U;
        values[i] = (float)(seed >> 16) / 32768.0F - 1.0F;
    }
    if (has_nan) values[0] = NAN;
    tensor *made = gantry_constant(s, GANTRY_FLOAT32, shape, values, count * sizeof *values);
    free(values);
    return made;
}

/* Every third query sees no key, and each other one two of three. */
static tensor *bool_mask(gantry_scope_t *s, int64_t queries, int64_t keys) {
    bool *seen = malloc((size_t)(queries * keys));
    assert_non_null(seen);
    for (int64_t i = 0; i < queries * keys; ++i) seen[i] = i / keys % 3 != 1 && i % 3 != 0;
    tensor *mask = gantry_constant(s, GANTRY_BOOL, GANTRY_SHAPE(queries, keys), seen,
                                   (size_t)(queries * keys));
    free(seen);
    return mask;
}

static void read_one(tensor *x, results_t *to, size_t at) {
    to->counts[at] = (size_t)gantry_shape_elements(gantry_tensor_shape(x));
    to->values[at] = malloc((to->counts[at] + 1) * sizeof(float));
    assert_non_null(to->values[at]);
    if (gantry_tensor_read(x, to->values[at], to->counts[at] * sizeof(float)) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

static void call(gantry_scope_t *s, const char *op, tensor *const *inputs, size_t count,
                 const gantry_attr_value_t *attrs, size_t attr_count, tensor **outputs,
                 size_t outputs_count) {
    size_t made = outputs_count;
    if (gantry_op_call(s, op, inputs, count, attrs, attr_count, outputs, &made) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
}

/* Calls both ops; inputs: query, key, value and, if count is 4, the mask. */
static void attend(gantry_scope_t *s, const attention_case_t *c, tensor *const *inputs,
                   size_t count, tensor *slope, results_t *out) {
    const gantry_attr_value_t attrs[] = {
        {.name = "is_causal", .kind = GANTRY_ATTR_BOOL, .i = c->is_causal},
        {.name = "softcap", .kind = GANTRY_ATTR_FLOAT, .f = c->softcap}};
    tensor *y[4], *slopes[3];
    call(s, "ScaledDotProductAttention", inputs, count, attrs, 2, y, 4);
    tensor *of_gradient[] = {
        inputs[0], inputs[1], inputs[2], y[0], y[3], slope, count > 3 ? inputs[3] : NULL};
    call(s, "ScaledDotProductAttentionGrad", of_gradient, 3 + count, attrs, 2, slopes, 3);
    read_one(y[0], out, 0);
    read_one(y[3], out, 1);
    for (size_t i = 0; i < 3; ++i) read_one(slopes[i], out, 2 + i);
}

static results_t compute(gantry_runtime_t *runtime, const char *device, const attention_case_t *c) {
    const gantry_shape_t of_query = GANTRY_SHAPE(1, c->heads, c->queries, c->dim),
                         of_key = GANTRY_SHAPE(1, c->key_heads, c->keys, c->dim),
                         of_value = GANTRY_SHAPE(1, c->key_heads, c->keys, c->value_dim),
                         of_mask = GANTRY_SHAPE(c->queries, c->keys),
                         of_out = GANTRY_SHAPE(1, c->heads, c->queries, c->value_dim);
    gantry_scope_t *s = gantry_scope_begin(runtime, device);
    tensor *inputs[] = {numbers(s, of_query, 1, c->has_nan), numbers(s, of_key, 2, false),
                        numbers(s, of_value, 3, false), NULL};
    if (c->mask == MASK_BOOL) inputs[3] = bool_mask(s, c->queries, c->keys);
    if (c->mask == MASK_ADDED) inputs[3] = numbers(s, of_mask, 4, false);
    results_t out;
    attend(s, c, inputs, c->mask == MASK_NONE ? 3 : 4, numbers(s, of_out, 5, false), &out);
    if (gantry_scope_end(s) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    return out;
}

static void drop(results_t *r) {
    for (int i = 0; i < 5; ++i) free(r->values[i]);
}

static bool agree(float a, float b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b)) return isinf(a) && isinf(b) && a * b > 0;
    return fabsf(a - b) <= 8e-6F * fmaxf(1, fabsf(b));
}

static void check_case(gantry_runtime_t *runtime, const attention_case_t *c) {
    results_t wanted = compute(runtime, "/CPU:0", c), got = compute(runtime, "/GPU:0", c),
              again = compute(runtime, "/GPU:0", c);
    for (int r = 0; r < 5; ++r) {
        assert_int_equal(wanted.counts[r], got.counts[r]);
        for (size_t i = 0; i < got.counts[r]; ++i)
            if (!agree(got.values[r][i], wanted.values[r][i]))
                fail_msg("%lld queries, %lld keys, dim %lld: result %d [%zu] is %g, wanted %g",
                         (long long)c->queries, (long long)c->keys, (long long)c->dim, r, i,
                         (double)got.values[r][i], (double)wanted.values[r][i]);
        if (!c->has_nan)
            assert_memory_equal(got.values[r], again.values[r], got.counts[r] * sizeof(float));
    }
    drop(&wanted);
    drop(&got);
    drop(&again);
}

static void check_cases(const char *settings, const attention_case_t *cases, size_t count) {
    gantry_runtime_t *runtime = hostile_open(settings);
    for (size_t i = 0; i < count; ++i) check_case(runtime, &cases[i]);
    gantry_runtime_release(runtime);
}

TEST(large_cards_have_the_results_of_the_cpu) {
    static const attention_case_t cases[] = {
        {2, 1, 130, 150, 64, 64, .is_causal = true},
        {1, 1, 70, 65, 80, 40, .mask = MASK_BOOL},
        {1, 1, 64, 64, 16, 16, .softcap = 2, .mask = MASK_ADDED},
        {1, 1, 33, 17, 130, 129, .mask = MASK_NONE},
        {1, 1, 18, 40, 300, 20, .mask = MASK_NONE},
        {1, 1, 1, 1, 64, 64, .mask = MASK_NONE},
        {1, 1, 1, 40, 64, 64, .mask = MASK_NONE},
        {1, 1, 70, 40, 64, 64, .has_nan = true},
    };
    check_cases("gpu=1;units=10;local=65536", cases, sizeof cases / sizeof *cases);
}

TEST(small_cards_have_the_results_of_the_cpu) {
    static const attention_case_t cases[] = {{2, 2, 70, 45, 64, 64, .mask = MASK_ADDED},
                                             {1, 1, 3, 40, 100, 100, .is_causal = true}};
    check_cases("gpu=1;units=10;local=16384;group=64", cases, sizeof cases / sizeof *cases);
    check_cases("gpu=1;units=10;local=16384;group=32", cases, 1);
}

TEST(no_queries_and_no_keys_make_no_trouble) {
    static const attention_case_t cases[] = {{1, 1, 0, 20, 8, 8, .mask = MASK_NONE},
                                             {1, 1, 20, 0, 8, 8, .mask = MASK_NONE}};
    check_cases("gpu=1;units=10;local=65536", cases, sizeof cases / sizeof *cases);
}

/* Bytes of the device that both ops hold at most, and their launches. */
static uint64_t peak_of(gantry_runtime_t *runtime, int64_t length, char *launches, size_t room) {
    const attention_case_t c = {1, 1, length, length, 64, 64, .is_causal = true};
    char ignored[1 << 10];
    assert_int_equal(gantry_reset_memory_stats(runtime, "GPU:0"), GANTRY_OK);
    hostile_take_launches(ignored, sizeof ignored);
    results_t out = compute(runtime, "/GPU:0", &c);
    hostile_take_launches(launches, room);
    drop(&out);
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(runtime, "GPU:0", &info), GANTRY_OK);
    return info.peak_bytes;
}

TEST(memory_grows_with_the_length) {
    char few[1 << 10], many[1 << 10];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=10;local=65536;dry=1");
    const uint64_t one = peak_of(runtime, 512, few, sizeof few),
                   four = peak_of(runtime, 2048, many, sizeof many),
                   tensors = 8 * 2048 * 64 * sizeof(float);
    if (four > 4 * one + 4096 || four > tensors + tensors / 8)
        fail_msg("%llu bytes for 512 steps, %llu for 2048", (unsigned long long)one,
                 (unsigned long long)four);
    assert_string_equal(many,
                        "attention_tile_rows 32 x 128\nattention_tile_along 32 x 64\n"
                        "attention_tile_queries 32 x 128\nattention_tile_keys 32 x 128\n");
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    return code != 0 ? code : test_main();
}
