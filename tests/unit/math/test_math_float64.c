/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The float64 functions of the portable text agree with long double, on random inputs of
 * several ranges.
 *
 * An argument gives the number of inputs per function and range (default 100,000). If long double
 * is no wider than double, the comparison is skipped with that reason; special values are tested
 * everywhere. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math_reference.h"
#include "math_text.h"
#include "test.h"

enum { BLOCK = 512, RANGES = 4, RANGE_ENDS = 2 * RANGES };

typedef struct subject {
    const char *name;
    void (*fill)(double *restrict y, const double *restrict x, int count);
    long double (*reference)(long double x);
    double bound_ulp;
    double ranges[RANGE_ENDS]; /* low and high end each; if both are equal: any bits */
} subject_t;

static long samples = 100000;

#define FILL(name)                                                                     \
    static void fill_##name(double *restrict y, const double *restrict x, int count) { \
        for (int i = 0; i < count; ++i) {                                              \
            y[i] = gantry__##name##_f64(x[i]);                                         \
        }                                                                              \
    }

#define FILL_SAME FILL
#define FILL_NEAR FILL
#define FILL_PARTLY FILL
#define FILL_LIBRARY(name)
#define FILL_NONE(name)
#define GANTRY_MATH_FUNCTION(form, op, name, float64, ...) FILL_##float64(name)
#include "ops/functions.def"

#define FOUR_PI 12.566370614359172

#define ENDS(...) __VA_ARGS__
#define ROW(name, reference, ulp, ends) {#name, fill_##name, reference##l, ulp, {ENDS ends}},
#define ROW_SAME ROW
#define ROW_NEAR ROW
#define ROW_PARTLY ROW
#define ROW_LIBRARY(...)
#define ROW_NONE(...)
#define GANTRY_MATH_FUNCTION(form, op, name, float64, reference, ulp, domain, ulp64, ranges64, \
                             ...)                                                              \
    ROW_##float64(name, reference, ulp64, ranges64)

static const subject_t subjects[] = {
#include "ops/functions.def"
    /* negative arguments away from the zeros, near which the error is absolute */
    {"digamma",
     fill_digamma,
     digamma_referencel,
     6.0,
     {-0.35, -1e-300, -3.5, -2.8, -9.6, -8.9, -10000.6, -1e4}},
};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

/* xorshift64*: the test needs repeatable bits, nothing more. */
static uint64_t next_bits(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static double next_input(uint64_t *state, const double *range) {
    uint64_t bits = next_bits(state);
    if (range[0] == range[1]) {
        return GANTRY_AS_DOUBLE(bits);
    }
    return range[0] + (range[1] - range[0]) * ((double)(bits >> 11) * 0x1p-53);
}

/* The distance of y from the exact result in units of double's last place there; infinite if a
 * special result is wrong. */
static double error_in_ulp(double y, long double wanted) {
    double nearest = (double)wanted;
    if (isnan(wanted)) {
        return GANTRY_AS_ULONG(y) == UINT64_C(0x7ff8000000000000) ? 0.0 : HUGE_VAL;
    }
    if (wanted == 0.0L || isinf(wanted)) {
        return GANTRY_AS_ULONG(y) == GANTRY_AS_ULONG(nearest) ? 0.0 : HUGE_VAL;
    }
    if (isnan(y) || (y != 0.0 && (signbit(y) != 0) != (signbit(wanted) != 0))) {
        return HUGE_VAL;
    }
    /* An overflowed result counts as 2^1024, which would follow the largest double. */
    long double value = isinf(y) ? copysignl(0x1p1024L, (long double)y) : (long double)y;
    long double capped = fabsl(wanted) > 0x1p1024L ? copysignl(0x1p1024L, wanted) : wanted;
    int exponent = fabsl(capped) < 0x1p-1022L ? -1022 : ilogbl(capped);
    if (exponent > 1023) {
        exponent = 1023;
    }
    return (double)(fabsl(value - capped) * ldexpl(1.0L, 52 - exponent));
}

static double worst_of_range(const subject_t *subject, const double *range, uint64_t *state,
                             double *out_input) {
    double x[BLOCK];
    double y[BLOCK];
    double worst = 0.0;
    for (long done = 0; done < samples; done += BLOCK) {
        for (int i = 0; i < BLOCK; ++i) {
            x[i] = next_input(state, range);
        }
        subject->fill(y, x, BLOCK);
        for (int i = 0; i < BLOCK; ++i) {
            double error = error_in_ulp(y[i], subject->reference((long double)x[i]));
            if (error > worst) {
                worst = error;
                *out_input = x[i];
            }
        }
    }
    return worst;
}

static void skip_without_wider_reference(void) {
    if (sizeof(long double) == sizeof(double) || LDBL_MANT_DIG < 64) {
        print_message("skipped: long double is no wider than double here\n");
        skip();
    }
}

TEST(functions_random_inputs_stay_within_their_bounds) {
    skip_without_wider_reference();
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    int failures = 0;
    for (int i = 0; i < SUBJECTS; ++i) {
        for (int j = 0; j < RANGES; ++j) {
            const double *range = &subjects[i].ranges[2 * j];
            double input = 0.0;
            double worst = worst_of_range(&subjects[i], range, &seed, &input);
            print_message("%-8s [%g, %g]: largest error %.4f ulp at %.17g\n", subjects[i].name,
                          range[0], range[1], worst, input);
            failures += worst <= subjects[i].bound_ulp ? 0 : 1;
        }
    }
    assert_int_equal(failures, 0);
}

/* The doubles next to multiples of pi/4: there results are smallest, or the reduction moves to the
 * next quarter. */
TEST(quarter_functions_next_to_their_bends_stay_within_their_bounds) {
    skip_without_wider_reference();
    double worst = 0.0;
    for (int eighth = -16; eighth <= 16; ++eighth) {
        double v = FOUR_PI / 16 * eighth;
        for (int i = 0; i < 64; ++i) {
            v = nextafter(v, 0.0);
        }
        for (int i = 0; i < 128 && fabs(v) <= FOUR_PI; ++i) {
            worst = fmax(worst, error_in_ulp(gantry__sin_4pi_f64(v), sinl((long double)v)));
            worst = fmax(worst, error_in_ulp(gantry__cos_4pi_f64(v), cosl((long double)v)));
            v = nextafter(v, eighth < 0 ? -HUGE_VAL : HUGE_VAL);
        }
    }
    print_message("quarters: largest error %.4f ulp\n", worst);
    assert_true(worst <= 1.0);
}

/* The doubles next to multiples of pi/2, up to the limit of near arguments: there results are
 * smallest. */
TEST(sine_and_cosine_next_to_multiples_of_a_quarter_stay_within_their_bounds) {
    skip_without_wider_reference();
    double worst = 0.0;
    for (long n = 1; n < 680000; n += n < 5000 ? 1 : 37) {
        double v = (double)((long double)n * 1.57079632679489661923L);
        for (int i = 0; i < 3; ++i) {
            double x = i == 0 ? v : nextafter(v, i == 1 ? 0.0 : HUGE_VAL);
            worst = fmax(worst, error_in_ulp(gantry__sin_f64(x), sinl((long double)x)));
            worst = fmax(worst, error_in_ulp(gantry__cos_f64(x), cosl((long double)x)));
        }
    }
    print_message("multiples of a quarter: largest error %.4f ulp\n", worst);
    assert_true(worst <= 1.0);
}

static void assert_bits(double got, double wanted) {
    assert_true(GANTRY_AS_ULONG(got) == GANTRY_AS_ULONG(wanted));
}

TEST(functions_special_inputs_give_the_ieee_results) {
    double nan_result = GANTRY_NAN_F64;
    double infinity = GANTRY_INFINITY_F64;
    double other_nan = GANTRY_AS_DOUBLE(UINT64_C(0xfff0000000000123));
    assert_bits(gantry__exp_f64(infinity), infinity);
    assert_bits(gantry__exp_f64(-infinity), 0.0);
    assert_bits(gantry__exp_f64(-0.0), 1.0);
    assert_bits(gantry__exp_f64(-745.0), 4.94065645841246544e-324);
    assert_bits(gantry__exp_f64(709.79), infinity);
    assert_bits(gantry__exp_f64(other_nan), nan_result);
    assert_bits(gantry__log_f64(0.0), -infinity);
    assert_bits(gantry__log_f64(-0.0), -infinity);
    assert_bits(gantry__log_f64(1.0), 0.0);
    assert_bits(gantry__log_f64(infinity), infinity);
    assert_bits(gantry__log_f64(-1.0), nan_result);
    assert_bits(gantry__log_f64(-infinity), nan_result);
    assert_bits(gantry__log_f64(other_nan), nan_result);
    assert_bits(gantry__tanh_f64(-0.0), -0.0);
    assert_bits(gantry__tanh_f64(4.94065645841246544e-324), 4.94065645841246544e-324);
    assert_bits(gantry__tanh_f64(-infinity), -1.0);
    assert_bits(gantry__tanh_f64(1e300), 1.0);
    assert_bits(gantry__tanh_f64(other_nan), nan_result);
    assert_bits(gantry__sigmoid_f64(-0.0), 0.5);
    assert_bits(gantry__sigmoid_f64(-infinity), 0.0);
    assert_bits(gantry__sigmoid_f64(infinity), 1.0);
    assert_bits(gantry__sigmoid_f64(other_nan), nan_result);
    assert_bits(gantry__sqrt_f64(-0.0), -0.0);
    assert_bits(gantry__sqrt_f64(-1.0), nan_result);
    assert_bits(gantry__sqrt_f64(infinity), infinity);
    assert_bits(gantry__sqrt_f64(other_nan), nan_result);
    assert_bits(gantry__sin_f64(-0.0), -0.0);
    assert_bits(gantry__sin_f64(-4.94065645841246544e-324), -4.94065645841246544e-324);
    assert_bits(gantry__sin_f64(infinity), nan_result);
    assert_bits(gantry__sin_f64(other_nan), nan_result);
    assert_bits(gantry__cos_f64(-0.0), 1.0);
    assert_bits(gantry__cos_f64(-infinity), nan_result);
    assert_bits(gantry__cos_f64(other_nan), nan_result);
    assert_bits(gantry__erf_f64(-0.0), -0.0);
    assert_bits(gantry__erf_f64(-4.94065645841246544e-324), -4.94065645841246544e-324);
    assert_bits(gantry__erf_f64(-6.0), -1.0);
    assert_bits(gantry__erf_f64(infinity), 1.0);
    assert_bits(gantry__erf_f64(other_nan), nan_result);
    assert_bits(gantry__sin_4pi_f64(0.0), 0.0);
    assert_bits(gantry__sin_4pi_f64(-0.0), -0.0);
    assert_bits(gantry__sin_4pi_f64(-4.94065645841246544e-324), -4.94065645841246544e-324);
    assert_bits(gantry__sin_4pi_f64(1.5707963267948966), 1.0);
    assert_bits(gantry__sin_4pi_f64(infinity), nan_result);
    assert_bits(gantry__sin_4pi_f64(other_nan), nan_result);
    assert_bits(gantry__cos_4pi_f64(-0.0), 1.0);
    assert_bits(gantry__cos_4pi_f64(3.1415926535897931), -1.0);
    assert_bits(gantry__cos_4pi_f64(-infinity), nan_result);
    assert_bits(gantry__cos_4pi_f64(other_nan), nan_result);
}

/* Zeros, denormals, infinities, NaNs, integers, and arguments near overflow or underflow. */
TEST(functions_special_inputs_agree_with_their_references) {
    static const double inputs[] = {
        0.0,
        -0.0,
        4.94065645841246544e-324,
        -4.94065645841246544e-324,
        2.2e-308,
        -2.2e-308,
        HUGE_VAL,
        -HUGE_VAL,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        24.0,
        40.0,
        -40.0,
        709.0,
        1000.0,
        -1000.0,
        1e300,
        -1e300,
        1e308,
        -4503599627370497.0,
        1e16,
        -4.5e15,
    };
    int failures = 0;
    for (int i = 0; i < SUBJECTS && LDBL_MANT_DIG >= 64; ++i) {
        for (size_t j = 0; j <= sizeof inputs / sizeof inputs[0]; ++j) {
            double x = j == 0 ? GANTRY_AS_DOUBLE(UINT64_C(0xfff0000000000123)) : inputs[j - 1];
            double y = 0.0;
            subjects[i].fill(&y, &x, 1);
            double error = error_in_ulp(y, subjects[i].reference((long double)x));
            if (!(error <= subjects[i].bound_ulp) &&
                (strstr(subjects[i].name, "_4pi") == NULL || fabs(x) < FOUR_PI)) {
                print_message("%s(%.17g) is %.17g: %g ulp\n", subjects[i].name, x, y, error);
                failures++;
            }
        }
    }
    assert_int_equal(failures, 0);
}

int main(int argc, char **argv) {
    long asked = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    if (asked > 0) {
        samples = asked;
    }
    return test_main();
}
