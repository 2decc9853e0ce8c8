/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Settings accept and refuse amounts by their rules, and a printed amount reads as the
 * same value. */
#define _XOPEN_SOURCE 700

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "test.h"

TEST(numbers_are_bounded) {
    static const struct {
        const char *text;
        uint64_t most;
        bool good;
        uint64_t value;
    } cases[] = {{"0", 0, true, 0},
                 {"7", 7, true, 7},
                 {"8", 7, false, 0},
                 {"255", 255, true, 255},
                 {"256", 255, false, 0},
                 {"1000", 255, false, 0},
                 {"", 255, false, 0},
                 {"-1", 255, false, 0},
                 {"1 ", 255, false, 0},
                 {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
                 {"18446744073709551616", UINT64_MAX, false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        uint64_t value = 0;
        if (gantry__parse_number(cases[i].text, strlen(cases[i].text), cases[i].most, &value) !=
            cases[i].good)
            fail_msg("\"%s\"", cases[i].text);
        assert_int_equal(value, cases[i].value);
    }
}

TEST(signed_numbers_keep_their_range) {
    static const struct {
        const char *text;
        bool good;
        int32_t value;
    } cases[] = {{"-9999", true, -9999},
                 {"2147483647", true, INT32_MAX},
                 {"-2147483648", true, INT32_MIN},
                 {"0", true, 0},
                 {"2147483648", false, 0},
                 {"-2147483649", false, 0},
                 {"-", false, 0},
                 {"--1", false, 0},
                 {"+1", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        int32_t value = 0;
        if (gantry__parse_signed(cases[i].text, strlen(cases[i].text), &value) != cases[i].good)
            fail_msg("\"%s\"", cases[i].text);
        assert_int_equal(value, cases[i].value);
    }
}

TEST(fractions_are_over_zero_up_to_one) {
    static const struct {
        const char *text;
        double value; /* 0: refused */
    } cases[] = {{"1", 1},
                 {"1.0", 1},
                 {"0.5", 0.5},
                 {".5", 0.5},
                 {"50%", 0.5},
                 {"100%", 1},
                 {"12.5%", 0.125},
                 {"0.1", 0.1},
                 {"10%", 0.1},
                 {"0.3333333333333333", 0.3333333333333333},
                 {"1.", 1},
                 {"0.33333333333333333333333333333333333333", 1.0 / 3},
                 {"0", 0},
                 {"0%", 0},
                 {"1.2", 0},
                 {"101%", 0},
                 {"-0.5", 0},
                 {"", 0},
                 {"%", 0},
                 {".", 0},
                 {"0.5.5", 0},
                 {"5e-1", 0},
                 {"0,5", 0},
                 {" 0.5", 0},
                 {"nan", 0},
                 {"inf", 0},
                 {"0.5%%", 0},
                 {"0x1", 0},
                 {"99999999999999999999", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        double value = 0;
        bool good = gantry__parse_fraction(cases[i].text, strlen(cases[i].text), &value);
        if (good != (cases[i].value > 0)) fail_msg("\"%s\" gives %d", cases[i].text, good);
        if (value < cases[i].value || value > cases[i].value)
            fail_msg("\"%s\" is %.17g", cases[i].text, value);
    }
}

TEST(texts_need_no_terminator) {
    uint64_t bytes = 0;
    double fraction = 0;
    bool yes = false;
    assert_true(gantry__parse_bytes("512M,7", 4, &bytes));
    assert_int_equal(bytes, UINT64_C(512) << 20);
    assert_true(gantry__parse_fraction("0.25/x", 4, &fraction));
    assert_true(fraction > 0.2499 && fraction < 0.2501);
    assert_true(gantry__parse_bool("one", 2, &yes)); /* "on" */
    assert_true(yes);
    assert_false(gantry__parse_bool("of", 2, &yes));
}

TEST(bytes_are_printed_with_the_largest_unit_that_divides) {
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {1023, "1023"},
                 {1024, "1K"},
                 {UINT64_C(1536) << 20, "1536M"},
                 {UINT64_C(2) << 30, "2G"},
                 {UINT64_C(3) << 40, "3T"},
                 {UINT64_C(5000) << 40, "5000T"},
                 {UINT64_MAX, "18446744073709551615"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[GANTRY__AMOUNT_BYTES];
        uint64_t back = 1;
        gantry__format_bytes(cases[i].bytes, text);
        assert_string_equal(text, cases[i].text);
        assert_true(gantry__parse_bytes(text, strlen(text), &back));
        assert_true(back == cases[i].bytes);
    }
}

TEST(decimals_read_back_as_printed) {
    volatile long double next = 1;
    next += LDBL_EPSILON;
    if (!(next > 1)) {
        print_message("SKIP: long double is computed in the precision of double: valgrind\n");
        skip();
    }
    static const double special[] = {1,    0.5, 0.1, 1.0 / 3, 0.999999999999999889,
                                     1e-9, 100, 30,  12.5,    1.1e-9};
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 5000; ++i) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double value = i < 10 ? special[i] : ((double)(random >> 11) + 1) / 9007199254740993.0,
               back = 0;
        if (value < 1e-9) continue;
        char text[GANTRY__AMOUNT_BYTES];
        gantry__format_decimal(value, text);
        assert_true(gantry__parse_decimal(text, strlen(text), &back));
        if (fabs(back - value) > 0)
            fail_msg("%.17g prints %s, which reads %.17g", value, text, back);
    }
    char text[GANTRY__AMOUNT_BYTES];
    gantry__format_decimal(0.25, text);
    assert_string_equal(text, "0.25");
    gantry__format_decimal(50, text);
    assert_string_equal(text, "50");
}

int main(void) { return test_main(); }
