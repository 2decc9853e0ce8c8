/* SPDX-License-Identifier: Apache-2.0 */
/* Vendor libraries called directly, as the baselines: OpenCL's loader, oneDNN, OpenBLAS. Opened at
 * run time; a missing one costs only its own rows. Declares the few functions that are used, so
 * that no vendor header is needed. Libraries must stay loaded, because their threads may outlive
 * their last call. Owner: the caller must close a queue that it opens. Threads: externally
 * synchronised. */
#ifndef GANTRY_BENCH_VENDOR_H
#define GANTRY_BENCH_VENDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file that the environment variable names (NULL: none is read), else the first of the names
 * (NULL-terminated) that can be opened; NULL with dlerror's text. */
void *bench_library_open(const char *variable, const char *const *names);
/* out points to a function pointer; false when the library has no such function. */
bool bench_library_find(void *library, const char *name, void *out);

/* ---- OpenCL ---- */

#define BENCH_CL_DEVICE_NAME 0x102Bu
#define BENCH_CL_ALL_DEVICES UINT64_C(0xFFFFFFFF)

/* X(return type, name, arguments) */
#define BENCH_OPENCL_SYMBOLS(X)                                                                   \
    X(int32_t, clGetPlatformIDs, (uint32_t, void **, uint32_t *))                                 \
    X(int32_t, clGetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *))                 \
    X(int32_t, clGetDeviceInfo, (void *, uint32_t, size_t, void *, size_t *))                     \
    X(void *, clCreateContext,                                                                    \
      (const intptr_t *, uint32_t, void *const *, void *, void *, int32_t *))                     \
    X(int32_t, clReleaseContext, (void *))                                                        \
    X(void *, clCreateCommandQueue, (void *, void *, uint64_t, int32_t *))                        \
    X(int32_t, clReleaseCommandQueue, (void *))                                                   \
    X(void *, clCreateBuffer, (void *, uint64_t, size_t, void *, int32_t *))                      \
    X(int32_t, clReleaseMemObject, (void *))                                                      \
    X(void *, clCreateProgramWithSource,                                                          \
      (void *, uint32_t, const char **, const size_t *, int32_t *))                               \
    X(int32_t, clBuildProgram, (void *, uint32_t, void *const *, const char *, void *, void *))   \
    X(int32_t, clReleaseProgram, (void *))                                                        \
    X(void *, clCreateKernel, (void *, const char *, int32_t *))                                  \
    X(int32_t, clReleaseKernel, (void *))                                                         \
    X(int32_t, clSetKernelArg, (void *, uint32_t, size_t, const void *))                          \
    X(int32_t, clEnqueueNDRangeKernel,                                                            \
      (void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,        \
       void *const *, void **))                                                                   \
    X(int32_t, clEnqueueWriteBuffer,                                                              \
      (void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, void *const *, void **)) \
    X(int32_t, clEnqueueReadBuffer,                                                               \
      (void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *const *, void **))       \
    X(int32_t, clFinish, (void *))

#define BENCH_OPENCL_SLOT(result, name, arguments) result(*name) arguments;
typedef struct bench_opencl_t {
    void *library;
    BENCH_OPENCL_SYMBOLS(BENCH_OPENCL_SLOT)
} bench_opencl_t;

/* false with the reason on standard error. */
bool bench_opencl_open(bench_opencl_t *opencl);

/* A queue of one device with a buffer; a kernel that adds 4 elements; `busy`, whose work-items
 * count to its argument; and `same`, which adds 4 elements in one work-item and has the arguments
 * of Gantry's add. */
typedef struct bench_queue_t {
    bench_opencl_t opencl;
    void *context, *queue, *program, *kernel, *busy, *same, *buffer;
} bench_queue_t;

/* On the first device whose name is `hardware`. false with the reason on standard error, nothing
 * to close. */
bool bench_queue_open(bench_queue_t *queue, const char *hardware, size_t buffer_bytes);
void bench_queue_close(bench_queue_t *queue);

/* ---- matrix products ---- */

typedef int (*bench_dnnl_sgemm_fn)(char transa, char transb, int64_t m, int64_t n, int64_t k,
                                   float alpha, const float *a, int64_t lda, const float *b,
                                   int64_t ldb, float beta, float *c, int64_t ldc);
typedef void (*bench_cblas_sgemm_fn)(int order, int transa, int transb, int m, int n, int k,
                                     float alpha, const float *a, int lda, const float *b, int ldb,
                                     float beta, float *c, int ldc);

typedef struct bench_blas_t {
    void *dnnl_library, *openblas_library; /* never closed */
    bench_dnnl_sgemm_fn dnnl_sgemm;        /* NULL: not here */
    bench_cblas_sgemm_fn cblas_sgemm;      /* NULL: not here */
    char dnnl_name[24], openblas_name[24]; /* with versions */
} bench_blas_t;

void bench_blas_open(bench_blas_t *blas);

#endif
