/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops and Fill of tensors with more than GANTRY_MAX_RANK dimensions. Neighbours that
 * each input has, or lacks and repeats, are one dimension for Gantry:
 *
 *     [2, 1, 3, 2, 1, 2, 3, 1, 2] + [2, 3, 1, 2]    broadcast
 *     [12,         2, 3,    2]    + [2, 3,    2]    the first has a dimension more, of 12
 *
 * Owner: the call owns its tensors. Threads: thread-safe for different calls. */
#ifndef GANTRY_TENSORFLOW_OP_FLAT_H
#define GANTRY_TENSORFLOW_OP_FLAT_H

#include "bridge.h"
#include "op_table.h"

/* Computes an elementwise op with TensorFlow's inputs, and sets output 0. attrs must be
 * Gantry's. */
void op_flat_compute(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                     size_t attr_count);
/* The same for Fill, whose input 0 lists the dimensions. */
void op_flat_fill(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                  size_t attr_count);

#endif
