/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a float32 function of two arguments with double precision, over pairs of special and
 * random values. An argument of the program may give the number of random pairs per kind.
 *
 * Define before including: PAIR_FUNCTION(a, b), of floats; PAIR_REFERENCE(a, b), of doubles;
 * PAIR_NAMES, "a, b" in messages; PAIR_BOUND_ULP. Everything is static; include it once. */
#ifndef GANTRY_TESTS_FLOAT32_PAIRS_H
#define GANTRY_TESTS_FLOAT32_PAIRS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "float32_error.h"
#include "math_text.h"

enum { BLOCK = 512, MOST_SPECIAL = 64 };

static long pairs = 400000; /* pairs of a kind */

typedef struct worst {
    double error_ulp;
    float a, b;
} worst_t;

/* A loop of its own, so that the test runs the CPU backend's vector code. */
static void fill(float *restrict out, const float *restrict a, const float *restrict b, int count) {
    for (int i = 0; i < count; ++i) {
        out[i] = PAIR_FUNCTION(a[i], b[i]);
    }
}

static void compare(worst_t *worst, const float *a, const float *b, int count) {
    float out[BLOCK];
    fill(out, a, b, count);
    for (int i = 0; i < count; ++i) {
        double error = float32_error_ulp(out[i], PAIR_REFERENCE((double)a[i], (double)b[i]));
        if (error > worst->error_ulp) {
            *worst = (worst_t){error, a[i], b[i]};
        }
    }
}

static void assert_bound(const char *kind, const worst_t *worst) {
    print_message("%s: largest error %.4f ulp at (" PAIR_NAMES ") = (%.9g, %.9g)\n", kind,
                  worst->error_ulp, (double)worst->a, (double)worst->b);
    assert_true(worst->error_ulp <= PAIR_BOUND_ULP);
}

/* xorshift64*: the tests need repeatable bits, nothing more. */
static uint64_t next_bits(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static float any_float(uint64_t *state) {
    return GANTRY_AS_FLOAT((uint32_t)(next_bits(state) >> 32));
}

/* From -most to most. */
static double any_below(uint64_t *state, double most) {
    return most * (2.0 * ((double)(next_bits(state) >> 11) * 0x1p-53) - 1.0);
}

typedef void (*choose_fn)(uint64_t *state, float *a, float *b);

static void compare_random(const char *kind, choose_fn choose) {
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    worst_t worst = {0.0, 0.0f, 0.0f};
    float a[BLOCK];
    float b[BLOCK];
    for (long done = 0; done < pairs; done += BLOCK) {
        for (int i = 0; i < BLOCK; ++i) {
            choose(&state, &a[i], &b[i]);
        }
        compare(&worst, a, b, BLOCK);
    }
    assert_bound(kind, &worst);
}

/* Every pair of the values with these magnitudes and either sign. */
static void compare_special(const uint32_t *magnitudes, int count) {
    worst_t worst = {0.0, 0.0f, 0.0f};
    float a[MOST_SPECIAL];
    float b[MOST_SPECIAL];
    assert_true(2 * count <= MOST_SPECIAL);
    for (int i = 0; i < 2 * count; ++i) {
        b[i] = GANTRY_AS_FLOAT(magnitudes[i / 2] | (i % 2 != 0 ? 0x80000000u : 0u));
    }
    for (int i = 0; i < 2 * count; ++i) {
        for (int j = 0; j < 2 * count; ++j) {
            a[j] = b[i];
        }
        compare(&worst, a, b, 2 * count);
    }
    assert_bound("special pairs", &worst);
}

#endif
