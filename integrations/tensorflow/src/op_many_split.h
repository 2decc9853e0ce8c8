/* SPDX-License-Identifier: Apache-2.0 */
/* Unpack, Split and SplitV into more outputs than a call of Gantry returns, or of tensors with more
 * dimensions than Gantry's: one slice each. Errors are those of Gantry's ops.
 *
 * Owner: the call owns its tensors. Threads: thread-safe for different calls. */
#ifndef GANTRY_TENSORFLOW_OP_MANY_SPLIT_H
#define GANTRY_TENSORFLOW_OP_MANY_SPLIT_H

#include "bridge.h"

/* Each computes the op with TensorFlow's inputs and sets its `count` outputs. */
void op_many_unpack(bridge_call_t *call, int64_t axis, int count);
void op_many_split(bridge_call_t *call, int count);
void op_many_split_v(bridge_call_t *call, int count);

#endif
