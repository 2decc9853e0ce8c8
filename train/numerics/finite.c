/* SPDX-License-Identifier: Apache-2.0 */
#include "train/numerics/finite.h"

#include <math.h>
#include <string.h>

#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"

#include "ops/type_rows.h"

/* A floating type of 8 or 16 bits. float8_e4m3fn has no infinities, and one NaN. */
static double of_bits(gantry_dtype_t dtype, int width, int bits) {
    const int exponent_bits = gantry__type_exponent_bits((int32_t)dtype);
    const int fraction_bits = width - 1 - exponent_bits, highest = (1 << exponent_bits) - 1;
    const int field = bits >> fraction_bits & highest, one = 1 << fraction_bits;
    const double fraction = bits & (one - 1), sign = bits >> (width - 1) ? -1 : 1;
    const bool is_finite = dtype == GANTRY_FLOAT8_E4M3FN && fraction < one - 1;
    if (field == highest && !is_finite) return fraction > 0 ? NAN : sign * INFINITY;
    return sign * ldexp(field > 0 ? one + fraction : fraction,
                        (field > 0 ? field : 1) - highest / 2 - fraction_bits);
}

double gantry__finite_number_at(gantry_dtype_t dtype, const void *data, int64_t i) {
    if (dtype == GANTRY_FLOAT32) return (double)((const float *)data)[i];
    if (dtype == GANTRY_FLOAT64) return ((const double *)data)[i];
    return gantry_dtype_size(dtype) == 1 ? of_bits(dtype, 8, ((const uint8_t *)data)[i])
                                         : of_bits(dtype, 16, ((const uint16_t *)data)[i]);
}

gantry__finite_t gantry__finite_count(gantry_dtype_t dtype, const void *data, int64_t elements) {
    gantry__finite_t counts = {.elements = elements, .low = INFINITY, .high = -INFINITY};
    for (int64_t i = 0; i < elements; ++i) {
        const double x = gantry__finite_number_at(dtype, data, i);
        if (isfinite(x)) {
            if (x < counts.low) counts.low = x;
            if (x > counts.high) counts.high = x;
            continue;
        }
        if (gantry__finite_others(&counts) == 0) counts.first = i;
        counts.nans += isnan(x) != 0;
        counts.plus += isinf(x) && x > 0;
        counts.minus += isinf(x) && x < 0;
    }
    return counts;
}

bool gantry__finite_count_tensor(const gantry_tensor_t *tensor, gantry__finite_t *out_counts,
                                 gantry_status_t *out_status) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const gantry_dtype_t dtype = gantry_tensor_dtype(tensor);
    const size_t bytes = gantry_tensor_bytes(tensor);
    *out_status = GANTRY_OK;
    if (!gantry__train_is_float(dtype) || gantry_tensor_elements(tensor) < 0) return false;
    void *data = gantry__alloc(bytes, 1);
    *out_status = data ? gantry_tensor_read(tensor, data, bytes) : GANTRY_RESOURCE_EXHAUSTED;
    if (*out_status == GANTRY_OK)
        *out_counts = gantry__finite_count(dtype, data, gantry_tensor_elements(tensor));
    gantry__free(data);
    if (*out_status == GANTRY_OK) return true;
    if (*out_status == GANTRY_FAILED_PRECONDITION) *out_status = GANTRY_OK; /* it is symbolic */
    return false;
}
