/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator: many small objects with one end.
 *
 * Owner: the arena owns blocks of heap memory; nothing is freed before its end. Threads: externally
 * synchronised. */
#ifndef GANTRY_BASE_ARENA_H
#define GANTRY_BASE_ARENA_H

#include "base/heap.h"

typedef struct gantry__arena_t {
    const gantry__heap_t *heap;
    struct gantry__arena_block_t *blocks; /* newest first */
    size_t used;                          /* the used bytes of the newest block */
} gantry__arena_t;

void gantry__arena_init(gantry__arena_t *arena, const gantry__heap_t *heap);
void gantry__arena_deinit(gantry__arena_t *arena);

/* Allocates zeroed memory, aligned for any type; NULL, with ResourceExhausted as the last message,
 * if memory is out. count 0 gives an address that holds nothing. */
void *gantry__arena_zalloc(gantry__arena_t *arena, size_t count, size_t item_bytes);
void *gantry__arena_copy(gantry__arena_t *arena, const void *bytes, size_t count,
                         size_t item_bytes);
char *gantry__arena_strdup(gantry__arena_t *arena, const char *text);

#endif
