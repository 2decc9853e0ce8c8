/* SPDX-License-Identifier: Apache-2.0 */
/* From OpenCL's numbers to Gantry's codes and texts, and the few services that every file of this
 * backend uses of its host.
 *
 * Every failure of this backend must go through here, so that each text ends with the native name
 * and number.
 *
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_STATUS_H
#define GANTRY_OPENCL_STATUS_H

#include <gantry/backend_abi.h>

#include "driver/native_error.h"

/* A number in addition to OpenCL's, which are not positive: our own host memory is out, which is no
 * fault of a driver. */
#define GANTRY__OPENCL_NO_MEMORY 1

extern const gantry__native_errors_t gantry__opencl_errors;
#define GANTRY__DRIVER_ERRORS gantry__opencl_errors
#include "driver/driver_check.h"

/* The result of a wait, or the status of work that was submitted, as gantry__driver_check states
 * it, with the text 'WHAT "HARDWARE"'. There CL_OUT_OF_RESOURCES means a kernel that failed, not
 * memory. */
int32_t gantry__opencl_check_wait(const gantry_host_t *host, int64_t native, const char *what,
                                  const char *hardware_name);

#endif
