/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A random function, saved and loaded, has the bits, names and devices of its body.
 */
#define _XOPEN_SOURCE 700

#include "random_saved.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

static uint64_t first = 1, count = FEWER_FOR_SANITIZERS(60, 12);

static void check_graphs(uint32_t gpus, uint64_t graphs) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, gpus);
    for (uint64_t number = first; number < first + graphs; ++number)
        saved_check(f.runtime, number, false);
    runtime_fixture_close(&f);
}

TEST(saved_random_functions_keep_their_bits) { check_graphs(0, count); }

TEST(saved_random_functions_keep_their_bits_across_devices) { check_graphs(1, count); }

int main(int argc, char **argv) {
    /* arguments: how many graphs, and the number of the first */
    if (argc > 1) count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
