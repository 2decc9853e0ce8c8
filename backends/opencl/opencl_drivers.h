/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers that an OpenCL loader opens, opened before it does: so that one that is missing or
 * damaged can be told, which loaders pass over in silence, and so that a driver's LLVM is not bound
 * to another one that the process has.
 *
 * Not here: devices (opencl_device.c). Owner: drivers stay loaded to the end of the process.
 * Threads: init-only. */
#ifndef GANTRY_OPENCL_DRIVERS_H
#define GANTRY_OPENCL_DRIVERS_H

#include <gantry/backend_abi.h>

#include "driver/host_call.h"

/* What was left out or counted once, and why: sentences with "; " between them. */
typedef struct gantry__opencl_notes_t {
    char text[1024];
} gantry__opencl_notes_t;

#define GANTRY__OPENCL_MOST_DRIVERS 64

/* The drivers that could be opened, as often as they are listed; those beyond the last slot are
 * left out. */
typedef struct gantry__opencl_drivers_t {
    void *libraries[GANTRY__OPENCL_MOST_DRIVERS];
    uint32_t count;
} gantry__opencl_drivers_t;

/* Adds a sentence, and logs it. */
void gantry__opencl_note(const gantry_host_t *host, gantry__opencl_notes_t *notes, int32_t level,
                         const char *format, ...) GANTRY__HOST_PRINTF(4, 5);

/* Before the library that GANTRY_OPENCL_LIBRARY names is opened: where that is no loader (its file
 * is not called libOpenCL...) but a driver itself, it must not be bound to another LLVM.
 * Unavailable where that cannot be had. */
int32_t gantry__opencl_library_bind(const gantry_host_t *host);

/* Before a loader's first call: opens what OCL_ICD_VENDORS, OPENCL_VENDOR_PATH or
 * /etc/OpenCL/vendors lists, in ocl-icd's reading: a folder of .icd files, one such file, or a
 * driver's library; the Khronos loader takes folders alone. A driver that cannot be opened is a
 * note. Unavailable where a loader that opens the same would end the process. */
int32_t gantry__opencl_drivers_open(const gantry_host_t *host, gantry__opencl_notes_t *notes,
                                    gantry__opencl_drivers_t *out_drivers);

/* The table's slot: the loader, and the drivers that would be opened. */
uint64_t gantry__opencl_driver_files(const gantry_host_t *host, char *text, uint64_t capacity);

#endif
