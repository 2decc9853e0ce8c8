/* SPDX-License-Identifier: Apache-2.0 */
/* Finding cards and opening them. Finding only reads descriptions: no context is made and no device
 * memory taken. */
#include "cuda/cuda_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cublas/cuda_cublas_plan.h"
#include "cuda/cudnn/cuda_cudnn_plan.h"
#include "driver/process_limit.h"

#define REASON_BYTES 384

/* ---- finding ---- */

static int32_t no_devices(const gantry_backend_instance_t *instance, gantry__cu_result_t native) {
    const char *visible =
        /* the driver's own variable: it reads the environment, not options */
        getenv("CUDA_VISIBLE_DEVICES");
    if (native == GANTRY__CU_SUCCESS) { /* it finds no card and does not call that an error */
        native = GANTRY__CU_NO_DEVICE;
    }
    return gantry__driver_fail(
        instance->host, GANTRY_UNAVAILABLE, native,
        "the NVIDIA driver %s (%s) was found, but it sees no card: %s (%u)%s%.100s%s",
        instance->cu.name, instance->version, gantry__driver_error_name(native), native,
        visible ? " (CUDA_VISIBLE_DEVICES=\"" : "", visible ? visible : "", visible ? "\")" : "");
}

/* Starts the driver. Whatever cuInit fails with, there is no CUDA here. */
static int32_t start_driver(gantry_backend_instance_t *instance, int *out_count) {
    gantry__cu_result_t native = instance->cu.cuInit(0);
    if (native == GANTRY__CU_SUCCESS) {
        instance->is_started = true;
        native = instance->cu.cuDeviceGetCount(out_count);
    }
    if (native == GANTRY__CU_NO_DEVICE || (native == GANTRY__CU_SUCCESS && *out_count <= 0))
        return no_devices(instance, native);
    if (native != GANTRY__CU_SUCCESS) {
        char more[160] = "";
        /* it reserves more address space than the machine has memory */
        if (native == GANTRY__CU_OUT_OF_MEMORY) {
            gantry__process_limit_text(more, sizeof more);
        } else if (native == GANTRY__CU_NOT_INITIALIZED) {
            (void)snprintf(
                more, sizeof more,
                "; so it answers in a child of fork whose parent used CUDA: call exec in the child");
        }
        return gantry__driver_fail(
            instance->host, GANTRY_UNAVAILABLE, native,
            "the NVIDIA driver %s (%s) was found, but it does not start: %s (%u)%s",
            instance->cu.name, instance->version, gantry__driver_error_name(native), native, more);
    }
    return GANTRY_OK;
}

static bool is_before_7_5(const gantry_backend_instance_t *instance, int ordinal) {
    const gantry__cuda_symbols_t *cu = &instance->cu;
    gantry__cu_device_t device = 0;
    int major = 0;
    int minor = 0;
    return cu->cuDeviceGet(&device, ordinal) == GANTRY__CU_SUCCESS &&
           cu->cuDeviceGetAttribute(&major, GANTRY__CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                    device) == GANTRY__CU_SUCCESS &&
           cu->cuDeviceGetAttribute(&minor, GANTRY__CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                    device) == GANTRY__CU_SUCCESS &&
           10 * major + minor < 75;
}

/* Opens NVRTC. It must only be called if there are cards, because it takes time. */
static void open_nvrtc(gantry_backend_instance_t *instance, int count) {
    instance->wants_12 = instance->cu.version < 13000;
    for (int i = 0; i < count && !instance->wants_12; ++i)
        instance->wants_12 = is_before_7_5(instance, i);
    gantry__nvrtc_open(instance->host, &instance->cu, instance->wants_12, &instance->nvrtc);
    if (!instance->nvrtc.is_usable) {
        gantry__host_log(instance->host, GANTRY_LEVEL_WARNING, "CUDA devices run no programs: %s",
                         instance->nvrtc.reason);
    }
}

/* Warns with the reason, and keeps it for the message when no card remains. */
static void cuda_device_leave_out(const gantry_host_t *host, char *reasons, size_t reasons_bytes,
                                  int ordinal, const char *reason) {
    size_t length = strlen(reasons);
    gantry__host_log(host, GANTRY_LEVEL_WARNING, "CUDA device %d is left out: %s", ordinal, reason);
    (void)snprintf(reasons + length, reasons_bytes - length, "%sdevice %d: %s",
                   length > 0 ? "; " : "", ordinal, reason);
}

int32_t gantry__cuda_devices_find(gantry_backend_instance_t *instance) {
    const gantry_host_t *host = instance->host;
    char reasons[768] = "";
    int count = 0;
    GANTRY__TRY(start_driver(instance, &count));
    open_nvrtc(instance, count);
    instance->records = gantry__driver_alloc(host, (size_t)count * sizeof *instance->records);
    if (!instance->records) return GANTRY_RESOURCE_EXHAUSTED;
    instance->record_capacity = (uint32_t)count;
    for (int i = 0; i < count; ++i) {
        gantry__cuda_record_t *record = &instance->records[instance->record_count];
        char reason[REASON_BYTES] = "";
        memset(record, 0, sizeof *record);
        gantry__cu_result_t native = instance->cu.cuDeviceGet(&record->device, i);
        if (native != GANTRY__CU_SUCCESS) {
            (void)snprintf(reason, sizeof reason, "it does not answer: %s (%u)",
                           gantry__driver_error_name(native), native);
        } else {
            native = gantry__cuda_record_fill(instance, record, reason, sizeof reason);
        }
        if (native == GANTRY__CU_SUCCESS) {
            ++instance->record_count;
        } else {
            cuda_device_leave_out(host, reasons, sizeof reasons, i, reason);
        }
    }
    if (instance->record_count == 0) {
        return gantry__driver_fail(host, GANTRY_UNAVAILABLE, 0,
                                   "the NVIDIA driver %s (%s) was found, but no usable card: %s",
                                   instance->cu.name, instance->version, reasons);
    }
    return GANTRY_OK;
}

void gantry__cuda_devices_forget(gantry_backend_instance_t *instance) {
    gantry__host_free(instance->host, instance->records,
                      instance->record_capacity * sizeof *instance->records);
    instance->records = NULL;
    instance->record_count = 0;
    instance->record_capacity = 0;
}

static int32_t cuda_device_check_index(gantry_backend_instance_t *instance, uint32_t index) {
    return gantry__record_check_index(instance->host, &GANTRY__DRIVER_ERRORS, index,
                                      instance->record_count);
}

int32_t gantry__cuda_device_info(gantry_backend_instance_t *instance, uint32_t index,
                                 gantry_device_info_t *out_info) {
    GANTRY__TRY(cuda_device_check_index(instance, index));
    return gantry__record_info(&instance->records[index].info, out_info);
}

/* ---- opening ---- */

int32_t gantry__cuda_set_wait_policy(gantry_backend_instance_t *instance, uint32_t index,
                                     int32_t policy) {
    GANTRY__TRY(cuda_device_check_index(instance, index));
    atomic_store(&instance->records[index].wait_policy, policy);
    return GANTRY_OK;
}

int32_t gantry__cuda_wait_policy(const gantry_backend_device_t *device) {
    const int32_t own = atomic_load(&device->record->wait_policy);
    if (own > GANTRY__WAIT_AUTO) return own;
    return own == 0 && device->instance->waits_by_blocking ? GANTRY__WAIT_BLOCK : GANTRY__WAIT_AUTO;
}

/* Makes or retains the context. A context that is made is current; one that is retained is not, and
 * keeps the way of waiting that its first owner chose. */
static gantry__cu_result_t take_context(gantry_backend_device_t *device) {
    const gantry__cuda_symbols_t *cu = device->cu;
    if (device->is_adopted) return GANTRY__CU_SUCCESS;
    if (!device->is_private)
        return cu->cuDevicePrimaryCtxRetain(&device->context, device->record->device);
    const int32_t policy = gantry__cuda_wait_policy(device);
    unsigned int flags = policy >= GANTRY__WAIT_BLOCK ? GANTRY__CU_CONTEXT_SCHEDULE_BLOCKING_SYNC
                                                      : GANTRY__CU_CONTEXT_SCHEDULE_AUTO;
    gantry__cu_result_t native =
        cu->cuCtxCreate_v2(&device->context, flags, device->record->device);
    if (native == GANTRY__CU_SUCCESS) gantry__cuda_leave(device);
    return native;
}

static void give_context(gantry_backend_device_t *device) {
    if (!device->context || device->is_adopted) return;
    if (device->is_private) {
        device->cu->cuCtxDestroy_v2(device->context);
    } else {
        device->cu->cuDevicePrimaryCtxRelease_v2(device->record->device);
    }
    device->context = NULL;
}

/* Notes the device opened last, which answers for its card where NVML is missing. */
static void note_opened(gantry_backend_device_t *device) {
    gantry__mutex_lock(&device->instance->lock);
    device->record->open_device = device;
    gantry__mutex_unlock(&device->instance->lock);
}

/* The next context of this card is another one, so the other cards must request its memory anew. */
static void forget_peer(const gantry_backend_device_t *device) {
    const gantry_backend_instance_t *instance = device->instance;
    for (uint32_t i = 0; i < instance->record_count; ++i) {
        gantry_backend_device_t *other = instance->records[i].open_device;
        if (other) atomic_fetch_and(&other->peers_tried, ~gantry__cuda_peer_bit(device));
    }
}

static void note_closing(const gantry_backend_device_t *device) {
    gantry__mutex_lock(&device->instance->lock);
    if (device->record->open_device == device) device->record->open_device = NULL;
    forget_peer(device);
    gantry__mutex_unlock(&device->instance->lock);
}

/* Logs other work on the card, because ours will be slower for it. */
static void tell_use(gantry_backend_instance_t *instance, const gantry__cuda_record_t *record) {
    gantry__nvml_utilization_t use = {0, 0};
    if (gantry__nvml_utilization(gantry__cuda_nvml(instance), record->texts.uuid,
                                 record->texts.pci_address, &use) &&
        use.gpu > 0) {
        gantry__host_log(instance->host, GANTRY_LEVEL_INFO,
                         "\"%.100s\" (%s) is %u %% busy as it is opened", record->hardware_name,
                         record->texts.uuid, use.gpu);
    }
}

/* Makes a device without a context, or over the program's. */
static gantry_backend_device_t *cuda_device_make(gantry_backend_instance_t *instance,
                                                 gantry__cuda_record_t *record,
                                                 gantry__cu_context_t context) {
    gantry_backend_device_t *device = gantry__driver_alloc(instance->host, sizeof *device);
    if (!device) return NULL;
    device->instance = instance;
    device->host = instance->host;
    device->cu = &instance->cu;
    device->record = record;
    device->context = context;
    device->is_adopted = context != NULL;
    device->is_private = !context && instance->has_private_contexts;
    atomic_init(&device->peers_tried, 0);
    gantry__library_memory_init(&device->cublas_memory);
    gantry__library_memory_init(&device->cudnn_memory);
    atomic_init(&device->captures, 0);
    atomic_init(&device->region_bytes, 0);
    if (gantry__driver_mutex_init(device->host, &device->lock, "a CUDA device") == GANTRY_OK) {
        if (gantry__cudnn_begin(device) == GANTRY_OK) return device;
        gantry__mutex_deinit(&device->lock);
    }
    gantry__host_free(device->host, device, sizeof *device);
    return NULL;
}

static const char *context_text(const gantry_backend_device_t *device) {
    if (device->is_adopted) return "the program's context";
    return device->is_private ? "a context of its own" : "the card's primary context";
}

int32_t gantry__cuda_device_open_over(gantry_backend_instance_t *instance, uint32_t index,
                                      gantry__cu_context_t context,
                                      gantry_backend_device_t **out_device) {
    *out_device = NULL;
    GANTRY__TRY(cuda_device_check_index(instance, index));
    tell_use(instance, &instance->records[index]);
    gantry_backend_device_t *device =
        cuda_device_make(instance, &instance->records[index], context);
    if (!device) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__cu_result_t native = take_context(device);
    if (native == GANTRY__CU_SUCCESS) {
        GANTRY__CUDA_CALL(device, native,
                          device->cu->cuCtxGetStreamPriorityRange(&device->least_priority,
                                                                  &device->greatest_priority));
    }
    if (native != GANTRY__CU_SUCCESS) {
        int32_t status = gantry__driver_check(device->host, native, "opening \"%.200s\" (%s)",
                                              device->record->hardware_name, context_text(device));
        gantry__cuda_device_close(device);
        return status;
    }
    note_opened(device);
    *out_device = device;
    return GANTRY_OK;
}

int32_t gantry__cuda_device_open(gantry_backend_instance_t *instance, uint32_t index,
                                 gantry_backend_device_t **out_device) {
    return gantry__cuda_device_open_over(instance, index, NULL, out_device);
}

static void end_relay(gantry_backend_device_t *device) {
    if (!device->relay || gantry__cuda_enter(device) != GANTRY__CU_SUCCESS) return;
    device->cu->cuStreamDestroy_v2(device->relay);
    gantry__cuda_leave(device);
}

/* Closes the handle. The end of a context does not end it, so it is closed even if no context can
 * be made current. */
static void close_cublas(gantry_backend_device_t *device) {
    gantry__cublas_plans_forget(device);
    if (!device->cublas) return;
    gantry__cu_result_t native = gantry__cuda_enter(device);
    device->instance->cublas.cublasLtDestroy(device->cublas);
    if (native == GANTRY__CU_SUCCESS) gantry__cuda_leave(device);
}

void gantry__cuda_device_close(gantry_backend_device_t *device) {
    note_closing(device);
    gantry__nccl_forget(device);
    close_cublas(device);
    gantry__cudnn_end(device);
    end_relay(device);
    give_context(device);
    gantry__mutex_deinit(&device->lock);
    gantry__host_free(device->host, device, sizeof *device);
}
