/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL, NVIDIA's library of collective operations between cards: its place in this backend. It is
 * opened at run time and named with its version; nothing calls it yet.
 *
 * Owner: the instance holds the table; the library stays loaded. Threads: the caller's lock
 * guards the opening. */
#ifndef GANTRY_CUDA_NCCL_H
#define GANTRY_CUDA_NCCL_H

#include "cuda/cuda_library.h"

typedef unsigned int gantry__nccl_result_t;

enum { GANTRY__NCCL_SUCCESS = 0 };

typedef struct gantry__nccl_t {
    gantry__cuda_library_t library;
    gantry__nccl_result_t (*ncclGetVersion)(int *out_version);
} gantry__nccl_t;

/* Opens option GANTRY_CUDA_NCCL when set, else libnccl.so.2, on the first call. Its absence is
 * no failure. */
void gantry__nccl_open(const gantry_host_t *host, gantry__nccl_t *nccl);

#endif
