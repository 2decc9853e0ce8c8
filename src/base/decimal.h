/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal digits of binary floating-point numbers: the shortest that read back as the same number,
 * or correctly rounded ones.
 *
 * Makes digits, not texts: the caller places the point and pads the number. Exact for every value
 * of every type; no locale, no allocation, no use of the C library's printing. Thread-safe. */
#ifndef GANTRY_BASE_DECIMAL_H
#define GANTRY_BASE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

#include <gantry/types.h>

typedef enum gantry__real_kind_t {
    GANTRY__REAL_FINITE,
    GANTRY__REAL_INFINITE,
    GANTRY__REAL_NAN
} gantry__real_kind_t;

/* A number taken apart: mantissa * 2^exponent. */
typedef struct gantry__real_t {
    gantry__real_kind_t kind;
    bool negative;
    bool power_of_two; /* the lower neighbour is half as far away as the upper one */
    uint64_t mantissa; /* 0 for zero */
    int32_t exponent;
} gantry__real_t;

/* Reads one element of an integer type or bool; of uint64 the same bits. No alignment needed. */
int64_t gantry__integer_read(gantry_dtype_t dtype, const void *element);
/* Reads one element of a real type (any other type: zero); no alignment needed. */
gantry__real_t gantry__real_read(gantry_dtype_t dtype, const void *element);
/* The number without its sign, exactly; infinity and NaN as they are. */
double gantry__real_magnitude(const gantry__real_t *value);

#define GANTRY__DECIMAL_DIGITS 64

/* digits[0].digits[1]digits[2]... * 10^exponent, sign apart. Zero is one digit '0' with exponent
 * 0. */
typedef struct gantry__decimal_t {
    int32_t exponent;
    int32_t count;
    char digits[GANTRY__DECIMAL_DIGITS]; /* '0' to '9', not terminated */
} gantry__decimal_t;

/* Both stop as soon as the digits distinguish the number from its neighbours in its own type. If a
 * limit stops them earlier, they round correctly (ties to an even digit). value is finite.
 *
 * Limits the digits from the first one: at most max_digits (0: no limit), and at least min_digits
 * exact ones, even if fewer suffice. */
void gantry__decimal_significant(const gantry__real_t *value, int32_t max_digits,
                                 int32_t min_digits, gantry__decimal_t *out);
/* Limits the digits after the point: at most max_fraction (-1: no limit). A value below that place
 * becomes zero, or a '1' there. */
void gantry__decimal_fraction(const gantry__real_t *value, int32_t max_fraction,
                              gantry__decimal_t *out);

#endif
