/* SPDX-License-Identifier: Apache-2.0 */
#include "device/driver_memory.h"

#include "device/device_table.h"
#include "device/fail_over.h"
#include "device/logical_device.h"

typedef struct gantry_logical_device_t logical_t;

static bool ask(const logical_t *device, uint64_t *out_free_bytes, uint64_t *out_total_bytes) {
    const gantry_memory_ops_t *memory = device->backend->memory;
    if (GANTRY_ABI_HAS(memory, memory_info) && memory->memory_info &&
        memory->memory_info(device->handle, out_free_bytes, out_total_bytes) == 0) {
        return true;
    }
    *out_free_bytes = *out_total_bytes = 0;
    return false;
}

bool gantry__card_memory(const struct gantry_physical_device_t *own,
                         const struct gantry_physical_device_t *except, uint64_t *out_free_bytes,
                         uint64_t *out_total_bytes) {
    const struct gantry_physical_device_t *card = own->served_by ? own->served_by : own;
    for (const struct gantry_physical_device_t *view = NULL;
         (view = gantry__card_next_view(card, view)) != NULL;) {
        const gantry_backend_t *backend = view->backend->table;
        if (view == except) continue;
        if (!GANTRY_ABI_HAS(backend, card_memory) || !backend->card_memory) continue;
        if (backend->card_memory(view->backend->instance, view->backend_index, out_free_bytes,
                                 out_total_bytes) == 0)
            return true;
    }
    *out_free_bytes = *out_total_bytes = 0;
    return false;
}

static bool ask_machine(const gantry__device_table_t *table, uint64_t *out_free_bytes,
                        uint64_t *out_total_bytes) {
    for (size_t i = 0; i < table->listed_count; ++i) {
        const logical_t *device = table->logical[i];
        if (!atomic_load_explicit(&device->is_open, memory_order_acquire) ||
            !device->host_addressable)
            continue;
        if (ask(device, out_free_bytes, out_total_bytes)) return true;
    }
    return false;
}

bool gantry__driver_memory(const gantry_logical_device_t *device, uint64_t *out_free_bytes,
                           uint64_t *out_total_bytes) {
    if (ask(device, out_free_bytes, out_total_bytes)) return true;
    if (gantry__card_memory(device->physical, gantry__logical_view(device), out_free_bytes,
                            out_total_bytes))
        return true;
    if (!(device->info.flags & GANTRY_DEVICE_HOST_BACKED)) return false;
    return ask_machine(device->table, out_free_bytes, out_total_bytes);
}
