/* SPDX-License-Identifier: Apache-2.0 */
/* Opens cuBLASLt and judges its version; makes a device's handle (cuda_cublas.h). */
#include "driver/library_open.h"
#include "cuda/cublas/cuda_cublas.h"

#include <stdio.h>
#include <string.h>

#include "cuda/cuda_backend.h"
#include "cuda/cuda_library.h"

static const gantry__library_symbol_t symbols[] = {
    {"cublasLtGetVersion", offsetof(gantry__cublas_t, cublasLtGetVersion)},
#define SYMBOL(function, parameters) {#function, offsetof(gantry__cublas_t, function)},
    GANTRY__CUBLAS_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

const char *gantry__cublas_status_name(gantry__cublas_status_t native) {
    switch (native) {
        case GANTRY__CUBLAS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
        case GANTRY__CUBLAS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
        case GANTRY__CUBLAS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
        case GANTRY__CUBLAS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
        case GANTRY__CUBLAS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
        case GANTRY__CUBLAS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
        case GANTRY__CUBLAS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
        case GANTRY__CUBLAS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
        case GANTRY__CUBLAS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
        case GANTRY__CUBLAS_LICENSE_ERROR: return "CUBLAS_STATUS_LICENSE_ERROR";
        default: return "unknown cuBLAS status";
    }
}

/* Judges the library. From 12 on, versions count as 10000 * major + 100 * minor + patch, so that
 * 120903 is 12.9.3. */
static void cuda_cublas_judge(gantry_backend_instance_t *instance,
                              const gantry__cuda_file_t *wanted, const char *file) {
    gantry__cublas_t *cublas = &instance->cublas;
    size_t version = cublas->cublasLtGetVersion();
    int cuda = (int)(version / 10000 * 1000 + version / 100 % 100 * 10);
    (void)snprintf(cublas->name, sizeof cublas->name, "%.300s (%zu.%zu.%zu)", file, version / 10000,
                   version / 100 % 100, version % 100);
    cublas->is_usable =
        gantry__cuda_library_suits(wanted, file, cuda, instance->cu.name, instance->cu.version,
                                   cublas->reason, sizeof cublas->reason);
}

static void cuda_cublas_load(gantry_backend_instance_t *instance) {
    static const char *const newest_first[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    static const char *const for_12[] = {"libcublasLt.so.12", "libcublasLt.so.13"};
    const gantry__cuda_file_t wanted = {.name = "cuBLASLt",
                                        .least = " of CUDA 12 or newer",
                                        .option = "GANTRY_CUDA_CUBLAS",
                                        .candidates = instance->wants_12 ? for_12 : newest_first,
                                        .candidate_count = 2};
    gantry__cublas_t *cublas = &instance->cublas;
    char file[GANTRY__CUDA_FILE_BYTES];

    if (gantry__cuda_library_open(instance->host, &wanted, symbols,
                                  sizeof symbols / sizeof symbols[0], cublas, file, cublas->reason,
                                  sizeof cublas->reason)) {
        cuda_cublas_judge(instance, &wanted, file);
    }
}

bool gantry__cublas_load(gantry_backend_instance_t *instance, char *reason, size_t reason_bytes) {
    gantry__cublas_t *cublas = &instance->cublas;
    pthread_mutex_lock(&instance->lock);
    if (!cublas->is_tried) {
        cuda_cublas_load(instance);
        cublas->is_tried = true;
    }
    pthread_mutex_unlock(&instance->lock);
    (void)snprintf(reason, reason_bytes, "%s", cublas->is_usable ? "" : cublas->reason);
    return cublas->is_usable;
}

/* ---- what the library takes of the card: for its handle, and for kernels that it loads when they
 * are first used ---- */

static bool ask_free_memory(const gantry_backend_device_t *device, uint64_t *out_bytes) {
    size_t free_bytes = 0, total_bytes = 0;
    bool is_known = device->cu->cuMemGetInfo_v2(&free_bytes, &total_bytes) == GANTRY__CU_SUCCESS;
    *out_bytes = free_bytes;
    return is_known;
}

/* device->lock must be held, and the context current. */
static void note_free_memory(gantry_backend_device_t *device) {
    device->library_regions = atomic_load(&device->region_bytes);
    atomic_store(&device->is_library_new, ask_free_memory(device, &device->library_free));
}

/* Memory that others take at the same time is measured, too. */
uint64_t gantry__cublas_took(gantry_backend_device_t *device) {
    uint64_t now = 0;
    if (!atomic_load_explicit(&device->is_library_new, memory_order_relaxed) ||
        !atomic_exchange(&device->is_library_new, false) || !ask_free_memory(device, &now)) {
        return 0;
    }
    uint64_t then = device->library_free + device->library_regions;
    now += atomic_load(&device->region_bytes);
    return now < then ? then - now : 0;
}

/* device->lock must be held, so that a second thread waits for the first one's handle. */
static void make_handle(gantry_backend_device_t *device) {
    const char *name = device->record->hardware_name;
    gantry__cublas_status_t native = GANTRY__CUBLAS_NOT_INITIALIZED;
    char reason[1024];
    if (!gantry__cublas_load(device->instance, reason, sizeof reason)) {
        gantry__host_log(device->host, GANTRY_LEVEL_INFO,
                         "matrix products on \"%.120s\" take the portable kernels: %s", name,
                         reason);
        return;
    }
    gantry__cublas_tuned_read(device);
    if (gantry__cuda_enter(device) == GANTRY__CU_SUCCESS) {
        note_free_memory(device);
        native = device->instance->cublas.cublasLtCreate(&device->cublas);
        gantry__cuda_leave(device);
    }
    if (native != GANTRY__CUBLAS_SUCCESS) {
        device->cublas = NULL;
        gantry__host_log(
            device->host, GANTRY_LEVEL_WARNING,
            "matrix products on \"%.120s\" take the portable kernels: %s does not start there: %s (%u)",
            name, device->instance->cublas.name, gantry__cublas_status_name(native), native);
    }
}

gantry__cublas_handle_t gantry__cublas_handle(gantry_backend_device_t *device) {
    pthread_mutex_lock(&device->lock);
    if (!device->has_tried_cublas) {
        make_handle(device);
        device->has_tried_cublas = true;
    }
    gantry__cublas_handle_t handle = device->cublas;
    pthread_mutex_unlock(&device->lock);
    return handle;
}
