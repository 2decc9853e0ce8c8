/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose lists are longer than a call of Gantry takes (GANTRY_MAX_OP_INPUTS): tf.stack of a
 * hundred rows, tf.unstack into as many. Lists are joined in groups, and split by slices. A tensor
 * that is split may have more dimensions than Gantry's.
 *
 * Owner: the call owns its tensors. Threads: thread-safe for different calls. */
#ifndef GANTRY_TENSORFLOW_OP_MANY_H
#define GANTRY_TENSORFLOW_OP_MANY_H

#include "bridge.h"
#include "op_table.h"

/* Whether the op's list of inputs or outputs is too long for one call. */
bool op_many_is_needed(int input_count, int output_count);
/* Computes the op with TensorFlow's inputs, and sets its outputs. attrs must be Gantry's. */
void op_many_compute(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                     size_t attr_count, int input_count, int output_count);

#endif
