/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on devices, for kernels that need one inside: Softmax.
 *
 * Owner: spans belong to the call. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_REDUCE_DEVICE_H
#define GANTRY_KERNELS_REDUCE_DEVICE_H

#include "kernels/reduce/reduce_shape.h"

/* Submits all levels of the tree: `in` of this shape to `out`. length is at least 1. */
int32_t gantry__portable_reduce(gantry_op_call_t *call, const gantry__reduce_shape_t *shape,
                                const gantry__reduce_way_t *way, const gantry_span_t *in,
                                const gantry_span_t *out);

GANTRY_ARGMAX_OPS(GANTRY_K_PORTABLE_KERNEL_DECLARATION)
GANTRY_SOFTMAX_OPS(GANTRY_K_PORTABLE_KERNEL_DECLARATION)
GANTRY_LAYER_NORM_OPS(GANTRY_K_PORTABLE_KERNEL_DECLARATION)

#endif
