/* SPDX-License-Identifier: Apache-2.0 */
/* A part of an open file as memory that can only be read.
 *
 * The system reads pages as they are used, and may forget them again. The file may be closed,
 * renamed or removed meanwhile. It must not be changed: a page that a shorter file lacks ends the
 * process by SIGBUS. Owner: counted; the caller must call gantry__file_unmap. Threads:
 * thread-safe. */
#ifndef GANTRY_BASE_FILE_MAP_H
#define GANTRY_BASE_FILE_MAP_H

#include <stdatomic.h>

#include "base/heap.h"
#include "base/os/pages.h"

#include <gantry/status.h>

typedef struct gantry__file_map_t {
    unsigned char *data; /* the part's first byte */
    atomic_uint references;
    const gantry__heap_t *heap;
    gantry__os_map_t pages;
} gantry__file_map_t;

/* Maps size_bytes > 0 from offset on, which the file must have. heap must outlive the map. path
 * names the file in messages. */
gantry_status_t gantry__file_map(const gantry__heap_t *heap, int file, const char *path,
                                 uint64_t offset, size_t size_bytes, gantry__file_map_t **out_map);
gantry__file_map_t *gantry__file_map_retain(gantry__file_map_t *map);
/* Gives a reference back. map: a gantry__file_map_t or NULL; a callback for the memory of a
 * tensor. */
void gantry__file_unmap(void *map);

#endif
