/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the float32 functions of one argument, compiled once per instruction set with the
 * flags of the CPU backend. No state. */
#ifndef GANTRY_MATH_FLOAT32_LOOPS_H
#define GANTRY_MATH_FLOAT32_LOOPS_H

#include "kernels/common/cpu_simd.h"

typedef void (*math_float32_loop_t)(float *restrict y, const float *restrict x, int count);

/* The loops of one argument, in the order of ops/functions.def. */
GANTRY_CPU_DECLARE(const math_float32_loop_t *, math_float32_loops, (void));

#endif
