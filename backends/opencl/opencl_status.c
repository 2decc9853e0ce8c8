#include "opencl/opencl_status.h"

#include <stdarg.h>

#include "opencl/opencl_symbols.h"

#define ERROR(number, code) \
    { number, code, #number }
#define PLATFORM_NOT_FOUND (-1001) /* cl_khr_icd */

/* Errors that a correct backend cannot cause are Internal; UNKNOWN is left for drivers that give a number without a
 * meaning. Unavailable of an open device says that it is lost, so nothing milder may have that code. Drivers whose
 * context died under a fault report its queues, and the context itself, as invalid from then on: they live as long as
 * their stream and device, so nothing else can be meant. */
static const gantry__native_error_t list[] = {
    ERROR(CL_DEVICE_NOT_FOUND, GANTRY_K_NOT_FOUND),
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
    ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, GANTRY_K_UNKNOWN),
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
    ERROR(CL_INVALID_KERNEL_NAME, GANTRY_K_NOT_FOUND),
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

static const gantry__native_errors_t errors = {"OpenCL", "unknown OpenCL error", list, sizeof list / sizeof list[0]};

const char *gantry__opencl_error_name(int32_t native) { return gantry__native_name(&errors, native); }

int32_t gantry__opencl_error_code(int32_t native) { return gantry__native_code(&errors, native); }

int32_t gantry__opencl_fail(const gantry_host_t *host, int32_t code, int64_t native, const char *format, ...) {
    va_list arguments;
    int32_t status;

    va_start(arguments, format);
    status = gantry__host_fail(host, errors.domain, code, native, format, arguments);
    va_end(arguments);
    return status;
}

int32_t gantry__opencl_check(const gantry_host_t *host, int32_t native, const char *format, ...) {
    va_list arguments;
    int32_t status;

    va_start(arguments, format);
    status = gantry__native_check(host, &errors, native, format, arguments);
    va_end(arguments);
    return status;
}

void *gantry__opencl_alloc(const gantry_host_t *host, size_t bytes) {
    return gantry__host_alloc(host, errors.domain, bytes);
}

char *gantry__opencl_text(const gantry_host_t *host, const char *text) {
    return gantry__host_text(host, errors.domain, text);
}
