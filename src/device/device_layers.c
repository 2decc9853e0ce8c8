/* SPDX-License-Identifier: Apache-2.0 */
/* Options and environment become layers of each device's settings. */
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/setting_rows.h"
#include "device/device_config.h"
#include "device/device_table.h"
#include "device/physical_device.h"

typedef struct gantry_physical_device_t physical_t;

/* ---- which device a text names ---- */

typedef struct reader_t {
    gantry__device_table_t *table;
    gantry__device_setting_id_t id;
    gantry__layer_id_t layer;
    gantry__config_text_t text;
} reader_t;

/* An environment may serve many machines; an option is written for this one. The reason is a
 * sentence or "". */
static gantry_status_t tell_unusable(const reader_t *reader, const gantry__config_item_t *item,
                                     const char *what, const char *reason) {
    const char *stop = *reason ? ". " : "";
    if (reader->layer == GANTRY__LAYER_OPTION)
        return gantry__config_refuse(&reader->text, item->at, "%s %s%s%s", item->device, what, stop,
                                     reason);
    gantry__log(reader->table->log, GANTRY_LEVEL_WARNING, "%s: %s %s; its value is ignored%s%s",
                reader->text.by, item->device, what, stop, reason);
    return GANTRY_OK;
}

/* Finds the device of an item; *out_device is NULL if the item is to be left out. */
static gantry_status_t find_device(const reader_t *reader, const gantry__config_item_t *item,
                                   physical_t **out_device) {
    gantry__device_reference_t reference;
    physical_t *found = NULL;
    *out_device = NULL;
    if (gantry__device_reference_from_user(reader->table, item->device, &reference) != GANTRY_OK)
        return gantry__config_refuse(&reader->text, item->at, "%s", gantry__message());
    for (size_t i = 0; i < reader->table->physical_count; ++i) {
        physical_t *device = reader->table->physical[i];
        if (!gantry__device_reference_names(&reference, device)) continue;
        if (found) {
            return gantry__config_refuse(
                &reader->text, item->at,
                "%s names both %s and %s; one device is accepted, and * for the rest", item->device,
                found->name, device->name);
        }
        found = device;
    }
    if (!found) {
        char unused[GANTRY__DEVICE_UNUSED_BYTES];
        return tell_unusable(reader, item, "is not on this machine",
                             gantry__device_tell_unused(reader->table, &reference, unused));
    }
    if (!found->listed && (found->served_by || reader->id == GANTRY__DEVICE_PARTS)) {
        char why[256];
        (void)snprintf(why, sizeof why, "cannot be configured (%s)", found->note);
        return tell_unusable(reader, item, why, "");
    }
    *out_device = found;
    return GANTRY_OK;
}

/* ---- one text ---- */

static gantry_status_t read_value(const reader_t *reader, const gantry__config_item_t *item,
                                  gantry__device_layer_t *said) {
    switch (reader->id) {
        case GANTRY__DEVICE_GROWTH:
            return gantry__config_growth(&reader->text, item, &said->growth);
        case GANTRY__DEVICE_WAIT: return gantry__config_wait(&reader->text, item, &said->wait);
        case GANTRY__DEVICE_LIMIT: return gantry__config_limit(&reader->text, item, &said->limit);
        default: return gantry__config_fraction(&reader->text, item, &said->fraction);
    }
}

static void say(const reader_t *reader, gantry__device_settings_t *settings,
                const gantry__device_layer_t *said) {
    gantry__device_layer_t *layer = &settings->layers[reader->layer];
    layer->by[reader->id] = reader->text.by;
    if (reader->id == GANTRY__DEVICE_GROWTH) layer->growth = said->growth;
    if (reader->id == GANTRY__DEVICE_WAIT) layer->wait = said->wait;
    if (reader->id == GANTRY__DEVICE_LIMIT) layer->limit = said->limit;
    if (reader->id == GANTRY__DEVICE_FRACTION) layer->fraction = said->fraction;
}

static gantry_status_t refuse_twice(const reader_t *reader, const gantry__config_item_t *item,
                                    const char *name) {
    return gantry__config_refuse(&reader->text, item->at, "%s is given twice", name);
}

static gantry_status_t read_item(const reader_t *reader, const gantry__config_item_t *item) {
    gantry__device_layer_t said = {0};
    gantry__device_settings_t *rest = &reader->table->defaults;
    GANTRY__TRY(read_value(reader, item, &said));
    if (!*item->device || strcmp(item->device, "*") == 0) {
        if (rest->layers[reader->layer].by[reader->id]) return refuse_twice(reader, item, "*");
        say(reader, rest, &said);
        return GANTRY_OK;
    }
    physical_t *device;
    GANTRY__TRY(find_device(reader, item, &device));
    if (!device) return GANTRY_OK;
    if (device->card->settings.layers[reader->layer].by[reader->id])
        return refuse_twice(reader, item, device->name);
    say(reader, &device->card->settings, &said);
    return GANTRY_OK;
}

static gantry_status_t read_split(const reader_t *reader, const gantry__config_item_t *item) {
    gantry_logical_device_config_t parts[GANTRY__MOST_PARTS];
    size_t count;
    physical_t *device;
    GANTRY__TRY(gantry__config_parts(&reader->text, item, parts, &count));
    if (strcmp(item->device, "*") == 0)
        return gantry__config_refuse(&reader->text, item->at,
                                     "* is not accepted here; a split needs a device's name");
    GANTRY__TRY(find_device(reader, item, &device));
    if (!device) return GANTRY_OK;
    gantry__device_layer_t *layer = &device->card->settings.layers[reader->layer];
    if (layer->by[reader->id]) return refuse_twice(reader, item, device->name);
    if (gantry__parts_check(device, parts, count) != GANTRY_OK)
        return gantry__config_refuse(&reader->text, item->at, "%s", gantry__message());
    layer->parts = gantry__heap_alloc(reader->table->heap, count * sizeof *parts);
    if (!layer->parts) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(layer->parts, parts, count * sizeof *parts);
    layer->part_count = count;
    layer->by[reader->id] = reader->text.by;
    return GANTRY_OK;
}

static gantry_status_t read_text(const reader_t *reader) {
    if (!reader->text.text || !*reader->text.text) return GANTRY_OK;
    bool is_split = reader->id == GANTRY__DEVICE_PARTS, has = true;
    for (const char *cursor = reader->text.text; has;) {
        gantry__config_item_t item;
        GANTRY__TRY(gantry__config_next(&reader->text, is_split ? ';' : ',', is_split, &cursor,
                                        &item, &has));
        if (has) GANTRY__TRY(is_split ? read_split(reader, &item) : read_item(reader, &item));
    }
    const gantry__device_layer_t *rest = &reader->table->defaults.layers[reader->layer];
    for (size_t i = 0; rest->by[reader->id] && i < reader->table->physical_count; ++i) {
        gantry__device_settings_t *settings = &reader->table->physical[i]->card->settings;
        if (!settings->layers[reader->layer].by[reader->id]) say(reader, settings, rest);
    }
    return GANTRY_OK;
}

static gantry_status_t read_setting(gantry__device_table_t *table, gantry__setting_id_t setting_id,
                                    gantry__device_setting_id_t id) {
    const char *variable = gantry__setting_rows[setting_id].variable;
    const gantry__setting_t *setting = gantry__settings_find(table->settings, variable);
    if (!setting) return GANTRY_RESOURCE_EXHAUSTED;
    bool is_option = setting->source == GANTRY__SOURCE_OPTION;
    reader_t environment = {table,
                            id,
                            GANTRY__LAYER_ENVIRONMENT,
                            {variable, is_option ? setting->environment : setting->value}};
    GANTRY__TRY(read_text(&environment));
    if (!is_option) return GANTRY_OK;
    reader_t option = {
        table, id, GANTRY__LAYER_OPTION, {gantry__setting_by(setting), setting->value}};
    return read_text(&option);
}

/* ---- TF_FORCE_GPU_ALLOW_GROWTH ---- */

/* Sets growth of one device, stronger than GANTRY_MEMORY_GROWTH and weaker than Gantry's own
 * options and calls. */
static void force_growth(physical_t *device, const gantry__setting_t *setting,
                         gantry_choice_t growth) {
    int layer =
        setting->source == GANTRY__SOURCE_OPTION ? GANTRY__LAYER_OPTION : GANTRY__LAYER_TENSORFLOW;
    gantry__device_layer_t *said = &device->card->settings.layers[layer];
    if (said->by[GANTRY__DEVICE_GROWTH]) return;
    said->by[GANTRY__DEVICE_GROWTH] = gantry__setting_by(setting);
    said->growth = growth;
}

static gantry_status_t read_forced_growth(gantry__device_table_t *table) {
    const gantry__setting_t *setting =
        gantry__settings_find(table->settings, "TF_FORCE_GPU_ALLOW_GROWTH");
    if (!setting) return GANTRY_RESOURCE_EXHAUSTED;
    const char *text = setting->value;
    if (!text || !*text) return GANTRY_OK;
    bool on = false;
    if (!gantry__parse_bool(text, strlen(text), &on)) {
        gantry__log(
            table->log, GANTRY_LEVEL_ERROR,
            "The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: \"%.200s\". Valid values are \"true\" or \"false\". Using original config value of %d.",
            text, table->defaults.growth);
        return GANTRY_OK;
    }
    for (size_t i = 0; i < table->physical_count; ++i) {
        physical_t *device = table->physical[i];
        if (!device->listed || strcmp(device->type, "GPU") != 0) continue;
        force_growth(device, setting, on ? GANTRY_ON : GANTRY_OFF);
        gantry__device_warn_of_growth(table, device->name, &device->card->settings,
                                      GANTRY__LAYER_ENVIRONMENT);
        gantry__device_warn_of_growth(table, device->name, &device->card->settings,
                                      GANTRY__LAYER_OPTION);
    }
    return GANTRY_OK;
}

/* ---- all ---- */

static gantry_status_t resolve_all(gantry__device_table_t *table) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        physical_t *device = table->physical[i];
        GANTRY__TRY(gantry__device_settings_resolve(&device->card->settings, device->name,
                                                    device->info.total_bytes));
        gantry__card_hold_parts(device->card);
        gantry__device_warn_of_lost_split(table, device->name, &device->card->settings);
    }
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *device = table->physical[i];
        GANTRY__TRY(gantry__parts_check_ordinals(table, device, device->card->parts,
                                                 device->card->part_count));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__device_settings_read(gantry__device_table_t *table) {
    GANTRY__TRY(read_setting(table, GANTRY__SETTING_MEMORY_GROWTH, GANTRY__DEVICE_GROWTH));
    GANTRY__TRY(read_setting(table, GANTRY__SETTING_MEMORY_LIMIT, GANTRY__DEVICE_LIMIT));
    GANTRY__TRY(read_setting(table, GANTRY__SETTING_MEMORY_FRACTION, GANTRY__DEVICE_FRACTION));
    GANTRY__TRY(read_setting(table, GANTRY__SETTING_WAIT_POLICY, GANTRY__DEVICE_WAIT));
    GANTRY__TRY(read_setting(table, GANTRY__SETTING_LOGICAL_DEVICES, GANTRY__DEVICE_PARTS));
    GANTRY__TRY(gantry__device_settings_resolve(&table->defaults, "*", 0));
    GANTRY__TRY(read_forced_growth(table));
    return resolve_all(table);
}
