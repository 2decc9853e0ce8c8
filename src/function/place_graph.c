/* SPDX-License-Identifier: Apache-2.0 */
/* Places the nodes of a graph by the rules of the eager placer, with what only a graph knows:
 *
 *   arguments and constants   live wherever they are used; each device gets a copy
 *   variables                 reads and assignments run at the variable's home
 *   aliases                   without a request: where their input is, since they move nothing
 *   sources                   an op without inputs and without a request follows its consumers, if
 *                             they are all on one device that has a kernel
 *   other ops                 as if they were called by themselves
 *
 * One pass in program order, and one back for the sources: linear in the number of nodes. */
#include "function/schedule.h"

#include "device/device_open.h"
#include "device/logical_device.h"
#include "run/dispatch.h"
#include "run/variable_state.h"

/* ---- a call, described without memory, for a kernel's supports() ---- */

typedef struct described_call_t {
    gantry_op_call_t abi;
    gantry_arg_t args[GANTRY__MAX_INPUTS + GANTRY__MAX_OUTPUTS];
    const gantry_arg_t *inputs[GANTRY__MAX_INPUTS];
    gantry_arg_t *outputs[GANTRY__MAX_OUTPUTS];
    const gantry_attr_t *attrs[GANTRY__MAX_ATTRS];
} described_call_t;

static void describe_arg(const gantry__value_t *value, gantry_arg_t *arg) {
    *arg = (gantry_arg_t){.struct_size = sizeof *arg,
                          .dtype = (int32_t)value->dtype,
                          .rank = value->shape.rank,
                          .dims = value->shape.dims,
                          .element_count = value->elements};
}

static void describe(const gantry__graph_t *graph, const gantry__node_t *node,
                     described_call_t *call) {
    gantry_arg_t *arg = call->args;
    call->abi = (gantry_op_call_t){.struct_size = sizeof call->abi,
                                   .input_count = node->input_count,
                                   .output_count = node->output_count,
                                   .attr_count = node->op->attr_count,
                                   .inputs = call->inputs,
                                   .outputs = call->outputs,
                                   .attrs = call->attrs,
                                   .op = node->op->name};
    for (uint32_t i = 0; i < node->input_count; ++i, ++arg) {
        describe_arg(&graph->values[node->inputs[i]], arg);
        call->inputs[i] = arg;
    }
    for (uint32_t i = 0; i < node->output_count; ++i, ++arg) {
        describe_arg(&graph->values[node->first_output + i], arg);
        call->outputs[i] = arg;
    }
    for (uint32_t i = 0; i < node->op->attr_count; ++i) call->attrs[i] = &node->attrs[i];
}

/* ---- one op ---- */

static bool choose_kernel(described_call_t *call, gantry__node_place_t *place) {
    const gantry__plan_t *plan = &place->kept->plan;
    const gantry_logical_device_t *device = place->device;
    call->abi.device = device->handle;
    call->abi.device_info = &device->info;
    call->abi.stream = device->streams[GANTRY_STREAM_COMPUTE].handle;
    for (place->choice = 0; place->choice < plan->kernel_count; ++place->choice) {
        const gantry_kernel_def_t *def = plan->kernels[place->choice]->def;
        call->abi.kernel = def;
        if (!def->supports || def->supports(&call->abi)) return true;
    }
    return false;
}

/* As the eager path does: first without the shapes, since such a plan is kept for all calls. */
static gantry_status_t place_op(gantry__schedule_t *schedule, const gantry__node_t *node,
                                const gantry_logical_device_t *pinned,
                                gantry__node_place_t *place) {
    described_call_t call;
    gantry__place_request_t request =
        gantry__dispatch_request(schedule->runtime, node->op, node->attrs, node->wish, pinned);
    for (;;) {
        GANTRY__TRY(gantry__dispatch_plan(schedule->runtime, &request, &place->kept));
        place->device = place->kept->plan.device;
        place->reason = place->kept->plan.reason;
        GANTRY__TRY(gantry__logical_device_open(place->device));
        if (place->kept->plan.view != gantry__logical_view(place->device)) continue;
        if (place->kept->plan.kernel_count == 1 && !place->kept->plan.kernels[0]->def->supports) {
            place->choice = 0;
            return GANTRY_OK;
        }
        describe(schedule->graph, node, &call);
        if (choose_kernel(&call, place)) return GANTRY_OK;
        if (request.call)
            return gantry__fail(GANTRY_INTERNAL,
                                "op %s: the kernels of %s accepted this call and now decline it",
                                node->op->name, place->device->name);
        request.call = &call.abi;
    }
}

static gantry_status_t place_fail(const gantry__node_t *node, gantry_status_t status) {
    return gantry__fail_prefix(status, "Cannot assign a device for operation %s: ", node->name);
}

/* ---- the rules of a graph ---- */

static void follow_input(const gantry__schedule_t *schedule, const gantry__node_t *node,
                         gantry__node_place_t *place) {
    place->device = schedule->places[schedule->graph->values[node->inputs[0]].node].device;
    place->reason = GANTRY_PLACED_WITH_INPUT;
}

static bool is_alias(const gantry__node_t *node) {
    return node->kind == GANTRY__NODE_OP && (node->op->flags & GANTRY__OP_ALIAS) != 0;
}

/* A branch or a loop puts its results where its last body makes the first one. */
static gantry_status_t place_block(gantry__schedule_t *schedule, uint32_t index,
                                   gantry__node_place_t *place) {
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
    const gantry__schedule_t *last = &block->bodies[node->body_count - 1];
    if (node->output_count > 0) place->device = last->slots[last->outputs[0]].device;
    if (!place->device) place->device = schedule->runtime->host;
    place->reason = GANTRY_PLACED_WITH_BODY;
    return GANTRY_OK;
}

static gantry_status_t place_node(gantry__schedule_t *schedule, uint32_t index) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    gantry__node_place_t *place = &schedule->places[index];
    const bool is_asked = node->wish && !node->wish->is_empty;
    gantry_status_t status = GANTRY_OK;
    if (node->kind == GANTRY__NODE_READ || node->kind == GANTRY__NODE_ASSIGN) {
        place->device = gantry__variable_home(node->variable);
        place->reason = GANTRY_PLACED_WITH_VARIABLE;
    } else if (node->kind == GANTRY__NODE_DRAW) {
        place->device = schedule->runtime->host; /* the stream's position is the host's */
        place->reason = GANTRY_PLACED_WITH_VARIABLE;
    } else if (node->body_count > 0) {
        status = place_block(schedule, index, place);
    } else if (node->kind != GANTRY__NODE_OP) {
        place->reason = GANTRY_PLACED_WITH_CONSUMER;
    } else if (is_alias(node) && !is_asked) {
        follow_input(schedule, node, place);
    } else {
        status = place_op(schedule, node, NULL, place);
    }
    return status == GANTRY_OK ? GANTRY_OK : place_fail(node, status);
}

/* The one device of a value's consumers so far: `device`, then `several`. */
typedef struct consumers_t {
    gantry_logical_device_t *device;
    bool is_several;
} consumers_t;

static void add_consumer(consumers_t *consumers, gantry_logical_device_t *device) {
    if (consumers->device && consumers->device != device) consumers->is_several = true;
    consumers->device = device;
}

static bool only_reads_constants(const gantry__graph_t *graph, const gantry__node_t *node) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (graph->nodes[graph->values[node->inputs[i]].node].kind != GANTRY__NODE_CONST)
            return false;
    }
    return node->output_count == 1;
}

/* A source of constants alone goes where it is used, if that device takes it. */
static gantry_status_t follow_consumer(gantry__schedule_t *schedule, uint32_t index,
                                       const consumers_t *consumers) {
    const gantry__node_t *node = &schedule->graph->nodes[index];
    gantry__node_place_t *place = &schedule->places[index], there = *place;
    if (node->kind != GANTRY__NODE_OP || is_alias(node) || !consumers->device ||
        consumers->is_several || consumers->device == place->device ||
        (node->wish && !node->wish->is_empty) || !only_reads_constants(schedule->graph, node))
        return GANTRY_OK;
    const uint32_t before = gantry__failures();
    gantry_status_t status = place_op(schedule, node, consumers->device, &there);
    if (status == GANTRY_OK) {
        *place = there;
        place->reason = GANTRY_PLACED_WITH_CONSUMER;
    }
    gantry__forget_since(before);
    return status == GANTRY_RESOURCE_EXHAUSTED ? status : GANTRY_OK;
}

static gantry_status_t place_sources(gantry__schedule_t *schedule) {
    const gantry__graph_t *graph = schedule->graph;
    consumers_t *consumers =
        gantry__heap_zalloc(graph->heap, (graph->node_count + 1) * sizeof *consumers);
    if (!consumers) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = GANTRY_OK;
    for (size_t i = graph->node_count; i-- > 0 && status == GANTRY_OK;) {
        const gantry__node_t *node = &graph->nodes[i];
        status = follow_consumer(schedule, (uint32_t)i, &consumers[i]);
        for (uint32_t k = 0; k < node->input_count; ++k)
            add_consumer(&consumers[graph->values[node->inputs[k]].node],
                         schedule->places[i].device);
    }
    gantry__heap_free(graph->heap, consumers, (graph->node_count + 1) * sizeof *consumers);
    return status;
}

gantry_status_t gantry__schedule_place(gantry__schedule_t *schedule) {
    const gantry__graph_t *graph = schedule->graph;
    for (size_t i = 0; i < graph->node_count; ++i) GANTRY__TRY(place_node(schedule, (uint32_t)i));
    return place_sources(schedule);
}
