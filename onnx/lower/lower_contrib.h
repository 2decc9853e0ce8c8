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

#endif
