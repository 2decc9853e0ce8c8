/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL layer between the loader and the drivers: asks a watcher before each call, fails the
 * call without forwarding it when the watcher says so, and counts contexts, queues, buffers,
 * programs, kernels and events that live.
 *
 * The layer never fails releases and retains, because no caller can handle such a failure. The
 * layer never fails clSetUserEventStatus either, because the wait for that event would never end.
 * The watcher chooses the fault. Loaded by the loader through OPENCL_LAYERS, and by the tool
 * before, so that both have the same instance. Thread-safe. */
#define CL_TARGET_OPENCL_VERSION 120
#include <stdatomic.h>
#include <stddef.h>

#include "opencl/opencl_layer.h"

#include "opencl_fault_layer.h"

static _Atomic(faults_layer_watch_fn) watch;
static atomic_long live[FAULTS_LAYER_KINDS];

EXPORT void gantry_faults_layer_set_watch(faults_layer_watch_fn new_watch) {
    atomic_store(&watch, new_watch);
}

EXPORT long gantry_faults_layer_live(int kind) { return atomic_load(&live[kind]); }

static cl_int ask(const char *function) {
    faults_layer_watch_fn present = atomic_load(&watch);
    return present ? present(function) : CL_SUCCESS;
}

static void count(int kind, long change) { (void)atomic_fetch_add(&live[kind], change); }

/* ---- the four shapes of a function ---- */

#define PLAIN(name, declared, passed)                              \
    static CL_API_ENTRY cl_int CL_API_CALL layer_##name declared { \
        cl_int error = ask(#name);                                 \
        return error != CL_SUCCESS ? error : target->name passed;  \
    }

#define MAKER(type, kind, name, declared, passed)                \
    static CL_API_ENTRY type CL_API_CALL layer_##name declared { \
        cl_int error = ask(#name);                               \
        if (error != CL_SUCCESS) {                               \
            if (code) *code = error;                             \
            return NULL;                                         \
        }                                                        \
        type made = target->name passed;                         \
        if (made) count(kind, 1);                                \
        return made;                                             \
    }

#define ENQUEUER(name, declared, passed)                                    \
    static CL_API_ENTRY cl_int CL_API_CALL layer_##name declared {          \
        cl_int error = ask(#name);                                          \
        if (error == CL_SUCCESS) {                                          \
            error = target->name passed;                                    \
            if (error == CL_SUCCESS && event) count(FAULTS_LAYER_EVENT, 1); \
        }                                                                   \
        return error;                                                       \
    }

#define COUNTED(type, kind, stem)                                               \
    static CL_API_ENTRY cl_int CL_API_CALL layer_clRetain##stem(type object) {  \
        cl_int error = target->clRetain##stem(object);                          \
        if (error == CL_SUCCESS) count(kind, 1);                                \
        return error;                                                           \
    }                                                                           \
    static CL_API_ENTRY cl_int CL_API_CALL layer_clRelease##stem(type object) { \
        count(kind, -1);                                                        \
        return target->clRelease##stem(object);                                 \
    }

COUNTED(cl_context, FAULTS_LAYER_CONTEXT, Context)
COUNTED(cl_command_queue, FAULTS_LAYER_QUEUE, CommandQueue)
COUNTED(cl_mem, FAULTS_LAYER_BUFFER, MemObject)
COUNTED(cl_program, FAULTS_LAYER_PROGRAM, Program)
COUNTED(cl_kernel, FAULTS_LAYER_KERNEL, Kernel)
COUNTED(cl_event, FAULTS_LAYER_EVENT, Event)

MAKER(cl_context, FAULTS_LAYER_CONTEXT, clCreateContext,
      (const cl_context_properties *properties, cl_uint devices, const cl_device_id *list,
       void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
       cl_int *code),
      (properties, devices, list, notify, user, code))
MAKER(cl_command_queue, FAULTS_LAYER_QUEUE, clCreateCommandQueue,
      (cl_context context, cl_device_id device, cl_command_queue_properties properties,
       cl_int *code),
      (context, device, properties, code))
MAKER(cl_mem, FAULTS_LAYER_BUFFER, clCreateBuffer,
      (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code),
      (context, flags, size, host, code))
MAKER(cl_mem, FAULTS_LAYER_BUFFER, clCreateSubBuffer,
      (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *region,
       cl_int *code),
      (buffer, flags, type, region, code))
MAKER(cl_program, FAULTS_LAYER_PROGRAM, clCreateProgramWithSource,
      (cl_context context, cl_uint texts, const char **strings, const size_t *lengths,
       cl_int *code),
      (context, texts, strings, lengths, code))
MAKER(cl_program, FAULTS_LAYER_PROGRAM, clCreateProgramWithBinary,
      (cl_context context, cl_uint devices, const cl_device_id *list, const size_t *lengths,
       const unsigned char **binaries, cl_int *statuses, cl_int *code),
      (context, devices, list, lengths, binaries, statuses, code))
MAKER(cl_kernel, FAULTS_LAYER_KERNEL, clCreateKernel,
      (cl_program program, const char *name, cl_int *code), (program, name, code))
MAKER(cl_event, FAULTS_LAYER_EVENT, clCreateUserEvent, (cl_context context, cl_int *code),
      (context, code))

PLAIN(clGetPlatformIDs, (cl_uint entries, cl_platform_id *platforms, cl_uint *found),
      (entries, platforms, found))
PLAIN(clGetPlatformInfo,
      (cl_platform_id platform, cl_platform_info name, size_t size, void *value, size_t *needed),
      (platform, name, size, value, needed))
PLAIN(clGetDeviceIDs,
      (cl_platform_id platform, cl_device_type type, cl_uint entries, cl_device_id *devices,
       cl_uint *found),
      (platform, type, entries, devices, found))
PLAIN(clGetDeviceInfo,
      (cl_device_id device, cl_device_info name, size_t size, void *value, size_t *needed),
      (device, name, size, value, needed))
PLAIN(clGetContextInfo,
      (cl_context context, cl_context_info name, size_t size, void *value, size_t *needed),
      (context, name, size, value, needed))
PLAIN(clGetCommandQueueInfo,
      (cl_command_queue queue, cl_command_queue_info name, size_t size, void *value,
       size_t *needed),
      (queue, name, size, value, needed))
PLAIN(clGetMemObjectInfo,
      (cl_mem buffer, cl_mem_info name, size_t size, void *value, size_t *needed),
      (buffer, name, size, value, needed))
PLAIN(clGetProgramInfo,
      (cl_program program, cl_program_info name, size_t size, void *value, size_t *needed),
      (program, name, size, value, needed))
PLAIN(clGetProgramBuildInfo,
      (cl_program program, cl_device_id device, cl_program_build_info name, size_t size,
       void *value, size_t *needed),
      (program, device, name, size, value, needed))
PLAIN(clGetKernelInfo,
      (cl_kernel kernel, cl_kernel_info name, size_t size, void *value, size_t *needed),
      (kernel, name, size, value, needed))
PLAIN(clGetKernelWorkGroupInfo,
      (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info name, size_t size,
       void *value, size_t *needed),
      (kernel, device, name, size, value, needed))
PLAIN(clGetEventInfo,
      (cl_event event, cl_event_info name, size_t size, void *value, size_t *needed),
      (event, name, size, value, needed))
PLAIN(clBuildProgram,
      (cl_program program, cl_uint devices, const cl_device_id *list, const char *options,
       void(CL_CALLBACK *notify)(cl_program, void *), void *user),
      (program, devices, list, options, notify, user))
PLAIN(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
      (kernel, index, size, value))
PLAIN(clFlush, (cl_command_queue queue), (queue))
PLAIN(clFinish, (cl_command_queue queue), (queue))
PLAIN(clWaitForEvents, (cl_uint events, const cl_event *list), (events, list))
PLAIN(clSetEventCallback,
      (cl_event event, cl_int type, void(CL_CALLBACK *notify)(cl_event, cl_int, void *),
       void *user),
      (event, type, notify, user))

#define WAITS cl_uint waits, const cl_event *wait_list, cl_event *event
ENQUEUER(clEnqueueReadBuffer,
         (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
          void *data, WAITS),
         (queue, buffer, blocking, offset, size, data, waits, wait_list, event))
ENQUEUER(clEnqueueWriteBuffer,
         (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
          const void *data, WAITS),
         (queue, buffer, blocking, offset, size, data, waits, wait_list, event))
ENQUEUER(clEnqueueCopyBuffer,
         (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
          size_t size, WAITS),
         (queue, from, to, from_offset, to_offset, size, waits, wait_list, event))
ENQUEUER(clEnqueueFillBuffer,
         (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
          size_t offset, size_t size, WAITS),
         (queue, buffer, pattern, pattern_size, offset, size, waits, wait_list, event))
ENQUEUER(clEnqueueUnmapMemObject, (cl_command_queue queue, cl_mem buffer, void *data, WAITS),
         (queue, buffer, data, waits, wait_list, event))
ENQUEUER(clEnqueueMarkerWithWaitList, (cl_command_queue queue, WAITS),
         (queue, waits, wait_list, event))
ENQUEUER(clEnqueueBarrierWithWaitList, (cl_command_queue queue, WAITS),
         (queue, waits, wait_list, event))
ENQUEUER(clEnqueueNDRangeKernel,
         (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
          const size_t *global, const size_t *local, WAITS),
         (queue, kernel, dimensions, offset, global, local, waits, wait_list, event))

static CL_API_ENTRY void *CL_API_CALL layer_clEnqueueMapBuffer(cl_command_queue queue,
                                                               cl_mem buffer, cl_bool blocking,
                                                               cl_map_flags flags, size_t offset,
                                                               size_t size, WAITS, cl_int *code) {
    cl_int error = ask("clEnqueueMapBuffer");
    if (error != CL_SUCCESS) {
        if (code) *code = error;
        return NULL;
    }
    void *mapped = target->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, waits,
                                              wait_list, event, code);
    if (mapped && event) count(FAULTS_LAYER_EVENT, 1);
    return mapped;
}

#define TAKE_COUNTED(stem) \
    TAKE(clRetain##stem)   \
    TAKE(clRelease##stem)

/* clang-format off */
LAYER("faults for Gantry's tests",
    TAKE_COUNTED(Context) TAKE_COUNTED(CommandQueue) TAKE_COUNTED(MemObject) TAKE_COUNTED(Program)
    TAKE_COUNTED(Kernel) TAKE_COUNTED(Event) TAKE(clCreateContext) TAKE(clCreateCommandQueue)
    TAKE(clCreateBuffer) TAKE(clCreateSubBuffer) TAKE(clCreateProgramWithSource)
    TAKE(clCreateProgramWithBinary) TAKE(clCreateKernel) TAKE(clCreateUserEvent)
    TAKE(clGetPlatformIDs) TAKE(clGetPlatformInfo) TAKE(clGetDeviceIDs) TAKE(clGetDeviceInfo)
    TAKE(clGetContextInfo) TAKE(clGetCommandQueueInfo) TAKE(clGetMemObjectInfo)
    TAKE(clGetProgramInfo) TAKE(clGetProgramBuildInfo) TAKE(clGetKernelInfo)
    TAKE(clGetKernelWorkGroupInfo) TAKE(clGetEventInfo) TAKE(clBuildProgram) TAKE(clSetKernelArg)
    TAKE(clFlush) TAKE(clFinish) TAKE(clWaitForEvents) TAKE(clSetEventCallback)
    TAKE(clEnqueueReadBuffer) TAKE(clEnqueueWriteBuffer) TAKE(clEnqueueCopyBuffer)
    TAKE(clEnqueueFillBuffer) TAKE(clEnqueueUnmapMemObject) TAKE(clEnqueueMarkerWithWaitList)
    TAKE(clEnqueueBarrierWithWaitList) TAKE(clEnqueueNDRangeKernel) TAKE(clEnqueueMapBuffer))
/* clang-format on */
