/*
 * gantry_pow_f32 of the portable text against double precision: every pair of special values, and random pairs of any
 * bits, with results over the whole range, with whole exponents, and with bases near 1.
 *
 * An argument gives the number of pairs per kind (default 400,000). Largest error seen over more: see
 * math_float32_pow.cl.
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

static const double bound_ulp = 1.0;
static long pairs = 400000;

typedef struct worst {
    double error_ulp;
    float x, y;
} worst_t;

/* A loop of its own, so that the vector code the CPU backend would run is what is tested. */
static void fill(float *restrict out, const float *restrict x, const float *restrict y, int count)
{
    for (int i = 0; i < count; i++) {
        out[i] = gantry_pow_f32(x[i], y[i]);
    }
}

static void compare(worst_t *worst, const float *x, const float *y, int count)
{
    float out[BLOCK];
    fill(out, x, y, count);
    for (int i = 0; i < count; i++) {
        double error = float32_error_ulp(out[i], pow((double)x[i], (double)y[i]));
        if (error > worst->error_ulp) {
            *worst = (worst_t){error, x[i], y[i]};
        }
    }
}

static void assert_bound(const char *kind, const worst_t *worst)
{
    print_message("%s: largest error %.4f ulp at x = %.9g, y = %.9g\n", kind, worst->error_ulp, (double)worst->x,
                  (double)worst->y);
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

/* From -most to most. */
static double any_below(uint64_t *state, double most)
{
    return most * (2.0 * ((double)(next_bits(state) >> 11) * 0x1p-53) - 1.0);
}

typedef void (*choose_fn)(uint64_t *state, float *x, float *y);

static void choose_any(uint64_t *state, float *x, float *y)
{
    *x = any_float(state);
    *y = any_float(state);
}

/* y log2 |x| between -155 and 155. */
static void choose_in_range(uint64_t *state, float *x, float *y)
{
    *x = fabsf(any_float(state));
    *y = (float)(any_below(state, 155.0) / log2((double)*x));
}

static void choose_whole(uint64_t *state, float *x, float *y)
{
    *y = (float)nearbyint(any_below(state, 40.0));
    *x = (float)copysign(exp2(any_below(state, 155.0) / (fabs((double)*y) + 1.0)), any_below(state, 1.0));
}

static void choose_near_one(uint64_t *state, float *x, float *y)
{
    *x = (float)(1.0 + any_below(state, 0.4) * exp2(-12.0 + any_below(state, 12.0)));
    *y = (float)(any_below(state, 155.0) / log2((double)*x));
}

static void compare_random(const char *kind, choose_fn choose)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    worst_t worst = {0.0, 0.0f, 0.0f};
    float x[BLOCK];
    float y[BLOCK];
    for (long done = 0; done < pairs; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            choose(&state, &x[i], &y[i]);
        }
        compare(&worst, x, y, BLOCK);
    }
    assert_bound(kind, &worst);
}

static void pow_of_any_bits_is_within_bound(void **state)
{
    (void)state;
    compare_random("any bits", choose_any);
}

static void pow_of_results_in_range_is_within_bound(void **state)
{
    (void)state;
    compare_random("results in range", choose_in_range);
}

static void pow_of_whole_exponents_is_within_bound(void **state)
{
    (void)state;
    compare_random("whole exponents", choose_whole);
}

static void pow_of_bases_near_one_is_within_bound(void **state)
{
    (void)state;
    compare_random("bases near 1", choose_near_one);
}

static void pow_of_special_pairs_is_as_in_the_standard(void **state)
{
    static const uint32_t magnitudes[] = {
        0x00000000u, 0x00000001u, 0x007fffffu, 0x00800000u, 0x3e800000u, 0x3eaaaaabu, 0x3f000000u, 0x3f7fffffu,
        0x3f800000u, 0x3f800001u, 0x3fc00000u, 0x40000000u, 0x40400000u, 0x42fe0000u, 0x4afffffeu, 0x4affffffu,
        0x4b000000u, 0x4b000001u, 0x4b7fffffu, 0x4b800000u, 0x4b800001u, 0x4f800000u, 0x7f7fffffu, 0x7f800000u,
        0x7fc00000u, 0x7f800001u,
    };
    enum { COUNT = 2 * sizeof magnitudes / sizeof magnitudes[0] };
    worst_t worst = {0.0, 0.0f, 0.0f};
    float x[COUNT];
    float y[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        y[i] = GANTRY_AS_FLOAT(magnitudes[i / 2] | (i % 2 != 0 ? 0x80000000u : 0u));
    }
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < COUNT; j++) {
            x[j] = y[i];
        }
        compare(&worst, x, y, COUNT);
    }
    assert_bound("special pairs", &worst);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pow_of_special_pairs_is_as_in_the_standard),
        cmocka_unit_test(pow_of_any_bits_is_within_bound),
        cmocka_unit_test(pow_of_results_in_range_is_within_bound),
        cmocka_unit_test(pow_of_whole_exponents_is_within_bound),
        cmocka_unit_test(pow_of_bases_near_one_is_within_bound),
    };
    if (argc > 1) {
        pairs = strtol(argv[1], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
