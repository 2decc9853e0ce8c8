/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL library that counts the objects made and released through it, by kind. All other
 * functions come from the real library, which this one links.
 *
 * The test passes this library to the OpenCL backend as GANTRY_OPENCL_LIBRARY. An event counts from
 * the call that returns it. Thread-safe. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "count_objects.h"

#define COUNTED __attribute__((visibility("default")))

static atomic_long live[COUNT_KINDS];

COUNTED long count_objects_live(count_kind_t kind) { return atomic_load(&live[kind]); }

static void add(count_kind_t kind, long number) { (void)atomic_fetch_add(&live[kind], number); }

#define FUNCTIONS(X)                \
    X(clCreateContext)              \
    X(clRetainContext)              \
    X(clReleaseContext)             \
    X(clCreateCommandQueue)         \
    X(clRetainCommandQueue)         \
    X(clReleaseCommandQueue)        \
    X(clCreateBuffer)               \
    X(clCreateSubBuffer)            \
    X(clRetainMemObject)            \
    X(clReleaseMemObject)           \
    X(clCreateProgramWithSource)    \
    X(clCreateProgramWithBinary)    \
    X(clReleaseProgram)             \
    X(clCreateKernel)               \
    X(clReleaseKernel)              \
    X(clCreateUserEvent)            \
    X(clRetainEvent)                \
    X(clReleaseEvent)               \
    X(clEnqueueMapBuffer)           \
    X(clEnqueueUnmapMemObject)      \
    X(clEnqueueReadBuffer)          \
    X(clEnqueueWriteBuffer)         \
    X(clEnqueueCopyBuffer)          \
    X(clEnqueueFillBuffer)          \
    X(clEnqueueMarkerWithWaitList)  \
    X(clEnqueueBarrierWithWaitList) \
    X(clEnqueueNDRangeKernel)

#define SLOT(name) static __typeof__(&name) real_##name;
FUNCTIONS(SLOT)

__attribute__((constructor)) static void find_real(void) {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
    if (!library) return;
#define FIND(name)                  \
    symbol = dlsym(library, #name); \
    memcpy(&real_##name, &symbol, sizeof real_##name);
    FUNCTIONS(FIND)
}

/* ---- made ---- */

#define MADE(kind, call)           \
    __typeof__(call) made_ = call; \
    if (made_) add(kind, 1);       \
    return made_

COUNTED cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                                   const cl_device_id *devices,
                                   void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                             void *),
                                   void *user, cl_int *error) {
    MADE(COUNT_CONTEXT, real_clCreateContext(properties, count, devices, notify, user, error));
}

COUNTED cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                              cl_command_queue_properties properties,
                                              cl_int *error) {
    MADE(COUNT_QUEUE, real_clCreateCommandQueue(context, device, properties, error));
}

COUNTED cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                              cl_int *error) {
    MADE(COUNT_BUFFER, real_clCreateBuffer(context, flags, bytes, host, error));
}

COUNTED cl_mem clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                                 const void *info, cl_int *error) {
    MADE(COUNT_BUFFER, real_clCreateSubBuffer(buffer, flags, type, info, error));
}

COUNTED cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *error) {
    MADE(COUNT_PROGRAM, real_clCreateProgramWithSource(context, count, texts, lengths, error));
}

COUNTED cl_program clCreateProgramWithBinary(cl_context context, cl_uint count,
                                             const cl_device_id *devices, const size_t *lengths,
                                             const unsigned char **binaries, cl_int *states,
                                             cl_int *error) {
    MADE(COUNT_PROGRAM,
         real_clCreateProgramWithBinary(context, count, devices, lengths, binaries, states, error));
}

COUNTED cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error) {
    MADE(COUNT_KERNEL, real_clCreateKernel(program, name, error));
}

COUNTED cl_event clCreateUserEvent(cl_context context, cl_int *error) {
    MADE(COUNT_EVENT, real_clCreateUserEvent(context, error));
}

/* ---- counted up and down ---- */

#define STEP(function, type, kind, number)          \
    COUNTED cl_int function(type object) {          \
        cl_int error = real_##function(object);     \
        if (error == CL_SUCCESS) add(kind, number); \
        return error;                               \
    }
STEP(clRetainContext, cl_context, COUNT_CONTEXT, 1)
STEP(clReleaseContext, cl_context, COUNT_CONTEXT, -1)
STEP(clRetainCommandQueue, cl_command_queue, COUNT_QUEUE, 1)
STEP(clReleaseCommandQueue, cl_command_queue, COUNT_QUEUE, -1)
STEP(clRetainMemObject, cl_mem, COUNT_BUFFER, 1)
STEP(clReleaseMemObject, cl_mem, COUNT_BUFFER, -1)
STEP(clReleaseProgram, cl_program, COUNT_PROGRAM, -1)
STEP(clReleaseKernel, cl_kernel, COUNT_KERNEL, -1)
STEP(clRetainEvent, cl_event, COUNT_EVENT, 1)
STEP(clReleaseEvent, cl_event, COUNT_EVENT, -1)

/* ---- calls that return an event ---- */

static cl_int count_event(cl_int error, const cl_event *event) {
    if (error == CL_SUCCESS && event) add(COUNT_EVENT, 1);
    return error;
}

COUNTED void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool wait,
                                 cl_map_flags flags, size_t offset, size_t bytes, cl_uint count,
                                 const cl_event *list, cl_event *event, cl_int *error) {
    void *mapped = real_clEnqueueMapBuffer(queue, buffer, wait, flags, offset, bytes, count, list,
                                           event, error);
    (void)count_event(mapped ? CL_SUCCESS : CL_MAP_FAILURE, event);
    return mapped;
}

COUNTED cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem object, void *mapped,
                                       cl_uint count, const cl_event *list, cl_event *event) {
    return count_event(real_clEnqueueUnmapMemObject(queue, object, mapped, count, list, event),
                       event);
}

COUNTED cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool wait,
                                   size_t offset, size_t bytes, void *target, cl_uint count,
                                   const cl_event *list, cl_event *event) {
    return count_event(
        real_clEnqueueReadBuffer(queue, buffer, wait, offset, bytes, target, count, list, event),
        event);
}

COUNTED cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool wait,
                                    size_t offset, size_t bytes, const void *source, cl_uint count,
                                    const cl_event *list, cl_event *event) {
    return count_event(
        real_clEnqueueWriteBuffer(queue, buffer, wait, offset, bytes, source, count, list, event),
        event);
}

COUNTED cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem target,
                                   size_t source_offset, size_t target_offset, size_t bytes,
                                   cl_uint count, const cl_event *list, cl_event *event) {
    return count_event(real_clEnqueueCopyBuffer(queue, source, target, source_offset, target_offset,
                                                bytes, count, list, event),
                       event);
}

COUNTED cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                   size_t pattern_bytes, size_t offset, size_t bytes, cl_uint count,
                                   const cl_event *list, cl_event *event) {
    return count_event(real_clEnqueueFillBuffer(queue, buffer, pattern, pattern_bytes, offset,
                                                bytes, count, list, event),
                       event);
}

COUNTED cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count,
                                           const cl_event *list, cl_event *event) {
    return count_event(real_clEnqueueMarkerWithWaitList(queue, count, list, event), event);
}

COUNTED cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count,
                                            const cl_event *list, cl_event *event) {
    return count_event(real_clEnqueueBarrierWithWaitList(queue, count, list, event), event);
}

COUNTED cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                      const size_t *offset, const size_t *global,
                                      const size_t *local, cl_uint count, const cl_event *list,
                                      cl_event *event) {
    return count_event(real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                                   count, list, event),
                       event);
}
