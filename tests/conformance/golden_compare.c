/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing values with a golden tensor.
 *
 * Distance in ulp: the bits of a float, read as a sign and a magnitude, put all floats on one line
 * of integers on which neighbours differ by 1 and both zeros are 0; the distance is the
 * difference of two such integers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "golden.h"

/* The place of a float on the line. */
static int64_t place_at(gantry_dtype_t dtype, const void *data, size_t index) {
    if (dtype == GANTRY_FLOAT64) {
        uint64_t bits;
        memcpy(&bits, (const char *)data + index * sizeof bits, sizeof bits);
        int64_t magnitude = (int64_t)(bits & INT64_MAX);
        return bits >> 63 ? -magnitude : magnitude;
    }
    if (dtype != GANTRY_FLOAT32) {
        uint16_t bits;
        memcpy(&bits, (const char *)data + index * sizeof bits, sizeof bits);
        return bits >> 15 ? -(bits & INT16_MAX) : bits;
    }
    uint32_t bits;
    memcpy(&bits, (const char *)data + index * sizeof bits, sizeof bits);
    int64_t magnitude = (int64_t)(bits & INT32_MAX);
    return bits >> 31 ? -magnitude : magnitude;
}

static int64_t ulp_between(gantry_dtype_t dtype, const void *expected, const void *actual,
                           size_t index) {
    bool expected_nan = isnan(golden_number_at(dtype, expected, index)),
         actual_nan = isnan(golden_number_at(dtype, actual, index));
    if (expected_nan || actual_nan) return expected_nan && actual_nan ? 0 : INT64_MAX;
    int64_t a = place_at(dtype, expected, index), b = place_at(dtype, actual, index);
    if ((a < 0) != (b < 0) && (a < 0 ? b > INT64_MAX + a : a > INT64_MAX + b)) return INT64_MAX;
    return a > b ? a - b : b - a;
}

static bool float_is_right(const golden_tensor_t *expected, const golden_tolerance_t *tolerance,
                           const void *actual, size_t index) {
    gantry_dtype_t dtype = expected->dtype;
    double e = golden_number_at(dtype, expected->data, index),
           a = golden_number_at(dtype, actual, index);
    if (isnan(e) || isnan(a)) return isnan(e) && isnan(a);
    if (e == a) return !tolerance->exact || signbit(e) == signbit(a);
    if (tolerance->exact || isinf(e) || isinf(a)) return false;
    if (ulp_between(dtype, expected->data, actual, index) <= tolerance->ulp) return true;
    return fabs(a - e) <= tolerance->absolute + tolerance->relative * fabs(e);
}

/* Writes one element: integers of every width as numbers, other types as bytes. */
static void format_value(gantry_dtype_t dtype, const void *data, size_t index, char *out,
                         size_t out_bytes) {
    size_t size = gantry_dtype_size(dtype);
    const unsigned char *at = (const unsigned char *)data + index * size;
    int64_t wide = 0;
    int32_t narrow = 0;
    if (golden_is_float(dtype)) {
        snprintf(out, out_bytes, dtype == GANTRY_FLOAT64 ? "%.17g" : "%.9g",
                 golden_number_at(dtype, data, index));
    } else if (dtype == GANTRY_INT64) {
        memcpy(&wide, at, sizeof wide);
        snprintf(out, out_bytes, "%" PRId64, wide);
    } else if (dtype == GANTRY_INT32) {
        memcpy(&narrow, at, sizeof narrow);
        snprintf(out, out_bytes, "%" PRId32, narrow);
    } else {
        size_t used = 0;
        for (size_t i = 0; i < size && used + 3 < out_bytes; ++i) {
            used += (size_t)snprintf(out + used, out_bytes - used, i ? " %02x" : "%02x", at[i]);
        }
    }
}

/* "[1,0,2]" for a flat index. */
static void format_index(const gantry_shape_t *shape, size_t flat, char *out, size_t out_bytes) {
    gantry_shape_t index = *shape;
    for (int32_t i = shape->rank - 1; i >= 0; --i) {
        index.dims[i] = (int64_t)(flat % (size_t)shape->dims[i]);
        flat /= (size_t)shape->dims[i];
    }
    gantry_shape_format(&index, out, out_bytes);
}

static void explain(const golden_tensor_t *expected, const void *actual, size_t first, size_t wrong,
                    char *why, size_t why_bytes) {
    char index[128], want[64], got[64], apart[64] = "";
    format_index(&expected->shape, first, index, sizeof index);
    format_value(expected->dtype, expected->data, first, want, sizeof want);
    format_value(expected->dtype, actual, first, got, sizeof got);
    if (golden_is_float(expected->dtype)) {
        int64_t ulp = ulp_between(expected->dtype, expected->data, actual, first);
        if (ulp == INT64_MAX)
            snprintf(apart, sizeof apart, ", not comparable in ulp");
        else
            snprintf(apart, sizeof apart, ", %" PRId64 " ulp apart", ulp);
    }
    size_t total = (size_t)gantry_shape_elements(&expected->shape);
    snprintf(why, why_bytes, "%zu of %zu elements differ; first at %s: expected %s, got %s%s",
             wrong, total, index, want, got, apart);
}

int golden_compare(const golden_tensor_t *expected, const golden_tolerance_t *tolerance,
                   const void *actual, char *why, size_t why_bytes) {
    size_t size = gantry_dtype_size(expected->dtype), count = expected->bytes / size;
    size_t first = 0, wrong = 0;
    for (size_t i = 0; i < count; ++i) {
        bool right = memcmp((const char *)expected->data + i * size,
                            (const char *)actual + i * size, size) == 0;
        if (!right && golden_is_float(expected->dtype))
            right = float_is_right(expected, tolerance, actual, i);
        if (!right && wrong++ == 0) first = i;
    }
    if (wrong && why && why_bytes) explain(expected, actual, first, wrong, why, why_bytes);
    return wrong != 0;
}

int64_t golden_largest_ulp(const golden_tensor_t *expected, const void *actual) {
    int64_t largest = 0;
    if (!golden_is_float(expected->dtype)) return 0;
    for (size_t i = 0; i < expected->bytes / gantry_dtype_size(expected->dtype); ++i) {
        int64_t ulp = ulp_between(expected->dtype, expected->data, actual, i);
        if (ulp > largest) largest = ulp;
    }
    return largest;
}
