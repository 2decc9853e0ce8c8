/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy by size, as TensorFlow Lite's planner: the largest block first, each at the lowest offset
 * where it fits between the blocks that live at the same time. Large blocks are then close
 * together, and small ones fill the gaps. Source: Pisarchyk and Lee, Efficient Memory Management
 * for Deep Neural Net Inference, 2020.
 *
 * As long as the goal is missed, the block that reaches highest becomes the first, and all are
 * placed again. */
#include "function/schedule/pack_blocks.h"

#include <stdlib.h>
#include <string.h>

#define TRIES 16

static int compare_blocks(const void *left, const void *right) {
    const gantry__packed_t *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool packed_meet(const gantry__packed_t *a, const gantry__packed_t *b) {
    return a->lane != b->lane || (a->first <= b->last && b->first <= a->last);
}

/* placed: `count` blocks by their offset. */
static uint64_t lowest_offset(const gantry__packed_t *const *placed, size_t count,
                              const gantry__packed_t *block) {
    uint64_t at = 0;
    for (size_t i = 0; i < count; ++i) {
        const gantry__packed_t *other = placed[i];
        if (!packed_meet(other, block)) continue;
        if (other->tried >= at + block->bytes) break;
        if (other->tried + other->bytes > at) at = other->tried + other->bytes;
    }
    return at;
}

static void insert_by_offset(const gantry__packed_t **placed, size_t count,
                             const gantry__packed_t *block) {
    size_t at = count;
    while (at > 0 && placed[at - 1]->tried > block->tried) --at;
    memmove(&placed[at + 1], &placed[at], (count - at) * sizeof *placed);
    placed[at] = block;
}

/* Returns the position of the block that reaches highest. */
static size_t pack_once(gantry__packed_t *blocks, size_t count, const gantry__packed_t **placed) {
    size_t highest = 0;
    for (size_t i = 0; i < count; ++i) {
        gantry__packed_t *block = &blocks[i];
        block->tried = lowest_offset(placed, i, block);
        insert_by_offset(placed, i, block);
        if (block->tried + block->bytes > blocks[highest].tried + blocks[highest].bytes)
            highest = i;
    }
    return highest;
}

static void move_to_front(gantry__packed_t *blocks, size_t position) {
    const gantry__packed_t moved = blocks[position];
    memmove(&blocks[1], &blocks[0], position * sizeof *blocks);
    blocks[0] = moved;
}

gantry_status_t gantry__pack_blocks(const gantry__heap_t *heap, gantry__packed_t *blocks,
                                    size_t count, uint64_t goal, uint64_t *out_bytes) {
    const gantry__packed_t **placed = gantry__heap_alloc(heap, (count + 1) * sizeof *placed);
    if (!placed) return GANTRY_RESOURCE_EXHAUSTED;
    qsort(blocks, count, sizeof *blocks, compare_blocks);
    *out_bytes = UINT64_MAX;
    for (int i = 0; i < TRIES && count > 0 && *out_bytes > goal; ++i) {
        const size_t highest = pack_once(blocks, count, placed);
        const uint64_t bytes = blocks[highest].tried + blocks[highest].bytes;
        for (size_t k = 0; bytes < *out_bytes && k < count; ++k) blocks[k].offset = blocks[k].tried;
        if (bytes < *out_bytes) *out_bytes = bytes;
        move_to_front(blocks, highest);
    }
    gantry__heap_free(heap, placed, (count + 1) * sizeof *placed);
    return GANTRY_OK;
}
