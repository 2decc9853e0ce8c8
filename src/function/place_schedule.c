/* SPDX-License-Identifier: Apache-2.0 */
/* The placement of a schedule: the placer with the settings of its runtime, then a record for each
 * node, and a line in TensorFlow's form if placements are logged:
 *
 *     mul: (Mul): /job:localhost/replica:0/task:0/device:GPU:0 */
#include "function/schedule.h"

#include "device/device_open.h"
#include "device/logical_device.h"
#include "function/place_parts.h"
#include "run/dispatch.h"

static gantry_status_t make_wish(void *owner, const gantry__device_reference_t *reference,
                                 const gantry__wish_t **out_wish) {
    return gantry__runtime_wish(owner, reference, out_wish);
}

static bool is_logged(const gantry_runtime_t *runtime) {
    return atomic_load_explicit(&runtime->log_placement, memory_order_relaxed) != 0;
}

static void tell_apart(void *owner, const char *text) {
    gantry_runtime_t *runtime = owner;
    if (is_logged(runtime))
        gantry__log(&runtime->log, GANTRY_LEVEL_INFO, "Ignoring a colocation: %s", text);
}

/* The plan that stands in the record: the placer's, or, of a node that it did not ask about, one
 * for the node's device and reason. NULL: none. */
static gantry__kept_plan_t *plan_of(const gantry__graph_place_t *request, uint32_t index,
                                    const gantry__node_place_t *place) {
    const gantry__node_t *node = &request->graph->nodes[index];
    const gantry__node_ask_t ask = {
        .wish = node->wish, .pinned = place->home, .pin_reason = place->reason};
    if (place->kept) return place->kept;
    return place->home && node->kind != GANTRY__NODE_INPUT ? gantry__node_plan(request, index, &ask)
                                                           : NULL;
}

static void record_node(gantry_runtime_t *runtime, const gantry__graph_place_t *request,
                        uint32_t index, const gantry__node_place_t *place) {
    const gantry__node_t *node = &request->graph->nodes[index];
    if (is_logged(runtime) && place->home)
        gantry__log(&runtime->log, GANTRY_LEVEL_INFO, "%s: (%s): %s", node->name,
                    node->kind == GANTRY__NODE_INPUT ? "_Arg" : node->op->name,
                    place->home->full_name);
    gantry__kept_plan_t *kept = plan_of(request, index, place);
    if (kept) (void)gantry__dispatch_record(runtime, kept, node->part_of, 0);
}

gantry_status_t gantry__schedule_place(gantry__schedule_t *schedule) {
    gantry_runtime_t *runtime = schedule->runtime;
    const gantry__graph_place_t request = {
        .graph = schedule->graph,
        .rules = gantry__dispatch_request(runtime, NULL, NULL, NULL, NULL),
        .plans = &runtime->plans,
        .make_wish = make_wish,
        .tell = tell_apart,
        .owner = runtime};
    GANTRY__TRY(gantry__place_graph(&request, schedule->places));
    for (uint32_t i = 0; i < schedule->graph->node_count; ++i)
        record_node(runtime, &request, i, &schedule->places[i]);
    return GANTRY_OK;
}
