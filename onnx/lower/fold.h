/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: a BatchNormalization, and a product or a sum with constants, that alone reads the result
 * of a convolution becomes part of its filter and its bias.
 *
 *     scale' = scale / sqrt(var + epsilon)
 *     filter' = filter * scale'          of each output
 *     bias' = (bias - mean) * scale' + B
 *
 * Only float32 filters of the file are folded, so that their sizes are known, and the folded filter
 * is made once, as any prepared form. Factors are computed in float64. The result has other last
 * bits than the nodes one by one.
 *
 * Owner: the plan has the chains. Threads: as the plan and the call. */
#ifndef GANTRY_ONNX_FOLD_H
#define GANTRY_ONNX_FOLD_H

#include "onnx/lower/lower.h"
#include "onnx/lower/plan.h"

/* Finds what is folded: plan->next_folded and plan->is_folded. */
gantry_status_t gantry__onnx_find_folds(gantry__onnx_plan_t *plan);
/* The value that the chain of a node at a position ends with; NO_VALUE: it has none. */
gantry__onnx_value_t gantry__onnx_fold_result(const gantry__onnx_plan_t *plan, size_t position);

/* The filter of the call, made in scope, whose outputs are along an axis; w itself without a
 * chain. */
const gantry_tensor_t *gantry__onnx_folded_filter(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                  const gantry_tensor_t *w, int32_t axis);
/* The bias of the call; NULL: it has none. */
const gantry_tensor_t *gantry__onnx_folded_bias(gantry__onnx_call_t *call);

#endif
