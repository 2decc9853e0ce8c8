/* SPDX-License-Identifier: Apache-2.0 */
/* What each op does with the order of its operands' axes (layout_perm.h): which orders it takes,
 * the order of its result, and the numbers of axes that it then needs.
 *
 * Owner: constant data, and plain values. Threads: thread-safe. */
#ifndef GANTRY_FUNCTION_LAYOUT_OPS_H
#define GANTRY_FUNCTION_LAYOUT_OPS_H

#include "function/pass/layout_perm.h"
#include "function/trace/graph.h"
#include "op/op_axes.h"

/* What the node's op does, by its attributes, too. The numbers of its host inputs must be known. */
gantry__axes_op_t gantry__layout_op(const gantry__graph_t *graph, const gantry__node_t *node);
/* Whether the node wants channels last, or is a part of such an op. */
bool gantry__layout_wants_last(const gantry__node_t *node);
/* Whether a node that has data_format computes windows. */
bool gantry__layout_is_window(const gantry__node_t *node);
/* Whether input i has the axes of the result, or is what a node of RESHAPE or REDUCE takes. */
bool gantry__layout_is_operand(const gantry__node_t *node, const gantry__axes_op_t *op,
                               uint32_t input);
/* Whether the node has data_format NCHW. */
bool gantry__layout_is_channels_first(const gantry__node_t *node);

/* A constant's numbers, int32 or int64, in host memory. */
int64_t gantry__layout_number(const gantry_tensor_t *tensor, int64_t position);
/* The value's constant if the host has its elements; NULL: not. */
const gantry_tensor_t *gantry__layout_constant(const gantry__graph_t *graph, uint32_t value);
/* The attribute of this name; NULL: the op has none. */
const gantry_attr_t *gantry__layout_attr(const gantry__node_t *node, const char *name);

/* The axes that a node of REDUCE reduces, as a mask, and whether the result keeps them. */
uint32_t gantry__layout_reduced(const gantry__graph_t *graph, const gantry__node_t *node,
                                int32_t rank, bool *out_keeps);
/* The axis of Transpose's operand that each of its result's axes is. */
gantry__order_t gantry__layout_perm(const gantry__graph_t *graph, const gantry__node_t *node);

/* The order of the node's result for operands of this order and the body's shapes; and back. False:
 * the node does not take it. */
bool gantry__layout_forward(const gantry__graph_t *graph, const gantry__node_t *node,
                            const gantry__axes_op_t *op, const gantry_shape_t *operand,
                            const gantry_shape_t *result, gantry__order_t order,
                            gantry__order_t *out_order);
bool gantry__layout_backward(const gantry__graph_t *graph, const gantry__node_t *node,
                             const gantry__axes_op_t *op, const gantry_shape_t *operand,
                             const gantry_shape_t *result, gantry__order_t order,
                             gantry__order_t *out_order);

#endif
