/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator: many small objects with one end.
 *
 * Owner: the arena owns blocks of heap memory; nothing is freed before its end. Threads: externally
 * synchronised. */
#ifndef GANTRY_BASE_ARENA_H
#define GANTRY_BASE_ARENA_H

#include <stddef.h>

#include "base/heap.h"

#define GANTRY__ARENA_ALIGNMENT _Alignof(max_align_t)

typedef struct gantry__arena_t {
    const gantry__heap_t *heap;
    struct gantry__arena_block_t *blocks; /* newest first */
    unsigned char *next;                  /* the free bytes of the newest block */
    size_t left;
} gantry__arena_t;

void gantry__arena_init(gantry__arena_t *arena, const gantry__heap_t *heap);
void gantry__arena_deinit(gantry__arena_t *arena);

/* What gantry__arena_alloc returns when a block is needed for it. */
void *gantry__arena_alloc_slowly(gantry__arena_t *arena, size_t count, size_t item_bytes);
/* Allocates memory, aligned for any type; NULL, with ResourceExhausted as the last message, if
 * memory is out. count 0 gives an address that holds nothing. */
static inline void *gantry__arena_alloc(gantry__arena_t *arena, size_t count, size_t item_bytes) {
    size_t bytes;
    if (__builtin_mul_overflow(count, item_bytes, &bytes) || bytes > arena->left || !arena->next)
        return gantry__arena_alloc_slowly(arena, count, item_bytes);
    /* a block has a whole number of aligned pieces */
    bytes =
        (bytes + GANTRY__ARENA_ALIGNMENT - 1) / GANTRY__ARENA_ALIGNMENT * GANTRY__ARENA_ALIGNMENT;
    void *result = arena->next;
    arena->next += bytes;
    arena->left -= bytes;
    return result;
}
/* The same, filled with zeros. */
void *gantry__arena_zalloc(gantry__arena_t *arena, size_t count, size_t item_bytes);
void *gantry__arena_copy(gantry__arena_t *arena, const void *bytes, size_t count,
                         size_t item_bytes);
char *gantry__arena_strdup(gantry__arena_t *arena, const char *text);

#endif
