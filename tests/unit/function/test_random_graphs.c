/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Random functions give the bits of their bodies run op by op, on the CPU and a fake GPU:
 * with all passes, with none, with each one, with memory budgets, and with open sizes.
 *
 * Fusion holds less memory than it saves. */
#define _XOPEN_SOURCE 700

#include "random_graph.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

static uint64_t first = 1, count = FEWER_FOR_SANITIZERS(100, 20);

static void check_graphs(uint32_t gpus, uint64_t least_fused) {
    runtime_fixture_t f;
    uint64_t fused = 0, recomputed = 0;
    runtime_fixture_open(&f, gpus);
    for (uint64_t number = first; number < first + count; ++number)
        fused += random_graph_check(f.runtime, number, false, &recomputed);
    print_message("%llu nodes fused, %llu computed again\n", (unsigned long long)fused,
                  (unsigned long long)recomputed);
    assert_true(fused >= least_fused);
    assert_true(gpus > 0 || recomputed > 0);
    runtime_fixture_close(&f);
}

TEST(random_graphs_give_the_eager_bits_on_the_cpu) { check_graphs(0, count); }

/* The fake GPU has few kernels and does not fuse. */
TEST(random_graphs_give_the_eager_bits_across_devices) { check_graphs(1, count / 4); }

TEST(fusion_takes_less_memory) {
    const gantry_shape_t shape = GANTRY_SHAPE(64, 64);
    uint64_t fused = 0, apart = 0, rows = 0;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (uint64_t number = first; number < first + count; ++number) {
        random_graph_t graph;
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        random_graph_init(&graph, scope, number, &shape);
        const uint64_t with = random_planned_bytes(f.runtime, &graph, 0),
                       without =
                           random_planned_bytes(f.runtime, &graph, GANTRY_PASS_ELEMENTWISE_FUSION);
        /* and for one graph at most what the pass lets a few groups hold */
        assert_true(with <= without + (256 << 10));
        rows += random_count_rows(f.runtime, &graph);
        fused += with;
        apart += without;
        random_graph_deinit(&graph);
        expect_ended_well(scope);
    }
    assert_true(fused < apart);
    assert_true(rows >= count / 4); /* some of the fused nodes have reductions */
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* arguments: how many graphs, and the number of the first */
    if (argc > 1) count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
