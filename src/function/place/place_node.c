/* SPDX-License-Identifier: Apache-2.0 */
/* Places one node of a graph by the rules of the eager placer.
 *
 * The plan without the shapes is requested first, because such a plan is kept, so that it costs a
 * look-up for each node. Only if the best kernel has an opinion about shapes, the call is described
 * to it. */
#include "device/device_open.h"
#include "device/device_table.h"
#include "device/logical_device.h"
#include "function/place/place_parts.h"

bool gantry__node_is_alias(const gantry__node_t *node) {
    return node->kind == GANTRY__NODE_OP && (node->op->flags & GANTRY__OP_ALIAS) != 0;
}

bool gantry__node_is_reshape(const gantry__node_t *node) {
    return gantry__node_is_alias(node) && node->op->id != GANTRY__OP_ID_Bitcast;
}

bool gantry__node_is_asked(const gantry__node_t *node) {
    return node->wish && !node->wish->is_empty;
}

/* ---- a call, described without memory, for a kernel's supports() ---- */

typedef struct described_call_t {
    gantry_op_call_t abi;
    gantry_arg_t args[GANTRY__MAX_INPUTS + GANTRY__MAX_OUTPUTS];
    const gantry_arg_t *inputs[GANTRY__MAX_INPUTS];
    gantry_arg_t *outputs[GANTRY__MAX_OUTPUTS];
    const gantry_attr_t *attrs[GANTRY__MAX_ATTRS];
} described_call_t;

static void place_describe_arg(const gantry__value_t *value, gantry_arg_t *arg) {
    *arg = (gantry_arg_t){.struct_size = sizeof *arg,
                          .dtype = (int32_t)value->dtype,
                          .rank = value->shape.rank,
                          .dims = value->shape.dims,
                          .element_count = value->elements};
}

static void place_describe(const gantry__graph_t *graph, const gantry__node_t *node,
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
        place_describe_arg(&graph->values[node->inputs[i]], arg);
        call->inputs[i] = arg;
    }
    for (uint32_t i = 0; i < node->output_count; ++i, ++arg) {
        place_describe_arg(&graph->values[node->first_output + i], arg);
        call->outputs[i] = arg;
    }
    for (uint32_t i = 0; i < node->op->attr_count; ++i) call->attrs[i] = &node->attrs[i];
}

/* The first kernel of the plan that takes the call. */
static bool place_choose_kernel(described_call_t *call, const gantry__plan_t *plan,
                                uint32_t *out_choice) {
    const gantry_logical_device_t *device = plan->device;
    call->abi.flags = gantry__plan_call_flags(plan);
    call->abi.device = device->handle;
    call->abi.device_info = &device->info;
    call->abi.stream = device->streams[GANTRY_STREAM_COMPUTE].handle;
    for (*out_choice = 0; *out_choice < plan->kernel_count; ++*out_choice) {
        const gantry_kernel_def_t *def = plan->kernels[*out_choice]->def;
        call->abi.kernel = def;
        if (!def->supports || def->supports(&call->abi)) return true;
    }
    return false;
}

static bool has_opinion(const gantry__plan_t *plan) {
    return plan->kernel_count > 0 && plan->kernels[0]->def->supports;
}

/* ---- requests ---- */

static gantry__place_request_t request_for(const gantry__graph_place_t *graph,
                                           const gantry__node_t *node,
                                           const gantry__node_ask_t *ask) {
    gantry__place_request_t request = graph->rules;
    request.op = node->op;
    request.attrs = node->attrs;
    request.wish = ask->wish;
    request.pinned = ask->pinned;
    request.pin_reason = ask->pin_reason;
    request.allowed = ask->allowed;
    request.passed_over = ask->passed_over;
    request.passed_why = ask->passed_why;
    request.any_order = node->marks.any_order;
    return request;
}

/* Constants and variables have no attributes in the graph, but a type. */
static gantry_dtype_t type_of(const gantry__graph_t *graph, const gantry__node_t *node) {
    return graph->values[node->output_count > 0 ? node->first_output : node->inputs[0]].dtype;
}

/* A composed op has no kernels, and its parts are placed when they run. Identity of its first
 * result takes its place. */
static void ask_for_identity(const gantry__graph_t *graph, const gantry__node_t *node,
                             gantry__place_request_t *rules, gantry_attr_t *out_type) {
    rules->op = gantry__op_get(GANTRY__OP_ID_Identity);
    const gantry__op_attr_t *attr = &rules->op->attrs[0];
    *out_type = (gantry_attr_t){.struct_size = sizeof *out_type,
                                .kind = attr->kind,
                                .name = attr->name,
                                .i = (int64_t)type_of(graph, node)};
    rules->attrs = out_type;
}

gantry__kept_plan_t *gantry__node_plan(const gantry__graph_place_t *request, uint32_t node,
                                       const gantry__node_ask_t *ask) {
    const gantry__node_t *of = &request->graph->nodes[node];
    gantry_attr_t attrs[GANTRY__MAX_ATTRS];
    gantry__place_request_t rules = request_for(request, of, ask);
    if (of->kind != GANTRY__NODE_OP && of->kind != GANTRY__NODE_EAGER) {
        for (uint32_t i = 0; i < of->op->attr_count; ++i) {
            const gantry__op_attr_t *attr = &of->op->attrs[i];
            attrs[i] = (gantry_attr_t){
                .struct_size = sizeof attrs[i], .kind = attr->kind, .name = attr->name};
            if (attr->kind == GANTRY_ATTR_TYPE) attrs[i].i = (int64_t)type_of(request->graph, of);
        }
        rules.attrs = attrs;
    }
    return gantry__plan_cache_ask(request->plans, &rules);
}

/* ---- an op ---- */

gantry_status_t gantry__place_op(const gantry__graph_place_t *request, uint32_t node,
                                 const gantry__node_ask_t *ask, gantry__node_place_t *place,
                                 const gantry__kept_plan_t **out_refused) {
    const gantry__node_t *of = &request->graph->nodes[node];
    gantry__place_request_t rules = request_for(request, of, ask);
    const gantry_logical_device_t *declined = NULL;
    const bool is_eager = of->kind == GANTRY__NODE_EAGER;
    described_call_t call;
    gantry_attr_t type;
    if (is_eager && of->op->flags & GANTRY__OP_COMPOSED)
        ask_for_identity(request->graph, of, &rules, &type);
    for (;;) {
        gantry_status_t status = gantry__plan_cache_place(request->plans, &rules, &place->kept);
        if (out_refused) *out_refused = place->kept;
        if (status != GANTRY_OK) place->kept = NULL;
        GANTRY__TRY(status);
        place->device = place->home = place->kept->plan.device;
        if (place->device == declined)
            return gantry__fail(GANTRY_INTERNAL,
                                "op %s: the kernels of %s accepted this call and now decline it",
                                of->op->name, declined->name);
        place->reason = place->kept->plan.reason;
        place->choice = 0;
        GANTRY__TRY(gantry__logical_device_open(place->device));
        if (place->kept->plan.view != gantry__logical_view(place->device)) continue;
        /* of an EAGER node a kernel is chosen in each call, when its shapes are known */
        if (!has_opinion(&place->kept->plan) || is_eager) return GANTRY_OK;
        place_describe(request->graph, of, &call);
        if (place_choose_kernel(&call, &place->kept->plan, &place->choice)) return GANTRY_OK;
        rules.call = &call.abi;
        declined = place->device;
    }
}

gantry_status_t gantry__node_fits(const gantry__graph_place_t *request, uint32_t node,
                                  gantry_logical_device_t *device, bool *out_fits) {
    const gantry__node_t *of = &request->graph->nodes[node];
    const gantry__node_ask_t ask = {.pinned = device, .pin_reason = GANTRY_PLACED_COLOCATED};
    const gantry__place_request_t rules = request_for(request, of, &ask);
    const gantry__kept_plan_t *kept = gantry__plan_cache_ask(request->plans, &rules);
    described_call_t call;
    uint32_t choice;
    if (!kept)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "node %s: no memory for its plan", of->name);
    *out_fits = kept->plan.device != NULL;
    if (!*out_fits || !has_opinion(&kept->plan) ||
        !atomic_load_explicit(&device->is_open, memory_order_acquire))
        return GANTRY_OK;
    place_describe(request->graph, of, &call);
    *out_fits = place_choose_kernel(&call, &kept->plan, &choice);
    return GANTRY_OK;
}
