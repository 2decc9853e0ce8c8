/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The portable float32 pow is within its bound of double precision on special values and
 * on random pairs.
 *
 * Every pair of special values is tested. Random pairs have any bits, results over the whole range,
 * whole exponents, or bases near 1. An argument gives the number of pairs per kind (default
 * 400,000). math_float32_pow.cl has the largest error seen over more pairs. */
#define PAIR_FUNCTION gantry__pow_f32
#define PAIR_REFERENCE pow
#define PAIR_NAMES "x, y"
#define PAIR_BOUND_ULP 1.0

#include "float32_pairs.h"
#include "test.h"

static void choose_any(uint64_t *state, float *x, float *y) {
    *x = any_float(state);
    *y = any_float(state);
}

/* y log2 |x| between -155 and 155. */
static void choose_in_range(uint64_t *state, float *x, float *y) {
    *x = fabsf(any_float(state));
    *y = (float)(any_below(state, 155.0) / log2((double)*x));
}

static void choose_whole(uint64_t *state, float *x, float *y) {
    *y = (float)nearbyint(any_below(state, 40.0));
    *x = (float)copysign(exp2(any_below(state, 155.0) / (fabs((double)*y) + 1.0)),
                         any_below(state, 1.0));
}

static void choose_near_one(uint64_t *state, float *x, float *y) {
    *x = (float)(1.0 + any_below(state, 0.4) * exp2(-12.0 + any_below(state, 12.0)));
    *y = (float)(any_below(state, 155.0) / log2((double)*x));
}

TEST(pow_of_any_bits_is_within_bound) { compare_random("any bits", choose_any); }

TEST(pow_of_results_in_range_is_within_bound) {
    compare_random("results in range", choose_in_range);
}

TEST(pow_of_whole_exponents_is_within_bound) { compare_random("whole exponents", choose_whole); }

TEST(pow_of_bases_near_one_is_within_bound) { compare_random("bases near 1", choose_near_one); }

TEST(pow_of_special_pairs_is_as_in_the_standard) {
    static const uint32_t magnitudes[] = {
        0x00000000u, 0x00000001u, 0x007fffffu, 0x00800000u, 0x3e800000u, 0x3eaaaaabu, 0x3f000000u,
        0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x3fc00000u, 0x40000000u, 0x40400000u, 0x42fe0000u,
        0x4afffffeu, 0x4affffffu, 0x4b000000u, 0x4b000001u, 0x4b7fffffu, 0x4b800000u, 0x4b800001u,
        0x4f800000u, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u, 0x7f800001u,
    };
    compare_special(magnitudes, sizeof magnitudes / sizeof magnitudes[0]);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        pairs = strtol(argv[1], NULL, 10);
    }
    return test_main();
}
