/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: from CUDA C through NVRTC, or from an image that was kept. What NVRTC gives is machine
 * code for the card (CUBIN), or PTX when the card is newer than NVRTC; the driver takes both alike,
 * and the image is the program's binary. A refusal has the compiler's own words. */
#include "cuda/cuda_backend.h"

#include <stdio.h>
#include <string.h>

#include "driver/build_failure.h"

#define MOST_OPTIONS 64

/* ---- a refusal ---- */

/* The compiler's log, *out_bytes long, which the caller must free; NULL when there is none. */
static char *cuda_program_build_log(gantry_backend_device_t *device, gantry__nvrtc_program_t handle,
                                    size_t *out_bytes) {
    const gantry__nvrtc_t *nvrtc = &device->instance->nvrtc;
    size_t bytes = 0;
    if (nvrtc->nvrtcGetProgramLogSize(handle, &bytes) != GANTRY__NVRTC_SUCCESS || bytes <= 1)
        return NULL;
    char *log = gantry__driver_alloc(device->host, bytes + 1);
    if (!log) return NULL;
    if (nvrtc->nvrtcGetProgramLog(handle, log) != GANTRY__NVRTC_SUCCESS) {
        gantry__host_free(device->host, log, bytes + 1);
        return NULL;
    }
    *out_bytes = bytes + 1;
    return log;
}

static int32_t cuda_program_build_failed(gantry_backend_device_t *device,
                                         gantry__nvrtc_program_t handle, const char *label,
                                         const char *options, gantry__nvrtc_result_t native) {
    size_t log_bytes = 0;
    char *log = handle ? cuda_program_build_log(device, handle, &log_bytes) : NULL;
    int32_t code = gantry__build_failed(
        device->host, &(gantry__build_failure_t){
                          .domain = "NVRTC",
                          .code = gantry__nvrtc_error_code(native),
                          .native = native,
                          .native_name = gantry__nvrtc_error_name(&device->instance->nvrtc, native),
                          .label = label,
                          .options = options,
                          .hardware_name = device->record->hardware_name,
                          .log = log});
    gantry__host_free(device->host, log, log_bytes);
    return code;
}

/* ---- compiling ---- */

/* The options of every program: no fused multiply-add and IEEE rounding, so that results are the
 * portable text's own. */
static const char *const fixed_options[] = {"--fmad=false", "--prec-div=true", "--prec-sqrt=true",
                                            "--ftz=false", "-default-device"};
#define FIXED_OPTIONS (sizeof fixed_options / sizeof fixed_options[0])

typedef struct options_t {
    char arch[48];
    char text[GANTRY__BUILD_OPTIONS_BYTES]; /* the caller's options, cut at their blanks */
    const char *list[MOST_OPTIONS];
    int count;
} options_t;

static int32_t cuda_program_read_options(gantry_backend_device_t *device, const char *label,
                                         const char *options, options_t *out) {
    size_t length = strlen(options);
    out->count = 0;
    (void)snprintf(out->arch, sizeof out->arch, "--gpu-architecture=%s_%d",
                   device->record->is_ptx ? "compute" : "sm", device->record->arch);
    out->list[out->count++] = out->arch;
    for (size_t i = 0; i < FIXED_OPTIONS; ++i) out->list[out->count++] = fixed_options[i];
    GANTRY__TRY(gantry__program_check_options(device->host, &GANTRY__DRIVER_ERRORS, label, length));
    memcpy(out->text, options, length + 1);
    for (char *at = out->text; *at != '\0';) {
        at += strspn(at, " ");
        if (*at == '\0') break;
        if (out->count == MOST_OPTIONS) {
            return gantry__driver_fail(device->host, GANTRY_INVALID_ARGUMENT, 0,
                                       "\"%.200s\" has more than %d build options", label,
                                       MOST_OPTIONS - 1 - (int)FIXED_OPTIONS);
        }
        out->list[out->count++] = at;
        at += strcspn(at, " ");
        if (*at == ' ') *at++ = '\0';
    }
    return GANTRY_OK;
}

/* Joins the parts to one text, *out_bytes long, which the caller must free. */
static char *join_parts(gantry_backend_device_t *device, const gantry_program_source_t *source,
                        size_t *out_bytes) {
    size_t bytes = 1;
    size_t at = 0;
    for (uint32_t i = 0; i < source->part_count; ++i) bytes += strlen(source->parts[i]);
    char *text = gantry__driver_alloc(device->host, bytes);
    if (!text) return NULL;
    for (uint32_t i = 0; i < source->part_count; ++i) {
        size_t length = strlen(source->parts[i]);
        memcpy(text + at, source->parts[i], length);
        at += length;
    }
    *out_bytes = bytes;
    return text;
}

/* Takes the image out of a compiled program. */
static gantry__nvrtc_result_t take_image(gantry_backend_program_t *program,
                                         gantry__nvrtc_program_t handle) {
    const gantry_backend_device_t *device = program->head.device;
    const gantry__nvrtc_t *nvrtc = &device->instance->nvrtc;
    bool is_ptx = device->record->is_ptx;
    size_t bytes = 0;
    gantry__nvrtc_result_t native =
        (is_ptx ? nvrtc->nvrtcGetPTXSize : nvrtc->nvrtcGetCUBINSize)(handle, &bytes);
    if (native != GANTRY__NVRTC_SUCCESS) return native;
    program->image_bytes = bytes;
    program->image = gantry__driver_alloc(device->host, bytes + 1);
    if (!program->image) return GANTRY__NVRTC_OUT_OF_MEMORY;
    return (is_ptx ? nvrtc->nvrtcGetPTX : nvrtc->nvrtcGetCUBIN)(handle, program->image);
}

static int32_t compile_text(gantry_backend_program_t *program, const char *text,
                            const options_t *options, const char *options_text) {
    gantry_backend_device_t *device = program->head.device;
    const gantry__nvrtc_t *nvrtc = &device->instance->nvrtc;
    int32_t status = GANTRY_OK;
    gantry__nvrtc_program_t handle = NULL;
    gantry__nvrtc_result_t native =
        nvrtc->nvrtcCreateProgram(&handle, text, program->head.label, 0, NULL, NULL);
    if (native == GANTRY__NVRTC_SUCCESS)
        native = nvrtc->nvrtcCompileProgram(handle, options->count, options->list);
    if (native == GANTRY__NVRTC_SUCCESS) native = take_image(program, handle);
    if (native != GANTRY__NVRTC_SUCCESS) {
        status =
            cuda_program_build_failed(device, handle, program->head.label, options_text, native);
    }
    if (handle) nvrtc->nvrtcDestroyProgram(&handle);
    return status;
}

static int32_t compile_source(gantry_backend_program_t *program,
                              const gantry_program_source_t *source, const char *options) {
    gantry_backend_device_t *device = program->head.device;
    options_t list;
    GANTRY__TRY(cuda_program_read_options(device, program->head.label, options, &list));
    size_t bytes = 0;
    char *text = join_parts(device, source, &bytes);
    if (!text) return GANTRY_RESOURCE_EXHAUSTED;
    int32_t status = compile_text(program, text, &list, options);
    gantry__host_free(device->host, text, bytes);
    return status;
}

/* ---- making ---- */

static void cuda_program_destroy(gantry_backend_program_t *program) {
    gantry_backend_device_t *device = program->head.device;
    gantry__cuda_kernels_release(device->host, &program->head.kernels);
    if (program->module && gantry__cuda_enter(device) == GANTRY__CU_SUCCESS) {
        device->cu->cuModuleUnload(program->module);
        gantry__cuda_leave(device);
    }
    gantry__host_free(device->host, program->image, program->image_bytes + 1);
    gantry__program_free(device->host, &program->head, sizeof *program);
}

static gantry_backend_program_t *cuda_program_make(gantry_backend_device_t *device,
                                                   const char *label) {
    return gantry__program_make(device->host, &GANTRY__DRIVER_ERRORS,
                                sizeof(gantry_backend_program_t), device, label);
}

/* Ends the making of a program. A program whose making failed is destroyed. */
static int32_t cuda_program_end(gantry_backend_program_t *program, int32_t status,
                                gantry_backend_program_t **out_program) {
    if (status != GANTRY_OK) {
        cuda_program_destroy(program);
        return status;
    }
    *out_program = program;
    return GANTRY_OK;
}

/* Gives the image to the driver, which translates PTX here. */
static int32_t load_image(gantry_backend_program_t *program) {
    gantry_backend_device_t *device = program->head.device;
    unsigned int options[] = {GANTRY__CU_JIT_ERROR_LOG_BUFFER,
                              GANTRY__CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    char log[GANTRY__BUILD_LOG_BYTES] = "";
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(
        device, native,
        device->cu->cuModuleLoadDataEx(&program->module, program->image, 2, options, values));
    if (native != GANTRY__CU_SUCCESS) program->module = NULL;
    return gantry__driver_check(
        device->host, native,
        "loading program \"%.200s\" (%s, %zu bytes) on \"%.200s\" (%s)%s%.300s",
        program->head.label, device->instance->nvrtc.name, program->image_bytes,
        device->record->hardware_name, device->instance->version, log[0] != '\0' ? ": " : "", log);
}

static int32_t cuda_program_build(gantry_backend_device_t *device,
                                  const gantry_program_source_t *source, const char *options,
                                  gantry_backend_program_t **out_program) {
    *out_program = NULL;
    GANTRY__TRY(gantry__program_check_source(device->host, &GANTRY__DRIVER_ERRORS, source,
                                             GANTRY_PROGRAM_CUDA_C, "CUDA C"));
    if (device->record->arch == 0) {
        return gantry__driver_fail(device->host, GANTRY_UNIMPLEMENTED, 0,
                                   "no compiler of programs for \"%.200s\": %s",
                                   device->record->hardware_name, device->record->info.no_programs);
    }
    gantry_backend_program_t *program = cuda_program_make(device, source->label);
    if (!program) return GANTRY_RESOURCE_EXHAUSTED;
    int32_t status = compile_source(program, source, options ? options : "");
    if (status == GANTRY_OK) status = load_image(program);
    return cuda_program_end(program, status, out_program);
}

/* ---- binaries ---- */

static int32_t cuda_program_binary(gantry_backend_program_t *program, void *bytes,
                                   uint64_t *size_bytes) {
    uint64_t room_bytes = *size_bytes;
    *size_bytes = program->image_bytes;
    if (!bytes) return GANTRY_OK;
    GANTRY__TRY(gantry__program_check_room(program->head.device->host, &GANTRY__DRIVER_ERRORS,
                                           program->head.label, *size_bytes, room_bytes));
    memcpy(bytes, program->image, program->image_bytes);
    return GANTRY_OK;
}

/* Copies the image. The driver gets no size: it reads as far as a CUBIN's own table says, or to a
 * text's end. So an image must end with one more zero, and a file that was cut must not get here;
 * the core checks the content of its files. */
static int32_t copy_image(gantry_backend_program_t *program, const void *bytes, size_t size_bytes) {
    program->image_bytes = size_bytes;
    program->image = gantry__driver_alloc(program->head.device->host, size_bytes + 1);
    if (!program->image) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(program->image, bytes, size_bytes);
    return GANTRY_OK;
}

static int32_t cuda_program_load_binary(gantry_backend_device_t *device, const void *bytes,
                                        uint64_t size_bytes, const char *label,
                                        gantry_backend_program_t **out_program) {
    *out_program = NULL;
    GANTRY__TRY(
        gantry__program_check_binary(device->host, &GANTRY__DRIVER_ERRORS, label, size_bytes));
    gantry_backend_program_t *program = cuda_program_make(device, label);
    if (!program) return GANTRY_RESOURCE_EXHAUSTED;
    int32_t status = copy_image(program, bytes, (size_t)size_bytes);
    if (status == GANTRY_OK) status = load_image(program);
    return cuda_program_end(program, status, out_program);
}

const gantry_program_ops_t gantry__cuda_program_ops = {
    .struct_size = sizeof gantry__cuda_program_ops,
    .build = cuda_program_build,
    .destroy = cuda_program_destroy,
    .binary = cuda_program_binary,
    .load_binary = cuda_program_load_binary,
    .kernel_find = gantry__cuda_kernel_find,
    .launch = gantry__cuda_kernel_launch,
    .kernel_info = gantry__cuda_kernel_info,
};
