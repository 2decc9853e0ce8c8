/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Elements are joined by a body in the same order on a real driver (PoCL as GPU:0), with
 * the bits of the CPU backend.
 *
 * GANTRY_TEST_BACKENDS names others, for a card. */
#define _XOPEN_SOURCE 700

#include "module_runtime.h"
#include "test.h"

#include "join_case.h"
#include "join_scan_case.h"

TEST(elements_are_joined_on_a_driver) {
    gantry_runtime_t *runtime = module_runtime_open();
    join_check_device(runtime, "/GPU:0");
    join_check_few(runtime, "/GPU:0");
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
