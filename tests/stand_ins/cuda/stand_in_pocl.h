/* SPDX-License-Identifier: Apache-2.0 */
/* PoCL behind the stand-in: opens OpenCL at run time, finds the platform by its name, and keeps one
 * context on its first device to the end of the process. Threads: thread-safe. */
#ifndef GANTRY_TESTS_STAND_IN_POCL_H
#define GANTRY_TESTS_STAND_IN_POCL_H

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "stand_in_core.h"

#define STAND_IN_OPENCL(X)          \
    X(clGetPlatformIDs)             \
    X(clGetPlatformInfo)            \
    X(clGetDeviceIDs)               \
    X(clGetDeviceInfo)              \
    X(clCreateContext)              \
    X(clCreateCommandQueue)         \
    X(clRetainCommandQueue)         \
    X(clReleaseCommandQueue)        \
    X(clFlush)                      \
    X(clFinish)                     \
    X(clSVMAlloc)                   \
    X(clSVMFree)                    \
    X(clEnqueueNativeKernel)        \
    X(clEnqueueMarkerWithWaitList)  \
    X(clEnqueueBarrierWithWaitList) \
    X(clCreateUserEvent)            \
    X(clSetUserEventStatus)         \
    X(clGetEventInfo)               \
    X(clGetEventProfilingInfo)      \
    X(clWaitForEvents)              \
    X(clRetainEvent)                \
    X(clReleaseEvent)               \
    X(clCreateProgramWithSource)    \
    X(clBuildProgram)               \
    X(clGetProgramBuildInfo)        \
    X(clRetainProgram)              \
    X(clReleaseProgram)             \
    X(clCreateKernel)               \
    X(clCreateKernelsInProgram)     \
    X(clReleaseKernel)              \
    X(clSetKernelArg)               \
    X(clSetKernelArgSVMPointer)     \
    X(clGetKernelInfo)              \
    X(clGetKernelArgInfo)           \
    X(clGetKernelWorkGroupInfo)     \
    X(clEnqueueNDRangeKernel)

typedef struct stand_in_pocl_t {
#define STAND_IN_SLOT(function) __typeof__(&function) function;
    STAND_IN_OPENCL(STAND_IN_SLOT)
#undef STAND_IN_SLOT
    cl_context context;
    cl_device_id device;
} stand_in_pocl_t;

STAND_IN_API const stand_in_pocl_t *stand_in__pocl(void); /* NULL: there is none */
STAND_IN_API const char *stand_in__pocl_reason(void);     /* the reason for NULL */

/* ---- streams ---- */

typedef struct stand_in_stream_t {
    stand_in_object_t object;
    cl_command_queue queue;
    int priority;
    uint32_t flags;
    struct stand_in_capture_t *capture; /* the stream's capture, under the lock; NULL: none */
} stand_in_stream_t;

/* NULL and CU_STREAM_LEGACY (1) mean the context's own stream. */
int stand_in__is_legacy(const void *handle);
/* The stream of a handle in the current context. 0 or CUDA's code. */
STAND_IN_API int stand_in__stream_of(const void *handle, stand_in_stream_t **out_stream);
/* Calls work(copy of arguments) after the stream's earlier work. 0 or CUDA's code. */
STAND_IN_API int stand_in__enqueue(stand_in_stream_t *stream, void (*work)(void *arguments),
                                   const void *arguments, size_t bytes);
/* Holds kernels at this place: later work of the stream starts when they are released. */
int stand_in__hold_stream(stand_in_stream_t *stream);
void stand_in__hold(int is_held);
int stand_in__finish(stand_in_context_t *context); /* waits for every stream of a context */
int stand_in__open_null_stream(stand_in_context_t *context);
void stand_in__close_null_stream(stand_in_context_t *context);

/* ---- programs ---- */

/* Building takes nearly all of a test's time, so programs are built without optimisation. */
#define STAND_IN_BUILD_OPTIONS                                                                  \
    "-cl-opt-disable -cl-std=CL1.2 -cl-kernel-arg-info -cl-fp32-correctly-rounded-divide-sqrt " \
    "-D__CUDA_ARCH__=700"

/* A program built from text; NULL when the compiler refuses the text. *out_log (malloc) is the
 * compiler's log. With out_log NULL, an earlier build may be reused. */
STAND_IN_API cl_program stand_in__build(const char *source, const char *options, char **out_log);

#endif
