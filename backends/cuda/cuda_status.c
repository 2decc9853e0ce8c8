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

/* Unavailable of an open device says that it is lost, so only errors that a context does not survive have that code there:
 * the driver calls them sticky, answers every later call with them, and nothing but the end of the process helps. Others
 * with that code come up only while a driver or device is opened. Errors that a correct backend cannot cause are Internal;
 * UNKNOWN is left for numbers without a meaning. */
static const error_t errors[] = {
    {1, GANTRY_K_INVALID_ARGUMENT, "CUDA_ERROR_INVALID_VALUE"},
    {GANTRY__CU_OUT_OF_MEMORY, GANTRY_K_RESOURCE_EXHAUSTED, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_NOT_INITIALIZED"}, /* in a child of a process that opened the driver */
    {4, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_DEINITIALIZED"},
    {34, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_STUB_LIBRARY"},
    {46, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {GANTRY__CU_NO_DEVICE, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_NO_DEVICE"},
    {101, GANTRY_K_INTERNAL, "CUDA_ERROR_INVALID_DEVICE"},
    {102, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_DEVICE_NOT_LICENSED"},
    {200, GANTRY_K_INVALID_ARGUMENT, "CUDA_ERROR_INVALID_IMAGE"},
    {201, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_INVALID_CONTEXT"},
    {205, GANTRY_K_RESOURCE_EXHAUSTED, "CUDA_ERROR_MAP_FAILED"},
    {209, GANTRY_K_INVALID_ARGUMENT, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {214, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {216, GANTRY_K_FAILED_PRECONDITION, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE"},
    {217, GANTRY_K_UNIMPLEMENTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {218, GANTRY_K_INVALID_ARGUMENT, "CUDA_ERROR_INVALID_PTX"},
    {220, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
    {221, GANTRY_K_UNIMPLEMENTED, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
    {222, GANTRY_K_INVALID_ARGUMENT, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
    {223, GANTRY_K_UNIMPLEMENTED, "CUDA_ERROR_JIT_COMPILATION_DISABLED"},
    {225, GANTRY_K_UNIMPLEMENTED, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC"},
    {226, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_CONTAINED"},
    {300, GANTRY_K_INVALID_ARGUMENT, "CUDA_ERROR_INVALID_SOURCE"},
    {301, GANTRY__CUDA_NOT_FOUND, "CUDA_ERROR_FILE_NOT_FOUND"},
    {302, GANTRY_K_INTERNAL, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"},
    {303, GANTRY_K_INTERNAL, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"},
    {304, GANTRY_K_INTERNAL, "CUDA_ERROR_OPERATING_SYSTEM"},
    {400, GANTRY_K_INTERNAL, "CUDA_ERROR_INVALID_HANDLE"},
    {401, GANTRY_K_INTERNAL, "CUDA_ERROR_ILLEGAL_STATE"},
    {500, GANTRY__CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
    {GANTRY__CU_NOT_READY, GANTRY_K_INTERNAL, "CUDA_ERROR_NOT_READY"},
    {700, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, GANTRY_K_RESOURCE_EXHAUSTED, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {GANTRY__CU_PEER_ACCESS_ALREADY_ENABLED, GANTRY_K_FAILED_PRECONDITION, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {705, GANTRY_K_FAILED_PRECONDITION, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
    {708, GANTRY_K_FAILED_PRECONDITION, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"},
    {709, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {710, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_ASSERT"},
    {711, GANTRY_K_RESOURCE_EXHAUSTED, "CUDA_ERROR_TOO_MANY_PEERS"},
    {714, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
    {715, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    {716, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {717, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
    {718, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_INVALID_PC"},
    {719, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_LAUNCH_FAILED"},
    {720, GANTRY_K_INVALID_ARGUMENT, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
    {721, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_TENSOR_MEMORY_LEAK"},
    {800, GANTRY_K_FAILED_PRECONDITION, "CUDA_ERROR_NOT_PERMITTED"},
    {801, GANTRY_K_UNIMPLEMENTED, "CUDA_ERROR_NOT_SUPPORTED"},
    {802, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {804, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
    {805, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_MPS_CONNECTION_FAILED"},
    {806, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_MPS_RPC_FAILURE"},
    {807, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_MPS_SERVER_NOT_READY"},
    {808, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"},
    {809, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED"},
    {810, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_MPS_CLIENT_TERMINATED"},
    {909, GANTRY_K_INTERNAL, "CUDA_ERROR_TIMEOUT"},
    {911, GANTRY_K_UNAVAILABLE, "CUDA_ERROR_EXTERNAL_DEVICE"},
    {999, GANTRY__CUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
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
