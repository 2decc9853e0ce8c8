/* SPDX-License-Identifier: Apache-2.0 */
/* Stable radix sort of rows on processors, by digits of keys (sort_key.cl); by element size. Items
 * are few and long: one or a few for each thread, each with its own share of one scratch. It must
 * come after radix_pairs.cl, which sorts keys.
 *
 *     radix_rows     many rows: an item sorts one
 *
 * If there are fewer rows than threads, rows are cut into parts and become buckets of neighbouring
 * keys:
 *
 *     radix_keys     makes the keys of a part, and finds its least and its largest
 *     radix_count    counts the keys of a part by bins, which divide the range from the row's least
 *                    key to its largest into even steps
 *     radix_spread   moves the keys of a part to their buckets, after those of the parts before
 *     radix_finish   an item sorts its share of the buckets, from the lowest digit up
 *
 * A bucket is one bin or several neighbours, so that all buckets have about as many keys, however
 * the keys are distributed: evenly spread floating-point numbers do not have evenly spread keys.
 * Most buckets fit in the first-level cache.
 *
 * Where only the sorted elements are wanted there are no positions, because a key gives its element
 * back, except for the sign of a zero and the bits of a NaN. If there are such elements,
 * radix_restore writes the zeros and NaNs in the order that they have in the row. */
#ifndef GANTRY_RADIX_PARAMETERS
#define GANTRY_RADIX_PARAMETERS

/* The most buckets of a row. It is not a power of two, because buckets of evenly spread keys would
 * then start at distances that conflict in a cache. */
#define GANTRY_RADIX_BUCKETS 500
#define GANTRY_RADIX_AHEAD 16 /* distance in keys of the prefetch of places in buckets */

/* Rows of `length` elements with stride `inner`; each row is in parts. Places are byte offsets in
 * the scratch. */
typedef struct gantry__radix_t {
    gantry__work_t work;
    gantry__order_t order;
    GANTRY_LONG length, inner, parts;
    GANTRY_LONG shares;        /* shares of a row's buckets */
    GANTRY_LONG bins, buckets; /* those of a row */
    GANTRY_LONG has_positions;
    /* places for all elements, twice: sorted rows in the first, buckets in the second */
    GANTRY_LONG keys[2], positions[2];
    /* for each part: the least key, the largest key, and whether there is a -0 or a NaN */
    GANTRY_LONG bounds;
    GANTRY_LONG counts; /* for each part's bins */
    GANTRY_LONG tables; /* for each part, the bucket of each bin */
    GANTRY_LONG starts; /* starts of each row's buckets, and their end */
} gantry__radix_t;

#endif

#if defined(GANTRY_ITEM_TEXT) && (!defined(GANTRY_SERIAL) || GANTRY_SERIAL)

#define K GANTRY_KEY_OF_T
#define GANTRY_RADIX_KEYS(which) ((GANTRY_GLOBAL K *)(scratch + p->keys[which]))
#define GANTRY_RADIX_POSITIONS(which) ((GANTRY_GLOBAL int *)(scratch + p->positions[which]))

/* ---- elements ---- */

/* The element of a key; +0 for a zero. */
GANTRY_ITEM T GANTRY_ITEM_FN(radix_value)(const K key, const gantry__order_t order) {
    const K number = order.descending ? ~key : key, sign = (K)order.sign, width = sign | (sign - 1);
    const K bits = (number & sign) != 0 ? number ^ sign : ~number & width;

    return (T)(order.infinity == 0 ? number ^ sign : bits);
}

/* Whether the element is a -0 or a NaN. */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_is_odd)(const T x, const gantry__order_t order) {
    return (order.infinity != 0) &
           (((K)x == (K)order.sign) | (((K)x & (K)~order.sign) > (K)order.infinity));
}

/* Makes the keys of `count` elements. bounds: the least, the largest, whether any is odd. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_take)(GANTRY_GLOBAL const T *x, const GANTRY_LONG inner,
                                            GANTRY_GLOBAL K *keys, const GANTRY_LONG count,
                                            const gantry__order_t order, ulong *bounds) {
    K least = ~(K)0, most = 0, odd = 0;

    if (inner == 1) {
        for (GANTRY_LONG e = 0; e < count; ++e) {
            const K key = GANTRY_ITEM_FN(sort_key)(x[e], &order);

            keys[e] = key;
            least = key < least ? key : least;
            most = key > most ? key : most;
            odd |= (K)GANTRY_ITEM_FN(radix_is_odd)(x[e], order);
        }
    } else {
        for (GANTRY_LONG e = 0; e < count; ++e) {
            const T element = x[e * inner];
            const K key = GANTRY_ITEM_FN(sort_key)(element, &order);

            keys[e] = key;
            least = key < least ? key : least;
            most = key > most ? key : most;
            odd |= (K)GANTRY_ITEM_FN(radix_is_odd)(element, order);
        }
    }
    bounds[0] = least;
    bounds[1] = most;
    bounds[2] = odd;
}

/* Makes the elements of `count` keys. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_give)(GANTRY_GLOBAL const K *keys, GANTRY_GLOBAL T *out,
                                            const GANTRY_LONG inner, const GANTRY_LONG count,
                                            const gantry__order_t order) {
    if (inner == 1) {
        for (GANTRY_LONG e = 0; e < count; ++e) {
            out[e] = GANTRY_ITEM_FN(radix_value)(keys[e], order);
        }
        return;
    }
    for (GANTRY_LONG e = 0; e < count; ++e) {
        out[e * inner] = GANTRY_ITEM_FN(radix_value)(keys[e], order);
    }
}

/* Writes the zeros and NaNs of a sorted row in the order that they have in the row x. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_zeros)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                             const GANTRY_LONG inner, const GANTRY_LONG length,
                                             const gantry__order_t order) {
    const K zero = GANTRY_ITEM_FN(sort_key)((T)0, &order);
    GANTRY_LONG at_zero = 0, nans = 0, at_nan;

    for (GANTRY_LONG e = 0; e < length; ++e) {
        at_zero += GANTRY_ITEM_FN(sort_key)(x[e * inner], &order) < zero;
        nans += GANTRY_ITEM_FN(sort_is_nan)(x[e * inner], &order);
    }
    at_nan = order.descending ? 0 : length - nans;
    for (GANTRY_LONG e = 0; e < length; ++e) {
        const T element = x[e * inner];

        if (GANTRY_ITEM_FN(sort_is_nan)(element, &order)) {
            out[at_nan++ * inner] = element;
        } else if (GANTRY_ITEM_FN(sort_key)(element, &order) == zero) {
            out[at_zero++ * inner] = element;
        }
    }
}

/* The start of the row in x. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(radix_row)(GANTRY_PARAMETERS(gantry__radix_t) p,
                                                  const GANTRY_LONG row) {
    const GANTRY_LONG outer = row / p->inner;

    return outer * p->length * p->inner + row - outer * p->inner;
}

GANTRY_ITEM GANTRY_ITEM_FN(radix_pairs)
    GANTRY_ITEM_FN(radix_pairs_of)(GANTRY_GLOBAL uchar *scratch,
                                   GANTRY_PARAMETERS(gantry__radix_t) p, const int which,
                                   const GANTRY_LONG first) {
    GANTRY_ITEM_FN(radix_pairs) out;

    out.keys = GANTRY_RADIX_KEYS(which) + first;
    out.positions = 0;
    if (p->has_positions) {
        out.positions = GANTRY_RADIX_POSITIONS(which) + first;
    }
    return out;
}

/* ---- whole rows ---- */

GANTRY_ITEM void GANTRY_ITEM_FN(radix_rows)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL uchar *scratch,
                                            GANTRY_GLOBAL T *out,
                                            GANTRY_PARAMETERS(gantry__radix_t) p,
                                            const GANTRY_LONG i) {
    const GANTRY_ITEM_FN(radix_pairs) pairs =
        GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 0, i * p->length);
    const GANTRY_ITEM_FN(radix_pairs) other =
        GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 1, i * p->length);
    const GANTRY_LONG row = GANTRY_ITEM_FN(radix_row)(p, i);
    ulong bounds[3];
    int is_other;

    GANTRY_ITEM_FN(radix_take)(x + row, p->inner, pairs.keys, p->length, p->order, bounds);
    if (p->has_positions) {
        for (int e = 0; e < (int)p->length; ++e) {
            pairs.positions[e] = e;
        }
        GANTRY_ITEM_FN(radix_sort_here)(pairs, other, p->length);
        return;
    }
    is_other = GANTRY_ITEM_FN(radix_sort)(pairs, other, p->length);
    GANTRY_ITEM_FN(radix_give)
    (is_other ? other.keys : pairs.keys, out + row, p->inner, p->length, p->order);
    if (bounds[2]) {
        GANTRY_ITEM_FN(radix_zeros)(x + row, out + row, p->inner, p->length, p->order);
    }
}
GANTRY_ITEMS_1_2(radix_rows, T, uchar, T, gantry__radix_t)

/* ---- rows in parts ---- */

/* The bin of a key: ((key - least) >> shift) * scale, the upper 32 bits. */
typedef struct GANTRY_ITEM_FN(radix_bins) {
    K least;
    int shift;
    ulong scale;
} GANTRY_ITEM_FN(radix_bins);

GANTRY_ITEM uint GANTRY_ITEM_FN(radix_bin)(const K key, const GANTRY_ITEM_FN(radix_bins) bins) {
    return (uint)(((ulong)((K)(key - bins.least) >> bins.shift) * bins.scale) >> 32);
}

GANTRY_ITEM GANTRY_ITEM_FN(radix_bins)
    GANTRY_ITEM_FN(radix_bins_between)(const K least, const K most, const ulong count) {
    ulong range = most - least;
    GANTRY_ITEM_FN(radix_bins) out;

    out.least = least;
    out.shift = 0;
    while (range >> 32 != 0) {
        range >>= 1;
        out.shift++;
    }
    out.scale = range < count ? (ulong)1 << 32 : (count << 32) / (range + 1);
    return out;
}

GANTRY_ITEM GANTRY_ITEM_FN(radix_pairs)
    GANTRY_ITEM_FN(radix_from)(const GANTRY_ITEM_FN(radix_pairs) pairs, const GANTRY_LONG first) {
    GANTRY_ITEM_FN(radix_pairs) out = pairs;

    out.keys += first;
    if (out.positions != 0) {
        out.positions += first;
    }
    return out;
}

/* Item i is a part of a row: finds its first element and its end. */
#define GANTRY_FIND_PART                                             \
    const GANTRY_LONG row = i / p->parts, part = i - row * p->parts; \
    const GANTRY_LONG begin = p->length * part / p->parts, end = p->length * (part + 1) / p->parts;

GANTRY_ITEM GANTRY_ITEM_FN(radix_bins)
    GANTRY_ITEM_FN(radix_bins_of)(GANTRY_GLOBAL const uchar *scratch,
                                  GANTRY_PARAMETERS(gantry__radix_t) p, const GANTRY_LONG row) {
    GANTRY_GLOBAL const ulong *bounds =
        (GANTRY_GLOBAL const ulong *)(scratch + p->bounds) + row * p->parts * 3;
    ulong least = bounds[0], most = bounds[1];

    for (GANTRY_LONG part = 1; part < p->parts; ++part) {
        least = bounds[3 * part] < least ? bounds[3 * part] : least;
        most = bounds[3 * part + 1] > most ? bounds[3 * part + 1] : most;
    }
    return GANTRY_ITEM_FN(radix_bins_between)((K)least, (K)most, (ulong)p->bins);
}

GANTRY_ITEM void GANTRY_ITEM_FN(radix_keys)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL uchar *scratch,
                                            GANTRY_PARAMETERS(gantry__radix_t) p,
                                            const GANTRY_LONG i) {
    GANTRY_FIND_PART
    GANTRY_GLOBAL ulong *out = (GANTRY_GLOBAL ulong *)(scratch + p->bounds) + i * 3;
    ulong bounds[3];

    GANTRY_ITEM_FN(radix_take)
    (x + GANTRY_ITEM_FN(radix_row)(p, row) + begin * p->inner, p->inner,
     GANTRY_RADIX_KEYS(0) + row * p->length + begin, end - begin, p->order, bounds);
    for (int k = 0; k < 3; ++k) {
        out[k] = bounds[k];
    }
}
GANTRY_ITEMS_1_1(radix_keys, T, uchar, gantry__radix_t)

GANTRY_ITEM void GANTRY_ITEM_FN(radix_count)(GANTRY_GLOBAL uchar *scratch,
                                             GANTRY_PARAMETERS(gantry__radix_t) p,
                                             const GANTRY_LONG i) {
    GANTRY_FIND_PART
    GANTRY_GLOBAL const K *keys = GANTRY_RADIX_KEYS(0) + row * p->length;
    GANTRY_GLOBAL uint *counts = (GANTRY_GLOBAL uint *)(scratch + p->counts) + i * p->bins;
    const GANTRY_ITEM_FN(radix_bins) bins = GANTRY_ITEM_FN(radix_bins_of)(scratch, p, row);

    for (GANTRY_LONG b = 0; b < p->bins; ++b) {
        counts[b] = 0;
    }
    for (GANTRY_LONG e = begin; e < end; ++e) {
        counts[GANTRY_ITEM_FN(radix_bin)(keys[e], bins)]++;
    }
}
GANTRY_ITEMS_0_1(radix_count, uchar, gantry__radix_t)

/* Plans the buckets of a row's bins, and where the keys of the part start in each. A bin belongs to
 * the bucket whose even share of the row holds the start of the bin, so a bucket has at most the
 * keys of such a share and of one bin. starts: NULL, or room for the starts of the buckets. Empty
 * bins after the last key may make one more bucket. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_plan)(GANTRY_GLOBAL const uint *counts,
                                            GANTRY_PARAMETERS(gantry__radix_t) p,
                                            const GANTRY_LONG part, GANTRY_GLOBAL ushort *table,
                                            uint *at, GANTRY_GLOBAL uint *starts) {
    const ulong scale = ((ulong)p->buckets << 32) / (ulong)p->length;
    uint total[GANTRY_RADIX_BUCKETS + 1], before = 0;

    for (GANTRY_LONG d = 0; d <= p->buckets; ++d) {
        at[d] = total[d] = 0;
    }
    for (GANTRY_LONG b = 0; b < p->bins; ++b) {
        const uint bucket = (uint)((before * scale) >> 32);
        uint all = 0, earlier = 0;

        for (GANTRY_LONG other = 0; other < p->parts; ++other) {
            const uint some = counts[other * p->bins + b];

            all += some;
            earlier += other < part ? some : 0;
        }
        table[b] = (ushort)bucket;
        at[bucket] += earlier;
        total[bucket] += all;
        before += all;
    }
    before = 0;
    for (GANTRY_LONG d = 0; d < p->buckets; ++d) {
        at[d] += before;
        if (starts != 0) {
            starts[d] = before;
        }
        before += total[d];
    }
    if (starts != 0) {
        starts[p->buckets] = before; /* end of the last one */
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(radix_spread)(GANTRY_GLOBAL uchar *scratch,
                                              GANTRY_PARAMETERS(gantry__radix_t) p,
                                              const GANTRY_LONG i) {
    GANTRY_FIND_PART
    const GANTRY_ITEM_FN(radix_pairs) to =
        GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 1, row * p->length);
    GANTRY_GLOBAL const K *keys = GANTRY_RADIX_KEYS(0) + row * p->length;
    GANTRY_GLOBAL const uint *counts =
        (GANTRY_GLOBAL const uint *)(scratch + p->counts) + row * p->parts * p->bins;
    GANTRY_GLOBAL uint *starts =
        (GANTRY_GLOBAL uint *)(scratch + p->starts) + row * (p->buckets + 1);
    GANTRY_GLOBAL ushort *table = (GANTRY_GLOBAL ushort *)(scratch + p->tables) + i * p->bins;
    const GANTRY_ITEM_FN(radix_bins) bins = GANTRY_ITEM_FN(radix_bins_of)(scratch, p, row);
    uint at[GANTRY_RADIX_BUCKETS + 1];

    GANTRY_ITEM_FN(radix_plan)(counts, p, part, table, at, part == 0 ? starts : 0);
    for (GANTRY_LONG e = begin; e < end; ++e) {
        const K key = keys[e];
        const uint place = at[table[GANTRY_ITEM_FN(radix_bin)(key, bins)]]++;

        GANTRY_PREFETCH_FOR_WRITE((ulong)(to.keys + place + GANTRY_RADIX_AHEAD));
        to.keys[place] = key;
        if (to.positions != 0) {
            GANTRY_PREFETCH_FOR_WRITE((ulong)(to.positions + place + GANTRY_RADIX_AHEAD));
            to.positions[place] = (int)e;
        }
    }
}
GANTRY_ITEMS_0_1(radix_spread, uchar, gantry__radix_t)

/* The buckets of a share are those that start in its part of the row. All are sorted through the
 * same memory, which thus stays in the caches: the room of the keys that became the share's
 * buckets. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_finish)(GANTRY_GLOBAL uchar *scratch, GANTRY_GLOBAL T *out,
                                              GANTRY_PARAMETERS(gantry__radix_t) p,
                                              const GANTRY_LONG i) {
    const GANTRY_LONG row = i / p->shares, share = i - row * p->shares;
    const GANTRY_LONG begin = p->length * share / p->shares,
                      end = p->length * (share + 1) / p->shares;
    const GANTRY_ITEM_FN(radix_pairs) pairs =
        GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 1, row * p->length);
    const GANTRY_ITEM_FN(radix_pairs) others =
        GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 0, row * p->length);
    GANTRY_GLOBAL const uint *starts =
        (GANTRY_GLOBAL const uint *)(scratch + p->starts) + row * (p->buckets + 1);
    GANTRY_GLOBAL T *out_row = out + GANTRY_ITEM_FN(radix_row)(p, row);
    GANTRY_ITEM_FN(radix_pairs) room;
    GANTRY_LONG d = 0;

    while (d < p->buckets && starts[d] < begin) {
        d++;
    }
    room = GANTRY_ITEM_FN(radix_from)(others, starts[d]);
    for (; d < p->buckets && starts[d] < end; ++d) {
        const GANTRY_LONG first = starts[d], count = starts[d + 1] - first;
        const GANTRY_ITEM_FN(radix_pairs) here = GANTRY_ITEM_FN(radix_from)(pairs, first);

        if (count == 0) {
            continue;
        }
        if (p->has_positions) {
            GANTRY_ITEM_FN(radix_sort_here)(here, room, count);
        } else {
            const int is_there = GANTRY_ITEM_FN(radix_sort)(here, room, count);

            GANTRY_ITEM_FN(radix_give)
            (is_there ? room.keys : here.keys, out_row + first * p->inner, p->inner, count,
             p->order);
        }
    }
}
GANTRY_ITEMS_0_2(radix_finish, uchar, T, gantry__radix_t)

/* An item is a row. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_restore)(GANTRY_GLOBAL const T *x,
                                               GANTRY_GLOBAL const uchar *scratch,
                                               GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry__radix_t) p,
                                               const GANTRY_LONG i) {
    GANTRY_GLOBAL const ulong *bounds =
        (GANTRY_GLOBAL const ulong *)(scratch + p->bounds) + i * p->parts * 3;
    const GANTRY_LONG row = GANTRY_ITEM_FN(radix_row)(p, i);
    ulong odd = 0;

    for (GANTRY_LONG part = 0; part < p->parts; ++part) {
        odd |= bounds[3 * part + 2];
    }
    if (odd) {
        GANTRY_ITEM_FN(radix_zeros)(x + row, out + row, p->inner, p->length, p->order);
    }
}
GANTRY_ITEMS_2_1(radix_restore, T, uchar, T, gantry__radix_t)

#undef GANTRY_FIND_PART
#undef GANTRY_RADIX_POSITIONS
#undef GANTRY_RADIX_KEYS
#undef K

#endif
