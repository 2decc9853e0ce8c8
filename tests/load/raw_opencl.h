/* SPDX-License-Identifier: Apache-2.0 */
/* A plain OpenCL program that does in one cycle what a runtime does in its life: what of the
 * driver's memory it costs is not ours.
 *
 * Links OpenCL's loader; nothing of Gantry. One thread. */
#ifndef TESTS_LOAD_RAW_OPENCL_H
#define TESTS_LOAD_RAW_OPENCL_H

#include <stdbool.h>

#define RAW_PROGRAMS 32

/* What a cycle does: so many programs from binaries with a kernel each, launches, transfers with
 * events. */
typedef struct raw_work_t {
    unsigned programs, launches, transfers;
} raw_work_t;

/* Finds the first device, builds the programs' binaries; false with the reason printed. */
bool raw_opencl_open(const raw_work_t *work);
/* Context, three queues, buffer, pinned buffer, programs, kernels, launches, transfers, events;
 * all released. False after a failure. */
bool raw_opencl_cycle(const raw_work_t *work);
void raw_opencl_close(void);

#endif
