/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Attention of n queries and n keys takes at most 1.1 times the memory of its inputs and
 * outputs, on the CPU with two threads from 2,048 steps and 8 heads of 64 on.
 * Promise: Attention has the same bits from run to run, with any number of threads, and in a
 * function whose lengths are open.
 * Promise: Steps one by one, with a past of keys and values, give the rows of causal attention.
 * Promise: A row whose keys are all masked gives zeros, and -infinity as its log_sum_exp.
 * Promise: A softcap that the type of the scores has as 0, as an infinity or as a denormal number
 * is refused, so that no device takes another one.
 * Promise: RMSNorm, and InstanceNorm with its channels second, are one kernel in a function. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "function_fixture.h"
#include "test.h"

#include "function/call/function.h"
#include "planned.h"

typedef const gantry_tensor_t tensor;

enum { HEADS = 2, STEPS = 70, DIM = 8, ELEMENTS = HEADS * STEPS * DIM };

static const gantry_attr_value_t causal = {.name = "is_causal", .kind = GANTRY_ATTR_BOOL, .i = 1};

static tensor *numbers(gantry_scope_t *s, gantry_shape_t shape, uint32_t seed) {
    const size_t count = (size_t)gantry_shape_elements(&shape);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 16) / 32768.0F - 1.0F;
    }
    tensor *made = gantry_constant(s, GANTRY_FLOAT32, shape, values, count * sizeof *values);
    free(values);
    return made;
}

static void attend(gantry_scope_t *s, tensor *const *inputs, size_t count,
                   const gantry_attr_value_t *attr, tensor *outputs[4]) {
    size_t output_count = 4;
    if (gantry_op_call(s, "ScaledDotProductAttention", inputs, count, attr, attr ? 1 : 0, outputs,
                       &output_count) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
}

static void make_three(gantry_scope_t *s, tensor *out[3]) {
    for (uint32_t i = 0; i < 3; ++i) out[i] = numbers(s, GANTRY_SHAPE(1, HEADS, STEPS, DIM), i);
}

TEST(memory_is_that_of_inputs_and_outputs) {
    const gantry_shape_t shape = GANTRY_SHAPE(1, 8, 2048, 64);
    const uint64_t four = 4 * 8 * 2048 * 64 * sizeof(float);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *inputs[3], *outputs[4];
    for (uint32_t i = 0; i < 3; ++i) inputs[i] = numbers(s, shape, i);
    assert_int_equal(gantry_reset_memory_stats(f.runtime, "CPU:0"), GANTRY_OK);
    attend(s, inputs, 3, &causal, outputs);
    assert_int_equal(gantry_tensor_wait(outputs[0]), GANTRY_OK);
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f.runtime, "CPU:0", &info), GANTRY_OK);
    assert_in_range(info.peak_bytes, four, four + four / 10);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

static void attend_with_threads(int32_t threads, float *out) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.cpu_threads = (int32_t)threads;
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *inputs[3], *outputs[4];
    make_three(s, inputs);
    for (int round = 0; round < 2; ++round) {
        float again[ELEMENTS];
        attend(s, inputs, 3, &causal, outputs);
        assert_int_equal(gantry_tensor_read(outputs[0], round ? again : out, sizeof again),
                         GANTRY_OK);
        if (round) assert_memory_equal(again, out, sizeof again);
    }
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(threads_do_not_change_the_bits) {
    static float one[ELEMENTS], three[ELEMENTS];
    attend_with_threads(1, one);
    attend_with_threads(3, three);
    assert_memory_equal(one, three, sizeof one);
}

static void attending(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *all[4];
    (void)user;
    attend(s, inputs, 3, &causal, all);
    outputs[0] = all[0];
}

TEST(open_lengths_give_the_eager_bits) {
    const gantry_input_spec_t open = SPEC_F32(-1, HEADS, -1, DIM), inputs[] = {open, open, open};
    float expected[ELEMENTS], got[ELEMENTS];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    gantry_function_t *function =
        function_fixture_trace(f.runtime, attending, NULL, inputs, 3, 1, NULL);
    tensor *given[3], *all[4], *out;
    make_three(s, given);
    attend(s, given, 3, &causal, all);
    function_fixture_call(s, function, given, 3, &out, 1);
    assert_int_equal(gantry_tensor_read(all[0], expected, sizeof expected), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(out, got, sizeof got), GANTRY_OK);
    assert_memory_equal(got, expected, sizeof got);
    gantry_function_release(function);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(steps_with_a_past_give_the_rows_of_the_whole) {
    float whole[ELEMENTS], row[HEADS * DIM];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *x[3], *all[4], *past[2] = {NULL};
    make_three(s, x);
    attend(s, x, 3, &causal, all);
    assert_int_equal(gantry_tensor_read(all[0], whole, sizeof whole), GANTRY_OK);
    for (int64_t step = 0; step < STEPS; ++step) {
        const int64_t begin[] = {0, 0, step, 0}, size[] = {1, HEADS, 1, DIM};
        tensor *inputs[6], *outputs[4];
        for (int i = 0; i < 3; ++i) inputs[i] = gantry_slice(s, x[i], begin, size);
        inputs[3] = gantry_constant(s, GANTRY_BOOL, (gantry_shape_t){0}, &(bool){true}, 1);
        inputs[4] = past[0];
        inputs[5] = past[1];
        attend(s, inputs, step ? 6 : 3, &causal, outputs);
        past[0] = outputs[1];
        past[1] = outputs[2];
        assert_int_equal(gantry_tensor_read(outputs[0], row, sizeof row), GANTRY_OK);
        for (int64_t h = 0; h < HEADS; ++h)
            for (int64_t d = 0; d < DIM; ++d)
                assert_true(fabsf(row[h * DIM + d] - whole[(h * STEPS + step) * DIM + d]) < 1e-6F);
    }
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(rows_without_keys_are_zeros) {
    static const bool seen[STEPS] = {[3] = true};
    float got[ELEMENTS], sums[HEADS * STEPS];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *inputs[4], *outputs[4];
    make_three(s, inputs);
    inputs[3] = gantry_constant(s, GANTRY_BOOL, GANTRY_SHAPE(STEPS, 1), seen, sizeof seen);
    attend(s, inputs, 4, NULL, outputs);
    assert_int_equal(gantry_tensor_read(outputs[0], got, sizeof got), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(outputs[3], sums, sizeof sums), GANTRY_OK);
    for (int i = 0; i < HEADS * STEPS; ++i) {
        assert_true((sums[i] == -INFINITY) == (i % STEPS != 3));
        for (int d = 0; d < DIM; ++d)
            assert_true((fabsf(got[i * DIM + d]) > 0) == (i % STEPS == 3));
    }
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

static void expect_softcap(gantry_dtype_t dtype, double softcap, bool is_accepted) {
    const gantry_attr_value_t cap = {.name = "softcap", .kind = GANTRY_ATTR_FLOAT, .f = softcap};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *x = gantry_ones(s, dtype, GANTRY_SHAPE(1, 1, 2, 2)), *inputs[] = {x, x, x}, *y[4];
    size_t count = 4;
    const gantry_status_t status =
        gantry_op_call(s, "ScaledDotProductAttention", inputs, 3, &cap, 1, y, &count);
    if ((status == GANTRY_OK) != is_accepted) fail_msg("%g: %d", softcap, (int)status);
    if (!is_accepted && !strstr(gantry_scope_message(s), "; a finite number above 0 is accepted"))
        fail_msg("%s", gantry_scope_message(s));
    (void)gantry_scope_end(s);
    runtime_fixture_close(&f);
}

TEST(softcaps_that_scores_do_not_have_are_refused) {
    static const double cases[] = {1e-60, 1e-39, 1e60};
    for (size_t i = 0; i < 3; ++i) {
        expect_softcap(GANTRY_FLOAT32, cases[i], false);
        expect_softcap(GANTRY_BFLOAT16, cases[i], false);
        expect_softcap(GANTRY_FLOAT64, cases[i], true);
    }
    expect_softcap(GANTRY_FLOAT32, 1.2e-38, true);
    expect_softcap(GANTRY_FLOAT64, NAN, false);
    expect_softcap(GANTRY_FLOAT64, INFINITY, false);
}

/* ---- one kernel ---- */

typedef struct norm_case_t {
    const char *op;
    size_t inputs;
    gantry_attr_value_t attr;
} norm_case_t;

static void norming(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    const norm_case_t *c = user;
    size_t count = 1;
    if (gantry_op_call(s, c->op, inputs, c->inputs, &c->attr, 1, outputs, &count) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
}

TEST(norms_are_one_kernel) {
    const norm_case_t cases[] = {
        {"RMSNorm", 2, {.name = "epsilon", .kind = GANTRY_ATTR_FLOAT, .f = 0.5}},
        {"InstanceNorm", 3, {.name = "data_format", .kind = GANTRY_ATTR_STRING, .s = "NCHW"}}};
    const gantry_input_spec_t specs[][3] = {{SPEC_F32(64, 96), SPEC_F32(96)},
                                            {SPEC_F32(4, 16, 96), SPEC_F32(16), SPEC_F32(16)}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < 2; ++i) {
        gantry_function_t *function = function_fixture_trace(
            f.runtime, norming, (void *)(uintptr_t)&cases[i], specs[i], cases[i].inputs, 1, NULL);
        const gantry__graph_t *graph = &planned(function)->graph;
        size_t ops = 0;
        for (size_t k = 0; k < graph->node_count; ++k)
            ops += graph->nodes[k].kind == GANTRY__NODE_OP &&
                   strcmp(graph->nodes[k].op->name, "Reshape") != 0;
        if (ops != 1) fail_msg("%s: %zu ops", cases[i].op, ops);
        gantry_function_release(function);
    }
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
