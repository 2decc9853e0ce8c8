/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN, NVIDIA's library of neural networks' ops: its place in this backend. It is opened at run
 * time and named with its version; no kernel calls it yet.
 *
 * It is the graph library that is opened, where cuDNN 9 keeps its version and the API that kernels
 * will use. libcudnn.so.9 itself only passes calls on, and ends the process when the library to
 * which they belong is missing.
 *
 * Owner: the instance holds the table; the library stays loaded. Threads: externally synchronised;
 * the caller's lock must guard the opening. */
#ifndef GANTRY_CUDA_CUDNN_H
#define GANTRY_CUDA_CUDNN_H

#include "cuda/cuda_library.h"

typedef struct gantry__cudnn_t {
    gantry__cuda_library_t library;
    size_t (*cudnnGetVersion)(void);
} gantry__cudnn_t;

/* Opens option GANTRY_CUDA_CUDNN when set, else libcudnn_graph.so.9, on the first call. A missing
 * library is no failure. */
void gantry__cudnn_open(const gantry_host_t *host, gantry__cudnn_t *cudnn);

#endif
