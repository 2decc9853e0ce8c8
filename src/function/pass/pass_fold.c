/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the nodes whose inputs are all constants, once, while the body is traced.
 *
 * A node runs on the eager path with its own request. So its constant has the bits and the device
 * that the body gives op by op. A node that fails stays, and fails in each call as it does
 * eagerly. */
#include "function/pass/pass.h"

#include "function/trace/trace.h"

/* A result may have this many bytes more than the inputs: a small graph must not hold much memory
 * that it would make again in no time. */
#define MOST_ADDED_BYTES ((uint64_t)1 << 20)

static bool can_fold(const gantry__graph_t *graph, const gantry__node_t *node) {
    uint64_t bytes = 0;
    if (!gantry__node_is_pure(node) || node->output_count != 1) return false;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const gantry__value_t *value = &graph->values[node->inputs[i]];
        if (graph->nodes[value->node].kind != GANTRY__NODE_CONST) return false;
        bytes += value->bytes;
    }
    return graph->values[node->first_output].bytes <= bytes + MOST_ADDED_BYTES;
}

static void fold_one(gantry_scope_t *scope, const gantry__graph_t *graph, gantry__node_t *node) {
    const uint32_t before = gantry__failures();
    const gantry_tensor_t *inputs[GANTRY__MAX_INPUTS];
    for (uint32_t i = 0; i < node->input_count; ++i)
        inputs[i] = graph->nodes[graph->values[node->inputs[i]].node].tensor;
    const gantry_tensor_t *tensor = gantry__node_compute(scope, node, inputs);
    if (tensor) {
        node->kind = GANTRY__NODE_CONST;
        node->op = gantry__op_get(GANTRY__OP_ID_Const);
        node->tensor = gantry__scope_take(scope, tensor);
        node->input_count = 0;
        node->attrs = NULL;
    }
    gantry_scope_clear(scope);
    gantry__forget_since(before);
}

/* A constant has no device that another node could share. */
static void fold_leave_out_colocated(const gantry__graph_t *graph, bool *is_needed) {
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        if (node->colocated_count > 0) is_needed[i] = false;
        for (uint32_t k = 0; k < node->colocated_count; ++k) is_needed[node->colocated[k]] = false;
    }
}

static void fold_nodes(gantry_scope_t *scope, gantry__graph_t *graph, const bool *is_needed) {
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (is_needed[i] && can_fold(graph, &graph->nodes[i]))
            fold_one(scope, graph, &graph->nodes[i]);
    }
}

gantry_status_t gantry__pass_fold(gantry_runtime_t *runtime, gantry__graph_t *graph) {
    const size_t count = graph->node_count;
    bool *is_needed = gantry__heap_zalloc(graph->heap, count + 1);
    gantry_scope_t *scope = is_needed ? gantry_scope_begin(runtime, NULL) : NULL;
    if (scope) {
        scope->order.batch_invariant = graph->is_batch_invariant;
        gantry__graph_find_needed(graph, is_needed);
        fold_leave_out_colocated(graph, is_needed);
        fold_nodes(scope, graph, is_needed);
        const uint32_t before = gantry__failures();
        (void)gantry_scope_end(scope);
        gantry__forget_since(before);
    }
    gantry__heap_free(graph->heap, is_needed, count + 1);
    return scope ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}
