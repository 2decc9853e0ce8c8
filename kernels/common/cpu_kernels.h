/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's kernels, family by family. Constant data of the library; thread-safe.
 *
 * compute() of a kernel finds its data through gantry_arg_t.data, because all tensors are
 * host-addressable. It does the work before it returns. It asks the device for its SIMD level and
 * its parallel loop, and reports bad data through call->services->fail. */
#ifndef GANTRY_KERNELS_CPU_KERNELS_H
#define GANTRY_KERNELS_CPU_KERNELS_H

#include "kernels/common/cpu_device.h"
#include "kernels/common/cpu_simd.h"
#include "kernels/common/kernel_types.h"

/* The function of compute_x in a list of kernels that both sides expand: here the CPU's. */
#define GANTRY_K_SIDE(function) cpu_##function

#define GANTRY_K_FAMILY(name)                                               \
    extern const gantry_kernel_def_t *const gantry__cpu_##name##_kernels[]; \
    extern const uint32_t gantry__cpu_##name##_kernel_count;
#define GANTRY_K_CPU_FAMILY GANTRY_K_FAMILY
#include "kernels/common/families.def"
#undef GANTRY_K_CPU_FAMILY
#undef GANTRY_K_FAMILY

#endif
