/* SPDX-License-Identifier: Apache-2.0 */
/* The index of free chunks.
 *
 * A size belongs to a row by its highest bit, and to one of 16 classes by the next four bits, so
 * that every size of a class is smaller than every size of a later class. Sizes up to 8 KiB have a
 * class each. Two levels of bit masks find the first class that is not empty:
 *
 *     rows     ..0100010   (bit r: sizes 256 << r and up)
 *     classes  row 1: 0000000100000000    row 5: 1000000000000001
 *     roots    each class a treap by (bytes, order)
 *
 * Invariants: a bit is set exactly when its row or class is not empty. A treap is a search tree by
 * (bytes, order), and a heap by priority; the priority is drawn when the chunk struct is made, so
 * that the expected depth is logarithmic for every sequence of requests. Together: find returns the
 * least (bytes, order) that fits, as a single tree over all chunks would.
 *
 * Cost: with n chunks in the class, find and insert visit O(log n) expected, remove O(1) expected;
 * a larger class's first chunk is at the end of the left spine. Source: two-level masks: Masmano,
 * Ripoll, Crespo, Real, "TLSF: a new dynamic memory allocator for real-time systems", 2004. Treap:
 * Seidel, Aragon, "Randomized search trees", 1996; unzipping and zipping paths instead of
 * rotations: Tarjan, Levy, Timmel, "Zip trees", 2021. */
#include "memory/bfc_bins.h"

#include <stddef.h>

typedef gantry__bfc_chunk_t chunk_t;

/* The highest bit of mask, which must not be 0. */
static unsigned highest_bit(uint64_t mask) {
#if defined(__GNUC__)
    return 63u - (unsigned)__builtin_clzll(mask);
#else
    unsigned bit = 0;
    while (mask >>= 1) bit++;
    return bit;
#endif
}

static unsigned lowest_bit(uint64_t mask) { return highest_bit(mask & (~mask + 1)); }

static uint64_t bits_above(unsigned bit) { return ~((UINT64_C(2) << bit) - 1); }

static bool is_before(const chunk_t *a, const chunk_t *b) {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->order < b->order;
}

unsigned gantry__bfc_bins_class(uint64_t bytes) {
    uint64_t units = bytes >> 8;
    unsigned row = highest_bit(units);
    return row * GANTRY__BFC_CLASSES +
           (unsigned)((units * GANTRY__BFC_CLASSES >> row) % GANTRY__BFC_CLASSES);
}

/* The n-th value of a fixed pseudo-random sequence: a program makes the same trees in every run. */
uint32_t gantry__bfc_bins_draw(gantry__bfc_bins_t *bins) {
    uint32_t x = ++bins->drawn * 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

static void mark_class(gantry__bfc_bins_t *bins, unsigned bin_class) {
    unsigned row = bin_class / GANTRY__BFC_CLASSES;
    bins->classes[row] = (uint16_t)(bins->classes[row] | 1u << bin_class % GANTRY__BFC_CLASSES);
    bins->rows |= UINT64_C(1) << row;
}

static void clear_class(gantry__bfc_bins_t *bins, unsigned bin_class) {
    unsigned row = bin_class / GANTRY__BFC_CLASSES;
    bins->classes[row] = (uint16_t)(bins->classes[row] & ~(1u << bin_class % GANTRY__BFC_CLASSES));
    if (bins->classes[row] == 0) bins->rows &= ~(UINT64_C(1) << row);
}

void gantry__bfc_bins_insert(gantry__bfc_bins_t *bins, chunk_t *chunk) {
    unsigned bin_class = gantry__bfc_bins_class(chunk->bytes);
    chunk->bin_class = (uint16_t)bin_class;
    chunk_t **link = &bins->roots[bin_class];
    if (!*link) mark_class(bins, bin_class);
    chunk_t *up = NULL;
    while (*link && (*link)->priority >= chunk->priority) {
        up = *link;
        link = is_before(chunk, up) ? &up->left : &up->right;
    }
    chunk_t *rest = *link;
    *link = chunk;
    chunk->up = up;
    /* unzip the subtree: smaller nodes go to the left of the chunk, larger ones to its right */
    chunk_t **smaller = &chunk->left, **larger = &chunk->right;
    chunk_t *smaller_up = chunk, *larger_up = chunk;
    while (rest) {
        if (is_before(rest, chunk)) {
            *smaller = rest;
            rest->up = smaller_up;
            smaller_up = rest;
            smaller = &rest->right;
        } else {
            *larger = rest;
            rest->up = larger_up;
            larger_up = rest;
            larger = &rest->left;
        }
        rest = rest == smaller_up ? rest->right : rest->left;
    }
    *smaller = NULL;
    *larger = NULL;
}

void gantry__bfc_bins_remove(gantry__bfc_bins_t *bins, chunk_t *chunk) {
    chunk_t *up = chunk->up;
    chunk_t **link = !up                 ? &bins->roots[chunk->bin_class]
                     : up->left == chunk ? &up->left
                                         : &up->right;
    chunk_t *smaller = chunk->left, *larger = chunk->right;
    while (smaller && larger) { /* zip both subtrees into one */
        if (smaller->priority >= larger->priority) {
            *link = smaller;
            smaller->up = up;
            up = smaller;
            link = &up->right;
            smaller = *link;
        } else {
            *link = larger;
            larger->up = up;
            up = larger;
            link = &up->left;
            larger = *link;
        }
    }
    chunk_t *rest = smaller ? smaller : larger;
    *link = rest;
    if (rest) {
        rest->up = up;
    } else if (!bins->roots[chunk->bin_class]) {
        clear_class(bins, chunk->bin_class);
    }
}

static chunk_t *leftmost(chunk_t *chunk) {
    while (chunk->left) chunk = chunk->left;
    return chunk;
}

/* The first of a tree with at least this many bytes. */
static chunk_t *lower_bound(chunk_t *chunk, uint64_t bytes) {
    chunk_t *best = NULL;
    while (chunk) {
        if (chunk->bytes >= bytes) {
            best = chunk;
            chunk = chunk->left;
        } else {
            chunk = chunk->right;
        }
    }
    return best;
}

chunk_t *gantry__bfc_bins_find(const gantry__bfc_bins_t *bins, uint64_t bytes) {
    unsigned bin_class = gantry__bfc_bins_class(bytes);
    chunk_t *chunk = lower_bound(bins->roots[bin_class], bytes);
    if (chunk) return chunk;
    unsigned row = bin_class / GANTRY__BFC_CLASSES;
    uint64_t classes = bins->classes[row] & bits_above(bin_class % GANTRY__BFC_CLASSES);
    if (classes == 0) {
        uint64_t rows = bins->rows & bits_above(row);
        if (rows == 0) return NULL;
        row = lowest_bit(rows);
        classes = bins->classes[row];
    }
    return leftmost(bins->roots[row * GANTRY__BFC_CLASSES + lowest_bit(classes)]);
}

chunk_t *gantry__bfc_bins_next(const chunk_t *chunk) {
    if (chunk->right) return leftmost(chunk->right);
    while (chunk->up && chunk->up->right == chunk) chunk = chunk->up;
    return chunk->up;
}

uint64_t gantry__bfc_bins_largest(const gantry__bfc_bins_t *bins) {
    if (bins->rows == 0) return 0;
    unsigned row = highest_bit(bins->rows);
    const chunk_t *chunk = bins->roots[row * GANTRY__BFC_CLASSES + highest_bit(bins->classes[row])];
    while (chunk->right) chunk = chunk->right;
    return chunk->bytes;
}
