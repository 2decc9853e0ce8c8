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
    if (cl->clGetProgramBuildInfo(handle, device->record->device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                  &bytes) != CL_SUCCESS ||
        bytes == 0) {
        return NULL;
    }
    char *log = gantry__driver_alloc(device->host, bytes + 1);
    if (!log) return NULL;
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
                                                 .code = gantry__driver_error_code(native),
                                                 .native = native,
                                                 .native_name = gantry__driver_error_name(native),
                                                 .label = label,
                                                 .options = options,
                                                 .hardware_name = device->record->hardware_name,
                                                 .log = log});
    gantry__host_free(device->host, log, log_bytes);
    return code;
}

/* ---- making ---- */

static void opencl_program_destroy(gantry_backend_program_t *program) {
    gantry_backend_device_t *device = program->head.device;
    gantry__opencl_kernels_release(&program->head.kernels);
    if (program->handle) device->cl->clReleaseProgram(program->handle);
    gantry__program_free(device->host, &program->head, sizeof *program);
}

static gantry_backend_program_t *opencl_program_make(gantry_backend_device_t *device,
                                                     const char *label) {
    return gantry__program_make(device->host, &GANTRY__DRIVER_ERRORS,
                                sizeof(gantry_backend_program_t), device, label);
}

/* A program whose making failed is destroyed. */
static int32_t opencl_program_end(gantry_backend_program_t *program, int32_t status,
                                  gantry_backend_program_t **out_program) {
    if (status != GANTRY_OK) {
        opencl_program_destroy(program);
        return status;
    }
    *out_program = program;
    return GANTRY_OK;
}

/* Compiles or, for a binary, links. */
static int32_t opencl_program_finish(gantry_backend_program_t *program, const char *options) {
    gantry_backend_device_t *device = program->head.device;
    char all[GANTRY__BUILD_OPTIONS_BYTES];
    int length = snprintf(all, sizeof all, "%s%s%s", device->record->build_options,
                          options[0] != '\0' ? " " : "", options);
    GANTRY__TRY(gantry__program_check_options(device->host, &GANTRY__DRIVER_ERRORS,
                                              program->head.label, (size_t)length));
    gantry__opencl_compile_t compile = {NULL, 0};
    if (device->is_pocl)
        GANTRY__TRY(
            gantry__opencl_compile_begin(device->host, &device->instance->compiler, &compile));
    cl_int native =
        device->cl->clBuildProgram(program->handle, 1, &device->record->device, all, NULL, NULL);
    gantry__opencl_compile_end(&compile);
    return native == CL_SUCCESS ? GANTRY_OK
                                : opencl_program_build_failed(device, program->handle,
                                                              program->head.label, all, native);
}

static int32_t opencl_program_build(gantry_backend_device_t *device,
                                    const gantry_program_source_t *source, const char *options,
                                    gantry_backend_program_t **out_program) {
    *out_program = NULL;
    GANTRY__TRY(gantry__program_check_source(device->host, &GANTRY__DRIVER_ERRORS, source,
                                             GANTRY_PROGRAM_OPENCL_C, "OpenCL C"));
    gantry_backend_program_t *program = opencl_program_make(device, source->label);
    if (!program) return GANTRY_RESOURCE_EXHAUSTED;
    cl_int native = CL_SUCCESS;
    program->handle = device->cl->clCreateProgramWithSource(device->context, source->part_count,
                                                            (const char **)(uintptr_t)source->parts,
                                                            NULL, &native);
    int32_t status = gantry__driver_check(
        device->host, native, "handing program \"%.200s\" to the driver", source->label);
    if (status == GANTRY_OK) status = opencl_program_finish(program, options ? options : "");
    return opencl_program_end(program, status, out_program);
}

/* ---- binaries ---- */

static int32_t check_binary(const gantry_backend_program_t *program, cl_int native) {
    return gantry__driver_check(program->head.device->host, native,
                                "asking for the binary of \"%.200s\"", program->head.label);
}

static int32_t opencl_program_binary(gantry_backend_program_t *program, void *bytes,
                                     uint64_t *size_bytes) {
    gantry_backend_device_t *device = program->head.device;
    const gantry__opencl_symbols_t *cl = device->cl;
    uint64_t room_bytes = *size_bytes;
    size_t size = 0;
    GANTRY__TRY(check_binary(program, cl->clGetProgramInfo(program->handle, CL_PROGRAM_BINARY_SIZES,
                                                           sizeof size, &size, NULL)));
    if (size == 0) {
        return gantry__driver_fail(device->host, GANTRY_UNIMPLEMENTED, 0,
                                   "the driver of \"%.200s\" gives no binaries",
                                   device->record->hardware_name);
    }
    *size_bytes = size;
    if (!bytes) return GANTRY_OK;
    GANTRY__TRY(gantry__program_check_room(device->host, &GANTRY__DRIVER_ERRORS,
                                           program->head.label, size, room_bytes));
    unsigned char *target = bytes;
    return check_binary(program, cl->clGetProgramInfo(program->handle, CL_PROGRAM_BINARIES,
                                                      sizeof target, &target, NULL));
}

static int32_t opencl_program_load_binary(gantry_backend_device_t *device, const void *bytes,
                                          uint64_t size_bytes, const char *label,
                                          gantry_backend_program_t **out_program) {
    *out_program = NULL;
    GANTRY__TRY(
        gantry__program_check_binary(device->host, &GANTRY__DRIVER_ERRORS, label, size_bytes));
    gantry_backend_program_t *program = opencl_program_make(device, label);
    if (!program) return GANTRY_RESOURCE_EXHAUSTED;
    const unsigned char *data = bytes;
    size_t size = (size_t)size_bytes;
    cl_int native = CL_SUCCESS, accepted = CL_SUCCESS;
    program->handle = device->cl->clCreateProgramWithBinary(
        device->context, 1, &device->record->device, &size, &data, &accepted, &native);
    int32_t status = gantry__driver_check(device->host, native != CL_SUCCESS ? native : accepted,
                                          "loading the binary of \"%.200s\"", label);
    if (status == GANTRY_OK) status = opencl_program_finish(program, "");
    return opencl_program_end(program, status, out_program);
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
