/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The reference by which the tests judge digamma agrees with mpmath. */
#include <float.h>
#include <math.h>

#include "math_reference.h"
#include "test.h"

static const struct digamma_value {
    float x;
    long double y;
} table[] = {
#include "digamma_table.inc"
};

TEST(digamma_reference_of_the_table_is_as_mpmath_has_it) {
    double worst = 0.0;
    double at = 0.0;
    if (LDBL_MANT_DIG < 64) {
        print_message(
            "skipped: long double is no wider than double here, and then not enough near a zero\n");
        skip();
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
        const double got = digamma_reference((double)table[i].x);
        /* In units of float32's last place, as the test of all inputs counts. */
        const int exponent = ilogbl(table[i].y) < -126 ? -126 : ilogbl(table[i].y);
        const double error = (double)ldexpl(fabsl((long double)got - table[i].y), 23 - exponent);
        if (error > worst) {
            worst = error;
            at = (double)table[i].x;
        }
    }
    print_message("largest error %.2g ulp of float32, at %.9g\n", worst, at);
    assert_true(worst < 1e-3);
}

int main(void) { return test_main(); }
