/* SPDX-License-Identifier: Apache-2.0 */
/* Configures a physical device as several logical ones without the setters and their checks; call
 * it before freeze. Header only. */
#ifndef TESTS_SPLIT_CARD_H
#define TESTS_SPLIT_CARD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/device_config.h"
#include "device/device_table.h"
#include "device/physical_device.h"

/* The device with that name ("/physical_device:GPU:0") or alias ("fake:0"); NULL if there is
 * none. */
static inline gantry_physical_device_t *split_card_find(const gantry__device_table_t *table,
                                                        const char *name) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        gantry_physical_device_t *device = table->physical[i];
        if (strcmp(device->name, name) == 0 || strcmp(device->alias, name) == 0) return device;
    }
    return NULL;
}

/* The settings own a copy of the parts. */
static inline void split_card(gantry__device_table_t *table, const char *name,
                              const gantry_logical_device_config_t *parts, size_t count) {
    gantry_physical_device_t *device = split_card_find(table, name);
    assert_non_null(device);
    gantry__device_layer_t *said = &device->card->settings.layers[GANTRY__LAYER_CALL];
    gantry__heap_free(table->heap, said->parts, said->part_count * sizeof *parts);
    said->parts = gantry__heap_alloc(table->heap, count * sizeof *parts);
    assert_non_null(said->parts);
    memcpy(said->parts, parts, count * sizeof *parts);
    said->part_count = count;
    said->by[GANTRY__DEVICE_PARTS] = "a test";
    device->card->settings.winner[GANTRY__DEVICE_PARTS] = GANTRY__LAYER_CALL;
    gantry__card_hold_parts(device->card);
}

#define SPLIT(table, name, ...)                                                    \
    split_card(table, name, (const gantry_logical_device_config_t[]){__VA_ARGS__}, \
               sizeof((gantry_logical_device_config_t[]){__VA_ARGS__}) /           \
                   sizeof(gantry_logical_device_config_t))

#endif
