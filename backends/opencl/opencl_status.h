/* SPDX-License-Identifier: Apache-2.0 */
/* From OpenCL's numbers to Gantry's codes and texts, and the few things every file of this backend
 * asks of its host.
 *
 * Every failure of this backend goes through here, so that each text ends with the native name and
 * number.
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_STATUS_H
#define GANTRY_OPENCL_STATUS_H

#include <gantry/backend_abi.h>

#include "driver/native_error.h"

/* Stands beside OpenCL's numbers, which are not positive: our own host memory is out, which is
 * no fault of a driver. */
#define GANTRY__OPENCL_NO_MEMORY 1

extern const gantry__native_errors_t gantry__opencl_errors;

/* (host, code, native, format, ...): hands the text to the host as it is; returns code. */
#define gantry__opencl_fail(host, ...) \
    gantry__native_fail(host, &gantry__opencl_errors, __VA_ARGS__)
/* (host, native, format, ...): 0 when native is CL_SUCCESS; else its code, with the text followed
 * by ": CL_NAME (number)". */
#define gantry__opencl_check(host, ...) \
    gantry__native_check(host, &gantry__opencl_errors, __VA_ARGS__)

/* "CL_OUT_OF_RESOURCES"; "unknown OpenCL error" for a number no specification has. */
static inline const char *gantry__opencl_error_name(int32_t native) {
    return gantry__native_name(&gantry__opencl_errors, native);
}

static inline int32_t gantry__opencl_error_code(int32_t native) {
    return gantry__native_code(&gantry__opencl_errors, native);
}

/* Zeroed memory of the host; NULL after ResourceExhausted was stated. Given back with
 * gantry__host_free. */
static inline void *gantry__opencl_alloc(const gantry_host_t *host, size_t bytes) {
    return gantry__host_alloc(host, gantry__opencl_errors.domain, bytes);
}

/* A copy of the text; NULL as above. Given back with gantry__host_text_free. */
static inline char *gantry__opencl_text(const gantry_host_t *host, const char *text) {
    return gantry__host_text(host, gantry__opencl_errors.domain, text);
}

#endif
