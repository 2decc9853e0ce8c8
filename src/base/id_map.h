/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from 64-bit keys, of which 0 is none, to 32-bit numbers. Nothing is removed.
 *
 * Owner: the caller must end what it began; the table owns its entries. Threads: externally
 * synchronised. */
#ifndef GANTRY_BASE_ID_MAP_H
#define GANTRY_BASE_ID_MAP_H

#include <stdint.h>

#include "base/heap.h"

typedef struct gantry__id_map_t {
    const gantry__heap_t *heap;
    struct gantry__id_entry_t *entries;
    size_t capacity, count; /* capacity: 0, or a power of two */
} gantry__id_map_t;

void gantry__id_map_init(gantry__id_map_t *map, const gantry__heap_t *heap);
void gantry__id_map_deinit(gantry__id_map_t *map);

/* The number of the key, with 0 if it is new; NULL if memory is out. Valid until the next call. */
uint32_t *gantry__id_map_at(gantry__id_map_t *map, uint64_t key);

#endif
