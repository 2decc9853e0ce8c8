/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses the stand-in for NVIDIA's driver next to Gantry: what it makes is its own,
 * and the stand-in complains if another ends it (stand_in_control_t.program). Functions return the
 * driver's code or the object; each runs with the program's context current. Header only. */
#ifndef TESTS_CUDA_CALLER_H
#define TESTS_CUDA_CALLER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/stand_in_control.h"

#define CUDA_CALLER_LIBRARY GANTRY_TEST_MODULES "/cuda/standin_libcuda.so"
#define CU_STREAM_LEGACY ((void *)1)
#define CU_STREAM_PER_THREAD ((void *)2)

/* name, parameters */
#define CUDA_CALLER_FUNCTIONS(X)                                      \
    X(cuInit, (unsigned))                                             \
    X(cuDevicePrimaryCtxRetain, (void **, int))                       \
    X(cuDevicePrimaryCtxRelease_v2, (int))                            \
    X(cuCtxCreate_v2, (void **, unsigned, int))                       \
    X(cuCtxDestroy_v2, (void *))                                      \
    X(cuCtxPushCurrent_v2, (void *))                                  \
    X(cuCtxPopCurrent_v2, (void **))                                  \
    X(cuStreamCreateWithPriority, (void **, unsigned, int))           \
    X(cuStreamDestroy_v2, (void *))                                   \
    X(cuStreamSynchronize, (void *))                                  \
    X(cuStreamWaitEvent, (void *, void *, unsigned))                  \
    X(cuStreamBeginCapture_v2, (void *, unsigned))                    \
    X(cuStreamEndCapture, (void *, void **))                          \
    X(cuGraphDestroy, (void *))                                       \
    X(cuLaunchHostFunc, (void *, void (*)(void *), void *))           \
    X(cuEventCreate, (void **, unsigned))                             \
    X(cuEventDestroy_v2, (void *))                                    \
    X(cuEventRecord, (void *, void *))                                \
    X(cuEventQuery, (void *))                                         \
    X(cuEventSynchronize, (void *))                                   \
    X(cuMemAlloc_v2, (uint64_t *, size_t))                            \
    X(cuMemAllocAsync, (uint64_t *, size_t, void *))                  \
    X(cuMemFree_v2, (uint64_t))                                       \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                    \
    X(cuMemFreeHost, (void *))                                        \
    X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
    X(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *))       \
    X(cuMemcpyDtoDAsync_v2, (uint64_t, uint64_t, size_t, void *))     \
    X(cuMemsetD32Async, (uint64_t, unsigned, size_t, void *))

typedef struct cuda_caller_t {
#define CUDA_CALLER_SLOT(name, parameters) int(*name) parameters;
    CUDA_CALLER_FUNCTIONS(CUDA_CALLER_SLOT)
#undef CUDA_CALLER_SLOT
    const stand_in_control_t *control;
    void *context; /* current in the calls below */
} cuda_caller_t;

static inline void *cuda_caller_find(const char *name) {
    void *library = dlopen(CUDA_CALLER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) {
        printf("no %s: %s\n", name, dlerror());
        abort();
    }
    return symbol;
}

static inline void cuda_caller_resolve(cuda_caller_t *c, const char *name, size_t offset) {
    void *symbol = cuda_caller_find(name);
    memcpy((char *)c + offset, &symbol, sizeof symbol);
}

static inline void cuda_caller_open(cuda_caller_t *c) {
    void *symbol = cuda_caller_find("stand_in_control");
    stand_in_control_fn get = NULL;
    memset(c, 0, sizeof *c);
#define CUDA_CALLER_RESOLVE(name, parameters) \
    cuda_caller_resolve(c, #name, offsetof(cuda_caller_t, name));
    CUDA_CALLER_FUNCTIONS(CUDA_CALLER_RESOLVE)
#undef CUDA_CALLER_RESOLVE
    memcpy(&get, &symbol, sizeof get);
    c->control = get();
    (void)c->cuInit(0);
}

/* The calls between begin and end are the program's, in its context. */
static inline void cuda_caller_begin(const cuda_caller_t *c) {
    c->control->program(1);
    if (c->context) (void)c->cuCtxPushCurrent_v2(c->context);
}

static inline void cuda_caller_end(const cuda_caller_t *c) {
    void *popped = NULL;
    if (c->context) (void)c->cuCtxPopCurrent_v2(&popped);
    c->control->program(0);
}

/* Makes and evaluates: CUDA_CALLER(c, code, c->cuMemFree_v2(address)). */
#define CUDA_CALLER(c, code, call) \
    do {                           \
        cuda_caller_begin(c);      \
        (code) = (call);           \
        cuda_caller_end(c);        \
    } while (0)

static inline void *cuda_caller_make_context(cuda_caller_t *c, int device) {
    void *made = NULL, *popped = NULL;
    c->control->program(1);
    if (c->cuCtxCreate_v2(&made, 0, device) == 0) (void)c->cuCtxPopCurrent_v2(&popped);
    c->control->program(0);
    return made;
}

static inline int cuda_caller_end_context(cuda_caller_t *c, void *context) {
    c->control->program(1);
    int code = c->cuCtxDestroy_v2(context);
    c->control->program(0);
    return code;
}

static inline void *cuda_caller_make_stream(const cuda_caller_t *c) {
    void *made = NULL;
    int code;
    CUDA_CALLER(c, code, c->cuStreamCreateWithPriority(&made, 1, 0));
    return code == 0 ? made : NULL;
}

static inline int cuda_caller_end_stream(const cuda_caller_t *c, void *stream) {
    int code;
    CUDA_CALLER(c, code, c->cuStreamDestroy_v2(stream));
    return code;
}

static inline uint64_t cuda_caller_make_memory(const cuda_caller_t *c, size_t bytes) {
    uint64_t made = 0;
    int code;
    CUDA_CALLER(c, code, c->cuMemAlloc_v2(&made, bytes));
    return code == 0 ? made : 0;
}

static inline int cuda_caller_free(const cuda_caller_t *c, uint64_t address) {
    int code;
    CUDA_CALLER(c, code, c->cuMemFree_v2(address));
    return code;
}

/* An event after the stream's work. */
static inline void *cuda_caller_make_event(const cuda_caller_t *c, void *stream) {
    void *made = NULL;
    int code;
    CUDA_CALLER(c, code, c->cuEventCreate(&made, 2));
    if (code == 0 && stream) CUDA_CALLER(c, code, c->cuEventRecord(made, stream));
    return code == 0 ? made : NULL;
}

static inline int cuda_caller_end_event(const cuda_caller_t *c, void *event) {
    int code;
    CUDA_CALLER(c, code, c->cuEventDestroy_v2(event));
    return code;
}

static inline int cuda_caller_fill(const cuda_caller_t *c, void *stream, uint64_t address,
                                   unsigned value, size_t words) {
    int code;
    CUDA_CALLER(c, code, c->cuMemsetD32Async(address, value, words, stream));
    return code;
}

static inline int cuda_caller_write(const cuda_caller_t *c, void *stream, uint64_t address,
                                    const void *from, size_t bytes) {
    int code;
    CUDA_CALLER(c, code, c->cuMemcpyHtoDAsync_v2(address, from, bytes, stream));
    return code;
}

/* Waits for the stream. */
static inline int cuda_caller_read(const cuda_caller_t *c, void *stream, void *to, uint64_t address,
                                   size_t bytes) {
    int code;
    CUDA_CALLER(c, code, c->cuMemcpyDtoHAsync_v2(to, address, bytes, stream));
    if (code == 0) CUDA_CALLER(c, code, c->cuStreamSynchronize(stream));
    return code;
}

/* For stand_in_control_t.watch: the call with number `left` fails. */
typedef struct cuda_fault_t {
    long left;
    int32_t code;
} cuda_fault_t;

/* Without its context the backend ends no object, and without a pop none is left. */
static inline int32_t cuda_fault_at(void *self, const char *function) {
    cuda_fault_t *fault = self;
    if (strcmp(function, "cuCtxPopCurrent_v2") == 0 || strcmp(function, "cuCtxPushCurrent_v2") == 0)
        return 0;
    return fault->left-- == 0 ? fault->code : 0;
}

#endif
