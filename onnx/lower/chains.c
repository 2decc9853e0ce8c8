/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/chains.h"

#include <string.h>

#include "shared/memory.h"

#define ONNX_FLOAT32 1

/* A graph of the plan, and who reads a value: 1 and the place of the last such node. */
typedef struct fold_search_t {
    gantry__onnx_plan_t *plan;
    const onnx_plan_graph_t *place;
    uint32_t *readers; /* By value. */
} fold_search_t;

bool gantry__onnx_is_op(const gantry__onnx_node_t *node, const char *op) {
    return *node->domain == '\0' && strcmp(node->op, op) == 0;
}

static int64_t fold_attr_int(const gantry__onnx_node_t *node, const char *name, int64_t fallback) {
    const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(node, name);
    return attr && attr->count > 0 && attr->ints ? attr->ints[0] : fallback;
}

/* The filter of a convolution that can take a chain; NULL: it cannot. *out_axis is that of its
 * outputs. */
static const gantry__onnx_tensor_t *fold_filter(const gantry__onnx_plan_t *plan,
                                                const gantry__onnx_node_t *node, size_t *out_axis) {
    const bool is_transposed = gantry__onnx_is_op(node, "ConvTranspose");
    *out_axis = is_transposed;
    if ((!is_transposed && !gantry__onnx_is_op(node, "Conv")) ||
        (is_transposed && fold_attr_int(node, "group", 1) != 1))
        return NULL;
    if (plan->is_constant[node->inputs[0]] || !plan->is_constant[node->inputs[1]]) return NULL;
    if (node->input_count > 2 && node->inputs[2] != GANTRY__ONNX_NO_VALUE &&
        !plan->is_constant[node->inputs[2]])
        return NULL;
    const gantry__onnx_tensor_t *w = plan->model->values[node->inputs[1]].tensor;
    return w && w->type == ONNX_FLOAT32 && w->rank >= 3 ? w : NULL;
}

/* Whether a constant has one element, or one for each output of the filter, in the place of the
 * channels. */
static bool fold_fits(const gantry__onnx_tensor_t *constant, const gantry__onnx_tensor_t *filter,
                      size_t axis) {
    if (!constant || constant->type != filter->type || constant->rank > filter->rank) return false;
    const uint32_t channels = constant->rank + 1 - filter->rank; /* wraps if it has none */
    for (uint32_t i = 0; i < constant->rank; ++i) {
        const int64_t size = constant->dims[i];
        if (size != 1 && (i != channels || size != filter->dims[axis])) return false;
    }
    return true;
}

static bool fold_norm_fits(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node) {
    if (fold_attr_int(node, "training_mode", 0) != 0 || fold_attr_int(node, "spatial", 1) == 0)
        return false;
    for (size_t i = 1; i < node->output_count; ++i)
        if (node->outputs[i] != GANTRY__ONNX_NO_VALUE) return false;
    for (size_t i = 1; i < 5; ++i)
        if (!plan->is_constant[node->inputs[i]]) return false;
    return true;
}

/* Whether the node's only inputs are value and what can be folded. */
static bool chain_can_take(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node,
                           gantry__onnx_value_t value, const gantry__onnx_tensor_t *filter,
                           size_t axis) {
    if (node->version < 7) return false; /* Operands are aligned in another way. */
    if (gantry__onnx_is_op(node, "BatchNormalization"))
        return node->inputs[0] == value && fold_norm_fits(plan, node);
    if (!gantry__onnx_is_op(node, "Mul") && !gantry__onnx_is_op(node, "Add")) return false;
    const gantry__onnx_value_t other = node->inputs[node->inputs[0] == value];
    return other != value && plan->is_constant[other] &&
           fold_fits(plan->model->values[other].tensor, filter, axis);
}

/* Follows the only readers of the convolution's result, as far as they can be folded. */
static void find_chain(const fold_search_t *search, size_t n) {
    gantry__onnx_plan_t *plan = search->plan;
    const gantry__onnx_node_t *nodes = search->place->graph->nodes, *node = &nodes[n];
    const size_t first = search->place->first_node;
    size_t axis, last = n;
    const gantry__onnx_tensor_t *filter = fold_filter(plan, node, &axis);
    while (filter) {
        const gantry__onnx_value_t value = nodes[last].outputs[0];
        if (value == GANTRY__ONNX_NO_VALUE || plan->model->values[value].uses != 1) return;
        const size_t next = search->readers[value];
        if (next == 0 || !plan->rows[first + next - 1] ||
            !chain_can_take(plan, &nodes[next - 1], value, filter, axis))
            return;
        plan->next_folded[first + last] = (uint32_t)(first + next);
        plan->is_folded[first + next - 1] = 1;
        last = next - 1;
    }
}

static void find_chains_of_graph(fold_search_t *search) {
    const gantry__onnx_graph_t *graph = search->place->graph;
    for (size_t n = 0; n < graph->node_count; ++n) {
        const gantry__onnx_node_t *node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] != GANTRY__ONNX_NO_VALUE)
                search->readers[node->inputs[i]] = (uint32_t)n + 1;
        }
    }
    for (size_t n = 0; n < graph->node_count; ++n) {
        if (search->plan->rows[search->place->first_node + n]) find_chain(search, n);
    }
    /* A value that this graph reads is none that only another one reads. */
    for (size_t n = 0; n < graph->node_count; ++n) {
        const gantry__onnx_node_t *node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] != GANTRY__ONNX_NO_VALUE) search->readers[node->inputs[i]] = 0;
        }
    }
}

gantry_status_t gantry__onnx_find_chains(gantry__onnx_plan_t *plan) {
    fold_search_t search = {.plan = plan};
    plan->next_folded = gantry__alloc(plan->node_count, sizeof *plan->next_folded);
    plan->is_folded = gantry__alloc(plan->node_count, 1);
    search.readers = gantry__alloc(plan->model->value_count, sizeof *search.readers);
    if (!plan->next_folded || !plan->is_folded || !search.readers) {
        gantry__free(search.readers);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    for (size_t g = 0; g < plan->graph_count; ++g) {
        search.place = &plan->graphs[g];
        find_chains_of_graph(&search);
    }
    gantry__free(search.readers);
    return GANTRY_OK;
}

const gantry__onnx_node_t *gantry__onnx_node_at(const gantry__onnx_plan_t *plan, size_t position) {
    size_t g = plan->graph_count;
    while (plan->graphs[--g].first_node > position) continue;
    return &plan->graphs[g].graph->nodes[position - plan->graphs[g].first_node];
}

gantry__onnx_value_t gantry__onnx_chain_result(const gantry__onnx_plan_t *plan, size_t position) {
    size_t last = position;
    while (plan->next_folded[last] != 0) last = plan->next_folded[last] - 1;
    return last == position ? GANTRY__ONNX_NO_VALUE : gantry__onnx_node_at(plan, last)->outputs[0];
}
