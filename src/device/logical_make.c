/* SPDX-License-Identifier: Apache-2.0 */
/* Logical devices from physical ones and their configuration.
 *
 *   visible        GPU b            GPU a, split in two, ordinals 1 and 0
 *   in a row       b  a.0 a.1       the visible list's order, then a card's parts
 *   by ordinal     b  a.1 a.0       sorted within a type; equal ordinals keep their order, a card
 *                  without has 0
 *   names          GPU:0  GPU:1  GPU:2
 *
 * The devices of a type keep that type's places in the row, so that the order of types is the
 * visible list's. Views without a number come last. Cost: n * n for n logical devices, once. */
#include <stdio.h>
#include <string.h>

#include "device/device_table.h"
#include "device/logical_device.h"

typedef struct gantry_logical_device_t logical_t;
typedef struct gantry_physical_device_t physical_t;

static size_t logical_make_parts_of(const physical_t *physical) {
    return physical->card->part_count > 0 ? physical->card->part_count : 1;
}

/* The smaller of two limits; 0 means unknown on either side. */
static uint64_t smaller(uint64_t own, uint64_t imitated) {
    if (imitated == 0 || (own > 0 && own < imitated)) return own;
    return imitated;
}

/* A part can imitate less than the card has, but not more. */
static void imitate(logical_t *device) {
    const gantry_device_info_t *own = &gantry__logical_view(device)->info;
    const gantry_logical_device_config_t *part = device->part;
    gantry_device_info_t *info = &device->info;
    *info = *own;
    device->imitates_launches = false;
    if (!part) return;
    info->max_work_group_size =
        (uint32_t)smaller(own->max_work_group_size, part->max_work_group_size);
    info->local_memory_bytes = smaller(own->local_memory_bytes, part->local_memory_bytes);
    info->largest_allocation_bytes =
        smaller(own->largest_allocation_bytes, part->largest_allocation_bytes);
    device->imitates_launches = info->max_work_group_size != own->max_work_group_size ||
                                info->local_memory_bytes != own->local_memory_bytes;
    /* kernels have special forms for processors, which never meet such limits: a processor that is
     * presented as a GPU runs the forms of a GPU */
    if (device->imitates_launches && strcmp(device->physical->type, "GPU") == 0)
        info->type = GANTRY_DEVICE_TYPE_GPU;
}

void gantry__logical_device_bind(gantry_logical_device_t *device) {
    const physical_t *view = gantry__logical_view(device);
    device->backend = view->backend->table;
    device->synchronous = (view->info.flags & GANTRY_DEVICE_SYNCHRONOUS) != 0;
    device->waits_for_pageable = (view->info.flags & GANTRY_DEVICE_WAITS_FOR_PAGEABLE) != 0;
    device->host_addressable = (view->info.flags & GANTRY_DEVICE_HOST_ADDRESSABLE) != 0;
    imitate(device);
}

static gantry_status_t add_logical(gantry__device_table_t *table, const physical_t *physical,
                                   size_t part) {
    logical_t *device = gantry__heap_zalloc(table->heap, sizeof *device);
    if (!device) return GANTRY_RESOURCE_EXHAUSTED;
    device->table = table;
    device->physical = physical;
    device->card = physical->card;
    device->part = physical->card->part_count > 0 ? &physical->card->parts[part] : NULL;
    gantry__logical_device_bind(device);
    table->logical[table->logical_count++] = device;
    return GANTRY_OK;
}

static bool is_same_type(const logical_t *a, const logical_t *b) {
    return strcmp(a->physical->type, b->physical->type) == 0;
}

static int32_t ordinal_of(const logical_t *device) {
    return device->part && device->part->has_ordinal ? device->part->ordinal : 0;
}

/* Moves the device at `place` before those of its type that have a larger ordinal; the devices
 * before it are in order. */
static void insert_by_ordinal(gantry__device_table_t *table, size_t place) {
    logical_t *device = table->logical[place];
    for (size_t i = place; i-- > 0;) {
        logical_t *before = table->logical[i];
        if (!is_same_type(before, device)) continue;
        if (ordinal_of(before) <= ordinal_of(device)) return;
        table->logical[i] = device;
        table->logical[place] = before;
        place = i;
    }
}

static void name_device(logical_t *device, size_t position, int32_t index) {
    const physical_t *physical = device->physical;
    device->position = (uint32_t)position;
    device->index = index;
    if (index >= 0) {
        (void)snprintf(device->name, sizeof device->name, "/device:%s:%d", physical->type, index);
        (void)snprintf(device->full_name, sizeof device->full_name,
                       "/job:localhost/replica:0/task:0/device:%s:%d", physical->type, index);
    } else {
        (void)snprintf(device->name, sizeof device->name, "%s", physical->alias);
        (void)snprintf(device->full_name, sizeof device->full_name, "%s", physical->alias);
    }
}

static void name_devices(const gantry__device_table_t *table) {
    for (size_t i = 0; i < table->logical_count; ++i) {
        int32_t index = -1;
        if (i < table->listed_count) {
            index = 0;
            for (size_t j = 0; j < i; ++j)
                index += is_same_type(table->logical[j], table->logical[i]);
        }
        name_device(table->logical[i], i, index);
    }
}

static bool is_reachable_view(const gantry__device_table_t *table, const physical_t *view) {
    if (view->listed) return false;
    return !view->served_by ||
           /* a hidden card is hidden under every name */
           gantry__device_is_visible(table, view->served_by);
}

gantry_status_t gantry__logical_devices_make(gantry__device_table_t *table) {
    size_t capacity = table->physical_count; /* room for the views */
    for (size_t i = 0; i < table->visible_count; ++i)
        capacity += logical_make_parts_of(table->visible[i]);
    table->logical = gantry__heap_zalloc(table->heap, capacity * sizeof *table->logical);
    if (!table->logical) return GANTRY_RESOURCE_EXHAUSTED;
    table->logical_capacity = capacity;
    for (size_t i = 0; i < table->visible_count; ++i) {
        for (size_t part = 0; part < logical_make_parts_of(table->visible[i]); ++part) {
            GANTRY__TRY(add_logical(table, table->visible[i], part));
            insert_by_ordinal(table, table->logical_count - 1);
        }
    }
    table->listed_count = table->logical_count;
    for (size_t i = 0; i < table->physical_count; ++i) {
        if (is_reachable_view(table, table->physical[i]))
            GANTRY__TRY(add_logical(table, table->physical[i], 0));
    }
    name_devices(table);
    return GANTRY_OK;
}

void gantry__logical_devices_forget(gantry__device_table_t *table) {
    for (size_t i = 0; i < table->logical_count; ++i)
        gantry__heap_free(table->heap, table->logical[i], sizeof *table->logical[i]);
    gantry__heap_free(table->heap, table->logical,
                      table->logical_capacity * sizeof *table->logical);
    table->logical = NULL;
    table->logical_count = table->logical_capacity = table->listed_count = 0;
}
