/* SPDX-License-Identifier: Apache-2.0 */
/* Records ops, constants and variables as nodes:
 *
 *   names      the name that the scope gives, or the op's; made unique as TensorFlow does: Add,
 *              Add_1
 *   captures   a tensor that was there before becomes a constant by reference, once
 *   order      uses of one variable follow each other; a scope's control inputs come first
 *   nodes      the four kinds */
#include "function/trace/trace.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/hash.h"
#include "device/device_open.h"
#include "op/op_infer.h"
#include "run/trace_hooks.h"
#include "run/variable_state.h"

void gantry__trace_init(gantry__trace_t *trace, gantry_runtime_t *runtime, gantry__graph_t *graph,
                        gantry__trace_t *outer) {
    *trace = (gantry__trace_t){.outer = outer,
                               .id = atomic_fetch_add(&runtime->traces, 1) + 1,
                               .runtime = runtime,
                               .graph = graph};
    gantry__id_map_init(&trace->names, &runtime->heap);
    gantry__id_map_init(&trace->captured, &runtime->heap);
    gantry__id_map_init(&trace->last_use, &runtime->heap);
    gantry__id_map_init(&trace->knowable, &runtime->heap);
}

void gantry__trace_deinit(gantry__trace_t *trace) {
    gantry__id_map_deinit(&trace->names);
    gantry__id_map_deinit(&trace->captured);
    gantry__id_map_deinit(&trace->last_use);
    gantry__trace_forget_known(trace);
    while (trace->kept) {
        gantry__trace_kept_t *kept = trace->kept;
        trace->kept = kept->next;
        kept->release(kept);
    }
    gantry__heap_free(&trace->runtime->heap, trace->captures,
                      trace->capture_capacity * sizeof *trace->captures);
}

void gantry__trace_keep(const gantry_scope_t *scope, gantry__trace_kept_t *kept) {
    gantry__trace_t *trace = scope->trace;
    while (trace->outer) trace = trace->outer;
    kept->next = trace->kept;
    trace->kept = kept;
}

/* ---- names ---- */

typedef struct node_name_t {
    char text[GANTRY__NODE_NAME_BYTES];
} node_name_t;

/* As in TensorFlow, names that differ only by case are the same. */
static uint32_t *trace_name_count(gantry__trace_t *trace, const char *text) {
    char key[GANTRY__NODE_NAME_BYTES];
    size_t length = 0;
    for (; text[length]; ++length) key[length] = gantry__ascii_lower(text[length]);
    return gantry__id_map_at(&trace->names, gantry__hash64(key, length, 0) | 1);
}

/* The base, or base_1, base_2... A long base is cut before it is compared. Names are written into
 * lines of explanations and logs. */
static gantry_status_t trace_make_unique(gantry__trace_t *trace, const char *given,
                                         node_name_t *out_name) {
    char base[GANTRY__NODE_NAME_BYTES];
    (void)snprintf(base, sizeof base, "%s", given);
    gantry__ascii_one_line(base);
    uint32_t *count = trace_name_count(trace, base);
    if (!count) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(out_name->text, base, sizeof base);
    for (uint32_t number = (*count)++; number > 0; ++number) {
        (void)snprintf(out_name->text, sizeof out_name->text, "%.100s_%u", base, number);
        uint32_t *taken = trace_name_count(trace, out_name->text);
        if (!taken) return GANTRY_RESOURCE_EXHAUSTED;
        if ((*taken)++ == 0) break;
        count = trace_name_count(trace, base);
        if (count) *count = number + 2;
    }
    return GANTRY_OK;
}

/* Gives a node its name; base is used if the scope gives none. The parts of a composed op go below
 * its name. */
static gantry_status_t trace_name(const gantry_scope_t *scope, const char *base,
                                  node_name_t *out_name) {
    node_name_t path;
    const char *given = scope->next_name;
    if (!scope->composed) return trace_make_unique(scope->trace, *given ? given : base, out_name);
    (void)snprintf(path.text, sizeof path.text, "%.60s/%.60s", given, base);
    return trace_make_unique(scope->trace, path.text, out_name);
}

/* ---- adding a node ---- */

/* Adds the node with the scope's request, tag and control inputs. */
static gantry_status_t trace_add(const gantry_scope_t *scope, gantry__node_t *node,
                                 const gantry_dtype_t *dtypes, const gantry_shape_t *shapes,
                                 uint32_t *out_node) {
    uint32_t count = 0;
    for (const gantry__controls_t *at = scope->related.controls; at; at = at->outer)
        count += at->count;
    uint32_t *controls = gantry__arena_zalloc(&scope->trace->graph->arena,
                                              count + node->control_count, sizeof *controls);
    if (!controls) {
        gantry_tensor_release(node->tensor);
        gantry_variable_release(node->variable);
        gantry__draws_release(node->draws);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < node->control_count; ++i) controls[used++] = node->controls[i];
    for (const gantry__controls_t *at = scope->related.controls; at; at = at->outer) {
        for (uint32_t i = 0; i < at->count; ++i) controls[used++] = at->nodes[i];
    }
    node->controls = controls;
    node->control_count = used;
    node->tag = scope->tag;
    node->origin = scope->origin;
    node->marks.any_order = scope->order.any;
    scope->trace->graph->is_batch_invariant |= scope->order.batch_invariant;
    gantry_status_t status = gantry__trace_ask_scope(scope, node, dtypes);
    if (status != GANTRY_OK) {
        gantry_tensor_release(node->tensor);
        gantry_variable_release(node->variable);
        gantry__draws_release(node->draws);
        return status;
    }
    return gantry__graph_add(scope->trace->graph, node, dtypes, shapes, out_node);
}

/* Makes output i of a node as a symbolic tensor. */
static gantry_status_t trace_make_output(const gantry__trace_t *trace, uint32_t node, uint32_t i,
                                         gantry_tensor_t **out_tensor) {
    const gantry__node_t *made = &trace->graph->nodes[node];
    const uint32_t at = made->first_output + i;
    const gantry__value_t *value = &trace->graph->values[at];
    return gantry__tensor_symbolic(trace->runtime, value->dtype, &value->shape, trace->id, at,
                                   made->name, out_tensor);
}

gantry_status_t gantry__trace_input(gantry_scope_t *scope, const char *name, gantry_dtype_t dtype,
                                    const gantry_shape_t *shape,
                                    const gantry_tensor_t **out_tensor) {
    gantry__trace_t *trace = scope->trace;
    node_name_t unique;
    uint32_t index;
    gantry_tensor_t *tensor;
    GANTRY__TRY(trace_make_unique(trace, *name ? name : "Placeholder", &unique));
    gantry__node_t node = {.kind = GANTRY__NODE_INPUT,
                           .op = &gantry__op_placeholder,
                           .name = unique.text,
                           .output_count = 1};
    GANTRY__TRY(gantry__graph_add(trace->graph, &node, &dtype, shape, &index));
    GANTRY__TRY(trace_make_output(trace, index, 0, &tensor));
    gantry__scope_adopt(scope, tensor);
    *out_tensor = tensor;
    return GANTRY_OK;
}

/* ---- captures ---- */

/* The name that the scope gives belongs to the op that takes the constant. */
static gantry_status_t name_capture(const gantry_scope_t *scope, bool is_named,
                                    node_name_t *out_name) {
    node_name_t path;
    if (is_named || scope->composed || !*scope->next_name)
        return trace_name(scope, "Const", out_name);
    (void)snprintf(path.text, sizeof path.text, "%.100s/Const", scope->next_name);
    return trace_make_unique(scope->trace, path.text, out_name);
}

/* Adds the tensor as a constant, and keeps it. is_named: the program makes a constant. */
static gantry_status_t trace_capture(const gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                     bool is_named, uint32_t *out_value) {
    gantry__trace_t *trace = scope->trace;
    uint32_t *known = gantry__id_map_at(&trace->captured, (uint64_t)(uintptr_t)tensor);
    if (!known) return GANTRY_RESOURCE_EXHAUSTED;
    if (*known > 0) {
        *out_value = *known - 1;
        return GANTRY_OK;
    }
    node_name_t unique;
    uint32_t index;
    GANTRY__TRY(name_capture(scope, is_named, &unique));
    gantry__node_t node = {.kind = GANTRY__NODE_CONST,
                           .op = gantry__op_get(GANTRY__OP_ID_Const),
                           .name = unique.text,
                           .part_of = scope->called,
                           .output_count = 1,
                           .tensor = gantry_tensor_retain(tensor)};
    GANTRY__TRY(trace_add(scope, &node, &tensor->dtype, &tensor->shape, &index));
    *out_value = trace->graph->nodes[index].first_output;
    *known = *out_value + 1;
    return GANTRY_OK;
}

/* The value in this trace, which may be that of a body: one of an outer trace becomes an input,
 * once, in each trace on the way in. */
static gantry_status_t value_in(gantry__trace_t *trace, const gantry_tensor_t *tensor,
                                uint32_t *out_value) {
    const uint64_t place[] = {tensor->trace, tensor->value};
    if (tensor->trace == trace->id) {
        *out_value = tensor->value;
        return GANTRY_OK;
    }
    /* addresses of tensors, the other keys, are even */
    const uint64_t key = gantry__hash64(place, sizeof place, 0) | 1;
    uint32_t *known = gantry__id_map_at(&trace->captured, key), index;
    gantry__trace_capture_t capture;
    node_name_t unique;
    if (!known) return GANTRY_RESOURCE_EXHAUSTED;
    if (*known > 0) {
        *out_value = *known - 1;
        return GANTRY_OK;
    }
    GANTRY__TRY(value_in(trace->outer, tensor, &capture.outer));
    GANTRY__TRY(trace_make_unique(trace, (const char *)tensor->inline_data, &unique));
    gantry__node_t node = {.kind = GANTRY__NODE_INPUT,
                           .op = &gantry__op_placeholder,
                           .name = unique.text,
                           .output_count = 1};
    GANTRY__TRY(gantry__graph_add(trace->graph, &node, &tensor->dtype, &tensor->shape, &index));
    capture.inner = *out_value = trace->graph->nodes[index].first_output;
    if (!gantry__heap_grow(&trace->runtime->heap, &trace->captures, trace->capture_count,
                           &trace->capture_capacity, sizeof capture))
        return GANTRY_RESOURCE_EXHAUSTED;
    trace->captures[trace->capture_count++] = capture;
    *known = *out_value + 1;
    return GANTRY_OK;
}

gantry_status_t gantry__trace_value(const gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                    uint32_t *out_value) {
    return tensor->is_symbolic ? value_in(scope->trace, tensor, out_value)
                               : trace_capture(scope, tensor, false, out_value);
}

gantry_status_t gantry__trace_constant(gantry_scope_t *scope, gantry_tensor_t *tensor) {
    uint32_t value;
    gantry_status_t status = trace_capture(scope, tensor, true, &value);
    if (!scope->composed) scope->next_name[0] = '\0';
    return status;
}

gantry_status_t gantry__trace_check_input(const gantry_scope_t *scope,
                                          const gantry_tensor_t *tensor, const char *op,
                                          uint32_t index) {
    for (const gantry__trace_t *trace = scope->trace; trace; trace = trace->outer) {
        if (trace->id == tensor->trace) return GANTRY_OK;
    }
    return gantry__refuse(
        "op %s: input %u is the symbolic tensor %s of %s; a tensor with elements, or one of the function that is traced in this scope, is accepted",
        op, index, (const char *)tensor->inline_data,
        scope->trace ? "another function" : "a function that is or was traced");
}

/* ---- ops ---- */

static bool reads_symbolic(const gantry__infer_t *call) {
    for (uint32_t i = 0; i < call->input_count; ++i) {
        const gantry__op_arg_t *arg = gantry__op_input_arg(call->op, call->input_count, i);
        if (arg->flags & GANTRY__ARG_HOST && call->symbolic >> i & 1) return true;
    }
    return false;
}

bool gantry__trace_is_whole(const gantry__infer_t *call) {
    if (call->is_open) return true;
    for (uint32_t i = 0; i < call->output_count; ++i) {
        if (gantry__shape_is_open(&call->out_shapes[i])) return true;
    }
    return call->op->flags & GANTRY__OP_READS_HOST && reads_symbolic(call);
}

static gantry_status_t trace_fail_draw(const char *op) {
    return gantry__fail(
        GANTRY_UNIMPLEMENTED,
        "op %s: how many numbers it draws depends on data; a function takes draws whose count follows from its signature",
        op);
}

gantry_status_t gantry__trace_check_draw(const gantry__op_def_t *op, const gantry_tensor_t *input) {
    return input->elements >= 0 ? GANTRY_OK : trace_fail_draw(op->name);
}

static gantry_status_t trace_make_outputs(const gantry__trace_t *trace, uint32_t node,
                                          uint32_t count, gantry_tensor_t **outputs) {
    for (uint32_t i = 0; i < count; ++i)
        GANTRY__TRY(trace_make_output(trace, node, i, &outputs[i]));
    return GANTRY_OK;
}

/* A result that does not depend on the inputs' elements is a constant. */
static gantry_status_t trace_known_bool(gantry_scope_t *scope, const gantry__infer_t *call,
                                        gantry_tensor_t **outputs) {
    const unsigned char value = (unsigned char)call->known_bool;
    gantry_runtime_t *runtime = scope->runtime;
    GANTRY__TRY(gantry__logical_device_open(runtime->host));
    GANTRY__TRY(gantry__tensor_from_host(runtime, runtime->host, GANTRY_BOOL, &call->out_shapes[0],
                                         &value, scope->tag, &outputs[0]));
    return gantry__trace_constant(scope, outputs[0]);
}

gantry_status_t gantry__trace_op(gantry_scope_t *scope, const gantry__infer_t *call,
                                 const gantry_tensor_t *const *inputs, gantry_tensor_t **outputs) {
    gantry__trace_t *trace = scope->trace;
    uint32_t values[GANTRY__MAX_INPUTS], index;
    node_name_t unique;
    for (uint32_t i = 0; i < call->output_count; ++i) outputs[i] = NULL;
    const bool is_whole = gantry__trace_is_whole(call);
    /* a call could not take its part of the stream before it knows the shape */
    if (is_whole && gantry__infer_attr(call, "seed2")) return trace_fail_draw(call->op->name);
    if (call->known_bool >= 0) return trace_known_bool(scope, call, outputs);
    for (uint32_t i = 0; i < call->input_count; ++i)
        GANTRY__TRY(gantry__trace_value(scope, inputs[i], &values[i]));
    GANTRY__TRY(trace_name(scope, call->op->name, &unique));
    gantry__node_t node = {.kind = is_whole ? GANTRY__NODE_EAGER : GANTRY__NODE_OP,
                           .op = call->op,
                           .name = unique.text,
                           .part_of = scope->called,
                           .inputs = values,
                           .input_count = call->input_count,
                           .attrs = call->attrs,
                           .output_count = call->output_count,
                           .piece_first = call->piece_first};
    GANTRY__TRY(trace_add(scope, &node, call->out_dtypes, call->out_shapes, &index));
    return trace_make_outputs(trace, index, call->output_count, outputs);
}

/* ---- variables ---- */

/* The variable's last node, which comes first; none: count 0. */
static gantry_status_t order_variable(gantry__trace_t *trace, const gantry_variable_t *variable,
                                      uint32_t *out_node, uint32_t *out_count) {
    const uint32_t *last = gantry__id_map_at(&trace->last_use, (uint64_t)(uintptr_t)variable);
    if (!last) return GANTRY_RESOURCE_EXHAUSTED;
    *out_count = *last > 0 ? 1 : 0;
    *out_node = *last > 0 ? *last - 1 : 0;
    return GANTRY_OK;
}

static gantry_status_t add_variable_node(const gantry_scope_t *scope, gantry__node_t *node,
                                         const gantry_dtype_t *dtype, const gantry_shape_t *shape,
                                         uint32_t *out_node) {
    gantry__trace_t *trace = scope->trace;
    uint32_t last;
    GANTRY__TRY(order_variable(trace, node->variable, &last, &node->control_count));
    node->controls = &last;
    (void)gantry__variable_retain(node->variable);
    node->home = gantry__variable_home(node->variable);
    GANTRY__TRY(trace_add(scope, node, dtype, shape, out_node));
    uint32_t *kept = gantry__id_map_at(&trace->last_use, (uint64_t)(uintptr_t)node->variable);
    if (!kept) return GANTRY_RESOURCE_EXHAUSTED;
    *kept = *out_node + 1;
    return GANTRY_OK;
}

/* Gives a variable's node TensorFlow's name: "a/read", "a/Assign". */
static gantry_status_t name_variable_node(gantry_scope_t *scope, const gantry_variable_t *variable,
                                          const char *what, node_name_t *out_name) {
    char base[GANTRY__NODE_NAME_BYTES];
    (void)snprintf(base, sizeof base, "%.100s/%s", gantry_variable_name(variable), what);
    gantry_status_t status = trace_name(scope, base, out_name);
    if (!scope->composed) scope->next_name[0] = '\0';
    return status;
}

gantry_status_t gantry__trace_read(gantry_scope_t *scope, gantry_variable_t *variable,
                                   gantry_tensor_t **out_tensor) {
    const gantry_dtype_t dtype = gantry_variable_dtype(variable);
    node_name_t unique;
    uint32_t index;
    *out_tensor = NULL;
    GANTRY__TRY(name_variable_node(scope, variable, "read", &unique));
    gantry__node_t node = {.kind = GANTRY__NODE_READ,
                           .op = gantry__op_get(GANTRY__OP_ID_ReadVariableOp),
                           .name = unique.text,
                           .output_count = 1,
                           .variable = variable};
    GANTRY__TRY(add_variable_node(scope, &node, &dtype, gantry_variable_shape(variable), &index));
    return trace_make_output(scope->trace, index, 0, out_tensor);
}

gantry_status_t gantry__trace_assign(gantry_scope_t *scope, const gantry__op_def_t *op,
                                     gantry_variable_t *variable, const gantry_tensor_t *value,
                                     const gantry__op_def_t *update) {
    node_name_t unique;
    uint32_t index, input;
    GANTRY__TRY(gantry__trace_value(scope, value, &input));
    GANTRY__TRY(name_variable_node(scope, variable, update ? update->name : "Assign", &unique));
    gantry__node_t node = {.kind = GANTRY__NODE_ASSIGN,
                           .op = op,
                           .update = update,
                           .name = unique.text,
                           .inputs = &input,
                           .input_count = 1,
                           .variable = variable};
    return add_variable_node(scope, &node, NULL, NULL, &index);
}

static uint64_t count_assignments(const gantry__graph_t *graph, const gantry_variable_t *variable) {
    uint64_t count = 0;
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        count += node->kind == GANTRY__NODE_ASSIGN && node->variable == variable;
        for (uint32_t k = 0; k < node->body_count; ++k)
            count += count_assignments(&node->bodies[k].graph, variable);
    }
    return count;
}

uint64_t gantry__trace_assignments(const gantry_scope_t *scope, const gantry_variable_t *variable) {
    uint64_t count = 0;
    for (const gantry__trace_t *trace = scope->trace; trace; trace = trace->outer)
        count += count_assignments(trace->graph, variable);
    return count;
}

/* ---- draws ---- */

gantry_status_t gantry__trace_draw(gantry_scope_t *scope, gantry__draws_t *draws, uint64_t blocks,
                                   const gantry_tensor_t *out_place[2]) {
    const gantry_dtype_t dtypes[] = {GANTRY_UINT64, GANTRY_UINT64};
    const gantry_shape_t shapes[] = {GANTRY_SHAPE(1), GANTRY_SHAPE(2)};
    node_name_t unique;
    uint32_t index;
    GANTRY__TRY(trace_name(scope, gantry__op_draw.name, &unique));
    gantry__node_t node = {.kind = GANTRY__NODE_DRAW,
                           .op = &gantry__op_draw,
                           .name = unique.text,
                           .part_of = scope->called,
                           .output_count = 2,
                           .home = scope->runtime->host, /* where the position is */
                           .draws = gantry__draws_retain(draws),
                           .steps = blocks};
    GANTRY__TRY(trace_add(scope, &node, dtypes, shapes, &index));
    for (uint32_t i = 0; i < 2; ++i) {
        gantry_tensor_t *tensor;
        GANTRY__TRY(trace_make_output(scope->trace, index, i, &tensor));
        gantry__scope_adopt(scope, tensor);
        out_place[i] = tensor;
    }
    return GANTRY_OK;
}

/* ---- branches and loops ---- */

/* Calls visit for the variable of each node of the graph, and of the bodies in it. */
static gantry_status_t each_variable(const gantry__graph_t *graph, gantry__trace_t *trace,
                                     gantry_status_t (*visit)(gantry__trace_t *trace,
                                                              const gantry_variable_t *variable,
                                                              gantry__node_t *node, uint32_t index),
                                     gantry__node_t *node, uint32_t index) {
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *inner = &graph->nodes[i];
        if (inner->variable) GANTRY__TRY(visit(trace, inner->variable, node, index));
        for (uint32_t k = 0; k < inner->body_count; ++k)
            GANTRY__TRY(each_variable(&inner->bodies[k].graph, trace, visit, node, index));
    }
    return GANTRY_OK;
}

static gantry_status_t follow_variable(gantry__trace_t *trace, const gantry_variable_t *variable,
                                       gantry__node_t *node, uint32_t index) {
    uint32_t last, count;
    (void)index;
    GANTRY__TRY(order_variable(trace, variable, &last, &count));
    if (count == 0) return GANTRY_OK;
    uint32_t *controls =
        gantry__arena_zalloc(&trace->graph->arena, node->control_count + 1, sizeof *controls);
    if (!controls) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < node->control_count; ++i) controls[i] = node->controls[i];
    controls[node->control_count++] = last;
    node->controls = controls;
    return GANTRY_OK;
}

static gantry_status_t mark_variable(gantry__trace_t *trace, const gantry_variable_t *variable,
                                     gantry__node_t *node, uint32_t index) {
    uint32_t *last = gantry__id_map_at(&trace->last_use, (uint64_t)(uintptr_t)variable);
    (void)node;
    if (!last) return GANTRY_RESOURCE_EXHAUSTED;
    *last = index + 1;
    return GANTRY_OK;
}

gantry_status_t gantry__trace_block(gantry_scope_t *scope, gantry__node_t *node,
                                    const gantry_dtype_t *dtypes, const gantry_shape_t *shapes,
                                    const gantry_tensor_t **outputs) {
    gantry__trace_t *trace = scope->trace;
    node_name_t unique;
    uint32_t index;
    GANTRY__TRY(trace_name(scope, node->op->name, &unique));
    scope->next_name[0] = '\0';
    node->name = unique.text;
    for (uint32_t i = 0; i < node->body_count; ++i)
        GANTRY__TRY(each_variable(&node->bodies[i].graph, trace, follow_variable, node, 0));
    GANTRY__TRY(trace_add(scope, node, dtypes, shapes, &index));
    const gantry__node_t added = trace->graph->nodes[index];
    node->body_count = 0; /* the graph's now */
    for (uint32_t i = 0; i < added.body_count; ++i)
        GANTRY__TRY(each_variable(&added.bodies[i].graph, trace, mark_variable, node, index));
    for (uint32_t i = 0; i < added.output_count; ++i) {
        gantry_tensor_t *tensor;
        GANTRY__TRY(trace_make_output(trace, index, i, &tensor));
        gantry__scope_adopt(scope, tensor);
        outputs[i] = tensor;
    }
    return GANTRY_OK;
}
