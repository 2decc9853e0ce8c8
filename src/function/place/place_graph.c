/* SPDX-License-Identifier: Apache-2.0 */
/* Places the nodes of a graph by the rules of the eager placer (place/placer.c), with what only a
 * graph knows:
 *
 *   arguments and constants   live wherever they are used; each device gets a copy. A constant's
 *                             request decides which device is named
 *   variables                 reads and assignments run at the variable's home
 *   colocated nodes           share one device (place_groups.c)
 *   aliases                   without a request: where their input is, because they move nothing
 *   sources                   an op of only constants, without a request, follows its consumers if
 *                             they are all on one device that has a kernel
 *   branches, loops           where the result of the last body is
 *   ops that run at once      as if they were called by themselves, before their shapes are known
 *   other ops                 as if they were called by themselves; with option crossover, where
 *                             they cost least (place_crossover.c)
 *
 * One pass in program order, one back for the sources, and one for the aliases of sources that
 * moved: linear in the number of nodes. Ops on shapes need no rule: a trace knows all shapes, and
 * Shape, Size and Rank are constants. */
#include "function/place/place_graph.h"

#include "device/device_open.h"
#include "device/device_table.h"
#include "device/logical_device.h"
#include "device/loss.h"

typedef struct placing_t {
    const gantry__graph_place_t *request;
    const gantry__graph_t *graph;
    gantry__place_groups_t groups;
    gantry__node_place_t *places;
} placing_t;

/* ---- one pass forward ---- */

static bool follows_input(const placing_t *placing, uint32_t index) {
    const gantry__node_t *node = &placing->graph->nodes[index];
    return gantry__node_is_alias(node) && !gantry__node_is_asked(node) &&
           placing->places[index].decided_by == 0;
}

static void follow_input(const placing_t *placing, uint32_t index) {
    const gantry__node_t *node = &placing->graph->nodes[index];
    gantry__node_place_t *place = &placing->places[index];
    place->device = placing->places[placing->graph->values[node->inputs[0]].node].device;
    place->home = place->device;
    place->reason = GANTRY_PLACED_WITH_INPUT;
}

static gantry_status_t place_variable_node(const placing_t *placing, uint32_t index) {
    const gantry__node_t *node = &placing->graph->nodes[index];
    gantry__node_place_t *place = &placing->places[index];
    place->device = place->home = node->home;
    place->reason = GANTRY_PLACED_WITH_VARIABLE;
    return gantry__device_is_lost(node->home) ? gantry__loss_fail(node->home) : GANTRY_OK;
}

static gantry_status_t place_single(const placing_t *placing, uint32_t index) {
    const gantry__node_t *node = &placing->graph->nodes[index];
    const gantry__node_ask_t ask = {.wish = node->wish};
    const gantry__kept_plan_t *refused = NULL;
    gantry_status_t status =
        gantry__place_op(placing->request, index, &ask, &placing->places[index], &refused);
    if (status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED) return status;
    return gantry__place_refuse(placing->request, index, &ask, refused, NULL, status);
}

/* A constant is kept where it was requested, and is on every device that uses it. */
static gantry_status_t place_constant(const placing_t *placing, uint32_t index) {
    const gantry__node_t *node = &placing->graph->nodes[index];
    const gantry__node_ask_t ask = {.wish = node->wish};
    gantry__node_place_t *place = &placing->places[index];
    place->kept = gantry__node_plan(placing->request, index, &ask);
    if (!place->kept)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "out of host memory for the plan of %s",
                            node->name);
    if (!place->kept->plan.device)
        return gantry__place_refuse(placing->request, index, &ask, place->kept, NULL,
                                    GANTRY_INVALID_ARGUMENT);
    place->home = place->kept->plan.device;
    place->reason = place->kept->plan.reason;
    return GANTRY_OK;
}

/* A colocated one goes where its group is; if it cannot, it stays apart under soft placement. */
static gantry_status_t place_eager(const placing_t *placing, uint32_t index) {
    const gantry__node_t *node = &placing->graph->nodes[index];
    gantry__node_place_t *place = &placing->places[index];
    const gantry__node_ask_t ask = {
        .wish = node->wish, .pinned = place->home, .pin_reason = GANTRY_PLACED_COLOCATED};
    const uint32_t before = gantry__failures();
    if (place->decided_by == 0 || !place->home) return place_single(placing, index);
    gantry_status_t status = gantry__place_op(placing->request, index, &ask, place, NULL);
    if (status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED || !placing->request->rules.soft)
        return status;
    gantry__forget_since(before);
    place->decided_by = 0;
    place->is_apart = true;
    return place_single(placing, index);
}

static gantry_status_t place_node(placing_t *placing, uint32_t index) {
    const gantry__node_t *node = &placing->graph->nodes[index];
    gantry__node_place_t *place = &placing->places[index];
    if (gantry__place_groups_has(&placing->groups, index) && place->decided_by == 0)
        GANTRY__TRY(gantry__place_groups_place(&placing->groups, index, placing->places));
    if (node->home) return place_variable_node(placing, index);
    if (node->kind == GANTRY__NODE_CONST && gantry__node_is_asked(node))
        return place_constant(placing, index);
    if (node->body_count > 0)
        return placing->request->place_bodies(placing->request->owner, index, place);
    if (node->kind == GANTRY__NODE_EAGER) return place_eager(placing, index);
    if (node->kind != GANTRY__NODE_OP) {
        place->reason = GANTRY_PLACED_WITH_CONSUMER;
        return GANTRY_OK;
    }
    if (place->decided_by > 0) return GANTRY_OK;
    if (!follows_input(placing, index)) return place_single(placing, index);
    follow_input(placing, index);
    return GANTRY_OK;
}

static gantry_status_t name_node(const placing_t *placing, uint32_t index, gantry_status_t status) {
    return gantry__fail_prefix(
        status, "Cannot assign a device for operation %s: ", placing->graph->nodes[index].name);
}

static gantry_status_t place_forward(placing_t *placing) {
    for (uint32_t i = 0; i < placing->graph->node_count; ++i) {
        gantry_status_t status = place_node(placing, i);
        if (status != GANTRY_OK) return name_node(placing, i, status);
    }
    return GANTRY_OK;
}

/* ---- one pass back: sources, arguments, constants ---- */

/* The devices of a node's consumers: the first in program order, and whether there are others. */
typedef struct consumers_t {
    gantry_logical_device_t *device;
    bool is_several;
} consumers_t;

static void add_consumer(consumers_t *consumers, gantry_logical_device_t *device) {
    if (!device) return;
    if (consumers->device && consumers->device != device) consumers->is_several = true;
    consumers->device = device;
}

static bool is_source(const placing_t *placing, uint32_t index) {
    const gantry__graph_t *graph = placing->graph;
    const gantry__node_t *node = &graph->nodes[index];
    if (node->kind != GANTRY__NODE_OP || gantry__node_is_alias(node) ||
        gantry__node_is_asked(node) || gantry__place_groups_has(&placing->groups, index) ||
        node->output_count != 1)
        return false;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (graph->nodes[graph->values[node->inputs[i]].node].kind != GANTRY__NODE_CONST)
            return false;
    }
    return true;
}

/* A source goes where it is used, if that device takes it. */
static gantry_status_t follow_consumer(const placing_t *placing, uint32_t index,
                                       gantry_logical_device_t *device, bool *out_moved) {
    const gantry__node_ask_t ask = {.pinned = device, .pin_reason = GANTRY_PLACED_WITH_CONSUMER};
    gantry__node_place_t there = {.is_apart = placing->places[index].is_apart};
    bool fits;
    GANTRY__TRY(gantry__node_fits(placing->request, index, device, &fits));
    if (!fits) return GANTRY_OK;
    const uint32_t before = gantry__failures();
    gantry_status_t status = gantry__place_op(placing->request, index, &ask, &there, NULL);
    if (status == GANTRY_RESOURCE_EXHAUSTED) return status;
    gantry__forget_since(before);
    if (status != GANTRY_OK) return GANTRY_OK;
    placing->places[index] = there;
    *out_moved = true;
    return GANTRY_OK;
}

static gantry_status_t place_back(const placing_t *placing, uint32_t index, consumers_t *consumers,
                                  bool *out_moved) {
    const gantry__node_t *node = &placing->graph->nodes[index];
    gantry__node_place_t *place = &placing->places[index];
    const consumers_t *own = &consumers[index];
    if (own->device && !own->is_several && own->device != place->device &&
        is_source(placing, index))
        GANTRY__TRY(follow_consumer(placing, index, own->device, out_moved));
    if (!place->home) place->home = own->device;
    const bool passes_on = follows_input(placing, index);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        consumers_t *of_input = &consumers[placing->graph->values[node->inputs[i]].node];
        add_consumer(of_input, passes_on ? own->device : place->device);
        if (passes_on) of_input->is_several |= own->is_several;
    }
    return GANTRY_OK;
}

static gantry_status_t place_sources(const placing_t *placing) {
    const size_t count = placing->graph->node_count;
    const gantry__heap_t *heap = placing->graph->heap;
    consumers_t *consumers = gantry__heap_zalloc(heap, (count + 1) * sizeof *consumers);
    if (!consumers) return GANTRY_RESOURCE_EXHAUSTED;
    bool has_moved = false;
    gantry_status_t status = GANTRY_OK;
    for (size_t i = count; i-- > 0 && status == GANTRY_OK;)
        status = place_back(placing, (uint32_t)i, consumers, &has_moved);
    gantry__heap_free(heap, consumers, (count + 1) * sizeof *consumers);
    for (uint32_t i = 0; has_moved && i < count; ++i) {
        if (follows_input(placing, i) && placing->places[i].device) follow_input(placing, i);
    }
    return status;
}

/* ---- all ---- */

static gantry_status_t place_crossed_over(const placing_t *placing) {
    GANTRY__TRY(gantry__place_crossover(placing->request, &placing->groups, placing->places));
    for (uint32_t i = 0; i < placing->graph->node_count; ++i) {
        if (follows_input(placing, i)) follow_input(placing, i);
    }
    return GANTRY_OK;
}

static gantry_status_t place_all(placing_t *placing) {
    if (placing->request->rules.devices->logical_count == 0)
        return gantry__fail(GANTRY_FAILED_PRECONDITION, "No devices are registered");
    GANTRY__TRY(gantry__place_groups_init(&placing->groups, placing->request, placing->places));
    GANTRY__TRY(place_forward(placing));
    if (placing->request->costs) GANTRY__TRY(place_crossed_over(placing));
    return place_sources(placing);
}

gantry_status_t gantry__place_graph(const gantry__graph_place_t *request,
                                    gantry__node_place_t *places) {
    placing_t placing = {.request = request, .graph = request->graph, .places = places};
    gantry_status_t status = place_all(&placing);
    gantry__place_groups_deinit(&placing.groups);
    return status;
}

static gantry_status_t check_constants(const placing_t *placing, const bool *is_needed) {
    for (uint32_t i = 0; i < placing->graph->node_count; ++i) {
        const gantry__node_t *node = &placing->graph->nodes[i];
        if (!is_needed[i] || node->kind != GANTRY__NODE_CONST || !gantry__node_is_asked(node))
            continue;
        gantry_status_t status = place_constant(placing, i);
        if (status != GANTRY_OK) return name_node(placing, i, status);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__place_check_constants(const gantry__graph_place_t *request) {
    const gantry__graph_t *graph = request->graph;
    const size_t count = graph->node_count + 1;
    placing_t placing = {.request = request, .graph = graph};
    if (request->rules.soft && !request->rules.require) return GANTRY_OK; /* some device has it */
    bool *is_needed = gantry__heap_zalloc(graph->heap, count);
    placing.places = gantry__heap_zalloc(graph->heap, count * sizeof *placing.places);
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    if (is_needed && placing.places) {
        gantry__graph_find_needed(graph, is_needed);
        status = check_constants(&placing, is_needed);
    }
    gantry__heap_free(graph->heap, placing.places, count * sizeof *placing.places);
    gantry__heap_free(graph->heap, is_needed, count);
    return status;
}

/* ---- placement that cannot be refused ---- */

/* Parts of composed ops are placed when they run. */
static bool node_has_device(const gantry__graph_place_t *request, uint32_t index) {
    const gantry__node_t *node = &request->graph->nodes[index];
    const gantry__node_ask_t ask = {.wish = node->wish};
    if (node->kind != GANTRY__NODE_OP && node->kind != GANTRY__NODE_EAGER) return true;
    if (node->op->flags & GANTRY__OP_COMPOSED) return true;
    const gantry__kept_plan_t *kept = gantry__node_plan(request, index, &ask);
    return kept && kept->plan.device;
}

/* Nodes that follow each other often request the same. */
static bool requests_alike(const gantry__node_t *node, const gantry__node_t *before) {
    if (node->kind != GANTRY__NODE_OP || before->kind != GANTRY__NODE_OP ||
        node->op != before->op || node->wish != before->wish)
        return false;
    for (uint32_t i = 0; i < node->op->attr_count; ++i) {
        if (node->attrs[i].kind != GANTRY_ATTR_TYPE) break; /* types come first */
        if (node->attrs[i].i != before->attrs[i].i) return false;
    }
    return true;
}

bool gantry__place_is_sure(const gantry__graph_place_t *request) {
    if (!request->rules.soft || request->rules.require) return false;
    for (uint32_t i = 0; i < request->graph->node_count; ++i) {
        const gantry__node_t *node = &request->graph->nodes[i];
        for (uint32_t k = 0; k < node->body_count; ++k) {
            gantry__graph_place_t inside = *request;
            inside.graph = &node->bodies[k].graph;
            if (!gantry__place_is_sure(&inside)) return false;
        }
        if (i > 0 && requests_alike(node, node - 1)) continue;
        if (!node_has_device(request, i)) return false;
    }
    return true;
}
