#include "cuda/cuda_nccl.h"

#include <stdio.h>

static void ask_version(gantry__nccl_t *nccl, const char *name, const char *file) {
    gantry__cuda_library_t *library = &nccl->library;
    int version = 0;
    gantry__nccl_result_t native = nccl->ncclGetVersion(&version);

    if (native != GANTRY__NCCL_SUCCESS || version < 0) {
        snprintf(library->reason, sizeof library->reason, "%.200s does not tell its version (%u)", file, native);
        return;
    }
    gantry__cuda_library_judge(library, name, file, (unsigned)version, GANTRY__NCCL_OLDEST);
}

void gantry__nccl_open(const gantry_host_t *host, gantry__nccl_t *nccl) {
    static const char *const candidates[] = {"libnccl.so.2"};
    static const gantry__cuda_symbol_t symbols[] = {{"ncclGetVersion", offsetof(gantry__nccl_t, ncclGetVersion)}};
    static const gantry__cuda_wanted_t wanted = {"NCCL", "NCCL", "GANTRY_CUDA_NCCL", candidates, 1, symbols, 1};
    gantry__cuda_library_t *library = &nccl->library;
    char file[GANTRY__CUDA_FILE_BYTES];

    if (library->is_tried) {
        return;
    }
    library->is_tried = 1;
    if (gantry__cuda_library_load(host, &wanted, nccl, file, library->reason, sizeof library->reason)) {
        ask_version(nccl, wanted.name, file);
    }
}
