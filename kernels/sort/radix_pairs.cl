/* SPDX-License-Identifier: Apache-2.0 */
/* Stable radix sort of keys in memory, with or without positions, from the lowest digit up; by the
 * size of T, whose keys they are (sort_key.cl). One item sorts by itself, in radix.cl and top_k.cl.
 * This must come after indices.cl.
 *
 * Bits that all keys share cost nothing. Few keys are sorted by counting, for each key, the keys
 * that come before it. */
#ifndef GANTRY_RADIX_PAIRS_CL
#define GANTRY_RADIX_PAIRS_CL

/* bits of a digit: with fewer counters, increments of one counter wait for each other */
#define GANTRY_RADIX_LEAST_WIDTH 6
#define GANTRY_RADIX_MOST_WIDTH 10
#define GANTRY_RADIX_MOST (1 << GANTRY_RADIX_MOST_WIDTH) /* digits of a pass */
#define GANTRY_RADIX_FEW 64                              /* so many keys are not sorted by digits */
#define GANTRY_RADIX_MANY 4096   /* from so many keys on, they exceed the first-level cache */
#define GANTRY_RADIX_FAR_WIDTH 8 /* bits of a digit for so many */

#endif

#if defined(GANTRY_ITEM_TEXT) && (!defined(GANTRY_SERIAL) || GANTRY_SERIAL)

#define K GANTRY_KEY_OF_T

/* Keys and, unless they are NULL, their positions. */
typedef struct GANTRY_ITEM_FN(radix_pairs) {
    GANTRY_GLOBAL K *keys;
    GANTRY_GLOBAL int *positions;
} GANTRY_ITEM_FN(radix_pairs);

/* Puts each key after those that come before it. `most` must be a literal, at least the count. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_rank)(const GANTRY_ITEM_FN(radix_pairs) pairs,
                                            const int count, const int most) {
    K key[GANTRY_RADIX_FEW];
    uint rank[GANTRY_RADIX_FEW];
    int place[GANTRY_RADIX_FEW];

    for (int e = 0; e < most; ++e) {
        key[e] = e < count ? pairs.keys[e] : ~(K)0;
    }
    for (int e = 0; e < count; ++e) {
        const K own = key[e];
        K before = 0;

        GANTRY_LANES_SUM(before)
        for (int other = 0; other < most; ++other) {
            before += (K)((key[other] < own) | ((key[other] == own) & (other < e)));
        }
        rank[e] = (uint)before;
    }
    for (int e = 0; e < count; ++e) {
        pairs.keys[rank[e]] = key[e];
    }
    if (pairs.positions != 0) {
        for (int e = 0; e < count; ++e) {
            place[e] = pairs.positions[e];
        }
        for (int e = 0; e < count; ++e) {
            pairs.positions[rank[e]] = place[e];
        }
    }
}

/* Sorts the keys by a digit, ((key - least) >> shift) & mask. Returns 0, without a move, if all
 * keys have the same digit. */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_pass)(const GANTRY_ITEM_FN(radix_pairs) from,
                                           const GANTRY_ITEM_FN(radix_pairs) to,
                                           const GANTRY_LONG count, const K least, const int shift,
                                           const uint mask) {
    uint at[GANTRY_RADIX_MOST], before = 0;

    for (uint d = 0; d <= mask; ++d) {
        at[d] = 0;
    }
    for (GANTRY_LONG e = 0; e < count; ++e) {
        at[(uint)((from.keys[e] - least) >> shift) & mask]++;
    }
    if (at[(uint)((from.keys[0] - least) >> shift) & mask] == (uint)count) {
        return 0;
    }
    for (uint d = 0; d <= mask; ++d) {
        const uint some = at[d];

        at[d] = before;
        before += some;
    }
    if (from.positions == 0) {
        for (GANTRY_LONG e = 0; e < count; ++e) {
            const K key = from.keys[e];

            to.keys[at[(uint)((key - least) >> shift) & mask]++] = key;
        }
        return 1;
    }
    for (GANTRY_LONG e = 0; e < count; ++e) {
        const K key = from.keys[e];
        const uint place = at[(uint)((key - least) >> shift) & mask]++;

        to.keys[place] = key;
        to.positions[place] = from.positions[e];
    }
    return 1;
}

/* Whether the keys, which must be at least two, are in order; if not, the least, the largest, and
 * the bits in which they differ. */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_is_sorted)(GANTRY_GLOBAL const K *keys,
                                                const GANTRY_LONG count, K *out_least, K *out_most,
                                                K *out_differ) {
    K least = keys[count - 1], most = least, differ = 0, falls = 0;

    for (GANTRY_LONG e = 0; e + 1 < count; ++e) {
        const K key = keys[e], next = keys[e + 1];

        least = key < least ? key : least;
        most = key > most ? key : most;
        differ |= key ^ next;
        falls |= (K)(next < key);
    }
    *out_least = least;
    *out_most = most;
    *out_differ = differ;
    return !falls;
}

/* The most bits of a digit. Counters and their places must fit in the first-level cache together
 * with the keys, and must be fewer than the keys. */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_width)(const GANTRY_LONG count) {
    int width = GANTRY_RADIX_LEAST_WIDTH;

    if (count >= GANTRY_RADIX_MANY) {
        return GANTRY_RADIX_FAR_WIDTH;
    }
    while (width < GANTRY_RADIX_MOST_WIDTH && (count >> (width + 1)) != 0) {
        width++;
    }
    return width;
}

/* Sorts by digits of equal width, from the lowest up. differ must be the bits in which keys differ.
 * Returns whether the result is in `other`. */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_passes)(const GANTRY_ITEM_FN(radix_pairs) pairs,
                                             const GANTRY_ITEM_FN(radix_pairs) other,
                                             const GANTRY_LONG count, const K least, const K most,
                                             const K differ) {
    const int width = GANTRY_ITEM_FN(radix_width)(count);
    int is_other = 0, shift = 0, end = 0, passes;

    while (((differ >> shift) & 1) == 0) {
        shift++;
    }
    while (end < 8 * (int)sizeof(K) && ((most - least) >> end) != 0) {
        end++;
    }
    for (passes = (end - shift + width - 1) / width; passes > 0; --passes) {
        const int bits = (end - shift + passes - 1) / passes;

        is_other ^= GANTRY_ITEM_FN(radix_pass)(is_other ? other : pairs, is_other ? pairs : other,
                                               count, least, shift, (1u << bits) - 1);
        shift += bits;
    }
    return is_other;
}

/* Sorts; `other` must have the same size. Returns whether the result is there. */
GANTRY_ITEM int GANTRY_ITEM_FN(radix_sort)(const GANTRY_ITEM_FN(radix_pairs) pairs,
                                           const GANTRY_ITEM_FN(radix_pairs) other,
                                           const GANTRY_LONG count) {
    K least, most, differ;

    if (count <= GANTRY_RADIX_FEW / 4) {
        GANTRY_ITEM_FN(radix_rank)(pairs, (int)count, GANTRY_RADIX_FEW / 4);
        return 0;
    }
    if (count <= GANTRY_RADIX_FEW) {
        GANTRY_ITEM_FN(radix_rank)(pairs, (int)count, GANTRY_RADIX_FEW);
        return 0;
    }
    return GANTRY_ITEM_FN(radix_is_sorted)(pairs.keys, count, &least, &most, &differ)
               ? 0
               : GANTRY_ITEM_FN(radix_passes)(pairs, other, count, least, most, differ);
}

/* Sorts, and leaves the result in the place of the keys. */
GANTRY_ITEM void GANTRY_ITEM_FN(radix_sort_here)(const GANTRY_ITEM_FN(radix_pairs) pairs,
                                                 const GANTRY_ITEM_FN(radix_pairs) other,
                                                 const GANTRY_LONG count) {
    if (!GANTRY_ITEM_FN(radix_sort)(pairs, other, count)) {
        return;
    }
    for (GANTRY_LONG e = 0; e < count; ++e) {
        pairs.keys[e] = other.keys[e];
    }
    for (GANTRY_LONG e = 0; pairs.positions != 0 && e < count; ++e) {
        pairs.positions[e] = other.positions[e];
    }
}

#undef K

#endif
