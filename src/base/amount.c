/* SPDX-License-Identifier: Apache-2.0 */
#include "base/amount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/decimal.h"

static bool equals_ignoring_case(const char *text, size_t length, const char *word) {
    for (size_t i = 0; i < length; ++i) {
        if (gantry__ascii_lower(text[i]) != gantry__ascii_lower(word[i]) || !word[i]) return false;
    }
    return !word[length];
}

bool gantry__parse_word(const char *text, size_t length, const char *const *words, int count,
                        int *out) {
    for (int i = 0; i < count; ++i) {
        if (!equals_ignoring_case(text, length, words[i])) continue;
        *out = i;
        return true;
    }
    return false;
}

bool gantry__parse_bool(const char *text, size_t length, bool *out) {
    static const char *const words[] = {"0", "off", "false", "no", "1", "on", "true", "yes"};
    int word = 0;
    if (!gantry__parse_word(text, length, words, 8, &word)) return false;
    *out = word >= 4;
    return true;
}

bool gantry__parse_number(const char *text, size_t length, uint64_t most, uint64_t *out) {
    uint64_t number = 0;
    for (size_t i = 0; i < length; ++i) {
        uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';
        if (digit > 9 || digit > most || number > (most - digit) / 10) return false;
        number = number * 10 + digit;
    }
    if (length == 0) return false;
    *out = number;
    return true;
}

bool gantry__parse_signed(const char *text, size_t length, int32_t *out) {
    bool negative = length > 0 && *text == '-';
    uint64_t number = 0;
    if (!gantry__parse_number(text + negative, length - negative, (uint64_t)INT32_MAX + negative,
                              &number))
        return false;
    *out = (int32_t)(negative ? -(int64_t)number : (int64_t)number);
    return true;
}

bool gantry__parse_bytes(const char *text, size_t length, uint64_t *out) {
    static const char units[] = "KMGT";
    const char *unit =
        length > 0 ? memchr(units, gantry__ascii_upper(text[length - 1]), sizeof units - 1) : NULL;
    uint64_t number = 0;
    unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;
    if (!gantry__parse_number(text, length - (unit != NULL), UINT64_MAX >> shift, &number))
        return false;
    *out = number << shift;
    return true;
}

/* Number and scale are exact in a long double, and the quotient's rounding is too fine to show in a
 * double. */
bool gantry__parse_decimal(const char *text, size_t length, double *out) {
    uint64_t number = 0;
    int places = -1, digits = 0, scale = 0; /* places after the point so far, -1: no point yet */
    for (size_t i = 0; i < length; ++i) {
        if (text[i] == '.' && places < 0) {
            places = 0;
            continue;
        }
        if (!gantry__ascii_is_digit(text[i])) return false;
        ++digits;
        if (places >= 0) ++places;
        if (number >= UINT64_C(100000000000000000)) { /* 18 digits: more than a double holds */
            if (places < 0) return false;
            continue;
        }
        if (places > 27) return false;
        number = number * 10 + (uint64_t)(text[i] - '0');
        scale = places > 0 ? places : 0;
    }
    long double divisor = 1;
    for (int i = 0; i < scale; ++i) divisor *= 10;
    *out = (double)((long double)number / divisor);
    return digits > 0;
}

bool gantry__parse_fraction(const char *text, size_t length, double *out) {
    bool is_percent = length > 0 && text[length - 1] == '%';
    double value = 0;
    if (!gantry__parse_decimal(text, length - is_percent, &value)) return false;
    if (is_percent) value = (double)((long double)value / 100);
    if (value <= 0 || value > 1) return false;
    *out = value;
    return true;
}

void gantry__format_bytes(uint64_t bytes, char out[GANTRY__AMOUNT_BYTES]) {
    static const char units[] = "KMGT";
    int unit = -1;
    while (bytes > 0 && bytes % 1024 == 0 && unit < 3) bytes /= 1024, ++unit;
    (void)snprintf(out, GANTRY__AMOUNT_BYTES, "%" PRIu64 "%.*s", bytes, unit >= 0,
                   unit >= 0 ? units + unit : "");
}

void gantry__format_decimal(double value, char out[GANTRY__AMOUNT_BYTES]) {
    gantry__real_t real = gantry__real_read(GANTRY_FLOAT64, &value);
    gantry__decimal_t decimal;
    gantry__decimal_significant(&real, 0, 1, &decimal);
    size_t used = 0;
    /* power of ten of the digit to be written */
    int32_t place = decimal.exponent < 0 ? 0 : decimal.exponent;
    int32_t last = decimal.exponent - decimal.count + 1;
    for (; (place >= 0 || place >= last) && used + 2 < GANTRY__AMOUNT_BYTES; --place) {
        int32_t index = decimal.exponent - place;
        if (place == -1) out[used++] = '.';
        out[used++] = index >= 0 && index < decimal.count ? decimal.digits[index] : '0';
    }
    out[used] = '\0';
}
