/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/cuda_cudnn.h"

static unsigned cuda_cudnn_ask_version(void *table, unsigned *out_version) {
    const gantry__cudnn_t *cudnn = table;
    *out_version = (unsigned)cudnn->cudnnGetVersion();
    return 0;
}

static const gantry__library_symbol_t version_symbol = {"cudnnGetVersion",
                                                        offsetof(gantry__cudnn_t, cudnnGetVersion)};

void gantry__cudnn_open(const gantry_host_t *host, gantry__cudnn_t *cudnn) {
    static const gantry__cuda_wanted_t wanted = {
        .name = "cuDNN",
        .option = "GANTRY_CUDA_CUDNN",
        .candidate = "libcudnn_graph.so.9",
        .symbols = &version_symbol,
        .symbol_count = 1,
        .oldest = 90000,
        .ask_version = cuda_cudnn_ask_version,
    };
    gantry__cuda_library_place(host, &wanted, cudnn, &cudnn->library);
}
