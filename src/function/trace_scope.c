/* SPDX-License-Identifier: Apache-2.0 */
/* What a body says of its nodes beside their ops: names and control inputs. */
#include <gantry/function.h>

#include <stdio.h>
#include <string.h>

#include "function/trace.h"
#include "run/traced.h"

gantry_status_t gantry_scope_name_next(gantry_scope_t *scope, const char *name) {
    GANTRY__TRY(gantry__scope_check(scope));
    if (!name || !*name || strlen(name) >= GANTRY__NODE_NAME_BYTES / 2)
        return gantry__scope_fail(
            scope,
            gantry__fail(GANTRY_INVALID_ARGUMENT,
                         "gantry_scope_name_next: the name is %s; 1 to %d bytes are accepted",
                         name ? *name ? "too long" : "empty" : "NULL",
                         GANTRY__NODE_NAME_BYTES / 2 - 1));
    if (scope->trace) (void)snprintf(scope->next_name, sizeof scope->next_name, "%s", name);
    return GANTRY_OK;
}

static gantry_status_t add_controls(gantry_scope_t *scope, const gantry_tensor_t *const *tensors,
                                    size_t count) {
    gantry__graph_t *graph = scope->trace->graph;
    gantry__controls_t *controls = gantry__arena_zalloc(
        &graph->arena, 1, sizeof *controls + count * sizeof controls->nodes[0]);
    if (!controls) return GANTRY_RESOURCE_EXHAUSTED;
    controls->outer = scope->controls;
    for (size_t i = 0; i < count; ++i) {
        if (!tensors[i]->is_symbolic) continue; /* it is there already */
        if (gantry__trace_check_input(scope, tensors[i], "", (uint32_t)i) != GANTRY_OK)
            return gantry__fail(
                GANTRY_INVALID_ARGUMENT,
                "gantry_scope_begin_after: tensor %zu is the symbolic tensor %s of another function; one of the function that is traced in this scope is accepted",
                i, (const char *)tensors[i]->inline_data);
        controls->nodes[controls->count++] = graph->values[tensors[i]->value].node;
    }
    scope->controls = controls;
    return GANTRY_OK;
}

static gantry_status_t check_tensors(const gantry_tensor_t *const *tensors, size_t count) {
    if (!tensors && count > 0)
        return gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_scope_begin_after: tensors is NULL; an array of %zu is accepted", count);
    for (size_t i = 0; i < count; ++i) {
        if (!tensors[i])
            return gantry__fail(
                GANTRY_INVALID_ARGUMENT,
                "gantry_scope_begin_after: tensor %zu is NULL; one that an op made is accepted", i);
    }
    return GANTRY_OK;
}

gantry_scope_t *gantry_scope_begin_after(gantry_scope_t *parent,
                                         const gantry_tensor_t *const *tensors, size_t count) {
    gantry_scope_t *scope = gantry_scope_begin_in(parent, NULL);
    if (!scope || scope->status != GANTRY_OK) return scope;
    gantry_status_t status = check_tensors(tensors, count);
    if (status == GANTRY_OK && scope->trace) status = add_controls(scope, tensors, count);
    if (status == GANTRY_OK) return scope;
    (void)gantry__scope_fail(parent, status);
    (void)gantry_scope_end(scope);
    return NULL;
}
