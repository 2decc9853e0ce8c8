/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Floating-point numbers are read exactly and written in the fewest digits, against known
 * values, their neighbours and the C library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "test.h"

static gantry__real_t real_of(double value) { return gantry__real_read(GANTRY_FLOAT64, &value); }

/* "123e-2": the digits, then the exponent of the first digit. */
static const char *show(const gantry__decimal_t *decimal) {
    static char text[GANTRY__DECIMAL_DIGITS + 16];
    (void)snprintf(text, sizeof text, "%.*se%d", (int)decimal->count, decimal->digits,
                   (int)decimal->exponent);
    return text;
}

static const char *shortest(double value) {
    gantry__real_t real = real_of(value);
    gantry__decimal_t decimal;
    gantry__decimal_significant(&real, 0, 0, &decimal);
    return show(&decimal);
}

static const char *significant(double value, int max_digits, int min_digits) {
    gantry__real_t real = real_of(value);
    gantry__decimal_t decimal;
    gantry__decimal_significant(&real, max_digits, min_digits, &decimal);
    return show(&decimal);
}

static const char *fraction(double value, int max_fraction) {
    gantry__real_t real = real_of(value);
    gantry__decimal_t decimal;
    gantry__decimal_fraction(&real, max_fraction, &decimal);
    return show(&decimal);
}

TEST(reading_takes_every_type_apart) {
    const uint16_t half_values[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x8000};
    const double half_expected[] = {1, 2, 5.9604644775390625e-8, 65504, INFINITY, INFINITY, NAN, 0};
    for (size_t i = 0; i < sizeof half_values / sizeof half_values[0]; ++i) {
        gantry__real_t value = gantry__real_read(GANTRY_FLOAT16, &half_values[i]);
        double magnitude = gantry__real_magnitude(&value);
        assert_true(magnitude == half_expected[i] || (isnan(magnitude) && isnan(half_expected[i])));
        assert_int_equal(value.negative, half_values[i] >> 15);
    }
    const uint16_t brain = 0xc049; /* -3.140625 */
    gantry__real_t value = gantry__real_read(GANTRY_BFLOAT16, &brain);
    assert_true(gantry__real_magnitude(&value) == 3.140625 && value.negative);
    const float single = -0.1f;
    value = gantry__real_read(GANTRY_FLOAT32, &single);
    assert_true(gantry__real_magnitude(&value) == (double)0.1f && value.negative);
    value = real_of(1.7976931348623157e308);
    assert_true(gantry__real_magnitude(&value) == 1.7976931348623157e308);
    value = real_of(5e-324);
    assert_true(gantry__real_magnitude(&value) == 5e-324);
    value = gantry__real_read(GANTRY_INT32, &single);
    assert_true(value.kind == GANTRY__REAL_FINITE && value.mantissa == 0);
}

TEST(shortest_of_known_values_is_known) {
    assert_string_equal(shortest(0), "0e0");
    assert_string_equal(shortest(1), "1e0");
    assert_string_equal(shortest(0.1), "1e-1");
    assert_string_equal(shortest(0.3), "3e-1");
    assert_string_equal(shortest(0.1 + 0.2), "30000000000000004e-1");
    assert_string_equal(shortest(1e22), "1e22");
    assert_string_equal(shortest(2e23), "2e23"); /* it lies on the border of its range */
    assert_string_equal(shortest(5e-324), "5e-324");
    assert_string_equal(shortest(2.2250738585072014e-308), "22250738585072014e-308");
    assert_string_equal(shortest(1.7976931348623157e308), "17976931348623157e308");
    assert_string_equal(shortest(9007199254740993.0 * 2), "18014398509481984e16");
    /* 2^-20: unequal neighbours */
    assert_string_equal(shortest(9.5367431640625e-07), "95367431640625e-7");
}

TEST(float32_uses_its_own_neighbours) {
    const float values[] = {0.1f, 16777216.0f, 3.4028235e38f, 1e-45f, 1.17549435e-38f, 33554432.0f};
    const char *const expected[] = {"1e-1",  "16777216e7",   "34028235e38",
                                    "1e-45", "11754944e-38", "33554432e7"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
        gantry__decimal_t decimal;
        gantry__real_t value = gantry__real_read(GANTRY_FLOAT32, &values[i]);
        gantry__decimal_significant(&value, 0, 0, &decimal);
        assert_string_equal(show(&decimal), expected[i]);
    }
}

TEST(bounds_round_correctly) {
    assert_string_equal(significant(0.30000000000000004, 5, 0), "30000e-1");
    assert_string_equal(significant(2.5, 1, 0), "2e0");
    assert_string_equal(significant(3.5, 1, 0), "4e0");
    assert_string_equal(significant(9.96, 2, 0), "1e1");
    assert_string_equal(significant(1.0 / 3, 9, 0), "333333333e-1");
    assert_string_equal(significant(1e-5, 0, 4), "1000e-5");
    assert_string_equal(significant(9.5367431640625e-07, 5, 5), "95367e-7");
    assert_string_equal(fraction(0.0005, 2), "0e0");
    assert_string_equal(fraction(0.004, 2), "0e0");
    assert_string_equal(fraction(0.0065, 2), "1e-2");
    assert_string_equal(fraction(0.5, 0), "0e0");
    assert_string_equal(fraction(1.5, 0), "2e0");
    assert_string_equal(fraction(2.5, 0), "2e0");
    assert_string_equal(fraction(0.6, 0), "1e0");
    assert_string_equal(fraction(99.96, 1), "1e2");
    assert_string_equal(fraction(5e-324, 3), "0e0");
    assert_string_equal(fraction(5e-324, -1), "5e-324");
    assert_string_equal(fraction(123456.789, 2), "12345679e5");
}

TEST(shortest_reads_back_and_no_shorter_does) {
    uint64_t seed = 7;
    for (int i = 0; i < 20000; ++i) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = (seed ^ seed >> 29) & ~(UINT64_C(1) << 63);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (i % 2) value = (double)(seed >> 40) / 1000; /* and numbers as people write them */
        if (!isfinite(value) || value == 0) continue;
        gantry__real_t real = real_of(value);
        gantry__decimal_t decimal;
        gantry__decimal_significant(&real, 0, 0, &decimal);
        char text[GANTRY__DECIMAL_DIGITS + 16];
        (void)snprintf(text, sizeof text, "%.*se%d", (int)decimal.count, decimal.digits,
                       (int)(decimal.exponent - decimal.count + 1));
        if (strtod(text, NULL) != value) fail_msg("%s is not %.17g", text, value);
        if (decimal.count == 1) continue;
        (void)snprintf(text, sizeof text, "%.*e", (int)decimal.count - 2, value);
        if (strtod(text, NULL) == value) fail_msg("%s would do for %.17g", text, value);
    }
}

TEST(bounded_agrees_with_the_c_library) {
    uint64_t seed = 11;
    for (int i = 0; i < 20000; ++i) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = (seed ^ seed >> 31) & ~(UINT64_C(1) << 63);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        gantry__real_t real = real_of(value);
        gantry__decimal_t decimal;
        int digits = 1 + i % 15;
        gantry__decimal_significant(&real, digits, digits, &decimal);
        char expected[64], text[64];
        (void)snprintf(expected, sizeof expected, "%.*e", digits - 1, value);
        char shown[GANTRY__DECIMAL_DIGITS];
        memset(shown, '0', sizeof shown); /* a rounding may have left a row of nines */
        memcpy(shown, decimal.digits, (size_t)decimal.count);
        (void)snprintf(text, sizeof text, "%c%s%.*se%+03d", shown[0], digits > 1 ? "." : "",
                       digits - 1, shown + 1, (int)decimal.exponent);
        assert_string_equal(text, expected);
    }
}

int main(void) { return test_main(); }
