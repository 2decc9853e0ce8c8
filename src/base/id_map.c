/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_map.h"

#include <stdbool.h>

#define FIRST_CAPACITY 64

typedef struct gantry__id_entry_t {
    uint64_t key;
    uint32_t number;
} id_entry_t;

void gantry__id_map_init(gantry__id_map_t *map, const gantry__heap_t *heap) {
    *map = (gantry__id_map_t){.heap = heap};
}

void gantry__id_map_deinit(gantry__id_map_t *map) {
    gantry__heap_free(map->heap, map->entries, map->capacity * sizeof *map->entries);
    *map = (gantry__id_map_t){.heap = map->heap};
}

/* Its entry, or the empty one where it belongs. Addresses are multiples of 16: their low bits say
 * nothing. */
static id_entry_t *find(id_entry_t *entries, size_t capacity, uint64_t key) {
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (capacity - 1);
    while (entries[at].key != 0 && entries[at].key != key) at = (at + 1) & (capacity - 1);
    return &entries[at];
}

static bool id_map_grow(gantry__id_map_t *map) {
    const size_t capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
    id_entry_t *entries = gantry__heap_zalloc(map->heap, capacity * sizeof *entries);
    if (!entries) return false;
    for (size_t i = 0; i < map->capacity; ++i) {
        const id_entry_t *entry = &map->entries[i];
        if (entry->key != 0) *find(entries, capacity, entry->key) = *entry;
    }
    gantry__heap_free(map->heap, map->entries, map->capacity * sizeof *map->entries);
    map->entries = entries;
    map->capacity = capacity;
    return true;
}

uint32_t *gantry__id_map_at(gantry__id_map_t *map, uint64_t key) {
    if ((map->count + 1) * 2 > map->capacity && !id_map_grow(map)) return NULL;
    id_entry_t *entry = find(map->entries, map->capacity, key);
    if (entry->key == 0) {
        entry->key = key;
        ++map->count;
    }
    return &entry->number;
}
