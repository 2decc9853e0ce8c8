/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers that an OpenCL loader opens, opened before the loader does it, for two reasons: a
 * driver that is missing or damaged can be reported, while loaders ignore it in silence, and a
 * driver's LLVM is not bound to another one that the process has.
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

/* The drivers that could be opened, as often as they are listed; those after the last slot are left
 * out. */
typedef struct gantry__opencl_drivers_t {
    void *libraries[GANTRY__OPENCL_MOST_DRIVERS];
    uint32_t count;
} gantry__opencl_drivers_t;

/* Adds a sentence, and logs it. */
void gantry__opencl_note(const gantry_host_t *host, gantry__opencl_notes_t *notes, int32_t level,
                         const char *format, ...) GANTRY__HOST_PRINTF(4, 5);

/* Must be called before the library that GANTRY_OPENCL_LIBRARY names is opened. If that is no
 * loader (its file is not called libOpenCL...) but a driver itself, it must not be bound to another
 * LLVM. Returns Unavailable if it would be. */
int32_t gantry__opencl_library_bind(const gantry_host_t *host);

/* Must be called before a loader's first call. It opens what OCL_ICD_VENDORS, OPENCL_VENDOR_PATH or
 * /etc/OpenCL/vendors lists, as ocl-icd reads it: a folder of .icd files, one such file, or a
 * driver's library; the Khronos loader only takes folders. A driver that cannot be opened is a
 * note. Returns Unavailable where a loader that opens the same would end the process. */
int32_t gantry__opencl_drivers_open(const gantry_host_t *host, gantry__opencl_notes_t *notes,
                                    gantry__opencl_drivers_t *out_drivers);

/* The table's slot driver_files: the loader, and the drivers that would be opened. */
uint64_t gantry__opencl_driver_files(const gantry_host_t *host, char *text, uint64_t capacity);

#endif
