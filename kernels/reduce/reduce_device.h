/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on devices, for kernels that need one inside, and their rule for few long rows:
 * Softmax, LayerNormRows.
 *
 * Owner: spans belong to the call. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_REDUCE_DEVICE_H
#define GANTRY_KERNELS_REDUCE_DEVICE_H

#include "kernels/reduce/reduce_shape.h"

/* The work-items of a GPU's group that has a long sequence for itself. */
#define GANTRY_REDUCE_FEW_ITEMS 256

/* Whether the device is a GPU with such groups. */
bool gantry__reduce_has_few_items(const gantry_op_call_t *call);

/* Whether `sequences` of this length each get such a group, because they are long, and are no more
 * than the GPU's compute units. The driver may still allow a kernel only smaller groups. */
bool gantry__reduce_are_few(const gantry_op_call_t *call, int64_t sequences, int64_t length);

/* Submits all levels of the tree, from `in`, which has this shape, to `out`. length must be at
 * least 1. */
int32_t gantry__portable_reduce(gantry_op_call_t *call, const gantry__reduce_shape_t *shape,
                                const gantry__reduce_way_t *way, const gantry_span_t *in,
                                const gantry_span_t *out);

GANTRY_ARGMAX_OPS(GANTRY_K_PORTABLE_KERNEL_DECLARATION)
GANTRY_SOFTMAX_OPS(GANTRY_K_PORTABLE_KERNEL_DECLARATION)
GANTRY_LAYER_NORM_OPS(GANTRY_K_PORTABLE_KERNEL_DECLARATION)

#endif
