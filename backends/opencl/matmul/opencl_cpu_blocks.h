/* SPDX-License-Identifier: Apache-2.0 */
/* Block sizes of the matrix product for processors (opencl_cpu_matmul.c): those that come with it,
 * or what was measured on the device and kept in the tuning file as "depth=512 rows=120
 * columns=1024 direct=24".
 *
 * Any sizes within the bounds give right products; depth decides where partial sums are rounded.
 * Threads: thread-safe.
 */
#ifndef GANTRY_OPENCL_CPU_BLOCKS_H
#define GANTRY_OPENCL_CPU_BLOCKS_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

typedef struct gantry__opencl_cpu_blocks_t {
    int64_t depth;   /* kc: longer blocks mean fewer passes over c */
    int64_t rows;    /* mc: of the packed block of a */
    int64_t columns; /* nc: of the packed block of b */
    int64_t direct;  /* up to so many panels of a, b is not packed */
} gantry__opencl_cpu_blocks_t;

/* For a core with 32 KiB or more of first and 512 KiB or more of second cache. */
#define GANTRY__OPENCL_CPU_BLOCKS ((gantry__opencl_cpu_blocks_t){512, 120, 1024, 24})

/* 0 with the reason, and *out as it was, when these are not such sizes. */
bool gantry__opencl_cpu_blocks_read(const char *values, gantry__opencl_cpu_blocks_t *out,
                                    char *reason, size_t reason_bytes);
/* The device's for an element type. A wrong record is warned of and left out. */
gantry__opencl_cpu_blocks_t gantry__opencl_cpu_blocks_find(const gantry_host_t *host,
                                                           const gantry_device_info_t *info,
                                                           int32_t dtype);

#endif
