/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds how far the host runs ahead of a device. TensorFlow's threads enqueue kernels as fast as
 * they can, and the first read then waits for all of them: 5 s of products of 512 x 512 left over
 * two minutes of work in PoCL's queue. CUDA's own queue makes the host wait, OpenCL's do not.
 *
 * Owner: the marks live as long as the process. Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_PACE_H
#define GANTRY_TENSORFLOW_PACE_H

#include <stdint.h>

/* Must be called after a kernel was enqueued on this device. It waits while more than a thousand
 * older ones have not ended. */
void pace_count(uint32_t device);

#endif
