#include "opencl/opencl_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "opencl/opencl_symbols.h"

#define TEXT_BYTES 1024

typedef struct error_t {
    int32_t native;
    int32_t code;
    const char *name;
} error_t;

#define ERROR(number, code) \
    { number, code, #number }
#define PLATFORM_NOT_FOUND (-1001) /* cl_khr_icd */

/* Errors that a correct backend cannot cause are Internal; UNKNOWN is left for drivers that give a number without a
 * meaning. Unavailable of an open device says that it is lost, so nothing milder may have that code. Drivers whose
 * context died under a fault report its queues, and the context itself, as invalid from then on: they live as long as
 * their stream and device, so nothing else can be meant. */
static const error_t errors[] = {
    ERROR(CL_DEVICE_NOT_FOUND, GANTRY__OPENCL_NOT_FOUND),
    ERROR(CL_DEVICE_NOT_AVAILABLE, GANTRY_K_UNAVAILABLE),
    ERROR(CL_COMPILER_NOT_AVAILABLE, GANTRY_K_UNIMPLEMENTED),
    ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE, GANTRY_K_RESOURCE_EXHAUSTED),
    ERROR(CL_OUT_OF_RESOURCES, GANTRY_K_RESOURCE_EXHAUSTED),
    ERROR(CL_OUT_OF_HOST_MEMORY, GANTRY_K_RESOURCE_EXHAUSTED),
    ERROR(CL_PROFILING_INFO_NOT_AVAILABLE, GANTRY_K_FAILED_PRECONDITION),
    ERROR(CL_MEM_COPY_OVERLAP, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_BUILD_PROGRAM_FAILURE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_MAP_FAILURE, GANTRY_K_RESOURCE_EXHAUSTED),
    ERROR(CL_MISALIGNED_SUB_BUFFER_OFFSET, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, GANTRY__OPENCL_UNKNOWN),
    ERROR(CL_COMPILE_PROGRAM_FAILURE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_LINKER_NOT_AVAILABLE, GANTRY_K_UNIMPLEMENTED),
    ERROR(CL_LINK_PROGRAM_FAILURE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, GANTRY_K_FAILED_PRECONDITION),
    ERROR(CL_INVALID_VALUE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_DEVICE_TYPE, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_PLATFORM, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_DEVICE, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_CONTEXT, GANTRY_K_UNAVAILABLE),
    ERROR(CL_INVALID_QUEUE_PROPERTIES, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_COMMAND_QUEUE, GANTRY_K_UNAVAILABLE),
    ERROR(CL_INVALID_HOST_PTR, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_MEM_OBJECT, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_BINARY, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_BUILD_OPTIONS, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_PROGRAM, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_PROGRAM_EXECUTABLE, GANTRY_K_FAILED_PRECONDITION),
    ERROR(CL_INVALID_KERNEL_NAME, GANTRY__OPENCL_NOT_FOUND),
    ERROR(CL_INVALID_KERNEL_DEFINITION, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_KERNEL, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_ARG_INDEX, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_ARG_VALUE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_ARG_SIZE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_KERNEL_ARGS, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_WORK_DIMENSION, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_WORK_GROUP_SIZE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_WORK_ITEM_SIZE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_GLOBAL_OFFSET, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_EVENT_WAIT_LIST, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_EVENT, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_OPERATION, GANTRY_K_FAILED_PRECONDITION),
    ERROR(CL_INVALID_BUFFER_SIZE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_GLOBAL_WORK_SIZE, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_PROPERTY, GANTRY_K_INTERNAL),
    ERROR(CL_INVALID_COMPILER_OPTIONS, GANTRY_K_INVALID_ARGUMENT),
    ERROR(CL_INVALID_LINKER_OPTIONS, GANTRY_K_INVALID_ARGUMENT),
    {PLATFORM_NOT_FOUND, GANTRY_K_UNAVAILABLE, "CL_PLATFORM_NOT_FOUND_KHR"},
    {GANTRY__OPENCL_NO_MEMORY, GANTRY_K_RESOURCE_EXHAUSTED, "no host memory"},
};

static const error_t *find_error(int32_t native) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].native == native) {
            return &errors[i];
        }
    }
    return NULL;
}

const char *gantry__opencl_error_name(int32_t native) {
    const error_t *error = find_error(native);

    return error != NULL ? error->name : "unknown OpenCL error";
}

int32_t gantry__opencl_error_code(int32_t native) {
    const error_t *error = find_error(native);

    return error != NULL ? error->code : GANTRY__OPENCL_UNKNOWN;
}

int32_t gantry__opencl_fail(const gantry_host_t *host, int32_t code, int64_t native, const char *format, ...) {
    char text[TEXT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return host->set_error(host->self, code, "OpenCL", native, text);
}

int32_t gantry__opencl_check(const gantry_host_t *host, int32_t native, const char *format, ...) {
    char text[TEXT_BYTES];
    va_list arguments;

    if (native == CL_SUCCESS) {
        return GANTRY_K_OK;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return gantry__opencl_fail(host, gantry__opencl_error_code(native), native, "%.900s: %s (%d)", text,
                               gantry__opencl_error_name(native), (int)native);
}

void gantry__opencl_log(const gantry_host_t *host, int32_t level, const char *format, ...) {
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

const char *gantry__opencl_option(const gantry_host_t *host, const char *name) {
    const char *value = GANTRY_ABI_HAS(host, option) && host->option != NULL ? host->option(host->self, name) : NULL;

    return value != NULL && value[0] != '\0' ? value : NULL;
}

void *gantry__opencl_alloc(const gantry_host_t *host, size_t bytes) {
    void *ptr = host->reallocate(host->self, NULL, 0, bytes);

    if (ptr == NULL) {
        gantry__opencl_fail(host, GANTRY_K_RESOURCE_EXHAUSTED, 0, "no host memory for %zu bytes of the OpenCL backend",
                            bytes);
        return NULL;
    }
    return memset(ptr, 0, bytes);
}

void gantry__opencl_free(const gantry_host_t *host, void *ptr, size_t bytes) {
    if (ptr != NULL) {
        host->reallocate(host->self, ptr, bytes, 0);
    }
}
