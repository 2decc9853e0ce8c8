/* SPDX-License-Identifier: Apache-2.0 */
/* Random functions give the bits of their bodies run op by op on a real driver (PoCL as GPU:0) and
 * the CPU: with all passes, with none, and with each alone. */
#define _XOPEN_SOURCE 700

#include "random_graph.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

static uint64_t first = 1, count = 8;

static void random_graphs_give_the_eager_bits(void **state) {
    (void)state;
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    uint64_t fused = 0;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (uint64_t number = first; number < first + count; ++number)
        fused += random_graph_check(runtime, number, true);
    assert_true(fused >= count / 4);
    gantry_runtime_release(runtime);
}

int main(int argc, char **argv) {
    /* arguments: how many graphs, and the number of the first */
    if (argc > 1) count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs_give_the_eager_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
