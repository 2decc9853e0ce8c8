/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's kernels, family by family.
 *
 * compute() of a kernel finds its data through gantry_arg_t.data, because all tensors are
 * host-addressable. It must do all its work before it returns. It takes its SIMD level and its
 * parallel loop from the device, and must report bad data through call->services->fail.
 *
 * Owner: constant data of the library. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_KERNELS_H
#define GANTRY_KERNELS_CPU_KERNELS_H

#include "kernels/common/cpu_device.h"
#include "kernels/common/cpu_simd.h"
#include "kernels/common/kernel_types.h"

/* Names the function of compute_x in a list of kernels that both sides expand: here the CPU's. */
#define GANTRY_K_SIDE(function) cpu_##function

#define GANTRY_K_FAMILY(name)                                               \
    extern const gantry_kernel_def_t *const gantry__cpu_##name##_kernels[]; \
    extern const uint32_t gantry__cpu_##name##_kernel_count;
#include "kernels/common/families.def"
#undef GANTRY_K_FAMILY

#endif
