/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and their launches. A CUfunction carries no arguments, so one serves every thread. */
#include "cuda/cuda_backend.h"

#define MOST_PARAMETERS 130 /* all inputs and outputs of an op, and two numbers */
#define USUAL_GROUP 256u    /* work-items, where the caller leaves the size to us */
#define MOST_GROUPS_X 2147483647u
#define MOST_GROUPS_YZ 65535u

struct gantry_backend_kernel_t {
    gantry__kernel_head_t head; /* must be first: a kernel of its program's list */
    gantry_backend_program_t *program;
    gantry__cu_function_t function;
    int32_t parameter_count; /* -1: the driver does not report it */
    size_t parameter_bytes[MOST_PARAMETERS];
};

/* ---- finding ---- */

void gantry__cuda_kernels_release(const gantry_host_t *host, gantry__kernel_list_t *kernels) {
    gantry__kernel_head_t *head;
    while ((head = gantry__kernel_list_take(kernels)))
        gantry__kernel_free(host, head, sizeof(gantry_backend_kernel_t));
}

static uint32_t attribute(const gantry_backend_kernel_t *kernel, unsigned int what) {
    int value = 0;
    if (kernel->program->head.device->cu->cuFuncGetAttribute(&value, what, kernel->function) !=
        GANTRY__CU_SUCCESS) {
        return 0;
    }
    return value > 0 ? (uint32_t)value : 0;
}

/* The number of a kernel's parameters. Drivers of CUDA 12.4 and newer report them one by one, and
 * an invalid index after the last one. -1: not known, as for a card that was lost meanwhile. */
static int32_t count_parameters(gantry_backend_kernel_t *kernel) {
    const gantry__cuda_symbols_t *cu = kernel->program->head.device->cu;
    gantry__cu_result_t native = GANTRY__CU_SUCCESS;
    size_t offset_bytes = 0;
    if (!cu->cuFuncGetParamInfo) return -1;
    int32_t count = 0;
    while (count < MOST_PARAMETERS) {
        native = cu->cuFuncGetParamInfo(kernel->function, (size_t)count, &offset_bytes,
                                        &kernel->parameter_bytes[count]);
        if (native != GANTRY__CU_SUCCESS) break;
        ++count;
    }
    return native == GANTRY__CU_SUCCESS || native == GANTRY__CU_INVALID_VALUE ? count : -1;
}

/* Reads what the kernel needs. The device's context must be current. What the driver does not
 * report stays 0. */
static void cuda_kernel_ask_needs(gantry_backend_kernel_t *kernel) {
    kernel->head.info.max_work_group_size =
        attribute(kernel, GANTRY__CU_FUNCTION_MAX_THREADS_PER_BLOCK);
    kernel->head.info.local_bytes = attribute(kernel, GANTRY__CU_FUNCTION_SHARED_SIZE_BYTES);
    kernel->head.info.private_bytes = attribute(kernel, GANTRY__CU_FUNCTION_LOCAL_SIZE_BYTES);
    kernel->parameter_count = count_parameters(kernel);
}

int32_t gantry__cuda_kernel_info(gantry_backend_kernel_t *kernel, gantry_kernel_info_t *out_info) {
    return gantry__kernel_head_info(&kernel->head, out_info);
}

static gantry__cu_result_t find_function(gantry_backend_kernel_t *kernel) {
    gantry_backend_program_t *program = kernel->program;
    gantry__cu_result_t native = program->head.device->cu->cuModuleGetFunction(
        &kernel->function, program->module, kernel->head.name);
    if (native == GANTRY__CU_SUCCESS) cuda_kernel_ask_needs(kernel);
    return native;
}

int32_t gantry__cuda_kernel_find(gantry_backend_program_t *program, const char *name,
                                 gantry_backend_kernel_t **out_kernel) {
    gantry_backend_kernel_t *kernel =
        (gantry_backend_kernel_t *)gantry__kernel_list_find(&program->head.kernels, name);
    *out_kernel = kernel;
    if (kernel) return GANTRY_OK;
    kernel = gantry__kernel_make(program->head.device->host, &GANTRY__DRIVER_ERRORS, sizeof *kernel,
                                 name);
    if (!kernel) return GANTRY_RESOURCE_EXHAUSTED;
    kernel->program = program;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(program->head.device, native, find_function(kernel));
    if (native != GANTRY__CU_SUCCESS) {
        gantry__kernel_free(program->head.device->host, &kernel->head, sizeof *kernel);
        return gantry__driver_check(program->head.device->host, native,
                                    "kernel \"%.100s\" of program \"%.200s\"", name,
                                    program->head.label);
    }
    gantry__kernel_list_add(&program->head.kernels, &kernel->head);
    *out_kernel = kernel;
    return GANTRY_OK;
}

/* ---- launching ---- */

/* Parameters are passed by pointer; those that are not the caller's values are in numbers. */
typedef struct parameters_t {
    void *list[MOST_PARAMETERS];
    unsigned long long numbers[MOST_PARAMETERS];
    uint32_t count;
    uint32_t shared_bytes;
} parameters_t;

static int32_t wrong_arguments(const gantry_backend_kernel_t *kernel, const char *what,
                               uint32_t number) {
    return gantry__driver_fail(kernel->program->head.device->host, GANTRY_INVALID_ARGUMENT, 0,
                               "launch of \"%.100s\" of \"%.100s\": %s %u", kernel->head.name,
                               kernel->program->head.label, what, number);
}

static void add_number(parameters_t *out, unsigned long long value) {
    out->numbers[out->count] = value;
    out->list[out->count] = &out->numbers[out->count];
    ++out->count;
}

/* Whether the kernel reads a value of that size there. A wrong number of arguments is found
 * later. */
static bool fits(const gantry_backend_kernel_t *kernel, uint32_t index, uint32_t bytes) {
    return kernel->parameter_count < 0 || index >= (uint32_t)kernel->parameter_count ||
           kernel->parameter_bytes[index] == bytes;
}

static int32_t set_parameters(const gantry_backend_kernel_t *kernel, const gantry_launch_t *launch,
                              parameters_t *out) {
    out->count = 0;
    out->shared_bytes = 0;
    for (uint32_t i = 0; i < launch->arg_count; ++i) {
        const gantry_launch_arg_t *arg = &launch->args[i];
        if (out->count + 2 > MOST_PARAMETERS)
            return wrong_arguments(kernel, "more parameters than", MOST_PARAMETERS);
        switch (arg->kind) {
            case GANTRY_LAUNCH_SPAN:
                add_number(out, arg->as.span.region);
                add_number(out, arg->as.span.offset_bytes);
                break;
            case GANTRY_LAUNCH_BASE: add_number(out, arg->as.span.region); break;
            case GANTRY_LAUNCH_SCALAR:
                if (!fits(kernel, out->count, arg->size_bytes))
                    return wrong_arguments(kernel, "a scalar of the wrong size as argument", i);
                out->list[out->count++] = (void *)(uintptr_t)arg->as.value;
                break;
            case GANTRY_LAUNCH_LOCAL:
                add_number(out, arg->size_bytes);
                out->shared_bytes += arg->size_bytes;
                break;
            default: return wrong_arguments(kernel, "unknown kind of argument", i);
        }
    }
    if (kernel->parameter_count >= 0 && out->count != (uint32_t)kernel->parameter_count) {
        return gantry__driver_fail(
            kernel->program->head.device->host, GANTRY_INVALID_ARGUMENT, 0,
            "launch of \"%.100s\" of \"%.100s\": %u arguments, a span counting twice; the kernel takes %d",
            kernel->head.name, kernel->program->head.label, out->count, kernel->parameter_count);
    }
    return GANTRY_OK;
}

/* The largest group up to the usual one that divides the work-items, because no work-item may be
 * launched beyond them. */
static uint64_t choose_group(const gantry_backend_kernel_t *kernel, uint64_t items) {
    uint64_t most = kernel->head.info.max_work_group_size;
    uint64_t group = most != 0 && most < USUAL_GROUP ? most : USUAL_GROUP;
    while (items % group != 0) group--;
    return group;
}

/* Most launches: whole groups of a given size in one dimension. False: shape_launch decides. */
static bool shape_line(const gantry_launch_t *launch, unsigned int groups[3],
                       unsigned int group[3]) {
    const uint64_t items = launch->global_size[0], local = launch->local_size[0];
    if (launch->dimensions != 1 || local == 0 || (items | local) > UINT32_MAX) return false;
    const uint32_t count = (uint32_t)items / (uint32_t)local;
    if (count == 0 || count * local != items || count > MOST_GROUPS_X) return false;
    groups[0] = count;
    group[0] = (unsigned int)local;
    groups[1] = groups[2] = group[1] = group[2] = 1;
    return true;
}

static int32_t shape_launch(const gantry_backend_kernel_t *kernel, const gantry_launch_t *launch,
                            unsigned int groups[3], unsigned int group[3]) {
    if (shape_line(launch, groups, group)) return GANTRY_OK;
    uint64_t local[3] = {1, 1, 1};
    uint64_t count[3] = {1, 1, 1};
    uint32_t dimensions = launch->dimensions < 3 ? launch->dimensions : 3;
    bool has_local = false;
    for (uint32_t d = 0; d < dimensions; ++d) has_local |= launch->local_size[d] != 0;
    for (uint32_t d = 0; d < dimensions; ++d) {
        uint64_t items = launch->global_size[d];
        local[d] = has_local              ? launch->local_size[d]
                   : d == 0 && items != 0 ? choose_group(kernel, items)
                                          : 1;
        count[d] =
            local[d] != 0 && local[d] <= UINT32_MAX && items % local[d] == 0 ? items / local[d] : 0;
        if (count[d] == 0 || count[d] > (d == 0 ? MOST_GROUPS_X : MOST_GROUPS_YZ)) {
            return gantry__driver_fail(
                kernel->program->head.device->host, GANTRY_INVALID_ARGUMENT, 0,
                "launch of \"%.100s\" of \"%.100s\": %llu work-items in groups of %llu in dimension %u; a multiple of up to %u groups is accepted",
                kernel->head.name, kernel->program->head.label, (unsigned long long)items,
                (unsigned long long)local[d], d, d == 0 ? MOST_GROUPS_X : MOST_GROUPS_YZ);
        }
    }
    for (int d = 0; d < 3; ++d) {
        groups[d] = (unsigned int)count[d];
        group[d] = (unsigned int)local[d];
    }
    return GANTRY_OK;
}

int32_t gantry__cuda_kernel_launch(gantry_backend_stream_t *stream, gantry_backend_kernel_t *kernel,
                                   const gantry_launch_t *launch) {
    gantry_backend_device_t *device = stream->device;
    unsigned int groups[3];
    unsigned int group[3];
    parameters_t parameters;
    GANTRY__TRY(gantry__cuda_stream_check(stream));
    GANTRY__TRY(set_parameters(kernel, launch, &parameters));
    GANTRY__TRY(shape_launch(kernel, launch, groups, group));
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(
        device, native,
        device->cu->cuLaunchKernel(kernel->function, groups[0], groups[1], groups[2], group[0],
                                   group[1], group[2], parameters.shared_bytes, stream->handle,
                                   parameters.list, NULL));
    if (native == GANTRY__CU_SUCCESS) return GANTRY_OK;
    return gantry__driver_check(
        device->host, native,
        "launch of \"%.100s\" of \"%.100s\": %u x %u x %u groups of %u x %u x %u work-items, %u arguments",
        kernel->head.name, kernel->program->head.label, groups[0], groups[1], groups[2], group[0],
        group[1], group[2], launch->arg_count);
}
