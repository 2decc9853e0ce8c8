#include "cuda/cuda_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 1024

typedef struct error_t {
    gantry__cu_result_t native;
    int32_t code;
    const char *name;
} error_t;

/* Unavailable of an open device says that it is lost, so only errors that a context does not survive have that code
 * there: the driver calls them sticky, answers every later call with them, and nothing but the end of the process
 * helps. Others with that code come up only while a driver or device is opened. Errors that a correct backend
 * cannot cause are Internal; UNKNOWN is left for numbers without a meaning. */
static const error_t errors[] = {
#define GANTRY__CUDA_ERROR(number, code, name) {number, code, #name},
#include "cuda/cuda_errors.def"
};

static const error_t *find_error(gantry__cu_result_t native) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].native == native) {
            return &errors[i];
        }
    }
    return NULL;
}

const char *gantry__cuda_error_name(gantry__cu_result_t native) {
    const error_t *error = find_error(native);

    return error != NULL ? error->name : "unknown CUDA error";
}

int32_t gantry__cuda_error_code(gantry__cu_result_t native) {
    const error_t *error = find_error(native);

    return error != NULL ? error->code : GANTRY__CUDA_UNKNOWN;
}

int32_t gantry__cuda_fail(const gantry_host_t *host, int32_t code, int64_t native, const char *format, ...) {
    char text[TEXT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return host->set_error(host->self, code, "CUDA", native, text);
}

int32_t gantry__cuda_check(const gantry_host_t *host, gantry__cu_result_t native, const char *format, ...) {
    char text[TEXT_BYTES];
    va_list arguments;

    if (native == GANTRY__CU_SUCCESS) {
        return GANTRY_K_OK;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return gantry__cuda_fail(host, gantry__cuda_error_code(native), native, "%.900s: %s (%u)", text,
                             gantry__cuda_error_name(native), native);
}

void gantry__cuda_log(const gantry_host_t *host, int32_t level, const char *format, ...) {
    char text[TEXT_BYTES];
    va_list arguments;

    if (!GANTRY_ABI_HAS(host, log) || host->log == NULL) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    host->log(host->self, level, text);
}

const char *gantry__cuda_option(const gantry_host_t *host, const char *name) {
    const char *value = GANTRY_ABI_HAS(host, option) && host->option != NULL ? host->option(host->self, name) : NULL;

    return value != NULL && value[0] != '\0' ? value : NULL;
}

void *gantry__cuda_alloc(const gantry_host_t *host, size_t bytes) {
    void *ptr = host->reallocate(host->self, NULL, 0, bytes);

    if (ptr == NULL) {
        gantry__cuda_fail(host, GANTRY_K_RESOURCE_EXHAUSTED, 0, "no host memory for %zu bytes of the CUDA backend",
                          bytes);
        return NULL;
    }
    return memset(ptr, 0, bytes);
}

void gantry__cuda_free(const gantry_host_t *host, void *ptr, size_t bytes) {
    if (ptr != NULL) {
        host->reallocate(host->self, ptr, bytes, 0);
    }
}
