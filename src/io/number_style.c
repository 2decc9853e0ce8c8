/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's rules for a column of numbers (arrayprint, version 2.4):
 *
 *   integers   all as wide as the widest, right-aligned
 *   bools      five characters
 *   reals      positional unless the largest magnitude is 1e8 (float32: 1e6, float16: 1e3) or more,
 *              the smallest below 1e-4, or their ratio above 1000; zeros apart, compared in the
 *              array's own type. With suppress, only the largest counts. Shortest digits, at most
 *              `precision` after the point. Points are in one column: positional numbers are
 *              padded with blanks, scientific ones with further exact digits.
 *   complex    a column of real parts, then one of imaginary parts with their signs
 *
 * A scalar is written by itself: positional from 1e-4 up to 1e16 (float64), 1e6 (float32), 1e3
 * (float16). bfloat16 and the float8, which NumPy lacks, follow float32. Python has these types
 * from ml_dtypes, which writes each number by itself, with six digits. */
#include "io/number_style.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ops/type_rows.h"

#define GENERAL_DIGITS 6 /* of %g */

/* ---- a text of bounded size ---- */

typedef struct writer_t {
    char *out;
    size_t used;
} writer_t;

static void number_style_put(writer_t *writer, char c, int32_t count) {
    for (; count > 0 && writer->used < GANTRY__NUMBER_CHARS - 1; --count)
        writer->out[writer->used++] = c;
}

static void number_style_put_text(writer_t *writer, const char *text) {
    for (; *text; ++text) number_style_put(writer, *text, 1);
}

static size_t number_style_end(writer_t *writer) {
    writer->out[writer->used] = '\0';
    return writer->used;
}

/* ---- integers ---- */

static bool is_real(gantry_dtype_t dtype) { return gantry__type_exponent_bits((int32_t)dtype) > 0; }

static int print_integer(gantry_dtype_t dtype, const void *element, char out[32]) {
    const int64_t value = gantry__integer_read(dtype, element);
    return GANTRY__TYPE_IS(dtype, UNSIGNED) ? snprintf(out, 32, "%" PRIu64, (uint64_t)value)
                                            : snprintf(out, 32, "%" PRId64, value);
}

static const char *bool_text(const void *element) {
    return *(const unsigned char *)element ? "True" : "False";
}

/* ---- one real number ---- */

static int32_t trimmed_count(const gantry__decimal_t *decimal) {
    int32_t count = decimal->count;
    while (count > 1 && decimal->digits[count - 1] == '0') --count;
    return count;
}

static void put_sign(writer_t *writer, const gantry__real_t *value, bool plus) {
    if (value->negative) {
        number_style_put(writer, '-', 1);
    } else if (plus) {
        number_style_put(writer, '+', 1);
    }
}

/* Writes the digits of the places from 10^from down to 10^to, with zeros beyond the number's
 * digits. */
static void put_places(writer_t *writer, const gantry__decimal_t *decimal, int32_t from,
                       int32_t to) {
    for (int32_t place = from; place >= to; --place) {
        int32_t at = decimal->exponent - place;
        number_style_put(writer, at >= 0 && at < decimal->count ? decimal->digits[at] : '0', 1);
    }
}

static void put_exponent(writer_t *writer, int32_t exponent, int32_t least_digits) {
    char text[16];
    (void)snprintf(text, sizeof text, "%0*d", (int)least_digits,
                   (int)(exponent < 0 ? -exponent : exponent));
    number_style_put_text(writer, exponent < 0 ? "e-" : "e+");
    number_style_put_text(writer, text);
}

static int32_t digits_before_point(const gantry__decimal_t *decimal) {
    return decimal->exponent > 0 ? decimal->exponent + 1 : 1;
}

static int32_t digits_behind_point(const gantry__decimal_t *decimal) {
    int32_t count = trimmed_count(decimal) - 1 - decimal->exponent;
    return count > 0 ? count : 0;
}

/* ---- a column of real numbers ---- */

static void float_look(gantry__float_style_t *style, const void *element) {
    gantry__real_t value = gantry__real_read(style->dtype, element);
    if (value.kind == GANTRY__REAL_NAN) {
        style->any_nan = true;
        return;
    }
    if (value.kind == GANTRY__REAL_INFINITE) {
        style->any_infinite = true;
        if (value.negative) style->any_negative_infinite = true;
        return;
    }
    style->any_finite = true;
    if (value.mantissa == 0) return;
    double magnitude = gantry__real_magnitude(&value);
    if (magnitude > style->largest) style->largest = magnitude;
    if (style->smallest == 0 || magnitude < style->smallest) style->smallest = magnitude;
}

/* The first magnitude that is scientific; of_float64 is that of float64. */
static double positional_end(gantry_dtype_t dtype, double of_float64) {
    return dtype == GANTRY_FLOAT64 ? of_float64 : dtype == GANTRY_FLOAT16 ? 1e3 : 1e6;
}

/* The three comparisons, each with the rounding of the column's type. */
static bool wants_scientific(const gantry__float_style_t *style) {
    double large = style->largest, small = style->smallest;
    if (small == 0) return false;
    if (large >= positional_end(style->dtype, 1e8)) return true;
    if (style->suppress) return false;
    if (style->dtype == GANTRY_FLOAT64) return small < 1e-4 || large / small > 1000;
    if (style->dtype == GANTRY_FLOAT16) {
        /* 1e-4 rounds to 0x1.a38p-14; a quotient above 1000.25 rounds to more than 1000 */
        return small < 0x1.a38p-14 || large / small > 1000.25;
    }
    return (float)small < 1e-4f || (float)large / (float)small > 1000;
}

static void float_digits(const gantry__float_style_t *style, const gantry__real_t *value,
                         int32_t least, gantry__decimal_t *out) {
    if (style->scientific) {
        gantry__decimal_significant(value, style->precision + 1, least + 1, out);
    } else {
        gantry__decimal_fraction(value, style->precision, out);
    }
}

static void float_measure(gantry__float_style_t *style, const void *element) {
    gantry__decimal_t decimal;
    gantry__real_t value = gantry__real_read(style->dtype, element);
    if (value.kind != GANTRY__REAL_FINITE) return;
    float_digits(style, &value, 0, &decimal);
    int32_t sign = value.negative || style->plus;
    int32_t left = sign + (style->scientific ? 1 : digits_before_point(&decimal));
    int32_t right = style->scientific ? trimmed_count(&decimal) - 1 : digits_behind_point(&decimal);
    int32_t exponent_digits = decimal.exponent > -100 && decimal.exponent < 100 ? 2 : 3;
    if (left > style->left) style->left = left;
    if (right > style->right) style->right = right;
    if (style->scientific && exponent_digits > style->exponent_digits)
        style->exponent_digits = exponent_digits;
}

static int32_t behind_point(const gantry__float_style_t *style) {
    return style->scientific ? style->right + 2 + style->exponent_digits : style->right;
}

static void float_finish(gantry__float_style_t *style) {
    int32_t room = behind_point(style) + 1; /* and the point itself */
    /* all show as many digits as the longest number needs */
    if (style->scientific) style->precision = style->right;
    if (style->any_nan && style->left < 3 - room) style->left = 3 - room;
    int32_t infinity = 3 + (style->plus || style->any_negative_infinite);
    bool any = style->any_nan || style->any_infinite;
    if (any && style->left < infinity - room) style->left = infinity - room;
}

static void put_float(writer_t *writer, const gantry__float_style_t *style, const void *element) {
    gantry__decimal_t decimal;
    gantry__real_t value = gantry__real_read(style->dtype, element);
    if (value.kind != GANTRY__REAL_FINITE) {
        bool infinite = value.kind == GANTRY__REAL_INFINITE;
        int32_t length = 3 + (style->plus || (infinite && value.negative));
        if (!infinite) value.negative = false;
        number_style_put(writer, ' ', style->left + behind_point(style) + 1 - length);
        put_sign(writer, &value, style->plus);
        number_style_put_text(writer, infinite ? "inf" : "nan");
        return;
    }
    float_digits(style, &value, style->precision, &decimal);
    int32_t sign = value.negative || style->plus;
    int32_t left = style->scientific ? 1 : digits_before_point(&decimal);
    number_style_put(writer, ' ', style->left - left - sign);
    put_sign(writer, &value, style->plus);
    if (style->scientific) {
        put_places(writer, &decimal, decimal.exponent, decimal.exponent);
        number_style_put(writer, '.', 1);
        put_places(writer, &decimal, decimal.exponent - 1, decimal.exponent - style->right);
        put_exponent(writer, decimal.exponent, style->exponent_digits);
        return;
    }
    int32_t right = digits_behind_point(&decimal);
    put_places(writer, &decimal, left - 1, 0);
    number_style_put(writer, '.', 1);
    put_places(writer, &decimal, -1, -right);
    number_style_put(writer, ' ', style->right - right);
}

/* ---- a column of any type ---- */

static gantry_dtype_t part_type(gantry_dtype_t complex) {
    return complex == GANTRY_COMPLEX64 ? GANTRY_FLOAT32 : GANTRY_FLOAT64;
}

static const void *imaginary_part(gantry_dtype_t complex, const void *element) {
    return (const char *)element + gantry_dtype_size(complex) / 2;
}

void gantry__number_style_init(gantry__number_style_t *style, gantry_dtype_t dtype,
                               int32_t precision, bool suppress) {
    *style = (gantry__number_style_t){.dtype = dtype};
    style->real =
        (gantry__float_style_t){.dtype = dtype, .suppress = suppress, .precision = precision};
    if (!GANTRY__TYPE_IS(dtype, COMPLEXES)) return;
    style->real.dtype = part_type(dtype);
    style->imaginary = style->real;
    style->imaginary.plus = true;
}

void gantry__number_style_look(gantry__number_style_t *style, const void *element) {
    char text[32];
    if (is_real(style->dtype)) {
        float_look(&style->real, element);
    } else if (GANTRY__TYPE_IS(style->dtype, COMPLEXES)) {
        float_look(&style->real, element);
        float_look(&style->imaginary, imaginary_part(style->dtype, element));
    } else if (style->dtype == GANTRY_BOOL) {
        style->width = 5;
    } else {
        int32_t width = print_integer(style->dtype, element, text);
        if (width > style->width) style->width = width;
    }
}

void gantry__number_style_fit(gantry__number_style_t *style) {
    style->real.scientific = wants_scientific(&style->real);
    style->imaginary.scientific = wants_scientific(&style->imaginary);
}

void gantry__number_style_measure(gantry__number_style_t *style, const void *element) {
    const bool is_complex = GANTRY__TYPE_IS(style->dtype, COMPLEXES);
    if (is_complex || is_real(style->dtype)) float_measure(&style->real, element);
    if (is_complex) float_measure(&style->imaginary, imaginary_part(style->dtype, element));
}

void gantry__number_style_finish(gantry__number_style_t *style) {
    float_finish(&style->real);
    float_finish(&style->imaginary);
}

/* The 'j' follows the digits, before the padding. */
static void put_imaginary(writer_t *writer, const gantry__float_style_t *style,
                          const void *element) {
    put_float(writer, style, element);
    int32_t blanks = 0;
    while (writer->out[writer->used - 1] == ' ') {
        --writer->used;
        ++blanks;
    }
    number_style_put(writer, 'j', 1);
    number_style_put(writer, ' ', blanks);
}

size_t gantry__number_style_write(const gantry__number_style_t *style, const void *element,
                                  char out[GANTRY__NUMBER_CHARS]) {
    writer_t writer = {out, 0};
    char text[32];
    const bool is_complex = GANTRY__TYPE_IS(style->dtype, COMPLEXES);
    if (is_complex || is_real(style->dtype)) {
        put_float(&writer, &style->real, element);
        if (is_complex)
            put_imaginary(&writer, &style->imaginary, imaginary_part(style->dtype, element));
        return number_style_end(&writer);
    }
    const char *shown = style->dtype == GANTRY_BOOL ? bool_text(element) : text;
    if (shown == text) (void)print_integer(style->dtype, element, text);
    number_style_put(&writer, ' ', style->width - (int32_t)strlen(shown));
    number_style_put_text(&writer, shown);
    return number_style_end(&writer);
}

/* ---- scalars ---- */

/* Writes what a number begins with; false: it is no finite one, and is complete. */
static bool put_front(writer_t *writer, gantry__real_t value, bool plus) {
    if (value.kind == GANTRY__REAL_NAN) value.negative = false;
    put_sign(writer, &value, plus);
    if (value.kind == GANTRY__REAL_FINITE) return true;
    number_style_put_text(writer, value.kind == GANTRY__REAL_NAN ? "nan" : "inf");
    return false;
}

/* point_zero: "1.0", else "1" */
static void put_positional(writer_t *writer, const gantry__decimal_t *decimal, bool point_zero) {
    const int32_t right = digits_behind_point(decimal);
    put_places(writer, decimal, digits_before_point(decimal) - 1, 0);
    if (right > 0 || point_zero) number_style_put(writer, '.', 1);
    put_places(writer, decimal, -1, right == 0 && point_zero ? -1 : -right);
}

static void put_scientific(writer_t *writer, const gantry__decimal_t *decimal) {
    const int32_t right = trimmed_count(decimal) - 1;
    put_places(writer, decimal, decimal->exponent, decimal->exponent);
    if (right > 0) number_style_put(writer, '.', 1);
    put_places(writer, decimal, decimal->exponent - 1, decimal->exponent - right);
    put_exponent(writer, decimal->exponent, 2);
}

static void put_scalar(writer_t *writer, gantry_dtype_t dtype, const void *element, bool plus,
                       bool point_zero) {
    gantry__decimal_t decimal;
    const gantry__real_t value = gantry__real_read(dtype, element);
    const double magnitude = gantry__real_magnitude(&value);
    if (!put_front(writer, value, plus)) return;
    gantry__decimal_significant(&value, 0, 0, &decimal);
    if (value.mantissa == 0 || (magnitude >= 1e-4 && magnitude < positional_end(dtype, 1e16))) {
        put_positional(writer, &decimal, point_zero);
    } else {
        put_scientific(writer, &decimal);
    }
}

size_t gantry__number_write_general(gantry_dtype_t dtype, const void *element,
                                    char out[GANTRY__NUMBER_CHARS]) {
    writer_t writer = {out, 0};
    gantry__decimal_t decimal;
    const gantry__real_t value = gantry__real_read(dtype, element);
    if (!put_front(&writer, value, false)) return number_style_end(&writer);
    gantry__decimal_significant(&value, GENERAL_DIGITS, GENERAL_DIGITS, &decimal);
    if (decimal.exponent >= -4 && decimal.exponent < GENERAL_DIGITS) {
        put_positional(&writer, &decimal, false);
    } else {
        put_scientific(&writer, &decimal);
    }
    return number_style_end(&writer);
}

static void put_complex_scalar(writer_t *writer, gantry_dtype_t dtype, const void *element) {
    const gantry_dtype_t part = part_type(dtype);
    gantry__real_t real = gantry__real_read(part, element);
    bool alone = real.kind == GANTRY__REAL_FINITE && real.mantissa == 0 && !real.negative;
    if (!alone) {
        number_style_put(writer, '(', 1);
        put_scalar(writer, part, element, false, false);
    }
    put_scalar(writer, part, imaginary_part(dtype, element), !alone, false);
    number_style_put_text(writer, alone ? "j" : "j)");
}

size_t gantry__number_write_scalar(gantry_dtype_t dtype, const void *element,
                                   char out[GANTRY__NUMBER_CHARS]) {
    writer_t writer = {out, 0};
    char text[32];
    if (is_real(dtype)) {
        put_scalar(&writer, dtype, element, false, true);
    } else if (GANTRY__TYPE_IS(dtype, COMPLEXES)) {
        put_complex_scalar(&writer, dtype, element);
    } else if (dtype == GANTRY_BOOL) {
        number_style_put_text(&writer, bool_text(element));
    } else {
        (void)print_integer(dtype, element, text);
        number_style_put_text(&writer, text);
    }
    return number_style_end(&writer);
}
