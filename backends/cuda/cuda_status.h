/* From the driver's numbers to Gantry's codes and texts, and the few things every file of this backend asks of its
 * host.
 *
 * Every failure of this backend goes through here, so that each text ends with the native name and number.
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_CUDA_STATUS_H
#define GANTRY_CUDA_STATUS_H

#include <gantry/backend_abi.h>

#include "cuda/cuda_api.h"
#include "portable/kernel_types.h"

/* Codes of status.h that kernel_types.h does not name. */
enum { GANTRY__CUDA_UNKNOWN = 2, GANTRY__CUDA_NOT_FOUND = 5 };

/* Numbers that this backend looks at itself. */
enum {
    GANTRY__CU_SUCCESS = 0,
    GANTRY__CU_INVALID_VALUE = 1,
    GANTRY__CU_OUT_OF_MEMORY = 2,
    GANTRY__CU_NO_DEVICE = 100,
    GANTRY__CU_NOT_READY = 600,
    GANTRY__CU_PEER_ACCESS_ALREADY_ENABLED = 704
};

#define GANTRY__CUDA_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* "CUDA_ERROR_OUT_OF_MEMORY"; "unknown CUDA error" for a number that is newer than this list. */
const char *gantry__cuda_error_name(gantry__cu_result_t native);
int32_t gantry__cuda_error_code(gantry__cu_result_t native);

/* Hands the text to the host as it is; returns code. */
int32_t gantry__cuda_fail(const gantry_host_t *host, int32_t code, int64_t native, const char *format, ...)
    GANTRY__CUDA_PRINTF(4, 5);
/* 0 when native is CUDA_SUCCESS; else the converter's code, with the text followed by ": CUDA_ERROR_NAME (number)". */
int32_t gantry__cuda_check(const gantry_host_t *host, gantry__cu_result_t native, const char *format, ...)
    GANTRY__CUDA_PRINTF(3, 4);
void gantry__cuda_log(const gantry_host_t *host, int32_t level, const char *format, ...) GANTRY__CUDA_PRINTF(3, 4);

/* NULL when unset or empty. */
const char *gantry__cuda_option(const gantry_host_t *host, const char *name);

/* Zeroed memory of the host; NULL after ResourceExhausted was stated. */
void *gantry__cuda_alloc(const gantry_host_t *host, size_t bytes);
/* ptr may be NULL; bytes is what was asked for. */
void gantry__cuda_free(const gantry_host_t *host, void *ptr, size_t bytes);

#endif
