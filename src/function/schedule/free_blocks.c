/* SPDX-License-Identifier: Apache-2.0 */
/* A treap by (size, offset) finds the best fit; two hash tables, by begin and by end, find the
 * neighbours of a block that is given back. Priorities are a hash of the block's number, so that
 * equal plans have equal trees. */
#include "function/schedule/free_blocks.h"

#include "base/failure.h"

typedef struct gantry__free_block_t {
    uint64_t offset, bytes;
    uint32_t left, right; /* blocks + 1; left is also the next unused one */
} block_t;

void gantry__free_blocks_init(gantry__free_blocks_t *free_blocks, const gantry__heap_t *heap) {
    *free_blocks = (gantry__free_blocks_t){.heap = heap};
    gantry__id_map_init(&free_blocks->starts, heap);
    gantry__id_map_init(&free_blocks->ends, heap);
}

void gantry__free_blocks_deinit(gantry__free_blocks_t *free_blocks) {
    gantry__heap_free(free_blocks->heap, free_blocks->blocks,
                      free_blocks->capacity * sizeof *free_blocks->blocks);
    gantry__id_map_deinit(&free_blocks->starts);
    gantry__id_map_deinit(&free_blocks->ends);
}

/* ---- the tree ---- */

static uint32_t block_priority(uint32_t block) {
    const uint64_t mixed = block * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32);
}

static bool is_below(const block_t *block, uint64_t bytes, uint64_t offset) {
    return block->bytes < bytes || (block->bytes == bytes && block->offset < offset);
}

/* Splits a tree into blocks below the key, and the others. */
static void split_tree(block_t *blocks, uint32_t tree, uint64_t bytes, uint64_t offset,
                       uint32_t *out_below, uint32_t *out_others) {
    uint32_t *below = out_below, *others = out_others;
    while (tree) {
        block_t *block = &blocks[tree - 1];
        if (is_below(block, bytes, offset)) {
            *below = tree;
            below = &block->right;
            tree = block->right;
        } else {
            *others = tree;
            others = &block->left;
            tree = block->left;
        }
    }
    *below = *others = 0;
}

/* Merges two trees; all of below must come before all of others. */
static uint32_t merge_trees(block_t *blocks, uint32_t below, uint32_t others) {
    uint32_t root = 0, *place = &root;
    while (below && others) {
        if (block_priority(below) > block_priority(others)) {
            *place = below;
            place = &blocks[below - 1].right;
            below = *place;
        } else {
            *place = others;
            place = &blocks[others - 1].left;
            others = *place;
        }
    }
    *place = below ? below : others;
    return root;
}

/* ---- blocks ---- */

static gantry_status_t set_mark(gantry__id_map_t *map, uint64_t offset, uint32_t block) {
    uint32_t *mark = gantry__id_map_at(map, offset + 1);
    if (!mark) return GANTRY_RESOURCE_EXHAUSTED;
    *mark = block;
    return GANTRY_OK;
}

static gantry_status_t get_mark(gantry__id_map_t *map, uint64_t offset, uint32_t *out_block) {
    const uint32_t *mark = gantry__id_map_at(map, offset + 1);
    if (!mark) return GANTRY_RESOURCE_EXHAUSTED;
    *out_block = *mark;
    return GANTRY_OK;
}

static gantry_status_t add_free_block(gantry__free_blocks_t *free_blocks, uint64_t offset,
                                      uint64_t bytes) {
    uint32_t block = free_blocks->unused, below, others;
    if (bytes == 0) return GANTRY_OK;
    if (!block) {
        if (!gantry__heap_grow(free_blocks->heap, &free_blocks->blocks, free_blocks->count,
                               &free_blocks->capacity, sizeof *free_blocks->blocks))
            return GANTRY_RESOURCE_EXHAUSTED;
        block = (uint32_t)++free_blocks->count;
    } else {
        free_blocks->unused = free_blocks->blocks[block - 1].left;
    }
    block_t *blocks = free_blocks->blocks;
    blocks[block - 1] = (block_t){.offset = offset, .bytes = bytes};
    split_tree(blocks, free_blocks->root, bytes, offset, &below, &others);
    free_blocks->root = merge_trees(blocks, merge_trees(blocks, below, block), others);
    GANTRY__TRY(set_mark(&free_blocks->starts, offset, block));
    return set_mark(&free_blocks->ends, offset + bytes, block);
}

static gantry_status_t remove_free_block(gantry__free_blocks_t *free_blocks, uint32_t block,
                                         block_t *out_block) {
    block_t *blocks = free_blocks->blocks;
    uint32_t below, rest, alone, others;
    *out_block = blocks[block - 1];
    split_tree(blocks, free_blocks->root, out_block->bytes, out_block->offset, &below, &rest);
    split_tree(blocks, rest, out_block->bytes, out_block->offset + 1, &alone, &others);
    free_blocks->root = merge_trees(blocks, below, others);
    blocks[block - 1].left = free_blocks->unused;
    free_blocks->unused = block;
    GANTRY__TRY(set_mark(&free_blocks->starts, out_block->offset, 0));
    return set_mark(&free_blocks->ends, out_block->offset + out_block->bytes, 0);
}

/* ---- calls ---- */

gantry_status_t gantry__free_blocks_take(gantry__free_blocks_t *free_blocks, uint64_t bytes,
                                         bool *out_found, uint64_t *out_offset) {
    uint32_t best = 0, at = free_blocks->root;
    while (at) {
        const bool is_small = free_blocks->blocks[at - 1].bytes < bytes;
        if (!is_small) best = at;
        at = is_small ? free_blocks->blocks[at - 1].right : free_blocks->blocks[at - 1].left;
    }
    *out_found = best != 0;
    if (!best) return GANTRY_OK;
    block_t taken;
    GANTRY__TRY(remove_free_block(free_blocks, best, &taken));
    *out_offset = taken.offset;
    return add_free_block(free_blocks, taken.offset + bytes, taken.bytes - bytes);
}

gantry_status_t gantry__free_blocks_take_last(gantry__free_blocks_t *free_blocks, uint64_t end,
                                              uint64_t *out_offset) {
    uint32_t last = 0;
    block_t taken;
    *out_offset = end;
    GANTRY__TRY(get_mark(&free_blocks->ends, end, &last));
    if (!last) return GANTRY_OK;
    GANTRY__TRY(remove_free_block(free_blocks, last, &taken));
    *out_offset = taken.offset;
    return GANTRY_OK;
}

gantry_status_t gantry__free_blocks_give(gantry__free_blocks_t *free_blocks, uint64_t offset,
                                         uint64_t bytes) {
    uint32_t left = 0, right = 0;
    block_t joined;
    GANTRY__TRY(get_mark(&free_blocks->ends, offset, &left));
    if (left) {
        GANTRY__TRY(remove_free_block(free_blocks, left, &joined));
        offset = joined.offset;
        bytes += joined.bytes;
    }
    GANTRY__TRY(get_mark(&free_blocks->starts, offset + bytes, &right));
    if (right) {
        GANTRY__TRY(remove_free_block(free_blocks, right, &joined));
        bytes += joined.bytes;
    }
    return add_free_block(free_blocks, offset, bytes);
}
