/* SPDX-License-Identifier: Apache-2.0 */
/* What initialisation makes: the device table freezes, the host device opens, and each view gets
 * its registry of kernels; a card's program cache follows with the first op on it. */
#include <gantry/runtime.h>

#include "base/fp_mode.h"
#include "device/device_open.h"
#include "device/physical_device.h"
#include "run/runtime_state.h"

/* The tables that initialisation makes, by position of the physical device. */
typedef struct tables_t {
    gantry__kernel_registry_t *registries;
    _Atomic(gantry__program_cache_t *) *programs;
    gantry__device_cost_t *costs; /* NULL: crossover is off */
} tables_t;

static void release_tables(gantry_runtime_t *runtime, const tables_t *tables, size_t made) {
    size_t count = runtime->devices.physical_count;
    for (size_t i = 0; i < made; ++i) gantry__kernel_registry_deinit(&tables->registries[i]);
    gantry__heap_free(&runtime->heap, tables->registries, count * sizeof *tables->registries);
    void *programs = (void *)tables->programs;
    gantry__heap_free(&runtime->heap, programs, count * sizeof *tables->programs);
    gantry__heap_free(&runtime->heap, tables->costs, count * sizeof *tables->costs);
}

/* Reads the kernels of the backends. The caller must hold no lock. */
static gantry_status_t make_tables(gantry_runtime_t *runtime, tables_t *out_tables) {
    const gantry__device_table_t *devices = &runtime->devices;
    tables_t tables = {.registries = gantry__heap_zalloc(
                           &runtime->heap, devices->physical_count * sizeof *tables.registries),
                       .programs = gantry__heap_zalloc(
                           &runtime->heap, devices->physical_count * sizeof *tables.programs)};
    if (runtime->switches.crossover)
        tables.costs =
            gantry__heap_zalloc(&runtime->heap, devices->physical_count * sizeof *tables.costs);
    gantry_status_t status =
        tables.registries && tables.programs && (tables.costs || !runtime->switches.crossover)
            ? GANTRY_OK
            : GANTRY_RESOURCE_EXHAUSTED;
    if (tables.costs) gantry__device_costs_read(devices, tables.costs);
    size_t made = 0;
    for (; made < devices->physical_count && status == GANTRY_OK; ++made) {
        const struct gantry_physical_device_t *device = devices->physical[made];
        status =
            gantry__kernel_registry_init(&tables.registries[made], &runtime->heap, &runtime->log,
                                         device->backend, device->backend_index, &device->info);
        if (status != GANTRY_OK) break;
    }
    if (status != GANTRY_OK) release_tables(runtime, &tables, made);
    *out_tables = tables;
    return status;
}

static gantry_logical_device_t *find_host(const gantry__device_table_t *devices) {
    for (size_t i = 0; i < devices->listed_count; ++i) {
        gantry_logical_device_t *device = devices->logical[i];
        if (device->host_addressable && device->synchronous) return device;
    }
    return NULL;
}

/* Threads that arrive at the same time all make the tables; the first to finish gives its tables to
 * the runtime. */
gantry_status_t gantry__runtime_initialize_slowly(gantry_runtime_t *runtime, const char *by) {
    GANTRY__OWN_FP_MODE(fp);
    const uint32_t before = gantry__failures();
    GANTRY__TRY(gantry__device_table_freeze(&runtime->devices, by));
    gantry_logical_device_t *host = find_host(&runtime->devices);
    if (!host)
        return gantry__fail(GANTRY_NOT_FOUND, "No CPU devices are available in this process");
    GANTRY__TRY(gantry__logical_device_open(host));
    tables_t tables;
    GANTRY__TRY(make_tables(runtime, &tables));
    gantry__mutex_lock(&runtime->lock);
    bool is_first = !atomic_load(&runtime->is_initialized);
    if (is_first) {
        runtime->host = host;
        runtime->registries = tables.registries;
        runtime->programs = tables.programs;
        runtime->costs = tables.costs;
        atomic_store_explicit(&runtime->is_initialized, true, memory_order_release);
    }
    gantry__mutex_unlock(&runtime->lock);
    if (!is_first) release_tables(runtime, &tables, runtime->devices.physical_count);
    gantry__forget_since(before);
    return GANTRY_OK;
}

gantry_status_t gantry_runtime_initialize(gantry_runtime_t *runtime) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__runtime_initialize(runtime, "gantry_runtime_initialize");
}

static gantry_status_t make_programs(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                     gantry__program_cache_t **out_cache) {
    gantry__program_cache_t *cache = gantry__heap_zalloc(&runtime->heap, sizeof *cache);
    if (!cache) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry__program_cache_init(
        cache, &runtime->heap, &runtime->log, &runtime->store, &runtime->counters, device->backend,
        device->handle, &gantry__logical_view(device)->info);
    if (status != GANTRY_OK) {
        gantry__heap_free(&runtime->heap, cache, sizeof *cache);
        return status;
    }
    *out_cache = cache;
    return GANTRY_OK;
}

gantry_status_t gantry__runtime_make_programs(gantry_runtime_t *runtime,
                                              gantry_logical_device_t *device,
                                              gantry__program_cache_t **out_cache) {
    const uint32_t position = device->physical->position;
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&runtime->lock);
    *out_cache = atomic_load(&runtime->programs[position]);
    if (!*out_cache) {
        status = make_programs(runtime, device, out_cache);
        if (status == GANTRY_OK)
            atomic_store_explicit(&runtime->programs[position], *out_cache, memory_order_release);
    }
    gantry__mutex_unlock(&runtime->lock);
    return status;
}

static void release_programs(gantry_runtime_t *runtime) {
    for (size_t i = 0; runtime->programs && i < runtime->devices.physical_count; ++i) {
        gantry__program_cache_t *cache = atomic_load(&runtime->programs[i]);
        if (!cache) continue;
        gantry__program_cache_deinit(cache);
        gantry__heap_free(&runtime->heap, cache, sizeof *cache);
    }
}

void gantry__runtime_release_tables(gantry_runtime_t *runtime) {
    const tables_t tables = {runtime->registries, runtime->programs, runtime->costs};
    release_programs(runtime);
    if (tables.registries) release_tables(runtime, &tables, runtime->devices.physical_count);
}
