/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes of matrices for kernels of other families. Owner: nothing; both blocks are the
 * caller's, and must not overlap. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MOVE_CPU_H
#define GANTRY_KERNELS_MOVE_CPU_H

#include "kernels/common/cpu_device.h"

/* Copies a tensor of these dimensions to one whose last two are exchanged; size: of an element. */
void gantry__cpu_turn(gantry_backend_device_t *device, uint32_t size, const int64_t dims[3],
                      const void *from, void *to);

#endif
