/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with shuffles, and with shapes that depend on data, give the bits of their bodies run
 * op by op on a real driver (PoCL as GPU:0). GANTRY_TEST_BACKENDS names others, for a card. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>

#include "data_shapes.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

static gantry_runtime_t *open_runtime(void) {
    const char *backends = getenv("GANTRY_TEST_BACKENDS");
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = backends ? backends : "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

static void functions_give_the_eager_bits(void **state) {
    (void)state;
    gantry_runtime_t *runtime = open_runtime();
    data_shapes_check(runtime, "/GPU:0", 0, 0);
    data_shapes_check(runtime, NULL, GANTRY_PASS_ALL, -1);
    gantry_runtime_release(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_give_the_eager_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
