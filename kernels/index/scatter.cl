/* SPDX-License-Identifier: Apache-2.0 */
/* Where indices point: the slices that GatherNd takes, the elements that GatherElements takes, and
 * the keys by which updates are put in order for the ops that scatter and the segment ops. A key is
 * the number of the slice that an update goes to, or NO_SLICE: it goes nowhere. After a stable sort
 * by key (sort.cl) all updates of a slice are neighbours, in their order, so that one item per
 * element of a slice can walk them, without atomics, and with the same bits everywhere. GPUs count
 * many updates in place of the sort (buckets.cl).
 *
 *     indices   2 0 2 1        keys, sorted   0 1 2 2        the item at the first 2 does slice 2
 *                              positions      1 3 0 2
 *
 * Processors leave updates in their own order where the types allow it (segment.cl).
 *
 * gather_nd, gather_elements, scatter_last and scatter_direct are made by element size. */
#ifndef GANTRY_SCATTER_PARAMETERS
#define GANTRY_SCATTER_PARAMETERS

/* Rows of `depth` indices, which name slices of inner elements in a tensor that begins with
 * dims. */
typedef struct gantry__slices_t {
    gantry__work_t work;
    GANTRY_LONG depth, inner;
    GANTRY_LONG dims[8];
    GANTRY_LONG is_wide;                  /* whether indices have 64 bits */
    GANTRY_LONG ignores_bad;              /* whether rows may be outside the tensor */
    GANTRY_LONG count;                    /* rows, for slice_keys_run */
    GANTRY_LONG input;                    /* the indices' place among the op's inputs */
    GANTRY_LONG batch_rows, batch_slices; /* of each batch, for gather_nd; 0: there is one */
} gantry__slices_t;

/* Ids in [0, limit). The segments of a row of per_row ids follow those of the row before. */
typedef struct gantry__segments_t {
    gantry__work_t work;
    GANTRY_LONG limit, per_row;
    GANTRY_LONG count; /* ids, for segment_keys_run */
    GANTRY_LONG is_wide;
    GANTRY_LONG drops_negative, drops_large; /* drops ids outside [0, limit), else faults them */
    GANTRY_LONG is_sorted;                   /* a smaller id after a larger one is a fault */
    GANTRY_LONG input;
} gantry__segments_t;

/* Indices of elements along one axis of a tensor: an index takes the place of its own position
 * along that axis. Dimensions are merged where they may be; of the axis the stride is 0. */
typedef struct gantry__elements_t {
    gantry__work_t work;
    GANTRY_LONG rank;
    GANTRY_LONG sizes[8], strides[8]; /* of the indices, and of the tensor along their dimensions */
    GANTRY_LONG limit, axis_stride;   /* the tensor's size and stride along the axis */
    GANTRY_LONG is_wide, ignores_bad;
} gantry__elements_t;

#define GANTRY_KEYS_RUN 1024 /* the keys of an item on a processor */

/* `count` numbers in parts; each part has bins of its own. */
typedef struct gantry__bin_parts_t {
    gantry__work_t work;
    GANTRY_LONG count, parts, bins;
    GANTRY_LONG is_wide;
    GANTRY_LONG input;
} gantry__bin_parts_t;

/* `count` updates of `inner` elements each. */
typedef struct gantry__scatter_last_t {
    gantry__work_t work;
    GANTRY_LONG count, inner;
    GANTRY_LONG slices, rows, columns; /* boxes, only for scatter_direct (segment.cl) */
} gantry__scatter_last_t;

#endif

#ifdef GANTRY_ITEM_TEXT

/* Returns the slice that a row of indices names, or -1. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(find_slice)(GANTRY_GLOBAL const uchar *indices,
                                                   GANTRY_PARAMETERS(gantry__slices_t) p,
                                                   const GANTRY_LONG row) {
    GANTRY_LONG slice = 0;
    int is_inside = 1;

    for (GANTRY_LONG d = 0; d < p->depth; ++d) {
        const GANTRY_LONG index = GANTRY_GET_INDEX(indices, p->is_wide, row * p->depth + d);

        is_inside = is_inside && index >= 0 && index < p->dims[d];
        slice = is_inside ? slice * p->dims[d] + index : 0;
    }
    return is_inside ? slice : -1;
}

GANTRY_ITEM void GANTRY_ITEM_FN(gather_nd)(GANTRY_GLOBAL const T *params,
                                           GANTRY_GLOBAL const uchar *indices, GANTRY_GLOBAL T *out,
                                           GANTRY_PARAMETERS(gantry__slices_t) p,
                                           GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    const GANTRY_LONG row = gantry__divide_position(i, p->inner);
    const GANTRY_LONG slice = GANTRY_ITEM_FN(find_slice)(indices, p, row);
    const GANTRY_LONG first =
        p->batch_rows > 0 ? gantry__divide_position(row, p->batch_rows) * p->batch_slices : 0;

    out[i] = slice < 0 ? GANTRY_T_ZERO : params[(first + slice) * p->inner + i - row * p->inner];
    if (slice < 0 && !p->ignores_bad) {
        GANTRY_ITEM_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, p->input, row);
    }
}
GANTRY_ITEMS_2_1F(gather_nd, T, uchar, T, gantry__slices_t)

GANTRY_ITEM void GANTRY_ITEM_FN(slice_keys)(GANTRY_GLOBAL const uchar *indices,
                                            GANTRY_GLOBAL uint *keys,
                                            GANTRY_PARAMETERS(gantry__slices_t) p,
                                            GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    const GANTRY_LONG slice = GANTRY_ITEM_FN(find_slice)(indices, p, i);

    keys[i] = slice < 0 ? GANTRY_NO_SLICE : (uint)slice;
    if (slice < 0 && !p->ignores_bad) {
        GANTRY_ITEM_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, p->input, i);
    }
}
GANTRY_ITEMS_1_1F(slice_keys, uchar, uint, gantry__slices_t)

/* Returns the place of the element that index i names, or -1. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(find_element)(GANTRY_GLOBAL const uchar *indices,
                                                     GANTRY_PARAMETERS(gantry__elements_t) p,
                                                     const GANTRY_LONG i) {
    const GANTRY_LONG index = GANTRY_GET_INDEX(indices, p->is_wide, i);
    GANTRY_LONG rest = i, place;

    if (index < 0 || index >= p->limit) {
        return -1;
    }
    place = index * p->axis_stride;
    for (GANTRY_LONG d = p->rank - 1; d > 0; --d) {
        const GANTRY_LONG outer = gantry__divide_position(rest, p->sizes[d]);

        place += (rest - outer * p->sizes[d]) * p->strides[d];
        rest = outer;
    }
    return place + rest * p->strides[0];
}

GANTRY_ITEM void GANTRY_ITEM_FN(gather_elements)(GANTRY_GLOBAL const T *data,
                                                 GANTRY_GLOBAL const uchar *indices,
                                                 GANTRY_GLOBAL T *out,
                                                 GANTRY_PARAMETERS(gantry__elements_t) p,
                                                 GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    const GANTRY_LONG place = GANTRY_ITEM_FN(find_element)(indices, p, i);

    out[i] = place < 0 ? GANTRY_T_ZERO : data[place];
    if (place < 0 && !p->ignores_bad) {
        GANTRY_ITEM_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, i);
    }
}
GANTRY_ITEMS_2_1F(gather_elements, T, uchar, T, gantry__elements_t)

GANTRY_ITEM void GANTRY_ITEM_FN(element_keys)(GANTRY_GLOBAL const uchar *indices,
                                              GANTRY_GLOBAL uint *keys,
                                              GANTRY_PARAMETERS(gantry__elements_t) p,
                                              GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    const GANTRY_LONG place = GANTRY_ITEM_FN(find_element)(indices, p, i);

    keys[i] = place < 0 ? GANTRY_NO_SLICE : (uint)place;
    if (place < 0 && !p->ignores_bad) {
        GANTRY_ITEM_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, i);
    }
}
GANTRY_ITEMS_1_1F(element_keys, uchar, uint, gantry__elements_t)

GANTRY_ITEM void GANTRY_ITEM_FN(segment_keys)(GANTRY_GLOBAL const uchar *ids,
                                              GANTRY_GLOBAL uint *keys,
                                              GANTRY_PARAMETERS(gantry__segments_t) p,
                                              GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    const GANTRY_LONG id = GANTRY_GET_INDEX(ids, p->is_wide, i);
    const int is_outside = id < 0 || id >= p->limit;
    const int is_dropped = id < 0 ? p->drops_negative != 0 : p->drops_large != 0;
    const int falls = p->is_sorted && i > 0 && id < GANTRY_GET_INDEX(ids, p->is_wide, i - 1);

    keys[i] = is_outside || falls ? GANTRY_NO_SLICE
                                  : (uint)(gantry__divide_position(i, p->per_row) * p->limit + id);
    if (falls || (is_outside && !is_dropped)) {
        GANTRY_ITEM_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, p->input, i);
    }
}
GANTRY_ITEMS_1_1F(segment_keys, uchar, uint, gantry__segments_t)

#if !defined(GANTRY_SERIAL) || GANTRY_SERIAL
/* Writes keys that equal their indices, for indices in [0, limit). Returns not 0 if one is
 * outside. */
#define GANTRY_PLAIN_KEYS(name, X)                                                                 \
    GANTRY_ITEM int GANTRY_ITEM_FN(name)(GANTRY_GLOBAL const X *indices, GANTRY_GLOBAL uint *keys, \
                                         const GANTRY_LONG count, const GANTRY_LONG limit) {       \
        uint bad = 0;                                                                              \
                                                                                                   \
        for (GANTRY_LONG e = 0; e < count; ++e) {                                                  \
            const uint is_bad = (ulong)(GANTRY_LONG)indices[e] >= (ulong)limit;                    \
                                                                                                   \
            keys[e] = is_bad ? GANTRY_NO_SLICE : (uint)indices[e];                                 \
            bad |= is_bad;                                                                         \
        }                                                                                          \
        return (int)bad;                                                                           \
    }
GANTRY_PLAIN_KEYS(plain_keys_int, int)
GANTRY_PLAIN_KEYS(plain_keys_long, GANTRY_LONG)
#undef GANTRY_PLAIN_KEYS

GANTRY_ITEM int GANTRY_ITEM_FN(plain_keys)(GANTRY_GLOBAL const uchar *indices,
                                           const GANTRY_LONG is_wide, GANTRY_GLOBAL uint *keys,
                                           const GANTRY_LONG begin, const GANTRY_LONG end,
                                           const GANTRY_LONG limit) {
    return is_wide
               ? GANTRY_ITEM_FN(plain_keys_long)((GANTRY_GLOBAL const GANTRY_LONG *)indices + begin,
                                                 keys + begin, end - begin, limit)
               : GANTRY_ITEM_FN(plain_keys_int)((GANTRY_GLOBAL const int *)indices + begin,
                                                keys + begin, end - begin, limit);
}

/* slice_keys and segment_keys for processors, where an item does a run of keys. The fast loop is
 * for runs in which every key equals its index. */
GANTRY_ITEM void GANTRY_ITEM_FN(slice_keys_run)(GANTRY_GLOBAL const uchar *indices,
                                                GANTRY_GLOBAL uint *keys,
                                                GANTRY_PARAMETERS(gantry__slices_t) p,
                                                GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    const GANTRY_LONG begin = i * GANTRY_KEYS_RUN, most = begin + GANTRY_KEYS_RUN;
    const GANTRY_LONG end = most < p->count ? most : p->count;

    if (p->depth == 1 &&
        !GANTRY_ITEM_FN(plain_keys)(indices, p->is_wide, keys, begin, end, p->dims[0])) {
        return;
    }
    for (GANTRY_LONG e = begin; e < end; ++e) {
        GANTRY_ITEM_FN(slice_keys)(indices, keys, p, fault, e);
    }
}
GANTRY_ITEMS_1_1F(slice_keys_run, uchar, uint, gantry__slices_t)

GANTRY_ITEM void GANTRY_ITEM_FN(segment_keys_run)(GANTRY_GLOBAL const uchar *ids,
                                                  GANTRY_GLOBAL uint *keys,
                                                  GANTRY_PARAMETERS(gantry__segments_t) p,
                                                  GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    const GANTRY_LONG begin = i * GANTRY_KEYS_RUN, most = begin + GANTRY_KEYS_RUN;
    const GANTRY_LONG end = most < p->count ? most : p->count;

    if (p->per_row == p->count && !p->is_sorted &&
        !GANTRY_ITEM_FN(plain_keys)(ids, p->is_wide, keys, begin, end, p->limit)) {
        return;
    }
    for (GANTRY_LONG e = begin; e < end; ++e) {
        GANTRY_ITEM_FN(segment_keys)(ids, keys, p, fault, e);
    }
}
GANTRY_ITEMS_1_1F(segment_keys_run, uchar, uint, gantry__segments_t)

/* Counts numbers in two tables, by turns, so that equal neighbours do not wait for each other.
 * Returns the position of the first negative number, or -1. Numbers beyond the bins are not
 * counted. */
#define GANTRY_COUNT_NUMBERS(name, X)                                                   \
    GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(name)(                                       \
        GANTRY_GLOBAL const X *numbers, const GANTRY_LONG begin, const GANTRY_LONG end, \
        GANTRY_GLOBAL uint *counts, const GANTRY_LONG bins) {                           \
        GANTRY_GLOBAL uint *others = counts + bins;                                     \
        GANTRY_LONG bad = -1, e = begin;                                                \
                                                                                        \
        for (; e + 1 < end; e += 2) {                                                   \
            const GANTRY_LONG number = (GANTRY_LONG)numbers[e],                         \
                              next = (GANTRY_LONG)numbers[e + 1];                       \
                                                                                        \
            if ((ulong)number < (ulong)bins) {                                          \
                counts[number]++;                                                       \
            } else if (number < 0 && bad < 0) {                                         \
                bad = e;                                                                \
            }                                                                           \
            if ((ulong)next < (ulong)bins) {                                            \
                others[next]++;                                                         \
            } else if (next < 0 && bad < 0) {                                           \
                bad = e + 1;                                                            \
            }                                                                           \
        }                                                                               \
        if (e < end && (ulong)(GANTRY_LONG)numbers[e] < (ulong)bins) {                  \
            counts[numbers[e]]++;                                                       \
        } else if (e < end && (GANTRY_LONG)numbers[e] < 0 && bad < 0) {                 \
            bad = e;                                                                    \
        }                                                                               \
        return bad;                                                                     \
    }
GANTRY_COUNT_NUMBERS(count_ints, int)
GANTRY_COUNT_NUMBERS(count_longs, GANTRY_LONG)
#undef GANTRY_COUNT_NUMBERS

/* An item counts a part of the numbers, in two tables. */
GANTRY_ITEM void GANTRY_ITEM_FN(bin_parts)(GANTRY_GLOBAL const uchar *numbers,
                                           GANTRY_GLOBAL uint *counts,
                                           GANTRY_PARAMETERS(gantry__bin_parts_t) p,
                                           GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    const GANTRY_LONG begin = p->count * i / p->parts, end = p->count * (i + 1) / p->parts,
                      bins = p->bins;
    GANTRY_GLOBAL uint *own = counts + i * 2 * bins;
    GANTRY_LONG bad;

    for (GANTRY_LONG bin = 0; bin < 2 * bins; ++bin) {
        own[bin] = 0;
    }
    bad = p->is_wide ? GANTRY_ITEM_FN(count_longs)((GANTRY_GLOBAL const GANTRY_LONG *)numbers,
                                                   begin, end, own, bins)
                     : GANTRY_ITEM_FN(count_ints)((GANTRY_GLOBAL const int *)numbers, begin, end,
                                                  own, bins);
    if (bad >= 0) {
        GANTRY_ITEM_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, p->input, bad);
    }
}
GANTRY_ITEMS_1_1F(bin_parts, uchar, uint, gantry__bin_parts_t)
#endif

/* Keeps the last of a slice's updates. */
GANTRY_ITEM void GANTRY_ITEM_FN(scatter_last)(GANTRY_GLOBAL const uint *keys,
                                              GANTRY_GLOBAL const int *positions,
                                              GANTRY_GLOBAL const T *updates, GANTRY_GLOBAL T *out,
                                              GANTRY_PARAMETERS(gantry__scatter_last_t) p,
                                              const GANTRY_LONG i) {
    const GANTRY_LONG at = gantry__divide_position(i, p->inner), e = i - at * p->inner;
    const uint key = keys[at];

    if (key != GANTRY_NO_SLICE && (at + 1 == p->count || keys[at + 1] != key)) {
        out[(GANTRY_LONG)key * p->inner + e] = updates[(GANTRY_LONG)positions[at] * p->inner + e];
    }
}
GANTRY_ITEMS_3_1(scatter_last, uint, int, T, T, gantry__scatter_last_t)

#if !defined(GANTRY_SERIAL) || GANTRY_SERIAL
/* The same for processors, where updates are in their own order, one after the other. */
GANTRY_ITEM void GANTRY_ITEM_FN(scatter_direct)(GANTRY_GLOBAL const uint *keys,
                                                GANTRY_GLOBAL const T *updates,
                                                GANTRY_GLOBAL T *out,
                                                GANTRY_PARAMETERS(gantry__scatter_last_t) p,
                                                const GANTRY_LONG i) {
    const GANTRY_LONG row = i / p->columns, column = i - row * p->columns;
    const uint first = (uint)(p->slices * row / p->rows);
    const uint most = (uint)(p->slices * (row + 1) / p->rows) - first;
    const GANTRY_LONG begin = p->inner * column / p->columns,
                      end = p->inner * (column + 1) / p->columns;

    uint picked[GANTRY_SELECT_ROOM];

    for (GANTRY_LONG block = 0; block < p->count; block += GANTRY_SELECT_BLOCK) {
        const GANTRY_LONG rest = p->count - block;
        const uint some = rest < GANTRY_SELECT_BLOCK ? (uint)rest : GANTRY_SELECT_BLOCK;
        uint picks;

        GANTRY_SELECT_KEYS(keys + block, some, first, most, picked, picks);
        for (uint k = 0; k < picks; ++k) {
            const GANTRY_LONG at = block + picked[k];
            GANTRY_GLOBAL const T *from = updates + at * p->inner;
            GANTRY_GLOBAL T *to = out + (GANTRY_LONG)keys[at] * p->inner;

            for (GANTRY_LONG e = begin; e < end; ++e) {
                to[e] = from[e];
            }
        }
    }
}
GANTRY_ITEMS_2_1(scatter_direct, uint, T, T, gantry__scatter_last_t)
#endif

#endif
