/* SPDX-License-Identifier: Apache-2.0 */
/* SegmentSum, Prod, Max and Min of long segments on GPUs in one launch, with the operations of
 * segment.cl in their order: a group of 256 items for each segment and up to 64 columns.
 *
 *     all groups   check a share of the ids each
 *     the group    finds its segment in the sorted ids, by 256 probes at once
 *     the group    loads a tile of rows into local memory, the next tile into registers meanwhile
 *     an item      of each column folds the tile's rows, from the first to the last
 *
 * The program is made for one operation, GANTRY_OPERATION. Cost: one read of the elements and ids;
 * 16 KiB of local memory. It must come after item.cl and indices.cl. */
#ifndef GANTRY_SEGMENT_TILE_PARAMETERS
#define GANTRY_SEGMENT_TILE_PARAMETERS

#define GANTRY_SEGMENT_ITEMS_OF_TILE 256
#define GANTRY_SEGMENT_TILE_BYTES 16384
enum {
    GANTRY_SEGMENT_TILE_SUM,
    GANTRY_SEGMENT_TILE_PRODUCT,
    GANTRY_SEGMENT_TILE_LARGER,
    GANTRY_SEGMENT_TILE_SMALLER
};

/* `count` rows of `inner` elements, in `segments` segments. A group has `columns` columns, a power
 * of 2, and column_groups groups have those of a segment. */
typedef struct gantry__segment_tile_t {
    GANTRY_LONG count, inner, segments;
    GANTRY_LONG columns, column_groups;
    GANTRY_LONG is_wide; /* whether ids have 64 bits */
    ulong empty;         /* the bits of a segment without rows */
} gantry__segment_tile_t;

#endif

#if defined(GANTRY_ITEM_TEXT) && !GANTRY_SERIAL && \
    (defined(__OPENCL_VERSION__) || defined(__CUDACC__))

#define GANTRY_TILE (sizeof(T) > 4 ? GANTRY_SEGMENT_TILE_BYTES / 8 : GANTRY_SEGMENT_TILE_BYTES / 4)
#define GANTRY_TILE_ITEMS GANTRY_SEGMENT_ITEMS_OF_TILE
#define GANTRY_TILE_AT_ONCE \
    ((int)(GANTRY_TILE / GANTRY_TILE_ITEMS)) /* loads of an item in flight */
#define GANTRY_FOLD_AT_ONCE 8
/* As segment.cl has it, a NaN is kept until the next number. */
#if GANTRY_OPERATION == 0
#define A U
#define GANTRY_FOLD sum + x
#elif GANTRY_OPERATION == 1
#define A U
#define GANTRY_FOLD sum *x
#elif GANTRY_OPERATION == 2
#define A C
#define GANTRY_FOLD sum > x ? sum : x
#else
#define A C
#define GANTRY_FOLD sum < x ? sum : x
#endif

/* Notes ids that are negative, beyond the last one, or smaller than the one before. */
GANTRY_FN void segment_check(GANTRY_GLOBAL const uchar *ids, const gantry__segment_tile_t *p,
                             GANTRY_GLOBAL uchar *fault) {
    for (GANTRY_LONG i = GANTRY_GLOBAL_ID(0); i < p->count; i += GANTRY_GLOBAL_SIZE(0)) {
        const GANTRY_LONG id = GANTRY_GET_INDEX(ids, p->is_wide, i);
        const GANTRY_LONG before = i > 0 ? GANTRY_GET_INDEX(ids, p->is_wide, i - 1) : 0;

        if (id < before || !GANTRY_IS_WITHIN(id, p->segments)) {
            GANTRY_ITEM_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, i);
        }
    }
}

/* A search for the first id that is not below `id`: it is in [low, high]. */
typedef struct segment_bound_t {
    GANTRY_LONG id;
    int low, high;
} segment_bound_t;

GANTRY_FN int segment_step(const segment_bound_t *bound) {
    return (bound->high - bound->low + GANTRY_TILE_ITEMS - 1) / GANTRY_TILE_ITEMS;
}

/* Whether the item's probe is below. */
GANTRY_FN uint segment_probe(const segment_bound_t *bound, GANTRY_GLOBAL const uchar *ids,
                             const GANTRY_LONG is_wide, const int item) {
    const int at = bound->low + item * segment_step(bound);

    return at < bound->high && GANTRY_GET_INDEX(ids, is_wide, at) < bound->id;
}

/* Narrows the search, of whose probes the first `below` are below. */
GANTRY_FN segment_bound_t segment_narrow(const segment_bound_t bound, const int below) {
    const int step = segment_step(&bound), end = bound.low + below * step;
    segment_bound_t out = bound;

    out.low = below == 0 ? bound.low : end - step + 1;
    out.high = below == 0 ? bound.low : end < bound.high ? end : bound.high;
    return out;
}

#define GANTRY_LOAD_TILE(begin)                                                                 \
    GANTRY_UNROLLED for (int k = 0; k < GANTRY_TILE_AT_ONCE; ++k) {                             \
        const int row = (begin) + k * (GANTRY_TILE_ITEMS / columns) + item / columns;           \
        ahead[k] = row < last.low && column < p.inner ? in[(GANTRY_LONG)row * p.inner + column] \
                                                      : GANTRY_T_ZERO;                          \
    }

GANTRY_KERNEL segment_tile(GANTRY_SPAN_IN(updates), GANTRY_SPAN_IN(ids), GANTRY_SPAN_OUT(out),
                           GANTRY_VALUE(gantry__segment_tile_t, p), GANTRY_SPAN_OUT(fault)) {
    GANTRY_TAKE(gantry__segment_tile_t, p)
    GANTRY_LOCAL_ARRAY(T, tile, GANTRY_TILE);
    GANTRY_LOCAL_ARRAY(uint, below, 2);
    const int item = (int)GANTRY_LOCAL_ID(0), columns = (int)p.columns;
    const int rows = (int)GANTRY_TILE / columns;
    const GANTRY_LONG segment = gantry__divide_position(GANTRY_GROUP_ID(0), p.column_groups);
    const GANTRY_LONG first_column = (GANTRY_GROUP_ID(0) - segment * p.column_groups) * columns;
    const GANTRY_LONG column = first_column + item % columns;
    GANTRY_GLOBAL const T *in = GANTRY_IN(T, updates);
    segment_bound_t first, last;
    T ahead[GANTRY_TILE_AT_ONCE];
    A sum = (A)GANTRY_WIDEN(GANTRY_T_ZERO);

    segment_check(GANTRY_IN(uchar, ids), &p, GANTRY_OUT(uchar, fault));
    first.id = segment;
    last.id = segment + 1;
    first.low = last.low = 0;
    first.high = last.high = (int)p.count;
    while (first.low < first.high || last.low < last.high) {
        if (item < 2) {
            below[item] = 0;
        }
        GANTRY_BARRIER();
        if (segment_probe(&first, GANTRY_IN(uchar, ids), p.is_wide, item)) {
            GANTRY_ADD(below, 1u);
        }
        if (segment_probe(&last, GANTRY_IN(uchar, ids), p.is_wide, item)) {
            GANTRY_ADD(below + 1, 1u);
        }
        GANTRY_BARRIER();
        first = segment_narrow(first, (int)below[0]);
        last = segment_narrow(last, (int)below[1]);
        GANTRY_BARRIER();
    }
    GANTRY_LOAD_TILE(first.low)
    for (int begin = first.low; begin < last.low; begin += rows) {
        const int some = last.low - begin < rows ? last.low - begin : rows;

        GANTRY_UNROLLED for (int k = 0; k < GANTRY_TILE_AT_ONCE; ++k) {
            tile[k * GANTRY_TILE_ITEMS + item] = ahead[k];
        }
        GANTRY_BARRIER();
        GANTRY_LOAD_TILE(begin + rows)
        if (item < columns) {
            int row = 0;
            if (begin == first.low) {
                sum = (A)GANTRY_WIDEN(tile[item]);
                row = 1;
            }
            for (; row + GANTRY_FOLD_AT_ONCE <= some; row += GANTRY_FOLD_AT_ONCE) {
                A read[GANTRY_FOLD_AT_ONCE];
                GANTRY_UNROLLED for (int k = 0; k < GANTRY_FOLD_AT_ONCE; ++k) {
                    read[k] = (A)GANTRY_WIDEN(tile[(row + k) * columns + item]);
                }
                GANTRY_UNROLLED for (int k = 0; k < GANTRY_FOLD_AT_ONCE; ++k) {
                    const A x = read[k];
                    sum = (GANTRY_FOLD);
                }
            }
            for (; row < some; ++row) {
                const A x = (A)GANTRY_WIDEN(tile[row * columns + item]);
                sum = (GANTRY_FOLD);
            }
        }
        GANTRY_BARRIER();
    }
    if (item < columns && column < p.inner) {
        GANTRY_OUT(T, out)
        [segment * p.inner + column] =
            first.low < last.low ? (T)GANTRY_NARROW((C)sum) : (T)GANTRY_T_OF_BITS(p.empty);
    }
}

#endif
