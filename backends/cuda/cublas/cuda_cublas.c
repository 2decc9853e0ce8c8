/* SPDX-License-Identifier: Apache-2.0 */
/* Opens cuBLASLt and judges its version (cuda_cublas.h). */
#include "driver/library_open.h"
#include "cuda/cublas/cuda_cublas.h"

#include <stdio.h>
#include <string.h>

#include "cuda/cuda_library.h"
#include "cuda/cuda_names.h"

static const gantry__library_symbol_t symbols[] = {
    {"cublasLtGetVersion", offsetof(gantry__cublas_t, cublasLtGetVersion)},
#define SYMBOL(function, parameters) {#function, offsetof(gantry__cublas_t, function)},
    GANTRY__CUBLAS_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

const char *gantry__cublas_status_name(gantry__cublas_status_t native) {
    switch (native) {
        case GANTRY__CUBLAS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
        case GANTRY__CUBLAS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
        case GANTRY__CUBLAS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
        case GANTRY__CUBLAS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
        case GANTRY__CUBLAS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
        case GANTRY__CUBLAS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
        case GANTRY__CUBLAS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
        case GANTRY__CUBLAS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
        case GANTRY__CUBLAS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
        case GANTRY__CUBLAS_LICENSE_ERROR: return "CUBLAS_STATUS_LICENSE_ERROR";
        default: return "unknown cuBLAS status";
    }
}

/* Judges the library. From 12 on, versions count as 10000 * major + 100 * minor + patch, so that
 * 120903 is 12.9.3. */
static void cuda_cublas_judge(gantry__cublas_t *cublas, const gantry__cuda_symbols_t *cu,
                              const gantry__cuda_file_t *wanted, const char *file) {
    size_t version = cublas->cublasLtGetVersion();
    int cuda = (int)(version / 10000 * 1000 + version / 100 % 100 * 10);
    (void)snprintf(cublas->name, sizeof cublas->name, "%.300s (%zu.%zu.%zu)", file, version / 10000,
                   version / 100 % 100, version % 100);
    cublas->is_usable = gantry__cuda_library_suits(wanted, file, cuda, cu->name, cu->version,
                                                   cublas->reason, sizeof cublas->reason);
}

void gantry__cublas_open(const gantry_host_t *host, const gantry__cuda_symbols_t *cu, bool wants_12,
                         gantry__cublas_t *cublas) {
    static const char *const newest_first[] = {GANTRY__CUDA_CUBLAS_13, GANTRY__CUDA_CUBLAS_12};
    static const char *const for_12[] = {GANTRY__CUDA_CUBLAS_12, GANTRY__CUDA_CUBLAS_13};
    const gantry__cuda_file_t wanted = {.name = "cuBLASLt",
                                        .least = " of CUDA 12 or newer",
                                        .option = "GANTRY_CUDA_CUBLAS",
                                        .candidates = wants_12 ? for_12 : newest_first,
                                        .candidate_count = 2};
    char file[GANTRY__CUDA_FILE_BYTES];

    cublas->is_tried = true;
    if (gantry__cuda_library_open(host, &wanted, symbols, sizeof symbols / sizeof symbols[0],
                                  cublas, file, cublas->reason, sizeof cublas->reason)) {
        cuda_cublas_judge(cublas, cu, &wanted, file);
    }
}
