/* Public memory settings and numbers: memory.h over the device table and its allocators. */
#include <gantry/gantry.h>

#include "device/device_config.h"
#include "run/api.h"

/* ---- settings ---- */

gantry_status_t gantry_set_memory_growth(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                         bool enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_growth(&runtime->devices, device, enabled);
}

gantry_status_t gantry_get_memory_growth(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                         bool *out_enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!out_enabled) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_get_memory_growth: out_enabled is NULL");
    GANTRY__TRY(gantry__device_check(&runtime->devices, device));
    *out_enabled = gantry__device_get_growth(&runtime->devices, device);
    return GANTRY_OK;
}

gantry_status_t gantry_set_memory_limit(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                        uint64_t limit_bytes) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_limit(&runtime->devices, device, limit_bytes);
}

gantry_status_t gantry_set_memory_fraction(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                           double fraction) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_fraction(&runtime->devices, device, fraction);
}

/* ---- numbers ---- */

gantry_status_t gantry_get_memory_info(gantry_runtime_t *runtime, const char *device_name,
                                       gantry_memory_info_t *out_info) {
    if (!out_info) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_get_memory_info: out_info is NULL");
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(gantry__find_device(runtime, device_name, "gantry_get_memory_info", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    gantry__bfc_stats_t stats;
    gantry__allocator_stats(&device->allocator, &stats);
    gantry_memory_info_t all = {.struct_size = out_info->struct_size,
                                .current_bytes = stats.bytes_in_use,
                                .peak_bytes = stats.peak_bytes_in_use,
                                .pool_bytes = stats.pool_bytes,
                                .peak_pool_bytes = stats.peak_pool_bytes,
                                .limit_bytes = stats.bytes_limit,
                                .largest_free_bytes = stats.largest_free_block_bytes,
                                .largest_allocation_bytes = stats.largest_alloc_bytes,
                                .allocation_count = stats.num_allocs};
    const gantry_memory_ops_t *memory = device->backend->memory;
    if (GANTRY_ABI_HAS(memory, memory_info) && memory->memory_info &&
        memory->memory_info(device->handle, &all.driver_free_bytes, &all.driver_total_bytes) != 0) {
        all.driver_free_bytes = all.driver_total_bytes = 0;
    }
    return gantry__copy_out(&all, sizeof all, out_info, out_info->struct_size, "gantry_get_memory_info");
}

gantry_status_t gantry_reset_memory_stats(gantry_runtime_t *runtime, const char *device_name) {
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(gantry__find_device(runtime, device_name, "gantry_reset_memory_stats", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    gantry__allocator_clear_stats(&device->allocator);
    return GANTRY_OK;
}
