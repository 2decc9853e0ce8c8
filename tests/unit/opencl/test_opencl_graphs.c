/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Random functions give the bits of their bodies run op by op on PoCL and on the CPU, with
 * all passes of the graph, with none, with each only, and with crossover.
 * Promise: So do functions that are made of the graphs of random functions, and of copies of these.
 * Promise: So do random functions that were saved and loaded.
 *
 * Limits of the device split fused nodes. Reductions over rows and what stands around them are one
 * node. */
#define _XOPEN_SOURCE 700

#include <unistd.h>

#include "need_opencl.h"
#include "op/fused_program.h"
#include "random_described.h"
#include "random_saved.h"
#include "test.h"
#include "updates_case.h"
#include "planned.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

static uint64_t first = 1, count = 8;

/* GANTRY_TEST_BACKENDS names others, for a card. */
static gantry_runtime_t *open_with(gantry_choice_t crossover, const char *setting) {
    const char *backends = getenv("GANTRY_TEST_BACKENDS");
    const char *const extra[] = {setting, NULL};
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = backends ? backends : "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = "",
                                              .crossover = crossover,
                                              .extra = extra};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

static gantry_runtime_t *open_runtime(void) { return open_with(GANTRY_OFF, NULL); }

TEST(random_graphs_give_the_eager_bits) {
    gantry_runtime_t *runtime = open_runtime();
    uint64_t fused = 0, recomputed = 0;
    for (uint64_t number = first; number < first + count; ++number)
        fused += random_graph_check(runtime, number, true, &recomputed);
    assert_true(fused >= count / 4);
    print_message("%llu nodes fused, %llu computed again\n", (unsigned long long)fused,
                  (unsigned long long)recomputed);
    gantry_runtime_release(runtime);
}

TEST(graphs_of_random_functions_give_the_eager_bits) {
    gantry_runtime_t *runtime = open_runtime();
    for (uint64_t number = first; number < first + count; ++number)
        described_check(runtime, number, true);
    gantry_runtime_release(runtime);
}

TEST(saved_random_functions_give_the_eager_bits) {
    gantry_runtime_t *runtime = open_runtime();
    for (uint64_t number = first; number < first + count / 4; ++number)
        saved_check(runtime, number, true);
    gantry_runtime_release(runtime);
}

TEST(random_updates_have_the_bits_of_single_ones) {
    gantry_runtime_t *runtime = open_runtime();
    uint32_t saved = 0;
    for (uint64_t seed = 1000 + first; seed < 1000 + first + count; ++seed)
        saved += updates_check(runtime, "/GPU:0", seed, 2 + (uint32_t)(seed % 7));
    print_message("%u launches saved\n", saved);
    assert_true(saved > 0);
    gantry_runtime_release(runtime);
}

/* ---- crossover ---- */

static void put_record(gantry_runtime_t *runtime, const char *type, const char *values) {
    const gantry_physical_device_t *device;
    size_t found;
    assert_int_equal(gantry_list_physical_devices(runtime, type, 1, &device, &found), GANTRY_OK);
    if (gantry_put_tuning(runtime, device, "crossover", values) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

static uint64_t count_crossed(gantry_runtime_t *runtime, const char *device) {
    static gantry_placement_count_t counts[1024];
    uint64_t crossed = 0;
    size_t all;
    counts[0].struct_size = sizeof counts[0];
    assert_int_equal(gantry_get_placement_counts(runtime, 1024, counts, &all), GANTRY_OK);
    for (size_t i = 0; i < all && i < 1024; ++i) {
        if (counts[i].reason == GANTRY_PLACED_CROSSOVER && strstr(counts[i].device, device))
            crossed += counts[i].count;
    }
    return crossed;
}

/* By made-up costs of which neither device is cheaper for all shapes. */
TEST(crossover_gives_the_eager_bits_on_both_devices) {
    char path[] = "/tmp/gantry_graphs_XXXXXX", lock[48], setting[64];
    uint64_t recomputed = 0;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    (void)snprintf(setting, sizeof setting, "GANTRY_TUNING_FILE=%s", path);
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    gantry_runtime_t *runtime = open_with(GANTRY_OFF, setting);
    put_record(runtime, "CPU", "launch_us=1 gbs=0.1 gflops=1");
    put_record(runtime, "GPU",
               "launch_us=2 gbs=0.2 gflops=1 to_us=0.1 to_gbs=10 from_us=0.1 from_gbs=10");
    gantry_runtime_release(runtime);
    runtime = open_with(GANTRY_ON, setting);
    (void)unlink(lock);
    for (uint64_t number = first; number < first + count; ++number)
        (void)random_graph_check(runtime, number, true, &recomputed);
    assert_int_equal(unlink(path), 0);
    assert_true(count_crossed(runtime, "CPU:0") > 0);
    assert_true(count_crossed(runtime, "GPU:0") > 0);
    gantry_runtime_release(runtime);
}

/* ---- limits of a device ---- */

static void sums_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = inputs[0];
    for (uint32_t i = 0; i < GANTRY__FUSED_MOST_DEVICE_INSTRUCTIONS + 2; ++i)
        outputs[0] = gantry_add(scope, outputs[0], inputs[0]);
}

static void functions_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = inputs[0];
    for (uint32_t i = 0; i < GANTRY__FUSED_MOST_DEVICE_COSTLY + 2; ++i)
        outputs[0] = gantry_tanh(scope, outputs[0]);
}

/* The numbers of members of the nodes that are several. */
static void expect_fused(gantry_runtime_t *runtime, gantry_function_body_fn body,
                         uint32_t first_members, uint32_t second_members) {
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(8)};
    const uint32_t expected[] = {first_members, second_members};
    gantry_function_t *function;
    uint32_t found = 0;
    if (gantry_function_trace(runtime, "f", body, NULL, &input, 1, 1, NULL, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    const gantry__graph_t *graph = &planned(function)->graph;
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (graph->nodes[i].fused_count == 0) continue;
        assert_true(found < 2);
        assert_int_equal(graph->nodes[i].fused_count, expected[found++]);
    }
    assert_int_equal(found, 2);
    gantry_function_release(function);
}

TEST(limits_of_the_device_split_a_group) {
    gantry_runtime_t *runtime = open_runtime();
    expect_fused(runtime, sums_body, GANTRY__FUSED_MOST_DEVICE_INSTRUCTIONS, 2);
    expect_fused(runtime, functions_body, GANTRY__FUSED_MOST_DEVICE_COSTLY, 2);
    gantry_runtime_release(runtime);
}

/* ---- rows ---- */

enum { ROWS = 300, LENGTH = 257 };

/* Softmax out of ops, then a layer norm of it without its scale, and the sum of each row. */
static void rows_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const int32_t last = -1;
    gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &last, .axis_count = 1, .keep_dims = true};
    const gantry_tensor_t *most = gantry_max(scope, inputs[0], &options),
                          *powers = gantry_exp(scope, gantry_sub(scope, inputs[0], most)),
                          *soft = gantry_div(scope, powers, gantry_sum(scope, powers, &options)),
                          *mean = gantry_mean(scope, soft, &options),
                          *centred = gantry_sub(scope, soft, mean),
                          *squares = gantry_mean(scope, gantry_square(scope, centred), &options);
    outputs[0] = gantry_mul(scope, centred, gantry_rsqrt(scope, squares));
    options.keep_dims = false;
    outputs[1] = gantry_sum(scope, outputs[0], &options);
}

TEST(rows_are_one_node_with_the_bits_of_the_cpu) {
    static float values[ROWS * LENGTH], fused[ROWS * LENGTH + ROWS], apart[ROWS * LENGTH + ROWS];
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, LENGTH)};
    gantry_runtime_t *runtime = open_runtime();
    gantry_function_t *function;
    uint32_t members = 0;
    for (int i = 0; i < ROWS * LENGTH; ++i) values[i] = (float)(i * 7919 % 2003) / 501 - 2;
    if (gantry_function_trace(runtime, "f", rows_body, NULL, &input, 1, 2, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    const gantry__graph_t *graph = &planned(function)->graph;
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (graph->nodes[i].op->id == GANTRY__OP_ID__FusedRows)
            members += graph->nodes[i].fused_count;
    }
    assert_int_equal(members, 12);
    for (int on_cpu = 0; on_cpu < 2; ++on_cpu) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, on_cpu ? "CPU:0" : NULL);
        const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, input.shape, values,
                                                   sizeof values),
                              *out[2] = {NULL, NULL};
        float *to = on_cpu ? apart : fused;
        if (on_cpu)
            rows_body(scope, &x, out, NULL);
        else
            assert_int_equal(gantry_function_call(scope, function, &x, 1, out, 2), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(out[0], to, sizeof values), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(out[1], to + ROWS * LENGTH, ROWS * sizeof(float)),
                         GANTRY_OK);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    assert_memory_equal(fused, apart, sizeof fused);
    gantry_function_release(function);
    gantry_runtime_release(runtime);
}

int main(int argc, char **argv) {
    /* arguments: how many graphs, the number of the first, and the only test */
    if (argc > 1) count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    if (argc > 3) cmocka_set_test_filter(argv[3]);
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
