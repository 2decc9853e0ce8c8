/* SPDX-License-Identifier: Apache-2.0 */
/* A launch that repeats: a kernel of a device states that the launch it makes next is all that its
 * call does, and that calls of equal types, shapes and attributes differ from it only in the places
 * of their tensors. The core may then launch for such calls without compute. It offers this to its
 * own modules, which is why it is no slot of gantry_call_services_t.
 *
 * The arguments of such a launch must be the bases of the inputs, that of output 0, and a scalar,
 * which has the offsets of these tensors in this order, 8 bytes each. Owner: plain values of
 * the caller. Threads: a call belongs to one thread. */
#ifndef GANTRY_HOST_REPEAT_H
#define GANTRY_HOST_REPEAT_H

#include <stdint.h>

/* A bit of gantry_op_call_t.flags: the core keeps such a launch, for which the kernel must set
 * `reserved` to the byte of the scalar where the offsets begin, plus 1. */
#define GANTRY__CALL_KEEPS_LAUNCH (UINT32_C(1) << 30)

#endif
