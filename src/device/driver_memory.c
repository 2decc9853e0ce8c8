#include "device/driver_memory.h"

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

static bool ask_machine(const gantry__device_table_t *table, uint64_t *out_free_bytes, uint64_t *out_total_bytes) {
    for (size_t i = 0; i < table->listed_count; ++i) {
        const logical_t *device = table->logical[i];
        if (!device->host_addressable || !atomic_load_explicit(&device->is_open, memory_order_acquire)) continue;
        if (ask(device, out_free_bytes, out_total_bytes)) return true;
    }
    return false;
}

bool gantry__driver_memory(const gantry_logical_device_t *device, uint64_t *out_free_bytes, uint64_t *out_total_bytes) {
    if (ask(device, out_free_bytes, out_total_bytes)) return true;
    if (!(device->physical->info.flags & GANTRY_DEVICE_HOST_BACKED)) return false;
    return ask_machine(device->table, out_free_bytes, out_total_bytes);
}
