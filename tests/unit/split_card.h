/* Configures a physical device as several logical ones past the setters and their checks: before freeze. Header only. */
#ifndef TESTS_SPLIT_CARD_H
#define TESTS_SPLIT_CARD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/device_table.h"

/* The device of that name ("/physical_device:GPU:0") or alias ("fake:0"); NULL when there is none. */
static inline gantry_physical_device_t *split_card_find(const gantry__device_table_t *table, const char *name) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        gantry_physical_device_t *device = table->physical[i];
        if (strcmp(device->name, name) == 0 || strcmp(device->alias, name) == 0) return device;
    }
    return NULL;
}

/* The table owns a copy of the parts. */
static inline void split_card(gantry__device_table_t *table, const char *name,
                              const gantry_logical_device_config_t *parts, size_t count) {
    gantry_physical_device_t *device = split_card_find(table, name);
    assert_non_null(device);
    gantry__heap_free(table->heap, device->parts, device->part_count * sizeof *parts);
    device->parts = gantry__heap_alloc(table->heap, count * sizeof *parts);
    assert_non_null(device->parts);
    memcpy(device->parts, parts, count * sizeof *parts);
    device->part_count = count;
}

#define SPLIT(table, name, ...)                                                 \
    split_card(table, name, (const gantry_logical_device_config_t[]){__VA_ARGS__}, \
               sizeof((gantry_logical_device_config_t[]){__VA_ARGS__}) / sizeof(gantry_logical_device_config_t))

#endif
