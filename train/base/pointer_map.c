/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing. */
#include "train/base/pointer_map.h"

#include "shared/memory.h"

static size_t pointer_map_slot_of(const gantry__pointer_map_t *map, const void *key) {
    const uint64_t mixed = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(mixed >> 32) & (map->capacity - 1);
    while (map->keys[at] && map->keys[at] != key) at = (at + 1) & (map->capacity - 1);
    return at;
}

static void pointer_map_put(gantry__pointer_map_t *map, const void *key, uint32_t value) {
    const size_t at = pointer_map_slot_of(map, key);
    map->keys[at] = key;
    map->values[at] = value;
    ++map->count;
}

static bool pointer_map_grow(gantry__pointer_map_t *map) {
    gantry__pointer_map_t wider = {.capacity = map->capacity ? 2 * map->capacity : 64};
    wider.keys = gantry__alloc(wider.capacity, sizeof *wider.keys);
    if (!wider.keys) return false;
    wider.values = gantry__alloc(wider.capacity, sizeof *wider.values);
    if (!wider.values) {
        gantry__free((void *)wider.keys);
        return false;
    }
    for (size_t i = 0; i < map->capacity; ++i) {
        if (map->keys[i]) pointer_map_put(&wider, map->keys[i], map->values[i]);
    }
    gantry__pointer_map_deinit(map);
    *map = wider;
    return true;
}

void gantry__pointer_map_deinit(gantry__pointer_map_t *map) {
    gantry__free((void *)map->keys);
    gantry__free(map->values);
    *map = (gantry__pointer_map_t){.count = 0};
}

bool gantry__pointer_map_add(gantry__pointer_map_t *map, const void *key, uint32_t value) {
    if (2 * (map->count + 1) > map->capacity && !pointer_map_grow(map)) return false;
    pointer_map_put(map, key, value);
    return true;
}

uint32_t gantry__pointer_map_find(const gantry__pointer_map_t *map, const void *key) {
    if (map->capacity == 0) return GANTRY__POINTER_MAP_NONE;
    const size_t at = pointer_map_slot_of(map, key);
    return map->keys[at] ? map->values[at] : GANTRY__POINTER_MAP_NONE;
}
