/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Scans and scatters with a body have the same bits on a real driver (PoCL as GPU:0).
 *
 * GANTRY_TEST_BACKENDS names others, for a card. */
#define _XOPEN_SOURCE 700

#include "module_runtime.h"
#include "test.h"

#include "join_scan_case.h"

TEST(scans_and_scatters_have_the_bits_on_a_driver) {
    gantry_runtime_t *runtime = module_runtime_open();
    join_check_few(runtime, "/GPU:0");
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
