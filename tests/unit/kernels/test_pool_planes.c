/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A pool of images whose channels come first has the bits of the pool of the transposed
 * images, of every type, size, step, dilation and padding, on the CPU.
 *
 * Arguments: how many pools of each type. */
#define _XOPEN_SOURCE 700

#include "pool_planes_case.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

static uint32_t count = FEWER_FOR_SANITIZERS(300, 40);

TEST(pools_of_planes_have_the_bits_of_pools_of_pixels) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof pool_planes_types / sizeof pool_planes_types[0]; ++i)
        pool_planes_check(f.runtime, "cpu:0", pool_planes_types[i], count);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    if (argc > 1) count = (uint32_t)strtoul(argv[1], NULL, 10);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
