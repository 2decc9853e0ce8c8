/* SPDX-License-Identifier: Apache-2.0 */
/* What a body says of its nodes in addition to their ops: names, control inputs, devices and
 * colocations. */
#include <gantry/observe.h>

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "device/device_table.h"
#include "device/logical_device.h"
#include "function/trace/trace.h"
#include "run/runtime_state.h"
#include "run/trace_hooks.h"

gantry_status_t gantry_scope_name_next(gantry_scope_t *scope, const char *name) {
    GANTRY__TRY(gantry__scope_check(scope));
    if (!name || !*name || strlen(name) >= GANTRY__NODE_NAME_BYTES / 2)
        return gantry__scope_fail(
            scope,
            gantry__refuse("gantry_scope_name_next: the name is %s; 1 to %d bytes are accepted",
                           name ? *name ? "too long" : "empty" : "NULL",
                           GANTRY__NODE_NAME_BYTES / 2 - 1));
    if (scope->trace) (void)snprintf(scope->next_name, sizeof scope->next_name, "%s", name);
    return GANTRY_OK;
}

gantry_status_t gantry_scope_set_origin(gantry_scope_t *scope, const char *origin) {
    GANTRY__TRY(gantry__scope_check(scope));
    scope->origin = origin && *origin ? origin : NULL;
    if (!scope->trace || !scope->origin) return GANTRY_OK;
    char *kept = gantry__arena_strdup(&scope->trace->graph->arena, origin);
    scope->origin = kept;
    if (!kept) return gantry__scope_fail(scope, GANTRY_RESOURCE_EXHAUSTED);
    gantry__ascii_one_line(kept);
    return GANTRY_OK;
}

gantry_status_t gantry__trace_follow(gantry_scope_t *scope, const gantry_tensor_t *const *tensors,
                                     size_t count) {
    gantry__graph_t *graph = scope->trace->graph;
    gantry__controls_t *controls = gantry__arena_zalloc(
        &graph->arena, 1, sizeof *controls + count * sizeof controls->nodes[0]);
    if (!controls) return GANTRY_RESOURCE_EXHAUSTED;
    controls->outer = scope->related.controls;
    for (size_t i = 0; i < count; ++i) {
        if (!tensors[i]->is_symbolic) continue; /* it is there already */
        if (gantry__trace_check_input(scope, tensors[i], "", (uint32_t)i) != GANTRY_OK)
            return gantry__refuse(
                "gantry_scope_begin_after: tensor %zu is the symbolic tensor %s of another function; one of the function that is traced in this scope is accepted",
                i, (const char *)tensors[i]->inline_data);
        uint32_t value; /* in a body, one from outside is an input: the whole block waits for it */
        GANTRY__TRY(gantry__trace_value(scope, tensors[i], &value));
        controls->nodes[controls->count++] = graph->values[value].node;
    }
    scope->related.controls = controls;
    return GANTRY_OK;
}

static gantry_status_t check_tensors(const gantry_scope_t *scope,
                                     const gantry_tensor_t *const *tensors, size_t count) {
    if (!tensors && count > 0)
        return gantry__refuse(
            "gantry_scope_begin_after: tensors is NULL; an array of %zu is accepted", count);
    for (size_t i = 0; i < count; ++i) {
        if (!tensors[i] || tensors[i]->runtime != scope->runtime)
            return gantry__refuse(
                "gantry_scope_begin_after: tensor %zu is %s; one that an op made is accepted", i,
                tensors[i] ? "of another runtime" : "NULL");
    }
    return GANTRY_OK;
}

gantry_scope_t *gantry_scope_begin_after(gantry_scope_t *parent,
                                         const gantry_tensor_t *const *tensors, size_t count) {
    gantry_scope_t *scope = gantry_scope_begin_in(parent, NULL);
    if (!scope || scope->status != GANTRY_OK) return scope;
    gantry_status_t status = check_tensors(scope, tensors, count);
    if (status == GANTRY_OK && scope->trace) status = gantry__trace_follow(scope, tensors, count);
    (void)gantry__scope_fail(scope, status);
    return scope;
}

/* ---- devices ---- */

/* An assignment has no output: its type is that of the value. */
static gantry_dtype_t node_dtype(const gantry__graph_t *graph, const gantry__node_t *node,
                                 const gantry_dtype_t *dtypes) {
    if (node->output_count > 0) return dtypes[0];
    return node->input_count > 0 ? graph->values[node->inputs[0]].dtype : GANTRY_DTYPE_NONE;
}

gantry_status_t gantry__trace_ask_scope(const gantry_scope_t *scope, gantry__node_t *node,
                                        const gantry_dtype_t *dtypes) {
    gantry__graph_t *graph = scope->trace->graph;
    uint32_t count = 0, used = 0;
    for (const gantry__controls_t *at = scope->related.colocated; at; at = at->outer)
        count += at->count;
    uint32_t *colocated = gantry__arena_zalloc(&graph->arena, count, sizeof *colocated);
    if (!colocated) return GANTRY_RESOURCE_EXHAUSTED;
    for (const gantry__controls_t *at = scope->related.colocated; at; at = at->outer) {
        for (uint32_t i = 0; i < at->count; ++i) colocated[used++] = at->nodes[i];
    }
    node->colocated = colocated;
    node->colocated_count = count;
    const gantry_device_choice_t choice = {.op = node->op->name,
                                           .node = node->name,
                                           .dtype = node_dtype(graph, node, dtypes),
                                           .output_count = node->output_count};
    return gantry__scope_wish(scope, &choice, &node->wish);
}

/* ---- colocations ---- */

/* Colocates with the node of a trace that made the tensor. */
static gantry_status_t colocate_node(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    gantry__graph_t *graph = scope->trace->graph;
    GANTRY__TRY(gantry__trace_check_input(scope, tensor, "gantry_scope_begin_with", 0));
    gantry__controls_t *colocated =
        gantry__arena_zalloc(&graph->arena, 1, sizeof *colocated + sizeof colocated->nodes[0]);
    if (!colocated) return GANTRY_RESOURCE_EXHAUSTED;
    colocated->outer = scope->related.colocated;
    colocated->count = 1;
    uint32_t value;
    GANTRY__TRY(gantry__trace_value(scope, tensor, &value));
    colocated->nodes[0] = graph->values[value].node;
    scope->related.colocated = colocated;
    return GANTRY_OK;
}

gantry_status_t gantry__scope_colocate(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    if (!tensor || tensor->runtime != scope->runtime)
        return gantry__refuse(
            "gantry_scope_begin_with: the tensor is %s; a tensor of the scope's runtime is accepted",
            tensor ? "of another runtime" : "NULL");
    if (tensor->is_symbolic) {
        if (!scope->trace || scope->blocks.are_ignored)
            return gantry__trace_check_input(scope, tensor, "gantry_scope_begin_with", 0);
        return colocate_node(scope, tensor);
    }
    if (scope->blocks.are_ignored) return GANTRY_OK;
    gantry__device_reference_t reference;
    GANTRY__TRY(gantry__device_reference_from_user(&scope->runtime->devices,
                                                   tensor->device->full_name, &reference));
    return gantry__runtime_wish(scope->runtime, &reference, &scope->wish);
}

gantry_scope_t *gantry_scope_begin_with(gantry_scope_t *parent, const gantry_tensor_t *tensor) {
    gantry_scope_t *scope = gantry_scope_begin_in(parent, GANTRY_DEVICE_NONE);
    if (!scope || scope->status != GANTRY_OK) return scope;
    (void)gantry__scope_fail(scope, gantry__scope_colocate(scope, tensor));
    return scope;
}

/* ---- observers ---- */

size_t gantry_scope_body_depth(const gantry_scope_t *scope) {
    size_t depth = 0;
    if (!scope || !scope->trace) return 0;
    for (const gantry__trace_t *at = scope->trace->outer; at; at = at->outer) ++depth;
    return depth;
}
