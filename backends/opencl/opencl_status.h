/* From OpenCL's numbers to Gantry's codes and texts, and the few things every file of this backend asks of its host.
 *
 * Every failure of this backend goes through here, so that each text ends with the native name and number.
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_STATUS_H
#define GANTRY_OPENCL_STATUS_H

#include <gantry/backend_abi.h>

#include "portable/kernel_types.h"

/* Codes of status.h that kernel_types.h does not name. */
enum { GANTRY__OPENCL_UNKNOWN = 2, GANTRY__OPENCL_NOT_FOUND = 5 };

/* Stands beside OpenCL's numbers, which are not positive: our own host memory is out, which is no fault of a driver. */
#define GANTRY__OPENCL_NO_MEMORY 1

#define GANTRY__OPENCL_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* "CL_OUT_OF_RESOURCES"; "unknown OpenCL error" for a number no specification has. */
const char *gantry__opencl_error_name(int32_t native);
int32_t gantry__opencl_error_code(int32_t native);

/* Hands the text to the host as it is; returns code. */
int32_t gantry__opencl_fail(const gantry_host_t *host, int32_t code, int64_t native, const char *format, ...)
    GANTRY__OPENCL_PRINTF(4, 5);
/* 0 when native is CL_SUCCESS; else the converter's code, with the text followed by ": CL_NAME (number)". */
int32_t gantry__opencl_check(const gantry_host_t *host, int32_t native, const char *format, ...)
    GANTRY__OPENCL_PRINTF(3, 4);
void gantry__opencl_log(const gantry_host_t *host, int32_t level, const char *format, ...) GANTRY__OPENCL_PRINTF(3, 4);

/* NULL when unset or empty. */
const char *gantry__opencl_option(const gantry_host_t *host, const char *name);

/* Zeroed memory of the host; NULL after ResourceExhausted was stated. */
void *gantry__opencl_alloc(const gantry_host_t *host, size_t bytes);
/* ptr may be NULL; bytes is what was asked for. */
void gantry__opencl_free(const gantry_host_t *host, void *ptr, size_t bytes);

#endif
