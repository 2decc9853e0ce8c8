/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Functions with shuffles, and with shapes that depend on data, give the bits of their
 * bodies run op by op on a real driver (PoCL as GPU:0).
 *
 * GANTRY_TEST_BACKENDS names others, for a card. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>

#include "data_shapes.h"
#include "module_runtime.h"
#include "test.h"

static const char *only;

TEST(functions_give_the_eager_bits) {
    gantry_runtime_t *runtime = module_runtime_open();
    data_shapes_check(runtime, only, "/GPU:0", 0, 0);
    data_shapes_check(runtime, only, NULL, GANTRY_PASS_ALL, -1);
    gantry_runtime_release(runtime);
}

int main(int argc, char **argv) {
    if (argc > 1) only = argv[1]; /* a body's name */
    return test_main();
}
