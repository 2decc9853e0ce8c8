/* SPDX-License-Identifier: Apache-2.0 */
/* The module's one exported symbol, and the instance. */
#include "cuda/cuda_backend.h"

#include <stdio.h>

#include "cuda/cublas/cuda_cublas.h"
#include "cuda/cudnn/cuda_cudnn.h"
#include "driver/backend_query.h"
#include "driver/library_open.h"
#include "driver/process_mark.h"
#include "host/shared_cards.h"

/* The driver stays initialised when every instance is closed, so the mark must remain, too. */
static gantry__process_mark_t used;

/* ---- options ---- */

static int32_t read_precision(const gantry_host_t *host, unsigned int *out_compute) {
    static const char *const words[] = {"float32", "tf32", "bfloat16", "float16"};
    static const unsigned int computes[] = {
        GANTRY__CUBLAS_COMPUTE_32F, GANTRY__CUBLAS_COMPUTE_32F_FAST_TF32,
        GANTRY__CUBLAS_COMPUTE_32F_FAST_16BF, GANTRY__CUBLAS_COMPUTE_32F_FAST_16F};
    int32_t choice = 0;
    int32_t status = gantry__driver_choice(host, "GANTRY_CUDA_MATMUL_PRECISION", words, 4, &choice);

    *out_compute = computes[choice];
    return status;
}

static int32_t cuda_backend_read_options(gantry_backend_instance_t *instance) {
    static const char *const contexts[] = {"primary", "private"};
    static const char *const waits[] = {"auto", "block"};
    int32_t choice = 0;
    GANTRY__TRY(gantry__driver_choice(instance->host, "GANTRY_CUDA_CONTEXT", contexts, 2, &choice));
    instance->has_private_contexts = choice == 1;
    GANTRY__TRY(gantry__driver_choice(instance->host, "GANTRY_CUDA_WAIT", waits, 2, &choice));
    instance->waits_by_blocking = choice == 1;
    return read_precision(instance->host, &instance->float32_products);
}

/* ---- instance ---- */

static void cuda_backend_close_instance(gantry_backend_instance_t *instance) {
    gantry__cuda_devices_forget(instance);
    gantry__nvml_close(&instance->nvml);
    gantry__mutex_deinit(&instance->nccl_lock);
    gantry__mutex_deinit(&instance->lock);
    gantry__host_free(instance->host, instance, sizeof *instance);
}

/* Fails in a child of fork. cuInit itself fails there, when the parent called it, with "not
 * initialized". */
static int32_t cuda_backend_check_process(const gantry_host_t *host) {
    return gantry__process_mark_check(&used, host, &GANTRY__DRIVER_ERRORS,
                                      ", which does not survive fork");
}

static int32_t cuda_backend_find_devices(gantry_backend_instance_t *instance) {
    gantry__process_mark_set(&used);
    int32_t status = gantry__cuda_devices_find(instance);
    if (!instance->is_started) gantry__process_mark_unset(&used);
    return status;
}

static int32_t fill_instance(gantry_backend_instance_t *instance) {
    GANTRY__TRY(cuda_backend_read_options(instance));
    GANTRY__TRY(cuda_backend_check_process(instance->host));
    GANTRY__TRY(gantry__cuda_symbols_open(instance->host, &instance->cu));
    (void)snprintf(instance->version, sizeof instance->version, "CUDA %d.%d",
                   instance->cu.version / 1000, instance->cu.version % 1000 / 10);
    return cuda_backend_find_devices(instance);
}

static int32_t init_locks(gantry_backend_instance_t *instance) {
    GANTRY__TRY(gantry__driver_mutex_init(instance->host, &instance->lock, "the CUDA backend"));
    int32_t status = gantry__driver_mutex_init(instance->host, &instance->nccl_lock, "NCCL");
    if (status != GANTRY_OK) gantry__mutex_deinit(&instance->lock);
    return status;
}

static int32_t cuda_backend_open_instance(const gantry_host_t *host,
                                          gantry_backend_instance_t **out_instance) {
    gantry_backend_instance_t *instance = gantry__driver_alloc(host, sizeof *instance);
    *out_instance = NULL;
    if (!instance) return GANTRY_RESOURCE_EXHAUSTED;
    instance->host = host;
    int32_t status = init_locks(instance);
    if (status != GANTRY_OK) {
        gantry__host_free(host, instance, sizeof *instance);
        return status;
    }
    status = fill_instance(instance);
    if (status != GANTRY_OK) {
        cuda_backend_close_instance(instance);
        return status;
    }
    *out_instance = instance;
    return GANTRY_OK;
}

static uint32_t cuda_backend_device_count(gantry_backend_instance_t *instance) {
    return instance->record_count;
}

/* The list is the same for every device, because supports() of each kernel tests the device. */
static uint32_t cuda_backend_list_kernels(gantry_backend_instance_t *instance, uint32_t index,
                                          const gantry_kernel_def_t *const **out_kernels) {
    static const gantry_kernel_def_t *const kernels[] = {
        &gantry__cublas_kernels[0],     &gantry__cublas_kernels[1],
        &gantry__cublas_fused_kernel,   &gantry__cudnn_kernels[0],
        &gantry__cudnn_kernels[1],      &gantry__cudnn_kernels[2],
        &gantry__cudnn_kernels[3],      &gantry__conv_plain_kernels[0],
        &gantry__conv_plain_kernels[1], &gantry__conv_plain_kernels[2],
        &gantry__conv_plain_kernels[3], &gantry__nccl_kernel};
    const uint32_t count = sizeof kernels / sizeof kernels[0];

    if (index >= instance->record_count) return 0;
    *out_kernels = kernels;
    /* a single card has none to reduce with, unless NCCL takes several ranks on it */
    const bool has_ranks = instance->record_count > 1 || gantry__shares_cards();
    return has_ranks && gantry__nccl_serves(instance) ? count : count - 1;
}

/* ---- libraries ---- */

const gantry__nvml_t *gantry__cuda_nvml(gantry_backend_instance_t *instance) {
    gantry__mutex_lock(&instance->lock);
    if (!instance->nvml.is_tried) gantry__nvml_open(instance->host, &instance->nvml);
    gantry__mutex_unlock(&instance->lock);
    return &instance->nvml;
}

bool gantry__cuda_has_cublas(gantry_backend_instance_t *instance, char *reason,
                             size_t reason_bytes) {
    gantry__cublas_t *cublas = &instance->cublas;
    gantry__mutex_lock(&instance->lock);
    if (!cublas->is_tried)
        gantry__cublas_open(instance->host, &instance->cu, instance->wants_12, cublas);
    gantry__mutex_unlock(&instance->lock);
    (void)snprintf(reason, reason_bytes, "%s", cublas->is_usable ? "" : cublas->reason);
    return cublas->is_usable;
}

bool gantry__cuda_has_cudnn(gantry_backend_instance_t *instance, char *reason,
                            size_t reason_bytes) {
    gantry__cudnn_t *cudnn = &instance->cudnn;
    gantry__mutex_lock(&instance->lock);
    gantry__cudnn_open(instance->host, &instance->cu, cudnn);
    gantry__mutex_unlock(&instance->lock);
    (void)snprintf(reason, reason_bytes, "%s",
                   cudnn->library.is_usable ? "" : cudnn->library.reason);
    return cudnn->library.is_usable;
}

static void cuda_backend_add(gantry_backend_instance_t *instance, const char *before,
                             const char *name, bool is_usable, const char *found,
                             const char *reason) {
    gantry__library_line_add(instance->libraries, sizeof instance->libraries, before, name,
                             is_usable ? found : NULL, reason);
}

static void cuda_backend_write_line(gantry_backend_instance_t *instance) {
    const gantry__nvml_t *nvml = &instance->nvml;
    const gantry__cuda_library_t *cudnn = &instance->cudnn.library;
    const gantry__cuda_library_t *nccl = &instance->nccl.library;
    (void)snprintf(instance->libraries, sizeof instance->libraries, "%.200s (%s) found",
                   instance->cu.name, instance->version);
    cuda_backend_add(instance, ", ", "NVRTC", instance->nvrtc.is_usable, instance->nvrtc.name,
                     instance->nvrtc.reason);
    cuda_backend_add(instance, ", ", "cuBLASLt", instance->cublas.is_usable, instance->cublas.name,
                     instance->cublas.reason);
    cuda_backend_add(instance, ", ", "NVML", nvml->is_usable, nvml->name, nvml->reason);
    cuda_backend_add(instance, ", ", "NCCL", nccl->is_usable, nccl->name, nccl->reason);
    cuda_backend_add(instance, ", ", "cuDNN", cudnn->is_usable, cudnn->name, cudnn->reason);
}

static const char *cuda_backend_list_libraries(gantry_backend_instance_t *instance) {
    char reason[8];

    (void)gantry__cuda_has_cublas(instance, reason, sizeof reason);
    gantry__cuda_nvml(instance);
    gantry__mutex_lock(&instance->lock);
    if (instance->libraries[0] == '\0') {
        gantry__cudnn_open(instance->host, &instance->cu, &instance->cudnn);
        gantry__nccl_open(instance->host, &instance->nccl);
        cuda_backend_write_line(instance);
    }
    gantry__mutex_unlock(&instance->lock);
    return instance->libraries;
}

static const gantry_backend_t table = {
    .struct_size = sizeof table,
    .abi_version = 2,
    .name = "cuda",
    .description = "NVIDIA cards through CUDA 12 or newer",
    .rank = 20,
    .open = cuda_backend_open_instance,
    .close = cuda_backend_close_instance,
    .device_count = cuda_backend_device_count,
    .device_info = gantry__cuda_device_info,
    .device_open = gantry__cuda_device_open,
    .device_close = gantry__cuda_device_close,
    .kernels = cuda_backend_list_kernels,
    .libraries = cuda_backend_list_libraries,
    .memory = &gantry__cuda_memory_ops,
    .stream = &gantry__cuda_stream_ops,
    .event = &gantry__cuda_event_ops,
    .transfer = &gantry__cuda_transfer_ops,
    .program = &gantry__cuda_program_ops,
    .interop = &gantry__cuda_interop_ops,
    .set_wait_policy = gantry__cuda_set_wait_policy,
    .card_memory = gantry__cuda_card_memory,
    .graph = &gantry__cuda_graph_ops,
    .driver_files = gantry__cuda_driver_files,
    .telemetry = &gantry__cuda_telemetry_ops,
};

GANTRY__BACKEND_QUERY(cuda, table)
