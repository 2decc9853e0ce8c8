/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a trace: passes over its graph, then a schedule. A function with a memory budget gets the
 * first plan within it: in the body's order, in one that takes less, or with cheap nodes computed
 * again. Without one, specializations.c makes the trace once more, without the layout pass. */
#include <stdio.h>

#include "device/logical_device.h"
#include "function/call/function.h"
#include "function/pass/pass.h"
#include "function/place/place_graph.h"
#include "run/dispatch.h"

#define MOST_ROUNDS 8 /* of recomputing, for a memory budget */

/* The bytes that a call takes on the device that needs most. */
typedef struct needed_bytes_t {
    uint64_t first, best;
    uint32_t recomputed; /* nodes */
    const gantry_logical_device_t *device;
} needed_bytes_t;

static gantry_status_t fail_budget(const gantry_function_t *function,
                                   const needed_bytes_t *needed) {
    char again[64] = "";
    if (needed->recomputed > 0 && needed->best < needed->first)
        (void)snprintf(again, sizeof again, ", with %u node%s computed again", needed->recomputed,
                       needed->recomputed == 1 ? "" : "s");
    return gantry__fail(
        GANTRY_RESOURCE_EXHAUSTED,
        "a call takes %llu bytes on %s in the body's order, and %llu in the best order that was found%s; memory_budget_bytes is %llu",
        (unsigned long long)needed->first, needed->device->full_name,
        (unsigned long long)needed->best, again, (unsigned long long)function->memory_budget_bytes);
}

/* Every plan is made after initialisation, which freezes the runtime's number. */
static gantry_status_t specialization_schedule(const gantry_function_t *function,
                                               gantry__specialization_t *specialization) {
    const int32_t own = function->inter_op_threads;
    return gantry__schedule_init(&specialization->schedule, function->runtime,
                                 &specialization->graph,
                                 own ? own : atomic_load(&function->runtime->threads.between_ops));
}

static gantry_status_t plan_again(const gantry_function_t *function,
                                  gantry__specialization_t *specialization,
                                  needed_bytes_t *needed) {
    gantry__schedule_deinit(&specialization->schedule);
    GANTRY__TRY(specialization_schedule(function, specialization));
    return gantry__schedule_most_bytes(&specialization->schedule, &needed->best, &needed->device);
}

/* Orders the nodes: the better one of the pass's order and the body's. */
static gantry_status_t order_nodes(const gantry_function_t *function,
                                   gantry__specialization_t *specialization,
                                   needed_bytes_t *needed) {
    gantry__graph_t *graph = &specialization->graph;
    const size_t count = graph->node_count, bytes = (count + 1) * sizeof(uint32_t);
    uint32_t *places = gantry__heap_zalloc(graph->heap, bytes);
    if (!places) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry__pass_order(graph, places);
    if (status == GANTRY_OK) status = plan_again(function, specialization, needed);
    if (status == GANTRY_OK && needed->best > needed->first) {
        status = gantry__graph_rebuild(graph, places, count);
        if (status == GANTRY_OK) status = plan_again(function, specialization, needed);
    }
    gantry__heap_free(graph->heap, places, bytes);
    return status;
}

/* The pass does not know what blocks and devices add: each round requests what is still missing.
 * All rounds together make at most as many nodes again as there are. */
static gantry_status_t recompute_nodes(const gantry_function_t *function,
                                       gantry__specialization_t *specialization,
                                       needed_bytes_t *needed) {
    const size_t most_nodes = 2 * specialization->graph.node_count + 1;
    for (int round = 0; round < MOST_ROUNDS && needed->best > function->memory_budget_bytes;
         ++round) {
        uint32_t made;
        GANTRY__TRY(gantry__pass_recompute(&specialization->graph,
                                           needed->best - function->memory_budget_bytes, most_nodes,
                                           &made));
        if (made == 0) return GANTRY_OK;
        needed->recomputed += made;
        GANTRY__TRY(plan_again(function, specialization, needed));
    }
    return GANTRY_OK;
}

static gantry_status_t plan_specialization(const gantry_function_t *function,
                                           gantry__specialization_t *specialization) {
    const uint64_t budget = function->memory_budget_bytes;
    needed_bytes_t needed = {0};
    GANTRY__TRY(specialization_schedule(function, specialization));
    if (budget == 0) return GANTRY_OK;
    GANTRY__TRY(
        gantry__schedule_most_bytes(&specialization->schedule, &needed.first, &needed.device));
    if (needed.first <= budget) return GANTRY_OK;
    GANTRY__TRY(order_nodes(function, specialization, &needed));
    if (needed.best > budget) GANTRY__TRY(recompute_nodes(function, specialization, &needed));
    if (needed.best <= budget) return GANTRY_OK;
    specialization->bytes_over_budget = needed.best;
    return fail_budget(function, &needed);
}

gantry_status_t gantry__specialization_plan(const gantry_function_t *function,
                                            gantry__specialization_t *specialization) {
    GANTRY__TRY(gantry__passes_run(function->runtime, &specialization->graph));
    GANTRY__TRY(plan_specialization(function, specialization));
    atomic_store_explicit(&specialization->is_planned, true, memory_order_release);
    return GANTRY_OK;
}

bool gantry__specialization_may_wait(const gantry_function_t *function,
                                     const gantry__specialization_t *specialization) {
    gantry_runtime_t *runtime = function->runtime;
    const gantry__graph_place_t request = {
        .graph = &specialization->graph,
        .rules = gantry__dispatch_request(runtime, NULL, NULL, NULL, NULL,
                                          specialization->graph.is_batch_invariant),
        .plans = &runtime->plans};
    const bool is_read = atomic_load_explicit(&runtime->log_placement, memory_order_relaxed) ||
                         atomic_load_explicit(&runtime->has_callback, memory_order_relaxed) ||
                         atomic_load_explicit(&runtime->placement_mode, memory_order_relaxed) ==
                             GANTRY_PLACEMENT_WARN_ONCE;
    return !is_read && function->memory_budget_bytes == 0 && gantry__place_is_sure(&request);
}
