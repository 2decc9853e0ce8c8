#include "cuda/cuda_cudnn.h"

void gantry__cudnn_open(const gantry_host_t *host, gantry__cudnn_t *cudnn) {
    static const char *const candidates[] = {"libcudnn_graph.so.9"};
    static const gantry__cuda_symbol_t symbols[] = {{"cudnnGetVersion", offsetof(gantry__cudnn_t, cudnnGetVersion)}};
    static const gantry__cuda_wanted_t wanted = {"cuDNN", "cuDNN", "GANTRY_CUDA_CUDNN", candidates, 1, symbols, 1};
    gantry__cuda_library_t *library = &cudnn->library;
    char file[GANTRY__CUDA_FILE_BYTES];

    if (library->is_tried) {
        return;
    }
    library->is_tried = 1;
    if (gantry__cuda_library_load(host, &wanted, cudnn, file, library->reason, sizeof library->reason)) {
        gantry__cuda_library_judge(library, wanted.name, file, (unsigned)cudnn->cudnnGetVersion(),
                                   GANTRY__CUDNN_OLDEST);
    }
}
