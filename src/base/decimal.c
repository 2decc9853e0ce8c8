/* SPDX-License-Identifier: Apache-2.0 */
/* Free-format printing after Steele and White ("How to print floating-point numbers accurately",
 * 1990), in exact integers.
 *
 * A number v and the middle points to its neighbours, v - low and v + high, are held as integers
 * over one denominator:
 *
 *          v - low          v            v + high              all of it times 1 / unit
 *     --------|-------------|---------------|------
 *               every number in here reads back as v
 *
 * With unit scaled so that 1 <= v / unit < 10, the next digit is floor(v / unit), v becomes the
 * remainder, and v, low and high are multiplied by 10. The digits so far suffice when the remainder
 * is below low (cutting off is safe) or above unit - high (rounding up is safe). The borders
 * themselves belong to the range when the mantissa is even, because reading rounds halves to even.
 *
 * Invariant of the loop: v < 10 * unit. Integers stay below 2^1240: float64's smallest number needs
 * 10^324 * 2^53, its unit 2^1076. Cost: one pass over at most 40 words for each digit and each
 * power of ten; about 0.3 us for a float32 near 1. */
#include "base/decimal.h"

#include <math.h>
#include <string.h>

#include "host/bits.h"
#include "ops/type_rows.h"

/* ---- natural numbers of bounded size ---- */

#define WORDS 42

typedef struct natural_t {
    int32_t count; /* words in use; the highest is not 0 */
    uint32_t words[WORDS];
} natural_t;

static void natural_set(natural_t *a, uint64_t value) {
    a->words[0] = (uint32_t)value;
    a->words[1] = (uint32_t)(value >> 32);
    a->count = a->words[1] ? 2 : a->words[0] ? 1 : 0;
}

static void natural_scale(natural_t *a, uint32_t factor) {
    uint64_t carry = 0;
    for (int32_t i = 0; i < a->count; ++i) {
        carry += (uint64_t)a->words[i] * factor;
        a->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && a->count < WORDS) a->words[a->count++] = (uint32_t)carry;
}

static void natural_scale_by_power_of_ten(natural_t *a, int32_t power) {
    for (; power >= 9; power -= 9) natural_scale(a, 1000000000u);
    for (; power > 0; --power) natural_scale(a, 10u);
}

static void natural_shift(natural_t *a, int32_t bits) {
    int32_t words = bits / 32;
    if (a->count == 0 || a->count + words > WORDS) return;
    if (words > 0) {
        memmove(a->words + words, a->words, (size_t)a->count * sizeof a->words[0]);
        memset(a->words, 0, (size_t)words * sizeof a->words[0]);
        a->count += words;
    }
    natural_scale(a, UINT32_C(1) << (bits % 32));
}

static int natural_compare(const natural_t *a, const natural_t *b) {
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (int32_t i = a->count - 1; i >= 0; --i) {
        if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
    }
    return 0;
}

/* Compares a + b with c. */
static int natural_compare_sum(const natural_t *a, const natural_t *b, const natural_t *c) {
    natural_t sum = {0};
    uint64_t carry = 0;
    int32_t count = a->count > b->count ? a->count : b->count;
    for (int32_t i = 0; i < count; ++i) {
        carry += (uint64_t)(i < a->count ? a->words[i] : 0) + (i < b->count ? b->words[i] : 0);
        sum.words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sum.count = count;
    if (carry && count < WORDS) sum.words[sum.count++] = (uint32_t)carry;
    return natural_compare(&sum, c);
}

static void natural_subtract(natural_t *a, const natural_t *b) { /* b <= a */
    int64_t borrow = 0;
    for (int32_t i = 0; i < a->count; ++i) {
        borrow += (int64_t)a->words[i] - (i < b->count ? b->words[i] : 0);
        a->words[i] = (uint32_t)borrow;
        borrow >>= 32; /* 0 or -1 */
    }
    while (a->count > 0 && a->words[a->count - 1] == 0) --a->count;
}

/* Subtracts unit from v as often as possible, at most 9 times, and returns how often. */
static int natural_take_digit(natural_t *v, const natural_t *unit) {
    int digit = 0;
    while (digit < 9 && natural_compare(v, unit) >= 0) {
        natural_subtract(v, unit);
        ++digit;
    }
    return digit;
}

/* ---- taking a number apart ---- */

int64_t gantry__integer_read(gantry_dtype_t dtype, const void *element) {
    const size_t bytes = gantry_dtype_size(dtype);
    if (bytes == 0 || bytes > sizeof(uint64_t)) return 0;
    const uint64_t bits = gantry__bits_read(element, bytes);
    const uint64_t sign = GANTRY__TYPE_IS(dtype, SIGNED) ? UINT64_C(1) << (8 * bytes - 1) : 0;
    return (int64_t)((bits ^ sign) - sign);
}

gantry__real_t gantry__real_read(gantry_dtype_t dtype, const void *element) {
    const int32_t exponent_bits = gantry__type_exponent_bits((int32_t)dtype);
    const int32_t bytes = (int32_t)gantry_dtype_size(dtype);
    if (exponent_bits == 0) return (gantry__real_t){.kind = GANTRY__REAL_FINITE};
    const uint64_t bits = gantry__bits_read(element, (size_t)bytes);
    const int32_t fraction_bits = 8 * bytes - 1 - exponent_bits;
    const int32_t bias = ((1 << exponent_bits) - 1) / 2 + fraction_bits;
    const uint64_t sign = UINT64_C(1) << (8 * bytes - 1), magnitude = bits & (sign - 1);
    const uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
    const int32_t field = (int32_t)(magnitude >> fraction_bits);
    gantry__real_t value = {.negative = (bits & sign) != 0};
    if (magnitude > gantry__type_greatest((int32_t)dtype)) {
        const uint64_t infinity = gantry__type_infinity((int32_t)dtype);
        /* a type without infinity has its NaN there */
        const bool is_infinite =
            magnitude == infinity && infinity != gantry__type_nan((int32_t)dtype);
        value.kind = is_infinite ? GANTRY__REAL_INFINITE : GANTRY__REAL_NAN;
        return value;
    }
    value.mantissa = field ? fraction | UINT64_C(1) << fraction_bits : fraction;
    value.exponent = (field ? field : 1) - bias;
    value.power_of_two = fraction == 0 && field > 1;
    return value;
}

double gantry__real_magnitude(const gantry__real_t *value) {
    if (value->kind == GANTRY__REAL_NAN) return (double)NAN;
    if (value->kind == GANTRY__REAL_INFINITE) return (double)INFINITY;
    return ldexp((double)value->mantissa, value->exponent);
}

/* ---- digits ---- */

#define UNBOUNDED (-10000) /* a place below every digit of every number */

typedef struct digit_loop_t {
    natural_t v, low, high, unit;
    bool even;
} digit_loop_t;

/* A lower bound of floor(log10(2^power)), exact or one less for |power| < 10,000. */
static int32_t estimate_log10(int32_t power) {
    /* log10(2) * 2^22 = 1262611.3 */
    int64_t scaled = (int64_t)power * (power >= 0 ? 1262610 : 1262616);
    int64_t whole = scaled / (1 << 22);
    return (int32_t)(scaled % (1 << 22) < 0 ? whole - 1 : whole);
}

/* Returns the first digit's exponent k: 10^k <= v < 10^(k + 1), unit = 10^k. */
static int32_t decimal_prepare(const gantry__real_t *value, digit_loop_t *loop) {
    /* extra bits that make half the distance to a neighbour a whole number */
    int32_t extra = value->power_of_two ? 2 : 1;
    int32_t up = value->exponent > 0 ? value->exponent : 0;
    int32_t down = value->exponent < 0 ? -value->exponent : 0;
    loop->even = value->mantissa % 2 == 0;
    natural_set(&loop->v, value->mantissa);
    natural_shift(&loop->v, up + extra);
    natural_set(&loop->unit, 1);
    natural_shift(&loop->unit, down + extra);
    natural_set(&loop->low, 1);
    natural_shift(&loop->low, up);
    natural_set(&loop->high, value->power_of_two ? 2 : 1);
    natural_shift(&loop->high, up);
    int32_t length = 0;
    while (value->mantissa >> length > 1) ++length;
    int32_t k = estimate_log10(length + value->exponent);
    natural_scale_by_power_of_ten(&loop->unit, k);
    natural_scale_by_power_of_ten(&loop->v, -k);
    natural_scale_by_power_of_ten(&loop->low, -k);
    natural_scale_by_power_of_ten(&loop->high, -k);
    for (;;) {
        natural_t next = loop->unit;
        natural_scale(&next, 10);
        if (natural_compare(&loop->v, &next) < 0) return k;
        loop->unit = next;
        ++k;
    }
}

/* Adds one unit in the last place; a row of nines becomes a single 1. */
static void decimal_round_up(gantry__decimal_t *out) {
    while (out->count > 0 && out->digits[out->count - 1] == '9') --out->count;
    if (out->count > 0) {
        ++out->digits[out->count - 1];
    } else {
        out->digits[out->count++] = '1';
        ++out->exponent;
    }
}

/* Makes digits from place `first` down to the place where they suffice, but not above `wanted` and
 * never below `last`. */
static void decimal_run(digit_loop_t *loop, int32_t first, int32_t wanted, int32_t last,
                        gantry__decimal_t *out) {
    int32_t lowest = first - (GANTRY__DECIMAL_DIGITS - 1);
    if (last < lowest) last = lowest;
    out->exponent = first;
    out->count = 0;
    for (int32_t place = first;; --place) {
        int digit = natural_take_digit(&loop->v, &loop->unit);
        int against_low = natural_compare(&loop->v, &loop->low);
        int against_high = natural_compare_sum(&loop->v, &loop->high, &loop->unit);
        bool low = loop->even ? against_low <= 0 : against_low < 0;
        bool high = loop->even ? against_high >= 0 : against_high > 0;
        out->digits[out->count++] = (char)('0' + digit);
        if (((low || high) && place <= wanted) || place <= last) {
            int against_half = natural_compare_sum(&loop->v, &loop->v, &loop->unit);
            bool up =
                low != high ? high : against_half > 0 || (against_half == 0 && digit % 2 == 1);
            if (up) decimal_round_up(out);
            return;
        }
        natural_scale(&loop->v, 10);
        natural_scale(&loop->low, 10);
        natural_scale(&loop->high, 10);
    }
}

static void set_zero(gantry__decimal_t *out) {
    out->exponent = 0;
    out->count = 1;
    out->digits[0] = '0';
}

void gantry__decimal_significant(const gantry__real_t *value, int32_t max_digits,
                                 int32_t min_digits, gantry__decimal_t *out) {
    digit_loop_t loop;
    if (value->mantissa == 0) {
        set_zero(out);
        return;
    }
    int32_t first = decimal_prepare(value, &loop);
    decimal_run(&loop, first, min_digits > 0 ? first + 1 - min_digits : first,
                max_digits > 0 ? first + 1 - max_digits : UNBOUNDED, out);
}

void gantry__decimal_fraction(const gantry__real_t *value, int32_t max_fraction,
                              gantry__decimal_t *out) {
    digit_loop_t loop;
    if (value->mantissa == 0) {
        set_zero(out);
        return;
    }
    int32_t first = decimal_prepare(value, &loop);
    int32_t last = max_fraction >= 0 ? -max_fraction : UNBOUNDED;
    if (first < last - 1) { /* below a tenth of the last place */
        set_zero(out);
        return;
    }
    if (first < last) { /* begin at the last place allowed, with a 0 */
        natural_scale(&loop.unit, 10);
        first = last;
    }
    decimal_run(&loop, first, first, last, out);
    if (out->count == 1 && out->digits[0] == '0') set_zero(out);
}
