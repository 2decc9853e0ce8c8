/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A reduction with a body of Add, Mul or Maximum has the bits of Sum, Prod and Max, at
 * once and in functions.
 * Promise: A body joins a reduction's elements in the order of sums or of neighbours, and those of
 * a window in the order of neighbours, as docs/numerics.md says: plain loops give the same. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

#include "join_case.h"

TEST(reductions_have_the_bits_of_ops) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_ops(f.runtime, "/CPU:0", GANTRY_FLOAT32);
    join_check_ops(f.runtime, "/CPU:0", GANTRY_FLOAT64);
    join_check_ops(f.runtime, "/CPU:0", GANTRY_INT32);
    runtime_fixture_close(&f);
}

TEST(orders_are_those_of_loops) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_orders(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

TEST(windows_are_those_of_loops) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_windows(f.runtime, "/CPU:0", 400);
    runtime_fixture_close(&f);
}

TEST(two_operands_are_joined_together) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_argmax(f.runtime, "/CPU:0", false);
    join_check_argmax(f.runtime, "/CPU:0", true);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
