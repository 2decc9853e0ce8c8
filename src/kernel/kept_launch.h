/* SPDX-License-Identifier: Apache-2.0 */
/* The launch of a kernel call, kept for calls that differ only in the places of their tensors
 * (host/repeat.h).
 *
 * Owner: whoever keeps it; the kernel belongs to its program cache. Threads: immutable once it is
 * shared. */
#ifndef GANTRY_KERNEL_KEPT_LAUNCH_H
#define GANTRY_KERNEL_KEPT_LAUNCH_H

#include <gantry/backend_abi.h>

#define GANTRY__KEPT_INPUTS 3
#define GANTRY__KEPT_SCALAR_BYTES 96

typedef struct gantry__kept_launch_t {
    gantry_backend_kernel_t *kernel; /* NULL: the call has no launch that repeats */
    gantry_launch_t launch;          /* without its arguments, which are of each call */
    uint32_t offsets_at;             /* the first offset of a tensor in the scalar */
    uint32_t scalar_bytes;
    _Alignas(8) unsigned char scalar[GANTRY__KEPT_SCALAR_BYTES];
} gantry__kept_launch_t;

#endif
