/* SPDX-License-Identifier: Apache-2.0 */
/* The free blocks of an arena while its memory is planned: only offsets and sizes, without memory.
 *
 * No two blocks touch. All calls take a time that grows with the logarithm of the count. Offsets
 * and sizes must be even.
 *
 * Owner: the caller ends what it began. Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_FREE_BLOCKS_H
#define GANTRY_FUNCTION_FREE_BLOCKS_H

#include <gantry/status.h>

#include "base/id_map.h"

typedef struct gantry__free_blocks_t {
    const gantry__heap_t *heap;
    struct gantry__free_block_t *blocks;
    size_t count, capacity; /* numbers of blocks; some are unused */
    /* the tree's root, and the first of the list of unused blocks; 0: none */
    uint32_t root, unused;
    gantry__id_map_t starts, ends; /* by offset + 1, the block that begins or ends there; 0: none */
} gantry__free_blocks_t;

void gantry__free_blocks_init(gantry__free_blocks_t *free_blocks, const gantry__heap_t *heap);
void gantry__free_blocks_deinit(gantry__free_blocks_t *free_blocks);

/* Takes `bytes` from the smallest block that holds them, the first of equal ones. */
gantry_status_t gantry__free_blocks_take(gantry__free_blocks_t *free_blocks, uint64_t bytes,
                                         bool *out_found, uint64_t *out_offset);
/* Takes the block that ends at `end` as a whole; *out_offset: where it begins, or end. */
gantry_status_t gantry__free_blocks_take_last(gantry__free_blocks_t *free_blocks, uint64_t end,
                                              uint64_t *out_offset);
/* Gives bytes back; neighbours merge. */
gantry_status_t gantry__free_blocks_give(gantry__free_blocks_t *free_blocks, uint64_t offset,
                                         uint64_t bytes);

#endif
