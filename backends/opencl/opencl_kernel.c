/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and their launches.
 *
 * A cl_kernel carries the arguments that were set last, so it belongs to one thread from the first
 * clSetKernelArg to the end of clEnqueueNDRangeKernel, which copies them. A kernel therefore keeps
 * a stack of idle cl_kernels: a launch takes one, or makes one when all are taken, and puts it
 * back; there are never more than there were launches at one time. The lock covers only the stack,
 * and no call of the driver.
 *
 * What the last launch already set is not set again, because PoCL allocates memory for every
 * argument, under a lock for which its workers wait. After a buffer was released, its handle may be
 * a new one's, so all arguments are set again. */
#include "opencl/opencl_backend.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define COMPILED_SHAPES 8 /* a kernel has one to three */

/* The value to which an argument was set; bytes 0: none, or more than there is room for. */
typedef struct {
    uint32_t bytes;
    unsigned char value[60];
} last_t;

typedef struct {
    cl_kernel handle;
    /* one of each argument; NULL when there was no memory: all are set each time */
    last_t *last;
    uint64_t released; /* the device's released regions when they were set */
} ready_t;

struct gantry_backend_kernel_t {
    gantry__kernel_head_t head; /* must be first: a kernel of its program's list */
    gantry_backend_program_t *program;
    cl_uint argument_count;
    atomic_uint_fast64_t compiled[COMPILED_SHAPES]; /* shapes of launches; 0: none */
    atomic_uint_fast32_t compiled_count;
    gantry__mutex_t lock; /* guards the stack */
    ready_t *idle;
    uint32_t idle_count;
    uint32_t idle_capacity;
};

/* ---- the stack ---- */

static ready_t make_ready(const gantry_backend_kernel_t *kernel, cl_kernel handle) {
    size_t bytes = kernel->argument_count * sizeof(last_t);
    const gantry_host_t *host = kernel->program->head.device->host;
    ready_t ready = {handle, bytes > 0 ? host->reallocate(host->self, NULL, 0, bytes) : NULL, 0};
    if (ready.last) memset(ready.last, 0, bytes);
    return ready;
}

static void release_ready(const gantry_backend_kernel_t *kernel, ready_t ready) {
    const gantry_backend_device_t *device = kernel->program->head.device;
    device->cl->clReleaseKernel(ready.handle);
    gantry__host_free(device->host, ready.last, kernel->argument_count * sizeof(last_t));
}

/* Takes an idle cl_kernel. Its handle is NULL when none is idle. */
static ready_t take_idle(gantry_backend_kernel_t *kernel) {
    ready_t ready = {NULL, NULL, 0};
    gantry__mutex_lock(&kernel->lock);
    if (kernel->idle_count > 0) ready = kernel->idle[--kernel->idle_count];
    gantry__mutex_unlock(&kernel->lock);
    return ready;
}

/* Puts a cl_kernel back. If there is no room for it, it is released. */
static void put_idle(gantry_backend_kernel_t *kernel, ready_t ready) {
    const gantry_host_t *host = kernel->program->head.device->host;
    bool is_kept = true;
    gantry__mutex_lock(&kernel->lock);
    if (kernel->idle_count == kernel->idle_capacity) {
        uint32_t capacity = kernel->idle_capacity == 0 ? 4 : kernel->idle_capacity * 2;
        ready_t *grown =
            host->reallocate(host->self, kernel->idle, kernel->idle_capacity * sizeof *grown,
                             capacity * sizeof *grown);
        is_kept = grown != NULL;
        if (is_kept) {
            kernel->idle = grown;
            kernel->idle_capacity = capacity;
        }
    }
    if (is_kept) kernel->idle[kernel->idle_count++] = ready;
    gantry__mutex_unlock(&kernel->lock);
    if (!is_kept) release_ready(kernel, ready);
}

/* ---- finding ---- */

static void opencl_kernel_release(gantry_backend_kernel_t *kernel) {
    const gantry_backend_device_t *device = kernel->program->head.device;
    for (uint32_t i = 0; i < kernel->idle_count; ++i) release_ready(kernel, kernel->idle[i]);
    gantry__host_free(device->host, kernel->idle, kernel->idle_capacity * sizeof *kernel->idle);
    gantry__mutex_deinit(&kernel->lock);
    gantry__kernel_free(device->host, &kernel->head, sizeof *kernel);
}

void gantry__opencl_kernels_release(gantry__kernel_list_t *kernels) {
    gantry__kernel_head_t *head;
    while ((head = gantry__kernel_list_take(kernels)))
        opencl_kernel_release((gantry_backend_kernel_t *)head);
}

static int32_t no_such_kernel(const gantry_backend_program_t *program, const char *name,
                              cl_int native) {
    const gantry_backend_device_t *device = program->head.device;
    char names[512] = "";
    if (device->cl->clGetProgramInfo(program->handle, CL_PROGRAM_KERNEL_NAMES, sizeof names - 1,
                                     names, NULL) != CL_SUCCESS) {
        (void)snprintf(names, sizeof names, "more than can be listed");
    }
    return gantry__driver_check(device->host, native,
                                "kernel \"%.100s\" of program \"%.100s\", which has: %s", name,
                                program->head.label, names);
}

static gantry_backend_kernel_t *opencl_kernel_make(gantry_backend_program_t *program,
                                                   const char *name) {
    const gantry_host_t *host = program->head.device->host;
    gantry_backend_kernel_t *kernel =
        gantry__kernel_make(host, &GANTRY__DRIVER_ERRORS, sizeof *kernel, name);
    if (!kernel) return NULL;
    kernel->program = program;
    if (gantry__driver_mutex_init(host, &kernel->lock, "kernel \"%.200s\"", name) != GANTRY_OK) {
        gantry__kernel_free(host, &kernel->head, sizeof *kernel);
        return NULL;
    }
    return kernel;
}

/* Whether the limit is Rusticl's. Mesa's Rusticl gives a kernel's limit as the width of a
 * sub-group, and runs larger groups. */
static bool is_width_of_rusticl(const gantry_backend_device_t *device, cl_kernel handle,
                                size_t items) {
    size_t width = 0;
    return strcmp(device->record->platform_name, "rusticl") == 0 &&
           device->cl->clGetKernelWorkGroupInfo(handle, device->record->device,
                                                CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                                                sizeof width, &width, NULL) == CL_SUCCESS &&
           items == width;
}

/* Reads what the kernel needs from a cl_kernel without arguments, because a driver adds those in
 * local memory to what the text declares. What a driver does not report stays 0. */
static void opencl_kernel_ask_needs(gantry_backend_kernel_t *kernel, cl_kernel handle) {
    const gantry_backend_device_t *device = kernel->program->head.device;
    cl_device_id id = device->record->device;
    size_t items = 0;
    if (device->cl->clGetKernelWorkGroupInfo(handle, id, CL_KERNEL_WORK_GROUP_SIZE, sizeof items,
                                             &items, NULL) == CL_SUCCESS &&
        !is_width_of_rusticl(device, handle, items)) {
        kernel->head.info.max_work_group_size = items < UINT32_MAX ? (uint32_t)items : UINT32_MAX;
    }
    cl_ulong bytes = 0;
    if (device->cl->clGetKernelWorkGroupInfo(handle, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes,
                                             &bytes, NULL) == CL_SUCCESS) {
        kernel->head.info.local_bytes = bytes;
    }
    if (device->cl->clGetKernelWorkGroupInfo(handle, id, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof bytes,
                                             &bytes, NULL) == CL_SUCCESS) {
        kernel->head.info.private_bytes = bytes;
    }
}

/* Logs why a launch takes smaller groups, or another form, than the device would allow. */
static void log_limit(const gantry_backend_kernel_t *kernel) {
    const gantry_backend_device_t *device = kernel->program->head.device;
    const uint32_t own = kernel->head.info.max_work_group_size;
    const uint32_t most = device->record->info.max_work_group_size;
    if (own == 0 || own >= most) return;
    gantry__host_log(
        device->host, GANTRY_LEVEL_DEBUG,
        "the driver of \"%.100s\" allows kernel \"%.100s\" of \"%.100s\" groups of %u work-items, of %u that the device allows",
        device->record->hardware_name, kernel->head.name, kernel->program->head.label, own, most);
}

int32_t gantry__opencl_kernel_info(gantry_backend_kernel_t *kernel,
                                   gantry_kernel_info_t *out_info) {
    return gantry__kernel_head_info(&kernel->head, out_info);
}

int32_t gantry__opencl_kernel_find(gantry_backend_program_t *program, const char *name,
                                   gantry_backend_kernel_t **out_kernel) {
    gantry_backend_kernel_t *kernel =
        (gantry_backend_kernel_t *)gantry__kernel_list_find(&program->head.kernels, name);
    *out_kernel = kernel;
    if (kernel) return GANTRY_OK;
    gantry_backend_device_t *device = program->head.device;
    gantry__opencl_compile_t compile = {NULL, 0};
    if (device->is_pocl)
        GANTRY__TRY(
            gantry__opencl_compile_begin(device->host, &device->instance->compiler, &compile));
    cl_int native = CL_SUCCESS;
    cl_kernel handle = device->cl->clCreateKernel(program->handle, name, &native);
    gantry__opencl_compile_end(&compile);
    if (native != CL_SUCCESS) return no_such_kernel(program, name, native);
    kernel = opencl_kernel_make(program, name);
    if (!kernel) {
        program->head.device->cl->clReleaseKernel(handle);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    native = program->head.device->cl->clGetKernelInfo(
        handle, CL_KERNEL_NUM_ARGS, sizeof kernel->argument_count, &kernel->argument_count, NULL);
    opencl_kernel_ask_needs(kernel, handle);
    log_limit(kernel);
    put_idle(kernel, make_ready(kernel, handle));
    if (native != CL_SUCCESS) {
        opencl_kernel_release(kernel);
        return gantry__driver_check(program->head.device->host, native,
                                    "asking kernel \"%.200s\" for its arguments", name);
    }
    gantry__kernel_list_add(&program->head.kernels, &kernel->head);
    *out_kernel = kernel;
    return GANTRY_OK;
}

/* ---- launching ---- */

/* Forgets all values after a region was released, because none of them is reliable then. */
static void forget_old(const gantry_backend_kernel_t *kernel, ready_t *ready) {
    uint64_t released = atomic_load(&kernel->program->head.device->released_regions);
    if (ready->last && ready->released != released) {
        memset(ready->last, 0, kernel->argument_count * sizeof(last_t));
        ready->released = released;
    }
}

/* Sets the argument to what the driver gets, unless it has this value from the last launch. */
static cl_int opencl_kernel_set_value(const gantry_backend_kernel_t *kernel, const ready_t *ready,
                                      cl_uint index, size_t bytes, const void *value,
                                      const void *told) {
    last_t *last = ready->last && index < kernel->argument_count ? ready->last + index : NULL;
    if (last && bytes > 0 && last->bytes == bytes && memcmp(last->value, value, bytes) == 0) {
        return CL_SUCCESS;
    }
    cl_int native =
        kernel->program->head.device->cl->clSetKernelArg(ready->handle, index, bytes, told);
    if (last) {
        last->bytes = native == CL_SUCCESS && bytes <= sizeof last->value ? (uint32_t)bytes : 0;
        memcpy(last->value, value, last->bytes);
    }
    return native;
}

/* Sets the argument at *index and moves index after it. */
static cl_int set_argument(const gantry_backend_kernel_t *kernel, const ready_t *ready,
                           cl_uint *index, const gantry_launch_arg_t *arg) {
    cl_mem base;
    cl_ulong offset;
    cl_int native;
    switch (arg->kind) {
        case GANTRY_LAUNCH_SPAN:
        case GANTRY_LAUNCH_BASE:
            base = gantry__opencl_buffer(arg->as.span.region);
            offset = arg->as.span.offset_bytes;
            native = opencl_kernel_set_value(kernel, ready, *index, sizeof base, &base,
                                             base ? &base : NULL);
            if (native != CL_SUCCESS || arg->kind == GANTRY_LAUNCH_BASE) break;
            *index += 1;
            native =
                opencl_kernel_set_value(kernel, ready, *index, sizeof offset, &offset, &offset);
            break;
        case GANTRY_LAUNCH_SCALAR:
            native = opencl_kernel_set_value(kernel, ready, *index, arg->size_bytes, arg->as.value,
                                             arg->as.value);
            break;
        case GANTRY_LAUNCH_LOCAL:
            native = kernel->program->head.device->cl->clSetKernelArg(ready->handle, *index,
                                                                      arg->size_bytes, NULL);
            break;
        default: return CL_INVALID_ARG_VALUE;
    }
    *index += 1;
    return native;
}

static int32_t set_arguments(const gantry_backend_kernel_t *kernel, ready_t *ready,
                             const gantry_launch_t *launch) {
    static const char *const kinds[] = {"span", "scalar", "local", "base"};
    const gantry_backend_device_t *device = kernel->program->head.device;
    cl_uint index = 0;

    forget_old(kernel, ready);
    for (uint32_t i = 0; i < launch->arg_count; ++i) {
        const gantry_launch_arg_t *arg = &launch->args[i];
        cl_int native = set_argument(kernel, ready, &index, arg);
        if (native != CL_SUCCESS) {
            return gantry__driver_check(
                device->host, native,
                "launch of \"%.100s\" of \"%.100s\": argument %u (%s, %u bytes)", kernel->head.name,
                kernel->program->head.label, i,
                arg->kind <= GANTRY_LAUNCH_BASE ? kinds[arg->kind] : "unknown", arg->size_bytes);
        }
    }
    if (index !=
        /* a cl_kernel that was used before still has its old arguments, so the driver would not
         * notice */
        kernel->argument_count) {
        return gantry__driver_fail(
            device->host, GANTRY_INVALID_ARGUMENT, 0,
            "launch of \"%.100s\" of \"%.100s\": %u arguments, a span counting twice; the kernel takes %u",
            kernel->head.name, kernel->program->head.label, index, kernel->argument_count);
    }
    return GANTRY_OK;
}

/* Checks the group's size, because some drivers lose the device where a group is larger than the
 * kernel's registers allow. */
static int32_t check_group(const gantry_backend_kernel_t *kernel, const size_t *local) {
    const gantry_backend_device_t *device = kernel->program->head.device;
    const size_t items = local[0] * local[1] * local[2],
                 most = kernel->head.info.max_work_group_size;
    if (most == 0 || items <= most) return GANTRY_OK;
    return gantry__driver_fail(
        device->host, GANTRY_RESOURCE_EXHAUSTED, 0,
        "launch of \"%.100s\" of \"%.100s\": a work-group of %zu work-items; the driver of \"%.100s\" allows this kernel at most %zu",
        kernel->head.name, kernel->program->head.label, items, device->record->hardware_name, most);
}

typedef struct launch_size_t {
    size_t global[3], local[3];
    bool has_local;
} launch_size_t;

static launch_size_t launch_size_of(const gantry_launch_t *launch) {
    launch_size_t size = {{1, 1, 1}, {1, 1, 1}, false};
    for (uint32_t d = 0; d < launch->dimensions && d < 3; ++d) {
        size.global[d] = (size_t)launch->global_size[d];
        size.local[d] = (size_t)launch->local_size[d];
        size.has_local |= size.local[d] != 0;
    }
    return size;
}

static int32_t enqueue(gantry_backend_stream_t *stream, const gantry_backend_kernel_t *kernel,
                       cl_kernel handle, const gantry_launch_t *launch, const launch_size_t *size) {
    const size_t *global = size->global, *local = size->local;
    cl_int native = stream->device->cl->clEnqueueNDRangeKernel(
        stream->queue, handle, launch->dimensions, NULL, global, size->has_local ? local : NULL, 0,
        NULL, NULL);
    return gantry__driver_check(
        stream->device->host, native,
        "launch of \"%.100s\" of \"%.100s\": %zu x %zu x %zu work-items in groups of %zu x %zu x %zu, %u arguments",
        kernel->head.name, kernel->program->head.label, global[0], global[1], global[2], local[0],
        local[1], local[2], launch->arg_count);
}

/* ---- launches that compile ----
 *
 * PoCL compiles machine code for each size of groups, and separately for small grids. A worker
 * thread does it when it begins the first such launch. */

/* A number for all launches that share machine code; never 0. */
static uint64_t launch_shape_of(const launch_size_t *size) {
    const uint64_t prime = UINT64_C(1099511628211);
    uint64_t shape = UINT64_C(14695981039346656037);
    bool is_small = true;
    for (int d = 0; d < 3; ++d) {
        is_small = is_small && size->global[d] <= UINT16_MAX;
        shape = (shape ^ (size->has_local ? size->local[d] : size->global[d])) * prime;
    }
    return ((shape ^ is_small) * prime) | 1;
}

static bool is_compiled(const gantry_backend_kernel_t *kernel, uint64_t shape) {
    for (int i = 0; i < COMPILED_SHAPES; ++i) {
        if (atomic_load_explicit(&kernel->compiled[i], memory_order_relaxed) == shape) return true;
    }
    return false;
}

static void keep_compiled(gantry_backend_kernel_t *kernel, uint64_t shape) {
    uint_fast32_t at = atomic_fetch_add(&kernel->compiled_count, 1) % COMPILED_SHAPES;
    atomic_store_explicit(&kernel->compiled[at], shape, memory_order_relaxed);
}

/* Launches where memory or disk is scarce: the launch is complete when this returns. */
static int32_t enqueue_compiling(gantry_backend_stream_t *stream, gantry_backend_kernel_t *kernel,
                                 cl_kernel handle, const gantry_launch_t *launch,
                                 const launch_size_t *size) {
    const uint64_t shape = launch_shape_of(size);
    if (is_compiled(kernel, shape)) return enqueue(stream, kernel, handle, launch, size);
    const gantry_backend_device_t *device = stream->device;
    gantry__opencl_compile_t compile;
    GANTRY__TRY(gantry__opencl_compile_begin_launch(device->host, &device->instance->compiler,
                                                    kernel->head.name, kernel->program->head.label,
                                                    &compile));
    int32_t status = enqueue(stream, kernel, handle, launch, size);
    if (status == GANTRY_OK && compile.compiler) (void)device->cl->clFinish(stream->queue);
    gantry__opencl_compile_end(&compile);
    if (status == GANTRY_OK) keep_compiled(kernel, shape);
    return status;
}

int32_t gantry__opencl_kernel_launch(gantry_backend_stream_t *stream,
                                     gantry_backend_kernel_t *kernel,
                                     const gantry_launch_t *launch) {
    ready_t ready = take_idle(kernel);
    cl_int native = CL_SUCCESS;
    if (!ready.handle) {
        cl_kernel handle =
            stream->device->cl->clCreateKernel(kernel->program->handle, kernel->head.name, &native);
        if (native != CL_SUCCESS) {
            return gantry__driver_check(stream->device->host, native,
                                        "one more of kernel \"%.200s\"", kernel->head.name);
        }
        ready = make_ready(kernel, handle);
    }
    const launch_size_t size = launch_size_of(launch);
    int32_t status = set_arguments(kernel, &ready, launch);
    if (status == GANTRY_OK) status = check_group(kernel, size.local);
    if (status == GANTRY_OK) {
        status = stream->device->is_pocl
                     ? enqueue_compiling(stream, kernel, ready.handle, launch, &size)
                     : enqueue(stream, kernel, ready.handle, launch, &size);
    }
    put_idle(kernel, ready);
    return status;
}
