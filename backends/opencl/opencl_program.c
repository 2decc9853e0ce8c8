/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: from text, or from a binary that this driver made before. Both end in clBuildProgram,
 * and a refusal has the compiler's own words.
 *
 * PoCL reads the declarations of all built-in functions, Clang's opencl-c.h, before each program:
 * 85 of the 100 ms that a short one takes. A definition of that header's guard leaves them out, and
 * Gantry's own text comes with declarations of the functions that it calls. A program that does not
 * build so is built with PoCL's header. PoCL then still skips that header twice, which is half of
 * the instructions of a short program's build. */
#include "opencl/opencl_backend.h"

#include <stdio.h>
#include <string.h>

#include "driver/build_failure.h"
#include "opencl/opencl_text.h"

#define WITHOUT_HEADER "-D_OPENCL_H_"

/* ---- a refusal ---- */

/* The compiler's log, *out_bytes long, which the caller must free; NULL when there is none. */
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

/* Ends the making of a program. A program whose making failed is destroyed. */
static int32_t opencl_program_end(gantry_backend_program_t *program, int32_t status,
                                  gantry_backend_program_t **out_program) {
    if (status != GANTRY_OK) {
        opencl_program_destroy(program);
        return status;
    }
    *out_program = program;
    return GANTRY_OK;
}

/* Compiles or, for a binary, links; *out_native is the driver's result. all must be all options. */
static int32_t opencl_program_compile(gantry_backend_program_t *program, const char *all,
                                      cl_int *out_native) {
    gantry_backend_device_t *device = program->head.device;
    gantry__opencl_compile_t compile = {NULL, 0};
    if (device->is_pocl)
        GANTRY__TRY(
            gantry__opencl_compile_begin(device->host, &device->instance->compiler, &compile));
    *out_native =
        device->cl->clBuildProgram(program->handle, 1, &device->record->device, all, NULL, NULL);
    gantry__opencl_compile_end(&compile);
    return GANTRY_OK;
}

/* Only OpenCL C 3.0 has the functions of cl_khr_integer_dot_product. */
static const char *language_of(const gantry_backend_device_t *device, const char *options) {
    return device->record->has_dots && strstr(options, "-DGANTRY_DOTS=1") ? "-cl-std=CL3.0"
                                                                          : "-cl-std=CL1.2";
}

/* Joins the device's options, the program's and one more; each may be "". */
static int32_t opencl_program_options(const gantry_backend_program_t *program, const char *options,
                                      const char *more, char out_all[GANTRY__BUILD_OPTIONS_BYTES]) {
    gantry_backend_device_t *device = program->head.device;
    int length = snprintf(out_all, GANTRY__BUILD_OPTIONS_BYTES, "%s %s%s%s%s%s",
                          language_of(device, options), device->record->build_options,
                          options[0] != '\0' ? " " : "", options, more[0] != '\0' ? " " : "", more);
    return gantry__program_check_options(device->host, &GANTRY__DRIVER_ERRORS, program->head.label,
                                         (size_t)length);
}

static int32_t opencl_program_finish(gantry_backend_program_t *program, const char *options) {
    char all[GANTRY__BUILD_OPTIONS_BYTES];
    cl_int native;
    GANTRY__TRY(opencl_program_options(program, options, "", all));
    GANTRY__TRY(opencl_program_compile(program, all, &native));
    return native == CL_SUCCESS ? GANTRY_OK
                                : opencl_program_build_failed(program->head.device, program->handle,
                                                              program->head.label, all, native);
}

static int32_t opencl_program_hand_over(gantry_backend_program_t *program, const char *const *parts,
                                        uint32_t count) {
    const gantry_backend_device_t *device = program->head.device;
    cl_int native = CL_SUCCESS;
    program->handle = device->cl->clCreateProgramWithSource(
        device->context, count, (const char **)(uintptr_t)parts, NULL, &native);
    return gantry__driver_check(device->host, native, "handing program \"%.200s\" to the driver",
                                program->head.label);
}

/* ---- without PoCL's header ---- */

/* Whether the text is Gantry's own, which begins with the constants of abi_types.h. */
static bool is_own_text(const gantry_program_source_t *source) {
    static const char begin[] = "#define GANTRY_";
    return source->part_count == 1 && strncmp(source->parts[0], begin, sizeof begin - 1) == 0;
}

static bool calls_rare(const char *text) {
    static const char *const names[] = {"vload", "vstore", "select(", "convert_",
                                        "GANTRY_LIBRARY_"};
    bool calls = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        calls = calls || strstr(text, names[i]);
    return calls;
}

/* Builds without PoCL's header. *out_is_built is false if the program must be built with it. */
static int32_t opencl_program_build_short(gantry_backend_program_t *program,
                                          const gantry_program_source_t *source,
                                          const char *options, bool *out_is_built) {
    const void *const texts[] = {gantry__text_pocl_builtins, gantry__text_pocl_builtins_rare};
    const gantry__k_texts_t key = {texts, calls_rare(source->parts[0]) ? 2 : 1};
    gantry_backend_device_t *device = program->head.device;
    const size_t bytes = (size_t)gantry__k_texts_make(&key, NULL, 0) + 1;
    char all[GANTRY__BUILD_OPTIONS_BYTES];
    GANTRY__TRY(opencl_program_options(program, options, WITHOUT_HEADER, all));
    char *declarations = gantry__driver_alloc(device->host, bytes);
    if (!declarations) return GANTRY_RESOURCE_EXHAUSTED;
    (void)gantry__k_texts_make(&key, declarations, bytes);
    const char *const parts[] = {declarations, source->parts[0]};
    int32_t status = opencl_program_hand_over(program, parts, 2);
    gantry__host_free(device->host, declarations, bytes);
    cl_int native = CL_SUCCESS;
    if (status == GANTRY_OK) status = opencl_program_compile(program, all, &native);
    *out_is_built = status == GANTRY_OK && native == CL_SUCCESS;
    if (status != GANTRY_OK || native == CL_SUCCESS) return status;
    if (native != CL_BUILD_PROGRAM_FAILURE)
        return opencl_program_build_failed(device, program->handle, program->head.label, all,
                                           native);
    gantry__host_log(device->host, GANTRY_LEVEL_DEBUG,
                     "program \"%.200s\" is built with PoCL's header, since without it %s",
                     program->head.label, gantry__driver_error_name(native));
    device->cl->clReleaseProgram(program->handle);
    program->handle = NULL;
    return GANTRY_OK;
}

static int32_t opencl_program_build(gantry_backend_device_t *device,
                                    const gantry_program_source_t *source, const char *options,
                                    gantry_backend_program_t **out_program) {
    *out_program = NULL;
    GANTRY__TRY(gantry__program_check_source(device->host, &GANTRY__DRIVER_ERRORS, source,
                                             GANTRY_PROGRAM_OPENCL_C, "OpenCL C"));
    gantry_backend_program_t *program = opencl_program_make(device, source->label);
    if (!program) return GANTRY_RESOURCE_EXHAUSTED;
    int32_t status = GANTRY_OK;
    bool is_built = false;
    if (!options) options = "";
    if (device->is_pocl && is_own_text(source))
        status = opencl_program_build_short(program, source, options, &is_built);
    if (status == GANTRY_OK && !is_built) {
        status = opencl_program_hand_over(program, source->parts, source->part_count);
        if (status == GANTRY_OK) status = opencl_program_finish(program, options);
    }
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
