/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and their gradients as matrix products and sums of windows.
 *
 *     patches [n * y * x, rows * columns * channels]
 *     x filter [rows * columns * channels, outputs]
 *
 * Processors multiply without patches: ConvolveImages is one kernel there, and so it is on cards
 * whose library convolves images of these sizes. Other cards multiply patches by their libraries.
 * The transposed convolution adds up patches (FoldImagePatches) that the transposed product makes.
 * On processors with steps of 1 it is instead a convolution of the result with the filter after
 * half a turn.
 *
 * The gradient of a filter is the product of the patches, transposed, and the result's gradient;
 * processors and such libraries need no patches for it (_ImagesFilterGradient), and these libraries
 * none for the gradient of images (_ImagesGradient). A depthwise convolution's image
 * gets its gradient by a depthwise convolution, or by patches that are added up. AvgPool is a
 * depthwise convolution whose weights are 1 / the number of elements inside the image.
 *
 * Patches are rows * columns times as large as the images, so PATCH_BYTES limits the images that
 * are processed at a time. A window of one element that skips nothing needs no patches. With
 * groups, the product is a batch of one per group, for single pixels in place (_GroupedMatMul),
 * where no library convolves groups.
 * Channels that come first are moved to the end before, and back after. */
#include <gantry/op.h>
#include <gantry/ops.h>

#include <string.h>

#include "device/logical_device.h"
#include "op/op_infer_window.h"
#include "run/call_op.h"
#include "compose/compose_conv.h"
#include "run/dispatch.h"
#include "run/tensor_state.h"

typedef const gantry_tensor_t tensor;

#define PATCH_BYTES (INT64_C(64) << 20)
#define MOST_IN_PLACE 65536 /* multiplications of a group for a pixel, on a card */
#define MOST_BLOCKS 60      /* the most blocks of images: Concat takes no more */

typedef gantry__conv_t conv_t;

/* ---- lists and shapes in the order of NHWC ---- */

static const int compose_conv_order[2][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}};

static void compose_conv_read_four(const conv_t *conv, const char *name, int64_t out[4]) {
    const gantry_attr_t *attr = gantry__infer_attr(conv->c->call, name);
    for (int d = 0; d < 4; ++d)
        out[d] = attr && attr->i == 4 ? attr->list[compose_conv_order[conv->channels_first][d]] : 1;
}

static void read_pads(conv_t *conv) {
    const gantry_attr_t *attr = gantry__infer_attr(conv->c->call, "explicit_paddings");
    conv->has_pads = attr && attr->i == 8;
    for (int d = 0; conv->has_pads && d < 4; ++d) {
        const int from = compose_conv_order[conv->channels_first][d];
        conv->pads[2 * d] = attr->list[2 * from];
        conv->pads[2 * d + 1] = attr->list[2 * from + 1];
    }
}

static gantry_shape_t last(const conv_t *conv, const gantry_shape_t *shape) {
    const int64_t *d = shape->dims;
    return conv->channels_first ? GANTRY_SHAPE(d[0], d[2], d[3], d[1]) : *shape;
}

tensor *gantry__conv_to_last(const conv_t *conv, tensor *x) {
    static const int32_t order[] = {0, 2, 3, 1};
    return conv->channels_first ? gantry_transpose(conv->scope, x, order) : x;
}

tensor *gantry__conv_to_first(const conv_t *conv, tensor *x) {
    static const int32_t order[] = {0, 3, 1, 2};
    return conv->channels_first ? gantry_transpose(conv->scope, x, order) : x;
}

conv_t gantry__conv_read(const gantry__compose_t *c, const gantry_shape_t *image,
                         const gantry_shape_t *filter, const gantry_shape_t *places) {
    conv_t conv = {.c = c,
                   .scope = c->scope,
                   .channels_first = gantry__infer_attr(c->call, "data_format")->s[1] == 'C',
                   .rows = filter->dims[0],
                   .columns = filter->dims[1],
                   .channels = filter->dims[2],
                   .outputs = filter->dims[3],
                   .padding = gantry__infer_attr(c->call, "padding")->s};
    conv.image = last(&conv, image);
    conv.places = last(&conv, places);
    conv.groups = conv.image.dims[3] / conv.channels;
    compose_conv_read_four(&conv, "strides", conv.strides);
    compose_conv_read_four(&conv, "dilations", conv.rates);
    read_pads(&conv);
    return conv;
}

/* ---- patches ---- */

static size_t patch_attrs(const conv_t *conv, const int64_t sizes[4], gantry_attr_value_t out[5]) {
    out[0] = gantry__attr_ints("ksizes", sizes, 4);
    out[1] = gantry__attr_ints("strides", conv->strides, 4);
    out[2] = gantry__attr_ints("rates", conv->rates, 4);
    out[3] = gantry__attr_text("padding", conv->padding);
    out[4] = gantry__attr_ints("explicit_paddings", conv->pads, 8);
    return conv->has_pads ? 5 : 4;
}

static tensor *make_patches(const conv_t *conv, tensor *images) {
    const int64_t sizes[] = {1, conv->rows, conv->columns, 1};
    gantry_attr_value_t attrs[6];
    if (gantry__conv_sees_pixels(conv)) return images;
    size_t count = patch_attrs(conv, sizes, attrs);
    if (conv->reads_planes) attrs[count++] = gantry__attr_text("input_format", "NCHW");
    return gantry__call_op(conv->scope, GANTRY__OP_ID_ExtractImagePatches, &images, 1, attrs, count,
                           NULL);
}

/* ---- the product ---- */

/* The product of patches and filter, or of a group's. `columns` is the shape of the filter's zero
 * points there. */
static tensor *compose_conv_multiply(const conv_t *conv, tensor *a, tensor *b,
                                     gantry_shape_t columns) {
    tensor *inputs[4] = {a, b, conv->zero[0], conv->zero[1]};
    if (conv->c->call->op->id != GANTRY__OP_ID_ConvInteger)
        return gantry_matmul(conv->scope, a, b, NULL);
    const gantry_attr_value_t out =
        gantry__attr_type("Tout", (gantry_dtype_t)conv->c->call->out_dtypes[0]);
    const bool has_columns = conv->zero[1] && conv->zero[1]->shape.rank == 1;
    if (has_columns && conv->zero[1]->shape.dims[0] == conv->outputs)
        inputs[3] = gantry_reshape(conv->scope, conv->zero[1], columns);
    return gantry__call_op(conv->scope, GANTRY__OP_ID_MatMulInteger, inputs,
                           conv->zero[1]   ? 4
                           : conv->zero[0] ? 3
                                           : 2,
                           &out, 1, NULL);
}

/* Turns [places, window, groups, x] into [groups, places, window * x]. */
static tensor *split_groups(const conv_t *conv, tensor *x, gantry_shape_t four,
                            const int32_t *order, int64_t rows, int64_t columns) {
    tensor *parts = gantry_transpose(conv->scope, gantry_reshape(conv->scope, x, four), order);
    return gantry_reshape(conv->scope, parts, GANTRY_SHAPE(conv->groups, rows, columns));
}

/* Patches as [groups, places, window * channels]. */
static tensor *patch_groups(const conv_t *conv, tensor *patches, int64_t places) {
    static const int32_t order[] = {2, 0, 1, 3};
    const int64_t window = conv->rows * conv->columns;
    return split_groups(conv, patches, GANTRY_SHAPE(places, window, conv->groups, conv->channels),
                        order, places, window * conv->channels);
}

/* The filter as [groups, window * channels, outputs of a group]. */
static tensor *filter_groups(const conv_t *conv, tensor *filter) {
    static const int32_t order[] = {2, 0, 1, 3};
    const int64_t window = conv->rows * conv->columns, each = conv->outputs / conv->groups;
    return split_groups(conv, filter, GANTRY_SHAPE(window, conv->channels, conv->groups, each),
                        order, window * conv->channels, each);
}

/* Turns [places, outputs] into [groups, places, outputs of a group]. */
static tensor *result_groups(const conv_t *conv, tensor *result, int64_t places) {
    static const int32_t order[] = {1, 0, 2};
    const int64_t each = conv->outputs / conv->groups;
    return gantry_transpose(
        conv->scope, gantry_reshape(conv->scope, result, GANTRY_SHAPE(places, conv->groups, each)),
        order);
}

/* Turns [groups, a * b, x] into [a, b, groups, x]. */
static tensor *compose_conv_join_groups(const conv_t *conv, tensor *parts, int64_t a, int64_t b,
                                        int64_t x) {
    static const int32_t order[] = {1, 2, 0, 3};
    return gantry_transpose(conv->scope,
                            gantry_reshape(conv->scope, parts, GANTRY_SHAPE(conv->groups, a, b, x)),
                            order);
}

static tensor *multiply_groups(const conv_t *conv, tensor *patches, tensor *filter,
                               int64_t places) {
    static const int32_t back[] = {1, 0, 2};
    tensor *product = compose_conv_multiply(
        conv, patch_groups(conv, patches, places), filter_groups(conv, filter),
        GANTRY_SHAPE(conv->groups, 1, conv->outputs / conv->groups));
    return gantry_transpose(conv->scope, product, back);
}

/* Whether groups are multiplied in place. A card's library pays for moving large ones. */
static bool goes_in_place(const conv_t *conv, gantry_dtype_t dtype) {
    const gantry_logical_device_t *device =
        gantry__conv_find_device(conv, GANTRY__OP_ID__GroupedMatMul, dtype);
    return device && device == gantry__conv_find_device(conv, GANTRY__OP_ID_BatchMatMul, dtype) &&
           (device->info.type == GANTRY_DEVICE_TYPE_CPU ||
            conv->channels * conv->outputs / conv->groups <= MOST_IN_PLACE);
}

/* Whether ConvolveImages takes the call, on a processor. */
static bool goes_without_patches(const conv_t *conv, gantry_dtype_t dtype) {
    if (conv->groups > 1 || gantry__conv_sees_pixels(conv) ||
        (dtype != GANTRY_FLOAT32 && dtype != GANTRY_FLOAT64))
        return false;
    const gantry_logical_device_t *device =
        gantry__conv_find_device(conv, GANTRY__OP_ID_ConvolveImages, dtype);
    return device && gantry__logical_is_processor(device);
}

/* The product of pixels and a filter of one pixel, without moving the groups. */
static tensor *multiply_pixels(const conv_t *conv, tensor *images, tensor *filter, int64_t places) {
    tensor *inputs[] = {
        gantry_reshape(conv->scope, images, GANTRY_SHAPE(places, conv->groups, conv->channels)),
        gantry_reshape(conv->scope, filter, GANTRY_SHAPE(conv->channels, conv->groups, -1))};
    return gantry__call_op(conv->scope, GANTRY__OP_ID__GroupedMatMul, inputs, 2, NULL, 0, NULL);
}

static tensor *compose_conv_convolve(const conv_t *conv, tensor *images, tensor *filter,
                                     int64_t batch) {
    const int64_t places = batch * conv->places.dims[1] * conv->places.dims[2];
    const int64_t each = conv->rows * conv->columns * conv->channels;
    tensor *patches = make_patches(conv, images), *product;
    if (conv->groups > 1 && gantry__conv_sees_pixels(conv) &&
        goes_in_place(conv, conv->c->call->out_dtypes[0])) {
        product = multiply_pixels(conv, images, filter, places);
    } else if (conv->groups > 1) {
        product = multiply_groups(conv, patches, filter, places);
    } else {
        tensor *a = gantry_reshape(conv->scope, patches, GANTRY_SHAPE(places, each));
        tensor *b = gantry_reshape(conv->scope, filter, GANTRY_SHAPE(each, conv->outputs));
        product = compose_conv_multiply(conv, a, b, GANTRY_SHAPE(1, conv->outputs));
    }
    return gantry_reshape(
        conv->scope, product,
        GANTRY_SHAPE(batch, conv->places.dims[1], conv->places.dims[2], conv->outputs));
}

static tensor *convolve_images(const conv_t *conv, tensor *images, tensor *filter,
                               bool without_padding) {
    tensor *inputs[] = {images, filter};
    gantry_attr_value_t attrs[7];
    size_t attr_count = gantry__conv_attrs(conv, attrs);
    if (without_padding) attrs[attr_count++] = gantry__attr_bool("without_padding", true);
    if (conv->reads_planes) attrs[attr_count++] = gantry__attr_text("input_format", "NCHW");
    if (conv->gives_planes) attrs[attr_count++] = gantry__attr_text("output_format", "NCHW");
    return gantry__call_op(conv->scope, GANTRY__OP_ID_ConvolveImages, inputs, 2, attrs, attr_count,
                           NULL);
}

/* The number of images whose patches are made at once. */
static int64_t images_at_once(const conv_t *conv) {
    const double bytes = (double)conv->places.dims[1] * (double)conv->places.dims[2] *
                         (double)(conv->rows * conv->columns) * (double)conv->image.dims[3] *
                         (double)gantry_dtype_size(conv->c->inputs[0]->dtype);
    const int64_t batch = conv->image.dims[0], least = (batch + MOST_BLOCKS - 1) / MOST_BLOCKS;
    const double fit = bytes > 0 ? (double)PATCH_BYTES / bytes : (double)batch;
    const int64_t most = fit >= (double)batch || gantry__conv_sees_pixels(conv) ? batch
                         : fit < 1.0                                            ? 1
                                                                                : (int64_t)fit;
    return most > least ? most : least;
}

static tensor *convolve_in_blocks(const conv_t *conv, tensor *images, tensor *filter) {
    const int64_t batch = conv->image.dims[0], step = images_at_once(conv);
    tensor *blocks[MOST_BLOCKS];
    size_t count = 0;
    if (conv->at_once || goes_without_patches(conv, conv->c->call->out_dtypes[0]))
        return convolve_images(conv, images, filter, false);
    if (step >= batch) return compose_conv_convolve(conv, images, filter, batch);
    for (int64_t first = 0; first < batch; first += step) {
        const int64_t size = batch - first < step ? batch - first : step;
        const int64_t begin[] = {first, 0, 0, 0};
        const int64_t sizes[] = {size, conv->image.dims[1], conv->image.dims[2],
                                 conv->image.dims[3]};
        blocks[count++] = compose_conv_convolve(
            conv, gantry_slice(conv->scope, images, begin, sizes), filter, size);
    }
    return gantry_concat(conv->scope, blocks, count, 0);
}

/* Whether one product takes the images and gives the result with their channels first. */
static bool multiplies_planes(const conv_t *conv, gantry_dtype_t dtype) {
    if (!conv->channels_first || conv->scope->trace || conv->zero[0] || conv->groups > 1 ||
        conv->c->call->op->id == GANTRY__OP_ID_ConvInteger || !gantry__conv_sees_pixels(conv))
        return false;
    const gantry_logical_device_t *device =
        gantry__conv_find_device(conv, GANTRY__OP_ID__FusedMatMul, dtype);
    return device && device->synchronous;
}

static tensor *multiply_planes(const conv_t *conv, tensor *images, tensor *filter) {
    tensor *inputs[] = {
        images, gantry_reshape(conv->scope, filter, GANTRY_SHAPE(conv->channels, conv->outputs))};
    const gantry_attr_value_t attrs[] = {gantry__attr_ints("program", NULL, 0),
                                         gantry__attr_ints("places", &conv->places.dims[1], 2)};
    return gantry__call_op(conv->scope, GANTRY__OP_ID__FusedMatMul, inputs, 2, attrs, 2, NULL);
}

/* Leaves out transposes of images whose channels come first. In a body the layout pass does so,
 * because other transposes may cancel. */
static void compose_conv_leave_out_transposes(conv_t *conv) {
    const gantry_dtype_t dtype = conv->c->call->out_dtypes[0];
    if (!conv->channels_first || conv->scope->trace || conv->zero[0] ||
        (conv->groups > 1 && !conv->at_once))
        return;
    const bool has_patches = !conv->at_once && !goes_without_patches(conv, dtype);
    conv->gives_planes = !has_patches;
    if (conv->at_once) conv->reads_planes = true;
    if (conv->at_once) return;
    conv->reads_planes =
        conv->channels <= GANTRY__WINDOW_MOST_PLANES && !gantry__conv_sees_pixels(conv) &&
        (has_patches
             ? images_at_once(conv) >= conv->image.dims[0]
             : gantry__conv_find_device(conv, GANTRY__OP_ID_ConvolveImages, dtype)->synchronous);
}

static int64_t compose_conv_padding_before(const conv_t *conv, int d, int64_t reach) {
    return conv->has_pads ? conv->pads[2 * d] : strcmp(conv->padding, "SAME") == 0 ? reach / 2 : 0;
}

int64_t gantry__conv_windows_end(const conv_t *conv, int d) {
    const int64_t size = d == 1 ? conv->rows : conv->columns;
    return (conv->places.dims[d] - 1) * conv->strides[d] + (size - 1) * conv->rates[d] + 1;
}

void gantry__conv_set_pads(conv_t *conv) {
    const bool is_same = strcmp(conv->padding, "SAME") == 0;
    for (int d = 1; d <= 2; ++d) {
        const int64_t beyond = gantry__conv_windows_end(conv, d) - conv->image.dims[d];
        if (is_same) conv->pads[2 * d] = beyond > 0 ? beyond / 2 : 0;
        const int64_t after = beyond - conv->pads[2 * d];
        conv->pads[2 * d + 1] = after > 0 ? after : 0;
    }
    conv->padding = "EXPLICIT";
    conv->has_pads = true;
}

/* `count` lines of zero points along dimension d of the images, which `shape` describes. */
static tensor *zero_lines(const conv_t *conv, gantry_shape_t shape, int d, int64_t count) {
    shape.dims[d] = count;
    const gantry_shape_t dims = GANTRY_SHAPE(4), none = {.rank = 0};
    tensor *inputs[] = {gantry__compose_host(conv->c, GANTRY_INT64, &dims, shape.dims),
                        gantry_reshape(conv->scope, conv->zero[0], none)};
    return gantry__call_op(conv->scope, GANTRY__OP_ID_Fill, inputs, 2, NULL, 0, NULL);
}

/* The images with their padding, which is the zero point: patches would be padded with 0. */
static tensor *pad_with_zero_point(conv_t *conv, tensor *images) {
    gantry__conv_set_pads(conv);
    for (int d = 1; d <= 2; ++d) {
        const int64_t before = conv->pads[2 * d], after = conv->pads[2 * d + 1];
        tensor *parts[3];
        size_t count = 0;
        if (before + after == 0) continue;
        if (before > 0) parts[count++] = zero_lines(conv, conv->image, d, before);
        parts[count++] = images;
        if (after > 0) parts[count++] = zero_lines(conv, conv->image, d, after);
        images = gantry_concat(conv->scope, parts, count, d);
        conv->image.dims[d] += before + after;
    }
    conv->padding = "VALID";
    conv->has_pads = false;
    return images;
}

static void compose_conv_forward(const gantry__compose_t *c, tensor *image_zero,
                                 tensor *filter_zero) {
    const gantry_shape_t *out = &c->call->out_shapes[0];
    conv_t conv = gantry__conv_read(c, &c->inputs[0]->shape, &c->inputs[1]->shape, out);
    conv.zero[0] = image_zero;
    conv.zero[1] = filter_zero;
    if (gantry_shape_elements(out) == 0 || conv.image.dims[3] == 0) {
        /* a sum over no channels is 0 */
        c->outputs[0] = gantry_zeros(c->scope, c->call->out_dtypes[0], *out);
        return;
    }
    if (multiplies_planes(&conv, c->call->out_dtypes[0])) {
        c->outputs[0] = multiply_planes(&conv, c->inputs[0], c->inputs[1]);
        return;
    }
    const gantry_shape_t *const shapes[] = {&conv.image, &c->inputs[1]->shape};
    conv.at_once =
        gantry__conv_at_once(&conv, GANTRY__OP_ID_ConvolveImages, shapes, 2, GANTRY__CONV_NO_HOST);
    compose_conv_leave_out_transposes(&conv);
    tensor *images = conv.reads_planes ? c->inputs[0] : gantry__conv_to_last(&conv, c->inputs[0]);
    if (image_zero) images = pad_with_zero_point(&conv, images);
    tensor *result = convolve_in_blocks(&conv, images, c->inputs[1]);
    c->outputs[0] = conv.gives_planes ? result : gantry__conv_to_first(&conv, result);
}

void gantry__compose_conv_2d(const gantry__compose_t *c) { compose_conv_forward(c, NULL, NULL); }

void gantry__compose_conv_integer(const gantry__compose_t *c) {
    const uint32_t count = c->call->input_count;
    compose_conv_forward(c, count > 2 ? c->inputs[2] : NULL, count > 3 ? c->inputs[3] : NULL);
}

/* ---- the transposed convolution ---- */

/* With steps of 1 the images are themselves a convolution, of the result with the filter after half
 * a turn. False with other steps, and if the padding exceeds the window's reach, so that some
 * windows are only in the padding. */
static bool compose_conv_turn(const conv_t *conv, conv_t *out) {
    *out = *conv;
    out->channels = conv->outputs;
    out->outputs = conv->channels;
    out->image = conv->places;
    out->places = conv->image;
    out->padding = "EXPLICIT";
    out->has_pads = true;
    for (int d = 1; d <= 2; ++d) {
        const int64_t reach = ((d == 1 ? conv->rows : conv->columns) - 1) * conv->rates[d];
        const int64_t before = compose_conv_padding_before(conv, d, reach);
        out->pads[2 * d] = reach - before;
        out->pads[2 * d + 1] = conv->image.dims[d] - conv->places.dims[d] + before;
        if (conv->strides[d] != 1 || out->pads[2 * d] < 0 || out->pads[2 * d + 1] < 0) return false;
    }
    return true;
}

static tensor *convolve_turned(const conv_t *turned, tensor *filter, tensor *result) {
    static const int32_t order[] = {0, 1, 3, 2}, axes[] = {0, 1};
    tensor *around =
        gantry_reverse(turned->scope, gantry_transpose(turned->scope, filter, order), axes, 2);
    return convolve_images(turned, result, around, true);
}

static tensor *fold(const conv_t *conv, tensor *patches) {
    const int64_t sizes[] = {1, conv->rows, conv->columns, 1};
    gantry__extras_t extras = {.count = 0};
    gantry_attr_value_t attrs[5];
    size_t count = patch_attrs(conv, sizes, attrs);
    tensor *inputs[] = {patches, gantry__add_host_shape(&extras, conv->scope, &conv->image)};
    return gantry__call_op(conv->scope, GANTRY__OP_ID_FoldImagePatches, inputs, 2, attrs, count,
                           &extras);
}

static tensor *compose_conv_transposed(const conv_t *conv, tensor *filter, tensor *result) {
    const gantry_matmul_options_t transposed = {.transpose_b = true};
    conv_t around;
    if (!gantry__conv_sees_pixels(conv) && compose_conv_turn(conv, &around) &&
        goes_without_patches(&around, conv->c->call->out_dtypes[0])) {
        return convolve_turned(&around, filter, result);
    }
    const int64_t *p = conv->places.dims, places = p[0] * p[1] * p[2],
                  window = conv->rows * conv->columns, each = window * conv->channels;
    tensor *patches;
    if (conv->groups > 1) {
        patches = gantry_matmul(conv->scope, result_groups(conv, result, places),
                                filter_groups(conv, filter), &transposed);
        patches = compose_conv_join_groups(conv, patches, places, window, conv->channels);
    } else {
        tensor *a = gantry_reshape(conv->scope, result, GANTRY_SHAPE(places, conv->outputs));
        tensor *b = gantry_reshape(conv->scope, filter, GANTRY_SHAPE(each, conv->outputs));
        patches = gantry_matmul(conv->scope, a, b, &transposed);
    }
    patches =
        gantry_reshape(conv->scope, patches, GANTRY_SHAPE(p[0], p[1], p[2], each * conv->groups));
    return gantry__conv_sees_pixels(conv) ? patches : fold(conv, patches);
}

bool gantry__conv_is_void(const gantry__compose_t *c, const gantry_shape_t *a,
                          const gantry_shape_t *b) {
    if (gantry_shape_elements(a) != 0 && gantry_shape_elements(b) != 0) return false;
    c->outputs[0] = gantry_zeros(c->scope, c->call->out_dtypes[0], c->call->out_shapes[0]);
    return true;
}

/* A gradient by one part, whose input `host` has the sizes of the result. */
static tensor *compose_conv_gradient(const conv_t *conv, gantry__op_id_t id,
                                     const gantry_shape_t *sizes, uint32_t host, tensor *x,
                                     tensor *result) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[3] = {x, x, result};
    gantry_attr_value_t attrs[4];
    int32_t dims[4];
    gantry__conv_write_sizes(sizes, dims);
    inputs[host] = gantry__add_host(&extras, conv->scope, GANTRY_INT32, GANTRY_SHAPE(4), dims);
    return gantry__call_op(conv->scope, id, inputs, 3, attrs, gantry__conv_attrs(conv, attrs),
                           &extras);
}

static void compose_transposed(const gantry__compose_t *c, tensor *filter, tensor *result) {
    const gantry_shape_t *image = &c->call->out_shapes[0];
    conv_t conv = gantry__conv_read(c, image, &filter->shape, &result->shape);
    const gantry_shape_t *const shapes[] = {&conv.image, &filter->shape, &conv.places};
    if (gantry__conv_is_void(c, image, &result->shape)) return;
    tensor *last_result = gantry__conv_to_last(&conv, result);
    tensor *images = gantry__conv_at_once(&conv, GANTRY__OP_ID__ImagesGradient, shapes, 3, 0)
                         ? compose_conv_gradient(&conv, GANTRY__OP_ID__ImagesGradient, &conv.image,
                                                 0, filter, last_result)
                         : compose_conv_transposed(&conv, filter, last_result);
    c->outputs[0] = gantry__conv_to_first(&conv, images);
}

void gantry__compose_conv_2d_backprop_input(const gantry__compose_t *c) {
    compose_transposed(c, c->inputs[1], c->inputs[2]);
}

void gantry__compose_conv_2d_transpose(const gantry__compose_t *c) {
    compose_transposed(c, c->inputs[1], c->inputs[0]);
}

/* ---- the gradient of the filter ---- */

/* The gradient that `batch` images add: their patches, transposed, times the result's gradient. The
 * patches may be in no memory. */
static tensor *compose_conv_filter_part(const conv_t *conv, tensor *images, tensor *result,
                                        int64_t batch) {
    const gantry_matmul_options_t transposed = {.transpose_a = true};
    const int64_t places = batch * conv->places.dims[1] * conv->places.dims[2],
                  each = conv->rows * conv->columns * conv->channels;
    if (conv->at_once)
        return compose_conv_gradient(conv, GANTRY__OP_ID__ImagesFilterGradient,
                                     &conv->c->call->out_shapes[0], 1, images, result);
    tensor *patches = make_patches(conv, images);
    if (conv->groups > 1) {
        tensor *product = gantry_matmul(conv->scope, patch_groups(conv, patches, places),
                                        result_groups(conv, result, places), &transposed);
        return compose_conv_join_groups(conv, product, conv->rows * conv->columns, conv->channels,
                                        conv->outputs / conv->groups);
    }
    tensor *a = gantry_reshape(conv->scope, patches, GANTRY_SHAPE(places, each)),
           *b = gantry_reshape(conv->scope, result, GANTRY_SHAPE(places, conv->outputs));
    return gantry_matmul(conv->scope, a, b, &transposed);
}

static tensor *compose_conv_piece(const conv_t *conv, tensor *x, int64_t first, int64_t size) {
    const int64_t begin[] = {first, 0, 0, 0}, sizes[] = {size, -1, -1, -1};
    return gantry__compose_widen(conv->c, gantry_slice(conv->scope, x, begin, sizes));
}

/* The portable kernel is called for the images whose patches would be made at once, because their
 * gradients are added in this order. */
static tensor *compose_conv_filter(conv_t *conv, tensor *images, tensor *result) {
    const gantry_dtype_t dtype = conv->c->call->out_dtypes[0]; /* an operand may be missing */
    const gantry_shape_t *filter = &conv->c->call->out_shapes[0];
    const gantry_shape_t *const shapes[] = {&conv->image, filter, &conv->places};
    conv->at_once = gantry__conv_at_once(conv, GANTRY__OP_ID__ImagesFilterGradient, shapes, 3, 1);
    if ((conv->at_once && conv->at_once->library) ||
        (goes_without_patches(conv, dtype) &&
         gantry__conv_find_device(conv, GANTRY__OP_ID__ImagesFilterGradient, dtype) ==
             gantry__conv_find_device(conv, GANTRY__OP_ID_ConvolveImages, dtype)))
        return compose_conv_gradient(conv, GANTRY__OP_ID__ImagesFilterGradient, filter, 1, images,
                                     result);
    const int64_t batch = conv->image.dims[0], step = images_at_once(conv);
    tensor *parts[MOST_BLOCKS];
    size_t count = 0;
    if (step >= batch) return compose_conv_filter_part(conv, images, result, batch);
    for (int64_t first = 0; first < batch; first += step) {
        const int64_t size = batch - first < step ? batch - first : step;
        parts[count++] =
            compose_conv_filter_part(conv, compose_conv_piece(conv, images, first, size),
                                     compose_conv_piece(conv, result, first, size), size);
    }
    return gantry__compose_narrow(conv->c, gantry_add_n(conv->scope, parts, count), dtype);
}

void gantry__compose_conv_2d_backprop_filter(const gantry__compose_t *c) {
    const gantry_shape_t *filter = &c->call->out_shapes[0];
    tensor *images = c->inputs[0], *result = c->inputs[2];
    conv_t conv = gantry__conv_read(c, &images->shape, filter, &result->shape);
    if (gantry__conv_is_void(c, &images->shape, &result->shape)) return;
    c->outputs[0] = gantry_reshape(c->scope,
                                   compose_conv_filter(&conv, gantry__conv_to_last(&conv, images),
                                                       gantry__conv_to_last(&conv, result)),
                                   *filter);
}

/* ---- gradients of windows that see one channel: depthwise convolutions, AvgPool ---- */

tensor *gantry__conv_channels(const conv_t *conv, tensor *images, tensor *filter) {
    tensor *inputs[] = {images, filter};
    gantry_attr_value_t attrs[4];
    const size_t attr_count = gantry__conv_attrs(conv, attrs);
    return gantry__call_op(conv->scope, GANTRY__OP_ID_DepthwiseConv2dNative, inputs, 2, attrs,
                           attr_count, NULL);
}

/* The gradient of the image: [places, channels] and a filter [rows, columns, channels, 1]. With
 * steps of 1 a convolution with the filter after half a turn, else patches that are added up. */
tensor *gantry__conv_spread_channels(const conv_t *conv, tensor *filter, tensor *result) {
    static const int32_t axes[] = {0, 1};
    const int64_t *p = conv->places.dims, channels = conv->image.dims[3],
                  window = conv->rows * conv->columns, places = p[0] * p[1] * p[2];
    conv_t around;
    if (compose_conv_turn(conv, &around))
        return gantry__conv_channels(&around, result, gantry_reverse(conv->scope, filter, axes, 2));
    tensor *patches = gantry_mul(
        conv->scope, gantry_reshape(conv->scope, result, GANTRY_SHAPE(places, 1, channels)),
        gantry_reshape(conv->scope, filter, GANTRY_SHAPE(window, channels)));
    return fold(conv, gantry_reshape(conv->scope, patches,
                                     GANTRY_SHAPE(p[0], p[1], p[2], window * channels)));
}

/* Channels are repeated for each of their outputs, so that every filter has a channel of its
 * own. */
static void compose_conv_repeat_channels(conv_t *conv) { conv->image.dims[3] *= conv->outputs; }

void gantry__compose_depthwise_backprop_input(const gantry__compose_t *c) {
    tensor *filter = c->inputs[1], *result = c->inputs[2];
    const gantry_shape_t *image = &c->call->out_shapes[0];
    conv_t conv = gantry__conv_read(c, image, &filter->shape, &result->shape);
    if (gantry__conv_is_void(c, image, &result->shape)) return;
    compose_conv_repeat_channels(&conv);
    const int64_t *d = conv.image.dims;
    tensor *own = gantry_reshape(c->scope, gantry__compose_widen(c, filter),
                                 GANTRY_SHAPE(conv.rows, conv.columns, d[3], 1));
    tensor *images = gantry__conv_spread_channels(
        &conv, own, gantry__compose_widen(c, gantry__conv_to_last(&conv, result)));
    if (conv.outputs > 1) {
        const gantry_shape_t apart = GANTRY_SHAPE(d[0], d[1], d[2], conv.channels, conv.outputs);
        static const int32_t axis = 4;
        const gantry_reduce_options_t over = {.axes = &axis, .axis_count = 1};
        images = gantry_sum(c->scope, gantry_reshape(c->scope, images, apart), &over);
    }
    c->outputs[0] = gantry__conv_to_first(&conv, gantry__compose_narrow(c, images, result->dtype));
}

static tensor *repeat_channels(const conv_t *conv, tensor *images) {
    const int64_t *d = conv->image.dims, channels = conv->channels, outputs = conv->outputs;
    if (outputs == 1) return images;
    tensor *one = gantry_reshape(conv->scope, images, GANTRY_SHAPE(d[0], d[1], d[2], channels, 1));
    tensor *all =
        gantry_broadcast_to(conv->scope, one, GANTRY_SHAPE(d[0], d[1], d[2], channels, outputs));
    return gantry_reshape(conv->scope, all, conv->image);
}

void gantry__compose_depthwise_backprop_filter(const gantry__compose_t *c) {
    tensor *images = c->inputs[0], *result = c->inputs[2];
    const gantry_shape_t *filter = &c->call->out_shapes[0];
    conv_t conv = gantry__conv_read(c, &images->shape, filter, &result->shape);
    if (gantry__conv_is_void(c, &images->shape, &result->shape)) return;
    compose_conv_repeat_channels(&conv);
    static const int32_t axis = 0;
    const gantry_shape_t own = GANTRY_SHAPE(conv.rows, conv.columns, conv.image.dims[3], 1);
    const gantry_reduce_options_t over = {.axes = &axis, .axis_count = 1};
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {
        repeat_channels(&conv, gantry__compose_widen(c, gantry__conv_to_last(&conv, images))),
        gantry__add_host_shape(&extras, c->scope, &own),
        gantry__compose_widen(c, gantry__conv_to_last(&conv, result))};
    gantry_attr_value_t attrs[4];
    const size_t attr_count = gantry__conv_attrs(&conv, attrs);
    tensor *parts = gantry__call_op(c->scope, GANTRY__OP_ID_DepthwiseFilterParts, inputs, 3, attrs,
                                    attr_count, &extras);
    c->outputs[0] = gantry_reshape(
        c->scope, gantry__compose_narrow(c, gantry_sum(c->scope, parts, &over), images->dtype),
        *filter);
}
