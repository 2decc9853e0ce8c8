/*
 * gantry_atan2_f32 of the portable text against double precision: every pair of special values, and random pairs of
 * any bits, of similar size, and near the lines where its calculation changes.
 *
 * An argument gives the number of pairs per kind (default 400,000).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "float32_error.h"
#include "math_float32_text.h"

enum { BLOCK = 512 };

static const double bound_ulp = 1.25;
static long pairs = 400000;

typedef struct worst {
    double error_ulp;
    float y, x;
} worst_t;

/* A loop of its own, so that the vector code the CPU backend would run is what is tested. */
static void fill(float *restrict out, const float *restrict y, const float *restrict x, int count)
{
    for (int i = 0; i < count; i++) {
        out[i] = gantry_atan2_f32(y[i], x[i]);
    }
}

static void compare(worst_t *worst, const float *y, const float *x, int count)
{
    float out[BLOCK];
    fill(out, y, x, count);
    for (int i = 0; i < count; i++) {
        double error = float32_error_ulp(out[i], atan2((double)y[i], (double)x[i]));
        if (error > worst->error_ulp) {
            *worst = (worst_t){error, y[i], x[i]};
        }
    }
}

static void assert_bound(const char *kind, const worst_t *worst)
{
    print_message("%s: largest error %.4f ulp at y = %.9g, x = %.9g\n", kind, worst->error_ulp, (double)worst->y,
                  (double)worst->x);
    assert_true(worst->error_ulp <= bound_ulp);
}

/* xorshift64*: the test needs repeatable bits, nothing more. */
static uint64_t next_bits(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static float any_float(uint64_t *state)
{
    return GANTRY_AS_FLOAT((uint32_t)(next_bits(state) >> 32));
}

/* x times a random factor within 2^-spread to 2^spread, of either sign. */
static float float_like(float x, double spread, uint64_t *state)
{
    double unit = (double)(next_bits(state) >> 11) * 0x1p-53;
    double factor = exp2(spread * (2.0 * unit - 1.0));
    return (float)((double)x * ((next_bits(state) & 1) != 0 ? factor : -factor));
}

static void compare_random(const char *kind, double spread)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    worst_t worst = {0.0, 0.0f, 0.0f};
    float y[BLOCK];
    float x[BLOCK];
    for (long done = 0; done < pairs; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            x[i] = any_float(&state);
            y[i] = spread == 0.0 ? any_float(&state) : float_like(x[i], spread, &state);
        }
        compare(&worst, y, x, BLOCK);
    }
    assert_bound(kind, &worst);
}

static void atan2_of_any_bits_is_within_bound(void **state)
{
    (void)state;
    compare_random("any bits", 0.0);
}

static void atan2_of_similar_sizes_is_within_bound(void **state)
{
    (void)state;
    compare_random("ratio 2^-8 to 2^8", 8.0);
}

static void atan2_near_the_diagonals_is_within_bound(void **state)
{
    (void)state;
    compare_random("ratio 2^-0.1 to 2^0.1", 0.1);
}

static void atan2_of_distant_sizes_is_within_bound(void **state)
{
    (void)state;
    compare_random("ratio 2^-40 to 2^40", 40.0);
}

static void atan2_of_special_pairs_is_as_in_the_standard(void **state)
{
    static const uint32_t magnitudes[] = {
        0x00000000u, 0x00000001u, 0x007fffffu, 0x00800000u, 0x00800001u, 0x1f800000u, 0x21ffffffu, 0x3f000000u,
        0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x40000000u, 0x5d800000u, 0x5d800001u, 0x7f7fffffu, 0x7f800000u,
        0x7fc00000u, 0x7f800001u,
    };
    enum { COUNT = 2 * sizeof magnitudes / sizeof magnitudes[0] };
    worst_t worst = {0.0, 0.0f, 0.0f};
    float y[COUNT];
    float x[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        x[i] = GANTRY_AS_FLOAT(magnitudes[i / 2] | (i % 2 != 0 ? 0x80000000u : 0u));
    }
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < COUNT; j++) {
            y[j] = x[i];
        }
        compare(&worst, y, x, COUNT);
    }
    assert_bound("special pairs", &worst);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atan2_of_special_pairs_is_as_in_the_standard),
        cmocka_unit_test(atan2_of_any_bits_is_within_bound),
        cmocka_unit_test(atan2_of_similar_sizes_is_within_bound),
        cmocka_unit_test(atan2_near_the_diagonals_is_within_bound),
        cmocka_unit_test(atan2_of_distant_sizes_is_within_bound),
    };
    if (argc > 1) {
        pairs = strtol(argv[1], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
