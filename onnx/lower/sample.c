/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/sample.h"

typedef const gantry_tensor_t tensor;

/* Of cubic interpolation. */
#define CUBIC_FACTOR (-0.75)

/* The taps of a dimension: [batch, places]. is_inside NULL: all are. */
typedef struct sample_taps_t {
    tensor *index[GANTRY__ONNX_MOST_TAPS], *is_inside[GANTRY__ONNX_MOST_TAPS],
        *weight[GANTRY__ONNX_MOST_TAPS];
} sample_taps_t;

tensor *gantry__onnx_pixel_rows(gantry__onnx_call_t *call, tensor *images) {
    const gantry_shape_t *shape = gantry_tensor_shape(images);
    int32_t perm[GANTRY_MAX_RANK] = {0};
    for (int32_t i = 1; i < shape->rank; ++i) perm[i] = i + 1 < shape->rank ? i + 1 : 1;
    const int64_t channels = shape->dims[1];
    return gantry__onnx_reshape(
        call, gantry__onnx_transpose(call, images, perm),
        GANTRY_SHAPE(channels > 0 ? gantry_tensor_elements(images) / channels : 0, channels));
}

void gantry__onnx_sampler_init(gantry__onnx_sampler_t *sampler, gantry__onnx_call_t *call,
                               tensor *images) {
    const gantry_shape_t *shape = gantry_tensor_shape(images);
    *sampler = (gantry__onnx_sampler_t){.call = call,
                                        .count = shape->rank - 2,
                                        .batch = shape->dims[0],
                                        .channels = shape->dims[1],
                                        .mix = GANTRY__ONNX_LINEAR,
                                        .dtype = gantry_tensor_dtype(images),
                                        .place = GANTRY_FLOAT32,
                                        .rows = gantry__onnx_pixel_rows(call, images)};
    for (int32_t i = 0; i < sampler->count; ++i) sampler->sizes[i] = shape->dims[2 + i];
}

static tensor *sample_number(const gantry__onnx_sampler_t *s, double value) {
    return gantry__onnx_make_scalar(s->call, s->place, value);
}

static tensor *sample_plus(const gantry__onnx_sampler_t *s, tensor *x, double value) {
    return value == 0 ? x : gantry_add(s->call->scope, x, sample_number(s, value));
}

static tensor *sample_times(const gantry__onnx_sampler_t *s, tensor *x, double value) {
    return gantry_mul(s->call->scope, x, sample_number(s, value));
}

static tensor *clamp_place(const gantry__onnx_sampler_t *s, tensor *x, double low, double high) {
    return gantry_minimum(s->call->scope, gantry_maximum(s->call->scope, x, sample_number(s, low)),
                          sample_number(s, high));
}

/* Mirrors at the edges, again and again: the distance from the lower edge goes up in even rounds of
 * the range, and down in odd ones. */
static tensor *reflect_place(const gantry__onnx_sampler_t *s, tensor *x, double low, double high) {
    gantry_scope_t *scope = s->call->scope;
    const double range = high - low;
    if (range <= 0) return clamp_place(s, x, low, low);
    tensor *distance = gantry_abs(scope, sample_plus(s, x, -low));
    tensor *round = gantry_floor(scope, sample_times(s, distance, 1 / range));
    tensor *rest = gantry_sub(scope, distance, sample_times(s, round, range));
    tensor *is_odd = gantry_not_equal(scope, gantry_floor_mod(scope, round, sample_number(s, 2)),
                                      sample_number(s, 0));
    return gantry_select(scope, is_odd, gantry_sub(scope, sample_number(s, high), rest),
                         sample_plus(s, rest, low));
}

static double low_edge(const gantry__onnx_sampler_t *s) { return s->align_corners ? 0 : -0.5; }

static double high_edge(const gantry__onnx_sampler_t *s, int32_t axis) {
    return (double)s->sizes[axis] - (s->align_corners ? 1 : 0.5);
}

/* Moves places beyond the edges inside. */
static tensor *fold_place(const gantry__onnx_sampler_t *s, int32_t axis, tensor *x) {
    gantry_scope_t *scope = s->call->scope;
    const double low = low_edge(s), high = high_edge(s, axis);
    if (s->outside == GANTRY__ONNX_ZEROS) return x;
    tensor *is_out = gantry_logical_or(scope, gantry_less(scope, x, sample_number(s, low)),
                                       gantry_greater(scope, x, sample_number(s, high)));
    tensor *moved = s->outside == GANTRY__ONNX_BORDER
                        ? clamp_place(s, x, 0, (double)s->sizes[axis] - 1)
                        : reflect_place(s, x, low, high);
    return gantry_select(scope, is_out, moved, x);
}

/* The pixel of a whole place. */
static void set_tap(const gantry__onnx_sampler_t *s, int32_t axis, sample_taps_t *taps, int32_t i,
                    tensor *pixel) {
    gantry_scope_t *scope = s->call->scope;
    const double last = (double)s->sizes[axis] - 1;
    if (s->outside == GANTRY__ONNX_REFLECTION)
        pixel = reflect_place(s, pixel, low_edge(s), high_edge(s, axis));
    if (s->outside == GANTRY__ONNX_ZEROS)
        taps->is_inside[i] =
            gantry_logical_and(scope, gantry_greater_equal(scope, pixel, sample_number(s, 0)),
                               gantry_less_equal(scope, pixel, sample_number(s, last)));
    taps->index[i] = gantry_cast(scope, clamp_place(s, pixel, 0, last), GANTRY_INT64);
}

/* ((a * t + b) * t + c) * t + d */
static tensor *cubic_of(const gantry__onnx_sampler_t *s, tensor *t, double a, double b, double c,
                        double d) {
    gantry_scope_t *scope = s->call->scope;
    tensor *sum = sample_plus(s, sample_times(s, t, a), b);
    sum = sample_plus(s, gantry_mul(scope, sum, t), c);
    return sample_plus(s, gantry_mul(scope, sum, t), d);
}

static void set_tap_weights(const gantry__onnx_sampler_t *s, sample_taps_t *taps, tensor *part) {
    gantry_scope_t *scope = s->call->scope;
    const double f = CUBIC_FACTOR;
    tensor *rest = gantry_sub(scope, sample_number(s, 1), part);
    if (s->mix == GANTRY__ONNX_LINEAR) {
        taps->weight[0] = rest;
        taps->weight[1] = part;
    } else {
        taps->weight[0] = cubic_of(s, sample_plus(s, part, 1), f, -5 * f, 8 * f, -4 * f);
        taps->weight[1] = cubic_of(s, part, f + 2, -(f + 3), 0, 1);
        taps->weight[2] = cubic_of(s, rest, f + 2, -(f + 3), 0, 1);
        taps->weight[3] = cubic_of(s, sample_plus(s, rest, 1), f, -5 * f, 8 * f, -4 * f);
    }
    const gantry_shape_t *shape = part ? gantry_tensor_shape(part) : NULL;
    for (int32_t i = 0; i < (int32_t)s->mix && shape; ++i)
        taps->weight[i] =
            gantry_reshape(scope, gantry__onnx_cast(s->call, taps->weight[i], s->dtype),
                           GANTRY_SHAPE(shape->dims[0], shape->dims[1], 1));
}

static void set_taps(const gantry__onnx_sampler_t *s, int32_t axis, tensor *place,
                     sample_taps_t *taps) {
    gantry_scope_t *scope = s->call->scope;
    *taps = (sample_taps_t){{NULL}, {NULL}, {NULL}};
    if (s->mix == GANTRY__ONNX_NEAREST) {
        set_tap(s, axis, taps, 0, fold_place(s, axis, gantry_rint(scope, place)));
        return;
    }
    /* Only the pixels of a cubic mix are moved inside, as in ONNX Runtime. */
    if (s->mix == GANTRY__ONNX_LINEAR) place = fold_place(s, axis, place);
    tensor *first = gantry_floor(scope, place);
    set_tap_weights(s, taps, gantry_sub(scope, place, first));
    const int32_t before = s->mix == GANTRY__ONNX_CUBIC ? 1 : 0;
    for (int32_t i = 0; i < (int32_t)s->mix; ++i)
        set_tap(s, axis, taps, i, sample_plus(s, first, i - before));
}

/* Adds up the taps of dimensions from axis on. index: the pixel so far; is_inside likewise. */
static tensor *sum_sample_taps(const gantry__onnx_sampler_t *s, const sample_taps_t *taps,
                               int32_t axis, tensor *index, tensor *is_inside) {
    gantry_scope_t *scope = s->call->scope;
    tensor *sum = NULL;
    if (axis == s->count) {
        tensor *pixels = gantry_gather(scope, s->rows, index, 0);
        if (!is_inside) return pixels;
        return gantry_select(scope, gantry_expand_dims(scope, is_inside, 2), pixels,
                             gantry_zeros(s->call->host, s->dtype, GANTRY_SCALAR));
    }
    tensor *size = gantry__onnx_make_scalar(s->call, GANTRY_INT64, (double)s->sizes[axis]);
    for (int32_t i = 0; i < (int32_t)s->mix; ++i) {
        tensor *inside = taps[axis].is_inside[i];
        if (inside && is_inside) inside = gantry_logical_and(scope, is_inside, inside);
        tensor *at = gantry_add(scope, gantry_mul(scope, index, size), taps[axis].index[i]);
        tensor *part = sum_sample_taps(s, taps, axis + 1, at, inside ? inside : is_inside);
        if (taps[axis].weight[i]) part = gantry_mul(scope, part, taps[axis].weight[i]);
        sum = sum ? gantry_add(scope, sum, part) : part;
    }
    return sum;
}

tensor *gantry__onnx_sample(const gantry__onnx_sampler_t *s, tensor *const *places) {
    sample_taps_t taps[GANTRY__ONNX_MOST_SAMPLED];
    int64_t *images = gantry__onnx_scratch(s->call, (size_t)s->batch, sizeof *images);
    if (!images) return NULL;
    for (int64_t i = 0; i < s->batch; ++i) images[i] = i;
    for (int32_t i = 0; i < s->count; ++i) set_taps(s, i, places[i], &taps[i]);
    return sum_sample_taps(
        s, taps, 0, gantry__onnx_ints_of(s->call, GANTRY_INT64, images, GANTRY_SHAPE(s->batch, 1)),
        NULL);
}
