/* SPDX-License-Identifier: Apache-2.0 */
/* MaxRoiPool: maxima of the bins of regions, which must be known. The rows of all bins are a table,
 * made on the host, and so are their columns: maxima over rows come first. */
#include <math.h>

#include "onnx/lower/parts.h"

typedef const gantry_tensor_t tensor;

/* The most bins of a region in a direction, and numbers of a table. */
#define MOST_POOLED 65536
#define MOST_PLACES 268435456.0

/* Regions, and in each direction (0: rows, 1: columns) their bins. */
typedef struct max_roi_t {
    int64_t batch, channels, size[2], count, bins[2];
    float scale;
    const double *regions; /* [count, 5]: image, x and y of the first and of the last pixel. */
    int64_t most[2];       /* Elements of a bin. */
    int64_t *places[2];    /* [count * bins, most]: rows of all images, columns of all regions. */
    int64_t *found[2];     /* [count * bins]: 1, or 0 for a bin without elements. */
} max_roi_t;

/* Elements *begin to *end - 1 of a bin. */
static void max_roi_bin(const max_roi_t *roi, int64_t region, int32_t direction, int64_t bin,
                        int64_t *begin, int64_t *end) {
    const double *numbers = roi->regions + 5 * region;
    const float first = roundf((float)numbers[2 - direction] * roi->scale);
    const float last = roundf((float)numbers[4 - direction] * roi->scale);
    const float step = fmaxf(last - first + 1, 1) / (float)roi->bins[direction];
    const float size = (float)roi->size[direction];
    *begin = (int64_t)fminf(fmaxf(first + floorf((float)bin * step), 0), size);
    *end = (int64_t)fminf(fmaxf(first + ceilf((float)(bin + 1) * step), 0), size);
}

/* Fills the table of a direction; elements of short bins are repeated. */
static gantry_status_t make_max_roi_table(gantry__onnx_call_t *call, max_roi_t *roi, int32_t d) {
    const int64_t bins = roi->count * roi->bins[d];
    int64_t begin, end;
    roi->most[d] = 1;
    if ((double)bins > MOST_PLACES)
        return gantry__onnx_unsupported(call, "more than %g bins", MOST_PLACES);
    for (int64_t i = 0; i < bins; ++i) {
        max_roi_bin(roi, i / roi->bins[d], d, i % roi->bins[d], &begin, &end);
        if (end - begin > roi->most[d]) roi->most[d] = end - begin;
    }
    if ((double)bins * (double)roi->most[d] > MOST_PLACES)
        return gantry__onnx_unsupported(call, "bins of more than %g elements", MOST_PLACES);
    roi->places[d] = gantry__onnx_scratch(call, (size_t)(bins * roi->most[d]), sizeof(int64_t));
    roi->found[d] = gantry__onnx_scratch(call, (size_t)bins, sizeof(int64_t));
    if (!roi->places[d] || !roi->found[d]) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < bins; ++i) {
        const int64_t region = i / roi->bins[d];
        max_roi_bin(roi, region, d, i % roi->bins[d], &begin, &end);
        roi->found[d][i] = begin < end;
        const int64_t base = d == 0 ? (int64_t)roi->regions[5 * region] : region;
        for (int64_t k = 0; k < roi->most[d]; ++k) {
            const int64_t place = begin + k < end ? begin + k : begin;
            roi->places[d][i * roi->most[d] + k] = base * roi->size[d] + (begin < end ? place : 0);
        }
    }
    return GANTRY_OK;
}

static gantry_status_t read_max_roi(gantry__onnx_call_t *call, max_roi_t *roi) {
    tensor *x = gantry__onnx_input(call, 0);
    size_t bin_count, number_count;
    const int64_t *bins = gantry__onnx_attr_ints(call, "pooled_shape", &bin_count);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(gantry__onnx_get_doubles(call, 1, "rois", &roi->regions, &number_count));
    const gantry_shape_t *images = gantry_tensor_shape(x);
    if (images->rank != 4 || bin_count != 2 || number_count % 5 != 0 || bins[0] < 1 ||
        bins[1] < 1 || bins[0] > MOST_POOLED || bins[1] > MOST_POOLED)
        return gantry__onnx_invalid(
            call,
            "images of %d dimensions, %zu numbers of regions and %zu of pooled_shape; 4, "
            "multiples of 5 and 2 from 1 to %d are accepted",
            (int)images->rank, number_count, bin_count, MOST_POOLED);
    roi->scale = gantry__onnx_attr_float(call, "spatial_scale", 1);
    roi->count = (int64_t)number_count / 5;
    roi->batch = images->dims[0];
    roi->channels = images->dims[1];
    for (int32_t i = 0; i < 2; ++i) {
        roi->bins[i] = bins[i];
        roi->size[i] = images->dims[2 + i];
    }
    for (int64_t i = 0; i < roi->count; ++i)
        if (!(roi->regions[5 * i] >= 0 && roi->regions[5 * i] < (double)roi->batch))
            return gantry__onnx_invalid(call, "a region of image %g of %lld", roi->regions[5 * i],
                                        (long long)roi->batch);
    return GANTRY_OK;
}

/* Maxima over the rows [.., n] of x that the table of a direction names. */
static tensor *max_of_places(gantry__onnx_call_t *call, const max_roi_t *roi, tensor *x,
                             int32_t d) {
    const int64_t axis = 1;
    tensor *places = gantry__onnx_ints_of(call, GANTRY_INT64, roi->places[d],
                                          GANTRY_SHAPE(roi->count * roi->bins[d], roi->most[d]));
    return gantry__onnx_reduce(call, "Max", gantry_gather(call->scope, x, places, 0), &axis, 1,
                               false);
}

gantry_status_t gantry__onnx_lower_max_roi_pool(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    tensor *x = gantry__onnx_input(call, 0);
    max_roi_t roi = {0};
    GANTRY__TRY(read_max_roi(call, &roi));
    const int64_t count = roi.count, rows = roi.bins[0], columns = roi.bins[1];
    tensor *zero = gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), 0);
    if (count == 0 || gantry_tensor_elements(x) == 0)
        return gantry__onnx_give(
            call, gantry_fill(scope, GANTRY_SHAPE(count, roi.channels, rows, columns), zero));
    for (int32_t d = 0; d < 2; ++d) GANTRY__TRY(make_max_roi_table(call, &roi, d));
    x = gantry_transpose(scope, x, (const int32_t[]){0, 2, 1, 3});
    x = gantry_reshape(scope, x, GANTRY_SHAPE(roi.batch * roi.size[0], roi.channels * roi.size[1]));
    x = gantry_reshape(scope, max_of_places(call, &roi, x, 0),
                       GANTRY_SHAPE(count, rows, roi.channels, roi.size[1]));
    x = gantry_transpose(scope, x, (const int32_t[]){0, 3, 1, 2});
    x = gantry_reshape(scope, x, GANTRY_SHAPE(count * roi.size[1], rows * roi.channels));
    x = gantry_reshape(scope, max_of_places(call, &roi, x, 1),
                       GANTRY_SHAPE(count, columns, rows, roi.channels));
    x = gantry_transpose(scope, x, (const int32_t[]){0, 3, 2, 1});
    tensor *found[2] = {
        gantry__onnx_ints_of(call, GANTRY_BOOL, roi.found[0], GANTRY_SHAPE(count, 1, rows, 1)),
        gantry__onnx_ints_of(call, GANTRY_BOOL, roi.found[1], GANTRY_SHAPE(count, 1, 1, columns))};
    return gantry__onnx_give(
        call, gantry_select(scope, gantry_logical_and(call->host, found[0], found[1]), x, zero));
}
