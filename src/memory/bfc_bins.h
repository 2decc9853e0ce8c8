/* SPDX-License-Identifier: Apache-2.0 */
/* Index of the free chunks of one BFC: finds the smallest that fits, and among equal ones the first
 * in memory.
 *
 * It does not split, merge or count; it knows only bytes and order of a chunk and its tree links. A
 * zero-filled index is empty.
 *
 * Owner: the index owns no memory, because the links are in the chunks. Threads: externally
 * synchronised. */
#ifndef GANTRY_MEMORY_BFC_BINS_H
#define GANTRY_MEMORY_BFC_BINS_H

#include <stdint.h>

#include "memory/bfc_chunk.h"

/* Row r holds the chunks of 256 << r up to, not including, 256 << (r + 1) bytes; a row is cut
 * into equal classes. */
#define GANTRY__BFC_ROWS 56
#define GANTRY__BFC_CLASSES 16

typedef struct gantry__bfc_bins_t {
    uint64_t rows;                      /* bit r: row r holds a chunk */
    uint16_t classes[GANTRY__BFC_ROWS]; /* bit c: class c of that row holds a chunk */
    gantry__bfc_chunk_t *roots[GANTRY__BFC_ROWS * GANTRY__BFC_CLASSES];
    uint32_t drawn; /* priorities drawn so far */
} gantry__bfc_bins_t;

/* The place of a size in roots. bytes must be at least 256. */
unsigned gantry__bfc_bins_class(uint64_t bytes);

/* A priority for a new chunk struct, which keeps it for life. */
uint32_t gantry__bfc_bins_draw(gantry__bfc_bins_t *bins);

/* chunk is in no index; its bytes, order and priority stay unchanged until it is removed. */
void gantry__bfc_bins_insert(gantry__bfc_bins_t *bins, gantry__bfc_chunk_t *chunk);
void gantry__bfc_bins_remove(gantry__bfc_bins_t *bins, gantry__bfc_chunk_t *chunk);

/* The first by (bytes, order) with at least this many bytes (>= 256); NULL when none. Leaves it
 * in the index. */
gantry__bfc_chunk_t *gantry__bfc_bins_find(const gantry__bfc_bins_t *bins, uint64_t bytes);
/* The next chunk in the same class, NULL at its end. Chunks of equal bytes are always in one
 * class. */
gantry__bfc_chunk_t *gantry__bfc_bins_next(const gantry__bfc_chunk_t *chunk);
/* Bytes of the largest chunk; 0 when empty. */
uint64_t gantry__bfc_bins_largest(const gantry__bfc_bins_t *bins);

#endif
