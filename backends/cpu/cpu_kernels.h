/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's kernels, family by family. Constant data of the library; thread-safe.
 *
 * A kernel's compute() finds its data through gantry_arg_t.data (all tensors are host-addressable),
 * does the work before it returns, asks the device for its SIMD level and its parallel loop, and
 * reports bad data through call->services->fail. */
#ifndef GANTRY_CPU_KERNELS_H
#define GANTRY_CPU_KERNELS_H

#include "cpu/cpu_backend.h"
#include "cpu/cpu_pool.h"
#include "cpu/cpu_simd.h"
#include "portable/kernel_types.h"

extern const gantry_kernel_def_t *const gantry__cpu_elementwise_kernels[];
extern const uint32_t gantry__cpu_elementwise_kernel_count;
extern const gantry_kernel_def_t *const gantry__cpu_random_kernels[];
extern const uint32_t gantry__cpu_random_kernel_count;
extern const gantry_kernel_def_t *const gantry__cpu_reduce_kernels[];
extern const uint32_t gantry__cpu_reduce_kernel_count;
extern const gantry_kernel_def_t *const gantry__cpu_matmul_kernels[];
extern const uint32_t gantry__cpu_matmul_kernel_count;
extern const gantry_kernel_def_t *const gantry__cpu_conv_kernels[];
extern const uint32_t gantry__cpu_conv_kernel_count;
extern const gantry_kernel_def_t *const gantry__cpu_move_kernels[];
extern const uint32_t gantry__cpu_move_kernel_count;

/* Families of items (portable/item_kernel.h). */
#define GANTRY_K_FAMILY(name)                                               \
    extern const gantry_kernel_def_t *const gantry__cpu_##name##_kernels[]; \
    extern const uint32_t gantry__cpu_##name##_kernel_count;
#include "portable/item_families.def"
#undef GANTRY_K_FAMILY

#endif
