/* SPDX-License-Identifier: Apache-2.0 */
/* A program with OpenCL of its own: a context, an in-order queue and two kernels on PoCL, which
 * share with a runtime. The layer of the fault tool watches every OpenCL call of the process.
 * Header only; one program at a time. */
#ifndef GANTRY_TEST_OPENCL_PROGRAM_H
#define GANTRY_TEST_OPENCL_PROGRAM_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <gantry/gantry.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../faults/opencl_fault_layer.h"
#include "locked_heap.h"
#include "need_opencl.h"
#include "test.h"

#define PROGRAM_ITEMS 1024
#define PROGRAM_BYTES (PROGRAM_ITEMS * sizeof(float))

#define PROGRAM_FUNCTIONS(X)        \
    X(clGetPlatformIDs)             \
    X(clGetDeviceIDs)               \
    X(clCreateContext)              \
    X(clReleaseContext)             \
    X(clGetContextInfo)             \
    X(clCreateCommandQueue)         \
    X(clReleaseCommandQueue)        \
    X(clGetCommandQueueInfo)        \
    X(clCreateBuffer)               \
    X(clCreateSubBuffer)            \
    X(clReleaseMemObject)           \
    X(clGetMemObjectInfo)           \
    X(clCreateProgramWithSource)    \
    X(clBuildProgram)               \
    X(clReleaseProgram)             \
    X(clCreateKernel)               \
    X(clReleaseKernel)              \
    X(clSetKernelArg)               \
    X(clEnqueueNDRangeKernel)       \
    X(clEnqueueReadBuffer)          \
    X(clEnqueueWriteBuffer)         \
    X(clEnqueueMarkerWithWaitList)  \
    X(clEnqueueBarrierWithWaitList) \
    X(clCreateUserEvent)            \
    X(clSetUserEventStatus)         \
    X(clGetEventInfo)               \
    X(clReleaseEvent)               \
    X(clWaitForEvents)              \
    X(clFlush)                      \
    X(clFinish)                     \
    X(clCreateImage)                \
    X(clEnqueueFillBuffer)

static struct {
#define PROGRAM_SLOT(function) __typeof__(&function) function;
    PROGRAM_FUNCTIONS(PROGRAM_SLOT)
#undef PROGRAM_SLOT
} cl;

#define CL_OK(call) assert_int_equal(call, CL_SUCCESS)

/* ---- the watcher ---- */

static struct {
    void (*set_watch)(faults_layer_watch_fn);
    long (*live)(int);
    atomic_long waits, transfers, calls; /* of the host; of elements; all */
    atomic_long fail_at;                 /* the call that fails, from 1 on; 0: none */
    _Atomic(const char *) fail_name;     /* the calls that fail */
    atomic_int fail_with;
} program_watch;

static inline int32_t program_watch_call(const char *function) {
    static const char *const waits[] = {"clFinish", "clWaitForEvents"};
    static const char *const transfers[] = {"clEnqueueReadBuffer", "clEnqueueWriteBuffer",
                                            "clEnqueueCopyBuffer", "clEnqueueMapBuffer"};
    const long number = atomic_fetch_add(&program_watch.calls, 1) + 1;
    const char *name = atomic_load(&program_watch.fail_name);
    for (int i = 0; i < 2; ++i)
        if (strcmp(function, waits[i]) == 0) atomic_fetch_add(&program_watch.waits, 1);
    for (int i = 0; i < 4; ++i)
        if (strcmp(function, transfers[i]) == 0) atomic_fetch_add(&program_watch.transfers, 1);
    const bool fails =
        number == atomic_load(&program_watch.fail_at) || (name && strcmp(name, function) == 0);
    return fails ? atomic_load(&program_watch.fail_with) : CL_SUCCESS;
}

static inline void program_watch_reset(void) {
    atomic_store(&program_watch.waits, 0);
    atomic_store(&program_watch.transfers, 0);
    atomic_store(&program_watch.calls, 0);
    atomic_store(&program_watch.fail_at, 0);
    atomic_store(&program_watch.fail_name, NULL);
}

/* Every call of that name fails; NULL: none. */
static inline void program_fail_calls(const char *name, cl_int error) {
    atomic_store(&program_watch.fail_with, error);
    atomic_store(&program_watch.fail_name, name);
}

static inline void program_watch_begin(void) {
    const char *file = GANTRY_TEST_MODULES "/layer/gantry_faults_layer.so";
    void *layer = dlopen(file, RTLD_NOW | RTLD_LOCAL), *symbols[2];
    if (!layer) fail_msg("%s", dlerror());
    symbols[0] = dlsym(layer, "gantry_faults_layer_set_watch");
    symbols[1] = dlsym(layer, "gantry_faults_layer_live");
    assert_non_null(symbols[0]);
    memcpy(&program_watch, symbols, sizeof symbols);
    program_watch_reset();
    program_watch.set_watch(program_watch_call);
}

/* ---- the program ---- */

typedef struct opencl_program_t {
    cl_device_id devices[4];
    cl_uint device_count;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel fill, twice;
    locked_heap_t heap;
    gantry_runtime_t *runtime;
    const gantry_logical_device_t *gpu;
    gantry_scope_t *scope;
    atomic_int released;
    long live[FAULTS_LAYER_KINDS]; /* references before its beginning */
} opencl_program_t;

static const char *const program_text =
    "__kernel void fill(__global float *x, float first) {\n"
    "    x[get_global_id(0)] = first + get_global_id(0);\n}\n"
    "__kernel void twice(__global const uchar *from, ulong offset, __global float *to) {\n"
    "    to[get_global_id(0)] = 2 * ((__global const float *)(from + offset))[get_global_id(0)];\n"
    "}\n";

/* Opens the loader with the layer, once. */
static inline void program_load(void) {
    if (cl.clFinish) return;
    (void)setenv("OPENCL_LAYERS", GANTRY_TEST_MODULES "/layer/gantry_faults_layer.so", 1);
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!loader) fail_msg("%s", dlerror());
#define PROGRAM_FIND(function)                        \
    {                                                 \
        void *symbol = dlsym(loader, #function);      \
        assert_non_null(symbol);                      \
        memcpy(&cl.function, &symbol, sizeof symbol); \
    }
    PROGRAM_FUNCTIONS(PROGRAM_FIND)
#undef PROGRAM_FIND
    program_watch_begin();
}

static inline void program_begin(opencl_program_t *p) {
    cl_platform_id platform;
    cl_int error;
    need_opencl();
    program_load();
    program_watch_reset();
    memset(p, 0, sizeof *p);
    for (int kind = 0; kind < FAULTS_LAYER_KINDS; ++kind) p->live[kind] = program_watch.live(kind);
    CL_OK(cl.clGetPlatformIDs(1, &platform, NULL));
    CL_OK(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 4, p->devices, &p->device_count));
    p->context = cl.clCreateContext(NULL, 1, p->devices, NULL, NULL, &error);
    CL_OK(error);
    p->queue = cl.clCreateCommandQueue(p->context, p->devices[0], 0, &error);
    CL_OK(error);
    p->program =
        cl.clCreateProgramWithSource(p->context, 1, (const char **)&program_text, NULL, &error);
    CL_OK(error);
    CL_OK(cl.clBuildProgram(p->program, 0, NULL, "", NULL, NULL));
    p->fill = cl.clCreateKernel(p->program, "fill", &error);
    CL_OK(error);
    p->twice = cl.clCreateKernel(p->program, "twice", &error);
    CL_OK(error);
    locked_heap_init(&p->heap, -1);
}

/* The driver's own threads hold references for a moment after a command has ended: in the end it
 * is 1. */
#define PROGRAM_REFERENCES(ask, object, what)                            \
    cl_uint count = 0;                                                   \
    for (int i = 0; i < 5000 && count != 1; ++i) {                       \
        const struct timespec moment = {.tv_nsec = i > 0 ? 1000000 : 0}; \
        (void)nanosleep(&moment, NULL);                                  \
        CL_OK(cl.ask(object, what, sizeof count, &count, NULL));         \
    }                                                                    \
    return count

static inline cl_uint program_queue_references(const opencl_program_t *p) {
    PROGRAM_REFERENCES(clGetCommandQueueInfo, p->queue, CL_QUEUE_REFERENCE_COUNT);
}

static inline cl_uint program_memory_references(cl_mem memory) {
    PROGRAM_REFERENCES(clGetMemObjectInfo, memory, CL_MEM_REFERENCE_COUNT);
}

static inline cl_uint program_event_references(cl_event event) {
    PROGRAM_REFERENCES(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
}

static inline gantry_adopted_context_t program_adopted(const opencl_program_t *p) {
    return (gantry_adopted_context_t){.struct_size = sizeof(gantry_adopted_context_t),
                                      .backend = "opencl",
                                      .context = p->context,
                                      .device = p->devices[0],
                                      .queue = p->queue};
}

static inline gantry_runtime_options_t program_options(
    opencl_program_t *p, const gantry_adopted_context_t *const *adopted, size_t count) {
    return (gantry_runtime_options_t){.struct_size = sizeof(gantry_runtime_options_t),
                                      .reallocate = locked_heap_reallocate,
                                      .reallocate_user = &p->heap,
                                      .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                      .backends = "cpu,opencl",
                                      .opencl_cpu_as_gpu = GANTRY_ON,
                                      .kernel_cache = "",
                                      .adopted = adopted,
                                      .adopted_count = count};
}

static inline void program_open_with(opencl_program_t *p, const gantry_runtime_options_t *options) {
    if (gantry_runtime_create(options, &p->runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    if (gantry_find_logical_device(p->runtime, "GPU:0", &p->gpu) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    p->scope = gantry_scope_begin(p->runtime, "/GPU:0");
    assert_non_null(p->scope);
}

/* A runtime over the program's context and queue, with a scope on GPU:0. logical_devices: that
 * option of the runtime; NULL: none. */
static inline void program_open_as(opencl_program_t *p, const char *logical_devices) {
    program_begin(p);
    const gantry_adopted_context_t adopted = program_adopted(p);
    const gantry_adopted_context_t *const list[] = {&adopted};
    gantry_runtime_options_t options = program_options(p, list, 1);
    options.logical_devices = logical_devices;
    program_open_with(p, &options);
}

static inline void program_open(opencl_program_t *p) { program_open_as(p, NULL); }

static inline void program_expect_scope_ok(const opencl_program_t *p) {
    if (gantry_scope_status(p->scope) != GANTRY_OK) fail_msg("%s", gantry_scope_message(p->scope));
}

static inline void program_close_runtime(opencl_program_t *p) {
    if (p->scope) (void)gantry_scope_end(p->scope);
    p->scope = NULL;
    gantry_runtime_release(p->runtime);
    p->runtime = NULL;
    assert_int_equal(p->heap.inner.live_blocks, 0);
    assert_false(p->heap.inner.wrong_size);
}

static inline void program_end(opencl_program_t *p) {
    program_watch_reset();
    if (p->runtime) program_close_runtime(p);
    CL_OK(cl.clReleaseKernel(p->fill));
    CL_OK(cl.clReleaseKernel(p->twice));
    CL_OK(cl.clReleaseProgram(p->program));
    assert_int_equal(program_queue_references(p), 1);
    CL_OK(cl.clReleaseCommandQueue(p->queue));
    CL_OK(cl.clReleaseContext(p->context));
    locked_heap_deinit(&p->heap);
    for (int kind = 0; kind < FAULTS_LAYER_KINDS; ++kind)
        assert_int_equal(program_watch.live(kind), p->live[kind]);
}

/* ---- its work ---- */

static inline cl_mem program_buffer(const opencl_program_t *p, cl_mem_flags flags, size_t bytes,
                                    void *host) {
    cl_int error;
    cl_mem memory = cl.clCreateBuffer(p->context, flags, bytes, host, &error);
    CL_OK(error);
    return memory;
}

static inline void program_launch(const opencl_program_t *p, cl_kernel kernel) {
    const size_t items = PROGRAM_ITEMS;
    CL_OK(cl.clEnqueueNDRangeKernel(p->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

static inline void program_fill(const opencl_program_t *p, cl_mem memory, float first) {
    CL_OK(cl.clSetKernelArg(p->fill, 0, sizeof memory, &memory));
    CL_OK(cl.clSetKernelArg(p->fill, 1, sizeof first, &first));
    program_launch(p, p->fill);
}

static inline void program_twice(const opencl_program_t *p, const gantry_tensor_t *from,
                                 cl_mem to) {
    gantry_device_memory_t at = {.struct_size = sizeof at};
    if (gantry_tensor_get_device_memory(from, &at) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    cl_mem memory = at.memory;
    const cl_ulong offset = at.offset_bytes;
    CL_OK(cl.clSetKernelArg(p->twice, 0, sizeof memory, &memory));
    CL_OK(cl.clSetKernelArg(p->twice, 1, sizeof offset, &offset));
    CL_OK(cl.clSetKernelArg(p->twice, 2, sizeof to, &to));
    program_launch(p, p->twice);
}

static inline void program_read(const opencl_program_t *p, cl_mem memory, float *out) {
    CL_OK(cl.clEnqueueReadBuffer(p->queue, memory, CL_TRUE, 0, PROGRAM_BYTES, out, 0, NULL, NULL));
}

static inline void program_count_release(void *user) {
    opencl_program_t *p = user;
    atomic_fetch_add(&p->released, 1);
}

static inline const gantry_tensor_t *program_adopt(opencl_program_t *p, cl_mem memory,
                                                   bool is_writable) {
    const gantry_from_device_memory_options_t options = {.struct_size = sizeof options,
                                                         .is_writable = is_writable,
                                                         .release = program_count_release,
                                                         .user = p};
    return gantry_tensor_from_device_memory(p->scope, p->gpu, GANTRY_FLOAT32,
                                            GANTRY_SHAPE(PROGRAM_ITEMS), memory, 0, &options);
}

/* A command that keeps the queue from going on until the gate is opened. */
static inline cl_event program_shut_gate(const opencl_program_t *p) {
    cl_int error;
    cl_event gate = cl.clCreateUserEvent(p->context, &error);
    CL_OK(error);
    CL_OK(cl.clEnqueueBarrierWithWaitList(p->queue, 1, &gate, NULL));
    return gate;
}

static inline void program_open_gate(cl_event gate) {
    CL_OK(cl.clSetUserEventStatus(gate, CL_COMPLETE));
    CL_OK(cl.clReleaseEvent(gate));
}

/* ---- any step fails ---- */

/* What fails: allocation `at` and all later ones, or OpenCL call `at`; counted from 1. */
typedef struct fault_t {
    bool is_call;
    long at;
} fault_t;

static inline void begin_fault(opencl_program_t *p, fault_t fault) {
    program_watch_reset();
    atomic_store(&program_watch.fail_with, CL_OUT_OF_HOST_MEMORY);
    atomic_store(&program_watch.fail_at, fault.is_call ? fault.at : 0);
    p->heap.inner.calls = 0;
    p->heap.inner.fail_at = fault.is_call ? -1 : fault.at - 1;
}

/* Whether the fault was met. */
static inline bool end_fault(opencl_program_t *p, fault_t fault) {
    const bool was_met =
        fault.is_call ? program_watch.calls >= fault.at : p->heap.inner.calls >= fault.at;
    program_watch_reset();
    p->heap.inner.fail_at = -1;
    return was_met;
}

#endif
