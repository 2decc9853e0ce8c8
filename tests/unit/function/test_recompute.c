/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A memory budget that no order of a function's ops meets is met by computing cheap values
 * again where they are used late.
 * Promise: Under a memory budget, an order of ops that takes more memory than the order of the body
 * is never chosen.
 *
 * The bits are those of the body, and the explanation names these nodes. Costly ops are not
 * computed again. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "json_reader.h"
#include "test.h"

#include "function/call/function.h"
#include "planned.h"

enum { SIDE = 128, DEPTH = 4 };
#define ONE ((uint64_t)SIDE * SIDE * sizeof(float))

typedef const gantry_tensor_t *(*first_fn)(gantry_scope_t *scope, const gantry_tensor_t *x);

static const gantry_tensor_t *cheap(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_tanh(scope, x);
}

/* The row takes few bytes, and makes the matrix again. */
static const gantry_tensor_t *of_a_row(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const int32_t rows = 0;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &rows, .axis_count = 1};
    const gantry_tensor_t *row = gantry_mean(scope, x, &options);
    return gantry_add(scope, row, gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE)));
}

static const gantry_tensor_t *costly(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_matmul(scope, x, x, NULL);
}

/* The first value is used at once and, beside products of products, at the end. */
static void skipping(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    first_fn first;
    memcpy(&first, user, sizeof first);
    (void)gantry_scope_name_next(scope, "skip");
    const gantry_tensor_t *skip = first(scope, inputs[0]), *last = skip;
    for (int i = 0; i < DEPTH; ++i) last = gantry_matmul(scope, last, inputs[1], NULL);
    outputs[0] = gantry_add(scope, last, skip);
}

static gantry_status_t try_skipping(runtime_fixture_t *f, first_fn first, uint64_t budget,
                                    gantry_function_t **out_function) {
    static first_fn kept;
    const gantry_input_spec_t inputs[2] = {SPEC_F32(SIDE, SIDE), SPEC_F32(SIDE, SIDE)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .memory_budget_bytes = budget};
    kept = first;
    return gantry_function_trace(f->runtime, "f", skipping, &kept, inputs, 2, 1, &options,
                                 out_function);
}

static uint64_t bytes_of(gantry_function_t *function) {
    gantry_function_memory_t memory = {.struct_size = sizeof memory};
    size_t count;
    assert_int_equal(gantry_function_get_memory(function, 1, &memory, &count), GANTRY_OK);
    return memory.planned_bytes + memory.result_bytes;
}

static void read_result(gantry_scope_t *scope, gantry_function_t *function, float *out) {
    const gantry_tensor_t *const row =
        gantry_lin_space(scope, gantry_scalar_f32(scope, -2), gantry_scalar_f32(scope, 2), SIDE);
    const gantry_tensor_t *const inputs[2] = {
        gantry_add(scope, row, gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE))),
        gantry_mul(scope, row, gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE)))};
    const gantry_tensor_t *result;
    function_fixture_call(scope, function, inputs, 2, &result, 1);
    assert_int_equal(gantry_tensor_read(result, out, ONE), GANTRY_OK);
}

static void expect_same_bits(runtime_fixture_t *f, gantry_function_t *a, gantry_function_t *b) {
    static float of_a[SIDE * SIDE], of_b[SIDE * SIDE];
    gantry_scope_t *scope = runtime_fixture_scope(f, NULL);
    read_result(scope, a, of_a);
    read_result(scope, b, of_b);
    assert_memory_equal(of_a, of_b, ONE);
    expect_ended_well(scope);
}

static void expect_explained(gantry_function_t *function, gantry_explain_form_t form,
                             const char *expected) {
    static char text[16384];
    assert_int_equal(gantry_function_explain(function, form, text, sizeof text, NULL), GANTRY_OK);
    if (form == GANTRY_EXPLAIN_JSON) assert_true(json_is_valid(text));
    if (!strstr(text, expected)) fail_msg("no \"%s\" in: %s", expected, text);
}

static uint32_t count_recomputed(gantry_function_t *function) {
    const gantry__graph_t *graph = &planned(function)->graph;
    uint32_t count = 0;
    for (size_t i = 0; i < graph->node_count; ++i) count += graph->nodes[i].recomputes != NULL;
    return count;
}

/* ---- tests ---- */

/* Beside the result: the value and two products; computed again, two products. */
TEST(a_long_skip_connection_fits_if_it_is_computed_again) {
    runtime_fixture_t f;
    gantry_function_t *all, *fitting;
    runtime_fixture_open(&f, 0);
    assert_int_equal(try_skipping(&f, cheap, 0, &all), GANTRY_OK);
    assert_int_equal(bytes_of(all), 4 * ONE);
    if (try_skipping(&f, cheap, 3 * ONE, &fitting) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(bytes_of(fitting), 3 * ONE);
    assert_int_equal(count_recomputed(all), 0);
    assert_int_equal(count_recomputed(fitting), 1);
    expect_same_bits(&f, all, fitting);
    expect_explained(fitting, GANTRY_EXPLAIN_TEXT,
                     "    recomputed: skip again, for the memory budget\n");
    expect_explained(fitting, GANTRY_EXPLAIN_TEXT, "skip/again_");
    expect_explained(fitting, GANTRY_EXPLAIN_JSON, "\"recomputes\":\"skip\"");
    gantry_function_release(all);
    gantry_function_release(fitting);
    runtime_fixture_close(&f);
}

TEST(nothing_is_computed_again_without_need) {
    runtime_fixture_t f;
    gantry_function_t *function;
    runtime_fixture_open(&f, 0);
    assert_int_equal(try_skipping(&f, cheap, 4 * ONE, &function), GANTRY_OK);
    assert_int_equal(count_recomputed(function), 0);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(a_small_input_is_held_for_it) {
    runtime_fixture_t f;
    gantry_function_t *all, *fitting;
    runtime_fixture_open(&f, 0);
    assert_int_equal(try_skipping(&f, of_a_row, 0, &all), GANTRY_OK);
    if (try_skipping(&f, of_a_row, 3 * ONE + 4096, &fitting) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_true(bytes_of(all) >= 4 * ONE);
    assert_int_equal(count_recomputed(fitting), 1);
    expect_same_bits(&f, all, fitting);
    gantry_function_release(all);
    gantry_function_release(fitting);
    runtime_fixture_close(&f);
}

TEST(products_are_not_computed_again) {
    runtime_fixture_t f;
    gantry_function_t *none;
    runtime_fixture_open(&f, 0);
    expect_refusal(try_skipping(&f, costly, 3 * ONE, &none), GANTRY_RESOURCE_EXHAUSTED,
                   "a call takes 262144 bytes on /job:localhost/replica:0/task:0/device:CPU:0 in "
                   "the body's order, and 262144 in the best order that was found; "
                   "memory_budget_bytes is 196608");
    runtime_fixture_close(&f);
}

TEST(a_budget_that_is_too_small_is_refused_with_the_numbers) {
    runtime_fixture_t f;
    gantry_function_t *none;
    runtime_fixture_open(&f, 0);
    expect_refusal(try_skipping(&f, cheap, 2 * ONE, &none), GANTRY_RESOURCE_EXHAUSTED,
                   "and 196608 in the best order that was found, with 1 node computed again; "
                   "memory_budget_bytes is 131072");
    runtime_fixture_close(&f);
}

static gantry_status_t trace_in_budget(gantry_scope_t *scope) {
    static first_fn first = cheap;
    const gantry_input_spec_t inputs[2] = {SPEC_F32(SIDE, SIDE), SPEC_F32(SIDE, SIDE)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .memory_budget_bytes = 3 * ONE};
    gantry_function_t *function;
    const gantry_status_t status = gantry_function_trace(gantry_scope_runtime(scope), "f", skipping,
                                                         &first, inputs, 2, 1, &options, &function);
    gantry_function_release(function);
    return status;
}

TEST(without_memory_it_fails_and_leaks_nothing) {
    runtime_fixture_starve_each(0, NULL, trace_in_budget);
}

/* ---- order ---- */

enum { PARTS = 8 };

/* The last product is used first: no product need be there before its use. */
static void products_backwards(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *parts[PARTS];
    (void)user;
    for (int i = 0; i < PARTS; ++i)
        parts[i] =
            gantry_softmax(scope, gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, (float)i)));
    outputs[0] = parts[PARTS - 1];
    for (int i = PARTS - 2; i >= 0; --i)
        outputs[0] =
            gantry_matmul(scope, parts[i], gantry_matmul(scope, outputs[0], inputs[1], NULL), NULL);
}

TEST(values_are_made_when_they_are_needed) {
    const gantry_input_spec_t inputs[2] = {SPEC_F32(SIDE, SIDE), SPEC_F32(SIDE, SIDE)};
    gantry_function_options_t options = {.struct_size = sizeof options};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *free_order =
        function_fixture_trace(f.runtime, products_backwards, NULL, inputs, 2, 1, &options);
    assert_true(bytes_of(free_order) >= PARTS * ONE);
    options.memory_budget_bytes = 4 * ONE;
    gantry_function_t *function =
        function_fixture_trace(f.runtime, products_backwards, NULL, inputs, 2, 1, &options);
    assert_true(bytes_of(function) <= 4 * ONE);
    expect_same_bits(&f, free_order, function);
    gantry_function_release(function);
    gantry_function_release(free_order);
    runtime_fixture_close(&f);
}

enum { NARROW = 16, WIDE = 2 * SIDE };

/* Each chain widens a narrow value and sums it up. To begin all chains adds least at each step, and
 * takes more in the end than one chain after the other. */
static void chains(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *skip = gantry_tanh(scope, inputs[0]), *sum = NULL;
    (void)user;
    for (int i = 0; i < PARTS; ++i) {
        const gantry_tensor_t *narrow =
            gantry_matmul(scope, i == 0 ? skip : inputs[0], inputs[1], NULL);
        const gantry_tensor_t *wide = gantry_matmul(scope, narrow, inputs[2], NULL);
        const gantry_tensor_t *part = gantry_matmul(scope, wide, inputs[3], NULL);
        sum = sum ? gantry_add(scope, sum, part) : part;
    }
    outputs[0] = gantry_add(scope, sum, skip);
}

static gantry_function_t *try_chains(gantry_runtime_t *runtime, uint64_t budget) {
    const gantry_input_spec_t inputs[] = {SPEC_F32(SIDE, SIDE), SPEC_F32(SIDE, NARROW),
                                          SPEC_F32(NARROW, WIDE), SPEC_F32(WIDE, 1)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .memory_budget_bytes = budget,
                                               .passes_off = GANTRY_PASS_COMMON_SUBEXPRESSIONS};
    gantry_function_t *function = NULL;
    (void)gantry_function_trace(runtime, "f", chains, NULL, inputs, 4, 1, &options, &function);
    return function;
}

static gantry_status_t trace_chains(gantry_scope_t *scope) {
    gantry_function_t *function = try_chains(gantry_scope_runtime(scope), 209 * 1024);
    gantry_function_release(function);
    return function ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

TEST(without_memory_the_bodys_order_comes_back) {
    runtime_fixture_starve_each(0, NULL, trace_chains);
}

TEST(a_worse_order_than_the_bodys_is_not_taken) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *all = try_chains(f.runtime, 0);
    assert_non_null(all);
    const uint64_t first = bytes_of(all);
    gantry_function_t *fitting =
        try_chains(f.runtime, first - ONE + 4096); /* without the skipped value */
    if (!fitting) fail_msg("%s", gantry_last_message());
    assert_true(bytes_of(fitting) <= first - ONE + 4096);
    assert_int_equal(count_recomputed(fitting), 1);
    assert_null(try_chains(f.runtime, 1));
    unsigned long long of_body, of_best;
    const char *numbers = strstr(gantry_last_message(), "takes ");
    assert_non_null(numbers);
    assert_int_equal(sscanf(numbers, "takes %llu", &of_body), 1);
    numbers = strstr(numbers, "order, and ");
    assert_non_null(numbers);
    assert_int_equal(sscanf(numbers, "order, and %llu", &of_best), 1);
    assert_int_equal(of_body, first);
    assert_true(of_best < of_body);
    gantry_function_release(all);
    gantry_function_release(fitting);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
