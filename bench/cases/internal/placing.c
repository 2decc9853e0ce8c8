/* SPDX-License-Identifier: Apache-2.0 */
/* The placement and the whole plan of functions of 10,000 to 1,000,000 nodes:
 *
 *   deep   one chain of additions, products and tanh, with a MatMul in every eighth node and a
 *          source in every sixteenth
 *   wide   a third of the nodes makes values of 64 sizes, which all live at a time; the others
 *          add their sums in another order, so that the free memory is in many pieces
 *   with   the chain, with every second node colocated with the node before it
 *
 * Without passes, which would make fewer nodes of them; tracing with all passes has rows of its
 * own. */
#include <stdio.h>

#include "internal.h"
#include "function/call/function.h"
#include "function/place/place_graph.h"
#include "run/dispatch.h"

#define QUICK_ROUNDS 3 /* of a million nodes */
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

static void deep_nodes(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
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

/* All values live until the others begin. */
static void wide_nodes(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const int *nodes = user, count = *nodes / 3;
    static const float values[64 * 16] = {1};
    const gantry_tensor_t *constants[64];
    const gantry_tensor_t **made =
        gantry__heap_zalloc(&gantry__heap_default, (size_t)count * sizeof(gantry_tensor_t *));
    for (int i = 0; i < 64; ++i)
        constants[i] = gantry_constant(scope, GANTRY_FLOAT32,
                                       (gantry_shape_t){.rank = 1, .dims = {16 * (i + 1)}}, values,
                                       (size_t)(16 * (i + 1)) * sizeof values[0]);
    for (int i = 0; made && i < count; ++i) made[i] = gantry_tanh(scope, constants[i % 64]);
    outputs[0] = inputs[0];
    for (int i = 0; made && i < count; ++i) {
        const int at = (int)((int64_t)i * 7919 % count);
        outputs[0] = gantry_add(scope, outputs[0], gantry_sum(scope, made[at], NULL));
    }
    if (made)
        gantry__heap_free(&gantry__heap_default, made, (size_t)count * sizeof(gantry_tensor_t *));
}

static void colocated_nodes(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    const int *count = user;
    outputs[0] = inputs[0];
    for (int i = 0; i < *count; i += 2) {
        const gantry_tensor_t *first = gantry_tanh(scope, outputs[0]);
        gantry_scope_t *inner = gantry_scope_begin_with(scope, first);
        outputs[0] = gantry_scope_keep(inner, gantry_add(inner, first, inputs[0]));
        (void)gantry_scope_end(inner);
    }
}

typedef struct placing_t {
    gantry_runtime_t *runtime;
    gantry_function_t *function;
    const gantry__graph_t *graph;
    gantry__node_place_t *places;
    gantry_function_body_fn body;
    int count;
} placing_t;

static bool trace_function(placing_t *placing, uint32_t passes_off,
                           gantry_function_t **out_function) {
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, {.rank = 2, .dims = {4, 4}}};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    gantry__specialization_t *planned = NULL; /* else the plan waits for the first call */
    if (gantry_function_trace(placing->runtime, "many", placing->body, &placing->count, &input, 1,
                              1, &options, out_function) != GANTRY_OK)
        return false;
    if (gantry__function_newest(*out_function, &planned) == GANTRY_OK && planned) {
        gantry__function_leave(*out_function, planned);
        return true;
    }
    gantry_function_release(*out_function);
    *out_function = NULL;
    return false;
}

static bool open_placing(placing_t *placing, gantry_function_body_fn body, int count) {
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = ""};
    *placing = (placing_t){.count = count, .body = body};
    if (gantry_runtime_create(&options, &placing->runtime) != GANTRY_OK) return false;
    if (!trace_function(placing, GANTRY_PASS_ALL, &placing->function)) return false;
    placing->graph = &placing->function->specialization->graph;
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

typedef struct bench_work_t {
    const char *name;
    bool (*run)(void *subject, int calls);
    double most_ms; /* of 10,000 nodes; 0: no target */
} bench_work_t;

static bool place(void *subject, int calls) {
    placing_t *placing = subject;
    const gantry__graph_place_t request = {
        .graph = placing->graph,
        .rules = gantry__dispatch_request(placing->runtime, NULL, NULL, NULL, NULL, false),
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

/* The whole of gantry_function_trace with its plan, with all passes. */
static bool trace_whole(void *subject, int calls) {
    placing_t *placing = subject;
    for (int i = 0; i < calls; ++i) {
        gantry_function_t *function;
        if (!trace_function(placing, 0, &function)) return false;
        gantry_function_release(function);
    }
    return true;
}

static void measure(bench_report_t *report, placing_t *placing, int rounds, const bench_work_t *of,
                    const char *shape) {
    char work[48];
    (void)snprintf(work, sizeof work, "%s of %d nodes, %s", of->name, placing->count, shape);
    bench_contender_t contender = {.name = "1 thread", .run = of->run, .subject = placing};
    bench_interleave(&contender, 1, placing->count > 100000 ? QUICK_ROUNDS : rounds,
                     placing->count > 100000 ? 1 : 200000 / placing->count);
    const bench_measure_t measure = {.subject = "placement",
                                     .work = work,
                                     .unit = "ms",
                                     .per_second = 1e3,
                                     .most = of->most_ms * placing->count / 1e4};
    bench_report_contenders(report, &measure, &contender, 1, 1);
}

static void measure_function(bench_report_t *report, int rounds, gantry_function_body_fn body,
                             int count, const char *shape) {
    placing_t placing;
    static const bench_work_t works[] = {{"placing", place, MOST_PLACE_MS},
                                         {"the plan", plan, MOST_PLAN_MS},
                                         {"the trace", trace_whole, 0}};
    if (open_placing(&placing, body, count)) {
        for (size_t i = 0; i < sizeof works / sizeof works[0]; ++i)
            measure(report, &placing, rounds, &works[i], shape);
    } else {
        (void)fprintf(stderr, "placement of %d nodes: %s\n", count, gantry_last_message());
    }
    close_placing(&placing);
}

void bench_placing(bench_report_t *report, int rounds) {
    static const int counts[] = {10000, 100000, 1000000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i)
        measure_function(report, rounds, deep_nodes, counts[i], "deep");
    for (size_t i = 0; i < 2; ++i) measure_function(report, rounds, wide_nodes, counts[i], "wide");
    for (size_t i = 0; i < 2; ++i)
        measure_function(report, rounds, colocated_nodes, counts[i], "with");
}
