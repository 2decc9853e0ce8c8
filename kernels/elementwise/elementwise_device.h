/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of elementwise ops on devices share. Owner: constant data of the library. Threads:
 * thread-safe. */
#ifndef GANTRY_KERNELS_ELEMENTWISE_DEVICE_H
#define GANTRY_KERNELS_ELEMENTWISE_DEVICE_H

#include "kernels/elementwise/elementwise_kernels.h"
#include "kernels/common/work.h"

/* Runs the op of `source` over the plan's operands x and y (which must have one type) and the
 * call's output. */
int32_t gantry__portable_broadcast(gantry_op_call_t *call, const gantry_program_source_t *source,
                                   const gantry__k_plan_t *plan, bool can_fail);
/* The program of Add, for BiasAdd. */
extern const gantry_program_source_t *const gantry__portable_add_source;

/* The kernels of ops that have no line in ops/elementwise.def. */
GANTRY_K_ELEMENTWISE_OTHERS(GANTRY_K_PORTABLE_KERNEL_DECLARATION)

#endif
