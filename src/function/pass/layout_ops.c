/* SPDX-License-Identifier: Apache-2.0 */
#include "function/pass/layout_ops.h"

#include <string.h>

#include "device/logical_device.h"
#include "run/tensor_state.h"

/* ---- the ops ---- */

bool gantry__layout_wants_last(const gantry__node_t *node) {
    const gantry__op_def_t *op = node->part_of ? node->part_of : node->op;
    switch (op->id) {
        case GANTRY__OP_ID_ConvolveImages:
        case GANTRY__OP_ID_ExtractImagePatches:
        case GANTRY__OP_ID_FoldImagePatches:
        case GANTRY__OP_ID_DepthwiseConv2dNative:
        case GANTRY__OP_ID_DepthwiseFilterParts:
        case GANTRY__OP_ID_MaxPool:
        case GANTRY__OP_ID_AvgPool:
        case GANTRY__OP_ID_MaxPoolGrad:
        case GANTRY__OP_ID_MaxPoolGradGrad:
        case GANTRY__OP_ID_Conv1D:
        case GANTRY__OP_ID_Conv2D:
        case GANTRY__OP_ID_Conv2DTranspose:
        case GANTRY__OP_ID_Conv2DBackpropInput:
        case GANTRY__OP_ID_Conv2DBackpropFilter:
        case GANTRY__OP_ID_DepthwiseConv2dNativeBackpropInput:
        case GANTRY__OP_ID_DepthwiseConv2dNativeBackpropFilter:
        case GANTRY__OP_ID_MaxPool1D:
        case GANTRY__OP_ID_AvgPool1D:
        case GANTRY__OP_ID_AvgPoolGrad: return true;
        default: return false;
    }
}

bool gantry__layout_is_window(const gantry__node_t *node) {
    return gantry__op_axes(node->op).kind == GANTRY__AXES_CHANNELS &&
           node->op->id != GANTRY__OP_ID_SpaceToDepth && node->op->id != GANTRY__OP_ID_DepthToSpace;
}

/* ---- constants and attributes ---- */

int64_t gantry__layout_number(const gantry_tensor_t *tensor, int64_t position) {
    if (tensor->dtype == GANTRY_INT32) return ((const int32_t *)tensor->data)[position];
    return ((const int64_t *)tensor->data)[position];
}

const gantry_tensor_t *gantry__layout_constant(const gantry__graph_t *graph, uint32_t value) {
    const gantry__node_t *node = &graph->nodes[graph->values[value].node];
    const gantry_tensor_t *tensor = node->kind == GANTRY__NODE_CONST ? node->tensor : NULL;
    return tensor && tensor->data && tensor->device && tensor->device->synchronous &&
                   tensor->fault_count == 0 && tensor->elements > 0 &&
                   (tensor->dtype == GANTRY_INT32 || tensor->dtype == GANTRY_INT64)
               ? tensor
               : NULL;
}

const gantry_attr_t *gantry__layout_attr(const gantry__node_t *node, const char *name) {
    for (uint32_t i = 0; i < node->op->attr_count; ++i) {
        if (strcmp(node->attrs[i].name, name) == 0) return &node->attrs[i];
    }
    return NULL;
}

bool gantry__layout_is_channels_first(const gantry__node_t *node) {
    const gantry_attr_t *format = gantry__layout_attr(node, "data_format");
    return format && strcmp(format->s, "NCHW") == 0;
}

static int64_t layout_int(const gantry__node_t *node, const char *name) {
    const gantry_attr_t *attr = gantry__layout_attr(node, name);
    return attr ? attr->i : 0;
}

/* Whether each host input that would be changed is a constant, of at most two numbers an axis: Roll
 * may name an axis any number of times. */
static bool has_known_numbers(const gantry__graph_t *graph, const gantry__node_t *node,
                              const gantry__axes_op_t *op) {
    for (uint32_t i = 0; i < op->host_count; ++i) {
        const gantry_tensor_t *numbers =
            gantry__layout_constant(graph, node->inputs[op->first_host + i]);
        if (!numbers || numbers->elements > 2 * GANTRY_MAX_RANK) return false;
    }
    return true;
}

static const gantry_shape_t *layout_input_shape(const gantry__graph_t *graph,
                                                const gantry__node_t *node, uint32_t input) {
    return &graph->values[node->inputs[input]].shape;
}

/* Whether the numbers for each axis are those of all axes of operand and result. */
static bool has_all_axes(const gantry__graph_t *graph, const gantry__node_t *node,
                         const gantry__axes_op_t *op) {
    const gantry_shape_t *in = layout_input_shape(graph, node, 0),
                         *out = &graph->values[node->first_output].shape;
    const int64_t each = op->host == GANTRY__AXES_PAIRS ? 2 : 1;
    for (uint32_t i = 0; op->host != GANTRY__AXES_NAMES && i < op->host_count; ++i) {
        if (gantry_shape_elements(layout_input_shape(graph, node, op->first_host + i)) !=
            each * out->rank)
            return false;
    }
    return node->op->id == GANTRY__OP_ID_BroadcastTo || in->rank == out->rank;
}

/* Whether each list among the attributes has one or two numbers for each axis, or none. */
static bool has_lists_of_axes(const gantry__node_t *node, int32_t rank) {
    for (uint32_t i = 0; i < node->op->attr_count; ++i) {
        const gantry_attr_t *attr = &node->attrs[i];
        if (attr->kind == GANTRY_ATTR_INTS && attr->i != 0 && attr->i != rank &&
            attr->i != 2 * (int64_t)rank)
            return false;
    }
    return true;
}

/* Whether the op has a form that the pass can change. */
static bool has_plain_form(const gantry__graph_t *graph, const gantry__node_t *node) {
    switch (node->op->id) {
        case GANTRY__OP_ID_StridedSlice:
            return layout_int(node, "ellipsis_mask") == 0 &&
                   layout_int(node, "new_axis_mask") == 0 &&
                   layout_int(node, "shrink_axis_mask") == 0;
        case GANTRY__OP_ID_Gather:
            return layout_int(node, "batch_dims") == 0 &&
                   layout_input_shape(graph, node, 1)->rank == 1;
        default: return true;
    }
}

gantry__axes_op_t gantry__layout_op(const gantry__graph_t *graph, const gantry__node_t *node) {
    static const gantry__axes_op_t fixed = {GANTRY__AXES_FIXED, 0, 0, 0};
    gantry__axes_op_t op = gantry__op_axes(node->op);
    if (op.kind == GANTRY__AXES_FIXED || node->input_count == 0) return fixed;
    if (op.kind == GANTRY__AXES_CHANNELS && !gantry__layout_is_channels_first(node)) return fixed;
    if (op.kind == GANTRY__AXES_TRANSPOSE && !gantry__layout_constant(graph, node->inputs[1]))
        return fixed;
    if (op.host_count > 0 && op.first_host == 0) op.first_host = (uint8_t)(node->input_count - 1);
    if (op.host_count > 0 &&
        (op.first_host + op.host_count > node->input_count || !has_known_numbers(graph, node, &op)))
        return fixed;
    if ((op.kind == GANTRY__AXES_AXES || op.kind == GANTRY__AXES_CHANNELS) &&
        !has_lists_of_axes(node, layout_input_shape(graph, node, 0)->rank))
        return fixed;
    if (op.kind == GANTRY__AXES_AXES &&
        !(has_all_axes(graph, node, &op) && has_plain_form(graph, node)))
        return fixed;
    return op;
}

bool gantry__layout_is_operand(const gantry__node_t *node, const gantry__axes_op_t *op,
                               uint32_t input) {
    switch (op->kind) {
        case GANTRY__AXES_ALIKE: return true;
        case GANTRY__AXES_AXES:
            return node->op->id == GANTRY__OP_ID_Concat ? input + 1 < node->input_count
                                                        : input == 0;
        case GANTRY__AXES_CHANNELS:
            return input == 0 || node->op->id != GANTRY__OP_ID_DepthwiseConv2dNative;
        default: return input == 0;
    }
}

/* ---- axes ---- */

uint32_t gantry__layout_reduced(const gantry__graph_t *graph, const gantry__node_t *node,
                                int32_t rank, bool *out_keeps) {
    const gantry_tensor_t *axes = gantry__layout_constant(graph, node->inputs[1]);
    uint32_t mask = 0;
    for (int64_t i = 0; i < axes->elements; ++i) {
        const int64_t axis = gantry__layout_number(axes, i);
        mask |= 1u << (axis < 0 ? axis + rank : axis);
    }
    *out_keeps = layout_int(node, "keep_dims") != 0;
    return mask;
}

gantry__order_t gantry__layout_perm(const gantry__graph_t *graph, const gantry__node_t *node) {
    const gantry_tensor_t *perm = gantry__layout_constant(graph, node->inputs[1]);
    const int64_t rank = perm->elements;
    uint8_t axes[GANTRY_MAX_RANK];
    for (int64_t k = 0; k < GANTRY_MAX_RANK; ++k) {
        const int64_t axis = k < rank ? gantry__layout_number(perm, k) : k;
        axes[k] = (uint8_t)(axis < 0 ? axis + rank : axis);
    }
    return gantry__order_of(axes);
}

/* ---- orders ---- */

/* Whether the order in which a reduction takes its elements does not change its bits. */
static bool is_free_of_order(const gantry__graph_t *graph, const gantry__node_t *node) {
    const uint64_t bit = GANTRY_DTYPE_BIT(graph->values[node->inputs[0]].dtype);
    return (bit & (GANTRY_DTYPES_BOOLS | GANTRY_DTYPES_INTEGERS)) != 0;
}

static bool bias_fits(const gantry__node_t *node, const gantry_shape_t *shape,
                      gantry__order_t order) {
    const uint32_t last = (uint32_t)shape->rank - 1,
                   at = gantry__order_at(order, gantry__layout_is_channels_first(node) ? 1 : last);
    return shape->rank > 2 && (at == last || at == 1);
}

/* Whether a node whose result has its operand's axes takes the order. */
static bool takes_order(const gantry__graph_t *graph, const gantry__node_t *node,
                        const gantry__axes_op_t *op, const gantry_shape_t *shape,
                        gantry__order_t order) {
    const uint32_t last = (uint32_t)shape->rank - 1;
    bool keeps;
    switch (op->kind) {
        case GANTRY__AXES_BIAS: return bias_fits(node, shape, order);
        case GANTRY__AXES_LAST: return gantry__order_at(order, last) == last;
        case GANTRY__AXES_CHANNELS: return order == GANTRY__ORDER_LAST;
        case GANTRY__AXES_NORMALIZE:
            return gantry__order_at(order, 1) == 2 && gantry__order_at(order, 0) == 0;
        case GANTRY__AXES_REDUCE:
            return gantry__order_keeps(shape, order,
                                       gantry__layout_reduced(graph, node, shape->rank, &keeps)) ||
                   is_free_of_order(graph, node);
        default: return true;
    }
}

bool gantry__layout_forward(const gantry__graph_t *graph, const gantry__node_t *node,
                            const gantry__axes_op_t *op, const gantry_shape_t *operand,
                            const gantry_shape_t *result, gantry__order_t order,
                            gantry__order_t *out_order) {
    bool keeps;
    *out_order = order;
    if (order == GANTRY__ORDER_SAME) return true;
    if (op->kind == GANTRY__AXES_RESHAPE)
        return gantry__order_reshape(operand, order, result, out_order);
    if (!takes_order(graph, node, op, operand, order)) return false;
    if (op->kind != GANTRY__AXES_REDUCE) return true;
    const uint32_t reduced = gantry__layout_reduced(graph, node, operand->rank, &keeps);
    if (!keeps) *out_order = gantry__order_without(order, operand->rank, reduced);
    return true;
}

bool gantry__layout_backward(const gantry__graph_t *graph, const gantry__node_t *node,
                             const gantry__axes_op_t *op, const gantry_shape_t *operand,
                             const gantry_shape_t *result, gantry__order_t order,
                             gantry__order_t *out_order) {
    *out_order = order;
    if (order == GANTRY__ORDER_SAME) return true;
    if (op->kind == GANTRY__AXES_RESHAPE)
        return gantry__order_reshape(result, order, operand, out_order);
    return operand->rank == result->rank && takes_order(graph, node, op, operand, order);
}
