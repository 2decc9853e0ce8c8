/* SPDX-License-Identifier: Apache-2.0 */
/* Opens cuDNN and judges its version (cuda_cudnn.h). */
#include "cuda/cudnn/cuda_cudnn.h"

#include <stdio.h>

#include "cuda/cuda_names.h"

static unsigned cuda_cudnn_ask_version(void *table, unsigned *out_version) {
    const gantry__cudnn_t *cudnn = table;
    *out_version = (unsigned)cudnn->cudnnGetVersion();
    return 0;
}

static const gantry__library_symbol_t cuda_cudnn_symbols[] = {
    {"cudnnGetVersion", offsetof(gantry__cudnn_t, cudnnGetVersion)},
    {"cudnnGetCudartVersion", offsetof(gantry__cudnn_t, cudnnGetCudartVersion)},
    {"cudnnGetErrorString", offsetof(gantry__cudnn_t, cudnnGetErrorString)},
    {"cudnnGetLastErrorString", offsetof(gantry__cudnn_t, cudnnGetLastErrorString)},
#define SYMBOL(function, parameters) {#function, offsetof(gantry__cudnn_t, function)},
    GANTRY__CUDNN_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

/* The library's parts are files of their own, which it opens when it needs them. */
static void cuda_cudnn_check_parts(gantry__cudnn_t *cudnn) {
    gantry__cuda_library_t *library = &cudnn->library;
    const gantry__cudnn_status_t status = cudnn->cudnnGraphVersionCheck();
    library->is_usable = status == GANTRY__CUDNN_SUCCESS;
    if (!library->is_usable)
        (void)snprintf(library->reason, sizeof library->reason,
                       "%.200s has parts of another version: %.100s (%u)", library->name,
                       cudnn->cudnnGetErrorString(status), status);
}

void gantry__cudnn_open(const gantry_host_t *host, const gantry__cuda_symbols_t *cu,
                        gantry__cudnn_t *cudnn) {
    static const gantry__cuda_wanted_t wanted = {
        .name = "cuDNN",
        .option = "GANTRY_CUDA_CUDNN",
        .candidate = GANTRY__CUDA_CUDNN,
        .symbols = cuda_cudnn_symbols,
        .symbol_count = sizeof cuda_cudnn_symbols / sizeof cuda_cudnn_symbols[0],
        .oldest = 90000,
        .beyond = 100000,
        .ask_version = cuda_cudnn_ask_version,
    };
    static const gantry__cuda_file_t file = {.name = "cuDNN"};
    gantry__cuda_library_t *library = &cudnn->library;
    const bool is_first = !library->is_tried;
    gantry__cuda_library_place(host, &wanted, cudnn, library);
    if (!is_first || !library->is_usable) return;
    library->is_usable =
        gantry__cuda_library_suits(&file, library->name, (int)cudnn->cudnnGetCudartVersion(),
                                   cu->name, cu->version, library->reason, sizeof library->reason);
    if (library->is_usable) cuda_cudnn_check_parts(cudnn);
}
