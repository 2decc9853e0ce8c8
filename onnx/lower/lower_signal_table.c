/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of signal ops, which the host computes in double: windows, mel weights and grids. */
#include <math.h>
#include <string.h>

#include "onnx/lower/parts.h"

/* The most elements of a table. */
#define MOST_TABLE_ELEMENTS (1 << 24)

static gantry_status_t check_table(gantry__onnx_call_t *call, double elements) {
    if (elements <= MOST_TABLE_ELEMENTS) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "a table of %.0f elements; %d are accepted", elements,
                                    MOST_TABLE_ELEMENTS);
}

/* Makes a tensor of numbers in the host scope, as the type of output_datatype. */
static gantry_status_t give_table(gantry__onnx_call_t *call, const double *numbers,
                                  gantry_shape_t shape, const char *type_attr) {
    gantry_dtype_t dtype;
    GANTRY__TRY(gantry__onnx_attr_dtype(call, type_attr, GANTRY_FLOAT32, &dtype));
    const size_t bytes = (size_t)gantry_shape_elements(&shape) * sizeof *numbers;
    const gantry_tensor_t *table =
        gantry_constant(call->host, GANTRY_FLOAT64, shape, numbers, bytes);
    if (table && dtype != GANTRY_FLOAT64) table = gantry_cast(call->host, table, dtype);
    return gantry__onnx_give(call, table);
}

/* ---- windows: a[0] - a[1] cos(2 pi i / n) + a[2] cos(4 pi i / n) ---- */

static gantry_status_t lower_taper(gantry__onnx_call_t *call, const double a[3]) {
    const double turn = 6.283185307179586476925;
    int64_t size;
    GANTRY__TRY(gantry__onnx_get_int(call, 0, "size", 0, &size));
    if (size < 0) return gantry__onnx_invalid(call, "size is %lld", (long long)size);
    GANTRY__TRY(check_table(call, (double)size));
    const int64_t period = gantry__onnx_attr_int(call, "periodic", 1) != 0 ? size : size - 1;
    if (period == 0 && size > 0)
        return gantry__onnx_invalid(call, "a symmetric window of one element has no values");
    double *numbers = gantry__onnx_scratch(call, (size_t)size, sizeof *numbers);
    if (!numbers) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < size; ++i) {
        const double angle = turn * (double)i / (double)period;
        numbers[i] = a[0] - a[1] * cos(angle) + a[2] * cos(2 * angle);
    }
    return give_table(call, numbers, GANTRY_SHAPE(size), "output_datatype");
}

gantry_status_t gantry__onnx_lower_hann_window(gantry__onnx_call_t *call) {
    return lower_taper(call, (const double[3]){0.5, 0.5, 0});
}

gantry_status_t gantry__onnx_lower_hamming_window(gantry__onnx_call_t *call) {
    return lower_taper(call, (const double[3]){25.0 / 46.0, 1 - 25.0 / 46.0, 0});
}

gantry_status_t gantry__onnx_lower_blackman_window(gantry__onnx_call_t *call) {
    return lower_taper(call, (const double[3]){0.42, 0.5, 0.08});
}

/* ---- mel weights: a triangle of frequencies for each band ---- */

/* The arguments of MelWeightMatrix. */
typedef struct mel_t {
    int64_t bands, points, rate, rows;
    double low, step; /* The first edge of the first band, and from edge to edge, in mel / 2595. */
} mel_t;

static gantry_status_t mel_read(gantry__onnx_call_t *call, mel_t *mel) {
    double low, high;
    GANTRY__TRY(gantry__onnx_get_int(call, 0, "num_mel_bins", 0, &mel->bands));
    GANTRY__TRY(gantry__onnx_get_int(call, 1, "dft_length", 0, &mel->points));
    GANTRY__TRY(gantry__onnx_get_int(call, 2, "sample_rate", 0, &mel->rate));
    GANTRY__TRY(gantry__onnx_get_double(call, 3, "lower_edge_hertz", 0, &low));
    GANTRY__TRY(gantry__onnx_get_double(call, 4, "upper_edge_hertz", 0, &high));
    if (mel->bands < 0 || mel->bands > INT32_MAX - 2 || mel->points < 0 ||
        mel->points >= INT32_MAX || mel->rate < 1)
        return gantry__onnx_invalid(
            call, "num_mel_bins is %lld, dft_length %lld and sample_rate %lld",
            (long long)mel->bands, (long long)mel->points, (long long)mel->rate);
    if (!(low >= 0 && high >= low))
        return gantry__onnx_invalid(call,
                                    "the edges are %g and %g; they are ascending and not "
                                    "negative",
                                    low, high);
    mel->rows = mel->points / 2 + 1;
    mel->low = log1p(low / 700);
    mel->step = (log1p(high / 700) - mel->low) / (double)(mel->bands + 2);
    return GANTRY_OK;
}

/* The row of an edge between bands; -1: it is outside of the spectrum. */
static int64_t mel_row(const mel_t *mel, int64_t edge) {
    const double hertz = 700 * expm1(mel->low + mel->step * (double)edge);
    const double row = floor((double)(mel->points + 1) * hertz / (double)mel->rate);
    return row >= 0 && row < (double)mel->rows ? (int64_t)row : -1;
}

static void mel_fill(const mel_t *mel, int64_t band, const int64_t edges[3], double *numbers) {
    const int64_t left = edges[0], middle = edges[1], right = edges[2];
    double *column = numbers + band;
    if (left == middle) column[middle * mel->bands] = 1;
    for (int64_t row = left; row <= middle && left < middle; ++row)
        column[row * mel->bands] = (double)(row - left) / (double)(middle - left);
    for (int64_t row = middle; row < right; ++row)
        column[row * mel->bands] = (double)(right - row) / (double)(right - middle);
}

gantry_status_t gantry__onnx_lower_mel_weight_matrix(gantry__onnx_call_t *call) {
    mel_t mel;
    GANTRY__TRY(mel_read(call, &mel));
    GANTRY__TRY(check_table(call, (double)mel.rows * (double)mel.bands));
    const size_t count = (size_t)mel.rows * (size_t)mel.bands;
    double *numbers = gantry__onnx_scratch(call, count, sizeof *numbers);
    if (!numbers) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) numbers[i] = 0;
    for (int64_t band = 0; band < mel.bands; ++band) {
        int64_t edges[3];
        for (int64_t i = 0; i < 3; ++i) {
            edges[i] = mel_row(&mel, band + i);
            if (edges[i] < 0)
                return gantry__onnx_invalid(call, "band %lld is outside of the spectrum",
                                            (long long)band);
        }
        mel_fill(&mel, band, edges, numbers);
    }
    return give_table(call, numbers, GANTRY_SHAPE(mel.rows, mel.bands), "output_datatype");
}

/* ---- AffineGrid ---- */

/* The place of position i of n, from -1 to 1: of the pixels' middles, or with align_corners of
 * their corners. */
static double grid_place(int64_t i, int64_t n, bool aligns) {
    return aligns ? -1 + 2 * (double)i / (double)(n - 1) : (double)(2 * i + 1) / (double)n - 1;
}

/* The positions [points, dims + 1]: for each point x, y (and z), and 1. */
static gantry_status_t grid_positions(gantry__onnx_call_t *call, const int64_t *sizes, int32_t dims,
                                      int64_t points, gantry_dtype_t dtype,
                                      const gantry_tensor_t **out) {
    const bool aligns = gantry__onnx_attr_int(call, "align_corners", 0) != 0;
    GANTRY__TRY(check_table(call, (double)points * (double)(dims + 1)));
    const size_t width = (size_t)dims + 1, count = (size_t)points * width;
    double *numbers = gantry__onnx_scratch(call, count, sizeof *numbers);
    if (!numbers) return GANTRY_RESOURCE_EXHAUSTED;
    for (int32_t d = 0; d < dims; ++d)
        if (aligns && sizes[d] == 1)
            return gantry__onnx_invalid(call, "align_corners with a size of 1 has no places");
    for (int64_t point = 0; point < points; ++point) {
        double *place = numbers + (size_t)point * width;
        int64_t rest = point;
        for (int32_t d = dims - 1; d >= 0; --d) {
            place[dims - 1 - d] = grid_place(rest % sizes[d], sizes[d], aligns);
            rest /= sizes[d];
        }
        place[dims] = 1;
    }
    *out = gantry_constant(call->host, GANTRY_FLOAT64, GANTRY_SHAPE(points, (int64_t)width),
                           numbers, count * sizeof *numbers);
    if (*out && dtype != GANTRY_FLOAT64) *out = gantry_cast(call->host, *out, dtype);
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_affine_grid(gantry__onnx_call_t *call) {
    const gantry_tensor_t *theta = gantry__onnx_input(call, 0), *positions = NULL;
    const int64_t *sizes;
    size_t count;
    GANTRY__TRY(gantry__onnx_get_ints(call, 1, "size", &sizes, &count));
    if (count != 4 && count != 5)
        return gantry__onnx_invalid(call, "size has %zu numbers; it has 4 or 5", count);
    const int32_t dims = (int32_t)count - 2;
    const gantry_shape_t matrices = GANTRY_SHAPE(sizes[0], dims, dims + 1);
    GANTRY__TRY(gantry__onnx_need_shape(call, theta));
    if (!gantry_shape_equal(gantry_tensor_shape(theta), &matrices))
        return gantry__onnx_invalid(call, "theta must have the shape [%lld, %d, %d]",
                                    (long long)sizes[0], (int)dims, (int)dims + 1);
    gantry_shape_t shape = {.rank = dims + 2, .dims = {sizes[0]}};
    for (int32_t d = 0; d < dims; ++d) shape.dims[d + 1] = sizes[d + 2];
    shape.dims[dims + 1] = dims;
    if (gantry_shape_elements(&shape) < 0)
        return gantry__onnx_invalid(call, "size has a number that is negative or too large");
    const int64_t points = gantry__onnx_product(&shape, 1, dims + 1);
    GANTRY__TRY(
        grid_positions(call, sizes + 2, dims, points, gantry_tensor_dtype(theta), &positions));
    const gantry_tensor_t *grid = gantry__onnx_op_attr(call, "BatchMatMul", positions, theta,
                                                       GANTRY__ONNX_BOOL_OF("adj_y", true));
    return gantry__onnx_give(call, gantry__onnx_reshape(call, grid, shape));
}
