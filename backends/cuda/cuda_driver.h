/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's driver: its library as a table of functions, opened at run time, and the way from its
 * numbers to Gantry's codes and texts.
 *
 * Nothing links CUDA. Every failure of this backend must go through driver/driver_check.h, so that
 * each text ends with the native name and number. Not here: NVRTC, cuBLAS and NVML have tables of
 * their own.
 *
 * Owner: the instance holds the table; a library stays loaded to the end of the process. Threads:
 * opening is init-only, and a table is constant afterwards; the rest is thread-safe. */
#ifndef GANTRY_CUDA_DRIVER_H
#define GANTRY_CUDA_DRIVER_H

#include <gantry/backend_abi.h>

#include "cuda/cuda_api.h"
#include "driver/native_error.h"

/* ---- functions ---- */

typedef struct gantry__cuda_symbols_t {
    void *library;
    char name[512]; /* the file that was found, for messages */
    int version;    /* the driver's version: 1000 * major + 10 * minor */
#define GANTRY__CUDA_SLOT(function, parameters) gantry__cu_result_t(*function) parameters;
    GANTRY__CUDA_FUNCTIONS(GANTRY__CUDA_SLOT)
    GANTRY__CUDA_NEWER_FUNCTIONS(GANTRY__CUDA_SLOT)
#undef GANTRY__CUDA_SLOT
} gantry__cuda_symbols_t;

/* Opens option GANTRY_CUDA_LIBRARY when set, else libcuda.so.1. Returns Unavailable, with the
 * reason in the text, when it cannot be opened, lacks a function, or is older than 12.0. */
/* The table's slot driver_files: the driver's library. */
uint64_t gantry__cuda_driver_files(const gantry_host_t *host, char *text, uint64_t capacity);
int32_t gantry__cuda_symbols_open(const gantry_host_t *host, gantry__cuda_symbols_t *out_symbols);

/* ---- errors ---- */

/* Numbers that this backend itself tests. */
enum {
    GANTRY__CU_SUCCESS = 0,
    GANTRY__CU_INVALID_VALUE = 1,
    GANTRY__CU_OUT_OF_MEMORY = 2,
    GANTRY__CU_NOT_INITIALIZED = 3,
    GANTRY__CU_NO_DEVICE = 100,
    GANTRY__CU_INVALID_CONTEXT = 201,
    GANTRY__CU_INVALID_HANDLE = 400,
    GANTRY__CU_NOT_READY = 600,
    GANTRY__CU_PEER_ACCESS_ALREADY_ENABLED = 704,
    GANTRY__CU_CONTEXT_IS_DESTROYED = 709,
    GANTRY__CU_CAPTURE_UNSUPPORTED = 900,
    GANTRY__CU_CAPTURED_EVENT = 907
};

extern const gantry__native_errors_t gantry__cuda_errors;
#define GANTRY__DRIVER_ERRORS gantry__cuda_errors
#include "driver/driver_check.h"

#endif
