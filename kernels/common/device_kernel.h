/* SPDX-License-Identifier: Apache-2.0 */
/* What a file of kernels for devices that build programs begins with.
 *
 * No state; thread-safe. */
#ifndef GANTRY_KERNELS_DEVICE_KERNEL_H
#define GANTRY_KERNELS_DEVICE_KERNEL_H

#include "kernels/common/device_text.h"
#include "kernels/common/launch.h"
#include "kernels/common/program_options.h"

/* A list of kernels that both sides expand names a function compute_x: here it is this one. */
#define GANTRY_K_SIDE(function) device_##function

#endif
