/* SPDX-License-Identifier: Apache-2.0 */
/* Checks convolutions larger than those of the golden files against a plain loop: shares of several
 * threads, panels of places across rows and images, sums and filters in several blocks. The error
 * bound is the one of matrix products. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "conformance_sweep.h"

typedef struct conv_size_t {
    int64_t image[4], filter[4];
    int64_t step, spread;
    bool is_same;
} conv_size_t;

static const conv_size_t sizes[] = {
    {{2, 40, 40, 8}, {3, 3, 8, 40}, 1, 1, true},
    {{1, 30, 31, 16}, {5, 5, 16, 70}, 1, 2, false},
    {{3, 17, 13, 130}, {3, 3, 130, 33}, 2, 1, true},
    {{2, 9, 9, 260}, {3, 3, 260, 96}, 1, 1, true},
    {{5, 1, 148, 64}, {1, 3, 64, 32}, 1, 1, false},
    {{1, 64, 64, 3}, {7, 7, 3, 16}, 2, 1, true},
    /* padding with few channels: strips once and in parts, one place a row, more padding than
     * image, many rows */
    {{3, 28, 28, 1}, {5, 5, 1, 32}, 1, 1, true},
    {{1, 20, 20, 40}, {5, 5, 40, 33}, 1, 1, true},
    {{2, 7, 1, 6}, {3, 3, 6, 5}, 1, 1, true},
    {{2, 4, 5, 2}, {9, 11, 2, 3}, 1, 1, true},
    {{1, 45, 6, 1}, {35, 3, 1, 4}, 1, 1, true},
    {{2, 9, 30, 2}, {3, 4, 2, 7}, 3, 1, true},
    /* places without padding that have more elements, or more rows, than one look-up handles */
    {{1, 4, 16, 260}, {3, 3, 260, 5}, 1, 1, false},
    {{1, 36, 15, 1}, {34, 3, 1, 4}, 1, 1, false},
};

static int64_t places_of(const conv_size_t *size, int d) {
    const int64_t reach = (size->filter[d] - 1) * size->spread + 1, image = size->image[d + 1];
    return size->is_same ? (image + size->step - 1) / size->step : (image - reach) / size->step + 1;
}

static int64_t padding_of(const conv_size_t *size, int d) {
    const int64_t reach = (size->filter[d] - 1) * size->spread + 1;
    const int64_t needed = (places_of(size, d) - 1) * size->step + reach - size->image[d + 1];
    return size->is_same && needed > 0 ? needed / 2 : 0;
}

static double sum_at(const conv_size_t *size, const double *x, const double *f, int64_t image,
                     int64_t y, int64_t left, int64_t output) {
    const int64_t height = size->image[1], width = size->image[2], channels = size->image[3],
                  n = size->filter[3];
    double sum = 0;
    for (int64_t r = 0; r < size->filter[0]; ++r) {
        for (int64_t c = 0; c < size->filter[1]; ++c) {
            const int64_t row = y + r * size->spread, column = left + c * size->spread;
            if (row < 0 || row >= height || column < 0 || column >= width) continue;
            const double *pixel = x + ((image * height + row) * width + column) * channels;
            const double *weights = f + (r * size->filter[1] + c) * channels * n + output;
            for (int64_t e = 0; e < channels; ++e) sum += pixel[e] * weights[e * n];
        }
    }
    return sum;
}

static void convolve(const conv_size_t *size, const double *x, const double *f,
                     golden_tensor_t *out) {
    const int64_t *dims = out->shape.dims;
    for (int64_t i = 0; i < gantry_shape_elements(&out->shape); ++i) {
        const int64_t output = i % dims[3], place = i / dims[3], column = place % dims[2],
                      row = place / dims[2] % dims[1];
        golden_store_number(
            out->dtype, out->data, (size_t)i,
            sum_at(size, x, f, place / dims[2] / dims[1], row * size->step - padding_of(size, 0),
                   column * size->step - padding_of(size, 1), output));
    }
}

static void run_conv(conformance_t *c, gantry_dtype_t dtype, const conv_size_t *size) {
    char name[128];
    const int64_t *i = size->image, *f = size->filter;
    snprintf(name, sizeof name,
             "plain_%s_%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 "_by_%" PRId64 "x%" PRId64
             "x%" PRId64,
             gantry_dtype_name(dtype), i[0], i[1], i[2], i[3], f[0], f[1], f[3]);
    if (!conformance_begin(c, "Conv2D", name)) return;
    const uint64_t seed = sweep_hash(name);
    golden_tensor_t inputs[2] = {
        sweep_tensor(seed, dtype, GANTRY_SHAPE(i[0], i[1], i[2], i[3]), SWEEP_UNIT),
        sweep_tensor(seed + 1, dtype, GANTRY_SHAPE(f[0], f[1], f[2], f[3]), SWEEP_UNIT)};
    golden_tensor_t expected = sweep_tensor(
        0, dtype, GANTRY_SHAPE(i[0], places_of(size, 0), places_of(size, 1), f[3]), SWEEP_UNIT);
    int64_t steps[] = {1, size->step, size->step, 1},
            spreads[] = {1, size->spread, size->spread, 1};
    char op[] = "Conv2D", names[][12] = {"strides", "dilations", "padding"},
         paddings[][6] = {"VALID", "SAME"};
    golden_attr_t attrs[] = {
        {.name = names[0], .kind = GOLDEN_ATTR_INTS, .ints = steps, .int_count = 4},
        {.name = names[1], .kind = GOLDEN_ATTR_INTS, .ints = spreads, .int_count = 4},
        {.name = names[2], .kind = GOLDEN_ATTR_STRING, .string_value = paddings[size->is_same]}};
    golden_case_t item = {.name = name,
                          .op = op,
                          .attrs = attrs,
                          .attr_count = 3,
                          .inputs = inputs,
                          .input_count = 2};
    double *x = golden_numbers(&inputs[0]), *filter = golden_numbers(&inputs[1]);
    if (x && filter) {
        convolve(size, x, filter, &expected);
        conformance_check_sums(c, &item, f[0] * f[1] * f[2], &expected);
    } else {
        conformance_fail(c, "no memory for the plain loop");
    }
    free(x);
    free(filter);
    conformance_free_outputs(inputs, 2);
    conformance_free_outputs(&expected, 1);
    conformance_end(c);
}

void conformance_run_conv(conformance_t *c) {
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16};
    uint64_t number = 0;
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; ++t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
            if (number++ % c->options.every == 0) run_conv(c, dtypes[t], &sizes[i]);
        }
    }
}
