/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that shape devices. Each setter checks its arguments at once; after freeze it accepts an
 * equal value and refuses another one with FailedPrecondition. */
#include "device/device_config.h"

#include <string.h>

#include "device/device_table.h"
#include "device/physical_device.h"

typedef struct gantry_physical_device_t physical_t;

gantry_status_t gantry__device_check(const gantry__device_table_t *table,
                                     const gantry_physical_device_t *device) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        if (table->physical[i] == device) return GANTRY_OK;
    }
    if (!device) {
        return gantry__refuse(
            "Unrecognized device: NULL is not a physical device of this runtime (%zu are listed)",
            table->physical_count);
    }
    return gantry__refuse(
        "Unrecognized device: %p is not a physical device of this runtime (%zu are listed)",
        (const void *)device, table->physical_count);
}

bool gantry__device_table_is_frozen(const gantry__device_table_t *table) {
    return atomic_load_explicit(&table->frozen, memory_order_acquire);
}

gantry_status_t gantry__device_refuse_frozen(const gantry__device_table_t *table,
                                             const char *what) {
    return gantry__fail(GANTRY_FAILED_PRECONDITION,
                        "%s cannot be modified after being initialized (initialized by %s)", what,
                        table->frozen_by);
}

void gantry__card_hold_parts(gantry__card_t *card) {
    int layer = card->settings.winner[GANTRY__DEVICE_PARTS];
    card->parts = layer < 0 ? NULL : card->settings.layers[layer].parts;
    card->part_count = layer < 0 ? 0 : card->settings.layers[layer].part_count;
}

void gantry__device_warn_of_lost_split(const gantry__device_table_t *table, const char *name,
                                       const gantry__device_settings_t *settings) {
    if (settings->winner[GANTRY__DEVICE_PARTS] >= 0) return;
    gantry__device_setting_id_t id = settings->winner[GANTRY__DEVICE_FRACTION] >= 0
                                         ? GANTRY__DEVICE_FRACTION
                                         : GANTRY__DEVICE_LIMIT;
    const char *winner = settings->winner[id] < 0 ? "another setting"
                                                  : settings->layers[settings->winner[id]].by[id];
    for (int i = GANTRY__LAYERS - 1; i >= 0; --i) {
        const char *loser = settings->layers[i].by[GANTRY__DEVICE_PARTS];
        if (!loser) continue;
        gantry__log(table->log, GANTRY_LEVEL_WARNING, "%s is not split as %s says: %s overrules it",
                    name, loser, winner);
        return;
    }
}

gantry_status_t gantry__device_commit(gantry__device_table_t *table, const physical_t *device,
                                      gantry__device_settings_t *next, const char *what,
                                      bool *out_changed) {
    *out_changed = false;
    GANTRY__TRY(gantry__device_settings_resolve(next, device->name, device->info.total_bytes));
    if (gantry__device_table_is_frozen(table)) {
        bool is_equal = gantry__device_settings_equal(next, &device->card->settings);
        return is_equal ? GANTRY_OK : gantry__device_refuse_frozen(table, what);
    }
    device->card->settings = *next;
    gantry__card_hold_parts(device->card);
    *out_changed = true;
    return GANTRY_OK;
}

/* ---- visible devices ---- */

/* Of more devices than there are, one is given twice. */
static gantry_status_t check_visible(const gantry__device_table_t *table,
                                     const gantry_physical_device_t *const *devices, size_t count,
                                     const char *type) {
    for (size_t i = 0; i < count; ++i) {
        GANTRY__TRY(gantry__device_check(table, devices[i]));
        if (!devices[i]->listed) {
            return gantry__refuse("%s cannot be made visible: %s", devices[i]->alias,
                                  devices[i]->note);
        }
        if (type && strcmp(devices[i]->type, type) != 0) {
            return gantry__refuse("Unrecognized device: %s is no %s device", devices[i]->name,
                                  type);
        }
        for (size_t j = 0; j < i; ++j) {
            if (devices[j] == devices[i])
                return gantry__refuse(
                    "gantry_set_visible_devices: %s is given twice, as devices %zu and %zu; each device is accepted once",
                    devices[i]->name, j, i);
        }
    }
    return GANTRY_OK;
}

/* Appends devices that are (not) of a type, in their order. */
static size_t append_by_type(const physical_t **out, size_t used, const physical_t *const *devices,
                             size_t count, const char *type, bool is) {
    for (size_t i = 0; i < count; ++i) {
        if ((strcmp(devices[i]->type, type) == 0) == is) out[used++] = devices[i];
    }
    return used;
}

gantry_status_t gantry__device_set_visible(gantry__device_table_t *table,
                                           const gantry_physical_device_t *const *devices,
                                           size_t count, const char *type) {
    GANTRY__TRY(check_visible(table, devices, count, type));
    size_t bytes = 2 * (table->physical_count + 1) * sizeof(physical_t *);
    const physical_t **wanted = gantry__heap_zalloc(table->heap, bytes);
    if (!wanted) return GANTRY_RESOURCE_EXHAUSTED;
    const physical_t **sorted = wanted + table->physical_count + 1;
    gantry__mutex_lock(&table->lock);
    size_t all =
        type ? append_by_type(wanted, 0, table->visible, table->visible_count, type, false) : 0;
    for (size_t i = 0; i < count; ++i) wanted[all++] = devices[i];
    size_t used = append_by_type(sorted, 0, wanted, all, "CPU", true);
    gantry_status_t status = GANTRY_OK;
    if (used == 0) {
        status = gantry__refuse(
            "the visible list has no CPU device; ops without a GPU kernel need one: include /physical_device:CPU:0");
    } else {
        used = append_by_type(sorted, used, wanted, all, "CPU", false);
        bool equal = used == table->visible_count &&
                     memcmp(sorted, table->visible, used * sizeof *sorted) == 0;
        if (!equal && gantry__device_table_is_frozen(table)) {
            status = gantry__device_refuse_frozen(table, "Visible devices");
        } else if (!gantry__device_table_is_frozen(table)) {
            table->visible_by = "gantry_set_visible_devices";
            memcpy(table->visible, sorted, used * sizeof *sorted);
            table->visible_count = used;
        }
    }
    gantry__mutex_unlock(&table->lock);
    gantry__heap_free(table->heap, wanted, bytes);
    return status;
}
