/* Stable sorting of rows on processors, by digits of keys (sort_key.cl); by element size. Items are few and long, one or
 * some for a thread; each works in its own share of one scratch.
 *
 *     radix_rows     many rows: an item sorts one
 *
 * Where rows are fewer than threads they are cut into parts, and become buckets of keys with the same first digit, the
 * highest bits of those that differ within the row:
 *
 *     radix_keys     the keys of a part, the least and the largest of them
 *     radix_count    how many keys of a part have each digit
 *     radix_spread   a part's keys to their buckets, behind those of the parts before it
 *     radix_finish   an item sorts its share of the buckets, from the lowest of the other digits on
 *
 * A bucket most often fits in a cache, where a pass costs the same for 2^8 as for 2^11 digits. Bits that are alike in
 * all keys of a bucket cost nothing. Some few keys are sorted by counting for each the keys that come before it.
 *
 * Where only sorted elements are wanted there are no positions: a key says which element it was, but for the sign of a
 * zero and the bits of a NaN. Where these occur, radix_restore writes zeros and NaNs as they follow each other in the
 * row. */
#ifndef GANTRY_RADIX_PARAMETERS
#define GANTRY_RADIX_PARAMETERS

#define GANTRY_RADIX_MOST 2048 /* digits of a pass */
#define GANTRY_RADIX_FIRST_BITS 10
#define GANTRY_RADIX_FIRST (1 << GANTRY_RADIX_FIRST_BITS)
#define GANTRY_RADIX_FEW 64 /* keys that are not sorted by digits */

/* Rows of length elements, which lie inner elements apart; each in parts. Places are those in the scratch, in bytes. */
typedef struct gantry_radix_t {
    gantry_work_t work;
    gantry_order_t order;
    GANTRY_LONG length, inner, parts;
    GANTRY_LONG shares; /* of a row's buckets */
    GANTRY_LONG has_positions;
    GANTRY_LONG keys[2], positions[2]; /* of all elements, twice; sorted rows lie in the first, buckets in the second */
    GANTRY_LONG bounds;                /* of each part: the least key, the largest, whether there are -0 or NaN */
    GANTRY_LONG counts;                /* of each part's digits */
    GANTRY_LONG starts;                /* of each row's buckets, and their end */
} gantry_radix_t;

#endif

#if defined(GANTRY_ITEM_TEXT) && (!defined(GANTRY_SERIAL) || GANTRY_SERIAL)

#define K GANTRY_KEY_OF_T
#define GANTRY_RADIX_KEYS(which) ((GANTRY_GLOBAL K *)(scratch + p->keys[which]))
#define GANTRY_RADIX_POSITIONS(which) ((GANTRY_GLOBAL int *)(scratch + p->positions[which]))

/* ---- keys in memory ---- */

/* Keys and, unless NULL, their positions. */
typedef struct GANTRY_ITEM_FN(radix_pairs) {
    GANTRY_GLOBAL K *keys;
    GANTRY_GLOBAL int *positions;
} GANTRY_ITEM_FN(radix_pairs);

GANTRY_ITEM GANTRY_ITEM_FN(radix_pairs)
    GANTRY_ITEM_FN(radix_from)(const GANTRY_ITEM_FN(radix_pairs) pairs, const GANTRY_LONG first)
{
    GANTRY_ITEM_FN(radix_pairs) out = pairs;

    out.keys += first;
    if (out.positions != 0) {
        out.positions += first;
    }
    return out;
}

/* Each key goes behind those that come before it; `most`, a literal, is the count or more. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_rank)(const GANTRY_ITEM_FN(radix_pairs) pairs, const int count, const int most)
{
    K key[GANTRY_RADIX_FEW], rank[GANTRY_RADIX_FEW];
    int place[GANTRY_RADIX_FEW];

    for (int e = 0; e < most; e++) {
        key[e] = e < count ? pairs.keys[e] : ~(K)0;
        rank[e] = 0;
    }
    for (int other = 0; other < count; other++) {
        const K before = key[other];

        for (int e = 0; e < most; e++) {
            rank[e] += (K)(before < key[e]) + (K)((before == key[e]) & (other < e));
        }
    }
    for (int e = 0; e < count; e++) {
        pairs.keys[rank[e]] = key[e];
    }
    if (pairs.positions != 0) {
        for (int e = 0; e < count; e++) {
            place[e] = pairs.positions[e];
        }
        for (int e = 0; e < count; e++) {
            pairs.positions[rank[e]] = place[e];
        }
    }
}

/* Puts the keys in the order of (key >> shift) & mask. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_pass)(const GANTRY_ITEM_FN(radix_pairs) from,
                                            const GANTRY_ITEM_FN(radix_pairs) to, const GANTRY_LONG count,
                                            const int shift, const uint mask)
{
    uint at[GANTRY_RADIX_MOST], before = 0;

    for (uint d = 0; d <= mask; d++) {
        at[d] = 0;
    }
    for (GANTRY_LONG e = 0; e < count; e++) {
        at[(uint)(from.keys[e] >> shift) & mask]++;
    }
    for (uint d = 0; d <= mask; d++) {
        const uint some = at[d];

        at[d] = before;
        before += some;
    }
    if (from.positions == 0) {
        for (GANTRY_LONG e = 0; e < count; e++) {
            const K key = from.keys[e];

            to.keys[at[(uint)(key >> shift) & mask]++] = key;
        }
        return;
    }
    for (GANTRY_LONG e = 0; e < count; e++) {
        const K key = from.keys[e];
        const uint place = at[(uint)(key >> shift) & mask]++;

        to.keys[place] = key;
        to.positions[place] = from.positions[e];
    }
}

/* The lowest bit that is set; differ is not 0. */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_lowest)(const K differ)
{
    int bit = 0;

    while (((differ >> bit) & 1) == 0) {
        bit++;
    }
    return bit;
}

/* The digit from `shift` on: of as few passes as the bits above take, all about as wide. */
GANTRY_ITEM uint GANTRY_ITEM_FN(radix_mask)(const K differ, const int shift, const GANTRY_LONG count)
{
    const int most = count < 2 * GANTRY_RADIX_MOST ? 8 : 11;
    int bits = 0, passes;

    while (shift + bits < 8 * (int)sizeof(K) && (differ >> (shift + bits)) != 0) {
        bits++;
    }
    passes = (bits + most - 1) / most;
    return (1u << ((bits + passes - 1) / passes)) - 1;
}

/* Sorts; `other` is as much room. Returns whether the result lies there. */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_sort)(const GANTRY_ITEM_FN(radix_pairs) pairs,
                                           const GANTRY_ITEM_FN(radix_pairs) other, const GANTRY_LONG count)
{
    int is_other = 0, falls = 0;
    K differ = 0;

    if (count <= GANTRY_RADIX_FEW / 4) {
        GANTRY_ITEM_FN(radix_rank)(pairs, (int)count, GANTRY_RADIX_FEW / 4);
        return 0;
    }
    if (count <= GANTRY_RADIX_FEW) {
        GANTRY_ITEM_FN(radix_rank)(pairs, (int)count, GANTRY_RADIX_FEW);
        return 0;
    }
    for (GANTRY_LONG e = 1; e < count; e++) {
        differ |= pairs.keys[e] ^ pairs.keys[e - 1];
        falls |= pairs.keys[e] < pairs.keys[e - 1];
    }
    while (falls && differ != 0) {
        const int shift = GANTRY_ITEM_FN(radix_lowest)(differ);
        const uint mask = GANTRY_ITEM_FN(radix_mask)(differ, shift, count);

        GANTRY_ITEM_FN(radix_pass)(is_other ? other : pairs, is_other ? pairs : other, count, shift, mask);
        is_other = !is_other;
        differ &= ~((K)mask << shift);
    }
    return is_other;
}

/* Sorts, and leaves the result where the keys were. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_sort_here)(const GANTRY_ITEM_FN(radix_pairs) pairs,
                                                 const GANTRY_ITEM_FN(radix_pairs) other, const GANTRY_LONG count)
{
    if (!GANTRY_ITEM_FN(radix_sort)(pairs, other, count)) {
        return;
    }
    for (GANTRY_LONG e = 0; e < count; e++) {
        pairs.keys[e] = other.keys[e];
    }
    for (GANTRY_LONG e = 0; pairs.positions != 0 && e < count; e++) {
        pairs.positions[e] = other.positions[e];
    }
}

/* ---- elements ---- */

/* The element of a key; of zeros the positive one. */
GANTRY_ITEM T GANTRY_ITEM_FN(radix_value)(const K key, const gantry_order_t order)
{
    const K number = order.descending ? ~key : key, sign = (K)order.sign, width = sign | (sign - 1);
    const K bits = (number & sign) != 0 ? number ^ sign : ~number & width;

    return (T)(order.infinity == 0 ? number ^ sign : bits);
}

/* Is the element a -0 or NaN? */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_is_odd)(const T x, const gantry_order_t order)
{
    return order.infinity != 0 && ((K)x == (K)order.sign || GANTRY_ITEM_FN(sort_is_nan)(x, &order));
}

/* Keys of `count` elements; bounds: the least, the largest, whether any is odd. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_take)(GANTRY_GLOBAL const T *x, const GANTRY_LONG inner, GANTRY_GLOBAL K *keys,
                                            const GANTRY_LONG count, const gantry_order_t order, ulong *bounds)
{
    K least = ~(K)0, most = 0, odd = 0;

    if (inner == 1) {
        for (GANTRY_LONG e = 0; e < count; e++) {
            const K key = GANTRY_ITEM_FN(sort_key)(x[e], &order);

            keys[e] = key;
            least = key < least ? key : least;
            most = key > most ? key : most;
            odd |= (K)GANTRY_ITEM_FN(radix_is_odd)(x[e], order);
        }
    } else {
        for (GANTRY_LONG e = 0; e < count; e++) {
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

/* The elements of `count` keys. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_give)(GANTRY_GLOBAL const K *keys, GANTRY_GLOBAL T *out, const GANTRY_LONG inner,
                                            const GANTRY_LONG count, const gantry_order_t order)
{
    if (inner == 1) {
        for (GANTRY_LONG e = 0; e < count; e++) {
            out[e] = GANTRY_ITEM_FN(radix_value)(keys[e], order);
        }
        return;
    }
    for (GANTRY_LONG e = 0; e < count; e++) {
        out[e * inner] = GANTRY_ITEM_FN(radix_value)(keys[e], order);
    }
}

/* Writes the zeros and NaNs of a sorted row as they follow each other in the row x. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_zeros)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out, const GANTRY_LONG inner,
                                             const GANTRY_LONG length, const gantry_order_t order)
{
    const K zero = GANTRY_ITEM_FN(sort_key)((T)0, &order);
    GANTRY_LONG at_zero = 0, nans = 0, at_nan;

    for (GANTRY_LONG e = 0; e < length; e++) {
        at_zero += GANTRY_ITEM_FN(sort_key)(x[e * inner], &order) < zero;
        nans += GANTRY_ITEM_FN(sort_is_nan)(x[e * inner], &order);
    }
    at_nan = order.descending ? 0 : length - nans;
    for (GANTRY_LONG e = 0; e < length; e++) {
        const T element = x[e * inner];

        if (GANTRY_ITEM_FN(sort_is_nan)(element, &order)) {
            out[at_nan++ * inner] = element;
        } else if (GANTRY_ITEM_FN(sort_key)(element, &order) == zero) {
            out[at_zero++ * inner] = element;
        }
    }
}

/* Where in x the row begins. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(radix_row)(GANTRY_PARAMETERS(gantry_radix_t) p, const GANTRY_LONG row)
{
    const GANTRY_LONG outer = row / p->inner;

    return outer * p->length * p->inner + row - outer * p->inner;
}

GANTRY_ITEM GANTRY_ITEM_FN(radix_pairs)
    GANTRY_ITEM_FN(radix_pairs_of)(GANTRY_GLOBAL uchar *scratch, GANTRY_PARAMETERS(gantry_radix_t) p, const int which,
                                   const GANTRY_LONG first)
{
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
                                            GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry_radix_t) p,
                                            const GANTRY_LONG i)
{
    const GANTRY_ITEM_FN(radix_pairs) pairs = GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 0, i * p->length);
    const GANTRY_ITEM_FN(radix_pairs) other = GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 1, i * p->length);
    const GANTRY_LONG row = GANTRY_ITEM_FN(radix_row)(p, i);
    ulong bounds[3];
    int is_other;

    GANTRY_ITEM_FN(radix_take)(x + row, p->inner, pairs.keys, p->length, p->order, bounds);
    if (p->has_positions) {
        for (int e = 0; e < (int)p->length; e++) {
            pairs.positions[e] = e;
        }
        GANTRY_ITEM_FN(radix_sort_here)(pairs, other, p->length);
        return;
    }
    is_other = GANTRY_ITEM_FN(radix_sort)(pairs, other, p->length);
    GANTRY_ITEM_FN(radix_give)(is_other ? other.keys : pairs.keys, out + row, p->inner, p->length, p->order);
    if (bounds[2]) {
        GANTRY_ITEM_FN(radix_zeros)(x + row, out + row, p->inner, p->length, p->order);
    }
}
GANTRY_ITEMS_1_2(radix_rows, T, uchar, T, gantry_radix_t)

/* ---- rows in parts ---- */

/* Item i is a part of a row: its first element, and the one after its last. */
#define GANTRY_FIND_PART                                                               \
    const GANTRY_LONG row = i / p->parts, part = i - row * p->parts;                   \
    const GANTRY_LONG begin = p->length * part / p->parts, end = p->length * (part + 1) / p->parts;

/* The least key of the row, and how far keys are shifted to be digits. */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_shift)(GANTRY_GLOBAL const uchar *scratch, GANTRY_PARAMETERS(gantry_radix_t) p,
                                            const GANTRY_LONG row, K *out_least)
{
    GANTRY_GLOBAL const ulong *bounds = (GANTRY_GLOBAL const ulong *)(scratch + p->bounds) + row * p->parts * 3;
    ulong least = bounds[0], most = bounds[1];
    int shift = 0;

    for (GANTRY_LONG part = 1; part < p->parts; part++) {
        least = bounds[3 * part] < least ? bounds[3 * part] : least;
        most = bounds[3 * part + 1] > most ? bounds[3 * part + 1] : most;
    }
    while (((most - least) >> shift) >= GANTRY_RADIX_FIRST) {
        shift++;
    }
    *out_least = (K)least;
    return shift;
}

GANTRY_ITEM void GANTRY_ITEM_FN(radix_keys)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL uchar *scratch,
                                            GANTRY_PARAMETERS(gantry_radix_t) p, const GANTRY_LONG i)
{
    GANTRY_FIND_PART
    GANTRY_GLOBAL ulong *out = (GANTRY_GLOBAL ulong *)(scratch + p->bounds) + i * 3;
    ulong bounds[3];

    GANTRY_ITEM_FN(radix_take)(x + GANTRY_ITEM_FN(radix_row)(p, row) + begin * p->inner, p->inner,
                               GANTRY_RADIX_KEYS(0) + row * p->length + begin, end - begin, p->order, bounds);
    for (int k = 0; k < 3; k++) {
        out[k] = bounds[k];
    }
}
GANTRY_ITEMS_1_1(radix_keys, T, uchar, gantry_radix_t)

GANTRY_ITEM void GANTRY_ITEM_FN(radix_count)(GANTRY_GLOBAL uchar *scratch, GANTRY_PARAMETERS(gantry_radix_t) p,
                                             const GANTRY_LONG i)
{
    GANTRY_FIND_PART
    GANTRY_GLOBAL const K *keys = GANTRY_RADIX_KEYS(0) + row * p->length;
    GANTRY_GLOBAL uint *counts = (GANTRY_GLOBAL uint *)(scratch + p->counts) + i * GANTRY_RADIX_FIRST;
    K least;
    const int shift = GANTRY_ITEM_FN(radix_shift)(scratch, p, row, &least);
    uint some[GANTRY_RADIX_FIRST];

    for (int d = 0; d < GANTRY_RADIX_FIRST; d++) {
        some[d] = 0;
    }
    for (GANTRY_LONG e = begin; e < end; e++) {
        some[(K)(keys[e] - least) >> shift]++;
    }
    for (int d = 0; d < GANTRY_RADIX_FIRST; d++) {
        counts[d] = some[d];
    }
}
GANTRY_ITEMS_0_1(radix_count, uchar, gantry_radix_t)

GANTRY_ITEM void GANTRY_ITEM_FN(radix_spread)(GANTRY_GLOBAL uchar *scratch, GANTRY_PARAMETERS(gantry_radix_t) p,
                                              const GANTRY_LONG i)
{
    GANTRY_FIND_PART
    const GANTRY_ITEM_FN(radix_pairs) to = GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 1, row * p->length);
    GANTRY_GLOBAL const K *keys = GANTRY_RADIX_KEYS(0) + row * p->length;
    GANTRY_GLOBAL const uint *counts =
        (GANTRY_GLOBAL const uint *)(scratch + p->counts) + row * p->parts * GANTRY_RADIX_FIRST;
    GANTRY_GLOBAL uint *starts = (GANTRY_GLOBAL uint *)(scratch + p->starts) + row * (GANTRY_RADIX_FIRST + 1);
    uint at[GANTRY_RADIX_FIRST], total[GANTRY_RADIX_FIRST], before = 0;
    K least;
    const int shift = GANTRY_ITEM_FN(radix_shift)(scratch, p, row, &least);

    for (int d = 0; d < GANTRY_RADIX_FIRST; d++) {
        at[d] = total[d] = 0;
    }
    for (GANTRY_LONG other = 0; other < p->parts; other++) {
        const uint comes_before = other < part;

        for (int d = 0; d < GANTRY_RADIX_FIRST; d++) {
            at[d] += comes_before * counts[other * GANTRY_RADIX_FIRST + d];
            total[d] += counts[other * GANTRY_RADIX_FIRST + d];
        }
    }
    for (int d = 0; d < GANTRY_RADIX_FIRST; d++) {
        at[d] += before;
        if (part == 0) {
            starts[d] = before;
        }
        before += total[d];
    }
    if (part == 0) {
        starts[GANTRY_RADIX_FIRST] = before;
    }
    for (GANTRY_LONG e = begin; e < end; e++) {
        const K key = keys[e];
        const uint place = at[(K)(key - least) >> shift]++;

        to.keys[place] = key;
        if (to.positions != 0) {
            to.positions[place] = (int)e;
        }
    }
}
GANTRY_ITEMS_0_1(radix_spread, uchar, gantry_radix_t)

/* The share's buckets are those that begin in its part of the row. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_finish)(GANTRY_GLOBAL uchar *scratch, GANTRY_GLOBAL T *out,
                                              GANTRY_PARAMETERS(gantry_radix_t) p, const GANTRY_LONG i)
{
    const GANTRY_LONG row = i / p->shares, share = i - row * p->shares;
    const GANTRY_LONG begin = p->length * share / p->shares, end = p->length * (share + 1) / p->shares;
    const GANTRY_ITEM_FN(radix_pairs) pairs = GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 1, row * p->length);
    const GANTRY_ITEM_FN(radix_pairs) other = GANTRY_ITEM_FN(radix_pairs_of)(scratch, p, 0, row * p->length);
    GANTRY_GLOBAL const uint *starts = (GANTRY_GLOBAL const uint *)(scratch + p->starts) + row * (GANTRY_RADIX_FIRST + 1);
    GANTRY_GLOBAL T *out_row = out + GANTRY_ITEM_FN(radix_row)(p, row);
    K least;
    const int has_rest = GANTRY_ITEM_FN(radix_shift)(scratch, p, row, &least) > 0;

    for (int d = 0; d < GANTRY_RADIX_FIRST; d++) {
        const GANTRY_LONG first = starts[d], count = starts[d + 1] - first;
        const GANTRY_ITEM_FN(radix_pairs) here = GANTRY_ITEM_FN(radix_from)(pairs, first);
        const GANTRY_ITEM_FN(radix_pairs) there = GANTRY_ITEM_FN(radix_from)(other, first);

        if (first < begin || first >= end || count == 0) {
            continue;
        }
        if (p->has_positions) {
            if (has_rest) {
                GANTRY_ITEM_FN(radix_sort_here)(here, there, count);
            }
        } else {
            const int is_there = has_rest && GANTRY_ITEM_FN(radix_sort)(here, there, count);

            GANTRY_ITEM_FN(radix_give)(is_there ? there.keys : here.keys, out_row + first * p->inner, p->inner, count,
                                       p->order);
        }
    }
}
GANTRY_ITEMS_0_2(radix_finish, uchar, T, gantry_radix_t)

/* An item is a row. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_restore)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const uchar *scratch,
                                               GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry_radix_t) p,
                                               const GANTRY_LONG i)
{
    GANTRY_GLOBAL const ulong *bounds = (GANTRY_GLOBAL const ulong *)(scratch + p->bounds) + i * p->parts * 3;
    const GANTRY_LONG row = GANTRY_ITEM_FN(radix_row)(p, i);
    ulong odd = 0;

    for (GANTRY_LONG part = 0; part < p->parts; part++) {
        odd |= bounds[3 * part + 2];
    }
    if (odd) {
        GANTRY_ITEM_FN(radix_zeros)(x + row, out + row, p->inner, p->length, p->order);
    }
}
GANTRY_ITEMS_2_1(radix_restore, T, uchar, T, gantry_radix_t)

#undef GANTRY_FIND_PART
#undef GANTRY_RADIX_POSITIONS
#undef GANTRY_RADIX_KEYS
#undef K

#endif
