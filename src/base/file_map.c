/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700

#include "base/file_map.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/files.h"

gantry_status_t gantry__file_map(const gantry__heap_t *heap, int file, const char *path,
                                 uint64_t offset, size_t size_bytes, gantry__file_map_t **out_map) {
    const size_t before = (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));
    gantry__file_map_t *map = gantry__heap_alloc(heap, sizeof *map);
    *out_map = NULL;
    if (!map) return GANTRY_RESOURCE_EXHAUSTED;
    void *pages =
        mmap(NULL, before + size_bytes, PROT_READ, MAP_PRIVATE, file, (off_t)(offset - before));
    if (pages == MAP_FAILED) {
        const int error = errno;
        gantry__heap_free(heap, map, sizeof *map);
        return gantry__file_fail("map", path, error);
    }
    *map = (gantry__file_map_t){.data = (unsigned char *)pages + before,
                                .heap = heap,
                                .pages = pages,
                                .size_bytes = before + size_bytes};
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
    (void)munmap(self->pages, self->size_bytes);
    gantry__heap_free(self->heap, self, sizeof *self);
}
