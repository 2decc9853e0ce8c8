/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of TensorFlow's ops that resize images, in its own arithmetic: each number is
 * of float32 where it is so in TensorFlow's kernels, and the weights have the same bits. */
#include <float.h>
#include <math.h>

#include "compose/resize_table.h"

float gantry__resize_scale(const gantry__resize_pixels_t *pixels) {
    return pixels->align_corners && pixels->result > 1 && pixels->source > 1
               ? (float)(pixels->source - 1) / (float)(pixels->result - 1)
               : (float)pixels->source / (float)pixels->result;
}

/* Where place i of the result is in the source. */
static float resize_pixel(const gantry__resize_pixels_t *pixels, float scale, int64_t i) {
    return pixels->half_pixel_centers ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
}

static gantry_status_t add_nearest_pixel(const gantry__resize_pixels_t *pixels, float scale,
                                         int64_t i, gantry__resize_table_t *out) {
    const float at = ((float)i + (pixels->half_pixel_centers ? 0.5f : 0.0f)) * scale;
    return gantry__resize_add(out, (int64_t)(pixels->align_corners ? roundf(at) : floorf(at)), 1);
}

static gantry_status_t add_bilinear_pixels(const gantry__resize_pixels_t *pixels, float scale,
                                           int64_t i, gantry__resize_table_t *out) {
    const float at = resize_pixel(pixels, scale, i), part = at - floorf(at);
    GANTRY__TRY(gantry__resize_add(out, (int64_t)floorf(at), (double)(1.0f - part)));
    return gantry__resize_add(out, (int64_t)ceilf(at), (double)part);
}

/* ---- cubic ---- */

/* The weights of TensorFlow's table of 1024 steps, at `step`: of the pixel at that distance, and of
 * the one after it. */
static void cubic_weights(bool is_keys, int64_t step, float out[2]) {
    const double a = is_keys ? -0.5 : -0.75;
    float x = (float)((double)step / 1024);
    out[0] = (float)(((a + 2) * (double)x - (a + 3)) * (double)x * (double)x + 1);
    x += 1.0f;
    out[1] = (float)(((a * (double)x - 5 * a) * (double)x + 8 * a) * (double)x - 4 * a);
}

/* Pixels outside do not count with half_pixel_centers; else they are those at the edge. */
static gantry_status_t add_cubic_pixels(const gantry__resize_pixels_t *pixels, float scale,
                                        int64_t i, gantry__resize_table_t *out) {
    const float at = resize_pixel(pixels, scale, i);
    const int64_t first = (int64_t)floorf(at) - 1;
    const int64_t step = lrintf((at - floorf(at)) * 1024.0f);
    const bool is_keys = pixels->half_pixel_centers;
    float before[2], after[2];
    cubic_weights(is_keys, step, before);
    cubic_weights(is_keys, 1024 - step, after);
    float weights[4] = {before[1], before[0], after[0], after[1]}, sum = 0;
    for (int k = 0; k < 4 && is_keys; ++k) {
        if (first + k < 0 || first + k >= pixels->source) weights[k] = 0;
        sum += weights[k];
    }
    const bool divides = is_keys && fabsf(sum) >= 1000.0f * FLT_MIN;
    const float factor = divides ? 1.0f / sum : 1.0f;
    for (int k = 0; k < 4; ++k)
        GANTRY__TRY(gantry__resize_add(out, first + k, (double)(weights[k] * factor)));
    return GANTRY_OK;
}

/* ---- areas ---- */

/* How much of the pixel is between from and to. */
static float area_weight(int64_t pixel, float from, float to, float scale) {
    const float begin = (float)pixel, end = (float)(pixel + 1);
    if (begin < from) return end > to ? scale : end - from;
    return end > to ? to - begin : 1.0f;
}

static gantry_status_t add_area_pixels(const gantry__resize_pixels_t *pixels, float scale,
                                       int64_t i, gantry__resize_table_t *out) {
    (void)pixels;
    const float from = (float)i * scale, to = (float)(i + 1) * scale;
    const int64_t first = (int64_t)floorf(from), end = (int64_t)ceilf(to);
    for (int64_t pixel = first; pixel < end; ++pixel)
        GANTRY__TRY(gantry__resize_add(out, pixel, (double)area_weight(pixel, from, to, scale)));
    return GANTRY_OK;
}

gantry_status_t gantry__resize_of_images(gantry__resize_images_t method,
                                         const gantry__resize_pixels_t *pixels,
                                         const gantry__heap_t *heap, gantry__resize_table_t *out) {
    static const struct {
        gantry__resize_kind_t kind;
        gantry_status_t (*add)(const gantry__resize_pixels_t *pixels, float scale, int64_t i,
                               gantry__resize_table_t *out);
    } methods[] = {[GANTRY__IMAGES_NEAREST] = {GANTRY__RESIZE_TAKES, add_nearest_pixel},
                   [GANTRY__IMAGES_BILINEAR] = {GANTRY__RESIZE_BLENDS, add_bilinear_pixels},
                   [GANTRY__IMAGES_BICUBIC] = {GANTRY__RESIZE_SUMS, add_cubic_pixels},
                   [GANTRY__IMAGES_AREA] = {GANTRY__RESIZE_SUMS, add_area_pixels}};
    const float scale = gantry__resize_scale(pixels);
    GANTRY__TRY(
        gantry__resize_open(out, heap, methods[method].kind, pixels->source, pixels->result));
    for (int64_t i = 0; i < pixels->result; ++i) {
        GANTRY__TRY(methods[method].add(pixels, scale, i, out));
        gantry__resize_end_place(out);
    }
    return GANTRY_OK;
}

/* ---- ScaleAndTranslate: the kernels of TensorFlow's sampling, of x >= 0 ---- */

static float lanczos(float x, float radius) {
    const float pi = 3.14159265359f;
    if (x > radius) return 0;
    if (x <= 1e-3f) return 1;
    return radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}

static float gaussian(float x, float radius) {
    const double sigma = 0.5;
    return x >= radius ? 0.0f : (float)exp((double)(-x * x) / (2.0 * sigma * sigma));
}

static float box(float x, float radius) {
    (void)radius;
    return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f;
}

static float triangle(float x, float radius) {
    (void)radius;
    return x < 1.0f ? 1.0f - x : 0.0f;
}

static float keys_cubic(float x, float radius) {
    (void)radius;
    if (x >= 2.0f) return 0;
    if (x >= 1.0f) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
    return ((1.5f * x - 2.5f) * x) * x + 1.0f;
}

static float mitchell_cubic(float x, float radius) {
    (void)radius;
    if (x >= 2.0f) return 0;
    if (x >= 1.0f) return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
    return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

typedef struct resize_kernel_t {
    const char *name;
    float radius;
    float (*weight)(float x, float radius);
} resize_kernel_t;

static const resize_kernel_t kernels[] = {{"lanczos1", 1, lanczos},
                                          {"lanczos3", 3, lanczos},
                                          {"lanczos5", 5, lanczos},
                                          {"gaussian", 1.5f, gaussian},
                                          {"box", 1, box},
                                          {"triangle", 1, triangle},
                                          {"keyscubic", 2, keys_cubic},
                                          {"mitchellcubic", 2, mitchell_cubic}};

static int64_t span_end(float at, int64_t size) {
    return at < 0 ? 0 : at > (float)(size - 1) ? size - 1 : (int64_t)at;
}

/* The taps of a place that is at `sample` in the source, with the sum 1. */
static gantry_status_t add_span(const resize_kernel_t *kernel, float kernel_scale, float sample,
                                gantry__resize_table_t *out) {
    const float reach = kernel->radius * kernel_scale, inverse = 1.0f / kernel_scale;
    const int64_t begin = span_end(ceilf(sample - reach - 0.5f), out->source),
                  end = span_end(floorf(sample + reach - 0.5f), out->source) + 1;
    const size_t first = out->count;
    float sum = 0;
    for (int64_t place = begin; place < end; ++place) {
        const float at = (float)place + 0.5f - sample;
        const float weight = kernel->weight(fabsf(at * inverse), kernel->radius);
        sum += weight;
        GANTRY__TRY(gantry__resize_add(out, place, (double)weight));
    }
    const bool has_sum = fabsf(sum) >= 1000.0f * FLT_MIN;
    const float factor = has_sum ? 1.0f / sum : 0.0f;
    for (size_t t = first; t < out->count; ++t)
        out->taps[t].weight = (double)((float)out->taps[t].weight * factor);
    return GANTRY_OK;
}

gantry_status_t gantry__resize_of_spans(const gantry__resize_spans_t *spans,
                                        const gantry__heap_t *heap, gantry__resize_table_t *out) {
    const float inverse = (float)(1.0 / (double)spans->scale), move = -inverse * spans->translation;
    const float kernel_scale = spans->antialias && inverse > 1.0f ? inverse : 1.0f;
    const resize_kernel_t *kernel = kernels;
    while (strcmp(kernel->name, spans->kernel_type) != 0) ++kernel;
    GANTRY__TRY(gantry__resize_open(out, heap, GANTRY__RESIZE_SUMS, spans->source, spans->result));
    for (int64_t i = 0; i < spans->result; ++i) {
        const float sample = ((float)i + 0.5f) * inverse + move;
        if (sample >= 0 && sample <= (float)spans->source)
            GANTRY__TRY(add_span(kernel, kernel_scale, sample, out));
        gantry__resize_end_place(out);
    }
    return GANTRY_OK;
}
