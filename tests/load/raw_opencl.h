/* SPDX-License-Identifier: Apache-2.0 */
/* A plain OpenCL program whose one cycle does the same work as a runtime's life. The growth of this
 * program is the driver's, not Gantry's.
 *
 * Links OpenCL's loader; nothing of Gantry. One thread. */
#ifndef TESTS_LOAD_RAW_OPENCL_H
#define TESTS_LOAD_RAW_OPENCL_H

#include <stdbool.h>

#define RAW_PROGRAMS 32

/* The work of a cycle: programs from binaries with a kernel each, launches, transfers with
 * events. */
typedef struct raw_work_t {
    unsigned programs, launches, transfers;
} raw_work_t;

/* Finds the first device and builds the programs' binaries; false on failure, with the reason
 * printed. */
bool raw_opencl_open(const raw_work_t *work);
/* Makes and releases a context, three queues, a buffer, a pinned buffer, programs, kernels,
 * launches, transfers and events. False after a failure. */
bool raw_opencl_cycle(const raw_work_t *work);
void raw_opencl_close(void);

#endif
