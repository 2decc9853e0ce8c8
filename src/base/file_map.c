/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_map.h"

#include "base/failure.h"
#include "base/files.h"

gantry_status_t gantry__file_map(const gantry__heap_t *heap, int file, const char *path,
                                 uint64_t offset, size_t size_bytes, gantry__file_map_t **out_map) {
    gantry__file_map_t *map = gantry__heap_alloc(heap, sizeof *map);
    *out_map = NULL;
    if (!map) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__os_map_t pages;
    const int error = gantry__os_map(file, offset, size_bytes, &pages);
    if (error) {
        gantry__heap_free(heap, map, sizeof *map);
        return gantry__file_fail("map", path, error);
    }
    *map = (gantry__file_map_t){.data = pages.data, .heap = heap, .pages = pages};
    atomic_init(&map->references, 1);
    *out_map = map;
    return GANTRY_OK;
}

gantry__file_map_t *gantry__file_map_retain(gantry__file_map_t *map) {
    atomic_fetch_add_explicit(&map->references, 1, memory_order_relaxed);
    return map;
}

void gantry__file_unmap(void *map) {
    gantry__file_map_t *self = map;
    if (!self || atomic_fetch_sub_explicit(&self->references, 1, memory_order_acq_rel) != 1) return;
    gantry__os_unmap(&self->pages);
    gantry__heap_free(self->heap, self, sizeof *self);
}
