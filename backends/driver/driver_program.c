/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and memory that programs and kernels of both drivers' backends share
 * (driver_program.h). */
#include "driver/driver_program.h"

#include "driver/build_failure.h"

/* ---- arguments of the slots ---- */

int32_t gantry__program_check_source(const gantry_host_t *host,
                                     const gantry__native_errors_t *errors,
                                     const gantry_program_source_t *source, uint32_t kind,
                                     const char *language) {
    if ((source->kinds & kind) != 0) return GANTRY_OK;
    return gantry__native_fail(host, errors, GANTRY_INVALID_ARGUMENT, 0,
                               "program \"%.200s\" is not written in %s", source->label, language);
}

int32_t gantry__program_check_options(const gantry_host_t *host,
                                      const gantry__native_errors_t *errors, const char *label,
                                      size_t bytes) {
    if (bytes < GANTRY__BUILD_OPTIONS_BYTES) return GANTRY_OK;
    return gantry__native_fail(
        host, errors, GANTRY_INVALID_ARGUMENT, 0,
        "build options of \"%.200s\" take %zu bytes; at most %d are accepted", label, bytes,
        GANTRY__BUILD_OPTIONS_BYTES - 1);
}

int32_t gantry__program_check_binary(const gantry_host_t *host,
                                     const gantry__native_errors_t *errors, const char *label,
                                     uint64_t size_bytes) {
    if (size_bytes > 0) return GANTRY_OK;
    return gantry__native_fail(host, errors, GANTRY_INVALID_ARGUMENT, 0,
                               "the binary of \"%.200s\" is empty", label);
}

int32_t gantry__program_check_room(const gantry_host_t *host, const gantry__native_errors_t *errors,
                                   const char *label, uint64_t size_bytes, uint64_t room_bytes) {
    if (size_bytes <= room_bytes) return GANTRY_OK;
    return gantry__native_fail(host, errors, GANTRY_OUT_OF_RANGE, 0,
                               "the binary of \"%.200s\" has %llu bytes; there is room for %llu",
                               label, (unsigned long long)size_bytes,
                               (unsigned long long)room_bytes);
}

/* ---- programs and kernels ---- */

void *gantry__program_make(const gantry_host_t *host, const gantry__native_errors_t *errors,
                           size_t bytes, gantry_backend_device_t *device, const char *label) {
    gantry__program_head_t *program = gantry__host_alloc(host, errors->domain, bytes);
    if (!program) return NULL;
    program->device = device;
    if (!gantry__kernel_list_init(&program->kernels)) {
        gantry__native_fail(host, errors, GANTRY_RESOURCE_EXHAUSTED, 0,
                            "no mutex for program \"%.200s\"", label);
        gantry__host_free(host, program, bytes);
        return NULL;
    }
    program->label = gantry__host_text(host, errors->domain, label);
    if (!program->label) {
        gantry__program_free(host, program, bytes);
        return NULL;
    }
    return program;
}

void gantry__program_free(const gantry_host_t *host, gantry__program_head_t *program,
                          size_t bytes) {
    gantry__host_text_free(host, program->label);
    gantry__kernel_list_deinit(&program->kernels);
    gantry__host_free(host, program, bytes);
}

void *gantry__kernel_make(const gantry_host_t *host, const gantry__native_errors_t *errors,
                          size_t bytes, const char *name) {
    gantry__kernel_head_t *kernel = gantry__host_alloc(host, errors->domain, bytes);
    if (!kernel) return NULL;
    kernel->info.struct_size = sizeof kernel->info;
    kernel->name = gantry__host_text(host, errors->domain, name);
    if (!kernel->name) {
        gantry__host_free(host, kernel, bytes);
        return NULL;
    }
    return kernel;
}

void gantry__kernel_free(const gantry_host_t *host, gantry__kernel_head_t *kernel, size_t bytes) {
    gantry__host_text_free(host, kernel->name);
    gantry__host_free(host, kernel, bytes);
}
