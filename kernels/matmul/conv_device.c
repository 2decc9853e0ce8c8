/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and their gradients on GPUs, for every floating type: ConvolveImages,
 * _FusedConvolveImages, _ImagesFilterGradient and _ImagesGradient as products of patches that are
 * in no memory (matmul_patches.cl). They have the bits of matmul.cl's products of patches. */
#include "kernels/common/device_kernel.h"
#include "kernels/matmul/matmul_patches.h"
#include "kernels/window/window_shape.h"

#define MOST_SIZE ((INT64_C(1) << 29) - 1)

typedef gantry__patches_t patches_t;

/* ---- sizes ---- */

/* Whether one dimension's numbers suit the device text: its sums of a place and an element must
 * have 29 bits, so that NOWHERE and any of them is below 0. */
static bool conv_device_suits(int64_t size, int64_t places, int64_t elements, int64_t step,
                              int64_t spread, int64_t before) {
    return size <= MOST_SIZE && places <= MOST_SIZE && elements <= MOST_SIZE && step <= MOST_SIZE &&
           spread <= MOST_SIZE && before <= MOST_SIZE &&
           (places - 1) * step + (elements - 1) * spread < MOST_SIZE;
}

/* The geometry of `places` results, whose channels are last, over the windows of `images`. */
static void conv_device_read(const gantry_op_call_t *call, const gantry_arg_t *images,
                             const gantry_arg_t *places, const int64_t *filter,
                             gantry__windows_t *out) {
    static const gantry__window_names_t names = {"strides", "dilations", NULL};
    gantry__window_fill(call, &names, images, places, filter[0], filter[1], out);
    out->depth = filter[3];
}

static bool conv_device_takes(const gantry_op_call_t *call, const gantry_arg_t *images,
                              const gantry_arg_t *places, const int64_t *filter) {
    gantry__windows_t w;
    if (gantry__k_is_serial(call) || images->element_count == 0 || places->element_count == 0)
        return false;
    conv_device_read(call, images, places, filter, &w);
    return w.channels == filter[2] && /* no groups */
           conv_device_suits(w.height, w.out_height, w.rows, w.step_y, w.spread_y, w.top) &&
           conv_device_suits(w.width, w.out_width, w.columns, w.step_x, w.spread_x, w.left) &&
           images->element_count / w.channels <= INT32_MAX &&
           places->element_count / w.depth <= INT32_MAX && w.depth <= INT32_MAX &&
           w.step_y * w.step_x <= INT32_MAX && w.rows * w.columns <= INT32_MAX / w.channels;
}

/* ---- products ---- */

static patches_t conv_device_patches(const gantry__windows_t *w) {
    const int64_t area = w->height * w->width;
    const bool is_planar = (w->planar & 1) != 0;
    return (patches_t){.height = w->height,
                       .width = w->width,
                       .image = area * w->channels,
                       .row = is_planar ? w->width : w->width * w->channels,
                       .pixel = is_planar ? 1 : w->channels,
                       .channel = is_planar ? area : 1,
                       .places_y = w->out_height,
                       .places_x = w->out_width,
                       .step_y = w->step_y,
                       .step_x = w->step_x,
                       .top = w->top,
                       .left = w->left,
                       .rows = w->rows,
                       .columns = w->columns,
                       .channels = w->channels,
                       .spread_y = w->spread_y,
                       .spread_x = w->spread_x,
                       .out_height = w->height,
                       .out_width = w->width};
}

/* The places of the results, rows of a product with `outputs` columns. */
static gantry__matmul_shape_t conv_device_shape(int64_t rows, int64_t columns, int64_t depth) {
    return (gantry__matmul_shape_t){.m = rows,
                                    .n = columns,
                                    .k = depth,
                                    .b_row = columns,
                                    .b_column = 1,
                                    .c_row = columns,
                                    .c_column = 1,
                                    .batches = 1};
}

static int32_t conv_device_supports(const gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    int64_t dims[4];
    const gantry_arg_t places = gantry__window_result_arg(call, dims);
    return !gantry__window_is_without_padding(call) && gantry__epilogue_read_any(call, &epilogue) &&
           conv_device_takes(call, call->inputs[0], &places, call->inputs[1]->dims);
}

static int32_t conv_device_compute(gantry_op_call_t *call) {
    gantry__product_t product = {.a = call->inputs[0], .b = call->inputs[1]};
    int64_t dims[4];
    const gantry_arg_t places = gantry__window_result_arg(call, dims);
    gantry__windows_t w;
    conv_device_read(call, product.a, &places, product.b->dims, &w);
    (void)gantry__epilogue_read_any(call, &product.epilogue);
    product.kind = w.planar != 0 ? GANTRY__PATCHES_CHANNELS_FIRST : GANTRY__PATCHES_CHANNELS_LAST;
    product.patches = conv_device_patches(&w);
    product.shape =
        conv_device_shape(places.element_count / w.depth, w.depth, w.rows * w.columns * w.channels);
    if (places.dims == dims) {
        product.shape.c_column = w.out_height * w.out_width;
        product.shape.c_batch = w.depth * product.shape.c_column;
    }
    return gantry__matmul_device_launch(call, &product);
}

static int32_t conv_device_supports_filter(const gantry_op_call_t *call) {
    return conv_device_takes(call, call->inputs[0], call->inputs[2], call->outputs[0]->dims);
}

static int32_t conv_device_compute_filter(gantry_op_call_t *call) {
    gantry__product_t product = {
        .a = call->inputs[0], .b = call->inputs[2], .kind = GANTRY__PATCHES_TRANSPOSED};
    gantry__windows_t w;
    conv_device_read(call, product.a, product.b, call->outputs[0]->dims, &w);
    product.patches = conv_device_patches(&w);
    product.shape = conv_device_shape(w.rows * w.columns * w.channels, w.depth,
                                      product.b->element_count / w.depth);
    return gantry__matmul_device_launch(call, &product);
}

static int32_t conv_device_supports_images(const gantry_op_call_t *call) {
    return conv_device_takes(call, call->outputs[0], call->inputs[2], call->inputs[1]->dims);
}

/* A batch has the pixels of one pair of remainders by the steps. */
static int32_t conv_device_compute_images(gantry_op_call_t *call) {
    gantry__product_t product = {
        .a = call->inputs[2], .b = call->inputs[1], .kind = GANTRY__PATCHES_OF_RESULT};
    patches_t *p = &product.patches;
    const gantry_arg_t *images = call->outputs[0];
    gantry__windows_t w;
    conv_device_read(call, images, product.a, product.b->dims, &w);
    *p = conv_device_patches(&w);
    p->height = w.out_height;
    p->width = w.out_width;
    p->pixel = w.depth;
    p->row = w.out_width * w.depth;
    p->image = w.out_height * p->row;
    p->places_y = (w.height + w.step_y - 1) / w.step_y;
    p->places_x = (w.width + w.step_x - 1) / w.step_x;
    product.shape =
        conv_device_shape(images->dims[0] * p->places_y * p->places_x, w.channels, w.depth);
    product.shape.b_row = 1;
    product.shape.b_column = w.depth;
    product.shape.batches = w.step_y * w.step_x;
    return gantry__matmul_device_launch(call, &product);
}

/* ---- the kernels ---- */

static const char *const conv_device_filter_hosts[] = {"filter_sizes"};
static const char *const conv_device_images_hosts[] = {"input_sizes"};
static const gantry_kernel_def_t convolution =
    GANTRY_K_DEFINITION("ConvolveImages", gantry__k_floating_type, 1, NULL, 0,
                        .supports = conv_device_supports, .compute = conv_device_compute);
static const gantry_kernel_def_t fused_convolution = GANTRY_K_DEFINITION(
    "_FusedConvolveImages", gantry__k_floating_type, 1, NULL, 0, .supports = conv_device_supports,
    .compute = conv_device_compute, .data = &convolution);
static const gantry_kernel_def_t filter_gradient = GANTRY_K_DEFINITION(
    "_ImagesFilterGradient", gantry__k_floating_type, 1, conv_device_filter_hosts, 1,
    .supports = conv_device_supports_filter, .compute = conv_device_compute_filter);
static const gantry_kernel_def_t images_gradient = GANTRY_K_DEFINITION(
    "_ImagesGradient", gantry__k_floating_type, 1, conv_device_images_hosts, 1,
    .supports = conv_device_supports_images, .compute = conv_device_compute_images);
static const gantry_kernel_def_t *const conv_kernels[] = {&convolution, &fused_convolution,
                                                          &filter_gradient, &images_gradient};
GANTRY_K_PACK(conv, "portable/conv", conv_kernels);
