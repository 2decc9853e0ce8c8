/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of tensors with more than GANTRY_MAX_RANK dimensions. Gradients make them: that of
 * tf.tile and tf.repeat is a sum over twice as many dimensions as the tensor has. Neighbours that
 * are reduced alike are one dimension for Gantry:
 *
 *     [32, 1, 12, 2, 12, 1, 16, 1]    sum over 1, 3, 5, 7
 *     [384,       2, 192]             sum over 1
 *
 * Owner: the call owns its tensors. Threads: thread-safe for different calls. */
#ifndef GANTRY_TENSORFLOW_OP_RANK_H
#define GANTRY_TENSORFLOW_OP_RANK_H

#include "bridge.h"
#include "op_table.h"

/* Whether the row is an op that reduces input 0 along the axes of input 1. */
bool op_rank_is_reduction(const op_row_t *row);
/* Computes the reduction with TensorFlow's inputs, and sets output 0. attrs must be Gantry's. */
void op_rank_compute(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                     size_t attr_count);

#endif
