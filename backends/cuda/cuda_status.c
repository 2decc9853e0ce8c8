#include "cuda/cuda_status.h"

#include <stdarg.h>

/* Unavailable of an open device says that it is lost, so only errors that a context does not survive have that code
 * there: the driver calls them sticky, answers every later call with them, and nothing but the end of the process
 * helps. Others with that code come up only while a driver or device is opened. Errors that a correct backend
 * cannot cause are Internal; UNKNOWN is left for numbers without a meaning. */
static const gantry__native_error_t list[] = {
#define GANTRY__CUDA_ERROR(number, code, name) {number, code, #name},
#include "cuda/cuda_errors.def"
};

static const gantry__native_errors_t errors = {"CUDA", "unknown CUDA error", list, sizeof list / sizeof list[0]};

const char *gantry__cuda_error_name(gantry__cu_result_t native) { return gantry__native_name(&errors, native); }

int32_t gantry__cuda_error_code(gantry__cu_result_t native) { return gantry__native_code(&errors, native); }

int32_t gantry__cuda_fail(const gantry_host_t *host, int32_t code, int64_t native, const char *format, ...) {
    va_list arguments;
    int32_t status;

    va_start(arguments, format);
    status = gantry__host_fail(host, errors.domain, code, native, format, arguments);
    va_end(arguments);
    return status;
}

int32_t gantry__cuda_check(const gantry_host_t *host, gantry__cu_result_t native, const char *format, ...) {
    va_list arguments;
    int32_t status;

    va_start(arguments, format);
    status = gantry__native_check(host, &errors, native, format, arguments);
    va_end(arguments);
    return status;
}

void *gantry__cuda_alloc(const gantry_host_t *host, size_t bytes) {
    return gantry__host_alloc(host, errors.domain, bytes);
}

char *gantry__cuda_text(const gantry_host_t *host, const char *text) {
    return gantry__host_text(host, errors.domain, text);
}
