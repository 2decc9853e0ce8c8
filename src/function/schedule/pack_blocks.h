/* SPDX-License-Identifier: Apache-2.0 */
/* Packs blocks whose times are all known into little memory; it works on numbers only. It finds
 * what a pass in the order of time cannot, and takes a time that grows with the square of the
 * count.
 *
 * Owner: the blocks are the caller's. Threads: thread-safe for different blocks. */
#ifndef GANTRY_FUNCTION_PACK_BLOCKS_H
#define GANTRY_FUNCTION_PACK_BLOCKS_H

#include <gantry/status.h>

#include "base/heap.h"

typedef struct gantry__packed_t {
    uint64_t bytes;
    uint64_t offset;      /* the result */
    uint64_t tried;       /* an offset of the packer's own */
    uint32_t first, last; /* actions, in the order of time */
    uint32_t lane;        /* blocks of other lanes are never in the same place */
    uint32_t number;      /* the caller's */
} gantry__packed_t;

/* Gives each block an offset, such that no two that live at a time touch. Stops when all take at
 * most `goal` bytes, else after some tries. The order of the blocks changes. *out_bytes: of all. */
gantry_status_t gantry__pack_blocks(const gantry__heap_t *heap, gantry__packed_t *blocks,
                                    size_t count, uint64_t goal, uint64_t *out_bytes);

#endif
