/* SPDX-License-Identifier: Apache-2.0 */
/* Random functions give the bits of their bodies run op by op, on the CPU and a fake GPU: with all
 * passes, with none, and with each alone. */
#define _XOPEN_SOURCE 700

#include "random_graph.h"
#include "runtime_fixture.h"

static uint64_t first = 1, count = 150;

static void random_graphs_give_the_eager_bits(void **state) {
    (void)state;
    runtime_fixture_t f;
    uint64_t fused = 0;
    runtime_fixture_open(&f, 1);
    for (uint64_t number = first; number < first + count; ++number)
        fused += random_graph_check(f.runtime, number);
    assert_true(fused >= count);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* arguments: how many graphs, and the number of the first */
    if (argc > 1) count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_graphs_give_the_eager_bits, runtime_fixture_set_up,
                                        runtime_fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
