/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: MultiHeadAttention by ScaledDotProductAttention has the outputs and gradients, within
 x all scores in memory: masks of queries, keys, heads and both, causal or not, blind rows.
 * Promise: A training step of MultiHeadAttention with masks takes at most 2.2 times the memory for
 * twice the length, on the CPU from 1,024 steps on.
 * Promise: A layer says why it has all scores in memory, and that it does not have them; a row that
 * sees no key raises no alarm of checked numbers. */
#define _XOPEN_SOURCE 700

#include <gantry_train/train.h>
#include <math.h>

#include "test.h"
#include "train_fixture.h"

typedef const gantry_tensor_t tensor;

enum { BATCH = 2, HEADS = 2, QUERIES = 512, KEYS = 640, SIZE = 4, WEIGHTS = 8, MOST = 96 };
enum { NO_MASK = 0, OF_BOTH = 1, OF_HEADS = 2, OF_QUERIES = 3, OF_KEYS = 4 };

typedef struct long_case_t {
    bool masks_query, masks_value, is_causal;
    int given; /* the attention mask: NO_MASK, ... */
    double dropout;
} long_case_t;

static double query[BATCH * QUERIES * SIZE], value[BATCH * KEYS * SIZE];
static bool seen[BATCH * HEADS * QUERIES * KEYS];
static int32_t given[BATCH * HEADS * QUERIES * KEYS];

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- what a query sees ---- */

/* Queries 100 and more are padding. In the first sequence keys 0 to 2 and some later ones are, in
 * the second one all. */
static bool is_padding(const long_case_t *c, bool is_query, int64_t b, int64_t i) {
    if (is_query) return c->masks_query && i >= 100 && i < 140;
    return c->masks_value && (b == 1 || i < 3 || i % 7 == 0);
}

static bool lets_see(int kind, int64_t b, int64_t h, int64_t i, int64_t j) {
    switch (kind) {
        case OF_BOTH: return i % 50 != 9 && (i + j + b) % 3 != 0;
        case OF_HEADS: return i % 60 != 9 + h && (i * h + j) % 5 != 0;
        case OF_QUERIES: return (i + b) % 4 != 0;
        case OF_KEYS: return (j + b) % 4 != 0;
        default: return true;
    }
}

static void fill_rows(const long_case_t *c, bool is_query, int64_t length, double *to) {
    for (int64_t at = 0; at < BATCH * length * SIZE; ++at) {
        const int64_t row = at / SIZE;
        to[at] = is_padding(c, is_query, row / length, row % length) ? 0 : sin((double)(at + 1));
    }
}

/* The attention mask of a case, and what all its masks let be seen. */
static gantry_shape_t fill_masks(const long_case_t *c) {
    const int64_t heads = c->given == OF_HEADS ? HEADS : 1,
                  queries = c->given == OF_KEYS ? 1 : QUERIES,
                  keys = c->given == OF_QUERIES ? 1 : KEYS;
    for (int64_t at = 0; at < BATCH * HEADS * QUERIES * KEYS; ++at) {
        const int64_t j = at % KEYS, i = at / KEYS % QUERIES, h = at / (KEYS * QUERIES) % HEADS,
                      b = at / (KEYS * QUERIES * HEADS);
        const bool lets = lets_see(c->given, b, h, i, j);
        if (h < heads && i < queries && j < keys)
            given[((b * heads + h) * queries + i) * keys + j] = lets ? 3 : 0;
        seen[at] = lets && !is_padding(c, true, b, i) && !is_padding(c, false, b, j) &&
                   (!c->is_causal || j <= i);
    }
    return GANTRY_SHAPE(BATCH, heads, queries, keys);
}

/* ---- models ---- */

static int32_t mask_steps(gantry_model_t *model, int32_t x, bool masks) {
    return masks ? gantry_model_apply(model, gantry_masking_layer(0, NULL), &x, 1) : x;
}

static gantry_shape_t sample_of(int kind) {
    return GANTRY_SHAPE(kind == OF_HEADS ? HEADS : 1, kind == OF_KEYS ? 1 : -1,
                        kind == OF_QUERIES ? 1 : -1);
}

static gantry_model_t *make_model(const long_case_t *c, gantry_dtype_t mask, gantry_layer_t **out) {
    const gantry_attention_options_t options = {.struct_size = sizeof options,
                                                .dropout = c->dropout,
                                                .causal = c->is_causal,
                                                .value_dim = 3,
                                                .attention_mask = c->given != NO_MASK};
    gantry_model_t *model =
        gantry_functional(fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64});
    const gantry_shape_t sample = GANTRY_SHAPE(-1, SIZE);
    const int32_t x = gantry_model_input(model, GANTRY_FLOAT64, sample),
                  y = gantry_model_input(model, GANTRY_FLOAT64, sample),
                  m = c->given ? gantry_model_input(model, mask, sample_of(c->given)) : 0;
    const int32_t q = mask_steps(model, x, c->masks_query),
                  v = mask_steps(model, y, c->masks_value);
    *out = gantry_multi_head_attention(HEADS, 5, &options);
    (void)gantry_model_apply(model, *out, (int32_t[]){q, v, m}, c->given ? 3 : 2);
    must(gantry_model_build(model, GANTRY_DTYPE_NONE, GANTRY_SCALAR));
    return model;
}

static void copy_weights(gantry_model_t *from, gantry_model_t *to) {
    double values[MOST];
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (size_t i = 0; i < WEIGHTS; ++i) {
        tensor *x = gantry_variable_read(scope, gantry_model_variable(from, i, NULL));
        must(gantry_tensor_read(x, values, gantry_tensor_bytes(x)));
        for (int64_t k = 0; k < gantry_tensor_elements(x) && i % 2; ++k)
            values[k] = 0.25 * cos((double)(k + 1)); /* biases are not zeros */
        must(gantry_model_set_variable(from, i, values, gantry_tensor_bytes(x)));
        must(gantry_model_set_variable(to, i, values, gantry_tensor_bytes(x)));
    }
    expect_ended_well(scope);
}

typedef struct taken_t {
    double outputs[BATCH * QUERIES * SIZE], slopes[WEIGHTS][MOST];
} taken_t;

/* Calls the model for queries from `first` on, and adds the gradients of its weights. */
static void take(gantry_model_t *model, int64_t first, int64_t count, tensor *mask, taken_t *out) {
    static double some[BATCH * QUERIES * SIZE], slopes[BATCH * QUERIES * SIZE];
    const int64_t each = count * SIZE, all = QUERIES * SIZE;
    const size_t bytes = (size_t)(BATCH * each) * sizeof *some;
    gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
    gantry_source_t of[WEIGHTS];
    tensor *gradients[WEIGHTS] = {NULL};
    for (int64_t b = 0; b < BATCH; ++b) {
        memcpy(some + b * each, query + b * all + first * SIZE, (size_t)each * sizeof *some);
        for (int64_t i = 0; i < each; ++i)
            slopes[b * each + i] = cos((double)(b * all + first * SIZE + i));
    }
    tensor *inputs[] = {
        gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(BATCH, count, SIZE), some, bytes),
        gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(BATCH, KEYS, SIZE), value, sizeof value),
        mask};
    tensor *slope =
        gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(BATCH, count, SIZE), slopes, bytes);
    for (size_t i = 0; i < WEIGHTS; ++i)
        of[i] = (gantry_source_t){.variable = gantry_model_variable(model, i, NULL)};
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    tensor *y = gantry_model_call(model, s, inputs, mask ? 3 : 2, false);
    if (gantry_tape_gradient(tape, y, slope, of, WEIGHTS, NULL, gradients) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
    gantry_tape_end(tape);
    must(gantry_tensor_read(y, some, bytes));
    for (int64_t b = 0; b < BATCH; ++b)
        memcpy(out->outputs + b * all + first * SIZE, some + b * each, (size_t)each * sizeof *some);
    for (size_t i = 0; i < WEIGHTS; ++i) {
        double read[MOST];
        must(gantry_tensor_read(gradients[i], read, gantry_tensor_bytes(gradients[i])));
        for (int64_t k = 0; k < gantry_tensor_elements(gradients[i]); ++k)
            out->slopes[i][k] += read[k];
    }
    expect_ended_well(s);
}

/* By a model whose one mask says what is seen, half of the queries at a time, so that all scores
 * are in memory. */
static void take_halves(const gantry_layer_t *layer, gantry_model_t *model, taken_t *out) {
    enum { HALF = QUERIES / 2 };
    static bool half[BATCH * HEADS * HALF * KEYS];
    for (int64_t first = 0; first < QUERIES; first += HALF) {
        gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
        for (int64_t head = 0; head < BATCH * HEADS; ++head)
            memcpy(half + head * HALF * KEYS, seen + (head * QUERIES + first) * KEYS, HALF * KEYS);
        take(model, first, HALF,
             gantry_constant(s, GANTRY_BOOL, GANTRY_SHAPE(BATCH, HEADS, HALF, KEYS), half,
                             sizeof half),
             out);
        expect_ended_well(s);
        assert_string_equal(gantry_attention_why_scores(layer),
                            "a head has fewer than 262,144 scores");
    }
}

static void expect_near(const double *got, const double *wanted, size_t count, const char *what,
                        size_t at) {
    double most = 1;
    for (size_t i = 0; i < count; ++i) most = fmax(most, fabs(wanted[i]));
    for (size_t i = 0; i < count; ++i)
        if (!(fabs(got[i] - wanted[i]) <= 1e-12 * most))
            fail_msg("case %zu: %s %zu is %g, wanted %g", at, what, i, got[i], wanted[i]);
}

static void check_case(const long_case_t *c, size_t at) {
    static taken_t wanted, got;
    const long_case_t explicit = {.given = OF_HEADS, .dropout = c->dropout};
    gantry_layer_t *layer, *plain;
    memset(&wanted, 0, sizeof wanted);
    memset(&got, 0, sizeof got);
    fill_rows(c, true, QUERIES, query);
    fill_rows(c, false, KEYS, value);
    const gantry_shape_t shape = fill_masks(c);
    gantry_model_t *model = make_model(c, GANTRY_INT32, &layer),
                   *reference = make_model(&explicit, GANTRY_BOOL, &plain);
    copy_weights(model, reference);
    gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
    take(model, 0, QUERIES,
         c->given ? gantry_constant(s, GANTRY_INT32, shape, given,
                                    (size_t)gantry_shape_elements(&shape) * sizeof *given)
                  : NULL,
         &got);
    expect_ended_well(s);
    assert_null(gantry_attention_why_scores(layer));
    take_halves(plain, reference, &wanted);
    expect_near(got.outputs, wanted.outputs, BATCH * QUERIES * SIZE, "output", at);
    for (size_t i = 0; i < WEIGHTS; ++i)
        expect_near(got.slopes[i], wanted.slopes[i], MOST, "gradient", at);
    gantry_model_release(model);
    gantry_model_release(reference);
}

TEST(long_sequences_have_the_numbers_of_all_scores) {
    static const long_case_t cases[] = {
        {.is_causal = true},
        {.masks_query = true},
        {.masks_value = true},
        {.masks_query = true, .masks_value = true, .is_causal = true},
        {.masks_query = true, .masks_value = true, .dropout = 0.25},
        {.masks_value = true, .dropout = 0.25, .is_causal = true},
        {.given = OF_BOTH},
        {.given = OF_HEADS, .masks_value = true, .is_causal = true},
        {.given = OF_QUERIES, .masks_query = true},
        {.given = OF_KEYS, .masks_value = true, .is_causal = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) check_case(&cases[i], i);
}

/* ---- reasons ---- */

static void call_zeros(gantry_model_t *model, int64_t length, bool training) {
    gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
    tensor *x = gantry_zeros(s, GANTRY_FLOAT64, GANTRY_SHAPE(1, length, SIZE));
    if (!gantry_model_call(model, s, &x, 1, training)) fail_msg("%s", gantry_scope_message(s));
    expect_ended_well(s);
}

static gantry_model_t *make_one(gantry_layer_t *layer) {
    gantry_model_t *model =
        gantry_sequential(fixture.runtime, &(gantry_model_options_t){.dtype = GANTRY_FLOAT64});
    must(gantry_model_add(model, gantry_masking_layer(0, NULL)));
    must(gantry_model_add(model, layer));
    must(gantry_model_build(model, GANTRY_FLOAT64, GANTRY_SHAPE(-1, SIZE)));
    return model;
}

TEST(reasons_name_what_needs_the_scores) {
    const gantry_attention_options_t dropping = {.dropout = 0.5};
    gantry_layer_t *layer = gantry_multi_head_attention(1, 2, &dropping),
                   *large = gantry_multi_head_attention(1, 1025, NULL),
                   *dense = gantry_dense(1, GANTRY_LINEAR, NULL);
    assert_null(gantry_attention_why_scores(layer));
    gantry_model_t *model = make_one(layer), *wide = make_one(large);
    call_zeros(model, QUERIES, true);
    assert_string_equal(gantry_attention_why_scores(layer), "dropout takes weights away from keys");
    call_zeros(model, QUERIES, false);
    assert_null(gantry_attention_why_scores(layer));
    call_zeros(model, QUERIES - 1, false);
    assert_string_equal(gantry_attention_why_scores(layer), "a head has fewer than 262,144 scores");
    call_zeros(model, 1, false);
    assert_string_equal(gantry_attention_why_scores(layer), "a head has fewer than 262,144 scores");
    call_zeros(wide, QUERIES, false);
    assert_string_equal(gantry_attention_why_scores(large), "a head has more than 1,024 elements");
    assert_null(gantry_attention_why_scores(dense));
    assert_null(gantry_attention_why_scores(NULL));
    gantry_layer_release(dense);
    gantry_model_release(model);
    gantry_model_release(wide);
}

TEST(blind_rows_raise_no_alarm) {
    gantry_model_t *model =
        make_one(gantry_multi_head_attention(1, 2, &(gantry_attention_options_t){.causal = true}));
    gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
    fill_rows(&(long_case_t){.masks_value = true}, false, QUERIES, value);
    tensor *x = gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(BATCH, QUERIES, SIZE), value,
                                BATCH * QUERIES * SIZE * sizeof *value);
    gantry_numerics_t *numerics = gantry_check_numerics_begin(s);
    if (!gantry_model_call(model, s, &x, 1, false)) fail_msg("%s", gantry_scope_message(s));
    gantry_check_numerics_end(numerics);
    expect_ended_well(s);
    gantry_model_release(model);
}

/* ---- memory ---- */

static uint64_t peak_of(gantry_model_t *model, int64_t length) {
    gantry_scope_t *s = runtime_fixture_scope(&fixture, "CPU:0");
    gantry_source_t of = {.variable = gantry_model_variable(model, 0, NULL)};
    gantry_memory_info_t info = {.struct_size = sizeof info};
    tensor *x = gantry_ones(s, GANTRY_FLOAT64, GANTRY_SHAPE(1, length, SIZE)), *gradient = NULL;
    must(gantry_reset_memory_stats(fixture.runtime, "CPU:0"));
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    tensor *y = gantry_model_call(model, s, &x, 1, true);
    if (gantry_tape_gradient(tape, y, NULL, &of, 1, NULL, &gradient) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
    gantry_tape_end(tape);
    must(gantry_tensor_wait(gradient));
    must(gantry_get_memory_info(fixture.runtime, "CPU:0", &info));
    expect_ended_well(s);
    return info.peak_bytes;
}

TEST(memory_with_masks_grows_with_the_length) {
    gantry_model_t *model =
        make_one(gantry_multi_head_attention(4, 4, &(gantry_attention_options_t){.causal = true}));
    const uint64_t one = peak_of(model, 1024), two = peak_of(model, 2048);
    if (two * 10 > one * 22)
        fail_msg("%llu bytes for 1,024 steps, %llu for 2,048", (unsigned long long)one,
                 (unsigned long long)two);
    gantry_model_release(model);
}

int main(void) { return test_main_each(set_up, tear_down); }
