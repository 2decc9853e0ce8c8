/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign: means or maxima of samples in regions. With sampling_ratio 0 the number of samples
 * follows from the regions, so they must be known; the pixels and weights of all samples are then
 * tables, made on the host. Computed in float32, as ONNX Runtime does. */
#include <math.h>
#include <string.h>

#include "onnx/lower/sample.h"

typedef const gantry_tensor_t tensor;

#define CORNERS 4
/* The most samples of a bin in a direction. */
#define MOST_SAMPLES 64
/* The most bins of a region in a direction, and numbers of a table. */
#define MOST_BINS 65536
#define MOST_TABLE 268435456.0

typedef struct roi_t {
    int64_t batch, height, width, count, rows, columns; /* of images, regions and bins */
    int64_t ratio, samples;                             /* samples: the most of a bin */
    float scale, shift;                                 /* shift: half a pixel, or 0 */
    bool is_max;
    const double *regions;
    const int64_t *images;
    int64_t *pixels[CORNERS]; /* [samples, count * rows * columns] */
    float *weights[CORNERS];
} roi_t;

/* A region's begin and its bins in a direction (0: rows, 1: columns). */
typedef struct roi_line_t {
    float begin, bin;
    int64_t samples;
} roi_line_t;

static roi_line_t roi_line(const roi_t *roi, int64_t region, int32_t direction) {
    const double *corners = roi->regions + 4 * region;
    const int64_t bins = direction == 0 ? roi->rows : roi->columns;
    const float begin = (float)corners[1 - direction] * roi->scale - roi->shift,
                end = (float)corners[3 - direction] * roi->scale - roi->shift;
    float size = end - begin;
    if (roi->shift == 0 && !(size >= 1)) size = 1;
    const float bin = size / (float)bins;
    const float adapted = ceilf(bin);
    return (roi_line_t){
        .begin = begin,
        .bin = bin,
        .samples = roi->ratio > 0 ? roi->ratio
                   : adapted >= 1 ? (adapted < MOST_SAMPLES ? (int64_t)adapted : MOST_SAMPLES + 1)
                                  : 0};
}

/* A place's two pixels in a direction, and the weight of the second; false: it is outside. */
static bool neighbours_of(float place, int64_t size, int64_t pixels[2], float *out_part) {
    if (!(place >= -1 && place <= (float)size)) return false;
    if (place < 0) place = 0;
    pixels[0] = (int64_t)place;
    if (pixels[0] >= size - 1) {
        pixels[0] = pixels[1] = size - 1;
        *out_part = 0;
    } else {
        pixels[1] = pixels[0] + 1;
        *out_part = place - (float)pixels[0];
    }
    return true;
}

static void set_sample(roi_t *roi, int64_t at, int64_t image, float y, float x, float factor) {
    int64_t rows[2], columns[2];
    float down, right;
    if (!neighbours_of(y, roi->height, rows, &down) ||
        !neighbours_of(x, roi->width, columns, &right))
        return; /* The tables have zeros. */
    for (int32_t i = 0; i < CORNERS; ++i) {
        const float of_row = i / 2 ? down : 1 - down, of_column = i % 2 ? right : 1 - right;
        roi->pixels[i][at] = (image * roi->height + rows[i / 2]) * roi->width + columns[i % 2];
        roi->weights[i][at] = of_row * of_column * factor;
    }
}

/* The samples of a bin; a maximum takes the first one again where a bin has fewer. */
static void set_bin(roi_t *roi, int64_t region, int64_t bin, const roi_line_t *down,
                    const roi_line_t *right) {
    const int64_t bins = roi->rows * roi->columns, count = down->samples * right->samples;
    const int64_t row = bin / roi->columns, column = bin % roi->columns;
    for (int64_t i = 0; i < roi->samples && count > 0; ++i) {
        const int64_t sample = i < count ? i : 0;
        const float step_y = (float)(sample / right->samples) + 0.5f,
                    step_x = (float)(sample % right->samples) + 0.5f;
        if (i >= count && !roi->is_max) return;
        set_sample(
            roi, (i * roi->count + region) * bins + bin, roi->images[region],
            down->begin + (float)row * down->bin + step_y * down->bin / (float)down->samples,
            right->begin + (float)column * right->bin + step_x * right->bin / (float)right->samples,
            roi->is_max ? 1 : 1 / (float)count);
    }
}

static gantry_status_t make_roi_tables(gantry__onnx_call_t *call, roi_t *roi) {
    const int64_t bins = roi->rows * roi->columns;
    for (int64_t i = 0; i < roi->count; ++i) {
        const roi_line_t down = roi_line(roi, i, 0), right = roi_line(roi, i, 1);
        if (roi->images[i] < 0 || roi->images[i] >= roi->batch)
            return gantry__onnx_invalid(call, "batch index %lld of %lld images",
                                        (long long)roi->images[i], (long long)roi->batch);
        if (down.samples > MOST_SAMPLES || right.samples > MOST_SAMPLES)
            return gantry__onnx_unsupported(call, "more than %d samples of a bin in a direction",
                                            MOST_SAMPLES);
        const int64_t samples = down.samples * right.samples;
        if (samples > roi->samples) roi->samples = samples;
    }
    if ((double)roi->samples * (double)roi->count * (double)bins > MOST_TABLE)
        return gantry__onnx_unsupported(call, "%lld regions with %lld bins of %lld samples",
                                        (long long)roi->count, (long long)bins,
                                        (long long)roi->samples);
    const size_t size = (size_t)(roi->samples * roi->count * bins);
    for (int32_t i = 0; i < CORNERS; ++i) {
        roi->pixels[i] = gantry__onnx_scratch(call, size, sizeof(int64_t));
        roi->weights[i] = gantry__onnx_scratch(call, size, sizeof(float));
        if (!roi->pixels[i] || !roi->weights[i]) return GANTRY_RESOURCE_EXHAUSTED;
        memset(roi->pixels[i], 0, size * sizeof(int64_t));
        memset(roi->weights[i], 0, size * sizeof(float));
    }
    for (int64_t i = 0; i < roi->count; ++i) {
        const roi_line_t down = roi_line(roi, i, 0), right = roi_line(roi, i, 1);
        for (int64_t bin = 0; bin < bins; ++bin) set_bin(roi, i, bin, &down, &right);
    }
    return GANTRY_OK;
}

static gantry_status_t read_roi(gantry__onnx_call_t *call, roi_t *roi) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *images = gantry_tensor_shape(x);
    const bool is_old = gantry__onnx_version(call) < 16;
    const char *mode = gantry__onnx_attr_text(call, "mode", "avg");
    const char *place = gantry__onnx_attr_text(call, "coordinate_transformation_mode",
                                               is_old ? "output_half_pixel" : "half_pixel");
    size_t region_count, image_count;
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(gantry__onnx_get_doubles(call, 1, "rois", &roi->regions, &region_count));
    GANTRY__TRY(gantry__onnx_get_ints(call, 2, "batch_indices", &roi->images, &image_count));
    roi->rows = gantry__onnx_attr_int(call, "output_height", 1);
    roi->columns = gantry__onnx_attr_int(call, "output_width", 1);
    roi->ratio = gantry__onnx_attr_int(call, "sampling_ratio", 0);
    roi->scale = gantry__onnx_attr_float(call, "spatial_scale", 1);
    roi->is_max = strcmp(mode, "max") == 0;
    roi->shift = strcmp(place, "half_pixel") == 0 ? 0.5f : 0;
    roi->count = (int64_t)image_count;
    if ((!roi->is_max && strcmp(mode, "avg") != 0) ||
        (roi->shift == 0 && strcmp(place, "output_half_pixel") != 0))
        return gantry__onnx_invalid(call, "mode '%s' with coordinate_transformation_mode '%s'",
                                    mode, place);
    if (images->rank != 4 || region_count != 4 * image_count || roi->rows < 1 || roi->columns < 1 ||
        roi->rows > MOST_BINS || roi->columns > MOST_BINS || roi->ratio < 0 ||
        roi->ratio > MOST_SAMPLES)
        return gantry__onnx_invalid(
            call,
            "images of %d dimensions, %zu numbers of regions and %zu batch indices, %lld x "
            "%lld bins and sampling_ratio %lld",
            (int)images->rank, region_count, image_count, (long long)roi->rows,
            (long long)roi->columns, (long long)roi->ratio);
    roi->batch = images->dims[0];
    roi->height = images->dims[2];
    roi->width = images->dims[3];
    return GANTRY_OK;
}

/* A corner of sample i of all bins, times its weights: [bins of all regions, channels]. */
static tensor *corner_of(gantry__onnx_call_t *call, const roi_t *roi, tensor *rows, int64_t i,
                         int32_t corner) {
    const int64_t count = roi->count * roi->rows * roi->columns;
    tensor *pixels = gantry__onnx_ints_of(call, GANTRY_INT64, roi->pixels[corner] + i * count,
                                          GANTRY_SHAPE(count));
    tensor *weights =
        gantry_constant(call->host, GANTRY_FLOAT32, GANTRY_SHAPE(count, 1),
                        roi->weights[corner] + i * count, (size_t)count * sizeof(float));
    if (weights && gantry_tensor_dtype(rows) != GANTRY_FLOAT32)
        weights = gantry_cast(call->host, weights, gantry_tensor_dtype(rows));
    return gantry_mul(call->scope, gantry_gather(call->scope, rows, pixels, 0), weights);
}

gantry_status_t gantry__onnx_lower_roi_align(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0), *y = NULL;
    roi_t roi = {0};
    GANTRY__TRY(read_roi(call, &roi));
    GANTRY__TRY(make_roi_tables(call, &roi));
    const int64_t channels = gantry_tensor_shape(x)->dims[1];
    const gantry_shape_t result = GANTRY_SHAPE(roi.count, roi.rows, roi.columns, channels);
    tensor *rows = gantry__onnx_pixel_rows(call, x);
    if (roi.samples == 0 || !rows || gantry_tensor_elements(x) == 0)
        return gantry__onnx_give(
            call, gantry_zeros(call->scope, gantry_tensor_dtype(x),
                               GANTRY_SHAPE(roi.count, channels, roi.rows, roi.columns)));
    for (int64_t i = 0; i < roi.samples; ++i) {
        for (int32_t k = 0; k < CORNERS; ++k) {
            tensor *part = corner_of(call, &roi, rows, i, k);
            if (!y)
                y = part;
            else
                y = roi.is_max ? gantry_maximum(call->scope, y, part)
                               : gantry_add(call->scope, y, part);
        }
    }
    return gantry__onnx_give(call,
                             gantry_transpose(call->scope, gantry_reshape(call->scope, y, result),
                                              (const int32_t[]){0, 3, 1, 2}));
}
