/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/failure.h"

#define BLOCK_BYTES (32u * 1024)

typedef struct gantry__arena_block_t {
    struct gantry__arena_block_t *next;
    size_t capacity; /* the bytes that it has */
    _Alignas(max_align_t) unsigned char bytes[];
} arena_block_t;

void gantry__arena_init(gantry__arena_t *arena, const gantry__heap_t *heap) {
    *arena = (gantry__arena_t){.heap = heap};
}

void gantry__arena_deinit(gantry__arena_t *arena) {
    while (arena->blocks) {
        arena_block_t *block = arena->blocks;
        arena->blocks = block->next;
        gantry__heap_free(arena->heap, block, sizeof *block + block->capacity);
    }
}

/* bytes: a multiple of the alignment, as of all blocks. */
static bool add_block(gantry__arena_t *arena, size_t bytes) {
    const size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    arena_block_t *block = gantry__heap_alloc(arena->heap, sizeof *block + capacity);
    if (!block) return false;
    block->capacity = capacity;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->next = block->bytes;
    arena->left = capacity;
    return true;
}

void *gantry__arena_alloc_slowly(gantry__arena_t *arena, size_t count, size_t item_bytes) {
    size_t bytes;
    if (__builtin_mul_overflow(count, item_bytes, &bytes) || bytes > SIZE_MAX / 2) {
        (void)gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "%zu objects of %zu bytes do not fit", count,
                           item_bytes);
        return NULL;
    }
    bytes =
        (bytes + GANTRY__ARENA_ALIGNMENT - 1) / GANTRY__ARENA_ALIGNMENT * GANTRY__ARENA_ALIGNMENT;
    return add_block(arena, bytes) ? gantry__arena_alloc(arena, count, item_bytes) : NULL;
}

void *gantry__arena_zalloc(gantry__arena_t *arena, size_t count, size_t item_bytes) {
    void *result = gantry__arena_alloc(arena, count, item_bytes);
    return result ? memset(result, 0, count * item_bytes) : NULL;
}

void *gantry__arena_copy(gantry__arena_t *arena, const void *bytes, size_t count,
                         size_t item_bytes) {
    void *copy = gantry__arena_alloc(arena, count, item_bytes);
    return copy && count > 0 ? memcpy(copy, bytes, count * item_bytes) : copy;
}

char *gantry__arena_strdup(gantry__arena_t *arena, const char *text) {
    return gantry__arena_copy(arena, text, strlen(text) + 1, 1);
}
