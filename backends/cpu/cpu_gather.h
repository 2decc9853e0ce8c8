/* SPDX-License-Identifier: Apache-2.0 */
/* The index ops of the CPU's move family: Gather and OneHot. Constant data; thread-safe. */
#ifndef GANTRY_CPU_GATHER_H
#define GANTRY_CPU_GATHER_H

#include "portable/move_shape.h"

GANTRY_GATHER_OPS(GANTRY_K_CPU_KERNEL_DECLARATION)

#endif
