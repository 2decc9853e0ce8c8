/* SPDX-License-Identifier: Apache-2.0 */
/* Converts elements of the float types to doubles and back. Arithmetic does this, not the bit
 * operations of the library's own conversions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

bool golden_is_float(gantry_dtype_t dtype) {
    return dtype == GANTRY_FLOAT32 || dtype == GANTRY_FLOAT64 || dtype == GANTRY_FLOAT16 ||
           dtype == GANTRY_BFLOAT16;
}

static double float16_number(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                    : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -value : value;
}

double golden_number_at(gantry_dtype_t dtype, const void *data, size_t index) {
    const char *at = (const char *)data + index * gantry_dtype_size(dtype);
    double wide;
    float single;
    uint16_t half;
    if (dtype == GANTRY_FLOAT64) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    if (dtype == GANTRY_FLOAT32) {
        memcpy(&single, at, sizeof single);
        return (double)single;
    }
    memcpy(&half, at, sizeof half);
    if (dtype == GANTRY_FLOAT16) return float16_number(half);
    uint32_t upper = (uint32_t)half << 16;
    memcpy(&single, &upper, sizeof single);
    return (double)single;
}

double *golden_numbers(const golden_tensor_t *t) {
    const size_t count = (size_t)gantry_shape_elements(&t->shape);
    double *numbers = calloc(count ? count : 1, sizeof *numbers);
    for (size_t i = 0; numbers && i < count && golden_is_float(t->dtype); ++i)
        numbers[i] = golden_number_at(t->dtype, t->data, i);
    return numbers;
}

/* value > 0 and finite as a count of the type's steps there, ties to the even count; 2^step is
 * one of them. */
static double count_steps(double value, int precision, int least_step, int *out_step) {
    int exponent;
    (void)frexp(value, &exponent);
    *out_step = exponent - precision < least_step ? least_step : exponent - precision;
    return nearbyint(ldexp(value, -*out_step));
}

/* Fraction bits of the type, the step of its denormals, and the bits of infinity without sign.
 * Steps count on from the denormals through all binades, so a value's bits are a sum. */
static uint16_t half_bits(double value, int fraction_bits, int least_step, uint16_t infinity) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int step;
    if (isnan(value)) return (uint16_t)(infinity | infinity >> 1);
    if (isinf(value)) return sign | infinity;
    if (value == 0) return sign;
    double count = count_steps(fabs(value), fraction_bits + 1, least_step, &step);
    double bits = count + ldexp(step - least_step, fraction_bits);
    return (uint16_t)(sign | (bits >= infinity ? infinity : (uint16_t)bits));
}

void golden_store_number(gantry_dtype_t dtype, void *data, size_t index, double value) {
    char *at = (char *)data + index * gantry_dtype_size(dtype);
    float single = (float)value;
    if (dtype == GANTRY_FLOAT64) {
        memcpy(at, &value, sizeof value);
        return;
    }
    if (dtype == GANTRY_FLOAT32) {
        memcpy(at, &single, sizeof single);
        return;
    }
    const uint16_t half = dtype == GANTRY_FLOAT16 ? half_bits(value, 10, -24, 0x7c00)
                                                  : half_bits(value, 7, -133, 0x7f80);
    memcpy(at, &half, sizeof half);
}
