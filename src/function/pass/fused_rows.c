/* SPDX-License-Identifier: Apache-2.0 */
/* What the fusion pass must know about rows: which reductions go along them, and whether two nodes
 * have the same rows.
 *
 *     x [8, 64]    max(x), keep_dims [8, 1]     exp(x - max) [8, 64]
 *
 * All three have lead [8]; the first and the last have rows of 64 elements, and so has the
 * reduction, by its operand. A node with one element for each row joins any rows of its lead. */
#include <string.h>

#include "function/pass/pass_fuse.h"
#include "op/op_infer.h"
#include "run/tensor_state.h"

/* A shorter row costs more calls of loops than a pass over memory saves. */
#define LEAST_LENGTH 48

static gantry_shape_t lead_of(const gantry_shape_t *shape) {
    gantry_shape_t lead = *shape;
    if (lead.rank > 0) lead.dims[--lead.rank] = 0;
    return lead;
}

static bool keeps_last_axis(const gantry__node_t *node) {
    return gantry__fused_keeps_dims(node->op, node->attrs);
}

/* Whether the axes of a reduction are a constant that names the last one of `rank`. */
static bool names_last_axis(const gantry__graph_t *graph, const gantry__node_t *node,
                            int32_t rank) {
    const gantry__value_t *value = &graph->values[node->inputs[1]];
    const gantry_tensor_t *tensor = graph->nodes[value->node].tensor;
    const uint32_t before = gantry__failures();
    const void *data;
    void *owned;
    if (graph->nodes[value->node].kind != GANTRY__NODE_CONST || value->elements != 1) return false;
    if (gantry__tensor_host_data(tensor, &data, &owned) != GANTRY_OK) {
        gantry__forget_since(before);
        return false;
    }
    const gantry__host_ints_t axes = {.data = data, .dtype = value->dtype, .count = 1};
    const int64_t axis = gantry__host_int(&axes, 0);
    gantry__heap_free(&tensor->runtime->heap, owned, tensor->size_bytes);
    return axis == -1 || axis == rank - 1;
}

/* Axes of size 1 may be reduced, too: that changes nothing. */
static bool reduces_last_axis(const gantry__graph_t *graph, const gantry__node_t *node) {
    const gantry_shape_t *from = &graph->values[node->inputs[0]].shape,
                         *to = &graph->values[node->first_output].shape;
    if (!keeps_last_axis(node)) return names_last_axis(graph, node, from->rank);
    const gantry_shape_t lead = lead_of(from), kept = lead_of(to);
    return to->dims[to->rank - 1] == 1 && gantry_shape_equal(&lead, &kept);
}

gantry__fused_id_t gantry__fusing_reduction(const gantry__fusing_t *fusing,
                                            const gantry__node_t *node) {
    const gantry__fused_id_t id = gantry__fused_reduction(node->op);
    if (fusing->what != GANTRY__FUSING_ROWS || id == GANTRY__FUSED_COUNT)
        return GANTRY__FUSED_COUNT;
    const gantry__value_t *from = &fusing->graph->values[node->inputs[0]];
    const int32_t rank = from->shape.rank;
    const int64_t length = rank > 0 ? from->shape.dims[rank - 1] : 0;
    const bool fits = length >= LEAST_LENGTH && length <= GANTRY__FUSED_MOST_ROW &&
                      gantry__fused_reduces(id, from->dtype) &&
                      reduces_last_axis(fusing->graph, node);
    return fits ? id : GANTRY__FUSED_COUNT;
}

gantry__fusing_rows_t gantry__fusing_rows_of(const gantry__fusing_t *fusing, uint32_t index) {
    const gantry__node_t *node = &fusing->graph->nodes[index];
    const bool reduces = gantry__fused_reduction(node->op) != GANTRY__FUSED_COUNT;
    const gantry_shape_t *shape = reduces ? &fusing->graph->values[node->inputs[0]].shape
                                          : &gantry__fusing_result(fusing, index)->shape;
    const int64_t last = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;
    return (gantry__fusing_rows_t){.lead = lead_of(shape), .length = last == 1 ? 0 : last};
}

bool gantry__fusing_ends_rows(const gantry__node_t *node) {
    return gantry__fused_reduction(node->op) != GANTRY__FUSED_COUNT && !keeps_last_axis(node);
}
