/* SPDX-License-Identifier: Apache-2.0 */
/* The part of NVIDIA's driver API that this backend calls, declared here so that no toolkit is
 * needed to build it.
 *
 * Functions must have the names that the driver's library exports. Handles keep NVIDIA's struct
 * tags, and enumerations are passed as unsigned int, so that a compiler accepts NVIDIA's own
 * declarations and these as the same; tests/cuda_headers compares them wherever NVIDIA's headers
 * are found. Not here: NVRTC, cuBLAS and NVML (headers of their own).
 *
 * Owner: nothing, these are declarations. Threads: the driver's functions are thread-safe. */
#ifndef GANTRY_CUDA_API_H
#define GANTRY_CUDA_API_H

#include <stddef.h>

typedef unsigned int gantry__cu_result_t;
typedef int gantry__cu_device_t;
typedef unsigned long long gantry__cu_address_t;
typedef struct CUctx_st *gantry__cu_context_t;
typedef struct CUstream_st *gantry__cu_stream_t;
typedef struct CUevent_st *gantry__cu_event_t;
typedef struct CUmod_st *gantry__cu_module_t;
typedef struct CUfunc_st *gantry__cu_function_t;
typedef struct CUgraph_st *gantry__cu_graph_t;
typedef struct CUgraphExec_st *gantry__cu_graph_exec_t;

/* 16 bytes in the driver's order; the type is incomplete, and a byte array is passed. */
struct CUuuid_st;
#define GANTRY__CU_UUID_BYTES 16

#define GANTRY__CU_OLDEST_DRIVER 12000 /* 12.0: 1000 * major + 10 * minor */

enum {
    GANTRY__CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    GANTRY__CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    GANTRY__CU_ATTRIBUTE_WARP_SIZE = 10,
    GANTRY__CU_ATTRIBUTE_CLOCK_RATE = 13, /* kHz */
    GANTRY__CU_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    GANTRY__CU_ATTRIBUTE_INTEGRATED = 18,
    GANTRY__CU_ATTRIBUTE_COMPUTE_MODE = 20,
    GANTRY__CU_ATTRIBUTE_PCI_BUS_ID = 33,
    GANTRY__CU_ATTRIBUTE_PCI_DEVICE_ID = 34,
    GANTRY__CU_ATTRIBUTE_PCI_DOMAIN_ID = 50,
    GANTRY__CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    GANTRY__CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    GANTRY__CU_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78
};

enum { GANTRY__CU_COMPUTE_MODE_PROHIBITED = 2 };
enum { GANTRY__CU_STREAM_NON_BLOCKING = 1 };
enum { GANTRY__CU_EVENT_BLOCKING_SYNC = 1, GANTRY__CU_EVENT_DISABLE_TIMING = 2 };
enum { GANTRY__CU_CAPTURE_RELAXED = 2 };
enum { GANTRY__CU_CAPTURE_NONE = 0 };        /* of a stream's states: it is not captured */
enum { GANTRY__CU_HOST_ALLOC_PORTABLE = 1 }; /* pinned for every context */
enum { GANTRY__CU_MEMORY_HOST = 1, GANTRY__CU_MEMORY_DEVICE = 2 }; /* HOST: pinned */
enum {
    GANTRY__CU_POINTER_CONTEXT = 1,
    GANTRY__CU_POINTER_MEMORY_TYPE = 2,
    GANTRY__CU_POINTER_IS_MANAGED = 8,
    GANTRY__CU_POINTER_DEVICE_ORDINAL = 9,
    GANTRY__CU_POINTER_RANGE_START = 11,
    GANTRY__CU_POINTER_RANGE_SIZE = 12
};
enum { GANTRY__CU_CONTEXT_SCHEDULE_AUTO = 0, GANTRY__CU_CONTEXT_SCHEDULE_BLOCKING_SYNC = 4 };

enum {
    GANTRY__CU_FUNCTION_MAX_THREADS_PER_BLOCK = 0,
    GANTRY__CU_FUNCTION_SHARED_SIZE_BYTES = 1,
    GANTRY__CU_FUNCTION_LOCAL_SIZE_BYTES = 3
};

/* Options of cuModuleLoadDataEx: a buffer for the assembler's messages, and its size (passed as the
 * pointer's value). */
enum { GANTRY__CU_JIT_ERROR_LOG_BUFFER = 5, GANTRY__CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };

/* All functions that are called, of driver 12.0; a library that lacks one is refused with its name.
 * X(function, parameters). */
#define GANTRY__CUDA_FUNCTIONS(X)                                                                  \
    X(cuInit, (unsigned int flags))                                                                \
    X(cuDriverGetVersion, (int *out_version))                                                      \
    X(cuDeviceGetCount, (int *out_count))                                                          \
    X(cuDeviceGet, (gantry__cu_device_t * out_device, int ordinal))                                \
    X(cuDeviceGetName, (char *name, int name_bytes, gantry__cu_device_t device))                   \
    X(cuDeviceGetUuid_v2, (struct CUuuid_st * out_uuid, gantry__cu_device_t device))               \
    X(cuDeviceTotalMem_v2, (size_t * out_bytes, gantry__cu_device_t device))                       \
    X(cuDeviceGetAttribute, (int *out_value, unsigned int attribute, gantry__cu_device_t device))  \
    X(cuDeviceCanAccessPeer, (int *out_can, gantry__cu_device_t device, gantry__cu_device_t peer)) \
    X(cuDevicePrimaryCtxRetain, (gantry__cu_context_t * out_context, gantry__cu_device_t device))  \
    X(cuDevicePrimaryCtxRelease_v2, (gantry__cu_device_t device))                                  \
    X(cuCtxCreate_v2,                                                                              \
      (gantry__cu_context_t * out_context, unsigned int flags, gantry__cu_device_t device))        \
    X(cuCtxDestroy_v2, (gantry__cu_context_t context))                                             \
    X(cuCtxGetCurrent, (gantry__cu_context_t * out_context))                                       \
    X(cuCtxGetDevice, (gantry__cu_device_t * out_device))                                          \
    X(cuCtxPushCurrent_v2, (gantry__cu_context_t context))                                         \
    X(cuCtxPopCurrent_v2, (gantry__cu_context_t * out_context))                                    \
    X(cuCtxGetStreamPriorityRange, (int *out_least, int *out_greatest))                            \
    X(cuCtxEnablePeerAccess, (gantry__cu_context_t peer, unsigned int flags))                      \
    X(cuMemGetInfo_v2, (size_t * out_free, size_t * out_total))                                    \
    X(cuMemAlloc_v2, (gantry__cu_address_t * out_address, size_t bytes))                           \
    X(cuMemFree_v2, (gantry__cu_address_t address))                                                \
    X(cuMemHostAlloc, (void **out_ptr, size_t bytes, unsigned int flags))                          \
    X(cuMemFreeHost, (void *ptr))                                                                  \
    X(cuPointerGetAttribute,                                                                       \
      (void *out_value, unsigned int attribute, gantry__cu_address_t address))                     \
    X(cuPointerGetAttributes,                                                                      \
      (unsigned int count, unsigned int *attributes, void **values, gantry__cu_address_t address)) \
    X(cuMemcpyHtoDAsync_v2,                                                                        \
      (gantry__cu_address_t target, const void *source, size_t bytes, gantry__cu_stream_t stream)) \
    X(cuMemcpyDtoHAsync_v2,                                                                        \
      (void *target, gantry__cu_address_t source, size_t bytes, gantry__cu_stream_t stream))       \
    X(cuMemcpyDtoDAsync_v2, (gantry__cu_address_t target, gantry__cu_address_t source,             \
                             size_t bytes, gantry__cu_stream_t stream))                            \
    X(cuMemcpyPeerAsync, (gantry__cu_address_t target, gantry__cu_context_t target_context,        \
                          gantry__cu_address_t source, gantry__cu_context_t source_context,        \
                          size_t bytes, gantry__cu_stream_t stream))                               \
    X(cuMemsetD8Async, (gantry__cu_address_t target, unsigned char value, size_t count,            \
                        gantry__cu_stream_t stream))                                               \
    X(cuMemsetD16Async, (gantry__cu_address_t target, unsigned short value, size_t count,          \
                         gantry__cu_stream_t stream))                                              \
    X(cuMemsetD32Async,                                                                            \
      (gantry__cu_address_t target, unsigned int value, size_t count, gantry__cu_stream_t stream)) \
    X(cuStreamCreateWithPriority,                                                                  \
      (gantry__cu_stream_t * out_stream, unsigned int flags, int priority))                        \
    X(cuStreamDestroy_v2, (gantry__cu_stream_t stream))                                            \
    X(cuStreamGetCtx, (gantry__cu_stream_t stream, gantry__cu_context_t * out_context))            \
    X(cuStreamSynchronize, (gantry__cu_stream_t stream))                                           \
    X(cuStreamWaitEvent,                                                                           \
      (gantry__cu_stream_t stream, gantry__cu_event_t event, unsigned int flags))                  \
    X(cuStreamBeginCapture_v2, (gantry__cu_stream_t stream, unsigned int mode))                    \
    X(cuStreamEndCapture, (gantry__cu_stream_t stream, gantry__cu_graph_t * out_graph))            \
    X(cuStreamIsCapturing, (gantry__cu_stream_t stream, unsigned int *out_state))                  \
    X(cuGraphInstantiateWithFlags,                                                                 \
      (gantry__cu_graph_exec_t * out_exec, gantry__cu_graph_t graph, unsigned long long flags))    \
    X(cuGraphLaunch, (gantry__cu_graph_exec_t exec, gantry__cu_stream_t stream))                   \
    X(cuGraphExecDestroy, (gantry__cu_graph_exec_t exec))                                          \
    X(cuGraphDestroy, (gantry__cu_graph_t graph))                                                  \
    X(cuEventCreate, (gantry__cu_event_t * out_event, unsigned int flags))                         \
    X(cuEventDestroy_v2, (gantry__cu_event_t event))                                               \
    X(cuEventRecord, (gantry__cu_event_t event, gantry__cu_stream_t stream))                       \
    X(cuEventQuery, (gantry__cu_event_t event))                                                    \
    X(cuEventSynchronize, (gantry__cu_event_t event))                                              \
    X(cuEventElapsedTime,                                                                          \
      (float *out_milliseconds, gantry__cu_event_t start, gantry__cu_event_t end))                 \
    X(cuModuleLoadDataEx,                                                                          \
      (gantry__cu_module_t * out_module, const void *image, unsigned int option_count,             \
       unsigned int *options, void **option_values))                                               \
    X(cuModuleUnload, (gantry__cu_module_t module))                                                \
    X(cuModuleGetFunction,                                                                         \
      (gantry__cu_function_t * out_function, gantry__cu_module_t module, const char *name))        \
    X(cuFuncGetAttribute,                                                                          \
      (int *out_value, unsigned int attribute, gantry__cu_function_t function))                    \
    X(cuLaunchKernel,                                                                              \
      (gantry__cu_function_t function, unsigned int grid_x, unsigned int grid_y,                   \
       unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,      \
       unsigned int shared_bytes, gantry__cu_stream_t stream, void **parameters, void **extra))

/* Functions newer than 12.0; NULL where the library has none. cuFuncGetParamInfo (12.4) returns
 * CUDA_ERROR_INVALID_VALUE after the last parameter. */
#define GANTRY__CUDA_NEWER_FUNCTIONS(X)                                  \
    X(cuFuncGetParamInfo, (gantry__cu_function_t function, size_t index, \
                           size_t * out_offset_bytes, size_t * out_size_bytes))

#endif
