/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: what a chain of nodes (chains.h) does to the result of a convolution becomes part of its
 * filter and its bias.
 *
 *     scale' = scale / sqrt(var + epsilon)
 *     filter' = filter * scale'          of each output
 *     bias' = (bias - mean) * scale' + B
 *
 * The folded filter is made once, as any prepared form. Factors are computed in float64. The result
 * has other last bits than the nodes one by one.
 *
 * Owner: the scopes of the call. Threads: as the call. */
#ifndef GANTRY_ONNX_FOLD_H
#define GANTRY_ONNX_FOLD_H

#include "onnx/lower/lower.h"

/* The filter of the call, made in scope, whose outputs are along an axis; w itself without a
 * chain. */
const gantry_tensor_t *gantry__onnx_folded_filter(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                  const gantry_tensor_t *w, int32_t axis);
/* The bias of the call; NULL: it has none. */
const gantry_tensor_t *gantry__onnx_folded_bias(gantry__onnx_call_t *call);

#endif
