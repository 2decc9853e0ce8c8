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
#include "golden_draw.h"

#define XXH_INLINE_ALL
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#include <xxhash.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

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

/* Between an element of expected->data and one of actual. */
static int64_t ulp_between(const golden_tensor_t *expected, size_t index, const void *actual,
                           size_t place) {
    gantry_dtype_t dtype = expected->dtype;
    bool expected_nan = isnan(golden_number_at(dtype, expected->data, index)),
         actual_nan = isnan(golden_number_at(dtype, actual, place));
    if (expected_nan || actual_nan) return expected_nan && actual_nan ? 0 : INT64_MAX;
    int64_t a = place_at(dtype, expected->data, index), b = place_at(dtype, actual, place);
    if ((a < 0) != (b < 0) && (a < 0 ? b > INT64_MAX + a : a > INT64_MAX + b)) return INT64_MAX;
    return a > b ? a - b : b - a;
}

static bool float_is_right(const golden_tensor_t *expected, size_t index,
                           const golden_tolerance_t *tolerance, const void *actual, size_t place) {
    gantry_dtype_t dtype = expected->dtype;
    double e = golden_number_at(dtype, expected->data, index),
           a = golden_number_at(dtype, actual, place);
    if (isnan(e) || isnan(a)) return isnan(e) && isnan(a);
    if (e == a) return !tolerance->exact || signbit(e) == signbit(a);
    if (tolerance->exact || isinf(e) || isinf(a)) return false;
    if (ulp_between(expected, index, actual, place) <= tolerance->ulp) return true;
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

static size_t count_of(const golden_tensor_t *tensor) {
    return tensor->bytes / gantry_dtype_size(tensor->dtype);
}

/* The elements of expected->data, and the place of each in the whole tensor. */
static size_t given_count(const golden_tensor_t *expected) {
    return expected->sample_count ? expected->sample_count : count_of(expected);
}

static size_t place_of(const golden_tensor_t *expected, size_t index) {
    return expected->sample_count ? golden_sample_place(count_of(expected), index) : index;
}

static void explain(const golden_tensor_t *expected, const void *actual, size_t first, size_t wrong,
                    char *why, size_t why_bytes) {
    char index[128], want[64], got[64], apart[64] = "";
    size_t place = place_of(expected, first);
    format_index(&expected->shape, place, index, sizeof index);
    format_value(expected->dtype, expected->data, first, want, sizeof want);
    format_value(expected->dtype, actual, place, got, sizeof got);
    if (golden_is_float(expected->dtype)) {
        int64_t ulp = ulp_between(expected, first, actual, place);
        if (ulp == INT64_MAX)
            snprintf(apart, sizeof apart, ", not comparable in ulp");
        else
            snprintf(apart, sizeof apart, ", %" PRId64 " ulp apart", ulp);
    }
    snprintf(why, why_bytes, "%zu of %zu %s differ; first at %s: expected %s, got %s%s", wrong,
             given_count(expected), expected->sample_count ? "samples" : "elements", index, want,
             got, apart);
}

/* One element in the form that golden_hash counts it in. */
static void make_plain(gantry_dtype_t dtype, unsigned char *element, bool is_value) {
    if (!golden_is_float(dtype)) return;
    double number = golden_number_at(dtype, element, 0);
    if (isnan(number)) golden_store_number(dtype, element, 0, (double)NAN);
    if (number == 0 && is_value) golden_store_number(dtype, element, 0, 0);
}

uint64_t golden_hash(gantry_dtype_t dtype, const void *data, size_t bytes, bool is_value) {
    _Alignas(8) unsigned char part[1024];
    size_t size = gantry_dtype_size(dtype);
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    for (size_t at = 0; at < bytes; at += sizeof part) {
        size_t length = bytes - at < sizeof part ? bytes - at : sizeof part;
        memcpy(part, (const unsigned char *)data + at, length);
        for (size_t i = 0; i < length; i += size) make_plain(dtype, part + i, is_value);
        golden_to_host_order(part, length, dtype);
        XXH64_update(&state, part, length);
    }
    return XXH64_digest(&state);
}

/* The hash finds a difference between the samples. */
static int compare_hash(const golden_tensor_t *expected, const golden_tolerance_t *tolerance,
                        const void *actual, char *why, size_t why_bytes) {
    uint64_t hash = golden_hash(expected->dtype, actual, expected->bytes, !tolerance->exact);
    if (hash == expected->hash) return 0;
    if (why && why_bytes) {
        snprintf(why, why_bytes,
                 "the samples are right, but the hash of all %zu elements is %016" PRIx64
                 " instead of %016" PRIx64,
                 count_of(expected), hash, expected->hash);
    }
    return 1;
}

/* The distance of `ulp` units in the last place from a number, or a little more. */
static double ulp_bound(gantry_dtype_t dtype, double number, int64_t ulp) {
    double unit = dtype == GANTRY_FLOAT64   ? 0x1p-52
                  : dtype == GANTRY_FLOAT32 ? 0x1p-23
                  : dtype == GANTRY_FLOAT16 ? 0x1p-10
                                            : 0x1p-7;
    double least = dtype == GANTRY_FLOAT64   ? 0x1p-1074
                   : dtype == GANTRY_FLOAT16 ? 0x1p-24
                                             : 0x1p-133;
    return (double)ulp * (fabs(number) * unit + least);
}

double golden_sum(gantry_dtype_t dtype, const void *data, size_t bytes,
                  const golden_tolerance_t *tolerance, double *out_bound) {
    double sum = 0, size = 0, bound = 0;
    for (size_t i = 0; i < bytes / gantry_dtype_size(dtype); ++i) {
        double number = golden_number_at(dtype, data, i);
        double weight = 1 + (double)((uint32_t)i * UINT32_C(0x9e3779b1)) * 0x1p-32;
        if (!isfinite(number)) continue;
        sum += weight * number;
        size += weight * fabs(number);
        bound += weight * (tolerance->absolute + tolerance->relative * fabs(number) +
                           ulp_bound(dtype, number, tolerance->ulp));
    }
    /* Rounding of this sum, and elements that are larger than the expected ones. */
    *out_bound = 1.01 * bound + 1e-12 * size;
    return sum;
}

/* The sum finds what is far wrong between the samples. */
static int compare_sum(const golden_tensor_t *expected, const golden_tolerance_t *tolerance,
                       const void *actual, char *why, size_t why_bytes) {
    double bound, sum = golden_sum(expected->dtype, actual, expected->bytes, tolerance, &bound);
    if (fabs(sum - expected->sum) <= bound) return 0;
    if (why && why_bytes) {
        snprintf(why, why_bytes,
                 "the samples are right, but the weighted sum of all %zu elements is %.17g instead "
                 "of %.17g, and only %g may be between them",
                 count_of(expected), sum, expected->sum, bound);
    }
    return 1;
}

int golden_compare(const golden_tensor_t *expected, const golden_tolerance_t *tolerance,
                   const void *actual, char *why, size_t why_bytes) {
    size_t size = gantry_dtype_size(expected->dtype), first = 0, wrong = 0;
    for (size_t i = 0; i < given_count(expected); ++i) {
        size_t place = place_of(expected, i);
        bool right = memcmp((const char *)expected->data + i * size,
                            (const char *)actual + place * size, size) == 0;
        if (!right && golden_is_float(expected->dtype))
            right = float_is_right(expected, i, tolerance, actual, place);
        if (!right && wrong++ == 0) first = i;
    }
    if (wrong && why && why_bytes) explain(expected, actual, first, wrong, why, why_bytes);
    if (wrong) return 1;
    if (expected->is_summed) return compare_sum(expected, tolerance, actual, why, why_bytes);
    if (!expected->is_hashed) return 0;
    return compare_hash(expected, tolerance, actual, why, why_bytes);
}

int64_t golden_largest_ulp(const golden_tensor_t *expected, const void *actual) {
    int64_t largest = 0;
    if (!golden_is_float(expected->dtype)) return 0;
    for (size_t i = 0; i < given_count(expected); ++i) {
        int64_t ulp = ulp_between(expected, i, actual, place_of(expected, i));
        if (ulp > largest) largest = ulp;
    }
    return largest;
}
