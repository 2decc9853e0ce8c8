/* SPDX-License-Identifier: Apache-2.0 */
/* Col2Im: columns of windows are added up at the windows' places in the image, of any number of
 * spatial dimensions. Each element of a column has the number of its pixel, or -1 in the padding,
 * and the sum over equal numbers is the image. */
#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

#define MOST_SPATIAL (GANTRY_MAX_RANK - 2)

typedef struct col2im_t {
    size_t rank;
    int64_t image[MOST_SPATIAL], block[MOST_SPATIAL], count[MOST_SPATIAL], strides[MOST_SPATIAL],
        dilations[MOST_SPATIAL], pads[2 * MOST_SPATIAL];
    int64_t pixels, elements, windows; /* Products of image, block and count. */
} col2im_t;

static gantry_status_t col2im_list(gantry__onnx_call_t *call, const char *name, size_t count,
                                   int64_t fallback, int64_t *list) {
    size_t given_count;
    const int64_t *given = gantry__onnx_attr_ints(call, name, &given_count);
    if (given && given_count != count)
        return gantry__onnx_invalid(call, "%s has %zu numbers in place of %zu", name, given_count,
                                    count);
    for (size_t i = 0; i < count; ++i) {
        list[i] = given ? given[i] : fallback;
        if (list[i] < fallback || list[i] > INT32_MAX)
            return gantry__onnx_invalid(call, "%s has %lld; accepted are %lld to %d", name,
                                        (long long)list[i], (long long)fallback, INT32_MAX);
    }
    return GANTRY_OK;
}

static gantry_status_t read_col2im(gantry__onnx_call_t *call, col2im_t *of) {
    const int64_t *image, *block;
    size_t image_count, block_count;
    GANTRY__TRY(gantry__onnx_get_ints(call, 1, "image_shape", &image, &image_count));
    GANTRY__TRY(gantry__onnx_get_ints(call, 2, "block_shape", &block, &block_count));
    if (image_count != block_count || image_count == 0)
        return gantry__onnx_invalid(call, "image_shape has %zu and block_shape %zu sizes",
                                    image_count, block_count);
    if (image_count > MOST_SPATIAL)
        return gantry__onnx_unsupported(call, "%zu spatial dimensions; there are at most %d",
                                        image_count, MOST_SPATIAL);
    of->rank = image_count;
    of->pixels = of->elements = of->windows = 1;
    GANTRY__TRY(col2im_list(call, "strides", of->rank, 1, of->strides));
    GANTRY__TRY(col2im_list(call, "dilations", of->rank, 1, of->dilations));
    GANTRY__TRY(col2im_list(call, "pads", 2 * of->rank, 0, of->pads));
    for (size_t i = 0; i < of->rank; ++i) {
        if (image[i] < 1 || block[i] < 1 || image[i] > INT32_MAX || block[i] > INT32_MAX)
            return gantry__onnx_invalid(call, "an image size of %lld and a block size of %lld",
                                        (long long)image[i], (long long)block[i]);
        const int64_t room =
            image[i] + of->pads[i] + of->pads[i + of->rank] - (block[i] - 1) * of->dilations[i] - 1;
        of->image[i] = image[i];
        of->block[i] = block[i];
        of->count[i] = room < 0 ? 0 : room / of->strides[i] + 1;
        of->pixels *= image[i];
        of->elements *= block[i];
        of->windows *= of->count[i];
        if (of->pixels > INT32_MAX || of->elements > INT32_MAX || of->windows > INT32_MAX)
            return gantry__onnx_unsupported(call, "an image of more than 2^31 pixels");
    }
    return GANTRY_OK;
}

/* The pixel of an element of the block in a window; -1: it is in the padding. */
static int64_t pixel_of(const col2im_t *of, int64_t element, int64_t window) {
    int64_t pixel = 0, scale = 1;
    for (size_t i = of->rank; i-- > 0;) {
        const int64_t place = window % of->count[i] * of->strides[i] +
                              element % of->block[i] * of->dilations[i] - of->pads[i];
        if (place < 0 || place >= of->image[i]) return -1;
        pixel += place * scale;
        scale *= of->image[i];
        window /= of->count[i];
        element /= of->block[i];
    }
    return pixel;
}

gantry_status_t gantry__onnx_lower_col2_im(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    col2im_t of;
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(read_col2im(call, &of));
    if (shape->rank != 3 || shape->dims[1] % of.elements != 0 || shape->dims[2] != of.windows)
        return gantry__onnx_invalid(
            call,
            "columns [%lld, %lld] of %d dimensions, for blocks of %lld elements in %lld "
            "windows",
            shape->rank == 3 ? (long long)shape->dims[1] : 0LL,
            shape->rank == 3 ? (long long)shape->dims[2] : 0LL, (int)shape->rank,
            (long long)of.elements, (long long)of.windows);
    const int64_t batch = shape->dims[0], channels = shape->dims[1] / of.elements,
                  count = of.elements * of.windows;
    int64_t *numbers = gantry__onnx_scratch(call, (size_t)count, sizeof *numbers);
    if (!numbers) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < count; ++i) numbers[i] = pixel_of(&of, i / of.windows, i % of.windows);
    tensor *rows = gantry_transpose(
        call->scope, gantry_reshape(call->scope, x, GANTRY_SHAPE(batch * channels, count)),
        (const int32_t[]){1, 0});
    tensor *sums = gantry_unsorted_segment_sum(
        call->scope, rows, gantry__onnx_ints_of(call, GANTRY_INT64, numbers, GANTRY_SHAPE(count)),
        of.pixels);
    gantry_shape_t result = {.rank = (int32_t)of.rank + 2, .dims = {batch, channels}};
    for (size_t i = 0; i < of.rank; ++i) result.dims[2 + i] = of.image[i];
    return gantry__onnx_give(
        call, gantry_reshape(call->scope,
                             gantry_transpose(call->scope, sums, (const int32_t[]){1, 0}), result));
}
