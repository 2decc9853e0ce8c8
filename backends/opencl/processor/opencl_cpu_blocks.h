/* SPDX-License-Identifier: Apache-2.0 */
/* Block sizes of the matrix product for processors (opencl_cpu_matmul.c): those that come with it,
 * or those that were measured on the device and are in the tuning file as "depth=512 rows=120
 * columns=1024 direct=24".
 *
 * Any sizes within the bounds give right products; depth decides where partial sums are rounded.
 *
 * Owner: plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_CPU_BLOCKS_H
#define GANTRY_OPENCL_CPU_BLOCKS_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

typedef struct gantry__opencl_cpu_blocks_t {
    int64_t depth;   /* kc: longer blocks mean fewer passes over c */
    int64_t rows;    /* mc: those of the packed block of a */
    int64_t columns; /* nc: those of the packed block of b */
    int64_t direct;  /* b is not packed up to so many panels of a */
} gantry__opencl_cpu_blocks_t;

/* For a core with at least 32 KiB of first-level and 512 KiB of second-level cache. */
#define GANTRY__OPENCL_CPU_BLOCKS ((gantry__opencl_cpu_blocks_t){512, 120, 1024, 24})

/* Returns false, with the reason, and leaves *out as it was, if these are no such sizes. */
bool gantry__opencl_cpu_blocks_read(const char *values, gantry__opencl_cpu_blocks_t *out,
                                    char *reason, size_t reason_bytes);
/* The device's sizes for an element type. A wrong record is left out with a warning. */
gantry__opencl_cpu_blocks_t gantry__opencl_cpu_blocks_find(const gantry_host_t *host,
                                                           const gantry_device_info_t *info,
                                                           int32_t dtype);

#endif
