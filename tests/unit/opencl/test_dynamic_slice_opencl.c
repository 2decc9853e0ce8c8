/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Dynamic updates in loops, branches and functions are in place on a real driver (PoCL as
 * GPU:0), too.
 *
 * GANTRY_TEST_BACKENDS names others, for a card. */
#define _XOPEN_SOURCE 700

#include "module_runtime.h"
#include "test.h"

#include "dynamic_slice_case.h"

TEST(updates_are_in_place_on_a_driver) {
    gantry_runtime_t *runtime = module_runtime_open();
    box_check_all(runtime, "/GPU:0");
    box_check_donated(runtime, "/GPU:0");
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
