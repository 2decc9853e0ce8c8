/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The portable float32 atan2 is within its bound of double precision on special values and
 * on random pairs.
 *
 * Every pair of special values is tested. Random pairs have any bits or similar sizes, or lie near
 * the lines where the calculation changes. An argument gives the number of pairs per kind (default
 * 400,000). */
#define PAIR_FUNCTION gantry__atan2_f32
#define PAIR_REFERENCE atan2
#define PAIR_NAMES "y, x"
#define PAIR_BOUND_ULP 1.25

#include "float32_pairs.h"
#include "test.h"

static void choose_any(uint64_t *state, float *y, float *x) {
    *x = any_float(state);
    *y = any_float(state);
}

/* y is x times a random factor within 2^-spread to 2^spread, of either sign. */
static void choose_like(uint64_t *state, double spread, float *y, float *x) {
    double factor = exp2(any_below(state, spread));
    *x = any_float(state);
    *y = (float)((double)*x * ((next_bits(state) & 1) != 0 ? factor : -factor));
}

static void choose_similar(uint64_t *state, float *y, float *x) { choose_like(state, 8.0, y, x); }

static void choose_near(uint64_t *state, float *y, float *x) { choose_like(state, 0.1, y, x); }

static void choose_distant(uint64_t *state, float *y, float *x) { choose_like(state, 40.0, y, x); }

TEST(atan2_of_any_bits_is_within_bound) { compare_random("any bits", choose_any); }

TEST(atan2_of_similar_sizes_is_within_bound) {
    compare_random("ratio 2^-8 to 2^8", choose_similar);
}

TEST(atan2_near_the_diagonals_is_within_bound) {
    compare_random("ratio 2^-0.1 to 2^0.1", choose_near);
}

TEST(atan2_of_distant_sizes_is_within_bound) {
    compare_random("ratio 2^-40 to 2^40", choose_distant);
}

TEST(atan2_of_special_pairs_is_as_in_the_standard) {
    static const uint32_t magnitudes[] = {
        0x00000000u, 0x00000001u, 0x007fffffu, 0x00800000u, 0x00800001u, 0x1f800000u,
        0x21ffffffu, 0x3f000000u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x40000000u,
        0x5d800000u, 0x5d800001u, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u, 0x7f800001u,
    };
    compare_special(magnitudes, sizeof magnitudes / sizeof magnitudes[0]);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        pairs = strtol(argv[1], NULL, 10);
    }
    return test_main();
}
