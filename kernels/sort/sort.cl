/* SPDX-License-Identifier: Apache-2.0 */
/* Stable merge sort of rows for devices with many work-items, and searches in sorted rows, by
 * element size. Processors sort by radix.cl. Keys of elements (sort_key.cl) are sorted with their
 * positions:
 *
 *     sort_runs     an item sorts a run of 8 elements by exchanges of neighbours, which keep equal
 *                   keys in order
 *     sort_merge    merges pairs of sorted runs into runs of twice the length; an item writes 16
 *                   elements
 *     sort_tile, sort_merge_tile   the same by groups, which sort runs of 2048 (sort_tiles.cl)
 *
 *     run a   a0 a1 a2 a3
 *     run b   b0 b1 b2 b3
 *
 * An item that starts at output d finds how many of the first d outputs come from a: sort_split, a
 * binary search along the "merge path". It merges from there.
 *
 * Of equal keys those of a come first, so positions decide ties. A row of n takes 1 + log2(n / 8)
 * launches of n / 16 items, or 1 + log2(n / 2048) launches by tiles. If only the first k are
 * wanted, runs stop growing at k, and rows get shorter instead: by tiles 1 + log(n / 2048) launches
 * to the base 2048 / k. Source of the search: Green,
 * McColl, Bader, "GPU merge path", 2012. */
#ifndef GANTRY_SORT_PARAMETERS
#define GANTRY_SORT_PARAMETERS

#define GANTRY_SORT_RUN 8
#define GANTRY_SORT_PIECE 16
#define GANTRY_SORT_CHUNK 256 /* predictions of an item of in_top_count */

/* Rows of `length` elements with stride `inner`, and the number of runs in each. */
typedef struct gantry__sort_runs_t {
    gantry__work_t work;
    gantry__order_t order;
    GANTRY_LONG length, inner, runs;
} gantry__sort_runs_t;

/* For sort_tiles.cl. Rows of `length` elements with stride `inner`, or of pairs, in tiles: of one
 * row each, or, if a row is one tile, of 2048 / room rows, which have `room` places there, a power
 * of 2. The first `kept` of each tile and row are written: to rows of out_length pairs, or if there
 * is one tile to the result. */
typedef struct gantry__sort_tile_t {
    gantry__order_t order;
    GANTRY_LONG rows, length, inner;
    GANTRY_LONG tiles, room;
    GANTRY_LONG kept, out_length;
    GANTRY_LONG takes_pairs, gives_pairs;
    GANTRY_LONG x_length;                /* of the rows of elements */
    GANTRY_LONG has_values, index_bytes; /* 0: no such result */
} gantry__sort_tile_t;

/* From rows of `length` in runs of `width` to rows of out_length in runs of out_width, which must
 * be twice the width, or the same. */
typedef struct gantry__sort_merge_t {
    gantry__work_t work;
    GANTRY_LONG length, width, out_length, out_width, pieces;
} gantry__sort_merge_t;

/* Takes the first `kept` of each row. Positions have rows of `stride`; elements have rows of
 * `length` with stride `inner`. */
typedef struct gantry__sort_take_t {
    gantry__work_t work;
    GANTRY_LONG kept, inner, length, stride;
    GANTRY_LONG is_wide; /* whether indices have 64 bits */
} gantry__sort_take_t;

/* Rows of `length` elements, in which the `values` values of the row are searched. */
typedef struct gantry__sort_bound_t {
    gantry__work_t work;
    gantry__order_t order;
    GANTRY_LONG length, values;
    GANTRY_LONG is_upper;
    GANTRY_LONG is_wide;
} gantry__sort_bound_t;

typedef struct gantry__in_top_t {
    gantry__work_t work;
    gantry__order_t order;
    GANTRY_LONG classes, chunks, k;
    GANTRY_LONG is_wide;
} gantry__in_top_t;

#endif

#ifdef GANTRY_ITEM_TEXT

#define K GANTRY_KEY_OF_T

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__) || defined(GANTRY_ALL_ITEMS)

/* Sorts an item's own keys by exchanges of neighbours. */
#define GANTRY_SORT_OWN(key, place)                                                        \
    GANTRY_ITEM_UNROLLED for (int round = 0; round < GANTRY_SORT_RUN; ++round) {           \
        GANTRY_ITEM_UNROLLED for (int e = round & 1; e + 1 < GANTRY_SORT_RUN; e += 2) {    \
            const int swaps = key[e] > key[e + 1];                                         \
            const K low = swaps ? key[e + 1] : key[e], high = swaps ? key[e] : key[e + 1]; \
            const int first = swaps ? place[e + 1] : place[e],                             \
                      second = swaps ? place[e] : place[e + 1];                            \
            key[e] = low;                                                                  \
            key[e + 1] = high;                                                             \
            place[e] = first;                                                              \
            place[e + 1] = second;                                                         \
        }                                                                                  \
    }

GANTRY_ITEM void GANTRY_ITEM_FN(sort_runs)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL K *keys,
                                           GANTRY_GLOBAL int *positions,
                                           GANTRY_PARAMETERS(gantry__sort_runs_t) p,
                                           const GANTRY_LONG i) {
    const GANTRY_LONG row = gantry__divide_position(i, p->runs),
                      begin = (i - row * p->runs) * GANTRY_SORT_RUN;
    const GANTRY_LONG outer = gantry__divide_position(row, p->inner), rest = p->length - begin;
    const int count = rest < GANTRY_SORT_RUN ? (int)rest : GANTRY_SORT_RUN;
    GANTRY_GLOBAL const T *in = x + (outer * p->length + begin) * p->inner + row - outer * p->inner;
    GANTRY_GLOBAL K *out_keys = keys + row * p->length + begin;
    GANTRY_GLOBAL int *out_positions = positions + row * p->length + begin;
    K key[GANTRY_SORT_RUN];
    int place[GANTRY_SORT_RUN];

    GANTRY_ITEM_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) {
        key[e] = e < count ? GANTRY_ITEM_FN(sort_key)(in[e * p->inner], &p->order) : ~(K)0;
        place[e] = (int)begin + e;
    }
    GANTRY_SORT_OWN(key, place)
    GANTRY_ITEM_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) {
        if (e >= count) continue; /* a break keeps some compilers from unrolling */
        out_keys[e] = key[e];
        out_positions[e] = place[e];
    }
}
GANTRY_ITEMS_1_2(sort_runs, T, K, int, gantry__sort_runs_t)

/* Returns how many of the first `diagonal` outputs come from a, when a (a_count keys) is merged
 * with b, which must follow a in memory. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(sort_split)(GANTRY_GLOBAL const K *a,
                                                   const GANTRY_LONG a_count,
                                                   const GANTRY_LONG b_count,
                                                   const GANTRY_LONG diagonal) {
    GANTRY_GLOBAL const K *b = a + a_count;
    GANTRY_LONG low = diagonal > b_count ? diagonal - b_count : 0;
    GANTRY_LONG high = diagonal < a_count ? diagonal : a_count;

    while (low < high) {
        const GANTRY_LONG middle = (low + high) >> 1;
        const int goes_first = a[middle] <= b[diagonal - 1 - middle];

        low = goes_first ? middle + 1 : low;
        high = goes_first ? high : middle;
    }
    return low;
}

GANTRY_ITEM void GANTRY_ITEM_FN(sort_merge)(GANTRY_GLOBAL const K *keys,
                                            GANTRY_GLOBAL const int *positions,
                                            GANTRY_GLOBAL K *out_keys,
                                            GANTRY_GLOBAL int *out_positions,
                                            GANTRY_PARAMETERS(gantry__sort_merge_t) p,
                                            const GANTRY_LONG i) {
    const GANTRY_LONG row = gantry__divide_position(i, p->pieces),
                      begin = (i - row * p->pieces) * GANTRY_SORT_PIECE;
    const GANTRY_LONG pair = gantry__divide_position(begin, p->out_width),
                      diagonal = begin - pair * p->out_width;
    const GANTRY_LONG start = pair * 2 * p->width, rest = p->length - start;
    const GANTRY_LONG a_count = rest < p->width ? rest : p->width;
    const GANTRY_LONG b_count = rest < 2 * p->width ? rest - a_count : p->width;
    GANTRY_GLOBAL const K *a = keys + row * p->length + start;
    GANTRY_GLOBAL const int *places = positions + row * p->length + start;
    const GANTRY_LONG out = row * p->out_length + begin, left = p->out_length - begin;
    const int count = left < GANTRY_SORT_PIECE ? (int)left : GANTRY_SORT_PIECE;
    GANTRY_LONG at_a = GANTRY_ITEM_FN(sort_split)(a, a_count, b_count, diagonal);
    GANTRY_LONG at_b = a_count + diagonal - at_a;

    for (int e = 0; e < count; ++e) {
        const int takes_a = at_a < a_count && (at_b >= a_count + b_count || a[at_a] <= a[at_b]);
        const GANTRY_LONG from = takes_a ? at_a : at_b;

        out_keys[out + e] = a[from];
        out_positions[out + e] = places[from];
        at_a += takes_a;
        at_b += !takes_a;
    }
}
GANTRY_ITEMS_2_2(sort_merge, K, int, K, int, gantry__sort_merge_t)

#else /* C sorts by radix.cl, except in this file's own test */

GANTRY_NO_ITEM(sort_runs)
GANTRY_NO_ITEM(sort_merge)

#endif

/* Finds, for element i of an output whose rows have stride `inner`, its position in its row, and
 * its column e. */
#define GANTRY_FIND_POSITION                                                                  \
    const GANTRY_LONG place = gantry__divide_position(i, p->inner), e = i - place * p->inner; \
    const GANTRY_LONG outer = gantry__divide_position(place, p->kept);                        \
    const GANTRY_LONG position =                                                              \
        positions[(outer * p->inner + e) * p->stride + place - outer * p->kept];

GANTRY_ITEM void GANTRY_ITEM_FN(sort_values)(GANTRY_GLOBAL const T *x,
                                             GANTRY_GLOBAL const int *positions,
                                             GANTRY_GLOBAL T *out,
                                             GANTRY_PARAMETERS(gantry__sort_take_t) p,
                                             const GANTRY_LONG i) {
    GANTRY_FIND_POSITION
    out[i] = x[(outer * p->length + position) * p->inner + e];
}
GANTRY_ITEMS_2_1(sort_values, T, int, T, gantry__sort_take_t)

GANTRY_ITEM void GANTRY_ITEM_FN(sort_indices)(GANTRY_GLOBAL const int *positions,
                                              GANTRY_GLOBAL uchar *out,
                                              GANTRY_PARAMETERS(gantry__sort_take_t) p,
                                              const GANTRY_LONG i) {
    GANTRY_FIND_POSITION
    GANTRY_PUT_INDEX(out, p->is_wide, i, position);
}
GANTRY_ITEMS_1_1(sort_indices, int, uchar, gantry__sort_take_t)

/* The same for indices of 16 bits. */
GANTRY_ITEM void GANTRY_ITEM_FN(sort_short_indices)(GANTRY_GLOBAL const int *positions,
                                                    GANTRY_GLOBAL short *out,
                                                    GANTRY_PARAMETERS(gantry__sort_take_t) p,
                                                    const GANTRY_LONG i) {
    GANTRY_FIND_POSITION
    out[i] = (short)position;
}
GANTRY_ITEMS_1_1(sort_short_indices, int, short, gantry__sort_take_t)

/* The first place at which the value, or (is_upper) a larger one, could be inserted. Nothing is
 * smaller or larger than NaN. */
GANTRY_ITEM void GANTRY_ITEM_FN(sort_bound)(GANTRY_GLOBAL const T *sorted,
                                            GANTRY_GLOBAL const T *values, GANTRY_GLOBAL uchar *out,
                                            GANTRY_PARAMETERS(gantry__sort_bound_t) p,
                                            const GANTRY_LONG i) {
    const GANTRY_LONG row = gantry__divide_position(i, p->values) * p->length;
    const K value = GANTRY_ITEM_FN(sort_key)(values[i], &p->order);
    GANTRY_LONG low = 0, high = p->length;

    if (GANTRY_ITEM_FN(sort_is_nan)(values[i], &p->order)) {
        low = high = p->is_upper ? p->length : 0;
    }
    while (low < high) {
        const GANTRY_LONG middle = (low + high) >> 1;
        const K key = GANTRY_ITEM_FN(sort_key)(sorted[row + middle], &p->order);
        const int is_before = key < value || (p->is_upper && key == value);

        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    GANTRY_PUT_INDEX(out, p->is_wide, i, low);
}
GANTRY_ITEMS_2_1(sort_bound, T, T, uchar, gantry__sort_bound_t)

/* Counts the predictions in a chunk of a row that are larger than the target's. The count is k if
 * one is not finite, or if the target is no class. */
GANTRY_ITEM void GANTRY_ITEM_FN(in_top_count)(GANTRY_GLOBAL const T *predictions,
                                              GANTRY_GLOBAL const uchar *targets,
                                              GANTRY_GLOBAL GANTRY_LONG *counts,
                                              GANTRY_PARAMETERS(gantry__in_top_t) p,
                                              const GANTRY_LONG i) {
    const GANTRY_LONG row = gantry__divide_position(i, p->chunks),
                      begin = (i - row * p->chunks) * GANTRY_SORT_CHUNK;
    const GANTRY_LONG end =
        begin + GANTRY_SORT_CHUNK < p->classes ? begin + GANTRY_SORT_CHUNK : p->classes;
    const GANTRY_LONG target = GANTRY_GET_INDEX(targets, p->is_wide, row);
    const int is_class = target >= 0 && target < p->classes;
    GANTRY_GLOBAL const T *in = predictions + row * p->classes;
    const gantry__order_t order = p->order;
    const K limit = GANTRY_ITEM_FN(sort_key)(in[is_class ? target : 0], &order);
    int count = 0, unsound = !is_class;

    for (GANTRY_LONG e = begin; e < end; ++e) { /* without a branch */
        unsound += ((K)in[e] & (K)~order.sign) >= (K)order.infinity;
        count += GANTRY_ITEM_FN(sort_key)(in[e], &order) > limit;
    }
    counts[i] = unsound == 0 ? count : p->k;
}
GANTRY_ITEMS_2_1(in_top_count, T, uchar, GANTRY_LONG, gantry__in_top_t)

GANTRY_ITEM void GANTRY_ITEM_FN(in_top)(GANTRY_GLOBAL const GANTRY_LONG *counts,
                                        GANTRY_GLOBAL uchar *out,
                                        GANTRY_PARAMETERS(gantry__in_top_t) p,
                                        const GANTRY_LONG i) {
    GANTRY_LONG larger = 0;

    for (GANTRY_LONG c = 0; c < p->chunks && larger < p->k; ++c) {
        larger += counts[i * p->chunks + c];
    }
    out[i] = larger < p->k;
}
GANTRY_ITEMS_1_1(in_top, GANTRY_LONG, uchar, gantry__in_top_t)

#undef GANTRY_FIND_POSITION
#undef K

#endif
