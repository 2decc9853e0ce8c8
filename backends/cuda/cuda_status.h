/* SPDX-License-Identifier: Apache-2.0 */
/* From the driver's numbers to Gantry's codes and texts, and the few things every file of this
 * backend asks of its host.
 *
 * Every failure of this backend goes through here, so that each text ends with the native name and
 * number.
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_CUDA_STATUS_H
#define GANTRY_CUDA_STATUS_H

#include <gantry/backend_abi.h>

#include "cuda/cuda_api.h"
#include "driver/native_error.h"

/* Numbers that this backend looks at itself. */
enum {
    GANTRY__CU_SUCCESS = 0,
    GANTRY__CU_INVALID_VALUE = 1,
    GANTRY__CU_OUT_OF_MEMORY = 2,
    GANTRY__CU_NOT_INITIALIZED = 3,
    GANTRY__CU_NO_DEVICE = 100,
    GANTRY__CU_NOT_READY = 600,
    GANTRY__CU_PEER_ACCESS_ALREADY_ENABLED = 704
};

extern const gantry__native_errors_t gantry__cuda_errors;

/* (host, code, native, format, ...): hands the text to the host as it is; returns code. */
#define gantry__cuda_fail(host, ...) gantry__native_fail(host, &gantry__cuda_errors, __VA_ARGS__)
/* (host, native, format, ...): 0 when native is CUDA_SUCCESS; else its code, with the text followed
 * by ": CUDA_ERROR_NAME (number)". */
#define gantry__cuda_check(host, ...) gantry__native_check(host, &gantry__cuda_errors, __VA_ARGS__)

/* "CUDA_ERROR_OUT_OF_MEMORY"; "unknown CUDA error" for a number that is newer than this list. */
static inline const char *gantry__cuda_error_name(gantry__cu_result_t native) {
    return gantry__native_name(&gantry__cuda_errors, native);
}

static inline int32_t gantry__cuda_error_code(gantry__cu_result_t native) {
    return gantry__native_code(&gantry__cuda_errors, native);
}

/* Zeroed memory of the host; NULL after ResourceExhausted was stated. Given back with
 * gantry__host_free. */
static inline void *gantry__cuda_alloc(const gantry_host_t *host, size_t bytes) {
    return gantry__host_alloc(host, gantry__cuda_errors.domain, bytes);
}

/* A copy of the text; NULL as above. Given back with gantry__host_text_free. */
static inline char *gantry__cuda_text(const gantry_host_t *host, const char *text) {
    return gantry__host_text(host, gantry__cuda_errors.domain, text);
}

#endif
