/* SPDX-License-Identifier: Apache-2.0 */
/* A check that a traced random function (random_blocks.h) gives its eager bits. Header only. */
#ifndef TESTS_RANDOM_GRAPH_H
#define TESTS_RANDOM_GRAPH_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "function/call/function.h"
#include "random_blocks.h"
#include "planned.h"

/* A test may make the inputs in another way. */
#ifndef RANDOM_GRAPH_CONSTANT
#define RANDOM_GRAPH_CONSTANT gantry_constant
#endif

/* ---- results ---- */

typedef struct random_result_t {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    const gantry_logical_device_t *device;
    size_t bytes;
    unsigned char *data;
} random_result_t;

static inline void random_read(const gantry_tensor_t *tensor, random_result_t *out_result) {
    *out_result = (random_result_t){.dtype = gantry_tensor_dtype(tensor),
                                    .shape = *gantry_tensor_shape(tensor),
                                    .device = gantry_tensor_device(tensor)};
    out_result->bytes =
        (size_t)gantry_tensor_elements(tensor) * gantry_dtype_size(out_result->dtype);
    out_result->data = malloc(out_result->bytes + 1);
    assert_non_null(out_result->data);
    if (gantry_tensor_read(tensor, out_result->data, out_result->bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

static inline void random_free(random_result_t *results) {
    for (uint32_t i = 0; i < RANDOM_GRAPH_RESULTS; ++i) free(results[i].data);
}

/* Floats of every kind, most of them small; NaN with a payload among them. */
static inline const gantry_tensor_t *random_input(gantry_scope_t *scope, uint64_t *state,
                                                  const gantry_shape_t *shape) {
    static const uint32_t special[] = {0x7FC12345, 0xFFC00001, 0x7F800000, 0xFF800000,
                                       0x80000000, 0x00000001, 0x807FFFFF, 0x7F7FFFFF};
    uint32_t bits[RANDOM_GRAPH_ELEMENTS];
    const size_t count = (size_t)gantry_shape_elements(shape);
    for (size_t i = 0; i < count; ++i) {
        const float value = (float)((int32_t)random_below(state, 8001) - 4000) / 1000;
        memcpy(&bits[i], &value, sizeof value);
        if (random_below(state, 16) == 0) bits[i] = special[random_below(state, 8)];
    }
    return RANDOM_GRAPH_CONSTANT(scope, GANTRY_FLOAT32, *shape, bits, count * sizeof bits[0]);
}

/* Sets the variables and the generator, calls the function, and reads outputs and variables. */
static inline void random_call(gantry_runtime_t *runtime, const random_graph_t *graph,
                               gantry_function_t *function, const char *device, uint64_t data,
                               random_result_t *results) {
    const gantry_tensor_t *inputs[RANDOM_GRAPH_INPUTS], *outputs[RANDOM_GRAPH_OUTPUTS];
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    assert_non_null(scope);
    for (uint32_t i = 0; i < RANDOM_GRAPH_INPUTS; ++i)
        inputs[i] = random_input(scope, &data, &graph->given);
    for (uint32_t i = 0; i < RANDOM_GRAPH_VARIABLES; ++i) {
        const bool fits = gantry_shape_equal(&graph->given, &graph->shape);
        (void)gantry_variable_assign(scope, graph->variables[i],
                                     fits ? inputs[i] : random_input(scope, &data, &graph->shape));
    }
    assert_int_equal(gantry_generator_reset_from_seed(graph->generator, 7), GANTRY_OK);
    if (gantry_function_call(scope, function, inputs, RANDOM_GRAPH_INPUTS, outputs,
                             RANDOM_GRAPH_OUTPUTS) != GANTRY_OK)
        fail_msg("graph %llu: %s", (unsigned long long)graph->number, gantry_scope_message(scope));
    for (uint32_t i = 0; i < RANDOM_GRAPH_OUTPUTS; ++i) random_read(outputs[i], &results[i]);
    for (uint32_t i = 0; i < RANDOM_GRAPH_VARIABLES; ++i)
        random_read(gantry_variable_read(scope, graph->variables[i]),
                    &results[RANDOM_GRAPH_OUTPUTS + i]);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static inline bool random_is_nan(const random_result_t *result, size_t byte) {
    float value;
    if (result->dtype != GANTRY_FLOAT32) return false;
    memcpy(&value, result->data + byte / sizeof value * sizeof value, sizeof value);
    return isnan(value);
}

static inline void random_expect_bits(const random_graph_t *graph, uint32_t passes_off, uint32_t i,
                                      const random_result_t *got, const random_result_t *eager) {
    for (size_t k = 0; k < got->bytes; ++k) {
        if (got->data[k] == eager->data[k] ||
            (graph->any_nan && random_is_nan(got, k) && random_is_nan(eager, k)))
            continue;
        fail_msg(
            "graph %llu, passes_off 0x%x: result %u (%s, %zu bytes) has byte 0x%02x at %zu, eagerly 0x%02x",
            (unsigned long long)graph->number, passes_off, i, gantry_dtype_name(got->dtype),
            got->bytes, got->data[k], k, eager->data[k]);
    }
}

static inline void random_expect_same(const random_graph_t *graph, uint32_t passes_off,
                                      const random_result_t *got, const random_result_t *eager) {
    for (uint32_t i = 0; i < RANDOM_GRAPH_RESULTS; ++i) {
        const random_result_t *a = &got[i], *b = &eager[i];
        if (a->dtype != b->dtype || !gantry_shape_equal(&a->shape, &b->shape))
            fail_msg(
                "graph %llu, passes_off 0x%x: result %u is %s, %zu bytes, eagerly %s, %zu bytes",
                (unsigned long long)graph->number, passes_off, i, gantry_dtype_name(a->dtype),
                a->bytes, gantry_dtype_name(b->dtype), b->bytes);
        random_expect_bits(graph, passes_off, i, a, b);
    }
}

static inline void random_expect_devices(random_graph_t *graph, uint32_t passes_off,
                                         const random_result_t *got) {
    for (uint32_t i = 0; i < RANDOM_GRAPH_OUTPUTS; ++i) {
        if (passes_off == GANTRY_PASS_ALL) graph->devices[i] = got[i].device;
        if (graph->varies[i] && got[i].device != graph->devices[i])
            fail_msg("graph %llu, passes_off 0x%x: result %u is on %s, without passes on %s",
                     (unsigned long long)graph->number, passes_off, i,
                     gantry_logical_device_name(got[i].device),
                     gantry_logical_device_name(graph->devices[i]));
    }
}

/* ---- one graph ---- */

static inline gantry_status_t random_try_trace(gantry_runtime_t *runtime, random_graph_t *graph,
                                               uint32_t passes_off, bool runs_eagerly,
                                               uint64_t budget, gantry_function_t **out_function) {
    const gantry_function_options_t options = {
        .struct_size = sizeof options,
        .most_traces = graph->is_open ? 2 : 0,
        .runs_eagerly = runs_eagerly,
        .inter_op_threads = (int32_t)(graph->number / 3 % 3) * 2 - 2, /* -2, 0, 2 */
        .memory_budget_bytes = budget,
        .passes_off = passes_off};
    gantry_input_spec_t inputs[RANDOM_GRAPH_INPUTS];
    gantry_shape_t shape = graph->shape;
    for (int32_t k = 0; graph->is_open && k < shape.rank; ++k) shape.dims[k] = -1;
    for (uint32_t i = 0; i < RANDOM_GRAPH_INPUTS; ++i)
        inputs[i] = (gantry_input_spec_t){NULL, GANTRY_FLOAT32, shape};
    return gantry_function_trace(runtime, "random", random_graph_body, graph, inputs,
                                 RANDOM_GRAPH_INPUTS, RANDOM_GRAPH_OUTPUTS, &options, out_function);
}

static inline gantry_function_t *random_trace(gantry_runtime_t *runtime, random_graph_t *graph,
                                              uint32_t passes_off, bool runs_eagerly) {
    gantry_function_t *function;
    if (random_try_trace(runtime, graph, passes_off, runs_eagerly, 0, &function) != GANTRY_OK)
        fail_msg("graph %llu, passes_off 0x%x: %s", (unsigned long long)graph->number, passes_off,
                 gantry_last_message());
    return function;
}

static inline uint32_t random_count_fused(gantry_function_t *function) {
    const gantry__graph_t *graph = &planned(function)->graph;
    uint32_t count = 0;
    for (size_t i = 0; i < graph->node_count; ++i) count += graph->nodes[i].fused_count > 0;
    return count;
}

/* Calls with two sets of inputs in turn: a device that makes graphs replays the last ones. */
static inline void random_check_calls(gantry_runtime_t *runtime, random_graph_t *graph,
                                      const char *device, uint32_t passes_off,
                                      gantry_function_t *function,
                                      random_result_t eager[2][RANDOM_GRAPH_RESULTS]) {
    for (uint32_t k = 0; k < 4; ++k) {
        random_result_t got[RANDOM_GRAPH_RESULTS];
        random_call(runtime, graph, function, device, graph->seed + k % 2, got);
        random_expect_same(graph, passes_off, got, eager[k % 2]);
        /* with crossover, a pass may change what is cheapest */
        if (!runtime->switches.crossover) random_expect_devices(graph, passes_off, got);
        random_free(got);
    }
}

/* Of a function without these passes. */
static inline void random_check_passes(gantry_runtime_t *runtime, random_graph_t *graph,
                                       const char *device, uint32_t passes_off,
                                       random_result_t eager[2][RANDOM_GRAPH_RESULTS]) {
    gantry_function_t *function = random_trace(runtime, graph, passes_off, false);
    random_check_calls(runtime, graph, device, passes_off, function, eager);
    if (passes_off == 0) graph->fused = random_count_fused(function);
    gantry_function_release(function);
}

static inline uint32_t random_count_recomputed(gantry_function_t *function) {
    const gantry__graph_t *graph = &planned(function)->graph;
    uint32_t count = 0;
    for (size_t i = 0; i < graph->node_count; ++i) count += graph->nodes[i].recomputes != NULL;
    return count;
}

/* A refused budget names how many nodes were computed again: never more than the function has. */
static inline void random_expect_few_recomputed(const random_graph_t *graph, size_t nodes) {
    unsigned made = 0;
    const char *at = strstr(gantry_last_message(), ", with ");
    if (at && sscanf(at, ", with %u nodes computed again", &made) == 1 && made > nodes + 1)
        fail_msg("graph %llu of %zu nodes: %s", (unsigned long long)graph->number, nodes,
                 gantry_last_message());
}

/* Returns whether the budget can be met; `nodes` are those of the function without one. */
static inline bool random_check_budget(gantry_runtime_t *runtime, random_graph_t *graph,
                                       uint32_t passes_off, uint64_t budget, size_t nodes,
                                       random_result_t eager[2][RANDOM_GRAPH_RESULTS]) {
    gantry_function_t *function;
    const gantry_logical_device_t *most;
    uint64_t bytes;
    const gantry_status_t status =
        random_try_trace(runtime, graph, passes_off, false, budget, &function);
    if (status == GANTRY_RESOURCE_EXHAUSTED) {
        random_expect_few_recomputed(graph, nodes);
        return false;
    }
    assert_int_equal(status, GANTRY_OK);
    assert_int_equal(gantry__schedule_most_bytes(&planned(function)->schedule, &bytes, &most),
                     GANTRY_OK);
    assert_true(bytes <= budget);
    graph->recomputed += random_count_recomputed(function);
    random_check_calls(runtime, graph, NULL, passes_off, function, eager);
    gantry_function_release(function);
    return true;
}

/* With less memory than the body's order takes: in another order, with nodes computed again, or
 * refused. */
static inline void random_check_order(gantry_runtime_t *runtime, random_graph_t *graph,
                                      const char *device, uint32_t passes_off,
                                      random_result_t eager[2][RANDOM_GRAPH_RESULTS]) {
    if (device) return; /* a call with a request is planned again, for other devices */
    gantry_function_t *function = random_trace(runtime, graph, passes_off, false);
    const gantry_logical_device_t *most;
    uint64_t bytes;
    assert_int_equal(gantry__schedule_most_bytes(&planned(function)->schedule, &bytes, &most),
                     GANTRY_OK);
    const size_t nodes = planned(function)->graph.node_count;
    gantry_function_release(function);
    if (bytes < 8) return;
    uint64_t budget = bytes - 1;
    while (budget > 0 && random_check_budget(runtime, graph, passes_off, budget, nodes, eager))
        budget = budget * 7 / 8;
}

/* Of a function that takes any sizes: more of them in turn than it keeps traces of. */
static inline void random_check_open(gantry_runtime_t *runtime, random_graph_t *graph,
                                     const char *device, uint32_t passes_off) {
    graph->is_open = true;
    gantry_function_t *eager = random_trace(runtime, graph, 0, true),
                      *function = random_trace(runtime, graph, passes_off, false);
    for (uint32_t call = 0; call < 7; ++call) {
        random_result_t expected[RANDOM_GRAPH_RESULTS], got[RANDOM_GRAPH_RESULTS];
        graph->given = graph->shape;
        for (int32_t k = 0; k < graph->shape.rank; ++k) {
            int64_t *size = &graph->given.dims[k];
            if (call % 4 == 1) *size = (*size + 1) / 2;
            if (call % 4 == 2) *size += 1;
            if (call % 4 == 3) *size = graph->number % 4 == 0 && k == 0 ? 0 : 1;
        }
        random_call(runtime, graph, eager, device, graph->seed + call, expected);
        random_call(runtime, graph, function, device, graph->seed + call, got);
        random_expect_same(graph, passes_off, got, expected);
        random_free(expected);
        random_free(got);
    }
    gantry_function_release(eager);
    gantry_function_release(function);
    graph->is_open = false;
    graph->given = graph->shape;
}

/* The graph with this number, of `shape`, or of a shape of its own if that is NULL. The scope owns
 * what it captures. */
static inline void random_graph_init(random_graph_t *graph, gantry_scope_t *scope, uint64_t number,
                                     const gantry_shape_t *shape) {
    static const gantry_shape_t shapes[] = {{.rank = 1, .dims = {5}},
                                            {.rank = 2, .dims = {3, 7}},
                                            {.rank = 2, .dims = {16, 33}},
                                            {.rank = 3, .dims = {2, 3, 4}},
                                            {.rank = 0},
                                            {.rank = 2, .dims = {1, 70}},
                                            {.rank = 2, .dims = {9, 96}}};
    uint64_t state = number * UINT64_C(0x9E3779B97F4A7C15) + 1;
    *graph = (random_graph_t){.number = number, .seed = state};
    graph->steps = 8 + random_below(&state, 40);
    graph->shape = graph->given = shape ? *shape : shapes[random_below(&state, 7)];
    graph->captured = random_input(scope, &state, &graph->shape);
    for (uint32_t i = 0; i < RANDOM_GRAPH_VARIABLES; ++i) {
        gantry_scope_t *home = gantry_scope_begin_in(scope, i ? "CPU:0" : "GPU:0");
        graph->variables[i] = gantry_variable_create(home, graph->captured, i ? "b" : "a");
        assert_int_equal(gantry_scope_end(home), GANTRY_OK);
    }
    const gantry_input_spec_t vector = {"vector", GANTRY_FLOAT32, GANTRY_SHAPE(-1)};
    gantry_runtime_t *runtime = gantry_scope_runtime(scope);
    assert_int_equal(
        gantry_generator_from_seed(runtime, 7, GANTRY_RANDOM_PHILOX, &graph->generator), GANTRY_OK);
    assert_int_equal(gantry_function_trace(runtime, "called", random_called, NULL, &vector, 1, 2,
                                           NULL, &graph->called),
                     GANTRY_OK);
}

static inline void random_graph_deinit(random_graph_t *graph) {
    for (uint32_t i = 0; i < RANDOM_GRAPH_VARIABLES; ++i)
        gantry_variable_release(graph->variables[i]);
    gantry_generator_release(graph->generator);
    gantry_function_release(graph->called);
}

/* Returns how many nodes were fused; adds those that were computed again. */
static inline uint32_t random_graph_check(gantry_runtime_t *runtime, uint64_t number, bool any_nan,
                                          uint64_t *recomputed) {
    static const char *const devices[] = {NULL, "CPU:0", "GPU:0"};
    const char *device = devices[number % 3];
    random_result_t eager[2][RANDOM_GRAPH_RESULTS];
    random_graph_t graph;
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    random_graph_init(&graph, scope, number, NULL);
    graph.any_nan = any_nan;
    gantry_function_t *function = random_trace(runtime, &graph, 0, true);
    for (uint32_t k = 0; k < 2; ++k)
        random_call(runtime, &graph, function, device, graph.seed + k, eager[k]);
    gantry_function_release(function);
    random_check_passes(runtime, &graph, device, GANTRY_PASS_ALL, eager);
    random_check_passes(runtime, &graph, device, 0, eager);
    for (uint32_t pass = 1; pass < GANTRY_PASS_ALL; pass <<= 1)
        random_check_passes(runtime, &graph, device, GANTRY_PASS_ALL & ~pass, eager);
    random_check_order(runtime, &graph, device, GANTRY_PASS_ALL, eager);
    random_check_order(runtime, &graph, device, 0, eager);
    random_check_open(runtime, &graph, device, GANTRY_PASS_ALL);
    random_check_open(runtime, &graph, device, 0);
    *recomputed += graph.recomputed;
    for (uint32_t k = 0; k < 2; ++k) random_free(eager[k]);
    random_graph_deinit(&graph);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return graph.fused;
}

/* How many nodes of the graph are fused rows. */
static inline uint32_t random_count_rows(gantry_runtime_t *runtime, random_graph_t *graph) {
    gantry_function_t *function = random_trace(runtime, graph, 0, false);
    uint32_t count = 0;
    for (size_t i = 0; i < planned(function)->graph.node_count; ++i)
        count += planned(function)->graph.nodes[i].op->id == GANTRY__OP_ID__FusedRows;
    gantry_function_release(function);
    return count;
}

/* The bytes of intermediate values that a call of the graph takes. */
static inline uint64_t random_planned_bytes(gantry_runtime_t *runtime, random_graph_t *graph,
                                            uint32_t passes_off) {
    gantry_function_t *function = random_trace(runtime, graph, passes_off, false);
    const gantry__schedule_t *schedule = &planned(function)->schedule;
    uint64_t bytes = 0;
    for (size_t i = 0; i < schedule->arena_count; ++i) bytes += schedule->arenas[i].bytes;
    gantry_function_release(function);
    return bytes;
}

#endif
