/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding to floats of 4 and 8 bits that Gantry does not have. Their numbers are in float32.
 *
 * Owner: the scope that is given. Threads: as the call. */
#ifndef GANTRY_ONNX_SMALL_FLOAT_H
#define GANTRY_ONNX_SMALL_FLOAT_H

#include "onnx/graph/element.h"
#include "onnx/lower/parts.h"

/* The numbers of x rounded to those of a type, in float32: ties to even, and powers of two as the
 * attribute round_mode says. saturates: numbers beyond the largest one become it; otherwise they
 * are NaN. */
const gantry_tensor_t *gantry__onnx_round_small(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *x,
                                                const gantry__onnx_small_float_t *type,
                                                bool saturates);

#endif
