/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and their functions. CUDA passes a kernel's parameters as pointers without sizes, so the
 * stand-in queries PoCL for each parameter's type. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stand_in_graph.h"
#include "stand_in_image.h"

#define PARAMETERS 64
#define THREADS_AT_MOST 1024
#define SHARED_BYTES 49152
#define SHARED_BYTES_ASKED 232448

enum { BY_POINTER, BY_VALUE, SHARED };

typedef struct parameter_t {
    int kind;
    uint32_t bytes;
    uint32_t alignment;
} parameter_t;

typedef struct module_t {
    stand_in_object_t object;
    cl_program program;
    stand_in_image_t image;
} module_t;

typedef struct function_t {
    stand_in_object_t object;
    module_t *module;
    cl_kernel kernel;
    pthread_mutex_t lock; /* a cl_kernel holds the arguments set last */
    cl_uint count;
    parameter_t parameters[PARAMETERS];
    uint64_t static_shared;
    uint64_t private_bytes;
    uint64_t dynamic_shared; /* at most */
    uint64_t threads;
} function_t;

/* ---- modules ---- */

static int fits_device(const stand_in_image_t *image, const stand_in_device_t *device) {
    const int own = device->major * 10 + device->minor;

    return image->is_real ? image->architecture / 10 == device->major && image->architecture <= own
                          : image->architecture <= own;
}

static void end_function(stand_in_object_t *object) {
    function_t *function = (function_t *)object;

    stand_in__pocl()->clReleaseKernel(function->kernel);
    pthread_mutex_destroy(&function->lock);
    free(function);
}

typedef struct wanted_t {
    const module_t *module;
    stand_in_object_t *found;
} wanted_t;

static void look_at(stand_in_object_t *object, void *self) {
    wanted_t *wanted = self;

    if (((function_t *)object)->module == wanted->module) {
        wanted->found = object;
    }
}

static void end_module(stand_in_object_t *object) {
    module_t *module = (module_t *)object;
    wanted_t wanted = {module, NULL};

    do {
        wanted.found = NULL;
        stand_in__each(STAND_IN_FUNCTIONS, module->object.context, look_at, &wanted);
        if (wanted.found != NULL && stand_in__unlist(wanted.found)) {
            end_function(wanted.found);
        }
    } while (wanted.found != NULL);
    stand_in__pocl()->clReleaseProgram(module->program);
    stand_in__release_image(&module->image);
    free(module);
}

static int load_module(void **out_module, const void *text) {
    module_t *module;

    if (out_module == NULL || text == NULL) return CUDA_INVALID_VALUE;
    if (stand_in__check_unsafe() != CUDA_OK) return CUDA_CAPTURE_UNSUPPORTED;
    module = calloc(1, sizeof *module);
    if (module == NULL) return CUDA_OUT_OF_MEMORY;
    if (stand_in__read_image(text, &module->image) != 0) {
        free(module);
        return CUDA_INVALID_IMAGE;
    }
    if (!fits_device(&module->image, stand_in__current()->device)) {
        stand_in__release_image(&module->image);
        free(module);
        return CUDA_NO_BINARY_FOR_GPU;
    }
    module->program = stand_in__build(module->image.source, module->image.options, NULL);
    if (module->program == NULL) {
        stand_in__release_image(&module->image);
        free(module);
        return CUDA_INVALID_IMAGE;
    }
    module->object.kind = STAND_IN_MODULES;
    module->object.context = stand_in__current();
    module->object.end = end_module;
    stand_in__list(&module->object);
    *out_module = module;
    return CUDA_OK;
}

STAND_IN_API int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                                    void **values);
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                       void **values) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (count > 0 && (options == NULL || values == NULL)) return CUDA_INVALID_VALUE;
    return load_module(module, image);
}

STAND_IN_API int cuModuleLoadData(void **module, const void *image);
int cuModuleLoadData(void **module, const void *image) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return load_module(module, image);
}

STAND_IN_API int cuModuleUnload(void *handle);
int cuModuleUnload(void *handle) {
    int code = stand_in__enter(__func__, STAND_IN_NEEDS_ANY_CONTEXT);
    module_t *module;

    if (!stand_in__may_end(code)) return code;
    module = stand_in__find(handle, STAND_IN_MODULES);
    if (module == NULL || !stand_in__unlist(&module->object)) return CUDA_INVALID_HANDLE;
    (void)stand_in__finish(module->object.context);
    end_module(&module->object);
    return code;
}

/* ---- functions ---- */

/* Size and alignment; 0 and 0: unknown type. */
static void ask_type(const stand_in_image_t *image, const char *name, parameter_t *out) {
    out->bytes = stand_in__scalar_bytes(name);
    out->alignment = out->bytes;
    for (int i = 0; i < image->type_count; ++i) {
        if (strcmp(image->types[i].name, name) == 0) {
            out->bytes = image->types[i].bytes;
            out->alignment = image->types[i].alignment;
        }
    }
}

static int learn_parameters(function_t *function) {
    const stand_in_pocl_t *cl = stand_in__pocl();

    cl->clGetKernelInfo(function->kernel, CL_KERNEL_NUM_ARGS, sizeof function->count,
                        &function->count, NULL);
    if (function->count > PARAMETERS) return -1;
    for (cl_uint i = 0; i < function->count; ++i) {
        cl_kernel_arg_address_qualifier space = 0;
        char name[STAND_IN_TYPE_BYTES] = "";

        cl->clGetKernelArgInfo(function->kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space,
                               &space, NULL);
        cl->clGetKernelArgInfo(function->kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof name, name,
                               NULL);
        function->parameters[i].bytes = sizeof(uint64_t);
        function->parameters[i].alignment = sizeof(uint64_t);
        if (space == CL_KERNEL_ARG_ADDRESS_PRIVATE) {
            function->parameters[i].kind = BY_VALUE;
            ask_type(&function->module->image, name, &function->parameters[i]);
            if (function->parameters[i].bytes == 0) return -1;
        } else {
            function->parameters[i].kind =
                space == CL_KERNEL_ARG_ADDRESS_LOCAL ? SHARED : BY_POINTER;
        }
    }
    return 0;
}

static void learn_needs(function_t *function) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    cl_ulong bytes = 0;
    size_t items = 0;

    if (cl->clGetKernelWorkGroupInfo(function->kernel, cl->device, CL_KERNEL_LOCAL_MEM_SIZE,
                                     sizeof bytes, &bytes, NULL) == CL_SUCCESS) {
        function->static_shared = bytes;
    }
    if (cl->clGetKernelWorkGroupInfo(function->kernel, cl->device, CL_KERNEL_WORK_GROUP_SIZE,
                                     sizeof items, &items, NULL) == CL_SUCCESS) {
        function->threads = items;
    }
    if (function->threads == 0 || function->threads > THREADS_AT_MOST) {
        function->threads = THREADS_AT_MOST;
    }
    function->dynamic_shared =
        function->static_shared < SHARED_BYTES ? SHARED_BYTES - function->static_shared : 0;
}

STAND_IN_API int cuModuleGetFunction(void **out_function, void *handle, const char *name);
int cuModuleGetFunction(void **out_function, void *handle, const char *name) {
    module_t *module;
    function_t *function;
    cl_int native = CL_SUCCESS;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (out_function == NULL || name == NULL) return CUDA_INVALID_VALUE;
    module = stand_in__find(handle, STAND_IN_MODULES);
    if (module == NULL) return CUDA_INVALID_HANDLE;
    if (module->object.context != stand_in__current()) return CUDA_INVALID_CONTEXT;
    function = calloc(1, sizeof *function);
    if (function == NULL) return CUDA_OUT_OF_MEMORY;
    function->module = module;
    function->kernel = stand_in__pocl()->clCreateKernel(module->program, name, &native);
    if (native != CL_SUCCESS) {
        free(function);
        return CUDA_NOT_FOUND;
    }
    pthread_mutex_init(&function->lock, NULL);
    if (learn_parameters(function) != 0) {
        stand_in__complain("a parameter of kernel \"%.60s\" has a type of unknown size", name);
        end_function(&function->object);
        return CUDA_UNKNOWN;
    }
    learn_needs(function);
    function->object.kind = STAND_IN_FUNCTIONS;
    function->object.context = module->object.context;
    function->object.end = end_function;
    stand_in__list(&function->object);
    *out_function = function;
    return CUDA_OK;
}

STAND_IN_API int cuFuncGetAttribute(int *value, int attribute, void *handle);
int cuFuncGetAttribute(int *value, int attribute, void *handle) {
    const function_t *function;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    function = stand_in__find(handle, STAND_IN_FUNCTIONS);
    if (function == NULL) return CUDA_INVALID_HANDLE;
    if (value == NULL) return CUDA_INVALID_VALUE;
    switch (attribute) {
        case 0: *value = (int)function->threads; break;
        case 1: *value = (int)function->static_shared; break;
        case 2: *value = 0; break;
        case 3: *value = (int)function->private_bytes; break;
        case 4: *value = 32; break;
        case 5:
        case 6: *value = function->module->image.architecture; break;
        case 7: *value = 0; break;
        case 8: *value = (int)function->dynamic_shared; break;
        default: return CUDA_INVALID_VALUE;
    }
    return CUDA_OK;
}

STAND_IN_API int cuFuncSetAttribute(void *handle, int attribute, int value);
int cuFuncSetAttribute(void *handle, int attribute, int value) {
    function_t *function;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    function = stand_in__find(handle, STAND_IN_FUNCTIONS);
    if (function == NULL) return CUDA_INVALID_HANDLE;
    /* the preferred carve-out */
    if (attribute == 9) return value >= -1 && value <= 100 ? CUDA_OK : CUDA_INVALID_VALUE;
    if (attribute != 8 || value < 0 ||
        (uint64_t)value + function->static_shared > SHARED_BYTES_ASKED)
        return CUDA_INVALID_VALUE;
    function->dynamic_shared = (uint64_t)value;
    return CUDA_OK;
}

STAND_IN_API int cuFuncGetParamInfo(void *handle, size_t index, size_t *offset, size_t *bytes);
int cuFuncGetParamInfo(void *handle, size_t index, size_t *offset, size_t *bytes) {
    const function_t *function;
    size_t at = 0;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    function = stand_in__find(handle, STAND_IN_FUNCTIONS);
    if (function == NULL) return CUDA_INVALID_HANDLE;
    if (offset == NULL || index >= function->count) return CUDA_INVALID_VALUE;
    for (size_t i = 0;; ++i) {
        const parameter_t *parameter = &function->parameters[i];

        at = (at + parameter->alignment - 1) / parameter->alignment * parameter->alignment;
        if (i == index) break;
        at += parameter->bytes;
    }
    *offset = at;
    if (bytes != NULL) *bytes = function->parameters[index].bytes;
    return CUDA_OK;
}

/* ---- launches ---- */

/* Whether a kernel in this context may use the address. */
static int may_reach(const stand_in_context_t *context, uint64_t address) {
    const stand_in_memory_t *memory = stand_in__memory_at(address, 0, STAND_IN_MEMORY);

    if (memory != NULL) {
        return memory->device == context->device ||
               (context->peers & (1u << memory->device->number)) != 0;
    }
    return stand_in__memory_at(address, 0, STAND_IN_HOST_MEMORY) != NULL;
}

/* A wrong address does not fail the launch: the card notices it, and the next call returns the
 * error. *out_is_wrong: the kernel must not run. */
static int set_parameter(function_t *function, cl_uint index, const void *value, uint64_t shared,
                         int *out_is_wrong) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    const parameter_t *parameter = &function->parameters[index];
    uint64_t address;
    cl_int native;

    switch (parameter->kind) {
        case BY_POINTER:
            memcpy(&address, value, sizeof address);
            if (address != 0 && !may_reach(function->object.context, address)) {
                stand_in__fail_context(
                    function->object.context, CUDA_ILLEGAL_ADDRESS,
                    "parameter %u of a kernel is %#llx, which is no memory of its device", index,
                    (unsigned long long)address);
                *out_is_wrong = 1;
                return CUDA_OK;
            }
            native = cl->clSetKernelArgSVMPointer(function->kernel, index,
                                                  (const void *)(uintptr_t)address);
            break;
        case SHARED:
            if (shared == 0) {
                stand_in__fail_context(function->object.context, CUDA_ILLEGAL_ADDRESS,
                                       "a kernel uses shared memory, of which it got none");
                *out_is_wrong = 1;
                return CUDA_OK;
            }
            native = cl->clSetKernelArg(function->kernel, index, shared, NULL);
            break;
        default:
            native = cl->clSetKernelArg(function->kernel, index, parameter->bytes, value);
            break;
    }
    return native == CL_SUCCESS ? CUDA_OK : CUDA_INVALID_VALUE;
}

static int launch(function_t *function, stand_in_stream_t *stream, const size_t grid[3],
                  const size_t block[3], uint64_t shared, void **parameters) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    const size_t global[3] = {grid[0] * block[0], grid[1] * block[1], grid[2] * block[2]};
    int is_wrong = 0;
    cl_int native = CL_SUCCESS;

    for (cl_uint i = 0; i < function->count && !is_wrong; ++i) {
        int code = parameters[i] != NULL
                       ? set_parameter(function, i, parameters[i], shared, &is_wrong)
                       : CUDA_INVALID_VALUE;

        if (code != CUDA_OK) return code;
    }
    if (stand_in__hold_stream(stream) != CUDA_OK) return CUDA_UNKNOWN;
    if (!is_wrong) {
        native = cl->clEnqueueNDRangeKernel(stream->queue, function->kernel, 3, NULL, global, block,
                                            0, NULL, NULL);
    }
    if (native == CL_SUCCESS) {
        native = cl->clFlush(stream->queue);
    }
    if (native != CL_SUCCESS) {
        stand_in__complain(
            "PoCL refused a launch (%d) of %zu x %zu x %zu in groups of %zu x %zu x %zu",
            (int)native, global[0], global[1], global[2], block[0], block[1], block[2]);
    }
    return native == CL_SUCCESS ? CUDA_OK : CUDA_LAUNCH_OUT_OF_RESOURCES;
}

/* ---- captured launches: parameters are stored in sequence, each aligned to 16 ---- */

#define VALUE_ALIGNMENT 16u

typedef struct captured_launch_t {
    void *function;
    size_t grid[3];
    size_t block[3];
    uint64_t shared;
    _Alignas(VALUE_ALIGNMENT) uint8_t values[];
} captured_launch_t;

static size_t room_of(const parameter_t *parameter) {
    return (parameter->bytes + VALUE_ALIGNMENT - 1) / VALUE_ALIGNMENT * VALUE_ALIGNMENT;
}

static void place_values(const function_t *function, uint8_t *values, void **out_parameters) {
    for (cl_uint i = 0; i < function->count; ++i) {
        out_parameters[i] = values;
        values += room_of(&function->parameters[i]);
    }
}

static int submit_launch(stand_in_stream_t *stream, const stand_in_node_t *node) {
    captured_launch_t *kept = (captured_launch_t *)(uintptr_t)node->arguments;
    function_t *function = stand_in__find(kept->function, STAND_IN_FUNCTIONS);
    void *parameters[PARAMETERS];
    int code;

    if (function == NULL) {
        stand_in__fail_context(stream->object.context, CUDA_ILLEGAL_ADDRESS,
                               "a graph launches a kernel whose module was unloaded");
        return CUDA_ILLEGAL_ADDRESS;
    }
    place_values(function, kept->values, parameters);
    pthread_mutex_lock(&function->lock);
    code = launch(function, stream, kept->grid, kept->block, kept->shared, parameters);
    pthread_mutex_unlock(&function->lock);
    return code;
}

static int keep_launch(function_t *function, stand_in_stream_t *stream, const size_t grid[3],
                       const size_t block[3], uint64_t shared, void **parameters) {
    void *places[PARAMETERS];
    size_t bytes = sizeof(captured_launch_t);
    captured_launch_t *kept;
    int code = CUDA_OK;

    for (cl_uint i = 0; i < function->count; ++i) {
        bytes += room_of(&function->parameters[i]);
    }
    kept = calloc(1, bytes);
    if (kept == NULL) return CUDA_OUT_OF_MEMORY;
    kept->function = function;
    memcpy(kept->grid, grid, sizeof kept->grid);
    memcpy(kept->block, block, sizeof kept->block);
    kept->shared = shared;
    place_values(function, kept->values, places);
    for (cl_uint i = 0; i < function->count && code == CUDA_OK; ++i) {
        if (parameters[i] == NULL) {
            code = CUDA_INVALID_VALUE;
        } else {
            memcpy(places[i], parameters[i], function->parameters[i].bytes);
        }
    }
    if (code == CUDA_OK) {
        code = stand_in__keep(stream, submit_launch, NULL, kept, bytes);
    }
    free(kept);
    return code;
}

static void take_time(int microseconds) {
    const struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000L};
    if (microseconds > 0) (void)nanosleep(&time, NULL);
}

STAND_IN_API int cuLaunchKernel(void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z,
                                unsigned shared, void *stream_handle, void **parameters,
                                void **extra);
int cuLaunchKernel(void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream_handle, void **parameters, void **extra) {
    const size_t grid[3] = {grid_x, grid_y, grid_z};
    const size_t block[3] = {block_x, block_y, block_z};
    function_t *function;
    stand_in_stream_t *stream;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    function = stand_in__find(handle, STAND_IN_FUNCTIONS);
    if (function == NULL) return CUDA_INVALID_HANDLE;
    if (function->object.context != stand_in__current()) return CUDA_INVALID_CONTEXT;
    code = stand_in__stream_of(stream_handle, &stream);
    if (code != CUDA_OK) return code;
    if (grid_x == 0 || grid_y == 0 || grid_z == 0 || grid_x > 2147483647u || grid_y > 65535 ||
        grid_z > 65535 || block_x == 0 || block_y == 0 || block_z == 0 || block_x > 1024 ||
        block_y > 1024 || block_z > 64 || block[0] * block[1] * block[2] > function->threads ||
        shared > function->dynamic_shared || extra != NULL ||
        (parameters == NULL && function->count > 0)) {
        return CUDA_INVALID_VALUE;
    }
    if (stand_in__is_captured(stream))
        return keep_launch(function, stream, grid, block, shared, parameters);
    take_time(stand_in__machine()->launch_us);
    pthread_mutex_lock(&function->lock);
    code = launch(function, stream, grid, block, shared, parameters);
    pthread_mutex_unlock(&function->lock);
    return code;
}
