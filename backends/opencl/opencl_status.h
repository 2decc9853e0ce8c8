/* From OpenCL's numbers to Gantry's codes and texts, and the few things every file of this backend asks of its host.
 *
 * Every failure of this backend goes through here, so that each text ends with the native name and number.
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_STATUS_H
#define GANTRY_OPENCL_STATUS_H

#include <gantry/backend_abi.h>

#include "shared/native_error.h"

/* Stands beside OpenCL's numbers, which are not positive: our own host memory is out, which is no fault of a driver. */
#define GANTRY__OPENCL_NO_MEMORY 1

/* "CL_OUT_OF_RESOURCES"; "unknown OpenCL error" for a number no specification has. */
const char *gantry__opencl_error_name(int32_t native);
int32_t gantry__opencl_error_code(int32_t native);

/* Hands the text to the host as it is; returns code. */
int32_t gantry__opencl_fail(const gantry_host_t *host, int32_t code, int64_t native, const char *format, ...)
    GANTRY__HOST_PRINTF(4, 5);
/* 0 when native is CL_SUCCESS; else the converter's code, with the text followed by ": CL_NAME (number)". */
int32_t gantry__opencl_check(const gantry_host_t *host, int32_t native, const char *format, ...)
    GANTRY__HOST_PRINTF(3, 4);

/* Zeroed memory of the host; NULL after ResourceExhausted was stated. Given back with gantry__host_free. */
void *gantry__opencl_alloc(const gantry_host_t *host, size_t bytes);
/* A copy of the text; NULL as above. Given back with gantry__host_text_free. */
char *gantry__opencl_text(const gantry_host_t *host, const char *text);

#endif
