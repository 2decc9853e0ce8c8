/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from addresses to numbers. */
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
/* Adds a key that is not there; false when memory is out. */
bool gantry__pointer_map_add(gantry__pointer_map_t *map, const void *key, uint32_t value);
/* GANTRY__POINTER_MAP_NONE: it is not there. */
uint32_t gantry__pointer_map_find(const gantry__pointer_map_t *map, const void *key);

#endif
