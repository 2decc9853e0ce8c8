/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: from text, or from a binary that this driver made before. Both end in clBuildProgram,
 * and a refusal carries the compiler's own words. */
#include "opencl/opencl_backend.h"

#include <stdio.h>

#include "driver/build_failure.h"

/* ---- a refusal ---- */

/* The compiler's log; NULL when there is none. Owned by the caller, *out_bytes long. */
static char *opencl_program_build_log(gantry_backend_device_t *device, cl_program handle,
                                      size_t *out_bytes) {
    const gantry__opencl_symbols_t *cl = device->cl;
    size_t bytes = 0;
    char *log;

    if (cl->clGetProgramBuildInfo(handle, device->record->device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                  &bytes) != CL_SUCCESS ||
        bytes == 0) {
        return NULL;
    }
    log = gantry__opencl_alloc(device->host, bytes + 1);
    if (log == NULL) {
        return NULL;
    }
    if (cl->clGetProgramBuildInfo(handle, device->record->device, CL_PROGRAM_BUILD_LOG, bytes, log,
                                  NULL) != CL_SUCCESS) {
        gantry__host_free(device->host, log, bytes + 1);
        return NULL;
    }
    *out_bytes = bytes + 1;
    return log;
}

static int32_t opencl_program_build_failed(gantry_backend_device_t *device, cl_program handle,
                                           const char *label, const char *options, cl_int native) {
    size_t log_bytes = 0;
    char *log = opencl_program_build_log(device, handle, &log_bytes);
    int32_t code = gantry__build_failed(
        device->host, &(gantry__build_failure_t){.domain = "OpenCL",
                                                 .code = gantry__opencl_error_code(native),
                                                 .native = native,
                                                 .native_name = gantry__opencl_error_name(native),
                                                 .label = label,
                                                 .options = options,
                                                 .hardware_name = device->record->hardware_name,
                                                 .log = log});

    gantry__host_free(device->host, log, log_bytes);
    return code;
}

int32_t gantry__opencl_check_compiling(const gantry_backend_device_t *device) {
    return gantry__pocl_is(device->record->platform_name)
               ? gantry__pocl_check_compiling(device->host, &device->instance->pocl_folder)
               : GANTRY_OK;
}

/* ---- making ---- */

static void opencl_program_destroy(gantry_backend_program_t *program) {
    const gantry_host_t *host = program->device->host;

    gantry__opencl_kernels_release(&program->kernels);
    if (program->handle != NULL) {
        program->device->cl->clReleaseProgram(program->handle);
    }
    gantry__host_text_free(host, program->label);
    gantry__kernel_list_deinit(&program->kernels);
    gantry__host_free(host, program, sizeof *program);
}

static gantry_backend_program_t *opencl_program_make(gantry_backend_device_t *device,
                                                     const char *label) {
    gantry_backend_program_t *program = gantry__opencl_alloc(device->host, sizeof *program);

    if (program == NULL) {
        return NULL;
    }
    program->device = device;
    if (!gantry__kernel_list_init(&program->kernels)) {
        gantry__opencl_fail(device->host, GANTRY_RESOURCE_EXHAUSTED, 0,
                            "no mutex for program \"%.200s\"", label);
        gantry__host_free(device->host, program, sizeof *program);
        return NULL;
    }
    program->label = gantry__opencl_text(device->host, label);
    if (program->label == NULL) {
        opencl_program_destroy(program);
        return NULL;
    }
    return program;
}

/* Compiles or, for a binary, links. */
static int32_t opencl_program_finish(gantry_backend_program_t *program, const char *options) {
    gantry_backend_device_t *device = program->device;
    char all[GANTRY__BUILD_OPTIONS_BYTES];
    int length = snprintf(all, sizeof all, "%s%s%s", device->record->build_options,
                          options[0] != '\0' ? " " : "", options);
    int32_t status;
    cl_int native;

    if (length < 0 || (size_t)length >= sizeof all) {
        return gantry__opencl_fail(
            device->host, GANTRY_INVALID_ARGUMENT, 0,
            "build options of \"%.200s\" take %d bytes; at most %d are accepted", program->label,
            length, GANTRY__BUILD_OPTIONS_BYTES - 1);
    }
    status = gantry__opencl_check_compiling(device);
    if (status != GANTRY_OK) {
        return status;
    }
    native =
        device->cl->clBuildProgram(program->handle, 1, &device->record->device, all, NULL, NULL);
    return native == CL_SUCCESS
               ? GANTRY_OK
               : opencl_program_build_failed(device, program->handle, program->label, all, native);
}

static int32_t opencl_program_build(gantry_backend_device_t *device,
                                    const gantry_program_source_t *source, const char *options,
                                    gantry_backend_program_t **out_program) {
    gantry_backend_program_t *program;
    cl_int native = CL_SUCCESS;
    int32_t status;

    *out_program = NULL;
    if ((source->kinds & GANTRY_PROGRAM_OPENCL_C) == 0) {
        return gantry__opencl_fail(device->host, GANTRY_INVALID_ARGUMENT, 0,
                                   "program \"%.200s\" is not written in OpenCL C", source->label);
    }
    program = opencl_program_make(device, source->label);
    if (program == NULL) {
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    program->handle = device->cl->clCreateProgramWithSource(device->context, source->part_count,
                                                            (const char **)(uintptr_t)source->parts,
                                                            NULL, &native);
    status = gantry__opencl_check(device->host, native, "handing program \"%.200s\" to the driver",
                                  source->label);
    if (status == GANTRY_OK) {
        status = opencl_program_finish(program, options != NULL ? options : "");
    }
    if (status != GANTRY_OK) {
        opencl_program_destroy(program);
        return status;
    }
    *out_program = program;
    return GANTRY_OK;
}

/* ---- binaries ---- */

static int32_t opencl_program_binary(gantry_backend_program_t *program, void *bytes,
                                     uint64_t *size_bytes) {
    gantry_backend_device_t *device = program->device;
    const gantry__opencl_symbols_t *cl = device->cl;
    uint64_t room = *size_bytes;
    size_t size = 0;
    cl_int native =
        cl->clGetProgramInfo(program->handle, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);

    if (native == CL_SUCCESS && size == 0) {
        return gantry__opencl_fail(device->host, GANTRY_UNIMPLEMENTED, 0,
                                   "the driver of \"%.200s\" gives no binaries",
                                   device->record->hardware_name);
    }
    *size_bytes = size;
    if (native == CL_SUCCESS && bytes != NULL) {
        unsigned char *target = bytes;

        if (size > room) {
            return gantry__opencl_fail(
                device->host, GANTRY_OUT_OF_RANGE, 0,
                "the binary of \"%.200s\" has %zu bytes; there is room for %llu", program->label,
                size, (unsigned long long)room);
        }
        native = cl->clGetProgramInfo(program->handle, CL_PROGRAM_BINARIES, sizeof target, &target,
                                      NULL);
    }
    return gantry__opencl_check(device->host, native, "asking for the binary of \"%.200s\"",
                                program->label);
}

static int32_t opencl_program_load_binary(gantry_backend_device_t *device, const void *bytes,
                                          uint64_t size_bytes, const char *label,
                                          gantry_backend_program_t **out_program) {
    const unsigned char *data = bytes;
    size_t size = (size_t)size_bytes;
    cl_int native = CL_SUCCESS;
    cl_int accepted = CL_SUCCESS;
    gantry_backend_program_t *program;
    int32_t status;

    *out_program = NULL;
    if (size_bytes == 0) {
        return gantry__opencl_fail(device->host, GANTRY_INVALID_ARGUMENT, 0,
                                   "the binary of \"%.200s\" is empty", label);
    }
    program = opencl_program_make(device, label);
    if (program == NULL) {
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    program->handle = device->cl->clCreateProgramWithBinary(
        device->context, 1, &device->record->device, &size, &data, &accepted, &native);
    status = gantry__opencl_check(device->host, native != CL_SUCCESS ? native : accepted,
                                  "loading the binary of \"%.200s\"", label);
    if (status == GANTRY_OK) {
        status = opencl_program_finish(program, "");
    }
    if (status != GANTRY_OK) {
        opencl_program_destroy(program);
        return status;
    }
    *out_program = program;
    return GANTRY_OK;
}

const gantry_program_ops_t gantry__opencl_program_ops = {
    .struct_size = sizeof gantry__opencl_program_ops,
    .build = opencl_program_build,
    .destroy = opencl_program_destroy,
    .binary = opencl_program_binary,
    .load_binary = opencl_program_load_binary,
    .kernel_find = gantry__opencl_kernel_find,
    .launch = gantry__opencl_kernel_launch,
    .kernel_info = gantry__opencl_kernel_info,
};
