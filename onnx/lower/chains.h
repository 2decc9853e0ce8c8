/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of nodes that are folded into a convolution: a BatchNormalization, and a product or a sum
 * with constants, that is the only reader of a convolution or of such a node. Only float32
 * filters of the file have chains, so that their sizes are known; fold.h has what becomes of them.
 *
 * Owner: the plan has the chains. Threads: as the plan. */
#ifndef GANTRY_ONNX_CHAINS_H
#define GANTRY_ONNX_CHAINS_H

#include "onnx/lower/plan.h"

/* Finds what is folded: plan->next_folded and plan->is_folded. */
gantry_status_t gantry__onnx_find_chains(gantry__onnx_plan_t *plan);
/* The value that the chain of a node at a position ends with; NO_VALUE: it has none. */
gantry__onnx_value_t gantry__onnx_chain_result(const gantry__onnx_plan_t *plan, size_t position);
/* A node by its position in the plan. */
const gantry__onnx_node_t *gantry__onnx_node_at(const gantry__onnx_plan_t *plan, size_t position);
/* Whether it is this op of ai.onnx. */
bool gantry__onnx_is_op(const gantry__onnx_node_t *node, const char *op);

#endif
