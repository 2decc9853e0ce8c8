/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A gradient is right where one input only is watched, where nothing depends on an output,
 * for types of 16 bits, and for tensors without elements.
 * Promise: The gradient of a Pad that adds and cuts more than memory holds takes no more than its
 * operands.
 * Promise: Second gradients of attention, with masks, groups, causal and a past, are those of
 * products and a softmax within 1e-12; one with softcap is refused with the op. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <math.h>

#include "gradient_case.h"
#include "test.h"
#include "train_heap.h"

typedef gradient_tensor_t tensor;

static runtime_fixture_t fixture;
static golden_file_t file;

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, 0);
    gradient_file_load(&file);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    golden_free(&file);
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

/* ---- one input ---- */

static tensor *gradient_of_one(gantry_scope_t *scope, const gradient_case_t *c,
                               tensor *const *inputs, size_t input) {
    tensor *gradient = NULL;
    const gantry_source_t source = {.tensor = inputs[input]};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    assert_int_equal(gantry_tape_watch(tape, inputs[input]), GANTRY_OK);
    tensor *target = gradient_case_target(scope, c, inputs);
    if (gantry_tape_gradient(tape, target, NULL, &source, 1, NULL, &gradient) != GANTRY_OK)
        fail_msg("%s: %s", c->golden->name, gantry_scope_message(scope));
    gantry_tape_end(tape);
    return gradient;
}

TEST(one_watched_input_gets_the_same_bits) {
    const golden_tolerance_t exact = {.exact = true};
    size_t checked = 0;
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        if (c.of_count < 2 || c.is_double) continue;
        tensor *inputs[GRADIENT_MOST_VALUES], *all[GRADIENT_MOST_VALUES];
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        gradient_case_inputs(scope, &c, NULL, inputs);
        gradient_case_gradients(scope, &c, inputs, all);
        for (size_t k = 0; k < c.of_count; ++k) {
            const size_t input = (size_t)c.of[k];
            golden_tensor_t expected = gradient_read(all[input]);
            gradient_expect_equal(&c, input, &expected, &exact,
                                  gradient_of_one(scope, &c, inputs, input));
            free(expected.data);
        }
        expect_ended_well(scope);
        ++checked;
    }
    assert_true(checked > 50);
}

/* ---- outputs that nothing depends on ---- */

static tensor *matrix(gantry_scope_t *scope) {
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 4),
                           (float[]){1, 2, 3, 4, 8, 7, 6, 5}, 32);
}

typedef void (*outputs_fn)(gantry_scope_t *scope, tensor *x, tensor **outputs);

static void run_split(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    (void)gantry_split(scope, x, 1, outputs, 4);
}

static void run_split_v(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    (void)gantry_split_v(scope, x, (int64_t[]){1, 1, 2}, 1, outputs, 3);
}

static void run_unpack(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    (void)gantry_unpack(scope, x, 1, outputs, 4);
}

static void run_top_k(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    outputs[1] = gantry_top_k(scope, x, 1, &outputs[0]);
}

static void run_moments(gantry_scope_t *scope, tensor *x, tensor **outputs) {
    const int32_t axis = 1;
    (void)gantry_moments(scope, x, &(gantry_reduce_options_t){.axes = &axis, .axis_count = 1},
                         &outputs[0], &outputs[1]);
}

/* The gradient of the sum of output 1. */
static void expect_gradient(outputs_fn run, const float *expected) {
    float values[8];
    tensor *outputs[4], *gradient;
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    tensor *x = matrix(scope);
    const gantry_source_t source = {.tensor = x};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    run(scope, x, outputs);
    if (gantry_tape_gradient(tape, outputs[1], NULL, &source, 1, NULL, &gradient) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    gantry_tape_end(tape);
    assert_int_equal(gantry_tensor_read(gradient, values, sizeof values), GANTRY_OK);
    for (int i = 0; i < 8; ++i) assert_float_equal(values[i], expected[i], 1e-6);
    expect_ended_well(scope);
}

TEST(unused_outputs_count_as_zeros) {
    const float second[] = {0, 1, 0, 0, 0, 1, 0, 0}, largest[] = {0, 0, 0, 1, 1, 0, 0, 0};
    const float variance[] = {-0.75f, -0.25f, 0.25f, 0.75f, 0.75f, 0.25f, -0.25f, -0.75f};
    expect_gradient(run_split, second);
    expect_gradient(run_split_v, second);
    expect_gradient(run_unpack, second);
    expect_gradient(run_top_k, largest);
    expect_gradient(run_moments, variance);
}

/* ---- a Pad whose uncut result no memory holds ---- */

/* Of 4 elements with 2^40 spaces between two of them, the one at `kept` stays; with `more`, a zero
 * comes before it. */
static void expect_cut(int64_t kept, int64_t more) {
    const int64_t step = (INT64_C(1) << 40) + 1, interior = step - 1;
    const int64_t paddings[] = {more - kept * step, -(3 - kept) * step};
    const gantry_pad_options_t options = {
        .struct_size = sizeof options, .interior = &interior, .crop = true};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    tensor *x = F32(scope, 2, 3, 5, 7), *gradient = NULL;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    tensor *y = gantry_pad(scope, x, paddings, &options);
    if (gantry_tape_gradient(tape, gantry_mul(scope, y, y), NULL, &(gantry_source_t){.tensor = x},
                             1, NULL, &gradient) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    gantry_tape_end(tape);
    float expected[4] = {0};
    expected[kept] = 2 * (float[]){2, 3, 5, 7}[kept];
    assert_int_equal(gantry_tensor_elements(y), 1 + more);
    expect_f32(gradient, 4, expected);
    expect_ended_well(scope);
}

TEST(pad_that_cuts_almost_all_has_a_gradient) {
    for (int64_t kept = 0; kept < 4; ++kept) {
        expect_cut(kept, 0);
        expect_cut(kept, 1);
    }
}

/* ---- second gradients ---- */

typedef struct attended_t {
    int64_t heads, key_heads;
    tensor *mask; /* NULL: none */
    bool is_causal, is_flat, has_past;
} attended_t;

enum { AT_QUERIES = 3, AT_KEYS = 4, AT_DIM = 2, AT_INPUTS = 5 };

static tensor *attended_input(gantry_scope_t *s, const attended_t *a, int64_t heads, int64_t length,
                              double seed) {
    double values[64];
    const int64_t count = 2 * heads * length * AT_DIM;
    for (int64_t i = 0; i < count; ++i) values[i] = sin(seed + 1.7 * (double)i);
    return gantry_constant(
        s, GANTRY_FLOAT64,
        a->is_flat ? GANTRY_SHAPE(2, length, AT_DIM) : GANTRY_SHAPE(2, heads, length, AT_DIM),
        values, (size_t)count * sizeof *values);
}

/* Attention by products and a softmax, whose gradients have gradients. */
static tensor *attend_by_parts(gantry_scope_t *s, const attended_t *a, tensor *const *x) {
    static const gantry_matmul_options_t by_rows = {.transpose_b = true};
    const int64_t places[] = {0, 0, 1, 1};
    const double root = 1 / sqrt(AT_DIM), lowest = -1e30;
    tensor *k = x[1], *v = x[2];
    if (a->heads != a->key_heads) {
        tensor *of = gantry_constant(s, GANTRY_INT64, GANTRY_SHAPE(4), places, sizeof places);
        k = gantry_gather(s, k, of, 1);
        v = gantry_gather(s, v, of, 1);
    }
    tensor *scale = gantry_constant(s, GANTRY_FLOAT64, GANTRY_SCALAR, &root, sizeof root),
           *low = gantry_constant(s, GANTRY_FLOAT64, GANTRY_SCALAR, &lowest, sizeof lowest);
    tensor *scores = gantry_matmul(s, gantry_mul(s, x[0], scale), k, &by_rows);
    if (a->mask && gantry_tensor_dtype(a->mask) == GANTRY_BOOL)
        scores = gantry_select(s, a->mask, scores, low);
    else if (a->mask)
        scores = gantry_add(s, scores, x[4]);
    if (a->is_causal) {
        const int64_t more = a->has_past ? AT_KEYS - AT_QUERIES : 0;
        bool seen[AT_QUERIES * AT_KEYS];
        for (int64_t i = 0; i < AT_QUERIES * AT_KEYS; ++i)
            seen[i] = i % AT_KEYS <= i / AT_KEYS + more;
        scores = gantry_select(
            s,
            gantry_constant(s, GANTRY_BOOL, GANTRY_SHAPE(AT_QUERIES, AT_KEYS), seen, sizeof seen),
            scores, low);
    }
    return gantry_matmul(s, gantry_softmax(s, scores), v, NULL);
}

/* With a past the first key is the past. */
static tensor *attend_by_the_op(gantry_scope_t *s, const attended_t *a, tensor *const *x) {
    static const int64_t zeros[4] = {0}, second[4] = {0, 0, 1, 0}, one[] = {-1, -1, 1, -1},
                         rest[] = {-1, -1, AT_KEYS - 1, -1};
    const bool past = a->has_past;
    tensor *outputs[4];
    const gantry_scaled_attention_options_t options = {
        .mask = a->mask && gantry_tensor_dtype(a->mask) != GANTRY_BOOL ? x[4] : a->mask,
        .past_key = past ? gantry_slice(s, x[1], zeros, one) : NULL,
        .past_value = past ? gantry_slice(s, x[2], zeros, one) : NULL,
        .is_causal = a->is_causal};
    (void)gantry_scaled_dot_product_attention(
        s, x[0], past ? gantry_slice(s, x[1], second, rest) : x[1],
        past ? gantry_slice(s, x[2], second, rest) : x[2], &options, outputs);
    return outputs[0];
}

/* The second gradients by query, key, value, the slope and, if it is added, the mask. */
static void take_second(const attended_t *a, bool by_op, size_t count, double out[AT_INPUTS][64]) {
    gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
    tensor *x[AT_INPUTS] = {attended_input(s, a, a->heads, AT_QUERIES, 0.1),
                            attended_input(s, a, a->key_heads, AT_KEYS, 0.2),
                            attended_input(s, a, a->key_heads, AT_KEYS, 0.3),
                            attended_input(s, a, a->heads, AT_QUERIES, 0.4), a->mask};
    tensor *first[3], *second[AT_INPUTS], *target = NULL;
    gantry_source_t of[AT_INPUTS];
    gantry_tape_t *outer = gantry_tape_begin(s, NULL), *inner = gantry_tape_begin(s, NULL);
    for (size_t i = 0; i < count; ++i) {
        of[i] = (gantry_source_t){.tensor = x[i]};
        (void)gantry_tape_watch(outer, x[i]);
        if (i < 3) (void)gantry_tape_watch(inner, x[i]);
    }
    tensor *y = by_op ? attend_by_the_op(s, a, x) : attend_by_parts(s, a, x);
    assert_int_equal(gantry_tape_gradient(inner, y, x[3], of, 3, NULL, first), GANTRY_OK);
    for (size_t i = 0; i < 3; ++i) {
        tensor *part = gantry_sum(s, gantry_mul(s, first[i], gantry_sin(s, x[i])), NULL);
        target = target ? gantry_add(s, target, part) : part;
    }
    if (gantry_tape_gradient(outer, target, NULL, of, count, NULL, second) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
    for (size_t i = 0; i < count; ++i)
        assert_int_equal(gantry_tensor_read(second[i], out[i], gantry_tensor_bytes(second[i])),
                         GANTRY_OK);
    gantry_tape_end(inner);
    gantry_tape_end(outer);
    expect_ended_well(s);
}

static void expect_second(const attended_t *a) {
    double wanted[AT_INPUTS][64] = {{0}}, got[AT_INPUTS][64] = {{0}};
    const size_t count = a->mask && gantry_tensor_dtype(a->mask) != GANTRY_BOOL ? 5 : 4;
    take_second(a, false, count, wanted);
    take_second(a, true, count, got);
    for (size_t i = 0; i < count; ++i)
        for (size_t k = 0; k < 64; ++k)
            if (!(fabs(got[i][k] - wanted[i][k]) < 1e-12))
                fail_msg("%lld heads, causal %d, input %zu, %zu: %g, wanted %g",
                         (long long)a->heads, a->is_causal, i, k, got[i][k], wanted[i][k]);
}

TEST(second_gradients_of_attention_are_those_of_its_parts) {
    static const bool seen[] = {1, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 1};
    const double added[] = {0.5, -1, 0.25, 2, 0.75, 0, -0.5, 1, 0.1, -0.2, 0.3, -0.4};
    gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
    const gantry_shape_t shape = GANTRY_SHAPE(AT_QUERIES, AT_KEYS);
    tensor *hides = gantry_constant(s, GANTRY_BOOL, shape, seen, sizeof seen),
           *adds = gantry_constant(s, GANTRY_FLOAT64, shape, added, sizeof added);
    const attended_t cases[] = {
        {2, 2, .mask = NULL},
        {4, 2, .mask = hides},
        {4, 2, .mask = adds, .is_causal = true},
        {1, 1, .is_causal = true, .is_flat = true},
        {2, 2, .mask = hides, .is_causal = true, .has_past = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) expect_second(&cases[i]);
    expect_ended_well(s);
}

TEST(second_gradient_of_attention_with_softcap_is_refused_with_the_op) {
    static const gantry_scaled_attention_options_t capped = {.softcap = 2};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    tensor *x = gantry_reshape(scope, F32(scope, 1, 2, 3, 4), GANTRY_SHAPE(1, 1, 2, 2));
    tensor *outputs[4], *first = NULL, *second = NULL;
    const gantry_source_t of = {.tensor = x};
    gantry_tape_t *outer = gantry_tape_begin(scope, NULL), *inner = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(outer, x);
    (void)gantry_tape_watch(inner, x);
    (void)gantry_scaled_dot_product_attention(scope, x, x, x, &capped, outputs);
    assert_int_equal(gantry_tape_gradient(inner, outputs[0], NULL, &of, 1, NULL, &first),
                     GANTRY_OK);
    assert_int_equal(gantry_tape_gradient(outer, first, NULL, &of, 1, NULL, &second),
                     GANTRY_UNIMPLEMENTED);
    expect_scope_failure(scope, GANTRY_UNIMPLEMENTED, "ScaledDotProductAttentionGrad");
    gantry_tape_end(inner);
    gantry_tape_end(outer);
    expect_ended_well(scope);
}

/* ---- types of 16 bits: near the gradients of float32 ---- */

/* The values of float inputs in another type. */
static void convert_inputs(gantry_scope_t *scope, gantry_dtype_t dtype, tensor *const *from,
                           size_t count, tensor **out) {
    for (size_t i = 0; i < count; ++i)
        out[i] = gradient_is_floating(from[i]) ? gantry_cast(scope, from[i], dtype) : from[i];
}

static bool takes_halves(const gradient_case_t *c) {
    /* ops whose inputs have several types, and one that draws other numbers for each type */
    static const char *const others[] = {"Cast",
                                         "FusedBatchNorm",
                                         "FusedBatchNormGrad",
                                         "Dropout",
                                         "Resize",
                                         "ResizeBicubicGrad",
                                         "ResizeBilinearGrad",
                                         "ScaleAndTranslateGrad",
                                         "CropAndResizeGradBoxes",
                                         "CropAndResizeGradImage"};
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        if (strcmp(others[i], c->golden->op) == 0) return false;
    }
    return c->is_smooth && !c->is_double;
}

static void check_near(const gradient_case_t *c, tensor *expected, tensor *actual) {
    golden_tensor_t e = gradient_read(expected), a = gradient_read(actual);
    double largest = 1;
    for (size_t k = 0; k < gradient_count(&e); ++k)
        largest = fmax(largest, fabs(golden_number_at(e.dtype, e.data, k)));
    for (size_t k = 0; k < gradient_count(&e); ++k) {
        const double wanted = golden_number_at(e.dtype, e.data, k);
        const double got = golden_number_at(a.dtype, a.data, k);
        if (!(fabs(wanted - got) <= 0.06 * largest))
            fail_msg("%s as %s: %g, of float32 %g", c->golden->name, gantry_dtype_name(a.dtype),
                     got, wanted);
    }
    free(e.data);
    free(a.data);
}

static void check_halves(const gradient_case_t *c, gantry_dtype_t dtype) {
    tensor *inputs[GRADIENT_MOST_VALUES], *halves[GRADIENT_MOST_VALUES];
    tensor *expected[GRADIENT_MOST_VALUES], *target = NULL;
    gantry_source_t sources[GRADIENT_MOST_VALUES];
    tensor *gradients[GRADIENT_MOST_VALUES], *outputs[GANTRY_MAX_OP_OUTPUTS];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    gradient_case_inputs(scope, c, NULL, inputs);
    gradient_case_gradients(scope, c, inputs, expected);
    convert_inputs(scope, dtype, inputs, c->golden->input_count, halves);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    for (size_t k = 0; k < c->of_count; ++k) {
        sources[k] = (gantry_source_t){.tensor = halves[c->of[k]]};
        (void)gantry_tape_watch(tape, sources[k].tensor);
    }
    const size_t count = gradient_case_call(scope, c, halves, outputs);
    size_t weight = c->input_count;
    for (size_t i = 0; i < count && weight < c->golden->input_count; ++i) {
        if (gantry_tensor_dtype(outputs[i]) != dtype) continue;
        tensor *part = gantry_sum(scope, gantry_mul(scope, outputs[i], halves[weight++]), NULL);
        target = target ? gantry_add(scope, target, part) : part;
    }
    if (gantry_tape_gradient(tape, target, NULL, sources, c->of_count, NULL, gradients) !=
        GANTRY_OK)
        fail_msg("%s: %s", c->golden->name, gantry_scope_message(scope));
    gantry_tape_end(tape);
    for (size_t k = 0; k < c->of_count; ++k) check_near(c, expected[c->of[k]], gradients[k]);
    expect_ended_well(scope);
}

TEST(halves_have_the_gradients_of_float32) {
    size_t checked = 0;
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        if (c.of_count == 0 || !takes_halves(&c)) continue;
        check_halves(&c, GANTRY_FLOAT16);
        check_halves(&c, GANTRY_BFLOAT16);
        ++checked;
    }
    assert_true(checked > 200);
}

int main(void) { return test_main_each(set_up, tear_down); }
