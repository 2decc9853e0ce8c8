/* SPDX-License-Identifier: Apache-2.0 */
/* CropAndResize and its gradients: the boxes are on the device, so their pixels' places are made of
 * ops, in TensorFlow's order of operations.
 *
 *     at     [boxes, size]                      where the rows, or the columns, are in the image
 *     pixel  [boxes, height, width]             the number of the nearest pixel, or of those around
 *     crops  [boxes, height, width, channels]   rows of the image as a matrix, joined
 *
 * Places outside the image have the extrapolated value. */
#include <gantry/ops.h>

#include <string.h>

#include "compose/compose.h"
#include "run/call_op.h"
#include "run/tensor_state.h"

typedef const gantry_tensor_t tensor;

/* The rows, or the columns, of all crops. */
typedef struct crop_axis_t {
    int64_t source, size; /* in an image, and in a crop */
    tensor *low, *high;   /* int32 [boxes, size], inside the image */
    tensor *part;         /* how far the place is from low to high */
    tensor *is_inside;
} crop_axis_t;

typedef struct crop_t {
    const gantry__compose_t *c;
    gantry_scope_t *scope;
    tensor *boxes, *which; /* [boxes, 4], and the number of each one's image */
    const gantry_shape_t *image;
    int64_t count; /* of boxes */
    bool is_nearest;
    bool by_ratio; /* TensorFlow's order of operations in the gradient of boxes */
    crop_axis_t axes[2];
} crop_t;

static tensor *crop_scalar(const crop_t *crop, double value) {
    return gantry__compose_scalar(crop->c, GANTRY_FLOAT32, value);
}

/* The pixels of an image from one place of a crop to the next one, if the box is the image. */
static tensor *crop_ratio(const crop_t *crop, int d) {
    const crop_axis_t *axis = &crop->axes[d];
    return crop_scalar(crop, (double)((float)(axis->source - 1) / (float)(axis->size - 1)));
}

/* ---- places ---- */

/* Column k of the boxes, [boxes, 1]. */
static tensor *crop_edge(const crop_t *crop, int64_t k) {
    const int64_t begin[] = {0, k}, size[] = {-1, 1};
    return gantry_slice(crop->scope, crop->boxes, begin, size);
}

/* Where the rows (d is 0) or the columns (1) of each box are. */
static tensor *crop_places(const crop_t *crop, int d) {
    gantry_scope_t *s = crop->scope;
    const crop_axis_t *axis = &crop->axes[d];
    tensor *from = crop_edge(crop, d), *to = crop_edge(crop, d + 2);
    tensor *last = crop_scalar(crop, (double)(axis->source - 1));
    if (axis->size == 1)
        return gantry_mul(s, gantry_mul(s, crop_scalar(crop, 0.5), gantry_add(s, from, to)), last);
    tensor *reach = gantry_sub(s, to, from), *step;
    if (crop->by_ratio) {
        step = gantry_mul(s, reach, crop_ratio(crop, d));
    } else {
        step =
            gantry_div(s, gantry_mul(s, reach, last), crop_scalar(crop, (double)(axis->size - 1)));
    }
    tensor *numbers =
        gantry_cast(s, gantry__compose_range(crop->c, 0, axis->size, 1), GANTRY_FLOAT32);
    return gantry_add(s, gantry_mul(s, from, last), gantry_mul(s, numbers, step));
}

/* roundf: half away from zero; x is not negative. */
static tensor *crop_round(const crop_t *crop, tensor *x) {
    gantry_scope_t *s = crop->scope;
    tensor *whole = gantry_floor(s, x);
    tensor *is_half = gantry_greater_equal(s, gantry_sub(s, x, whole), crop_scalar(crop, 0.5));
    return gantry_add(s, whole, gantry_cast(s, is_half, GANTRY_FLOAT32));
}

static void crop_read_axis(crop_t *crop, int d) {
    gantry_scope_t *s = crop->scope;
    crop_axis_t *axis = &crop->axes[d];
    tensor *at = crop_places(crop, d), *zero = crop_scalar(crop, 0);
    axis->is_inside =
        gantry_logical_and(s, gantry_greater_equal(s, at, zero),
                           gantry_less_equal(s, at, crop_scalar(crop, (double)(axis->source - 1))));
    tensor *inside = gantry_select(s, axis->is_inside, at, zero), *low = gantry_floor(s, inside);
    axis->part = gantry_sub(s, inside, low);
    axis->low = gantry_cast(s, crop->is_nearest ? crop_round(crop, inside) : low, GANTRY_INT32);
    axis->high =
        crop->is_nearest ? axis->low : gantry_cast(s, gantry_ceil(s, inside), GANTRY_INT32);
}

/* The numbers of the boxes' images. Gather refuses those that are outside, because sums at pixels
 * would leave out what is below 0. */
static tensor *crop_which(const gantry__compose_t *c, tensor *which, int64_t images) {
    return gantry_gather(c->scope, gantry__compose_range(c, 0, images, 1), which, 0);
}

/* Reads a call with boxes at this input, images of a shape, and crops of another one. */
static crop_t crop_read(const gantry__compose_t *c, uint32_t boxes, const gantry_shape_t *image,
                        const gantry_shape_t *crops) {
    crop_t crop = {.c = c,
                   .scope = c->scope,
                   .boxes = c->inputs[boxes],
                   .which = crop_which(c, c->inputs[boxes + 1], image->dims[0]),
                   .image = image,
                   .count = crops->dims[0],
                   .by_ratio = c->call->op->id == GANTRY__OP_ID_CropAndResizeGradBoxes,
                   .is_nearest = strcmp(gantry__infer_attr(c->call, "method")->s, "nearest") == 0};
    for (int d = 0; d < 2; ++d) {
        crop.axes[d].source = image->dims[d + 1];
        crop.axes[d].size = crops->dims[d + 1];
        crop_read_axis(&crop, d);
    }
    return crop;
}

/* Makes [boxes, size] of an axis one that broadcasts over crops of this rank. */
static tensor *crop_spread(const crop_t *crop, tensor *x, int d, int32_t rank) {
    gantry_shape_t shape = {.rank = rank};
    for (int32_t i = 0; i < rank; ++i) shape.dims[i] = 1;
    shape.dims[0] = crop->count;
    shape.dims[d + 1] = crop->axes[d].size;
    return gantry_reshape(crop->scope, x, shape);
}

static tensor *crop_part(const crop_t *crop, int d) {
    return crop_spread(crop, crop->axes[d].part, d, 4);
}

/* Whether pixels are inside the image: [boxes, height, width] with this rank. */
static tensor *crop_is_inside(const crop_t *crop, int32_t rank) {
    return gantry_logical_and(crop->scope, crop_spread(crop, crop->axes[0].is_inside, 0, rank),
                              crop_spread(crop, crop->axes[1].is_inside, 1, rank));
}

/* The numbers of the pixels at these rows and columns, int64 [boxes, height, width]. */
static tensor *crop_numbers(const crop_t *crop, tensor *rows, tensor *columns) {
    gantry_scope_t *s = crop->scope;
    const int64_t height = crop->image->dims[1], width = crop->image->dims[2];
    tensor *number = gantry_cast(s, gantry_reshape(s, crop->which, GANTRY_SHAPE(crop->count, 1, 1)),
                                 GANTRY_INT64);
    number = gantry_mul(s, number, gantry_constant(s, GANTRY_INT64, GANTRY_SCALAR, &height, 8));
    number = gantry_add(s, number, gantry_cast(s, crop_spread(crop, rows, 0, 3), GANTRY_INT64));
    number = gantry_mul(s, number, gantry_constant(s, GANTRY_INT64, GANTRY_SCALAR, &width, 8));
    return gantry_add(s, number, gantry_cast(s, crop_spread(crop, columns, 1, 3), GANTRY_INT64));
}

/* ---- values ---- */

/* The pixels around each place, as float32 [boxes, height, width, channels]. */
typedef struct crop_pixels_t {
    tensor *top_left, *top_right, *bottom_left, *bottom_right;
} crop_pixels_t;

static tensor *crop_take(const crop_t *crop, tensor *images, tensor *rows, tensor *columns) {
    tensor *taken = gantry_gather(crop->scope, images, crop_numbers(crop, rows, columns), 0);
    return gantry__compose_narrow(crop->c, taken, GANTRY_FLOAT32);
}

/* With the nearest pixels only top_left is set. */
static crop_pixels_t crop_take_pixels(const crop_t *crop, tensor *image) {
    const crop_axis_t *y = &crop->axes[0], *x = &crop->axes[1];
    const gantry_shape_t *shape = crop->image;
    tensor *images = gantry_reshape(
        crop->scope, image,
        GANTRY_SHAPE(shape->dims[0] * shape->dims[1] * shape->dims[2], shape->dims[3]));
    crop_pixels_t pixels = {.top_left = crop_take(crop, images, y->low, x->low)};
    if (crop->is_nearest) return pixels;
    pixels.top_right = crop_take(crop, images, y->low, x->high);
    pixels.bottom_left = crop_take(crop, images, y->high, x->low);
    pixels.bottom_right = crop_take(crop, images, y->high, x->high);
    return pixels;
}

static tensor *crop_between(const crop_t *crop, tensor *low, tensor *high, tensor *part) {
    gantry_scope_t *s = crop->scope;
    return gantry_add(s, low, gantry_mul(s, gantry_sub(s, high, low), part));
}

void gantry__compose_crop_and_resize(const gantry__compose_t *c) {
    const gantry_shape_t *out = &c->call->out_shapes[0];
    if (gantry_shape_elements(out) == 0) {
        c->outputs[0] = gantry_zeros(c->scope, GANTRY_FLOAT32, *out);
        return;
    }
    const crop_t crop = crop_read(c, 1, &c->inputs[0]->shape, out);
    const crop_pixels_t at = crop_take_pixels(&crop, c->inputs[0]);
    tensor *values = at.top_left;
    if (!crop.is_nearest) {
        tensor *across = crop_part(&crop, 1);
        values = crop_between(&crop, crop_between(&crop, at.top_left, at.top_right, across),
                              crop_between(&crop, at.bottom_left, at.bottom_right, across),
                              crop_part(&crop, 0));
    }
    tensor *outside = crop_scalar(&crop, gantry__infer_attr(c->call, "extrapolation_value")->f);
    c->outputs[0] = gantry_select(c->scope, crop_is_inside(&crop, 4), values, outside);
}

/* ---- gradients ---- */

/* The complement of a part. */
static tensor *crop_rest(const crop_t *crop, tensor *part) {
    return gantry_sub(crop->scope, crop_scalar(crop, 1), part);
}

/* Adds gradients up at the pixels of these rows and columns; those outside go nowhere. */
static tensor *crop_add_up(const crop_t *crop, tensor *grads, tensor *rows, tensor *columns) {
    gantry_scope_t *s = crop->scope;
    const gantry_shape_t *image = crop->image;
    const int64_t pixels = image->dims[0] * image->dims[1] * image->dims[2], none = -1;
    tensor *at = gantry_select(s, crop_is_inside(crop, 3), crop_numbers(crop, rows, columns),
                               gantry_constant(s, GANTRY_INT64, GANTRY_SCALAR, &none, 8));
    return gantry_reshape(s, gantry_unsorted_segment_sum(s, grads, at, pixels), *image);
}

static tensor *crop_add_all(const crop_t *crop, tensor *grads) {
    gantry_scope_t *s = crop->scope;
    const crop_axis_t *y = &crop->axes[0], *x = &crop->axes[1];
    if (crop->is_nearest) return crop_add_up(crop, grads, y->low, x->low);
    tensor *down = crop_part(crop, 0), *across = crop_part(crop, 1);
    tensor *top = gantry_mul(s, crop_rest(crop, down), grads), *bottom = gantry_mul(s, down, grads);
    tensor *rest = crop_rest(crop, across);
    tensor *sums[] = {crop_add_up(crop, gantry_mul(s, rest, top), y->low, x->low),
                      crop_add_up(crop, gantry_mul(s, across, top), y->low, x->high),
                      crop_add_up(crop, gantry_mul(s, rest, bottom), y->high, x->low),
                      crop_add_up(crop, gantry_mul(s, across, bottom), y->high, x->high)};
    return gantry_add_n(s, sums, 4);
}

void gantry__compose_crop_grad_image(const gantry__compose_t *c) {
    const gantry_shape_t *image = &c->call->out_shapes[0];
    const gantry_dtype_t dtype = c->call->out_dtypes[0];
    if (gantry_shape_elements(image) == 0 || c->inputs[0]->elements == 0) {
        c->outputs[0] = gantry_zeros(c->scope, dtype, *image);
        return;
    }
    const crop_t crop = crop_read(c, 1, image, &c->inputs[0]->shape);
    c->outputs[0] = gantry__compose_narrow(c, crop_add_all(&crop, c->inputs[0]), dtype);
}

/* The sums over each crop of grads, times how much each place moves with the box's edge. is_far:
 * the edge at the end. */
static tensor *crop_move_edge(const crop_t *crop, tensor *grads, int d, bool is_far) {
    gantry_scope_t *s = crop->scope;
    const crop_axis_t *axis = &crop->axes[d];
    const int32_t axes[] = {1, 2, 3};
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = axes, .axis_count = 3};
    const double last = (double)(axis->source - 1);
    tensor *moves = crop_scalar(crop, 0.5 * last);
    if (axis->size > 1) {
        gantry_shape_t shape = GANTRY_SHAPE(1, 1, 1, 1);
        shape.dims[d + 1] = axis->size;
        tensor *number =
            gantry_cast(s, gantry__compose_range(crop->c, 0, axis->size, 1), GANTRY_FLOAT32);
        moves = gantry_reshape(s, gantry_mul(s, number, crop_ratio(crop, d)), shape);
        if (!is_far) moves = gantry_sub(s, crop_scalar(crop, last), moves);
    }
    return gantry_reshape(s, gantry_sum(s, gantry_mul(s, grads, moves), &over),
                          GANTRY_SHAPE(crop->count, 1));
}

/* The gradient of places along an axis: by how much pixels differ along it, times grads. */
static tensor *crop_slope(const crop_t *crop, tensor *near, tensor *far, int d, tensor *grads) {
    gantry_scope_t *s = crop->scope;
    tensor *part = crop_part(crop, d);
    tensor *slope =
        gantry_add(s, gantry_mul(s, crop_rest(crop, part), near), gantry_mul(s, part, far));
    return gantry_select(s, crop_is_inside(crop, 4), gantry_mul(s, slope, grads),
                         crop_scalar(crop, 0));
}

void gantry__compose_crop_grad_boxes(const gantry__compose_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *grads = c->inputs[0];
    if (grads->elements == 0) {
        c->outputs[0] = gantry_zeros(s, GANTRY_FLOAT32, c->call->out_shapes[0]);
        return;
    }
    const crop_t crop = crop_read(c, 2, &c->inputs[1]->shape, &grads->shape);
    const crop_pixels_t at = crop_take_pixels(&crop, c->inputs[1]);
    tensor *down = crop_slope(&crop, gantry_sub(s, at.bottom_left, at.top_left),
                              gantry_sub(s, at.bottom_right, at.top_right), 1, grads);
    tensor *across = crop_slope(&crop, gantry_sub(s, at.top_right, at.top_left),
                                gantry_sub(s, at.bottom_right, at.bottom_left), 0, grads);
    tensor *edges[] = {
        crop_move_edge(&crop, down, 0, false), crop_move_edge(&crop, across, 1, false),
        crop_move_edge(&crop, down, 0, true), crop_move_edge(&crop, across, 1, true)};
    c->outputs[0] = gantry_concat(s, edges, 4, 1);
}
