/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The portable text's fused multiply-adds for processors without that instruction equal
 * the C library's fmaf and fma, which are rounded once.
 *
 * Operands have any bits, exponents that make the sum cancel or meet ties, or denormal results. An
 * argument gives the number of triples per kind (default 1,000,000). */
#include <inttypes.h>
#include <stdlib.h>

#include "math_text.h"
#include "test.h"

static long triples = 1000000;

/* xorshift64*: the test needs repeatable bits, nothing more. */
static uint64_t next_bits(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint32_t with_exponent(uint32_t bits, int32_t exponent) {
    int32_t kept = exponent < 0 ? 0 : exponent > 254 ? 254 : exponent;
    return (bits & 0x807fffffu) | (uint32_t)kept << 23;
}

static void choose_any(uint64_t *state, uint32_t operands[3]) {
    for (int i = 0; i < 3; ++i) {
        operands[i] = (uint32_t)(next_bits(state) >> 32);
    }
}

/* c is within 2^32 of a b, up or down. */
static void choose_near(uint64_t *state, uint32_t operands[3]) {
    choose_any(state, operands);
    int32_t product =
        (int32_t)(operands[0] >> 23 & 255u) + (int32_t)(operands[1] >> 23 & 255u) - 127;
    operands[2] = with_exponent(operands[2], product + (int32_t)(next_bits(state) >> 58) - 32);
}

/* Few bits, so that many sums end half-way between two floats or next to that. */
static void choose_ties(uint64_t *state, uint32_t operands[3]) {
    choose_near(state, operands);
    operands[0] &= 0xfffff000u;
    operands[1] &= 0xffffe000u;
    operands[2] &= 0xfff80000u;
}

static void choose_denormal_results(uint64_t *state, uint32_t operands[3]) {
    choose_any(state, operands);
    int32_t shift = (int32_t)(next_bits(state) >> 58);
    operands[0] = with_exponent(operands[0], 100 - shift);
    operands[1] = with_exponent(operands[1], 27 + shift / 2);
    operands[2] = with_exponent(operands[2], shift & 3);
}

static void compare_one(const uint32_t operands[3]) {
    float a = GANTRY_AS_FLOAT(operands[0]);
    float b = GANTRY_AS_FLOAT(operands[1]);
    float c = GANTRY_AS_FLOAT(operands[2]);
    float wanted = fmaf(a, b, c);
    float got = gantry__emulated_fma_f32(a, b, c);
    if (GANTRY_AS_UINT(wanted) != GANTRY_AS_UINT(got) && !(isnan(wanted) && isnan(got))) {
        fail_msg("%a %a + %a: got %a, wanted %a", (double)a, (double)b, (double)c, (double)got,
                 (double)wanted);
    }
}

static void compare_random(void (*choose)(uint64_t *state, uint32_t operands[3])) {
    uint64_t state = 88172645463325252u;
    uint32_t operands[3];
    for (long i = 0; i < triples; ++i) {
        choose(&state, operands);
        compare_one(operands);
    }
}

TEST(any_bits_are_rounded_once) { compare_random(choose_any); }

TEST(near_operands_are_rounded_once) { compare_random(choose_near); }

TEST(ties_are_rounded_once) { compare_random(choose_ties); }

TEST(denormal_results_are_rounded_once) { compare_random(choose_denormal_results); }

TEST(special_operands_are_as_in_the_standard) {
    static const uint32_t specials[] = {
        0x00000000u, 0x00000001u, 0x007fffffu, 0x00800000u, 0x33800000u, 0x3f7fffffu, 0x3f800000u,
        0x3f800001u, 0x4b800000u, 0x5f800000u, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u, 0x1f800000u,
    };
    enum { COUNT = sizeof specials / sizeof specials[0], SIGNED = 2 * COUNT };
    for (uint32_t i = 0; i < SIGNED * SIGNED * SIGNED; ++i) {
        const uint32_t at[3] = {i % SIGNED, i / SIGNED % SIGNED, i / SIGNED / SIGNED};
        uint32_t operands[3];
        for (int k = 0; k < 3; ++k) {
            operands[k] = specials[at[k] / 2] | (at[k] & 1u) << 31;
        }
        compare_one(operands);
    }
}

static double wide_of_exponent(uint64_t bits, int exponent) {
    int kept = exponent < 0 ? 0 : exponent > 2046 ? 2046 : exponent;
    return GANTRY_AS_DOUBLE((bits & UINT64_C(0x800fffffffffffff)) | (uint64_t)kept << 52);
}

static int wide_exponent(double x) { return (int)(GANTRY_AS_ULONG(x) >> 52 & 2047u); }

static void choose_any_wide(uint64_t *state, double operands[3]) {
    for (int i = 0; i < 3; ++i) {
        operands[i] = GANTRY_AS_DOUBLE(next_bits(state));
    }
}

/* c is within 2^64 of a b, up or down. */
static void choose_near_wide(uint64_t *state, double operands[3]) {
    choose_any_wide(state, operands);
    operands[0] = wide_of_exponent(next_bits(state), 1000 + (int)(next_bits(state) >> 58));
    operands[1] = wide_of_exponent(next_bits(state), 1000 + (int)(next_bits(state) >> 58));
    int product = wide_exponent(operands[0]) + wide_exponent(operands[1]) - 1023;
    operands[2] = wide_of_exponent(next_bits(state), product + (int)(next_bits(state) >> 57) - 64);
}

/* c is -a b, rounded, or next to that. */
static void choose_cancelled_wide(uint64_t *state, double operands[3]) {
    choose_near_wide(state, operands);
    uint64_t bits = GANTRY_AS_ULONG(-(operands[0] * operands[1]));
    operands[2] = GANTRY_AS_DOUBLE(bits + (next_bits(state) >> 62) - 1u);
}

/* Few bits, so that many sums end half-way between two doubles or next to that. */
static void choose_ties_wide(uint64_t *state, double operands[3]) {
    choose_near_wide(state, operands);
    for (int i = 0; i < 3; ++i) {
        uint64_t mask = UINT64_MAX << (i == 2 ? 48 : 24 + 2 * i);
        operands[i] = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(operands[i]) & mask);
    }
}

/* Products from 2^-1150 to 2^-860, below and above the least of the short way. */
static void choose_small_wide(uint64_t *state, double operands[3]) {
    choose_any_wide(state, operands);
    int shift = (int)(next_bits(state) >> 56);
    operands[0] = wide_of_exponent(GANTRY_AS_ULONG(operands[0]), 500 - shift);
    operands[1] = wide_of_exponent(GANTRY_AS_ULONG(operands[1]), 650 - shift / 8);
    operands[2] = wide_of_exponent(GANTRY_AS_ULONG(operands[2]), (shift ^ 85) & 127);
}

/* Products and sums next to the greatest double. */
static void choose_great_wide(uint64_t *state, double operands[3]) {
    choose_any_wide(state, operands);
    int shift = (int)(next_bits(state) >> 58);
    operands[0] = wide_of_exponent(GANTRY_AS_ULONG(operands[0]), 2046 - shift);
    operands[1] = wide_of_exponent(GANTRY_AS_ULONG(operands[1]), 1022 + shift - shift / 8);
    operands[2] = wide_of_exponent(GANTRY_AS_ULONG(operands[2]), 2046 - (shift & 7));
}

static void compare_wide(const double operands[3]) {
    double wanted = fma(operands[0], operands[1], operands[2]);
    double got = gantry__emulated_fma_f64(operands[0], operands[1], operands[2]);
    if (GANTRY_AS_ULONG(wanted) != GANTRY_AS_ULONG(got) && !(isnan(wanted) && isnan(got))) {
        fail_msg("%a %a + %a: got %a, wanted %a", operands[0], operands[1], operands[2], got,
                 wanted);
    }
}

TEST(doubles_of_each_kind_are_rounded_once) {
    static void (*const kinds[])(uint64_t * state, double operands[3]) = {
        choose_any_wide,  choose_near_wide,  choose_cancelled_wide,
        choose_ties_wide, choose_small_wide, choose_great_wide,
    };
    uint64_t seed = 88172645463325252u;
    double operands[3];
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
        for (long i = 0; i < triples; ++i) {
            kinds[k](&seed, operands);
            compare_wide(operands);
        }
    }
}

TEST(special_doubles_are_as_in_the_standard) {
    static const double specials[] = {
        0.0,
        4.94065645841246544e-324,
        2.2250738585072009e-308,
        2.2250738585072014e-308,
        0x1p-900,
        0x1p-537,
        0x1.fffffffffffffp-1,
        1.0,
        0x1.0000000000001p0,
        0x1p53,
        0x1p1000,
        1.7976931348623157e308,
        HUGE_VAL,
        (double)NAN,
    };
    enum { COUNT = sizeof specials / sizeof specials[0], SIGNED = 2 * COUNT };
    for (uint32_t i = 0; i < SIGNED * SIGNED * SIGNED; ++i) {
        const uint32_t at[3] = {i % SIGNED, i / SIGNED % SIGNED, i / SIGNED / SIGNED};
        double operands[3];
        for (int k = 0; k < 3; ++k) {
            operands[k] = (at[k] & 1u) != 0 ? -specials[at[k] / 2] : specials[at[k] / 2];
        }
        compare_wide(operands);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) {
        triples = strtol(argv[1], NULL, 10);
    }
    return test_main();
}
