/* SPDX-License-Identifier: Apache-2.0 */
/* The placement of a schedule: the placer with the settings of its runtime, then a record for each
 * node, and a line in TensorFlow's form if placements are logged:
 *
 *     mul: (Mul): /job:localhost/replica:0/task:0/device:GPU:0 */
#include "function/schedule/schedule.h"

#include "device/device_open.h"
#include "device/logical_device.h"
#include "function/place/place_parts.h"
#include "run/dispatch.h"

static gantry_status_t make_wish(void *owner, const gantry__device_reference_t *reference,
                                 const gantry__wish_t **out_wish) {
    const gantry__schedule_t *schedule = owner;
    return gantry__runtime_wish(schedule->runtime, reference, out_wish);
}

static bool is_logged(const gantry_runtime_t *runtime) {
    return atomic_load_explicit(&runtime->log_placement, memory_order_relaxed) != 0;
}

static void tell_apart(void *owner, const char *text) {
    const gantry__schedule_t *schedule = owner;
    gantry_runtime_t *runtime = schedule->runtime;
    if (is_logged(runtime))
        gantry__log_asked(&runtime->log, GANTRY_LEVEL_INFO, "Ignoring a colocation: %s", text);
}

/* The device of the first result that a body of a branch, or of a loop, has on one: of the last
 * body first. A body that only hands an argument on has none. */
static gantry_logical_device_t *device_of_results(const gantry__node_t *node,
                                                  const gantry__block_t *block) {
    const uint32_t first = node->kind == GANTRY__NODE_WHILE ? 1 : 0;
    for (uint32_t b = node->body_count; b-- > first;) {
        const gantry__schedule_t *body = &block->bodies[b];
        for (uint32_t i = 0; i < node->output_count; ++i) {
            if (body->slots[body->outputs[i]].device) return body->slots[body->outputs[i]].device;
        }
    }
    return NULL;
}

/* A branch or a loop puts its results where a body makes one. */
static gantry_status_t place_bodies(void *owner, uint32_t index, gantry__node_place_t *place) {
    gantry__schedule_t *schedule = owner;
    const gantry__node_t *node = &schedule->graph->nodes[index];
    const gantry__heap_t *heap = schedule->graph->heap;
    if (!gantry__heap_grow(heap, &schedule->blocks, schedule->block_count,
                           &schedule->block_capacity, sizeof *schedule->blocks))
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry__block_t *block = &schedule->blocks[schedule->block_count++];
    *block = (gantry__block_t){
        .node = index,
        .bodies = gantry__arena_zalloc(&schedule->memory, node->body_count, sizeof *block->bodies)};
    if (!block->bodies) return GANTRY_RESOURCE_EXHAUSTED;
    for (; block->body_count < node->body_count; ++block->body_count)
        GANTRY__TRY(gantry__schedule_init(&block->bodies[block->body_count], schedule->runtime,
                                          &node->bodies[block->body_count].graph, -1));
    place->device = device_of_results(node, block);
    if (!place->device) place->device = schedule->runtime->host;
    place->home = place->device;
    place->reason = GANTRY_PLACED_WITH_BODY;
    return GANTRY_OK;
}

/* The plan that the record gets: the placer's, or, for a node without one, one for the node's
 * device and reason. NULL: none. */
static gantry__kept_plan_t *plan_of(const gantry__graph_place_t *request, uint32_t index,
                                    const gantry__node_place_t *place) {
    const gantry__node_t *node = &request->graph->nodes[index];
    const gantry__node_ask_t ask = {
        .wish = node->wish, .pinned = place->home, .pin_reason = place->reason};
    if (place->kept) return place->kept;
    if (!place->home || node->kind == GANTRY__NODE_INPUT || node->body_count > 0) return NULL;
    return gantry__node_plan(request, index, &ask);
}

static void log_place(gantry_runtime_t *runtime, const char *name, const char *op,
                      const gantry__node_place_t *place) {
    if (place->other) {
        gantry__log_asked(&runtime->log, GANTRY_LEVEL_INFO,
                          "%s: (%s): %s (cheaper by measured cost: %.2f us against %.2f us on %s)",
                          name, op, place->home->full_name, 1e-3 * place->cost_ns,
                          1e-3 * place->other_cost_ns, place->other->name);
    } else {
        gantry__log_asked(&runtime->log, GANTRY_LEVEL_INFO, "%s: (%s): %s", name, op,
                          place->home->full_name);
    }
}

/* A fused node has a line for each node that the body has. */
static void log_node(gantry_runtime_t *runtime, const gantry__node_t *node,
                     const gantry__node_place_t *place) {
    const char *op = node->kind == GANTRY__NODE_INPUT ? "_Arg" : node->op->name;
    if (!is_logged(runtime) || !place->home) return;
    if (node->fused_count == 0) log_place(runtime, node->name, op, place);
    for (uint32_t i = 0; i < node->fused_count; ++i)
        log_place(runtime, node->fused[i], node->fused_ops[i]->name, place);
}

static void record_node(gantry_runtime_t *runtime, const gantry__graph_place_t *request,
                        uint32_t index, const gantry__node_place_t *place) {
    const gantry__node_t *node = &request->graph->nodes[index];
    log_node(runtime, node, place);
    gantry__kept_plan_t *kept = plan_of(request, index, place);
    const gantry__placed_costs_t costs = {(uint64_t)place->cost_ns, (uint64_t)place->other_cost_ns};
    if (kept && kept->plan.device)
        (void)gantry__dispatch_record(runtime, kept, node->part_of, 0, costs);
}

gantry_status_t gantry__schedule_place(gantry__schedule_t *schedule) {
    gantry_runtime_t *runtime = schedule->runtime;
    const gantry__graph_place_t request = {
        .graph = schedule->graph,
        .rules = gantry__dispatch_request(runtime, NULL, NULL, NULL, NULL,
                                          schedule->graph->is_batch_invariant),
        .plans = &runtime->plans,
        /* costs depend on the batch, and devices multiply with different bits */
        .costs = schedule->graph->is_batch_invariant ? NULL : runtime->costs,
        .make_wish = make_wish,
        .tell = tell_apart,
        .place_bodies = place_bodies,
        .owner = schedule};
    GANTRY__TRY(gantry__place_graph(&request, schedule->places));
    for (uint32_t i = 0; i < schedule->graph->node_count; ++i)
        record_node(runtime, &request, i, &schedule->places[i]);
    return GANTRY_OK;
}
