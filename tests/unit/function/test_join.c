/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A reduction with a body of Add has the bits of Sum. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

#include "join_case.h"

TEST(sum_by_a_body_has_the_bits_of_sum) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_sums(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
