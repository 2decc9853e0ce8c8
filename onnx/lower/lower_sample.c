/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample and DeformConv: places between pixels, which are computed. */
#include <string.h>

#include "onnx/lower/sample.h"
#include "onnx/lower/window.h"

typedef const gantry_tensor_t tensor;

/* Column k of the last dimension of [batch, places, columns]. */
static tensor *column_of(gantry__onnx_call_t *call, tensor *x, int64_t k) {
    const int64_t begin[] = {0, 0, k}, size[] = {-1, -1, 1};
    return gantry_squeeze(call->scope, gantry_slice(call->scope, x, begin, size),
                          (const int32_t[]){2}, 1);
}

/* ---- GridSample ---- */

static gantry_status_t read_sampler(gantry__onnx_call_t *call, gantry__onnx_sampler_t *sampler) {
    static const struct {
        const char *old, *name;
        gantry__onnx_mix_t mix;
    } mixes[] = {{"bilinear", "linear", GANTRY__ONNX_LINEAR},
                 {"bicubic", "cubic", GANTRY__ONNX_CUBIC},
                 {"nearest", "nearest", GANTRY__ONNX_NEAREST}};
    static const char *const outsides[] = {"zeros", "border", "reflection"};
    const char *mode = gantry__onnx_attr_text(call, "mode", "linear");
    const char *outside = gantry__onnx_attr_text(call, "padding_mode", "zeros");
    int32_t found = 0;
    for (int32_t i = 0; i < 3; ++i) {
        if (strcmp(mode, mixes[i].old) == 0 || strcmp(mode, mixes[i].name) == 0) {
            sampler->mix = mixes[i].mix;
            ++found;
        }
        if (strcmp(outside, outsides[i]) == 0) {
            sampler->outside = (gantry__onnx_outside_t)i;
            ++found;
        }
    }
    sampler->align_corners = gantry__onnx_attr_int(call, "align_corners", 0) != 0;
    if (found != 2)
        return gantry__onnx_invalid(call,
                                    "mode '%s' and padding_mode '%s'; accepted are linear, cubic "
                                    "and nearest, and zeros, border and reflection",
                                    mode, outside);
    if (sampler->mix != GANTRY__ONNX_NEAREST &&
        !(GANTRY_DTYPE_BIT(sampler->dtype) & GANTRY_DTYPES_FLOATING))
        return gantry__onnx_unsupported(call, "mode %s with elements of %s", mode,
                                        gantry_dtype_name(sampler->dtype));
    return GANTRY_OK;
}

/* From [-1, 1], which are the edges, to pixels. */
static tensor *pixels_of(const gantry__onnx_sampler_t *s, tensor *place, int32_t axis) {
    gantry__onnx_call_t *call = s->call;
    const double size = (double)s->sizes[axis];
    tensor *one = gantry__onnx_make_scalar(call, s->place, 1),
           *half =
               gantry__onnx_make_scalar(call, s->place, s->align_corners ? (size - 1) / 2 : 0.5);
    tensor *shifted = gantry_add(call->scope, place, one);
    if (s->align_corners) return gantry_mul(call->scope, shifted, half);
    tensor *whole =
        gantry_mul(call->scope, shifted, gantry__onnx_make_scalar(call, s->place, size));
    return gantry_mul(call->scope, gantry_sub(call->scope, whole, one), half);
}

gantry_status_t gantry__onnx_lower_grid_sample(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0), *grid = gantry__onnx_input(call, 1);
    const gantry_shape_t *images = gantry_tensor_shape(x), *shape = gantry_tensor_shape(grid);
    gantry__onnx_sampler_t sampler;
    tensor *places[GANTRY__ONNX_MOST_SAMPLED];
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(gantry__onnx_need_shape(call, grid));
    const int32_t count = images->rank - 2;
    if (count < 1 || shape->rank != images->rank || shape->dims[0] != images->dims[0] ||
        shape->dims[shape->rank - 1] != count)
        return gantry__onnx_invalid(call, "images of %d and a grid of %d dimensions",
                                    (int)images->rank, (int)shape->rank);
    if (count > GANTRY__ONNX_MOST_SAMPLED)
        return gantry__onnx_unsupported(call, "%d spatial dimensions; there are at most %d",
                                        (int)count, GANTRY__ONNX_MOST_SAMPLED);
    gantry__onnx_sampler_init(&sampler, call, x);
    GANTRY__TRY(read_sampler(call, &sampler));
    if (gantry_tensor_dtype(grid) == GANTRY_FLOAT64) sampler.place = GANTRY_FLOAT64;
    gantry_shape_t result = *shape;
    for (int32_t i = 1; i <= count; ++i) result.dims[i + 1] = shape->dims[i];
    result.dims[1] = images->dims[1];
    if (gantry_tensor_elements(x) == 0 && gantry_shape_elements(&result) != 0)
        return gantry__onnx_invalid(call, "images without pixels");
    if (gantry_shape_elements(&result) == 0)
        return gantry__onnx_give(call, gantry_zeros(call->scope, sampler.dtype, result));
    const int64_t place_count = gantry__onnx_product(shape, 1, shape->rank - 1);
    grid = gantry__onnx_reshape(call, gantry__onnx_cast(call, grid, sampler.place),
                                GANTRY_SHAPE(shape->dims[0], place_count, count));
    for (int32_t i = 0; i < count; ++i)
        places[i] = pixels_of(&sampler, column_of(call, grid, count - 1 - i), i);
    tensor *y = gantry_transpose(call->scope, gantry__onnx_sample(&sampler, places),
                                 (const int32_t[]){0, 2, 1});
    return gantry__onnx_give(call, gantry__onnx_reshape(call, y, result));
}

/* ---- DeformConv ---- */

typedef struct deform_t {
    gantry__onnx_window_t window;
    int64_t batch, channels, outputs, groups, offset_groups, rows, columns, taps, places;
} deform_t;

static gantry_status_t read_deform(gantry__onnx_call_t *call, deform_t *deform) {
    tensor *x = gantry__onnx_input(call, 0), *w = gantry__onnx_input(call, 1),
           *offset = gantry__onnx_input(call, 2);
    const gantry_shape_t *images = gantry_tensor_shape(x), *filter = gantry_tensor_shape(w),
                         *moved = gantry_tensor_shape(offset);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(gantry__onnx_need_shape(call, w));
    GANTRY__TRY(gantry__onnx_need_shape(call, offset));
    if (images->rank != 4 || filter->rank != 4 || moved->rank != 4)
        return gantry__onnx_unsupported(call, "images of %d dimensions; they have 4",
                                        (int)images->rank);
    GANTRY__TRY(gantry__onnx_read_kernel(call, x, filter->dims + 2, &deform->window));
    GANTRY__TRY(gantry__onnx_read_padding(call, x, &deform->window));
    deform->batch = images->dims[0];
    deform->channels = images->dims[1];
    deform->outputs = filter->dims[0];
    deform->groups = gantry__onnx_attr_int(call, "group", 1);
    deform->offset_groups = gantry__onnx_attr_int(call, "offset_group", 1);
    deform->rows = moved->dims[2];
    deform->columns = moved->dims[3];
    deform->taps = filter->dims[2] * filter->dims[3];
    deform->places = deform->taps * deform->rows * deform->columns;
    if (deform->groups < 1 || deform->offset_groups < 1 ||
        deform->channels != filter->dims[1] * deform->groups ||
        deform->outputs % deform->groups != 0 || deform->channels % deform->offset_groups != 0 ||
        moved->dims[0] != deform->batch ||
        moved->dims[1] != 2 * deform->taps * deform->offset_groups ||
        deform->rows != gantry__onnx_window_count(&deform->window, 1, false) ||
        deform->columns != gantry__onnx_window_count(&deform->window, 2, false))
        return gantry__onnx_invalid(call, "the sizes of images, filter and offset do not fit");
    const gantry_shape_t wanted = GANTRY_SHAPE(deform->batch, deform->taps * deform->offset_groups,
                                               deform->rows, deform->columns);
    tensor *mask = gantry__onnx_input(call, 4);
    if (mask && !gantry_shape_equal(gantry_tensor_shape(mask), &wanted))
        return gantry__onnx_invalid(call, "the mask is not of the shape [%lld, %lld, %lld, %lld]",
                                    (long long)wanted.dims[0], (long long)wanted.dims[1],
                                    (long long)wanted.dims[2], (long long)wanted.dims[3]);
    return gantry__onnx_check_bias(call, 3, deform->outputs);
}

/* The rows (axis 0) or columns at which the filter's taps are without offsets: [1, places]. */
static tensor *tap_places(gantry__onnx_call_t *call, const deform_t *deform, int32_t axis,
                          gantry_dtype_t dtype) {
    const gantry__onnx_window_t *window = &deform->window;
    int64_t *places = gantry__onnx_scratch(call, (size_t)deform->places, sizeof *places);
    if (!places) return NULL;
    for (int64_t i = 0; i < deform->places; ++i) {
        const int64_t column = i % deform->columns, row = i / deform->columns % deform->rows,
                      tap = i / deform->columns / deform->rows;
        const int64_t of_kernel = axis == 0 ? tap / window->kernel[2] : tap % window->kernel[2];
        places[i] = (axis == 0 ? row : column) * window->strides[1 + axis] +
                    of_kernel * window->dilations[1 + axis] - window->begin[1 + axis];
    }
    return gantry__onnx_ints_of(call, dtype, places, GANTRY_SHAPE(1, deform->places));
}

/* The columns of an offset group: [batch, places, channels of the group]. */
static tensor *deform_group(gantry__onnx_call_t *call, const deform_t *deform, int64_t group) {
    gantry_scope_t *scope = call->scope;
    const int64_t channels = deform->channels / deform->offset_groups,
                  pixels = deform->rows * deform->columns;
    tensor *x = gantry__onnx_input(call, 0), *mask = gantry__onnx_input(call, 4), *places[2];
    gantry__onnx_sampler_t sampler;
    tensor *part = gantry_slice(scope, x, (const int64_t[]){0, group * channels, 0, 0},
                                (const int64_t[]){-1, channels, -1, -1});
    if (!part) return NULL;
    gantry__onnx_sampler_init(&sampler, call, part);
    if (sampler.dtype == GANTRY_FLOAT64) sampler.place = GANTRY_FLOAT64;
    tensor *offset =
        gantry_reshape(scope, gantry__onnx_cast(call, gantry__onnx_input(call, 2), sampler.place),
                       GANTRY_SHAPE(deform->batch, deform->offset_groups, deform->taps, 2, pixels));
    for (int32_t axis = 0; axis < 2; ++axis) {
        tensor *moved = gantry_slice(scope, offset, (const int64_t[]){0, group, 0, axis, 0},
                                     (const int64_t[]){deform->batch, 1, deform->taps, 1, pixels});
        places[axis] =
            gantry_add(scope, tap_places(call, deform, axis, sampler.place),
                       gantry_reshape(scope, moved, GANTRY_SHAPE(deform->batch, deform->places)));
    }
    tensor *columns = gantry__onnx_sample(&sampler, places);
    if (!mask) return columns;
    mask = gantry_slice(scope, mask, (const int64_t[]){0, group * deform->taps, 0, 0},
                        (const int64_t[]){-1, deform->taps, -1, -1});
    return gantry_mul(scope, columns,
                      gantry_reshape(scope, mask, GANTRY_SHAPE(deform->batch, deform->places, 1)));
}

/* The product of a group's columns and filters: [batch * pixels, outputs of the group]. */
static tensor *multiply_group(gantry__onnx_call_t *call, const deform_t *deform, tensor *columns,
                              tensor *filter, int64_t group) {
    gantry_scope_t *scope = call->scope;
    const int64_t channels = deform->channels / deform->groups,
                  outputs = deform->outputs / deform->groups,
                  pixels = deform->rows * deform->columns;
    tensor *part = gantry_slice(scope, columns, (const int64_t[]){0, 0, 0, group * channels},
                                (const int64_t[]){-1, -1, -1, channels});
    part =
        gantry_reshape(scope, part, GANTRY_SHAPE(deform->batch * pixels, deform->taps * channels));
    tensor *weights = gantry_slice(scope, filter, (const int64_t[]){0, 0, group * outputs},
                                   (const int64_t[]){-1, -1, outputs});
    return gantry_matmul(
        scope, part, gantry_reshape(scope, weights, GANTRY_SHAPE(deform->taps * channels, outputs)),
        NULL);
}

/* [outputs, channels, rows, columns] to [taps, channels, outputs]. */
static tensor *make_deform_filter(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w) {
    const int64_t *d = gantry_tensor_shape(w)->dims;
    (void)call;
    return gantry_transpose(scope, gantry_reshape(scope, w, GANTRY_SHAPE(d[0], d[1], d[2] * d[3])),
                            (const int32_t[]){2, 1, 0});
}

gantry_status_t gantry__onnx_lower_deform_conv(gantry__onnx_call_t *call) {
    deform_t deform;
    GANTRY__TRY(read_deform(call, &deform));
    const int64_t groups =
        deform.offset_groups > deform.groups ? deform.offset_groups : deform.groups;
    tensor **parts = gantry__onnx_scratch(call, (size_t)groups, sizeof *parts);
    if (!parts) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < deform.offset_groups; ++i) parts[i] = deform_group(call, &deform, i);
    tensor *columns = gantry__onnx_concat(call, parts, (size_t)deform.offset_groups, 2);
    const int64_t pixels = deform.rows * deform.columns;
    columns = gantry_transpose(
        call->scope,
        gantry_reshape(call->scope, columns,
                       GANTRY_SHAPE(deform.batch, deform.taps, pixels, deform.channels)),
        (const int32_t[]){0, 2, 1, 3});
    tensor *filter = gantry__onnx_prepared(call, 1, 0, make_deform_filter);
    for (int64_t i = 0; i < deform.groups; ++i)
        parts[i] = multiply_group(call, &deform, columns, filter, i);
    tensor *y =
        gantry_reshape(call->scope, gantry__onnx_concat(call, parts, (size_t)deform.groups, 1),
                       GANTRY_SHAPE(deform.batch, deform.rows, deform.columns, deform.outputs));
    y = gantry_transpose(call->scope, y, (const int32_t[]){0, 3, 1, 2});
    return gantry__onnx_give(call, gantry__onnx_add_bias(call, y, gantry__onnx_input(call, 3)));
}
