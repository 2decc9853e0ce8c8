/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/base/arena.h"

#include <string.h>

#include "shared/memory.h"

#define ALIGNMENT 16u
#define LEAST_BLOCK_BYTES ((size_t)16 << 10)
#define MOST_BLOCK_BYTES ((size_t)1 << 20)

/* A block; its memory follows. */
typedef struct gantry__onnx_block_t {
    struct gantry__onnx_block_t *next;
    uint64_t padding; /* so that the memory is aligned */
} gantry__onnx_block_t;

/* Blocks double with the arena, so that small models take little. */
static size_t block_bytes(const gantry__onnx_arena_t *arena, size_t needed) {
    size_t bytes = LEAST_BLOCK_BYTES;
    while (bytes < MOST_BLOCK_BYTES && bytes < arena->total) bytes *= 2;
    return needed > bytes ? needed : bytes;
}

static bool arena_add_block(gantry__onnx_arena_t *arena, size_t needed, bool *out_bound) {
    const size_t bytes = block_bytes(arena, needed);
    if (arena->total + bytes > arena->limit) return !(*out_bound = true);
    gantry__onnx_block_t *block = gantry__alloc(1, sizeof *block + bytes);
    if (!block) return false;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = 0;
    arena->capacity = bytes;
    arena->total += bytes;
    return true;
}

void *gantry__onnx_arena_alloc(gantry__onnx_arena_t *arena, size_t count, size_t item_bytes,
                               bool *out_bound) {
    if (item_bytes > 0 && count > (SIZE_MAX / 2 - ALIGNMENT) / item_bytes) {
        *out_bound = true;
        return NULL;
    }
    const size_t bytes = (count * item_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!arena->blocks || bytes > arena->capacity - arena->used) {
        if (!arena_add_block(arena, bytes, out_bound)) return NULL;
    }
    void *ptr = (unsigned char *)(arena->blocks + 1) + arena->used;
    arena->used += bytes;
    return ptr;
}

void gantry__onnx_arena_deinit(gantry__onnx_arena_t *arena) {
    while (arena->blocks) {
        gantry__onnx_block_t *next = arena->blocks->next;
        gantry__free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = arena->capacity = 0;
    arena->total = 0;
}
