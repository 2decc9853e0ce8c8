/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels without device code: ops whose result is their input's memory with another shape. Every
 * device has them. Owner: constant data. Threads: thread-safe. */
#ifndef GANTRY_KERNEL_CORE_KERNELS_H
#define GANTRY_KERNEL_CORE_KERNELS_H

#include <gantry/backend_abi.h>

uint32_t gantry__core_kernels(const gantry_kernel_def_t *const **out_kernels);

#endif
