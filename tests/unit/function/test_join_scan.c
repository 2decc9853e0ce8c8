/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A scan whose body adds or multiplies has the bits of Cumsum or Cumprod.
 * Promise: A scan joins by any body in its stated order, several operands together.
 * Promise: A scatter with a body joins updates in their order, as the library's scatters do. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

#include "join_scan_case.h"

TEST(scans_have_the_bits_of_cumsum) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_scans(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

TEST(scan_of_lines_has_the_order) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_lines(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

TEST(scatters_have_the_order_of_updates) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    join_check_scatters(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
