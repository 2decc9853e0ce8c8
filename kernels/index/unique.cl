/* SPDX-License-Identifier: Apache-2.0 */
/* Unique and UniqueWithCounts on GPUs, by a hash table of positions; nothing is sorted:
 *
 *     unique_find     finds or takes a place of the table for the key of each element; the place
 *                     keeps the first position with that key, and 1 more; an empty one has 0
 *     unique_count    counts the elements of each tile that are the first of their value
 *     scan_group      of compaction.cl makes places of the counts
 *     unique_put      writes these elements to the result, and for their places their numbers
 *     unique_number   takes the number of each element from the first one of its value
 *
 * The table has at least two places for each element. Which element takes a place depends on the
 * race, but not which position is left there, so the results do not. A key is searched at most
 * GANTRY_UNIQUE_PROBES places far: if one is not found, the kernels' results are not used, and the
 * host sorts. A NaN equals no other element and has no place. It must come after sort_key.cl. */
#ifndef GANTRY_UNIQUE_PARAMETERS
#define GANTRY_UNIQUE_PARAMETERS

#define GANTRY_UNIQUE_TILE 1024
#define GANTRY_UNIQUE_PROBES 256
#define GANTRY_UNIQUE_NONE 0xffffffffu   /* the place of a NaN */
#define GANTRY_UNIQUE_NUMBER 0x80000000u /* a value's number, not a place */

typedef struct gantry__unique_table_t {
    gantry__work_t work;
    gantry__order_t order;
    GANTRY_LONG count;
    GANTRY_LONG mask;     /* places of the table, a power of 2, less 1 */
    GANTRY_LONG is_float; /* the largest key is NaN */
    GANTRY_LONG is_wide;  /* whether indices have 64 bits */
    GANTRY_LONG counts;   /* whether the values are counted */
} gantry__unique_table_t;

#endif

#if defined(GANTRY_ITEM_TEXT) && !GANTRY_SERIAL && \
    (defined(__OPENCL_VERSION__) || defined(__CUDACC__))

#define K GANTRY_KEY_OF_T

/* Mixes all bits of a key into the low ones (Appleby, MurmurHash3, 2011). */
GANTRY_FN uint unique_hash(const ulong key) {
    uint hash = (uint)key ^ (uint)(key >> 32) * 0x9e3779b1u;

    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

/* Finds the place of element i, whose key is `key`, or GANTRY_UNIQUE_NONE. */
GANTRY_FN uint unique_place(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL uint *table, const K key,
                            const gantry__unique_table_t *p, const GANTRY_LONG i) {
    const uint first = unique_hash(key);

    for (uint probe = 0; probe < GANTRY_UNIQUE_PROBES; ++probe) {
        const uint place = (first + probe) & (uint)p->mask;
        uint there = GANTRY_PEEK(table + place);

        if (there == 0) {
            there = GANTRY_EXCHANGE_IF(table + place, 0u, (uint)i + 1);
        }
        if (there == 0) {
            return place;
        }
        if (GANTRY_ITEM_FN(sort_key)(x[there - 1], &p->order) == key) {
            if (there > (uint)i + 1) {
                GANTRY_LOWER(table + place, (uint)i + 1);
            }
            return place;
        }
    }
    return GANTRY_UNIQUE_NONE;
}

/* *too_far becomes 1 if a key was not found. */
GANTRY_KERNEL unique_find(GANTRY_SPAN_IN(x), GANTRY_SPAN_OUT(table), GANTRY_SPAN_OUT(places),
                          GANTRY_SPAN_OUT(too_far), GANTRY_VALUE(gantry__unique_table_t, p)) {
    GANTRY_TAKE(gantry__unique_table_t, p)

    for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {
        const K key = GANTRY_ITEM_FN(sort_key)(GANTRY_IN(T, x)[i], &p.order);
        const int is_number = !p.is_float || key != ~(K)0;
        const uint place = is_number
                               ? unique_place(GANTRY_IN(T, x), GANTRY_OUT(uint, table), key, &p, i)
                               : GANTRY_UNIQUE_NONE;

        GANTRY_OUT(uint, places)[i] = place;
        if (is_number && place == GANTRY_UNIQUE_NONE) {
            GANTRY_RAISE(GANTRY_OUT(uint, too_far), 1u);
        }
    }
}

/* Whether element i is the first of its value. */
GANTRY_FN int unique_is_first(GANTRY_GLOBAL const uint *table, GANTRY_GLOBAL const uint *places,
                              const GANTRY_LONG i) {
    const uint place = places[i];

    return place == GANTRY_UNIQUE_NONE || table[place] == (uint)i + 1;
}

GANTRY_KERNEL unique_count(GANTRY_SPAN_IN(table), GANTRY_SPAN_IN(places), GANTRY_SPAN_OUT(counts),
                           GANTRY_VALUE(gantry__unique_table_t, p)) {
    GANTRY_TAKE(gantry__unique_table_t, p)
    GANTRY_LOCAL_ARRAY(uint, count, 1);
    const int item = (int)GANTRY_LOCAL_ID(0), items = (int)GANTRY_LOCAL_SIZE(0);
    const GANTRY_LONG begin = GANTRY_GROUP_ID(0) * GANTRY_UNIQUE_TILE;
    uint own = 0;

    if (item == 0) {
        count[0] = 0;
    }
    GANTRY_BARRIER();
    for (int e = item; e < GANTRY_UNIQUE_TILE && begin + e < p.count; e += items) {
        own += unique_is_first(GANTRY_IN(uint, table), GANTRY_IN(uint, places), begin + e);
    }
    if (own != 0) {
        GANTRY_ADD(count, own);
    }
    GANTRY_BARRIER();
    if (item == 0) {
        GANTRY_OUT(GANTRY_LONG, counts)[GANTRY_GROUP_ID(0)] = count[0];
    }
}

GANTRY_KERNEL unique_put(GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(table), GANTRY_SPAN_OUT(places),
                         GANTRY_SPAN_IN(firsts), GANTRY_SPAN_OUT(values),
                         GANTRY_VALUE(gantry__unique_table_t, p)) {
    GANTRY_TAKE(gantry__unique_table_t, p)
    GANTRY_LOCAL_ARRAY(uint, sums, 2 * 256);
    const int item = (int)GANTRY_LOCAL_ID(0), items = (int)GANTRY_LOCAL_SIZE(0);
    const int each = GANTRY_UNIQUE_TILE / items;
    const GANTRY_LONG tile = GANTRY_GROUP_ID(0) * GANTRY_UNIQUE_TILE;
    const GANTRY_LONG begin = tile + item * each, left = p.count - begin;
    const int some = left < each ? (int)left : each;
    uint own = 0;
    int from = 0;

    for (int e = 0; e < some; ++e) {
        own += unique_is_first(GANTRY_IN(uint, table), GANTRY_OUT(uint, places), begin + e);
    }
    sums[item] = own;
    GANTRY_BARRIER();
    for (int reach = 1; reach < items; reach *= 2) { /* sums of all items up to this one */
        const int to = 256 - from;
        sums[to + item] = sums[from + item] + (item >= reach ? sums[from + item - reach] : 0);
        from = to;
        GANTRY_BARRIER();
    }
    GANTRY_LONG number =
        GANTRY_IN(GANTRY_LONG, firsts)[GANTRY_GROUP_ID(0)] + sums[from + item] - own;
    for (int e = 0; e < some; ++e) {
        const GANTRY_LONG i = begin + e;
        if (unique_is_first(GANTRY_IN(uint, table), GANTRY_OUT(uint, places), i)) {
            GANTRY_OUT(T, values)[number] = GANTRY_IN(T, x)[i];
            GANTRY_OUT(uint, places)[i] = GANTRY_UNIQUE_NUMBER | (uint)number;
            number++;
        }
    }
}

GANTRY_KERNEL unique_number(GANTRY_SPAN_IN(table), GANTRY_SPAN_IN(places), GANTRY_SPAN_OUT(indices),
                            GANTRY_SPAN_OUT(counts), GANTRY_VALUE(gantry__unique_table_t, p)) {
    GANTRY_TAKE(gantry__unique_table_t, p)

    for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {
        const uint place = GANTRY_IN(uint, places)[i];
        const GANTRY_LONG first =
            place >= GANTRY_UNIQUE_NUMBER ? i : (GANTRY_LONG)GANTRY_IN(uint, table)[place] - 1;
        const uint number = GANTRY_IN(uint, places)[first] & ~GANTRY_UNIQUE_NUMBER;

        GANTRY_PUT_INDEX(GANTRY_OUT(uchar, indices), p.is_wide, i, number);
        if (p.counts) {
            GANTRY_ADD(GANTRY_OUT(uint, counts) + ((GANTRY_LONG)number << p.is_wide), 1u);
        }
    }
}

#undef K

#endif
