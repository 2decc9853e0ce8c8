/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A convolution and its gradients on a GPU have the bits of patches and their products, in
 * each floating type, although no patches are made.
 * Promise: A convolution and its gradients on a GPU run where its memory is too small for the
 * patches.
 * Promise: A convolution on a GPU with paddings or dilations beyond 2^28, or with steps beyond the
 * images in their gradient, takes patches and has their bits. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>
#include <gantry/op.h>

#include "need_opencl.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"
#define MIB (UINT64_C(1) << 20)

/* A processor imitates these cards: one multiplies tiles, the other one element by element. Each
 * has two of the types, because PoCL compiles the kernels of each card and type for many
 * seconds. */
static const gantry_logical_device_config_t cards[] = {
    {.max_work_group_size = 256, .local_memory_bytes = 32768},
    {.max_work_group_size = 64, .local_memory_bytes = 16384}};
static const gantry_dtype_t types[][2] = {{GANTRY_FLOAT32, GANTRY_FLOAT16},
                                          {GANTRY_FLOAT64, GANTRY_BFLOAT16}};

typedef struct patches_case_t {
    const char *name;
    int64_t batch, height, width, channels; /* of the images */
    int64_t rows, columns, outputs;
    int64_t step_y, step_x, spread_y, spread_x;
    int64_t pads[4]; /* above, below, left, right */
} patches_case_t;

static const patches_case_t cases[] = {
    {"borders", 2, 9, 11, 5, 3, 3, 20, 1, 1, 1, 1, {1, 1, 1, 1}},
    {"steps", 2, 17, 13, 3, 3, 5, 33, 2, 3, 1, 1, {1, 2, 2, 0}},
    {"steps beyond the window", 1, 11, 10, 4, 2, 1, 6, 3, 2, 1, 1, {0, 0, 0, 0}},
    {"dilation", 1, 14, 15, 18, 3, 3, 7, 1, 2, 2, 3, {2, 2, 3, 3}},
    {"one place", 1, 3, 3, 2, 3, 3, 5, 1, 1, 1, 1, {0, 0, 0, 0}},
    {"a window larger than the image", 3, 2, 2, 3, 3, 3, 8, 1, 1, 1, 1, {1, 1, 1, 1}},
    {"more padding than window", 1, 5, 4, 2, 2, 2, 3, 1, 1, 1, 1, {3, 0, 0, 4}},
    {"single pixels, apart", 2, 9, 8, 17, 1, 1, 19, 2, 2, 1, 1, {0, 0, 0, 0}},
    {"many places", 2, 40, 33, 6, 3, 3, 70, 1, 1, 1, 1, {1, 1, 1, 1}},
};

/* One case on one device, in one type. */
typedef struct patches_t {
    const patches_case_t *c;
    gantry_scope_t *scope;
    gantry_dtype_t dtype;
    int64_t height, width; /* places */
    int64_t sizes[4], strides[4], dilations[4], paddings[8];
} patches_t;

static int64_t places_of(int64_t size, int64_t window, int64_t step, int64_t spread,
                         const int64_t *pads) {
    return (size + pads[0] + pads[1] - (window - 1) * spread - 1) / step + 1;
}

static patches_t begin_case(gantry_scope_t *scope, const patches_case_t *c, gantry_dtype_t dtype) {
    return (patches_t){
        .c = c,
        .scope = scope,
        .dtype = dtype,
        .height = places_of(c->height, c->rows, c->step_y, c->spread_y, c->pads),
        .width = places_of(c->width, c->columns, c->step_x, c->spread_x, c->pads + 2),
        .sizes = {1, c->rows, c->columns, 1},
        .strides = {1, c->step_y, c->step_x, 1},
        .dilations = {1, c->spread_y, c->spread_x, 1},
        .paddings = {0, 0, c->pads[0], c->pads[1], c->pads[2], c->pads[3], 0, 0}};
}

static const gantry_tensor_t *numbers(const patches_t *p, gantry_shape_t shape, uint32_t seed) {
    const int64_t count = gantry_shape_elements(&shape);
    float *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (float)(1u << 23) - 1;
    }
    const gantry_tensor_t *x = gantry_cast(
        p->scope,
        gantry_constant(p->scope, GANTRY_FLOAT32, shape, values, (size_t)count * sizeof *values),
        p->dtype);
    free(values);
    return x;
}

static const gantry_tensor_t *images_of(const patches_t *p) {
    const patches_case_t *c = p->c;
    return numbers(p, GANTRY_SHAPE(c->batch, c->height, c->width, c->channels), 1);
}

static const gantry_tensor_t *filter_of(const patches_t *p) {
    const patches_case_t *c = p->c;
    return numbers(p, GANTRY_SHAPE(c->rows, c->columns, c->channels, c->outputs), 2);
}

static const gantry_tensor_t *grad_of(const patches_t *p) {
    return numbers(p, GANTRY_SHAPE(p->c->batch, p->height, p->width, p->c->outputs), 3);
}

/* An op with windows: two or three inputs. Patches have other names for their attributes. */
static const gantry_tensor_t *call(const patches_t *p, const char *op, bool has_patches,
                                   const gantry_tensor_t *const *inputs, size_t count) {
    const gantry_attr_value_t attrs[] = {
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = p->strides},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = "EXPLICIT"},
        {.name = "explicit_paddings", .kind = GANTRY_ATTR_INTS, .i = 8, .list = p->paddings},
        {.name = has_patches ? "rates" : "dilations",
         .kind = GANTRY_ATTR_INTS,
         .i = 4,
         .list = p->dilations},
        {.name = "ksizes", .kind = GANTRY_ATTR_INTS, .i = 4, .list = p->sizes}};
    const gantry_tensor_t *result = NULL;
    size_t results = 1;
    if (gantry_op_call(p->scope, op, inputs, count, attrs, has_patches ? 5 : 4, &result,
                       &results) != GANTRY_OK)
        fail_msg("%s: %s", p->c->name, gantry_last_message());
    return result;
}

static const gantry_tensor_t *host_shape(const patches_t *p, gantry_shape_t shape) {
    int32_t sizes[4];
    for (int d = 0; d < 4; ++d) sizes[d] = (int32_t)shape.dims[d];
    return gantry_constant(p->scope, GANTRY_INT32, GANTRY_SHAPE(4), sizes, sizeof sizes);
}

static const gantry_tensor_t *product(const patches_t *p, const gantry_tensor_t *a, int64_t rows,
                                      bool transpose_a, const gantry_tensor_t *b, int64_t depth,
                                      bool transpose_b) {
    const gantry_matmul_options_t options = {.transpose_a = transpose_a,
                                             .transpose_b = transpose_b};
    return gantry_matmul(p->scope, gantry_reshape(p->scope, a, GANTRY_SHAPE(rows, -1)),
                         gantry_reshape(p->scope, b, GANTRY_SHAPE(depth, -1)), &options);
}

static void compare(const patches_t *p, const char *what, const gantry_tensor_t *got,
                    const gantry_tensor_t *expected) {
    const size_t bytes = (size_t)gantry_tensor_elements(expected) * gantry_dtype_size(p->dtype);
    unsigned char *a = malloc(bytes), *b = malloc(bytes);
    assert_true(a && b && got && expected);
    assert_int_equal(gantry_tensor_elements(got), gantry_tensor_elements(expected));
    if (gantry_tensor_read(got, a, bytes) != GANTRY_OK ||
        gantry_tensor_read(expected, b, bytes) != GANTRY_OK)
        fail_msg("%s: %s", p->c->name, gantry_last_message());
    if (memcmp(a, b, bytes) != 0)
        fail_msg("%s, %s of type %d: other bits than by patches", p->c->name, what, (int)p->dtype);
    free(a);
    free(b);
}

static const gantry_tensor_t *convolve_first(const patches_t *p, const gantry_tensor_t *images,
                                             const gantry_tensor_t *filter) {
    static const int32_t to_first[] = {0, 3, 1, 2};
    const patches_case_t *c = p->c;
    const gantry_window_options_t options = {
        .struct_size = sizeof options,
        .strides = {c->step_y, c->step_x},
        .dilations = {c->spread_y, c->spread_x},
        .padding = GANTRY_PADDING_EXPLICIT,
        .explicit_paddings = {c->pads[0], c->pads[1], c->pads[2], c->pads[3]},
        .channels_first = true};
    return gantry_conv2d(p->scope, gantry_transpose(p->scope, images, to_first), filter, &options);
}

static void check_forward(const patches_t *p) {
    static const int32_t to_last[] = {0, 2, 3, 1};
    const gantry_tensor_t *images = images_of(p), *filter = filter_of(p);
    const int64_t places = p->c->batch * p->height * p->width;
    const gantry_tensor_t *patches = call(p, "ExtractImagePatches", true, &images, 1);
    const gantry_tensor_t *by_patches = product(p, patches, places, false, filter,
                                                p->c->rows * p->c->columns * p->c->channels, false);
    compare(p, "the convolution",
            call(p, "Conv2D", false, (const gantry_tensor_t *[]){images, filter}, 2), by_patches);
    compare(p, "the convolution of images whose channels come first",
            gantry_transpose(p->scope, convolve_first(p, images, filter), to_last), by_patches);
}

static void check_filter(const patches_t *p) {
    const gantry_tensor_t *images = images_of(p), *grad = grad_of(p);
    const int64_t places = p->c->batch * p->height * p->width;
    const gantry_tensor_t *patches = call(p, "ExtractImagePatches", true, &images, 1);
    const gantry_tensor_t *sizes =
        host_shape(p, GANTRY_SHAPE(p->c->rows, p->c->columns, p->c->channels, p->c->outputs));
    compare(
        p, "the gradient of the filter",
        call(p, "Conv2DBackpropFilter", false, (const gantry_tensor_t *[]){images, sizes, grad}, 3),
        product(p, patches, places, true, grad, places, false));
}

static void check_images(const patches_t *p) {
    const gantry_tensor_t *filter = filter_of(p), *grad = grad_of(p);
    const patches_case_t *c = p->c;
    const int64_t each = c->rows * c->columns * c->channels;
    const gantry_tensor_t *sizes =
        host_shape(p, GANTRY_SHAPE(c->batch, c->height, c->width, c->channels));
    const gantry_tensor_t *patches =
        product(p, grad, c->batch * p->height * p->width, false, filter, each, true);
    const gantry_tensor_t *as_images =
        gantry_reshape(p->scope, patches, GANTRY_SHAPE(c->batch, p->height, p->width, each));
    const gantry_shape_t four = GANTRY_SHAPE(c->batch, c->height, c->width, c->channels);
    const gantry_tensor_t *wide = gantry_constant(p->scope, GANTRY_INT64, GANTRY_SHAPE(4),
                                                  four.dims, 4 * sizeof four.dims[0]);
    compare(
        p, "the gradient of the images",
        call(p, "Conv2DBackpropInput", false, (const gantry_tensor_t *[]){sizes, filter, grad}, 3),
        call(p, "FoldImagePatches", true, (const gantry_tensor_t *[]){as_images, wide}, 2));
}

static gantry_runtime_t *open_card(const gantry_logical_device_config_t *card) {
    const gantry_physical_device_t *device;
    size_t devices = 0;
    gantry_runtime_t *runtime;
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .backend_path = MODULES,
                                        .backends = "cpu,opencl",
                                        .opencl_cpu_as_gpu = GANTRY_ON,
                                        .soft_placement = GANTRY_OFF,
                                        .kernel_cache = ""};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(gantry_list_physical_devices(runtime, "GPU", 1, &device, &devices), GANTRY_OK);
    assert_true(devices > 0);
    if (gantry_set_logical_device_configuration(runtime, device, card, 1) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

/* The calls of op as a part of another one. */
static uint64_t parts_of(gantry_runtime_t *runtime, const char *op) {
    uint64_t calls = 0;
    for (size_t i = 0; i < gantry_profile_row_count(runtime); ++i) {
        gantry_profile_row_t row = {.struct_size = sizeof row};
        assert_int_equal(gantry_profile_read(runtime, i, &row), GANTRY_OK);
        if (strcmp(row.op, op) == 0 && strncmp(row.part_of, "Conv2D", 6) == 0) calls += row.calls;
    }
    return calls;
}

static void check_no_patches(gantry_runtime_t *runtime, uint64_t calls) {
    assert_int_equal(parts_of(runtime, "ExtractImagePatches"), 0);
    assert_int_equal(parts_of(runtime, "FoldImagePatches"), 0);
    assert_int_equal(parts_of(runtime, "MatMul"), 0);
    assert_int_equal(parts_of(runtime, "_ImagesGradient"), calls);
}

TEST(convolutions_on_cards_have_the_bits_of_patches) {
    for (size_t card = 0; card < sizeof cards / sizeof cards[0]; ++card) {
        gantry_runtime_t *runtime = open_card(&cards[card]);
        uint64_t calls = 0;
        assert_int_equal(gantry_profile_start(runtime, GANTRY_PROFILE_ON), GANTRY_OK);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
            for (size_t k = 0; k < 2; ++k, ++calls) {
                gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
                const patches_t p = begin_case(scope, &cases[i], types[card][k]);
                check_forward(&p);
                check_filter(&p);
                check_images(&p);
                assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
            }
        }
        check_no_patches(runtime, calls);
        gantry_runtime_release(runtime);
    }
}

/* Patches of all images have 90 MiB, and those that would be made at a time up to 64 MiB. */
TEST(convolutions_on_cards_need_no_memory_for_patches) {
    static const patches_case_t large = {"large", 20, 64, 64, 32, 3,           3,
                                         8,       1,  1,  1,  1,  {1, 1, 1, 1}};
    const gantry_logical_device_config_t card = {.memory_limit_bytes = 56 * MIB,
                                                 .max_work_group_size = 256};
    gantry_runtime_t *runtime = open_card(&card);
    assert_int_equal(gantry_profile_start(runtime, GANTRY_PROFILE_ON), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    const patches_t p = begin_case(scope, &large, GANTRY_FLOAT32);
    const gantry_tensor_t *filter = filter_of(&p), *grad = grad_of(&p), *images = images_of(&p);
    const gantry_tensor_t *of_filter =
        host_shape(&p, GANTRY_SHAPE(large.rows, large.columns, large.channels, large.outputs));
    const gantry_tensor_t *of_images =
        host_shape(&p, GANTRY_SHAPE(large.batch, large.height, large.width, large.channels));
    (void)call(&p, "Conv2D", false, (const gantry_tensor_t *[]){images, filter}, 2);
    (void)call(&p, "Conv2DBackpropFilter", false,
               (const gantry_tensor_t *[]){images, of_filter, grad}, 3);
    (void)call(&p, "Conv2DBackpropInput", false,
               (const gantry_tensor_t *[]){of_images, filter, grad}, 3);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    check_no_patches(runtime, 1);
    gantry_runtime_release(runtime);
}

TEST(numbers_that_the_text_does_not_hold_take_patches) {
    static const int64_t far = (INT64_C(1) << 29) - 5;
    const patches_case_t apart = {
        "an element 2^29 rows away", 1, 4, 5, 3, 2, 3, 6, 1, 1, far, 1, {far, 0, 1, 1}};
    const patches_case_t beyond = {
        "steps beyond the images", 2, 3, 4, 3, 2, 2, 6, 5, 7, 1, 1, {0, 0, 0, 0}};
    gantry_runtime_t *runtime = open_card(&cards[0]);
    assert_int_equal(gantry_profile_start(runtime, GANTRY_PROFILE_ON), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    patches_t p = begin_case(scope, &beyond, GANTRY_FLOAT32);
    check_images(&p);
    assert_true(parts_of(runtime, "FoldImagePatches") > 0);
    assert_int_equal(parts_of(runtime, "ExtractImagePatches"), 0);
    p = begin_case(scope, &apart, GANTRY_FLOAT32);
    check_forward(&p);
    check_filter(&p);
    check_images(&p);
    assert_true(parts_of(runtime, "ExtractImagePatches") >= 3);
    assert_int_equal(parts_of(runtime, "_ImagesGradient"), 0);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread", 1);
    const int code = skip_without_opencl();
    return code != 0 ? code : test_main();
}
