/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory as the driver gives it, and pinned host memory.
 *
 * The driver commits at once, so a success here is memory that is there. Pinned memory must be
 * pinned for every context, because the core shares it between the logical devices of a card. */
#include "cuda/cuda_backend.h"

static int32_t cuda_memory_region_alloc(gantry_backend_device_t *device, uint64_t size_bytes,
                                        gantry_region_t *out_region) {
    const gantry_device_info_t *info = &device->record->info;
    *out_region = 0;
    gantry__cu_result_t native;
    gantry__cu_address_t address = 0;
    GANTRY__CUDA_CALL(device, native, device->cu->cuMemAlloc_v2(&address, (size_t)size_bytes));
    *out_region = (gantry_region_t)address;
    if (native == GANTRY__CU_SUCCESS) atomic_fetch_add(&device->region_bytes, size_bytes);
    return gantry__driver_check(device->host, native, "taking %llu bytes on \"%.200s\"",
                                (unsigned long long)size_bytes, info->hardware_name);
}

static void cuda_memory_region_free(gantry_backend_device_t *device, gantry_region_t region,
                                    uint64_t size_bytes) {
    atomic_fetch_sub(&device->region_bytes, size_bytes);
    if (gantry__cuda_enter(device) == GANTRY__CU_SUCCESS) {
        device->cu->cuMemFree_v2((gantry__cu_address_t)region);
        gantry__cuda_leave(device);
    }
}

static int32_t cuda_memory_host_alloc(gantry_backend_device_t *device, uint64_t size_bytes,
                                      void **out_ptr) {
    *out_ptr = NULL;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(
        device, native,
        device->cu->cuMemHostAlloc(out_ptr, (size_t)size_bytes, GANTRY__CU_HOST_ALLOC_PORTABLE));
    return gantry__driver_check(device->host, native,
                                "taking %llu bytes of pinned host memory for \"%.200s\"",
                                (unsigned long long)size_bytes, device->record->hardware_name);
}

static void cuda_memory_host_free(gantry_backend_device_t *device, void *ptr, uint64_t size_bytes) {
    (void)size_bytes;
    if (ptr && gantry__cuda_enter(device) == GANTRY__CU_SUCCESS) {
        device->cu->cuMemFreeHost(ptr);
        gantry__cuda_leave(device);
    }
}

/* Reads the free memory of the record's card from the context of an open device of ours, if there
 * is one. */
static int32_t ask_open_device(gantry_backend_instance_t *instance,
                               const gantry__cuda_record_t *record, uint64_t *out_free_bytes,
                               uint64_t *out_total_bytes) {
    gantry__cu_result_t native = GANTRY__CU_NO_DEVICE;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    gantry__mutex_lock(&instance->lock); /* against its closing */
    if (record->open_device) {
        GANTRY__CUDA_CALL(record->open_device, native,
                          instance->cu.cuMemGetInfo_v2(&free_bytes, &total_bytes));
    }
    gantry__mutex_unlock(&instance->lock);
    *out_free_bytes = free_bytes;
    *out_total_bytes = total_bytes;
    return native == GANTRY__CU_SUCCESS;
}

/* The driver itself needs a context for this, so NVML answers. */
int32_t gantry__cuda_card_memory(gantry_backend_instance_t *instance, uint32_t index,
                                 uint64_t *out_free_bytes, uint64_t *out_total_bytes) {
    const gantry__nvml_t *nvml = gantry__cuda_nvml(instance);
    *out_free_bytes = *out_total_bytes = 0;
    GANTRY__TRY(gantry__record_check_index(instance->host, &GANTRY__DRIVER_ERRORS, index,
                                           instance->record_count));
    const gantry__cuda_record_t *record = &instance->records[index];
    gantry__nvml_memory_t memory;
    if (gantry__nvml_memory(nvml, record->texts.uuid, record->texts.pci_address, &memory)) {
        *out_free_bytes = memory.free;
        *out_total_bytes = memory.total;
        return GANTRY_OK;
    }
    if (ask_open_device(instance, record, out_free_bytes, out_total_bytes)) return GANTRY_OK;
    return gantry__driver_fail(
        instance->host, GANTRY_UNAVAILABLE, 0,
        "the free memory of \"%.200s\" is not known without a context: %s", record->hardware_name,
        nvml->is_usable ? "NVML does not answer for this card" : nvml->reason);
}

/* NVML answers when the driver does not, but not for a lost device, because the core must learn of
 * that. */
static int32_t cuda_memory_info(gantry_backend_device_t *device, uint64_t *out_free_bytes,
                                uint64_t *out_total_bytes) {
    const gantry__cuda_record_t *record = device->record;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, device->cu->cuMemGetInfo_v2(&free_bytes, &total_bytes));
    gantry__nvml_memory_t memory;
    if (native != GANTRY__CU_SUCCESS && gantry__driver_error_code(native) != GANTRY_UNAVAILABLE &&
        gantry__nvml_memory(gantry__cuda_nvml(device->instance), record->texts.uuid,
                            record->texts.pci_address, &memory)) {
        *out_free_bytes = memory.free;
        *out_total_bytes = memory.total;
        return GANTRY_OK;
    }
    *out_free_bytes = free_bytes;
    *out_total_bytes = total_bytes;
    return gantry__driver_check(device->host, native, "asking \"%.200s\" for its free memory",
                                record->hardware_name);
}

/* ---- what libraries take ---- */

static bool library_memory_find(const gantry_backend_device_t *device, uint64_t *out_free) {
    size_t free_bytes = 0, total_bytes = 0;
    bool is_known = device->cu->cuMemGetInfo_v2(&free_bytes, &total_bytes) == GANTRY__CU_SUCCESS;
    *out_free = free_bytes;
    return is_known;
}

void gantry__library_memory_init(gantry__library_memory_t *memory) {
    atomic_init(&memory->is_new, false);
}

void gantry__library_memory_note(gantry_backend_device_t *device,
                                 gantry__library_memory_t *memory) {
    memory->region_bytes = atomic_load(&device->region_bytes);
    atomic_store(&memory->is_new, library_memory_find(device, &memory->free_bytes));
}

uint64_t gantry__library_memory_took(gantry_backend_device_t *device,
                                     gantry__library_memory_t *memory) {
    uint64_t now = 0;
    if (!atomic_load_explicit(&memory->is_new, memory_order_relaxed) ||
        !atomic_exchange(&memory->is_new, false) || !library_memory_find(device, &now)) {
        return 0;
    }
    const uint64_t then = memory->free_bytes + memory->region_bytes;
    now += atomic_load(&device->region_bytes);
    return now < then ? then - now : 0;
}

void gantry__library_memory_report(gantry_op_call_t *call, uint64_t bytes) {
    const gantry_call_services_t *services = call->services;
    if (bytes > 0 && GANTRY_ABI_HAS(services, library_took) && services->library_took)
        services->library_took(call, bytes);
}

/* ---- the table ---- */

const gantry_memory_ops_t gantry__cuda_memory_ops = {
    .struct_size = sizeof gantry__cuda_memory_ops,
    .region_alloc = cuda_memory_region_alloc,
    .region_free = cuda_memory_region_free,
    .host_alloc = cuda_memory_host_alloc,
    .host_free = cuda_memory_host_free,
    .memory_info = cuda_memory_info,
};
