/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of com.microsoft share.
 *
 * Owner: the scopes of the call. Threads: as the call. */
#ifndef GANTRY_ONNX_LOWER_CONTRIB_H
#define GANTRY_ONNX_LOWER_CONTRIB_H

#include "onnx/lower/lower.h"

/* A scalar of x's type. */
const gantry_tensor_t *gantry__onnx_like(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         double value);
/* Output 0 of another row's function, with the attributes of this node and these inputs. */
gantry_status_t gantry__onnx_lower_inner(gantry__onnx_call_t *call, gantry__onnx_lower_fn lower,
                                         const gantry_tensor_t *const *inputs, size_t input_count,
                                         const gantry_tensor_t **out);
/* Moves the channels of images to dimension 1, or back to the end. */
const gantry_tensor_t *gantry__onnx_move_channels(gantry__onnx_call_t *call,
                                                  const gantry_tensor_t *x, bool to_front);
/* Bytes [..., n] as numbers of so many bits, [..., n * 8 / bits], the lowest bits first. */
const gantry_tensor_t *gantry__onnx_unpack_bits(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *bytes, int64_t bits);
/* int8 numbers from -8 to 7, [..., 2 n], as bytes of two, 8 more than each. */
const gantry_tensor_t *gantry__onnx_pack_pairs(gantry__onnx_call_t *call, const gantry_tensor_t *x);

#endif
