/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from addresses to numbers. Owner: the caller has the map, which owns its two arrays
 * and must end with deinit; the keys are only compared. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_POINTER_MAP_H
#define GANTRY_TRAIN_POINTER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GANTRY__POINTER_MAP_NONE UINT32_MAX

typedef struct gantry__pointer_map_t {
    const void **keys; /* NULL: empty */
    uint32_t *values;
    size_t count, capacity; /* a power of two, at least twice count */
} gantry__pointer_map_t;    /* zeroed: empty */

void gantry__pointer_map_deinit(gantry__pointer_map_t *map);
/* Adds a key, which must not be in the map. It returns false when memory is out. */
bool gantry__pointer_map_add(gantry__pointer_map_t *map, const void *key, uint32_t value);
/* Returns the number of a key; GANTRY__POINTER_MAP_NONE if it is not in the map. */
uint32_t gantry__pointer_map_find(const gantry__pointer_map_t *map, const void *key);

#endif
