/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL library as a table of functions, opened at run time: the one list of what this backend
 * calls.
 *
 * Nothing links OpenCL; the headers only give types and constants. Not here: CLBlast
 * (opencl_clblast.h).
 *
 * Owner: the instance holds the table; the library itself stays loaded to the end of the process.
 * Threads: opening is init-only, and the table is constant afterwards. */
#ifndef GANTRY_OPENCL_SYMBOLS_H
#define GANTRY_OPENCL_SYMBOLS_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <gantry/backend_abi.h>

/* All of OpenCL 1.2; a library that lacks one function is refused with the function's name. */
#define GANTRY__OPENCL_FUNCTIONS(X) \
    X(clGetPlatformIDs)             \
    X(clGetPlatformInfo)            \
    X(clGetDeviceIDs)               \
    X(clGetDeviceInfo)              \
    X(clCreateContext)              \
    X(clRetainContext)              \
    X(clReleaseContext)             \
    X(clGetContextInfo)             \
    X(clCreateCommandQueue)         \
    X(clRetainCommandQueue)         \
    X(clReleaseCommandQueue)        \
    X(clGetCommandQueueInfo)        \
    X(clFlush)                      \
    X(clFinish)                     \
    X(clCreateBuffer)               \
    X(clCreateSubBuffer)            \
    X(clRetainMemObject)            \
    X(clReleaseMemObject)           \
    X(clGetMemObjectInfo)           \
    X(clEnqueueMapBuffer)           \
    X(clEnqueueUnmapMemObject)      \
    X(clEnqueueReadBuffer)          \
    X(clEnqueueWriteBuffer)         \
    X(clEnqueueCopyBuffer)          \
    X(clEnqueueFillBuffer)          \
    X(clEnqueueMarkerWithWaitList)  \
    X(clEnqueueBarrierWithWaitList) \
    X(clCreateUserEvent)            \
    X(clSetUserEventStatus)         \
    X(clSetEventCallback)           \
    X(clGetEventInfo)               \
    X(clGetEventProfilingInfo)      \
    X(clWaitForEvents)              \
    X(clRetainEvent)                \
    X(clReleaseEvent)               \
    X(clCreateProgramWithSource)    \
    X(clCreateProgramWithBinary)    \
    X(clBuildProgram)               \
    X(clGetProgramInfo)             \
    X(clGetProgramBuildInfo)        \
    X(clReleaseProgram)             \
    X(clCreateKernel)               \
    X(clReleaseKernel)              \
    X(clSetKernelArg)               \
    X(clGetKernelInfo)              \
    X(clGetKernelWorkGroupInfo)     \
    X(clEnqueueNDRangeKernel)

typedef struct gantry__opencl_symbols_t {
    void *library;
    char name[256]; /* the file that was found, for messages */
#define GANTRY__OPENCL_SLOT(function) __typeof__(&function) function;
    GANTRY__OPENCL_FUNCTIONS(GANTRY__OPENCL_SLOT)
#undef GANTRY__OPENCL_SLOT
    /* OpenCL 2.0, for streams with a priority; NULL where the library has none. */
    cl_command_queue (*create_queue_with_properties)(cl_context context, cl_device_id device,
                                                     const cl_ulong *properties, cl_int *out_error);
} gantry__opencl_symbols_t;

/* Opens option GANTRY_OPENCL_LIBRARY when set, else libOpenCL.so.1, else libOpenCL.so. Returns
 * Unavailable, with each candidate's reason in the text, when none can be opened or a function is
 * missing. */
int32_t gantry__opencl_symbols_open(const gantry_host_t *host,
                                    gantry__opencl_symbols_t *out_symbols);

#endif
