/* SPDX-License-Identifier: Apache-2.0 */
/* The table's life: init reads settings and finds devices, freeze makes the logical devices and
 * logs the result, deinit closes and frees. Each step has a file of its own. */
#include "device/device_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "device/adopted.h"
#include "device/device_claim.h"
#include "device/device_config.h"
#include "device/device_open.h"
#include "device/pinned.h"
#include "device/status_file.h"

typedef struct gantry_logical_device_t logical_t;

/* ---- init ---- */

static gantry_status_t read_settings(gantry__device_table_t *table) {
    static const char *const words[] = {"off", "gpu", "on"};
    int word = 0;
    GANTRY__TRY(gantry__settings_get_word(table->settings, "GANTRY_OPENCL_CPU", words, 3, &word));
    table->opencl_cpu_as_gpu = word > 0;
    return gantry__memory_policy_read(table);
}

static gantry_status_t list_backend_names(gantry__device_table_t *table) {
    const char **names =
        gantry__heap_zalloc(table->heap, (table->backends->count + 1) * sizeof *names);
    if (!names) return GANTRY_RESOURCE_EXHAUSTED;
    table->backend_names = names;
    /* also of those that are not used: their devices are unknown, and their names well formed */
    for (size_t i = 0; i < table->backends->count; ++i)
        names[table->backend_name_count++] = table->backends->items[i].name;
    return GANTRY_OK;
}

gantry_status_t gantry__device_table_init(gantry__device_table_t *table, const gantry__heap_t *heap,
                                          const gantry__log_t *log, gantry__settings_t *settings,
                                          gantry__backend_set_t *backends) {
    *table = (gantry__device_table_t){.heap = heap,
                                      .log = log,
                                      .settings = settings,
                                      .backends = backends,
                                      .policy = GANTRY__MEMORY_POLICY_DEFAULTS};
    GANTRY__TRY(gantry__keepers_init(&table->keepers));
    if (gantry__mutex_init(&table->lock) != 0) {
        gantry__keepers_deinit(&table->keepers);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    }
    gantry_status_t status = read_settings(table);
    if (status == GANTRY_OK) status = list_backend_names(table);
    if (status == GANTRY_OK) status = gantry__physical_devices_find(table);
    if (status == GANTRY_OK) status = gantry__device_settings_read(table);
    if (status == GANTRY_OK) status = gantry__visible_devices_find(table);
    if (status == GANTRY_OK) status = gantry__status_file_open(table, &table->status_file);
    if (status != GANTRY_OK) gantry__device_table_deinit(table);
    return status;
}

void gantry__device_table_deinit(gantry__device_table_t *table) {
    const gantry__heap_t *heap = table->heap;
    gantry__pinned_forget(table);
    gantry__status_file_t *status_file = table->status_file;
    table->status_file = NULL; /* memory that is freed from here on is not shown */
    gantry__status_file_close(table, status_file);
    for (size_t i = 0; i < table->logical_count; ++i)
        gantry__logical_device_close(table->logical[i]);
    gantry__logical_devices_forget(table);
    gantry__device_claim_release(table);
    gantry__heap_free(heap, table->visible, table->physical_count * sizeof *table->visible);
    for (size_t i = 0; i < table->physical_count; ++i)
        gantry__physical_device_release(table->physical[i]);
    gantry__heap_free(heap, table->physical, table->physical_capacity * sizeof *table->physical);
    void *names;
    memcpy(&names, &table->backend_names, sizeof names);
    gantry__heap_free(heap, names, (table->backends->count + 1) * sizeof(char *));
    gantry__mutex_deinit(&table->lock);
    gantry__keepers_deinit(&table->keepers);
    *table = (gantry__device_table_t){.heap = heap};
}

/* ---- freeze ---- */

gantry_status_t gantry__device_table_freeze(gantry__device_table_t *table, const char *by) {
    if (atomic_load_explicit(&table->frozen, memory_order_acquire)) return GANTRY_OK;
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&table->lock);
    bool first = !atomic_load(&table->frozen);
    if (first) {
        status = gantry__device_claim_auto(table);
        if (status == GANTRY_OK) status = gantry__adopted_check_visible(table);
        if (status == GANTRY_OK) status = gantry__logical_devices_make(table);
        if (status == GANTRY_OK) {
            (void)snprintf(table->frozen_by, sizeof table->frozen_by, "%s", by);
            atomic_store_explicit(&table->frozen, true, memory_order_release);
        } else {
            gantry__logical_devices_forget(table);
        }
    }
    gantry__mutex_unlock(&table->lock);
    if (first && status == GANTRY_OK) gantry__device_table_announce(table);
    return status;
}

/* ---- what was found, logged once ---- */

static void announce_device(const gantry__device_table_t *table, const logical_t *device) {
    const struct gantry_physical_device_t *physical = device->physical;
    char part[48] = "";
    if (physical->card->part_count > 1)
        (void)snprintf(part, sizeof part, ", part %zu of %zu",
                       (size_t)(device->part - physical->card->parts) + 1,
                       physical->card->part_count);
    gantry__log(
        table->log, GANTRY_LEVEL_INFO,
        "Found device %s (%s%s): name: %s, vendor: %s, platform: %s, driver: %s, compute units: %u, pci bus id: %s, total memory: %" PRIu64
        " MB%s%s",
        device->name, physical->alias, part, physical->info.hardware_name, physical->info.vendor,
        physical->platform, physical->info.driver_version, physical->info.compute_units,
        *physical->pci ? physical->pci : "none", physical->info.total_bytes >> 20,
        *physical->note ? "; " : "", physical->note);
}

/* Does nothing without a reader of the log, because a backend opens its libraries to name them. */
void gantry__device_table_announce(const gantry__device_table_t *table) {
    if (!gantry__log_is_read(table->log, GANTRY_LEVEL_INFO)) return;
    for (size_t i = 0; i < table->backends->count; ++i) {
        const gantry__backend_t *backend = &table->backends->items[i];
        /* its reason was logged when it was found */
        if (backend->state != GANTRY_BACKEND_USABLE) continue;
        const char *libraries =
            GANTRY_ABI_HAS(backend->table, libraries) && backend->table->libraries
                ? backend->table->libraries(backend->instance)
                : "";
        gantry__log(table->log, GANTRY_LEVEL_INFO, "Backend %s (%s): %u device%s%s%s",
                    backend->name, backend->path, backend->device_count,
                    backend->device_count == 1 ? "" : "s", libraries && *libraries ? "; " : "",
                    libraries ? libraries : "");
    }
    for (size_t i = 0; i < table->logical_count; ++i) announce_device(table, table->logical[i]);
}
