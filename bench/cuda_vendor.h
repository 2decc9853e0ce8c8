/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's libraries called directly, as baselines on a card: the driver, NVRTC, cuBLASLt and NVML.
 * They are opened at run time; the variables GANTRY_CUDA_LIBRARY, _NVRTC, _CUBLAS and _NVML name
 * other files. Only the functions in use are declared.
 *
 * A card is opened with its primary context, which Gantry uses as well. The context is current in
 * the opening thread until the card is closed. Libraries stay loaded. A failure prints its reason
 * to standard error. Threads: externally synchronised. */
#ifndef GANTRY_BENCH_CUDA_VENDOR_H
#define GANTRY_BENCH_CUDA_VENDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t bench_address_t; /* of a card's memory */

/* X(name, arguments); all return int, 0 for success. */
#define BENCH_CUDA_SYMBOLS(X)                                                                   \
    X(cuInit, (unsigned flags))                                                                 \
    X(cuDriverGetVersion, (int *version))                                                       \
    X(cuDeviceGetCount, (int *count))                                                           \
    X(cuDeviceGet, (int *device, int ordinal))                                                  \
    X(cuDeviceGetName, (char *name, int bytes, int device))                                     \
    X(cuDeviceGetUuid_v2, (unsigned char uuid[16], int device))                                 \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                            \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                   \
    X(cuDevicePrimaryCtxRelease_v2, (int device))                                               \
    X(cuCtxPushCurrent_v2, (void *context))                                                     \
    X(cuCtxPopCurrent_v2, (void **context))                                                     \
    X(cuMemAlloc_v2, (bench_address_t * address, size_t bytes))                                 \
    X(cuMemFree_v2, (bench_address_t address))                                                  \
    X(cuMemcpyHtoDAsync_v2,                                                                     \
      (bench_address_t target, const void *source, size_t bytes, void *stream))                 \
    X(cuMemcpyDtoHAsync_v2, (void *target, bench_address_t source, size_t bytes, void *stream)) \
    X(cuMemcpyDtoDAsync_v2,                                                                     \
      (bench_address_t target, bench_address_t source, size_t bytes, void *stream))             \
    X(cuStreamCreateWithPriority, (void **stream, unsigned flags, int priority))                \
    X(cuStreamDestroy_v2, (void *stream))                                                       \
    X(cuStreamSynchronize, (void *stream))                                                      \
    X(cuStreamBeginCapture_v2, (void *stream, unsigned mode))                                   \
    X(cuStreamEndCapture, (void *stream, void **graph))                                         \
    X(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))        \
    X(cuGraphLaunch, (void *exec, void *stream))                                                \
    X(cuGraphExecDestroy, (void *exec))                                                         \
    X(cuGraphDestroy, (void *graph))                                                            \
    X(cuModuleLoadDataEx,                                                                       \
      (void **module, const void *image, unsigned count, int *options, void **values))          \
    X(cuModuleUnload, (void *module))                                                           \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                   \
    X(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,       \
                       unsigned block_x, unsigned block_y, unsigned block_z,                    \
                       unsigned shared_bytes, void *stream, void **arguments, void **extra))

#define BENCH_NVRTC_SYMBOLS(X)                                                              \
    X(nvrtcGetNumSupportedArchs, (int *count))                                              \
    X(nvrtcGetSupportedArchs, (int *capabilities))                                          \
    X(nvrtcCreateProgram, (void **program, const char *text, const char *name, int headers, \
                           const char *const *texts, const char *const *names))             \
    X(nvrtcCompileProgram, (void *program, int options, const char *const *texts))          \
    X(nvrtcGetCUBINSize, (void *program, size_t *bytes))                                    \
    X(nvrtcGetCUBIN, (void *program, char *image))                                          \
    X(nvrtcGetPTXSize, (void *program, size_t *bytes))                                      \
    X(nvrtcGetPTX, (void *program, char *image))                                            \
    X(nvrtcDestroyProgram, (void **program))

#define BENCH_CUBLAS_SYMBOLS(X)                                                                 \
    X(cublasLtCreate, (void **handle))                                                          \
    X(cublasLtDestroy, (void *handle))                                                          \
    X(cublasLtMatmulDescCreate, (void **description, int compute, int scale_type))              \
    X(cublasLtMatmulDescDestroy, (void *description))                                           \
    X(cublasLtMatrixLayoutCreate,                                                               \
      (void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading))              \
    X(cublasLtMatrixLayoutDestroy, (void *layout))                                              \
    X(cublasLtMatmulPreferenceCreate, (void **preference))                                      \
    X(cublasLtMatmulPreferenceDestroy, (void *preference))                                      \
    X(cublasLtMatmulPreferenceSetAttribute,                                                     \
      (void *preference, int attribute, const void *value, size_t bytes))                       \
    X(cublasLtMatmulAlgoGetHeuristic,                                                           \
      (void *handle, void *description, void *a, void *b, void *c, void *d, void *preference,   \
       int wanted, void *choices, int *found))                                                  \
    X(cublasLtMatmul,                                                                           \
      (void *handle, void *description, const void *alpha, const void *a, void *a_layout,       \
       const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d, \
       void *d_layout, const void *algorithm, void *workspace, size_t workspace_bytes,          \
       void *stream))

#define BENCH_NVML_SYMBOLS(X)                                     \
    X(nvmlInit_v2, (void))                                        \
    X(nvmlShutdown, (void))                                       \
    X(nvmlDeviceGetHandleByUUID, (const char *uuid, void **card)) \
    X(nvmlDeviceGetMemoryInfo, (void *card, uint64_t total_free_used[3]))

#define BENCH_CUDA_SLOT(name, arguments) int(*name) arguments;
typedef struct bench_cuda_t {
    int driver_version; /* 1000 * major + 10 * minor */
    BENCH_CUDA_SYMBOLS(BENCH_CUDA_SLOT)
} bench_cuda_t;
typedef struct bench_nvrtc_t {
    BENCH_NVRTC_SYMBOLS(BENCH_CUDA_SLOT)
} bench_nvrtc_t;
typedef struct bench_cublas_t {
    BENCH_CUBLAS_SYMBOLS(BENCH_CUDA_SLOT)
} bench_cublas_t;
typedef struct bench_nvml_t {
    BENCH_NVML_SYMBOLS(BENCH_CUDA_SLOT)
} bench_nvml_t;

bool bench_cuda_open(bench_cuda_t *cuda); /* also cuInit */
bool bench_nvrtc_open(bench_nvrtc_t *nvrtc, int driver_version);
bool bench_cublas_open(bench_cublas_t *cublas, int driver_version);

#define BENCH_UUID_BYTES 48
/* "GPU-01234567-89ab-..." and "0000:65:00.0". */
void bench_cuda_uuid(const bench_cuda_t *cuda, int device, char out[BENCH_UUID_BYTES]);
void bench_cuda_pci(const bench_cuda_t *cuda, int device, char out[32]);

/* Bytes of the card's memory that all processes use, by NVML; -1 without NVML. Makes no context. */
int64_t bench_card_used_bytes(const char *uuid);

/* ---- a card ---- */

typedef struct bench_card_t {
    bench_cuda_t cuda;
    int device;
    int compute_capability; /* 90 for 9.0 */
    void *context, *stream;
} bench_card_t;

/* Opens a card; if uuid is NULL, the first one. The caller must close it, after a failure, too. */
bool bench_card_open(bench_card_t *card, const char *uuid);
void bench_card_close(bench_card_t *card); /* also one whose opening failed */

/* Returns the address, or 0 after printing the driver's code to standard error. */
bench_address_t bench_card_alloc(const bench_card_t *card, size_t bytes);
void bench_card_free(const bench_card_t *card, bench_address_t address); /* 0 is allowed */
/* waits */
bool bench_card_write(const bench_card_t *card, bench_address_t target, const void *source,
                      size_t bytes);
/* waits */
bool bench_card_read(const bench_card_t *card, void *target, bench_address_t source, size_t bytes);
bool bench_card_wait(const bench_card_t *card);

/* A kernel, compiled by NVRTC, that adds two tensors by arguments of the kinds, number and sizes
 * that Gantry's add has, and four tensors of 4 elements, one after another: 1 to 4, 5 to 8, and two
 * for results. */
typedef struct bench_small_add_t {
    const bench_card_t *card;
    void *module, *function;
    bench_address_t x;
} bench_small_add_t;

bool bench_small_add_open(bench_small_add_t *add, const bench_card_t *card);
void bench_small_add_close(bench_small_add_t *add);          /* also one whose opening failed */
bool bench_small_add_launch(const bench_small_add_t *add);   /* the first two, into the third */
bool bench_small_add_is_right(const bench_small_add_t *add); /* waits */

/* A graph of `count` such launches; each adds the first tensor to what the last one made. */
typedef struct bench_small_graph_t {
    const bench_small_add_t *add;
    void *exec;
    int count;
} bench_small_graph_t;

bool bench_small_graph_open(bench_small_graph_t *graph, const bench_small_add_t *add, int count);
void bench_small_graph_close(bench_small_graph_t *graph); /* also one whose opening failed */
bool bench_small_graph_launch(const bench_small_graph_t *graph);
bool bench_small_graph_is_right(const bench_small_graph_t *graph); /* waits */

#endif
