/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of Resize, as ONNX defines them and ONNX Runtime computes them: coordinates in float32
 * and in its order of operations, because a place between two pixels is where rounding decides. For
 * float64 the coordinates of LINEAR and CUBIC are float64. */
#include <math.h>

#include "compose/resize_table.h"

/* Rounds a float64 result to float32, which gives what float32 arithmetic would give. */
static double axis_round(bool is_double, double value) {
    return is_double ? value : (double)(float)value;
}

static double symmetric_at(const gantry__resize_axis_t *axis, bool is_double, double i) {
    const double source = (double)axis->source, scale = axis_round(is_double, axis->scale);
    const double width = axis_round(is_double, scale * source);
    const double center = axis_round(is_double, source / 2);
    const double rest =
        axis_round(is_double, 1 - axis_round(is_double, (double)axis->result / width));
    const double offset = axis_round(is_double, center * rest);
    return axis_round(is_double, offset + (i + 0.5) / scale - 0.5);
}

static double crop_at(const gantry__resize_axis_t *axis, bool is_double, double i) {
    const double last = (double)(axis->source - 1), from = (double)axis->from,
                 to = (double)axis->to;
    if (axis->result <= 1)
        return axis_round(is_double, 0.5 * axis_round(is_double, from + to) * last);
    const double reach =
        axis_round(is_double, axis_round(is_double, i * axis_round(is_double, to - from)) * last);
    const double step = axis_round(is_double, reach / (double)(axis->result - 1));
    return axis_round(is_double, axis_round(is_double, from * last) + step);
}

static double half_pixel_at(double scale, bool is_double, double i) {
    return axis_round(is_double, axis_round(is_double, (i + 0.5) / scale) - 0.5);
}

/* Where place number of the result is in the source. */
static double place_at(const gantry__resize_call_t *call, const gantry__resize_axis_t *axis,
                       bool is_double, int64_t number) {
    const double i = (double)number, scale = axis_round(is_double, axis->scale);
    switch (call->coordinate) {
        case GANTRY__RESIZE_ASYMMETRIC: return axis_round(is_double, i / scale);
        case GANTRY__RESIZE_TF_HALF_PIXEL_FOR_NN: return axis_round(is_double, (i + 0.5) / scale);
        case GANTRY__RESIZE_ALIGN_CORNERS:
            if (axis->result == 1) return 0;
            return axis_round(is_double, axis_round(is_double, i * (double)(axis->source - 1)) /
                                             (double)(axis->result - 1));
        case GANTRY__RESIZE_PYTORCH_HALF_PIXEL:
            return axis->result > 1 ? half_pixel_at(scale, is_double, i) : 0;
        case GANTRY__RESIZE_HALF_PIXEL_SYMMETRIC: return symmetric_at(axis, is_double, i);
        case GANTRY__RESIZE_TF_CROP_AND_RESIZE: return crop_at(axis, is_double, i);
        case GANTRY__RESIZE_HALF_PIXEL: break;
    }
    return half_pixel_at(scale, is_double, i);
}

/* ---- taps ---- */

static gantry_status_t add_nearest(const gantry__resize_call_t *call, double at,
                                   gantry__resize_table_t *out) {
    double place = floor(at);
    switch (call->nearest) {
        case GANTRY__RESIZE_ROUND_PREFER_FLOOR: place = ceil(at - 0.5); break;
        case GANTRY__RESIZE_ROUND_PREFER_CEIL: place = floor(at + 0.5); break;
        case GANTRY__RESIZE_CEIL: place = ceil(at); break;
        case GANTRY__RESIZE_FLOOR: break;
    }
    return gantry__resize_add(out, (int64_t)place, 1);
}

static gantry_status_t add_linear(double at, gantry__resize_table_t *out) {
    const double last = (double)(out->source - 1);
    const double inside = at < 0 ? 0 : at > last ? last : at, low = floor(inside);
    const double part = inside - low;
    GANTRY__TRY(gantry__resize_add(out, (int64_t)low, axis_round(out->is_double, 1 - part)));
    return gantry__resize_add(out, (int64_t)low + 1, part);
}

/* The cubic of ONNX at the distance x >= 0. */
static double cubic_at(double a, double x) {
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* The taps [begin, end) of a kernel that is `scale` wide; they sum up to 1 if divides. */
static gantry_status_t add_kernel(const gantry__resize_call_t *call, double at, double scale,
                                  int64_t begin, int64_t end, bool divides,
                                  gantry__resize_table_t *out) {
    const size_t first = out->count;
    double sum = 0;
    for (int64_t place = begin; place < end; ++place) {
        const bool is_outside = place < 0 || place >= out->source;
        if (is_outside && call->excludes_outside) continue;
        const double x = fabs((double)place - at) / scale;
        const double weight =
            call->mode == GANTRY__RESIZE_CUBIC ? cubic_at(call->cubic, x) : (x < 1 ? 1 - x : 0);
        sum += weight;
        GANTRY__TRY(gantry__resize_add(out, place, weight));
    }
    for (size_t t = first; t < out->count; ++t) {
        const double weight = out->taps[t].weight / (divides && sum != 0 ? sum : 1);
        out->taps[t].weight = axis_round(out->is_double, weight);
    }
    return GANTRY_OK;
}

static gantry_status_t add_smooth(const gantry__resize_call_t *call,
                                  const gantry__resize_axis_t *axis, double at,
                                  gantry__resize_table_t *out) {
    const double scale = axis->scale < 1 ? 1 / axis->scale : 1;
    const double reach = (call->mode == GANTRY__RESIZE_CUBIC ? 2 : 1) * scale;
    return add_kernel(call, at, scale, (int64_t)floor(at - reach) + 1, (int64_t)ceil(at + reach),
                      true, out);
}

static gantry_status_t add_axis_place(const gantry__resize_call_t *call,
                                      const gantry__resize_axis_t *axis, double at,
                                      gantry__resize_table_t *out) {
    if (call->mode == GANTRY__RESIZE_NEAREST) return add_nearest(call, at, out);
    if (call->antialias) return add_smooth(call, axis, at, out);
    if (call->mode == GANTRY__RESIZE_LINEAR) return add_linear(at, out);
    const int64_t before = (int64_t)floor(at) - 1;
    return add_kernel(call, at, 1, before, before + 4, call->excludes_outside, out);
}

static gantry_status_t note_outside(double at, gantry__resize_table_t *out) {
    if (at >= 0 && at <= (double)(out->source - 1)) return GANTRY_OK;
    if (!out->outside) out->outside = gantry__heap_zalloc(out->heap, (size_t)out->result);
    if (!out->outside) return GANTRY_RESOURCE_EXHAUSTED;
    out->outside[out->filled] = 1;
    return GANTRY_OK;
}

/* A place far outside, where no tap is inside, is as good as a nearer one, and can be counted. */
static double place_near(const gantry__resize_axis_t *axis, double at) {
    const double reach = 4 + (axis->scale < 1 ? 2 / axis->scale : 2), source = (double)axis->source;
    return !(at >= -reach) ? -reach : at > source + reach ? source + reach : at;
}

gantry_status_t gantry__resize_of_axis(const gantry__resize_call_t *call, int32_t d, bool is_double,
                                       const gantry__heap_t *heap, gantry__resize_table_t *out) {
    const gantry__resize_axis_t *axis = &call->axes[d];
    const bool is_nearest = call->mode == GANTRY__RESIZE_NEAREST;
    const gantry__resize_kind_t kind = is_nearest ? GANTRY__RESIZE_TAKES
                                       : call->mode == GANTRY__RESIZE_LINEAR && !call->antialias
                                           ? GANTRY__RESIZE_BLENDS
                                           : GANTRY__RESIZE_SUMS;
    GANTRY__TRY(gantry__resize_open(out, heap, kind, axis->source, axis->result));
    out->is_double = is_double;
    for (int64_t i = 0; i < axis->result; ++i) {
        const double at = place_at(call, axis, is_double && !is_nearest, i);
        if (call->coordinate == GANTRY__RESIZE_TF_CROP_AND_RESIZE)
            GANTRY__TRY(note_outside(at, out));
        GANTRY__TRY(add_axis_place(call, axis, place_near(axis, at), out));
        gantry__resize_end_place(out);
    }
    return GANTRY_OK;
}
