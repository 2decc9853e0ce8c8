/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that a runtime uses: GANTRY_VISIBLE_DEVICES (or the option) selects and orders GPUs.
 * The variable of a card's vendor (vendor.def) hides the card, and orders that vendor's cards if
 * the former is not set. */
#include "device/device_table.h"

#include <string.h>

#include "device/fail_over.h"
#include "device/physical_device.h"
#include "device/vendor_visible.h"
#include "device/visible_list.h"

typedef struct gantry_physical_device_t physical_t;

typedef struct gpus_t {
    const gantry__device_table_t *table;
    size_t first; /* position of GPU 0 in the table */
    size_t count;
} gpus_t;

static gpus_t find_gpus(const gantry__device_table_t *table) {
    gpus_t gpus = {.table = table, .first = table->physical_count};
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *device = table->physical[i];
        if (!device->listed || strcmp(device->type, "GPU") != 0) continue;
        if (gpus.count++ == 0) gpus.first = i;
    }
    return gpus;
}

/* Whether a device text such as opencl:1 means the GPU at that position, under any of its views. */
static bool matches_name(void *user, const char *entry, size_t position) {
    const gpus_t *gpus = user;
    const physical_t *card = gpus->table->physical[gpus->first + position];
    gantry__device_reference_t reference;
    if (gantry__device_reference_from_user(gpus->table, entry, &reference) != GANTRY_OK)
        return false;
    for (const physical_t *view = NULL; (view = gantry__card_next_view(card, view)) != NULL;) {
        if (gantry__device_reference_names(&reference, view)) return true;
    }
    return false;
}

/* Cards that their vendor's variable orders are exchanged among themselves; the others stay. */
static void order_as_vendor(const physical_t **cards, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        size_t first = i;
        for (size_t j = i + 1; cards[i]->vendor_place != UINT32_MAX && j < count; ++j) {
            if (cards[j]->vendor == cards[i]->vendor &&
                cards[j]->vendor_place < cards[first]->vendor_place)
                first = j;
        }
        const physical_t *card = cards[i];
        cards[i] = cards[first];
        cards[first] = card;
    }
}

static gantry_status_t select_gpus(gantry__device_table_t *table, const char *text,
                                   const char *variable, const gpus_t *gpus) {
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    gantry__visible_device_t *identities =
        gantry__heap_zalloc(table->heap, gpus->count * sizeof *identities);
    size_t *positions = gantry__heap_zalloc(table->heap, gpus->count * sizeof *positions);
    if (!identities || !positions) goto done;
    for (size_t i = 0; i < gpus->count; ++i) {
        const physical_t *device = table->physical[gpus->first + i];
        identities[i] = (gantry__visible_device_t){(int32_t)i, device->uuid,
                                                   *device->pci ? device->pci : NULL, device->name};
    }
    gpus_t user = *gpus;
    gantry__visible_rules_t rules = {
        .variable = variable, .allow_extras = true, .matches = matches_name, .user = &user};
    gantry__visible_list_t list = {.positions = positions};
    status = gantry__visible_list_select(text, &rules, identities, gpus->count, &list);
    if (status != GANTRY_OK) goto done;
    if (*list.reason) gantry__log(table->log, GANTRY_LEVEL_WARNING, "%s", list.reason);
    table->auto_count = list.auto_count;
    const physical_t **first = &table->visible[table->visible_count];
    for (size_t i = 0; i < list.count; ++i) {
        const physical_t *device = table->physical[gpus->first + positions[i]];
        if (!device->hidden_by_vendor) table->visible[table->visible_count++] = device;
    }
    if (!text) order_as_vendor(first, (size_t)(&table->visible[table->visible_count] - first));
done:
    gantry__heap_free(table->heap, identities, gpus->count * sizeof *identities);
    gantry__heap_free(table->heap, positions, gpus->count * sizeof *positions);
    return status;
}

gantry_status_t gantry__visible_devices_find(gantry__device_table_t *table) {
    const gantry__setting_t *setting =
        gantry__settings_find(table->settings, "GANTRY_VISIBLE_DEVICES");
    if (!setting) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(gantry__vendor_visible_find(table));
    table->visible =
        gantry__heap_zalloc(table->heap, table->physical_count * sizeof *table->visible);
    if (!table->visible) return GANTRY_RESOURCE_EXHAUSTED;
    gpus_t gpus = find_gpus(table);
    for (size_t i = 0; i < gpus.first; ++i) {
        if (table->physical[i]->listed) table->visible[table->visible_count++] = table->physical[i];
    }
    if (gpus.count > 0) {
        GANTRY__TRY(select_gpus(table, setting->value, gantry__setting_by(setting), &gpus));
    }
    for (size_t i = gpus.first + gpus.count; i < table->physical_count; ++i) {
        if (table->physical[i]->listed) table->visible[table->visible_count++] = table->physical[i];
    }
    return GANTRY_OK;
}

bool gantry__device_is_visible(const gantry__device_table_t *table,
                               const gantry_physical_device_t *device) {
    for (size_t i = 0; i < table->visible_count; ++i) {
        if (table->visible[i] == device) return true;
    }
    return false;
}
