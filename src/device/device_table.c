#include "device/device_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct gantry_logical_device_t logical_t;

/* ---- init ---- */

static gantry_status_t read_settings(gantry__device_table_t *table, const gantry_runtime_options_t *options) {
    bool growth = true, is_gpu = false;
    GANTRY__TRY(gantry__settings_get_bool(table->settings, "GANTRY_MEMORY_GROWTH", &growth));
    table->default_growth = growth ? GANTRY_ON : GANTRY_OFF;
    const char *forced = gantry__settings_get(table->settings, "TF_FORCE_GPU_ALLOW_GROWTH", NULL);
    if (forced && (strcmp(forced, "true") == 0 || strcmp(forced, "false") == 0)) {
        table->default_growth = strcmp(forced, "true") == 0 ? GANTRY_ON : GANTRY_OFF;
    } else if (forced && *forced) {
        gantry__log(table->log, GANTRY_LEVEL_ERROR,
                    "The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: \"%s\". Valid "
                    "values are \"true\" or "
                    "\"false\".",
                    forced);
    }
    if (options->memory_growth != GANTRY_DEFAULT) table->default_growth = options->memory_growth;
    GANTRY__TRY(gantry__settings_get_bytes(table->settings, "GANTRY_MEMORY_LIMIT", &table->default_limit_bytes));
    if (options->memory_limit_bytes) table->default_limit_bytes = options->memory_limit_bytes;
    static const char *const words[] = {"off", "0", "gpu"};
    int word = 0;
    GANTRY__TRY(gantry__settings_get_word(table->settings, "GANTRY_OPENCL_CPU", words, 3, &word));
    is_gpu = word == 2;
    if (options->opencl_cpu_as_gpu != GANTRY_DEFAULT) is_gpu = options->opencl_cpu_as_gpu == GANTRY_ON;
    table->opencl_cpu_as_gpu = is_gpu;
    return GANTRY_OK;
}

static gantry_status_t list_backend_names(gantry__device_table_t *table) {
    const char **names = gantry__heap_zalloc(table->heap, (table->backends->count + 1) * sizeof *names);
    if (!names) return GANTRY_RESOURCE_EXHAUSTED;
    table->backend_names = names;
    for (size_t i = 0; i < table->backends->count; ++i) {
        if (table->backends->items[i].table) names[table->backend_name_count++] = table->backends->items[i].name;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__device_table_init(gantry__device_table_t *table, const gantry__heap_t *heap,
                                          const gantry__log_t *log, gantry__settings_t *settings,
                                          gantry__backend_set_t *backends, const gantry_runtime_options_t *options) {
    *table = (gantry__device_table_t){.heap = heap, .log = log, .settings = settings, .backends = backends};
    if (gantry__mutex_init(&table->lock) != 0) return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    gantry_status_t status = read_settings(table, options);
    if (status == GANTRY_OK) status = list_backend_names(table);
    if (status == GANTRY_OK) status = gantry__physical_devices_find(table);
    if (status == GANTRY_OK) status = gantry__visible_devices_find(table, options->visible_devices);
    if (status != GANTRY_OK) gantry__device_table_deinit(table);
    return status;
}

void gantry__device_table_deinit(gantry__device_table_t *table) {
    const gantry__heap_t *heap = table->heap;
    for (size_t i = 0; i < table->logical_count; ++i) {
        gantry__logical_device_close(table->logical[i]);
        gantry__heap_free(heap, table->logical[i], sizeof *table->logical[i]);
    }
    gantry__heap_free(heap, table->logical, table->physical_count * sizeof *table->logical);
    gantry__heap_free(heap, table->visible, table->physical_count * sizeof *table->visible);
    for (size_t i = 0; i < table->physical_count; ++i)
        gantry__heap_free(heap, table->physical[i], sizeof *table->physical[i]);
    gantry__heap_free(heap, table->physical, table->physical_capacity * sizeof *table->physical);
    void *names;
    memcpy(&names, &table->backend_names, sizeof names);
    gantry__heap_free(heap, names, (table->backends->count + 1) * sizeof(char *));
    gantry__mutex_deinit(&table->lock);
    *table = (gantry__device_table_t){.heap = heap};
}

/* ---- freeze ---- */

static gantry_status_t add_logical(gantry__device_table_t *table, const struct gantry_physical_device_t *physical,
                                   int32_t index) {
    logical_t *device = gantry__heap_zalloc(table->heap, sizeof *device);
    if (!device) return GANTRY_RESOURCE_EXHAUSTED;
    device->table = table;
    device->physical = table->physical[physical->position];
    device->backend = physical->backend->table;
    device->index = index;
    device->position = (uint32_t)table->logical_count;
    device->synchronous = (physical->info.flags & GANTRY_DEVICE_SYNCHRONOUS) != 0;
    device->host_addressable = (physical->info.flags & GANTRY_DEVICE_HOST_ADDRESSABLE) != 0;
    if (index >= 0) {
        (void)snprintf(device->name, sizeof device->name, "/device:%s:%d", physical->type, index);
        (void)snprintf(device->full_name, sizeof device->full_name, "/job:localhost/replica:0/task:0/device:%s:%d",
                       physical->type, index);
    } else {
        (void)snprintf(device->name, sizeof device->name, "%s", physical->alias);
        (void)snprintf(device->full_name, sizeof device->full_name, "%s", physical->alias);
    }
    table->logical[table->logical_count++] = device;
    return GANTRY_OK;
}

static gantry_status_t make_logical_devices(gantry__device_table_t *table) {
    table->logical = gantry__heap_zalloc(table->heap, table->physical_count * sizeof *table->logical);
    if (!table->logical) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < table->visible_count; ++i) {
        const struct gantry_physical_device_t *physical = table->visible[i];
        int32_t index = 0;
        for (size_t j = 0; j < i; ++j) index += strcmp(table->visible[j]->type, physical->type) == 0;
        GANTRY__TRY(add_logical(table, physical, index));
    }
    table->listed_count = table->logical_count;
    for (size_t i = 0; i < table->physical_count; ++i) {
        const struct gantry_physical_device_t *view = table->physical[i];
        bool is_hidden = view->served_by &&
                         !gantry__device_is_visible(table, view->served_by); /* the card is hidden, under every name */
        if (!view->listed && !is_hidden) GANTRY__TRY(add_logical(table, view, -1));
    }
    return GANTRY_OK;
}

static void forget_logical_devices(gantry__device_table_t *table) {
    for (size_t i = 0; i < table->logical_count; ++i)
        gantry__heap_free(table->heap, table->logical[i], sizeof *table->logical[i]);
    gantry__heap_free(table->heap, table->logical, table->physical_count * sizeof *table->logical);
    table->logical = NULL;
    table->logical_count = table->listed_count = 0;
}

gantry_status_t gantry__device_table_freeze(gantry__device_table_t *table, const char *by) {
    if (atomic_load_explicit(&table->frozen, memory_order_acquire)) return GANTRY_OK;
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&table->lock);
    bool first = !atomic_load(&table->frozen);
    if (first) {
        status = make_logical_devices(table);
        if (status == GANTRY_OK) {
            (void)snprintf(table->frozen_by, sizeof table->frozen_by, "%s", by);
            atomic_store_explicit(&table->frozen, true, memory_order_release);
        } else {
            forget_logical_devices(table);
        }
    }
    gantry__mutex_unlock(&table->lock);
    if (first && status == GANTRY_OK) gantry__device_table_announce(table);
    return status;
}

/* ---- what was found, told once ---- */

static void announce_device(const gantry__device_table_t *table, const logical_t *device) {
    const struct gantry_physical_device_t *physical = device->physical;
    gantry__log(table->log, GANTRY_LEVEL_INFO,
                "Found device %s (%s): name: %s, vendor: %s, platform: %s, driver: %s, compute units: %u, pci bus id: "
                "%s, total memory: %" PRIu64 " MB%s%s",
                device->name, physical->alias, physical->info.hardware_name, physical->info.vendor, physical->platform,
                physical->info.driver_version, physical->info.compute_units, *physical->pci ? physical->pci : "none",
                physical->info.total_bytes >> 20, *physical->note ? "; " : "", physical->note);
}

void gantry__device_table_announce(const gantry__device_table_t *table) {
    for (size_t i = 0; i < table->backends->count; ++i) {
        const gantry__backend_t *backend = &table->backends->items[i];
        if (backend->state != GANTRY_BACKEND_USABLE) continue; /* its reason was logged when it was found */
        const char *libraries = GANTRY_ABI_HAS(backend->table, libraries) && backend->table->libraries
                                    ? backend->table->libraries(backend->instance)
                                    : "";
        gantry__log(table->log, GANTRY_LEVEL_INFO, "Backend %s (%s): %u device%s%s%s", backend->name, backend->path,
                    backend->device_count, backend->device_count == 1 ? "" : "s", libraries && *libraries ? "; " : "",
                    libraries ? libraries : "");
    }
    for (size_t i = 0; i < table->logical_count; ++i) announce_device(table, table->logical[i]);
}
