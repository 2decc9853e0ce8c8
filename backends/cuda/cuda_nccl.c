/* SPDX-License-Identifier: Apache-2.0 */
/* Opens NCCL and judges its version (cuda_nccl.h). */
#include "cuda/cuda_nccl.h"

#include "cuda/cuda_names.h"

static unsigned cuda_nccl_ask_version(void *table, unsigned *out_version) {
    const gantry__nccl_t *nccl = table;
    int version = 0;
    gantry__nccl_result_t native = nccl->ncclGetVersion(&version);
    *out_version = (unsigned)version;
    return native;
}

static const gantry__library_symbol_t symbols[] = {
#define SYMBOL(function, parameters) {#function, offsetof(gantry__nccl_t, function)},
    GANTRY__NCCL_FUNCTIONS(SYMBOL)
#undef SYMBOL
        {"ncclGetErrorString", offsetof(gantry__nccl_t, ncclGetErrorString)}};

/* 2.16.2 is the first version for CUDA 12. */
void gantry__nccl_open(const gantry_host_t *host, gantry__nccl_t *nccl) {
    static const gantry__cuda_wanted_t wanted = {
        .name = "NCCL",
        .option = "GANTRY_CUDA_NCCL",
        .candidate = GANTRY__CUDA_NCCL,
        .symbols = symbols,
        .symbol_count = sizeof symbols / sizeof symbols[0],
        .oldest = 21602,
        .ask_version = cuda_nccl_ask_version,
    };
    gantry__cuda_library_place(host, &wanted, nccl, &nccl->library);
}
