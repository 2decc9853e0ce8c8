/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in_numbers.h"

#include <math.h>
#include <string.h>

uint64_t stand_in__element_bytes(int type) {
    switch (type) {
        case 0: return 4;
        case 1: return 8;
        case 2:
        case 14: return 2;
        default: return 0;
    }
}

static float float_of_bits(uint32_t bits) {
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static double half_to_double(uint16_t bits) {
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction != 0 ? (double)NAN : (double)INFINITY)
                                    : ldexp(fraction + 1024, exponent - 25);

    return bits & 0x8000 ? -value : value;
}

/* Rounds to nearest, ties to even, in steps of the target's spacing at this value. */
static uint16_t double_to_half(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    double rounded;

    value = fabs(value);
    if (isnan(value)) return 0x7e00;
    if (value >= 65520) return (uint16_t)(sign | 0x7c00);
    frexp(value, &exponent);
    exponent = exponent - 11 < -24 ? -24 : exponent - 11;
    rounded = nearbyint(ldexp(value, -exponent));
    if (rounded >= 2048) {
        rounded /= 2;
        exponent++;
    }
    return (uint16_t)(sign | (rounded < 1024
                                  ? (uint32_t)rounded
                                  : (uint32_t)(exponent + 25) << 10 | ((uint32_t)rounded - 1024)));
}

static uint16_t double_to_bfloat(double value) {
    float narrow = (float)value;
    uint32_t bits;

    memcpy(&bits, &narrow, sizeof bits);
    if (isnan(narrow)) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double stand_in__load(const uint8_t *data, int type, uint64_t index) {
    float single;
    double wide;
    uint16_t half;

    switch (type) {
        case 0: memcpy(&single, data + index * 4, 4); return (double)single;
        case 1: memcpy(&wide, data + index * 8, 8); return wide;
        default: memcpy(&half, data + index * 2, 2); break;
    }
    return type == 2 ? half_to_double(half) : (double)float_of_bits((uint32_t)half << 16);
}

void stand_in__store(uint8_t *data, int type, uint64_t index, double value) {
    float single = (float)value;
    uint16_t half;

    switch (type) {
        case 0: memcpy(data + index * 4, &single, 4); return;
        case 1: memcpy(data + index * 8, &value, 8); return;
        default: half = type == 2 ? double_to_half(value) : double_to_bfloat(value); break;
    }
    memcpy(data + index * 2, &half, 2);
}

double stand_in__round_to_tf32(double value) {
    float narrow = (float)value;
    uint32_t bits;

    memcpy(&bits, &narrow, sizeof bits);
    return isfinite(narrow) ? (double)float_of_bits((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu)
                            : value;
}

double stand_in__round(int type, double value) {
    uint8_t element[8];

    stand_in__store(element, type, 0, value);
    return stand_in__load(element, type, 0);
}
