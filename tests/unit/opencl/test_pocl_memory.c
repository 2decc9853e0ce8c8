/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: PoCL's total follows POCL_MEMORY_LIMIT, and its largest allocation is the smallest power
 * of 2 that is at least a quarter of the total. A longer tensor is refused.
 *
 * PoCL reads its settings once, so that each case has a process of its own. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gantry/gantry.h>

#include "fork_child.h"
#include "need_opencl.h"
#include "test.h"

#define GIB (UINT64_C(1) << 30)

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backends = "cpu,opencl",
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    CHECK(gantry_runtime_create(&options, &runtime) == GANTRY_OK);
    return runtime;
}

static gantry_device_details_t details_of(gantry_runtime_t *runtime) {
    const gantry_physical_device_t *device;
    gantry_device_details_t details = {.struct_size = sizeof details};
    CHECK(gantry_find_physical_device(runtime, "GPU:0", &device) == GANTRY_OK);
    CHECK(gantry_get_device_details(runtime, device, &details) == GANTRY_OK);
    return details;
}

static uint64_t largest_of(uint64_t total) {
    uint64_t largest = 1;
    while (largest < total / 4) largest *= 2;
    return largest;
}

/* In a child. GiB 0: PoCL's own total. */
static void expect_total(uint64_t gib) {
    char text[8];
    (void)snprintf(text, sizeof text, "%u", (unsigned)gib);
    if (gib > 0) (void)setenv("POCL_MEMORY_LIMIT", text, 1);
    gantry_runtime_t *runtime = open_runtime();
    const gantry_device_details_t details = details_of(runtime);
    if (gib > 0) CHECK(details.total_bytes == gib * GIB);
    CHECK(details.largest_allocation_bytes == largest_of(details.total_bytes));
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    const int64_t rows = (int64_t)(details.largest_allocation_bytes >> 20) + 1;
    CHECK(!gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, 1 << 18)));
    CHECK(gantry_scope_status(scope) == GANTRY_RESOURCE_EXHAUSTED);
    (void)gantry_scope_end(scope);
    gantry_runtime_release(runtime);
}

TEST(total_and_largest_allocation_are_those_of_the_page) {
    need_pocl();
    for (uint64_t gib = 0; gib < 3; ++gib) {
        const pid_t child = fork();
        if (child == 0) {
            expect_total(gib);
            _exit(0);
        }
        fork_child_expect_success(child);
    }
}

int main(void) { return test_main(); }
