/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's library as a table of functions, opened at run time.
 *
 * Nothing links CUDA. Not here: NVRTC, cuBLAS and NVML have tables of their own.
 * Owner: the instance holds the table; a library stays loaded to the end of the process. Threads:
 * opening is init-only, a table is constant afterwards. */
#ifndef GANTRY_CUDA_SYMBOLS_H
#define GANTRY_CUDA_SYMBOLS_H

#include <gantry/backend_abi.h>

#include "cuda/cuda_api.h"

typedef struct gantry__cuda_symbols_t {
    void *library;
    char name[256]; /* the file that was found, for messages */
    int version;    /* what the driver can: 1000 * major + 10 * minor */
#define GANTRY__CUDA_SLOT(function, parameters) gantry__cu_result_t(*function) parameters;
    GANTRY__CUDA_FUNCTIONS(GANTRY__CUDA_SLOT)
    GANTRY__CUDA_NEWER_FUNCTIONS(GANTRY__CUDA_SLOT)
#undef GANTRY__CUDA_SLOT
} gantry__cuda_symbols_t;

/* Opens option GANTRY_CUDA_LIBRARY when set, else libcuda.so.1. Unavailable, with the reason in the
 * text, when it cannot be opened, lacks a function, or is older than 12.0. */
int32_t gantry__cuda_symbols_open(const gantry_host_t *host, gantry__cuda_symbols_t *out_symbols);

#endif
