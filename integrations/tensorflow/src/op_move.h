/* SPDX-License-Identifier: Apache-2.0 */
/* Concat, Pack and Transpose of tensors with more than GANTRY_MAX_RANK dimensions. A concatenation
 * has three for Gantry: those before the axis, the axis, and those after it. A transposition has as
 * many as do not stay neighbours:
 *
 *     [2, 3, 1, 4, 5, 1, 2, 2, 3]    perm 3, 4, 6, 7, 8, 0, 1, 2, 5
 *     [6,       240]                 perm 1, 0
 *
 * Owner: the call owns its tensors. Threads: thread-safe for different calls. */
#ifndef GANTRY_TENSORFLOW_OP_MOVE_H
#define GANTRY_TENSORFLOW_OP_MOVE_H

#include "bridge.h"
#include "op_table.h"

/* Each computes its op with TensorFlow's inputs, and sets output 0. attrs must be Gantry's. */
void op_move_concat(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                    size_t attr_count);
void op_move_pack(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                  size_t attr_count);
void op_move_transpose(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                       size_t attr_count);

#endif
