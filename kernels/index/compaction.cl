/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose data decides the length of the result: Where, Unique, UniqueWithCounts. They are built
 * for each element size.
 *
 * Three steps: count the elements that go into the result, turn the counts into places by a scan,
 * write each element to its place. The scan works on chunks of 64 numbers, level by level. An item
 * does one chunk:
 *
 *     scan_sums      counts  3 1 | 0 2 | 4      sums up to one number     4 2 4     10
 *     scan_spread    places  0 3 | 4 4 | 6      and down again            0 4 6
 *
 * On GPUs one group does the last levels of the scan, from scan_group's on.
 *
 * Unique is by a hash table on GPUs (unique.cl). Otherwise it sorts the elements (sort.cl), lists
 * the first element of each value, the head, and sorts the heads by position:
 *
 *     elements       7 5 7 9 5      sorted keys    5 5 7 7 9      heads        0 2 4
 *                                   positions      1 4 0 2 3      their place  1 0 3
 *                                                                 numbers      1 0 2 */
#ifndef GANTRY_COMPACT_PARAMETERS
#define GANTRY_COMPACT_PARAMETERS

#define GANTRY_SCAN_CHUNK 64

typedef struct gantry__scan_t {
    gantry__work_t work;
    GANTRY_LONG count;    /* numbers, in chunks */
    GANTRY_LONG has_base; /* 0: the only chunk starts at 0 */
} gantry__scan_t;

/* The elements, in chunks. An element is true if it has a bit of mask. */
typedef struct gantry__where_t {
    gantry__work_t work;
    GANTRY_LONG count;
    ulong mask;
    GANTRY_LONG rank;
    GANTRY_LONG dims[8];
} gantry__where_t;

/* The sorted elements, in parts. One array holds values + 1 heads, then their positions, then their
 * numbers. */
typedef struct gantry__heads_t {
    gantry__work_t work;
    GANTRY_LONG count, parts, values;
    GANTRY_LONG is_float; /* the largest key is NaN, which equals no other */
    GANTRY_LONG is_wide;  /* whether indices have 64 bits */
} gantry__heads_t;

#endif

#ifdef GANTRY_ITEM_TEXT

#define K GANTRY_KEY_OF_T

/* The end of the chunk, which is `count` for the last one. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(chunk_end)(const GANTRY_LONG chunk,
                                                  const GANTRY_LONG count) {
    const GANTRY_LONG end = (chunk + 1) * GANTRY_SCAN_CHUNK;

    return end < count ? end : count;
}

GANTRY_ITEM void GANTRY_ITEM_FN(scan_sums)(GANTRY_GLOBAL const GANTRY_LONG *counts,
                                           GANTRY_GLOBAL GANTRY_LONG *sums,
                                           GANTRY_PARAMETERS(gantry__scan_t) p,
                                           const GANTRY_LONG i) {
    const GANTRY_LONG end = GANTRY_ITEM_FN(chunk_end)(i, p->count);
    GANTRY_LONG sum = 0;

    for (GANTRY_LONG e = i * GANTRY_SCAN_CHUNK; e < end; ++e) {
        sum += counts[e];
    }
    sums[i] = sum;
}
GANTRY_ITEMS_1_1(scan_sums, GANTRY_LONG, GANTRY_LONG, gantry__scan_t)

/* Each count becomes the sum of the counts before it. */
GANTRY_ITEM void GANTRY_ITEM_FN(scan_spread)(GANTRY_GLOBAL const GANTRY_LONG *bases,
                                             GANTRY_GLOBAL GANTRY_LONG *counts,
                                             GANTRY_PARAMETERS(gantry__scan_t) p,
                                             const GANTRY_LONG i) {
    const GANTRY_LONG end = GANTRY_ITEM_FN(chunk_end)(i, p->count);
    GANTRY_LONG place = p->has_base ? bases[i] : 0;

    for (GANTRY_LONG e = i * GANTRY_SCAN_CHUNK; e < end; ++e) {
        const GANTRY_LONG count = counts[e];

        counts[e] = place;
        place += count;
    }
}
GANTRY_ITEMS_1_1(scan_spread, GANTRY_LONG, GANTRY_LONG, gantry__scan_t)

#if !GANTRY_SERIAL && (defined(__OPENCL_VERSION__) || defined(__CUDACC__))
/* Does all levels of the scan in one group; an item has a run of neighbours. */
GANTRY_KERNEL scan_group(GANTRY_SPAN_OUT(counts), GANTRY_SPAN_OUT(total),
                         GANTRY_VALUE(gantry__scan_t, p)) {
    GANTRY_TAKE(gantry__scan_t, p)
    GANTRY_LOCAL_ARRAY(GANTRY_LONG, sums, 256);
    GANTRY_GLOBAL GANTRY_LONG *at = GANTRY_OUT(GANTRY_LONG, counts);
    const GANTRY_LONG item = GANTRY_LOCAL_ID(0), items = GANTRY_LOCAL_SIZE(0);
    const GANTRY_LONG each = (p.count + items - 1) / items, begin = item * each;
    const GANTRY_LONG end = begin + each < p.count ? begin + each : p.count;
    GANTRY_LONG sum = 0;

    for (GANTRY_LONG e = begin; e < end; ++e) {
        sum += at[e];
    }
    sums[item] = sum;
    GANTRY_BARRIER();
    if (item == 0) {
        sum = 0;
        for (int other = 0; other < items; ++other) {
            const GANTRY_LONG own = sums[other];
            sums[other] = sum;
            sum += own;
        }
        GANTRY_OUT(GANTRY_LONG, total)[0] = sum;
    }
    GANTRY_BARRIER();
    sum = sums[item];
    for (GANTRY_LONG e = begin; e < end; ++e) {
        const GANTRY_LONG count = at[e];
        at[e] = sum;
        sum += count;
    }
}
#endif

/* ---- Where ---- */

/* Bits of which one is set if the element has one in that place, in either half. */
#undef GANTRY_BITS_OF
#if GANTRY_T_IS(c128)
#define GANTRY_BITS_OF(element) ((element).low | (element).high)
#else
#define GANTRY_BITS_OF(element) ((ulong)(element))
#endif

GANTRY_ITEM void GANTRY_ITEM_FN(where_count)(GANTRY_GLOBAL const T *x,
                                             GANTRY_GLOBAL GANTRY_LONG *counts,
                                             GANTRY_PARAMETERS(gantry__where_t) p,
                                             const GANTRY_LONG i) {
    const GANTRY_LONG end = GANTRY_ITEM_FN(chunk_end)(i, p->count);
    GANTRY_LONG count = 0;

    for (GANTRY_LONG e = i * GANTRY_SCAN_CHUNK; e < end; ++e) {
        count += (GANTRY_BITS_OF(x[e]) & p->mask) != 0;
    }
    counts[i] = count;
}
GANTRY_ITEMS_1_1(where_count, T, GANTRY_LONG, gantry__where_t)

GANTRY_ITEM void GANTRY_ITEM_FN(where_write)(GANTRY_GLOBAL const T *x,
                                             GANTRY_GLOBAL const GANTRY_LONG *places,
                                             GANTRY_GLOBAL GANTRY_LONG *out,
                                             GANTRY_PARAMETERS(gantry__where_t) p,
                                             const GANTRY_LONG i) {
    const GANTRY_LONG end = GANTRY_ITEM_FN(chunk_end)(i, p->count);
    GANTRY_LONG place = places[i];

    for (GANTRY_LONG e = i * GANTRY_SCAN_CHUNK; e < end; ++e) {
        GANTRY_LONG rest = e;

        if ((GANTRY_BITS_OF(x[e]) & p->mask) != 0) {
            for (GANTRY_LONG d = p->rank - 1; d >= 0; --d) {
                const GANTRY_LONG next = gantry__divide_position(rest, p->dims[d]);

                out[place * p->rank + d] = rest - next * p->dims[d];
                rest = next;
            }
            place++;
        }
    }
}
GANTRY_ITEMS_2_1(where_write, T, GANTRY_LONG, GANTRY_LONG, gantry__where_t)

/* ---- Unique ---- */

GANTRY_ITEM int GANTRY_ITEM_FN(is_head)(GANTRY_GLOBAL const K *keys, const GANTRY_LONG at,
                                        const GANTRY_LONG is_float) {
    return at == 0 || keys[at - 1] != keys[at] || (is_float && keys[at] == ~(K)0);
}

/* Counts the heads of a part. */
GANTRY_ITEM void GANTRY_ITEM_FN(heads_count)(GANTRY_GLOBAL const K *keys,
                                             GANTRY_GLOBAL GANTRY_LONG *counts,
                                             GANTRY_PARAMETERS(gantry__heads_t) p,
                                             const GANTRY_LONG i) {
    const GANTRY_LONG end = p->count * (i + 1) / p->parts, is_float = p->is_float;
    GANTRY_LONG count = 0;

    for (GANTRY_LONG at = p->count * i / p->parts; at < end; ++at) {
        count += GANTRY_ITEM_FN(is_head)(keys, at, is_float);
    }
    counts[i] = count;
}
GANTRY_ITEMS_1_1(heads_count, K, GANTRY_LONG, gantry__heads_t)

/* The number of heads in the parts before this one. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(heads_before)(GANTRY_GLOBAL const GANTRY_LONG *counts,
                                                     const GANTRY_LONG part) {
    GANTRY_LONG sum = 0;

    for (GANTRY_LONG other = 0; other < part; ++other) {
        sum += counts[other];
    }
    return sum;
}

GANTRY_ITEM void GANTRY_ITEM_FN(heads_write)(GANTRY_GLOBAL const K *keys,
                                             GANTRY_GLOBAL const int *positions,
                                             GANTRY_GLOBAL const GANTRY_LONG *counts,
                                             GANTRY_GLOBAL uint *heads,
                                             GANTRY_PARAMETERS(gantry__heads_t) p,
                                             const GANTRY_LONG i) {
    const GANTRY_LONG end = p->count * (i + 1) / p->parts, is_float = p->is_float;
    GANTRY_GLOBAL uint *stand = heads + p->values + 1;
    GANTRY_LONG value = GANTRY_ITEM_FN(heads_before)(counts, i);

    for (GANTRY_LONG at = p->count * i / p->parts; at < end; ++at) {
        if (GANTRY_ITEM_FN(is_head)(keys, at, is_float)) {
            heads[value] = (uint)at;
            stand[value] = (uint)positions[at];
            value++;
        }
    }
    if (i == p->parts - 1) {
        heads[value] = (uint)end;
    }
}
GANTRY_ITEMS_3_1(heads_write, K, int, GANTRY_LONG, uint, gantry__heads_t)

/* order must be the heads sorted by position. An item is a value. */
GANTRY_ITEM void GANTRY_ITEM_FN(heads_number)(GANTRY_GLOBAL const int *order,
                                              GANTRY_GLOBAL uint *heads,
                                              GANTRY_PARAMETERS(gantry__heads_t) p,
                                              const GANTRY_LONG i) {
    heads[2 * p->values + 1 + order[i]] = (uint)i;
}
GANTRY_ITEMS_1_1(heads_number, int, uint, gantry__heads_t)

GANTRY_ITEM void GANTRY_ITEM_FN(heads_values)(GANTRY_GLOBAL const T *x,
                                              GANTRY_GLOBAL const uint *stand, GANTRY_GLOBAL T *out,
                                              GANTRY_PARAMETERS(gantry__heads_t) p,
                                              const GANTRY_LONG i) {
    (void)p;
    out[i] = x[stand[i]];
}
GANTRY_ITEMS_2_1(heads_values, T, uint, T, gantry__heads_t)

GANTRY_ITEM void GANTRY_ITEM_FN(heads_lengths)(GANTRY_GLOBAL const int *order,
                                               GANTRY_GLOBAL const uint *heads,
                                               GANTRY_GLOBAL uchar *out,
                                               GANTRY_PARAMETERS(gantry__heads_t) p,
                                               const GANTRY_LONG i) {
    GANTRY_PUT_INDEX(out, p->is_wide, i, heads[order[i] + 1] - heads[order[i]]);
}
GANTRY_ITEMS_2_1(heads_lengths, int, uint, uchar, gantry__heads_t)

/* Writes the numbers of a part's elements. */
GANTRY_ITEM void GANTRY_ITEM_FN(heads_indices)(GANTRY_GLOBAL const int *positions,
                                               GANTRY_GLOBAL const GANTRY_LONG *counts,
                                               GANTRY_GLOBAL const uint *heads,
                                               GANTRY_GLOBAL uchar *out,
                                               GANTRY_PARAMETERS(gantry__heads_t) p,
                                               const GANTRY_LONG i) {
    const GANTRY_LONG begin = p->count * i / p->parts, end = p->count * (i + 1) / p->parts;
    GANTRY_GLOBAL const uint *numbers = heads + 2 * p->values + 1;
    GANTRY_LONG value = GANTRY_ITEM_FN(heads_before)(counts, i), at = begin;

    value -= at < end && (value == p->values || heads[value] != (uint)at);
    for (; at < end; ++value) {
        const GANTRY_LONG last =
            (GANTRY_LONG)heads[value + 1] < end ? (GANTRY_LONG)heads[value + 1] : end;

        for (; at < last; ++at) {
            GANTRY_PUT_INDEX(out, p->is_wide, positions[at], numbers[value]);
        }
    }
}
GANTRY_ITEMS_3_1(heads_indices, int, GANTRY_LONG, uint, uchar, gantry__heads_t)

#undef K

#endif
