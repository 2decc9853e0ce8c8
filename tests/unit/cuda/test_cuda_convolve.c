/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: On CUDA, convolutions of float32, float16 and bfloat16 are cuDNN's, channels last or
 * first, with every stride, dilation, padding and number of groups, and without patches.
 * Promise: float32 convolutions by cuDNN are rounded to TF32 only if the precision of products lets
 * them, and never take an engine whose sums have another order in each run.
 * Promise: A record of the tuning file chooses the engine of its shape without a question to cuDNN;
 * a damaged, foreign or old one is left with a line of the log, and results stay right.
 * Promise: A function saved where cuDNN computes its gradients runs on a machine without a card.
 * Promise: What cuDNN takes of a card for itself counts with the driver's context.
 * Promise: Without cuDNN 9, or where its plan, run or workspace fails, convolutions on CUDA are
 * computed by patches and products or by the portable kernel, and a line of the log says why.
 *
 * The stand-in checks descriptors as cuDNN does and computes in plain loops; only a card can show
 * the speed and accuracy of NVIDIA's. */
#define _XOPEN_SOURCE 700
#include <math.h>

#include "cuda_fixture.h"
#include "log_lines.h"
#include "saved_file.h"
#include "test.h"

/* ---- one convolution ---- */

typedef struct convolve_case_t {
    gantry_dtype_t dtype;
    gantry_shape_t images, filter;
    gantry_window_options_t options;
} convolve_case_t;

#define SIZES(...)                         \
    {                                      \
        .rank = 4, .dims = { __VA_ARGS__ } \
    }
static const convolve_case_t cases[] = {
    {.images = SIZES(2, 7, 6, 5), .filter = SIZES(3, 3, 5, 4)},
    {.images = SIZES(1, 8, 9, 3), .filter = SIZES(3, 2, 3, 8), .options = {.strides = {2, 2}}},
    {.images = SIZES(2, 9, 9, 2),
     .filter = SIZES(2, 3, 2, 3),
     .options = {.dilations = {2, 3}, .padding = GANTRY_PADDING_VALID}},
    {.images = SIZES(1, 6, 5, 4),
     .filter = SIZES(4, 3, 4, 2),
     .options = {.strides = {3, 1},
                 .padding = GANTRY_PADDING_EXPLICIT,
                 .explicit_paddings = {1, 3, 0, 2}}},
    {.images = SIZES(3, 1, 12, 2), .filter = SIZES(1, 5, 2, 6), .options = {.strides = {1, 2}}},
    {.images = SIZES(2, 7, 6, 6), .filter = SIZES(3, 2, 2, 9), .options = {.strides = {2, 1}}},
};
#define GROUPED (CASES - 1) /* of three groups */
#define CASES (sizeof cases / sizeof cases[0])

/* Quarters of few bits, so that each sum is exact in float32 in every order. */
static const gantry_tensor_t *make_input(gantry_scope_t *scope, gantry_dtype_t dtype,
                                         gantry_shape_t shape, uint32_t seed) {
    float values[4096];
    const size_t count = (size_t)gantry_shape_elements(&shape);
    assert_true(count <= sizeof values / sizeof values[0]);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)((int)(seed >> 28) - 8) / 4;
    }
    return gantry_cast(
        scope, gantry_constant(scope, GANTRY_FLOAT32, shape, values, count * sizeof *values),
        dtype);
}

static gantry_shape_t planar(gantry_shape_t s) {
    return GANTRY_SHAPE(s.dims[0], s.dims[3], s.dims[1], s.dims[2]);
}

typedef enum convolve_what_t { CONVOLVES, GIVES_IMAGE, GIVES_FILTER } convolve_what_t;

static const gantry_tensor_t *shape_tensor(gantry_scope_t *scope, const gantry_shape_t *shape) {
    int32_t dims[4];
    for (int d = 0; d < 4; ++d) dims[d] = (int32_t)shape->dims[d];
    return gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(4), dims, sizeof dims);
}

/* The attributes of the op by name. */
static size_t attrs_of(const convolve_case_t *c, int64_t lists[3][8], gantry_attr_value_t *attrs) {
    static const char *const paddings[] = {"SAME", "VALID", "EXPLICIT"};
    const int first = c->options.channels_first ? 2 : 1;
    size_t count = 0;
    memset(lists, 0, 3 * 8 * sizeof lists[0][0]);
    for (int d = 0; d < 4; ++d) {
        const int of = d - first;
        const bool is_space = of == 0 || of == 1;
        lists[0][d] = is_space && c->options.strides[of] ? c->options.strides[of] : 1;
        lists[1][d] = is_space && c->options.dilations[of] ? c->options.dilations[of] : 1;
        if (!is_space) continue;
        lists[2][2 * d] = c->options.explicit_paddings[2 * of];
        lists[2][2 * d + 1] = c->options.explicit_paddings[2 * of + 1];
    }
    attrs[count++] = (gantry_attr_value_t){
        .name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = lists[0]};
    attrs[count++] = (gantry_attr_value_t){
        .name = "dilations", .kind = GANTRY_ATTR_INTS, .i = 4, .list = lists[1]};
    attrs[count++] = (gantry_attr_value_t){
        .name = "padding", .kind = GANTRY_ATTR_STRING, .s = paddings[c->options.padding]};
    attrs[count++] = (gantry_attr_value_t){.name = "data_format",
                                           .kind = GANTRY_ATTR_STRING,
                                           .s = c->options.channels_first ? "NCHW" : "NHWC"};
    if (c->options.padding == GANTRY_PADDING_EXPLICIT)
        attrs[count++] = (gantry_attr_value_t){
            .name = "explicit_paddings", .kind = GANTRY_ATTR_INTS, .i = 8, .list = lists[2]};
    return count;
}

/* The gradient of the case's images or filter, where the result's gradient is the result. */
static const gantry_tensor_t *gradient(gantry_scope_t *scope, const convolve_case_t *c,
                                       convolve_what_t what, const gantry_tensor_t *images,
                                       const gantry_tensor_t *filter,
                                       const gantry_tensor_t *result) {
    gantry_attr_value_t attrs[5];
    int64_t lists[3][8];
    const gantry_shape_t shape = c->options.channels_first ? planar(c->images) : c->images;
    const gantry_tensor_t *of_image[] = {shape_tensor(scope, &shape), filter, result},
                          *of_filter[] = {images, shape_tensor(scope, &c->filter), result};
    const gantry_tensor_t *out = NULL;
    size_t count = 1;
    (void)gantry_op_call(scope,
                         what == GIVES_IMAGE ? "Conv2DBackpropInput" : "Conv2DBackpropFilter",
                         what == GIVES_IMAGE ? of_image : of_filter, 3, attrs,
                         attrs_of(c, lists, attrs), &out, &count);
    return out;
}

static const gantry_tensor_t *convolve_in(gantry_scope_t *scope, const convolve_case_t *c,
                                          convolve_what_t what) {
    const gantry_shape_t shape = c->options.channels_first ? planar(c->images) : c->images;
    const gantry_tensor_t *images = make_input(scope, c->dtype, shape, 1),
                          *filter = make_input(scope, c->dtype, c->filter, 2);
    const gantry_tensor_t *result = gantry_conv2d(scope, images, filter, &c->options);
    if (what == CONVOLVES || !result) return result;
    const gantry_tensor_t *given = make_input(scope, c->dtype, *gantry_tensor_shape(result), 3);
    return gradient(scope, c, what, images, filter, given);
}

/* Runs the case on the device. Returns the number of elements of `out`. */
static size_t convolve(gantry_runtime_t *runtime, const char *device, const convolve_case_t *c,
                       convolve_what_t what, float *out, size_t room) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *wide = gantry_cast(scope, convolve_in(scope, c, what), GANTRY_FLOAT32);
    if (!wide) fail_msg("%s", gantry_scope_message(scope));
    const size_t count = (size_t)gantry_tensor_elements(wide);
    assert_true(count <= room);
    if (gantry_tensor_read(wide, out, count * sizeof *out) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return count;
}

/* All sums are exact, so the results are equal. */
static void check(gantry_runtime_t *runtime, const convolve_case_t *c, convolve_what_t what) {
    static float got[4096], expected[4096];
    const size_t count = convolve(runtime, "GPU:0", c, what, got, 4096);
    assert_int_equal(convolve(runtime, "CPU:0", c, what, expected, 4096), count);
    for (size_t i = 0; i < count; ++i) {
        if (got[i] != expected[i])
            fail_msg("%s %d, images of %lld channels%s: element %zu is %g, not %g",
                     gantry_dtype_name(c->dtype), (int)what, (long long)c->images.dims[3],
                     c->options.channels_first ? ", first" : "", i, (double)got[i],
                     (double)expected[i]);
    }
}

static uint64_t runs(int engine) {
    char name[32];
    (void)snprintf(name, sizeof name, "engine %d", engine);
    return fixture_control()->calls(name);
}

static uint64_t all_runs(void) { return fixture_control()->calls("cudnnBackendExecute"); }

/* ---- right results ---- */

static void check_all(gantry_dtype_t dtype, int engine) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF);
    for (int what = CONVOLVES; what <= GIVES_FILTER; ++what) {
        const uint64_t before = runs(engine), all = all_runs();
        const uint64_t each = what == CONVOLVES ? 1 : 2; /* a gradient's case also convolves */
        for (size_t i = 0; i < 2 * CASES; ++i) {
            convolve_case_t c = cases[i / 2];
            c.dtype = dtype;
            c.options.channels_first = i % 2 == 1;
            check(runtime, &c, what);
        }
        assert_int_equal(runs(engine) - before, each * 2 * CASES);
        assert_int_equal(all_runs() - all, each * 2 * CASES);
    }
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
}

TEST(float32_is_exact_and_has_one_order) { check_all(GANTRY_FLOAT32, 2); }
TEST(halves_take_tensor_cores) {
    check_all(GANTRY_FLOAT16, 0);
    check_all(GANTRY_BFLOAT16, 0);
}

/* One channel in each of several groups is a depthwise convolution. */
TEST(depthwise_convolutions_are_not_given_to_cudnn) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF);
    const convolve_case_t c = {.dtype = GANTRY_FLOAT32,
                               .images = GANTRY_SHAPE(2, 6, 5, 4),
                               .filter = GANTRY_SHAPE(3, 3, 1, 8)};
    const uint64_t before = all_runs();
    for (int what = CONVOLVES; what <= GIVES_FILTER; ++what) check(runtime, &c, what);
    assert_int_equal(all_runs() - before, 0);
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
}

/* The table of plans is full after 256 forms; a form that was dropped is planned again. */
TEST(forms_beyond_the_table_have_the_same_results) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF);
    const uint64_t before = all_runs();
    for (int64_t width = 2; width <= 302; ++width) {
        const convolve_case_t c = {.dtype = GANTRY_FLOAT32,
                                   .images = GANTRY_SHAPE(1, 1, width, 1),
                                   .filter = GANTRY_SHAPE(1, 2, 1, 1)};
        check(runtime, &c, CONVOLVES);
    }
    const convolve_case_t first = {.dtype = GANTRY_FLOAT32,
                                   .images = GANTRY_SHAPE(1, 1, 2, 1),
                                   .filter = GANTRY_SHAPE(1, 2, 1, 1)};
    check(runtime, &first, CONVOLVES);
    assert_int_equal(all_runs() - before, 302);
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
}

/* The second of two images is at an address that cuDNN's alignment does not divide. */
static void convolve_second(gantry_runtime_t *runtime, const char *device, float out[50]) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *both = make_input(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 5, 5, 3), 1),
                          *filter = make_input(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 3, 3, 2), 2);
    const gantry_tensor_t *second = gantry_tensor_view(scope, both, 75 * sizeof(float),
                                                       GANTRY_FLOAT32, GANTRY_SHAPE(1, 5, 5, 3));
    const gantry_tensor_t *result = gantry_conv2d(scope, second, filter, NULL);
    if (!result || gantry_tensor_read(result, out, 50 * sizeof *out) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

TEST(images_at_any_address_are_read) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF);
    const uint64_t before = runs(2);
    float second[50], expected_second[50];
    convolve_second(runtime, "GPU:0", second);
    convolve_second(runtime, "CPU:0", expected_second);
    assert_memory_equal(second, expected_second, sizeof second);
    assert_int_equal(runs(2) - before, 1);
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
}

/* 1 + 2^-20 times 1: TF32 has no such number. */
static float tiny_sum(const char *precision) {
    static const float image[9] = {1.0f + 0x1p-20f}, filter[4] = {1, 0, 0, 0};
    const gantry_window_options_t options = {.padding = GANTRY_PADDING_VALID};
    float got[4] = {0};
    if (precision) setenv("GANTRY_CUDA_MATMUL_PRECISION", precision, 1);
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF);
    unsetenv("GANTRY_CUDA_MATMUL_PRECISION");
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    const gantry_tensor_t *result = gantry_conv2d(
        scope,
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 3, 3, 1), image, sizeof image),
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 1, 1), filter, sizeof filter),
        &options);
    if (!result || gantry_tensor_read(result, got, sizeof got) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
    return got[0];
}

TEST(precision_lets_tensor_cores_round_float32) {
    assert_true(tiny_sum(NULL) == 1.0f + 0x1p-20f);
    assert_true(tiny_sum("tf32") == 1.0f);
}

/* The stand-in's second engine says that it is not deterministic. */
TEST(any_order_lets_sums_have_another_order) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    convolve_case_t c = cases[0];
    const uint64_t before = runs(1);
    c.dtype = GANTRY_FLOAT32;
    assert_int_equal(gantry_scope_set_any_order(scope, GANTRY_ON), GANTRY_OK);
    for (int what = CONVOLVES; what <= GIVES_FILTER; ++what)
        assert_non_null(convolve_in(scope, &c, (convolve_what_t)what));
    c.dtype = GANTRY_FLOAT16; /* only sums of float32 have another order */
    assert_non_null(convolve_in(scope, &c, CONVOLVES));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    assert_int_equal(runs(1) - before, 5);
    gantry_runtime_release(runtime);
}

/* ---- in functions ---- */

static void joined_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const convolve_case_t *c = user;
    outputs[0] = gantry_relu(
        scope,
        gantry_bias_add(scope, gantry_conv2d(scope, inputs[0], inputs[1], &c->options), inputs[2]));
    outputs[1] = gradient(scope, c, GIVES_IMAGE, inputs[0], inputs[1], outputs[0]);
    outputs[2] = gradient(scope, c, GIVES_FILTER, inputs[0], inputs[1], outputs[0]);
}

/* Calls the function of the case and reads its three results. */
static void call_joined(gantry_runtime_t *runtime, gantry_function_t *function, const char *device,
                        const convolve_case_t *c, float out[3][4096]) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *inputs[] = {
        make_input(scope, c->dtype, c->images, 1), make_input(scope, c->dtype, c->filter, 2),
        make_input(scope, c->dtype, GANTRY_SHAPE(c->filter.dims[3]), 4)};
    const gantry_tensor_t *results[3];
    memset(out, 0, 3 * sizeof out[0]);
    if (gantry_function_call(scope, function, inputs, 3, results, 3) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    for (int i = 0; i < 3; ++i) {
        const gantry_tensor_t *wide = gantry_cast(scope, results[i], GANTRY_FLOAT32);
        const size_t bytes = (size_t)gantry_tensor_elements(wide) * sizeof(float);
        assert_true(bytes <= sizeof out[i]);
        if (gantry_tensor_read(wide, out[i], bytes) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
    }
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static gantry_function_t *trace_joined(gantry_runtime_t *runtime, convolve_case_t *c) {
    const gantry_input_spec_t inputs[] = {{"images", c->dtype, c->images},
                                          {"filter", c->dtype, c->filter},
                                          {"bias", c->dtype, GANTRY_SHAPE(c->filter.dims[3])}};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "f", joined_body, c, inputs, 3, 3, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static void expect_equal(float got[3][4096], float expected[3][4096]) {
    for (int i = 0; i < 3; ++i) {
        for (size_t k = 0; k < 4096; ++k) {
            if (got[i][k] != expected[i][k])
                fail_msg("result %d: element %zu is %g, not %g", i, k, (double)got[i][k],
                         (double)expected[i][k]);
        }
    }
}

static float got[3][4096], expected[3][4096];

static void join_and_replay(convolve_case_t c) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF);
    c.dtype = GANTRY_FLOAT32;
    gantry_function_t *function = trace_joined(runtime, &c);
    char text[8192];
    call_joined(runtime, function, "CPU:0", &c, expected);
    for (int i = 0; i < 4; ++i) {
        const uint64_t before = all_runs();
        call_joined(runtime, function, "GPU:0", &c, got);
        expect_equal(got, expected);
        if (i == 0) assert_int_equal(all_runs() - before, 3);
    }
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    if (!strstr(text, "_FusedConvolveImages")) fail_msg("%s", text);
    gantry_function_release(function);
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
}

TEST(function_joins_bias_and_relu_and_is_replayed) {
    join_and_replay(cases[1]);
    join_and_replay(cases[GROUPED]);
}

/* A function that was traced where cuDNN computes gradients runs where nothing has their parts. */
static void save_and_load_on_cpu(convolve_case_t c, gantry_dtype_t dtype) {
    static const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                                     .backends = "cpu"};
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_OFF), *other;
    saved_file_t file;
    c.dtype = dtype;
    saved_file_init(&file);
    gantry_function_t *function = trace_joined(runtime, &c);
    call_joined(runtime, function, "GPU:0", &c, expected);
    saved_file_save(function, &file);
    gantry_function_release(function);
    gantry_runtime_release(runtime);
    assert_int_equal(gantry_runtime_create(&options, &other), GANTRY_OK);
    function = saved_file_load(other, &file, NULL);
    call_joined(other, function, "CPU:0", &c, got);
    expect_equal(got, expected);
    gantry_function_release(function);
    gantry_runtime_release(other);
    saved_file_deinit(&file);
}

TEST(function_saved_with_cudnn_runs_without_it) {
    save_and_load_on_cpu(cases[1], GANTRY_FLOAT32);
    save_and_load_on_cpu(cases[1], GANTRY_FLOAT16);
    save_and_load_on_cpu(cases[GROUPED], GANTRY_FLOAT32);
}

/* ---- failures ---- */

static log_lines_t lines;

static void expect_line(const char *text) {
    if (log_lines_with(&lines, text, "") > 0) return;
    for (int i = 0; i < lines.count && i < LOG_LINES; ++i) printf("  %s\n", lines.lines[i]);
    fail_msg("no line of the log has \"%s\"", text);
}

static gantry_runtime_t *open_logged(const char *file) {
    log_lines_init(&lines);
    fixture_name_libraries();
    if (file) setenv("GANTRY_CUDA_CUDNN", file, 1);
    return fixture_open_named(GANTRY_OFF, log_lines_write, &lines);
}

/* Every op of every case is right, twice, by other kernels. */
static void check_others(gantry_runtime_t *runtime) {
    for (int what = CONVOLVES; what <= GIVES_FILTER; ++what) {
        for (size_t i = 0; i < CASES; ++i) {
            convolve_case_t c = cases[i];
            c.dtype = GANTRY_FLOAT32;
            check(runtime, &c, what);
            check(runtime, &c, what);
        }
    }
}

/* With this setting of the stand-in or this library, cuDNN computes nothing, and the log says so by
 * this text. */
static void expect_others(const char *setting, const char *file, const char *text) {
    fixture_control()->reset();
    if (setting) assert_int_equal(fixture_control()->set(setting), 0);
    gantry_runtime_t *runtime = open_logged(file);
    check_others(runtime);
    gantry_runtime_release(runtime);
    expect_line(text);
    for (int engine = 0; engine < 4; ++engine) assert_int_equal(runs(engine), 0);
    fixture_expect_nothing_lives();
    fixture_control()->reset();
    fixture_control()->set("cudnn=91900;cudnn_cuda=12090;cudnn_workspace=64K");
}

TEST(without_cudnn_patches_are_multiplied) {
    expect_others(NULL, "/nonexistent/libcudnn_graph.so.9",
                  "take patches and matrix products: cuDNN cannot be opened: /nonexistent/");
    expect_others(NULL, "libm.so.6", "libm.so.6 is no cuDNN: it has no function cudnnGetVersion");
    expect_others("cudnn=8907", NULL, "is cuDNN 8.9.7, too old: 9.0.0 or newer is needed");
    expect_others("cudnn=100000", NULL, "is cuDNN 10.0.0, too new: a version before 10.0.0");
    expect_others("cudnn_cuda=13010", NULL, "cuDNN of CUDA 12 is needed, or a newer driver");
}

TEST(cudnn_in_part_or_broken_is_left) {
    expect_others("fail=cudnnGraphVersionCheck:*:1002", NULL,
                  "has parts of another version: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH (1002)");
    expect_others("fail=cudnnCreate:*:1001", NULL,
                  "does not start there: CUDNN_STATUS_NOT_INITIALIZED (1001)");
    expect_others("fail=cudnnBackendFinalize:*:1008", NULL,
                  "is not complete: CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED (1008)");
}

TEST(failing_plans_and_runs_leave_a_convolution_to_other_kernels) {
    expect_others("fail=cudnnBackendFinalize:*:3000", NULL, "CUDNN_STATUS_NOT_SUPPORTED (3000)");
    expect_others("fail=cudnnBackendSetAttribute:*:2000", NULL, "cuDNN does not compute");
    expect_others("fail=cudnnBackendGetAttribute:*:4000", NULL, "cuDNN does not compute");
    expect_others("fail=cudnnSetStream:*:2000", NULL, "cuDNN does not compute");
    expect_others("fail=cudnnBackendExecute:*:5000", NULL,
                  "cuDNN does not compute the convolution of images [2, 7, 6, 5] by a filter "
                  "[3, 3, 5, 4] on ");
}

/* A call that fails once: at any place the results are right, and nothing is leaked. */
TEST(each_call_of_the_library_may_fail) {
    static const char *const functions[] = {"cudnnBackendCreateDescriptor",
                                            "cudnnBackendSetAttribute", "cudnnBackendGetAttribute",
                                            "cudnnBackendFinalize", "cudnnBackendExecute"};
    static const int codes[] = {3000, 4000, 4003};
    for (size_t i = 0; i < 5; ++i) {
        for (int nth = 1; nth <= 40; nth += nth < 6 ? 1 : 7) {
            char setting[96];
            convolve_case_t c = cases[0];
            c.dtype = GANTRY_FLOAT32;
            gantry_runtime_t *runtime = open_logged(NULL);
            (void)snprintf(setting, sizeof setting, "fail=%s:%d:%d", functions[i], nth,
                           codes[nth % 3]);
            assert_int_equal(fixture_control()->set(setting), 0);
            for (int what = CONVOLVES; what <= GIVES_FILTER; ++what) check(runtime, &c, what);
            gantry_runtime_release(runtime);
            fixture_expect_nothing_lives();
            fixture_control()->reset();
        }
    }
}

/* A function has placed its nodes when a run fails: the next kernels of its device compute. */
static void fail_runs_in_function(convolve_case_t c, gantry_dtype_t dtype, const char *line) {
    gantry_runtime_t *runtime = open_logged(NULL);
    c.dtype = dtype;
    gantry_function_t *function = trace_joined(runtime, &c);
    call_joined(runtime, function, "CPU:0", &c, expected);
    assert_int_equal(fixture_control()->set("fail=cudnnBackendExecute:*:5000"), 0);
    for (int i = 0; i < 3; ++i) {
        call_joined(runtime, function, "GPU:0", &c, got);
        expect_equal(got, expected);
    }
    expect_line(line);
    gantry_function_release(function);
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
    fixture_control()->reset();
}

TEST(function_whose_runs_fail_has_the_same_results) {
    fail_runs_in_function(
        cases[1], GANTRY_FLOAT32,
        "cuDNN does not compute the gradient of the filter of images [1, 8, 9, 3]");
    /* bias and Relu of halves are ops of their own */
    fail_runs_in_function(
        cases[GROUPED], GANTRY_FLOAT16,
        "cuDNN does not compute the gradient of the filter of images [2, 7, 6, 6]");
}

/* ---- memory ---- */

static uint64_t context_bytes(gantry_runtime_t *runtime) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (gantry_get_memory_info(runtime, "GPU:0", &info) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return info.context_bytes;
}

/* The stand-in's handle takes 4 MiB of the card when it first computes. */
TEST(what_cudnn_takes_counts_with_the_context) {
    convolve_case_t c = cases[0];
    c.dtype = GANTRY_FLOAT32;
    assert_int_equal(fixture_control()->set("library=4M"), 0);
    gantry_runtime_t *runtime = open_logged(NULL);
    const uint64_t before = context_bytes(runtime);
    for (int what = CONVOLVES; what <= GIVES_FILTER; ++what) { /* only once */
        check(runtime, &c, what);
        assert_int_equal(context_bytes(runtime) - before, 4 << 20);
    }
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
    fixture_control()->set("library=0");
}

/* ---- workspaces ---- */

static void check_engine(const char *setting, int engine) {
    assert_int_equal(fixture_control()->set(setting), 0);
    gantry_runtime_t *runtime = open_logged(NULL);
    convolve_case_t c = cases[0];
    const uint64_t before = runs(engine);
    c.dtype = GANTRY_FLOAT32;
    for (int what = CONVOLVES; what <= GIVES_FILTER; ++what) check(runtime, &c, what);
    if (runs(engine) - before != 5)
        fail_msg("%s: engine %d ran %d times", setting, engine, (int)(runs(engine) - before));
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
    fixture_control()->reset();
    fixture_control()->set("cudnn_workspace=64K;memory=256M");
}

TEST(plans_keep_to_a_workspace_that_fits) {
    check_engine("cudnn_workspace=64M", 2);
    check_engine("cudnn_workspace=65M", 3);            /* more than plans may have */
    check_engine("cudnn_workspace=60M;memory=40M", 3); /* more than the card has */
}

/* ---- records of the tuning file ---- */

/* A runtime whose tuning file has one record of the first convolution of the case, or none. */
static gantry_runtime_t *open_tuned(const saved_file_t *file, const char *name,
                                    const char *values) {
    const gantry_physical_device_t *device;
    (void)setenv("GANTRY_TUNING_FILE", file->path, 1);
    (void)setenv("GANTRY_LOG_LEVEL", "debug", 1);
    (void)unlink(file->path);
    gantry_runtime_t *runtime = open_logged(NULL);
    if (!values) return runtime;
    if (gantry_find_physical_device(runtime, "cuda:0", &device) != GANTRY_OK ||
        gantry_put_tuning(runtime, device, name, values) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

/* The words of the log's line about the plan, up to the semicolon. */
static void find_plan(char name[64], char values[512]) {
    for (int i = 0; i < lines.count && i < LOG_LINES; ++i) {
        const char *at = strstr(lines.lines[i], "cuDNN plan ");
        if (at && sscanf(at, "cuDNN plan %63s %511[^;];", name, values) == 2) return;
    }
    fail_msg("no line of the log says which plan serves");
}

/* Convolves with a record. Returns how often the engine ran of two. */
static uint64_t runs_with(const saved_file_t *file, const char *name, const char *values,
                          int engine) {
    convolve_case_t c = cases[0];
    c.dtype = GANTRY_FLOAT32;
    gantry_runtime_t *runtime = open_tuned(file, name, values);
    const uint64_t before = runs(engine);
    check(runtime, &c, CONVOLVES);
    check(runtime, &c, CONVOLVES);
    gantry_runtime_release(runtime);
    fixture_expect_nothing_lives();
    return runs(engine) - before;
}

/* The case's form, which the log says, and its records with one part that differs. */
TEST(tuning_file_chooses_the_engine_of_a_shape) {
    char name[64], values[512], form[256], other[640];
    saved_file_t file;
    saved_file_init(&file);
    assert_int_equal(runs_with(&file, NULL, NULL, 2), 2);
    find_plan(name, values);
    assert_non_null(strstr(values, "engine=2 knobs=2:7 version=91900 capability=90"));
    expect_line("the first that keeps precision and order");
    assert_int_equal(sscanf(values, "form=%255s", form), 1);
    assert_string_equal(form, "convolve:float32:nhwc:2x7x6x5:3x3x5x4:p1.1.1.1:s1x1:d1x1");
    const uint64_t lists = fixture_control()->calls("cudnnBackendGetAttribute");
    assert_int_equal(runs_with(&file, name, values, 2), 2); /* and no list is read */
    expect_line("; line 2 of the tuning file");
    assert_true(fixture_control()->calls("cudnnBackendGetAttribute") - lists <= 3);
    (void)snprintf(other, sizeof other, "form=%s engine=3 version=91900 capability=90", form);
    assert_int_equal(runs_with(&file, name, other, 3), 2);
    (void)snprintf(other, sizeof other, "form=%s use=1", form);
    assert_int_equal(runs_with(&file, name, other, 3), 2);
    (void)snprintf(other, sizeof other, "form=%s use=2", form); /* there are two */
    assert_int_equal(runs_with(&file, name, other, 2), 2);
    saved_file_deinit(&file);
}

TEST(wrong_records_are_left_with_a_reason) {
    static const struct {
        const char *values, *reason;
    } rows[] = {
        {"engine=3 version=91800 capability=90", "measured with another version of cuDNN"},
        {"engine=3 version=91900 capability=80", "card of another compute capability"},
        {"engine=3 version=91900", "card of another compute capability"},
        {"engine=0 version=91900 capability=90", "breaks a promise of precision or order"},
        {"engine=1 version=91900 capability=90", "breaks a promise of precision or order"},
        {"engine=9 version=91900 capability=90", "there is no engine 9"},
        {"engine=2 knobs=2:8 version=91900 capability=90", "the engine has no such knob"},
        {"engine=3 knobs=2:7 version=91900 capability=90", "the engine has no such knob"},
        {"engine=2 knobs=2 version=91900 capability=90", "knobs= has no such numbers"},
        {"engine=2 knobs=2:7, version=91900 capability=90", "knobs= has no such numbers"},
        {"engine=99999999999 version=91900 capability=90", "a value is no such number"},
        {"engine=-1 version=91900 capability=90", "a value is no such number"},
        {"engine=3 use=1 version=91900 capability=90", "one of engine= and use= is needed"},
        {"version=91900 capability=90", "one of engine= and use= is needed"},
        {"use=64", "use= is 0 to 63"},
        {"engine=3 speed=2", "are accepted"},
        {"engine", "a word is not NAME=VALUE"},
        {"form=convolve:float32 engine=3", "it is another form's"},
    };
    char name[64], values[512], form[256], other[1024];
    saved_file_t file;
    saved_file_init(&file);
    (void)runs_with(&file, NULL, NULL, 2);
    find_plan(name, values);
    assert_int_equal(sscanf(values, "form=%255s", form), 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        (void)snprintf(other, sizeof other, "form=%s %s", form, rows[i].values);
        assert_int_equal(runs_with(&file, name, other, 2), 2);
        expect_line(rows[i].reason);
        if (log_lines_with(&lines, "is not used", rows[i].reason) != 1)
            fail_msg("%s", rows[i].values);
    }
    assert_int_equal(runs_with(&file, name, "engine=3 version=91900 capability=90", 2), 2);
    expect_line("form= is missing");
    saved_file_deinit(&file);
    unsetenv("GANTRY_TUNING_FILE");
    unsetenv("GANTRY_LOG_LEVEL");
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    setenv("GANTRY_STAND_IN_CUDA", "memory=256M;cc=9.0", 1);
    return test_main();
}
