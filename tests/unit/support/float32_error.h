/* SPDX-License-Identifier: Apache-2.0 */
/* The distance of a float32 result from the exact one, which is given in double precision. The file
 * knows no function. Thread-safe. */
#ifndef FLOAT32_ERROR_H
#define FLOAT32_ERROR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* the only NaN that a function of the portable text returns */
#define FLOAT32_NAN_BITS UINT32_C(0x7fc00000)

static inline uint32_t float32_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The distance of y from the exact result in units of float's last place at that result; infinite
 * if a special result is wrong. */
static inline double float32_error_ulp(float y, double wanted) {
    float nearest = (float)wanted;
    if (isnan(wanted)) {
        return float32_bits(y) == FLOAT32_NAN_BITS ? 0.0 : HUGE_VAL;
    }
    if (wanted == 0.0 || isinf(wanted)) {
        return float32_bits(y) == float32_bits(nearest) ? 0.0 : HUGE_VAL;
    }
    if (isnan(y) || (y != 0.0f && (signbit(y) != 0) != (signbit(wanted) != 0))) {
        return HUGE_VAL;
    }
    /* An overflowed result counts as 2^128, which would follow the largest float. */
    double value = isinf(y) ? copysign(0x1p128, (double)y) : (double)y;
    double capped = fabs(wanted) > 0x1p128 ? copysign(0x1p128, wanted) : wanted;
    int exponent = fabs(capped) < 0x1p-126 ? -126 : ilogb(capped);
    if (exponent > 127) {
        exponent = 127;
    }
    return fabs(value - capped) * ldexp(1.0, 23 - exponent);
}

#endif
