/* SPDX-License-Identifier: Apache-2.0 */
/* The first include of a file of kernels for devices that build programs: definitions, launches and
 * texts. Owner: nothing, there is no state. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_DEVICE_KERNEL_H
#define GANTRY_KERNELS_DEVICE_KERNEL_H

#include "kernels/common/device_text.h"
#include "kernels/common/launch.h"
#include "kernels/common/program_options.h"

/* Names the function of compute_x in a list of kernels that both sides expand: here the one of
 * devices. */
#define GANTRY_K_SIDE(function) device_##function

#endif
