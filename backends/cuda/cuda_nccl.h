/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL, NVIDIA's library of collective operations between cards: opened at run time, and the kernel
 * of NcclAllReduce.
 *
 * Owner: the instance holds the table; the library stays loaded. Threads: the instance's lock must
 * guard the opening, and the state's lock the calls of the library. */
#ifndef GANTRY_CUDA_NCCL_H
#define GANTRY_CUDA_NCCL_H

#include "cuda/cuda_api.h"
#include "cuda/cuda_library.h"

typedef unsigned int gantry__nccl_result_t;
typedef struct ncclComm *gantry__nccl_comm_t;

enum { GANTRY__NCCL_SUCCESS = 0 };
enum {
    GANTRY__NCCL_INT32 = 2,
    GANTRY__NCCL_INT64 = 4,
    GANTRY__NCCL_FLOAT16 = 6,
    GANTRY__NCCL_FLOAT32 = 7,
    GANTRY__NCCL_FLOAT64 = 8,
    GANTRY__NCCL_BFLOAT16 = 9
};
enum { GANTRY__NCCL_SUM = 0, GANTRY__NCCL_PROD = 1, GANTRY__NCCL_MAX = 2, GANTRY__NCCL_MIN = 3 };

/* X(function, parameters): each returns a gantry__nccl_result_t. */
#define GANTRY__NCCL_FUNCTIONS(X)                                                        \
    X(ncclGetVersion, (int *out_version))                                                \
    X(ncclCommInitAll, (gantry__nccl_comm_t * out_comms, int count, const int *devices)) \
    X(ncclCommDestroy, (gantry__nccl_comm_t comm))                                       \
    X(ncclGroupStart, (void))                                                            \
    X(ncclGroupEnd, (void))                                                              \
    X(ncclAllReduce, (const void *send, void *receive, size_t count, unsigned int type,  \
                      unsigned int op, gantry__nccl_comm_t comm, gantry__cu_stream_t stream))

struct gantry__nccl_group_t;
struct gantry__nccl_clique_t;

typedef struct gantry__nccl_t {
    gantry__cuda_library_t library;
    const char *(*ncclGetErrorString)(gantry__nccl_result_t result);
#define GANTRY__NCCL_SLOT(function, parameters) gantry__nccl_result_t(*function) parameters;
    GANTRY__NCCL_FUNCTIONS(GANTRY__NCCL_SLOT)
#undef GANTRY__NCCL_SLOT
    struct gantry__nccl_group_t *groups;   /* calls that wait for other cards */
    struct gantry__nccl_clique_t *cliques; /* cards that have computed together */
} gantry__nccl_t;

/* Opens option GANTRY_CUDA_NCCL when set, else libnccl.so.2, on the first call. A missing library
 * is no failure. */
void gantry__nccl_open(const gantry_host_t *host, gantry__nccl_t *nccl);

/* ---- cuda_nccl_reduce.c ---- */

/* Whether NcclAllReduce can run on the instance's cards, because NCCL only knows primary contexts.
 * It opens the library. */
bool gantry__nccl_serves(gantry_backend_instance_t *instance);
/* Ends what NCCL holds of a device; it must be called before the device closes. */
void gantry__nccl_forget(gantry_backend_device_t *device);
extern const gantry_kernel_def_t gantry__nccl_kernel;

#endif
