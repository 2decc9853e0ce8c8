/* SPDX-License-Identifier: Apache-2.0 */
/* The placement and the whole plan of functions of 10,000 to 1,000,000 nodes: additions, products,
 * tanh, a MatMul in every eighth node, and a source in every sixteenth. */
#include <stdio.h>

#include "bench_internal.h"
#include "function/function.h"
#include "function/place_graph.h"
#include "run/dispatch.h"

#define MOST_PLACE_MS 10.0
#define MOST_PLAN_MS 50.0

/* ---- a function of many nodes ---- */

static const gantry_tensor_t *add_node(gantry_scope_t *scope, const gantry_tensor_t *x,
                                       const gantry_tensor_t *y, int i) {
    if (i % 16 == 15) return gantry_add(scope, y, gantry_relu(scope, x));
    if (i % 8 == 7) return gantry_matmul(scope, y, x, NULL);
    if (i % 3 == 0) return gantry_add(scope, y, x);
    return i % 3 == 1 ? gantry_mul(scope, y, y) : gantry_tanh(scope, y);
}

static void many_nodes(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const int *count = user;
    const float values[16] = {1};
    const gantry_tensor_t *c = gantry_constant(
        scope, GANTRY_FLOAT32, (gantry_shape_t){.rank = 2, .dims = {4, 4}}, values, sizeof values);
    outputs[0] = inputs[0];
    for (int i = 0; i < *count; ++i) {
        const gantry_tensor_t *before = outputs[0];
        outputs[0] = add_node(scope, i % 16 == 15 ? c : inputs[0], before, i);
        if (i > 0) gantry_tensor_drop(scope, before);
    }
}

typedef struct placing_t {
    gantry_runtime_t *runtime;
    gantry_function_t *function;
    const gantry__graph_t *graph;
    gantry__node_place_t *places;
    int count;
} placing_t;

static bool open_placing(placing_t *placing, int count) {
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, {.rank = 2, .dims = {4, 4}}};
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = ""};
    *placing = (placing_t){.count = count};
    if (gantry_runtime_create(&options, &placing->runtime) != GANTRY_OK) return false;
    if (gantry_function_trace(placing->runtime, "many", many_nodes, &placing->count, &input, 1, 1,
                              NULL, &placing->function) != GANTRY_OK)
        return false;
    placing->graph = &placing->function->traced->graph;
    placing->places = gantry__heap_zalloc(&gantry__heap_default,
                                          placing->graph->node_count * sizeof *placing->places);
    return placing->places != NULL;
}

static void close_placing(placing_t *placing) {
    if (placing->places)
        gantry__heap_free(&gantry__heap_default, placing->places,
                          placing->graph->node_count * sizeof *placing->places);
    gantry_function_release(placing->function);
    gantry_runtime_release(placing->runtime);
}

/* ---- what is measured ---- */

static bool place(void *subject, int calls) {
    placing_t *placing = subject;
    const gantry__graph_place_t request = {
        .graph = placing->graph,
        .rules = gantry__dispatch_request(placing->runtime, NULL, NULL, NULL, NULL),
        .plans = &placing->runtime->plans};
    for (int i = 0; i < calls; ++i) {
        for (size_t k = 0; k < placing->graph->node_count; ++k)
            placing->places[k] = (gantry__node_place_t){0};
        if (gantry__place_graph(&request, placing->places) != GANTRY_OK) return false;
    }
    return true;
}

static bool plan(void *subject, int calls) {
    const placing_t *placing = subject;
    for (int i = 0; i < calls; ++i) {
        gantry__schedule_t schedule;
        if (gantry__schedule_init(&schedule, placing->runtime, placing->graph, -1) != GANTRY_OK)
            return false;
        gantry__schedule_deinit(&schedule);
    }
    return true;
}

static void measure(bench_report_t *report, placing_t *placing, int rounds, bool is_plan,
                    double most) {
    char work[48];
    (void)snprintf(work, sizeof work, "%s of %d nodes", is_plan ? "the plan" : "placing",
                   placing->count);
    bench_contender_t contender = {
        .name = "1 thread", .run = is_plan ? plan : place, .subject = placing};
    bench_interleave(&contender, 1, rounds, placing->count > 100000 ? 1 : 1000000 / placing->count);
    const bench_measure_t measure = {
        .subject = "placement", .work = work, .unit = "ms", .per_second = 1e3, .most = most};
    bench_report_contenders(report, &measure, &contender, 1, 1);
}

void bench_placing(bench_report_t *report, int rounds) {
    static const int counts[] = {10000, 100000, 1000000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        placing_t placing;
        const double factor = counts[i] / 1e4;
        if (open_placing(&placing, counts[i])) {
            measure(report, &placing, rounds, false, MOST_PLACE_MS * factor);
            measure(report, &placing, rounds, true, MOST_PLAN_MS * factor);
        } else {
            (void)fprintf(stderr, "placement of %d nodes: %s\n", counts[i], gantry_last_message());
        }
        close_placing(&placing);
    }
}
