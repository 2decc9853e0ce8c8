/* SPDX-License-Identifier: Apache-2.0 */
/* Moves that kernels of the CPU backend share. Owner: nothing. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MOVE_CPU_H
#define GANTRY_KERNELS_MOVE_CPU_H

#include "kernels/common/cpu_kernels.h"

/* Moves rows, [images, height, width, channels], to the call's result 0, whose channels come
 * first. */
void gantry__cpu_move_to_planes(const gantry_op_call_t *call, const void *rows);

#endif
