/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Random nets over images whose channels come first have the same bits with the layout
 * pass and without, on the CPU and a fake GPU.
 * Promise: Convolutions with bias and Relu, channels first, are one fused node each, without a
 * transpose between them; a channel shuffle is one transpose.
 * Promise: On the CPU no transpose precedes convolutions that only read images of at most 4
 * channels, and none follows a convolution whose result only it would take.
 * Promise: The explanation of a function names the transposes that cancel; graphs without a
 * convolution or a pool, and nodes that other nodes wait for, keep theirs.
 * Promise: On the CPU, a depthwise convolution of float32 with few channels stays as the body has
 * it where it would need a transpose; between convolutions it goes along.
 * Promise: On the CPU, pools of 16 or more places in a row that no convolution surrounds read and
 * write channels first, without a transpose.
 * Promise: A memory budget that a function meets only without the layout pass is met without it, as
 * the explanation says.
 * Promise: Between convolutions, an op may have a scalar as its first operand, and a Roll any
 * number of shifts. */
#define _XOPEN_SOURCE 700

#include "planes_case.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

static uint64_t first = 1, count = FEWER_FOR_SANITIZERS(200, 20);

static void check_nets(uint32_t gpus, uint64_t nets) {
    runtime_fixture_t f;
    uint32_t with = 0, without = 0;
    runtime_fixture_open(&f, gpus);
    for (uint64_t seed = first; seed < first + nets; ++seed) {
        images_net_t net = {.seed = seed};
        images_check(f.runtime, NULL, &net, &with, &without);
    }
    print_message("%u transposes, %u without the pass\n", with, without);
    assert_true(with * 5 < without * 4);
    runtime_fixture_close(&f);
}

TEST(random_nets_have_the_same_bits_on_the_cpu) { check_nets(0, count); }

TEST(random_nets_have_the_same_bits_across_devices) { check_nets(1, count / 4); }

/* ---- what is left of a body ---- */

typedef void steps_fn(images_net_t *net, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs);

static void run_steps(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    images_net_t net = {.state = 5, .scope = scope};
    (*(steps_fn **)user)(&net, inputs, outputs);
}

static gantry_function_t *trace_steps(gantry_runtime_t *runtime, steps_fn **steps,
                                      gantry_shape_t shape, uint32_t passes_off) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, shape};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "f", run_steps, steps, &input, 1, 1, &options, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

/* How many nodes of each op a function of the steps has, whose bits are those without the pass. */
static void expect_counts(steps_fn *steps, gantry_shape_t shape, uint32_t without,
                          const char *const *ops, const uint32_t *counts, uint32_t op_count) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *made[2] = {trace_steps(f.runtime, &steps, shape, 0),
                                  trace_steps(f.runtime, &steps, shape, GANTRY_PASS_LAYOUT)};
    images_net_t numbers = {.state = 9, .scope = scope};
    const gantry_tensor_t *x = images_numbers(&numbers, shape);
    float results[2][4096];
    for (uint32_t k = 0; k < 2; ++k) {
        const gantry_tensor_t *y;
        assert_int_equal(gantry_function_call(scope, made[k], &x, 1, &y, 1), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(y, results[k], gantry_tensor_bytes(y)), GANTRY_OK);
        if (k == 0) memset(results[1], 0, sizeof results[1]);
        if (k == 1) assert_memory_equal(results[0], results[1], gantry_tensor_bytes(y));
    }
    for (uint32_t i = 0; i < op_count; ++i) {
        const uint32_t is = images_count(made[0], ops[i]);
        if (is != counts[i]) fail_msg("%u nodes are %s, not %u", is, ops[i], counts[i]);
    }
    assert_int_equal(images_count(made[1], "Transpose"), without);
    for (uint32_t k = 0; k < 2; ++k) gantry_function_release(made[k]);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static const gantry_tensor_t *convolve(images_net_t *net, const gantry_tensor_t *x, int64_t size,
                                       int64_t outputs, int64_t groups) {
    const gantry_window_options_t options = {.struct_size = sizeof options, .channels_first = true};
    const int64_t channels = gantry_tensor_shape(x)->dims[1] / groups;
    return images_bias(
        net,
        gantry_conv2d(net->scope, x,
                      images_numbers(net, GANTRY_SHAPE(size, size, channels, outputs)), &options));
}

static void two_convolutions(images_net_t *net, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = gantry_relu(net->scope, convolve(net, inputs[0], 3, 8, 1));
    outputs[0] = gantry_relu(net->scope, convolve(net, x, 3, 6, 1));
}

/* The first one reads its images of 4 channels as they are, the last one writes as wanted. */
TEST(two_convolutions_are_no_transpose) {
    static const char *const ops[] = {"Transpose", "_FusedConvolveImages", "BiasAdd", "Relu"};
    static const uint32_t counts[] = {0, 2, 0, 0};
    expect_counts(two_convolutions, GANTRY_SHAPE(2, 4, 6, 5), 4, ops, counts, 4);
}

TEST(images_of_five_channels_are_transposed) {
    static const char *const ops[] = {"Transpose", "_FusedConvolveImages"};
    static const uint32_t counts[] = {1, 2};
    expect_counts(two_convolutions, GANTRY_SHAPE(2, 5, 6, 5), 4, ops, counts, 2);
}

/* A Softmax needs the channels last, so that the convolution takes them so, too. */
static void read_twice(images_net_t *net, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs) {
    static const int32_t last[] = {0, 2, 3, 1}, first_again[] = {0, 3, 1, 2};
    const gantry_tensor_t *turned = gantry_transpose(net->scope, inputs[0], last), *x;
    const gantry_window_options_t options = {.struct_size = sizeof options};
    x = gantry_conv2d(net->scope, turned, images_numbers(net, GANTRY_SHAPE(3, 3, 4, 4)), &options);
    x = gantry_add(net->scope, x, gantry_softmax(net->scope, turned));
    outputs[0] = gantry_transpose(net->scope, x, first_again);
}

TEST(images_that_others_read_too_are_transposed) {
    static const char *const ops[] = {"Transpose", "_FusedConvolveImages"};
    static const uint32_t counts[] = {1, 1};
    expect_counts(read_twice, GANTRY_SHAPE(2, 4, 6, 5), 2, ops, counts, 2);
}

/* The caller has channels last. */
static void turned(images_net_t *net, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = images_turn(net, inputs[0], 0, 3, 1, 2);
    two_convolutions(net, &x, outputs);
    outputs[0] = images_turn(net, outputs[0], 0, 2, 3, 1);
}

TEST(convolutions_between_transposes_are_none) {
    static const char *const ops[] = {"Transpose", "_FusedConvolveImages"};
    static const uint32_t counts[] = {0, 2};
    expect_counts(turned, GANTRY_SHAPE(2, 6, 5, 4), 6, ops, counts, 2);
}

static void squeeze_and_excite(images_net_t *net, const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs) {
    const gantry_reduce_options_t over = {.struct_size = sizeof over,
                                          .axes = (const int32_t[]){2, 3},
                                          .axis_count = 2,
                                          .keep_dims = true};
    const gantry_tensor_t *x = gantry_relu(net->scope, convolve(net, inputs[0], 3, 8, 1));
    const gantry_tensor_t *mean = gantry_mean(net->scope, x, &over);
    mean = gantry_sigmoid(net->scope, convolve(net, mean, 1, 8, 1));
    x = gantry_mul(net->scope, x, mean);
    x = gantry_concat(net->scope, (const gantry_tensor_t *const[]){x, inputs[0]}, 2, 1);
    x = gantry_pad(net->scope, images_depthwise(net, x), (const int64_t[]){0, 0, 0, 0, 1, 0, 0, 1},
                   NULL);
    outputs[0] = gantry_mean(net->scope, images_pool(net, convolve(net, x, 3, 4, 1)),
                             &(gantry_reduce_options_t){.axes = over.axes, .axis_count = 2});
}

TEST(reductions_concats_pads_and_pools_go_along) {
    static const char *const ops[] = {"Transpose"};
    static const uint32_t counts[] = {1};
    expect_counts(squeeze_and_excite, GANTRY_SHAPE(2, 4, 6, 5), 6, ops, counts, 1);
}

static void shuffled(images_net_t *net, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = gantry_relu(net->scope, convolve(net, inputs[0], 3, 8, 1));
    for (int i = 0; i < 2; ++i) {
        const gantry_tensor_t *y = gantry_relu(net->scope, convolve(net, x, 3, 8, 1));
        y = images_bias(net, images_depthwise(net, images_shuffle(net, y)));
        x = gantry_relu(net->scope, gantry_add(net->scope, x, convolve(net, y, 3, 8, 1)));
    }
    outputs[0] = x;
}

/* Two units of a ShuffleNet: grouped convolutions of pixels around a depthwise one. */
static void grouped(images_net_t *net, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = gantry_relu(net->scope, convolve(net, inputs[0], 3, 8, 1));
    for (int i = 0; i < 2; ++i) {
        const gantry_tensor_t *y = gantry_relu(net->scope, convolve(net, x, 1, 8, 2));
        y = images_bias(net, images_depthwise(net, images_shuffle(net, y)));
        x = gantry_relu(net->scope, gantry_add(net->scope, x, convolve(net, y, 1, 8, 2)));
    }
    outputs[0] = x;
}

TEST(shuffles_between_groups_are_no_transposes) {
    static const char *const ops[] = {"Transpose", "_FusedGroupedMatMul", "_FusedConvolveImages"};
    static const uint32_t counts[] = {1, 2, 1};
    expect_counts(grouped, GANTRY_SHAPE(2, 4, 6, 5), 12, ops, counts, 3);
}

TEST(a_shuffle_is_one_transpose) {
    static const char *const ops[] = {"Transpose"};
    static const uint32_t counts[] = {2};
    expect_counts(shuffled, GANTRY_SHAPE(2, 4, 6, 5), 12, ops, counts, 1);
}

/* A scalar, which has no axes, is the first operand; its op has attributes. */
static void limited(images_net_t *net, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = convolve(net, inputs[0], 3, 8, 1);
    x = gantry_maximum(net->scope, gantry_scalar_f32(net->scope, 0.25f), x);
    outputs[0] = convolve(net, x, 3, 4, 1);
}

TEST(a_scalar_as_first_operand_has_no_order) {
    static const char *const ops[] = {"Transpose"};
    static const uint32_t counts[] = {0};
    expect_counts(limited, GANTRY_SHAPE(2, 4, 6, 5), 4, ops, counts, 1);
}

/* ---- depthwise convolutions ---- */

static void depthwise_first(images_net_t *net, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = gantry_relu(net->scope, inputs[0]);
    outputs[0] = gantry_relu(net->scope, images_depthwise(net, x));
}

static void convolution_then_depthwise(images_net_t *net, const gantry_tensor_t *const *inputs,
                                       const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = gantry_relu(net->scope, convolve(net, inputs[0], 3, 8, 1));
    outputs[0] = gantry_relu(net->scope, images_depthwise(net, x));
}

static void depthwise_between(images_net_t *net, const gantry_tensor_t *const *inputs,
                              const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = gantry_relu(net->scope, convolve(net, inputs[0], 3, 8, 1));
    x = gantry_relu(net->scope, images_depthwise(net, x));
    outputs[0] = gantry_relu(net->scope, convolve(net, x, 3, 4, 1));
}

/* With many channels, two transposes take less time than the windows of planes do. */
TEST(depthwise_convolutions_of_few_channels_need_no_transpose) {
    static const char *const ops[] = {"Transpose"};
    static const uint32_t none[] = {0}, two[] = {2};
    expect_counts(depthwise_first, GANTRY_SHAPE(2, 3, 6, 5), 0, ops, none, 1);
    expect_counts(depthwise_first, GANTRY_SHAPE(1, 18, 6, 19), 0, ops, none, 1);
    expect_counts(depthwise_first, GANTRY_SHAPE(1, 18, 6, 5), 0, ops, two, 1);
    expect_counts(convolution_then_depthwise, GANTRY_SHAPE(2, 4, 12, 11), 2, ops, none, 1);
    expect_counts(depthwise_between, GANTRY_SHAPE(2, 4, 6, 5), 4, ops, none, 1);
}

/* ---- pools ---- */

static const gantry_tensor_t *pool(images_net_t *net, const gantry_tensor_t *x, bool is_mean,
                                   int64_t step) {
    const gantry_window_options_t options = {
        .struct_size = sizeof options, .strides = {step, step}, .channels_first = true};
    return is_mean ? gantry_avg_pool2d(net->scope, x, 3, 3, &options)
                   : gantry_max_pool2d(net->scope, x, 3, 3, &options);
}

static void pools_only(images_net_t *net, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = pool(net, gantry_relu(net->scope, inputs[0]), false, 2);
    outputs[0] = pool(net, gantry_neg(net->scope, x), true, 1);
}

TEST(pools_without_convolutions_need_no_transpose) {
    static const char *const ops[] = {"Transpose", "MaxPool", "AvgPool"};
    static const uint32_t counts[] = {0, 1, 1};
    expect_counts(pools_only, GANTRY_SHAPE(2, 18, 7, 40), 0, ops, counts, 3);
}

/* What is transposed is the smaller result. */
static void pool_first(images_net_t *net, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs) {
    outputs[0] = convolve(net, pool(net, inputs[0], false, 2), 3, 4, 1);
}

TEST(a_pool_before_the_first_convolution_reads_channels_first) {
    static const char *const ops[] = {"Transpose"};
    static const uint32_t none[] = {0}, one[] = {1};
    expect_counts(pool_first, GANTRY_SHAPE(2, 4, 7, 40), 2, ops, none, 1);
    expect_counts(pool_first, GANTRY_SHAPE(2, 18, 7, 40), 2, ops, one, 1);
}

/* ---- products ---- */

TEST(a_last_convolution_of_pixels_writes_channels_first) {
    static const gantry_dtype_t types[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_FLOAT32,
                                           GANTRY_FLOAT64, GANTRY_INT32,    GANTRY_INT64};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        for (uint32_t k = 0; k < 4; ++k) {
            const planes_case_t c = {.dtype = types[i],
                                     .channels = 5,
                                     .outputs = 7,
                                     .size = 1,
                                     .is_bare = k % 2,
                                     .is_single = k / 2};
            assert_int_equal(planes_check(f.runtime, "cpu:0", c), 1);
        }
    }
    runtime_fixture_close(&f);
}

/* ---- what stays ---- */

enum { ROLLS = 2 * GANTRY_MAX_RANK + 1 };

/* Roll names one axis more often than a tensor has axes. */
static void rolled(images_net_t *net, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs) {
    int64_t shifts[ROLLS];
    int32_t axes[ROLLS];
    for (int i = 0; i < ROLLS; ++i) {
        shifts[i] = 1;
        axes[i] = 1;
    }
    const gantry_tensor_t *x = convolve(net, inputs[0], 3, 8, 1);
    outputs[0] = convolve(net, gantry_roll(net->scope, x, shifts, axes, ROLLS), 3, 4, 1);
}

TEST(a_roll_of_more_shifts_than_axes_stays) {
    static const char *const ops[] = {"Transpose", "Roll"};
    static const uint32_t counts[] = {1, 1};
    expect_counts(rolled, GANTRY_SHAPE(2, 4, 6, 5), 4, ops, counts, 2);
}

/* Transposes, and no convolution. */
static void heads(images_net_t *net, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = images_turn(net, inputs[0], 0, 2, 1, 3);
    x = gantry_tanh(net->scope, gantry_mul(net->scope, x, gantry_scalar_f32(net->scope, 0.5f)));
    outputs[0] = images_turn(net, x, 0, 2, 1, 3);
}

TEST(transposes_without_a_convolution_stay) {
    static const char *const ops[] = {"Transpose"};
    static const uint32_t counts[] = {2};
    expect_counts(heads, GANTRY_SHAPE(2, 4, 6, 5), 2, ops, counts, 1);
}

/* A node waits for the Relu between the convolutions. */
static void waiting(images_net_t *net, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs) {
    const gantry_tensor_t *x = gantry_relu(net->scope, convolve(net, inputs[0], 3, 8, 1));
    gantry_scope_t *after = gantry_scope_begin_after(net->scope, &x, 1);
    const gantry_tensor_t *y = gantry_scope_keep(after, gantry_neg(after, inputs[0]));
    assert_int_equal(gantry_scope_end(after), GANTRY_OK);
    outputs[0] = gantry_add(net->scope, gantry_relu(net->scope, convolve(net, x, 3, 4, 1)), y);
}

TEST(a_node_that_others_wait_for_stays) {
    static const char *const ops[] = {"Transpose"};
    static const uint32_t counts[] = {1};
    expect_counts(waiting, GANTRY_SHAPE(2, 4, 6, 5), 4, ops, counts, 1);
}

/* ---- explanations ---- */

TEST(the_explanation_names_what_cancels) {
    static char text[1 << 15];
    steps_fn *steps = two_convolutions;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace_steps(f.runtime, &steps, GANTRY_SHAPE(2, 4, 6, 5), 0);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text,
                           "\"cancelled\":[\"Conv2D/Transpose_1\",\"Conv2D/Transpose_2\","
                           "\"Conv2D/Transpose_3\"]"));
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text,
                           "\ncancelled, since what is between transposes has its axes in "
                           "another order: Conv2D/Transpose_1, Conv2D/Transpose_2, "
                           "Conv2D/Transpose_3\n"));
    gantry_function_release(function);
    function = trace_steps(f.runtime, &steps, GANTRY_SHAPE(2, 4, 6, 5), GANTRY_PASS_LAYOUT);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text, "\"cancelled\":[]"));
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- a memory budget ---- */

enum { TIGHT = 280000 }; /* bytes: enough only without the pass */

/* Draws, so that a second trace must draw from the same stream. */
static void thinned_noise(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    const gantry_window_options_t options = {
        .struct_size = sizeof options, .strides = {2, 2}, .channels_first = true};
    const gantry_tensor_t *noise =
        gantry_random_uniform(scope, GANTRY_SHAPE(1, 64, 28, 28), GANTRY_FLOAT32, 0);
    ++*(int *)user;
    outputs[0] = gantry_depthwise_conv2d(
        scope, gantry_relu(scope, gantry_add(scope, inputs[0], noise)),
        gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 3, 64, 1)), &options);
}

static gantry_function_t *try_thinned(gantry_runtime_t *runtime, uint64_t budget,
                                      uint32_t passes_off, int *traces) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(1, 64, 28, 28)};
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .memory_budget_bytes = budget, .passes_off = passes_off};
    gantry_function_t *function = NULL;
    *traces = 0;
    (void)gantry_function_trace(runtime, "f", thinned_noise, traces, &input, 1, 1, &options,
                                &function);
    return function;
}

static uint64_t bytes_of_call(gantry_function_t *function) {
    gantry_function_memory_t memory = {.struct_size = sizeof memory};
    size_t devices;
    assert_int_equal(gantry_function_get_memory(function, 1, &memory, &devices), GANTRY_OK);
    return memory.planned_bytes + memory.result_bytes;
}

static bool explains(gantry_function_t *function, gantry_explain_form_t form, const char *words) {
    static char text[1 << 15];
    assert_int_equal(gantry_function_explain(function, form, text, sizeof text, NULL), GANTRY_OK);
    return strstr(text, words) != NULL;
}

static const char is_left_out[] = "\nthe layout pass was left out, for the memory budget\n";

TEST(a_budget_that_only_the_pass_exceeds_is_met_without_it) {
    runtime_fixture_t f;
    int traces;
    runtime_fixture_open(&f, 0);
    gantry_function_t *with = try_thinned(f.runtime, 0, 0, &traces),
                      *without = try_thinned(f.runtime, 0, GANTRY_PASS_LAYOUT, &traces);
    const uint64_t most = bytes_of_call(with), least = bytes_of_call(without);
    assert_true(least <= TIGHT && TIGHT < most);
    assert_false(explains(with, GANTRY_EXPLAIN_TEXT, is_left_out));
    gantry_function_t *within = try_thinned(f.runtime, least, 0, &traces);
    if (!within) fail_msg("%s", gantry_last_message());
    assert_int_equal(traces, 2);
    assert_string_equal(gantry_last_message(), "");
    assert_int_equal(bytes_of_call(within), least);
    assert_true(explains(within, GANTRY_EXPLAIN_TEXT, is_left_out));
    assert_true(explains(within, GANTRY_EXPLAIN_JSON, ",\"without_layout\":true,"));
    assert_null(try_thinned(f.runtime, least - 1, 0, &traces));
    char words[64];
    (void)snprintf(words, sizeof words, "and %llu in the best order", (unsigned long long)least);
    assert_non_null(strstr(gantry_last_message(), words));
    gantry_function_release(within);
    within = try_thinned(f.runtime, most, 0, &traces);
    assert_int_equal(traces, 1);
    assert_false(explains(within, GANTRY_EXPLAIN_TEXT, is_left_out));
    gantry_function_release(within);
    gantry_function_release(without);
    gantry_function_release(with);
    runtime_fixture_close(&f);
}

static gantry_status_t trace_thinned(gantry_scope_t *scope) {
    int traces;
    gantry_function_t *function = try_thinned(gantry_scope_runtime(scope), TIGHT, 0, &traces);
    gantry_function_release(function);
    return function ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

TEST(nothing_leaks_when_memory_runs_out_in_a_second_trace) {
    runtime_fixture_starve_each(0, NULL, trace_thinned);
}

/* ---- bodies, open sizes ---- */

static void convolve_in_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    images_net_t net = {.state = 5, .scope = scope};
    const gantry_tensor_t *x = gantry_relu(scope, convolve(&net, inputs[0], 3, 4, 1));
    (void)user;
    outputs[0] = gantry_relu(scope, convolve(&net, x, 3, 4, 1));
}

static void branch(images_net_t *net, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs) {
    const gantry_tensor_t *is_less = gantry_less(
        net->scope, gantry_sum(net->scope, inputs[0], NULL), gantry_scalar_f32(net->scope, 1e9f));
    const gantry_tensor_t *x = gantry_relu(net->scope, convolve(net, inputs[0], 3, 4, 1));
    (void)gantry_cond(net->scope, is_less, convolve_in_body, convolve_in_body, NULL, &x, 1, outputs,
                      1);
}

TEST(bodies_of_branches_have_a_pass_of_their_own) {
    static const char *const ops[] = {"If"};
    static const uint32_t counts[] = {1};
    expect_counts(branch, GANTRY_SHAPE(2, 4, 6, 5), 2, ops, counts, 1);
}

TEST(open_sizes_have_the_same_bits) {
    const gantry_shape_t shapes[] = {GANTRY_SHAPE(-1, 4, 6, -1),
                                     GANTRY_SHAPE(GANTRY_OPEN_SIZE, 4, 6, GANTRY_OPEN_SIZE)};
    steps_fn *steps = two_convolutions;
    float results[4][1024];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    images_net_t numbers = {.state = 9, .scope = scope};
    const gantry_tensor_t *x = images_numbers(&numbers, GANTRY_SHAPE(3, 4, 6, 7)), *y;
    for (uint32_t k = 0; k < 4; ++k) {
        gantry_function_t *function =
            trace_steps(f.runtime, &steps, shapes[k / 2], k % 2 ? GANTRY_PASS_LAYOUT : 0);
        assert_int_equal(gantry_function_call(scope, function, &x, 1, &y, 1), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(y, results[k], gantry_tensor_bytes(y)), GANTRY_OK);
        assert_memory_equal(results[0], results[k], gantry_tensor_bytes(y));
        gantry_function_release(function);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- memory that runs out ---- */

/* Its ops do not ask for shapes, because a result may be missing. */
static void starving(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const gantry_window_options_t options = {.struct_size = sizeof options, .channels_first = true};
    const gantry_tensor_t *filter = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 3, 2, 2)),
                          *vector = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 1, 1)),
                          *full = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3, 3));
    (void)user;
    const gantry_tensor_t *x = gantry_conv2d(scope, inputs[0], filter, &options);
    x = gantry_relu(scope, gantry_add(scope, gantry_mul(scope, x, full), vector));
    x = gantry_reshape(scope, x, GANTRY_SHAPE(1, 2, 1, 3, 3));
    x = gantry_transpose(scope, x, (const int32_t[]){0, 2, 1, 3, 4});
    x = gantry_reshape(scope, x, GANTRY_SHAPE(1, 2, 3, 3));
    x = gantry_max_pool2d(scope, x, 2, 2, &options);
    outputs[0] = gantry_relu(scope, gantry_conv2d(scope, x, filter, &options));
}

static gantry_status_t trace_starving(gantry_scope_t *scope) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(1, 2, 3, 3)};
    gantry_function_t *function;
    const gantry_status_t status =
        gantry_function_trace(scope->runtime, "f", starving, NULL, &input, 1, 1, NULL, &function);
    if (status == GANTRY_OK) gantry_function_release(function);
    return status;
}

TEST(nothing_leaks_when_memory_runs_out_in_the_pass) {
    runtime_fixture_starve_each(0, NULL, trace_starving);
}

int main(int argc, char **argv) {
    /* arguments: how many nets, and the number of the first */
    if (argc > 1) count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
