/* SPDX-License-Identifier: Apache-2.0 */
/* The vector loops of the random family, which random_cpu_simd.c defines and random_cpu.c calls.
 * Owner: nothing is owned; `out` is the caller's. Threads: thread-safe for groups that do not
 * overlap. */
#ifndef GANTRY_KERNELS_RANDOM_CPU_H
#define GANTRY_KERNELS_RANDOM_CPU_H

#include "kernels/common/cpu_kernels.h"
#include "kernels/random/random_seed.h"

/* Writes groups [first, first + groups) of the draw to out, which must have room for whole groups;
 * a group has four values, or two of 64 bits. */
#define GANTRY_CPU_RANDOM_LOOP(name) \
    GANTRY_CPU_DECLARE(void, name,   \
                       (const gantry__k_draw_t *draw, int64_t first, int64_t groups, void *out))

GANTRY_CPU_RANDOM_LOOP(uniform_f32);
GANTRY_CPU_RANDOM_LOOP(uniform_f64);
GANTRY_CPU_RANDOM_LOOP(uniform_f16);
GANTRY_CPU_RANDOM_LOOP(uniform_bf16);
GANTRY_CPU_RANDOM_LOOP(normal_f32);
GANTRY_CPU_RANDOM_LOOP(normal_f64);
GANTRY_CPU_RANDOM_LOOP(normal_f16);
GANTRY_CPU_RANDOM_LOOP(normal_bf16);
GANTRY_CPU_RANDOM_LOOP(integers_32);
GANTRY_CPU_RANDOM_LOOP(integers_64);
GANTRY_CPU_RANDOM_LOOP(words_32); /* integers of the whole type */
GANTRY_CPU_RANDOM_LOOP(words_64);

#endif
