/* SPDX-License-Identifier: Apache-2.0 */
/* The first few of each row in sorted order, on processors, without sorting the rows. It must come
 * after radix_pairs.cl, whose sort it uses.
 *
 * A limit is found that at least k keys of the row do not exceed: the k-th of the least keys of
 * short groups. Keys up to the limit are collected, from groups that have any; mostly they are
 * little more than k. If they exceed the room, the room is sorted, its first k are kept, and the
 * last of them is the new limit. An equal key that comes later is not needed.
 *
 *     top_parts    an item does a part of a row, or some short rows of one part each
 *     top_join     an item joins the parts of a row */
#ifndef GANTRY_TOP_PARAMETERS
#define GANTRY_TOP_PARAMETERS

#define GANTRY_TOP_BLOCK 16 /* keys that are compared together */

/* The first `kept` of rows of `length` elements, each row in parts. Places are byte offsets in the
 * scratch. */
typedef struct gantry__top_t {
    gantry__work_t work;
    gantry__order_t order;
    GANTRY_LONG length, parts, kept;
    GANTRY_LONG all, items; /* parts of all rows, shared among items */
    GANTRY_LONG group;      /* elements of a group */
    /* an item's room, for found keys, or for one key of each group */
    GANTRY_LONG room;
    GANTRY_LONG keys[2], positions[2];       /* the rooms of all items, twice */
    GANTRY_LONG leasts;                      /* the least key of each group */
    GANTRY_LONG found_keys, found_positions; /* each part's: `kept` of them */
    GANTRY_LONG founds;                      /* their number */
} gantry__top_t;

#endif

#if defined(GANTRY_ITEM_TEXT) && (!defined(GANTRY_SERIAL) || GANTRY_SERIAL)

#define K GANTRY_KEY_OF_T

/* Finds the room of item i. which must be 0, or 1 for the second one. */
GANTRY_ITEM GANTRY_ITEM_FN(radix_pairs)
    GANTRY_ITEM_FN(top_room)(GANTRY_GLOBAL uchar *scratch, GANTRY_PARAMETERS(gantry__top_t) p,
                             const int which, const GANTRY_LONG i) {
    GANTRY_ITEM_FN(radix_pairs) out;

    out.keys = (GANTRY_GLOBAL K *)(scratch + p->keys[which]) + i * p->room;
    out.positions = (GANTRY_GLOBAL int *)(scratch + p->positions[which]) + i * p->room;
    return out;
}

/* Sorts the `count` keys of the room and keeps the first k; returns how many are kept. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(top_choose)(const GANTRY_ITEM_FN(radix_pairs) room,
                                                   const GANTRY_ITEM_FN(radix_pairs) other,
                                                   const GANTRY_LONG count,
                                                   const GANTRY_LONG kept) {
    GANTRY_ITEM_FN(radix_sort_here)(room, other, count);
    return count < kept ? count : kept;
}

/* The state of a room: `found` keys, and the limit that later keys must not exceed. */
typedef struct GANTRY_ITEM_FN(top_state) {
    K limit;
    GANTRY_LONG found;
} GANTRY_ITEM_FN(top_state);

/* Returns a key that at least `kept` keys do not exceed, and the least key of each of *out_groups
 * groups; 0 groups if they give no such key. */
GANTRY_ITEM K GANTRY_ITEM_FN(top_limit)(GANTRY_GLOBAL const T *x, const GANTRY_LONG count,
                                        const GANTRY_ITEM_FN(radix_pairs) room,
                                        const GANTRY_ITEM_FN(radix_pairs) other,
                                        GANTRY_GLOBAL K *leasts, GANTRY_PARAMETERS(gantry__top_t) p,
                                        GANTRY_LONG *out_groups) {
    const gantry__order_t order = p->order;
    const GANTRY_LONG group = p->group, groups = count / group;
    GANTRY_ITEM_FN(radix_pairs) sorted = room, more = other;

    *out_groups = groups < p->kept || groups > p->room ? 0 : groups;
    if (*out_groups == 0) {
        return ~(K)0;
    }
    for (GANTRY_LONG g = 0; g < groups; ++g) {
        K key = ~(K)0;

        for (GANTRY_LONG e = g * group; e < (g + 1) * group; ++e) {
            const K next = GANTRY_ITEM_FN(sort_key)(x[e], &order);

            key = next < key ? next : key;
        }
        leasts[g] = key;
        sorted.keys[g] = key;
    }
    sorted.positions = 0;
    more.positions = 0;
    GANTRY_ITEM_FN(radix_sort_here)(sorted, more, groups);
    return sorted.keys[p->kept - 1];
}

/* Collects the elements of [begin, end) that belong to the first k; their positions start at
 * `first`. */
GANTRY_ITEM void GANTRY_ITEM_FN(top_collect)(GANTRY_GLOBAL const T *x, const GANTRY_LONG first,
                                             const GANTRY_LONG begin, const GANTRY_LONG end,
                                             const GANTRY_ITEM_FN(radix_pairs) room,
                                             const GANTRY_ITEM_FN(radix_pairs) other,
                                             GANTRY_PARAMETERS(gantry__top_t) p,
                                             GANTRY_ITEM_FN(top_state) * state) {
    const gantry__order_t order = p->order;
    K limit = state->limit;
    GANTRY_LONG found = state->found;

    for (GANTRY_LONG e = begin; e < end; e += GANTRY_TOP_BLOCK) {
        const int some = end - e < GANTRY_TOP_BLOCK ? (int)(end - e) : GANTRY_TOP_BLOCK;
        K key[GANTRY_TOP_BLOCK], any = 0;

        if (some == GANTRY_TOP_BLOCK) {
            for (int b = 0; b < GANTRY_TOP_BLOCK; ++b) {
                key[b] = GANTRY_ITEM_FN(sort_key)(x[e + b], &order);
                any |= (K)(key[b] <= limit);
            }
        } else {
            for (int b = 0; b < some; ++b) {
                key[b] = GANTRY_ITEM_FN(sort_key)(x[e + b], &order);
            }
            any = 1;
        }
        if (!any) {
            continue;
        }
        if (found + GANTRY_TOP_BLOCK > p->room) {
            found = GANTRY_ITEM_FN(top_choose)(room, other, found, p->kept);
            limit = room.keys[p->kept - 1];
            if (limit == 0) {
                break;
            }
            limit--;
        }
        for (int b = 0; b < some; ++b) {
            room.keys[found] = key[b];
            room.positions[found] = (int)(first + e) + b;
            found += key[b] <= limit;
        }
    }
    state->limit = limit;
    state->found = found;
}

/* Collects the elements that belong to the first k of `count`. Returns their number; few are left
 * unsorted. Groups whose least key exceeds the limit are skipped. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(top_find)(GANTRY_GLOBAL const T *x, const GANTRY_LONG first,
                                                 const GANTRY_LONG count,
                                                 const GANTRY_ITEM_FN(radix_pairs) room,
                                                 const GANTRY_ITEM_FN(radix_pairs) other,
                                                 GANTRY_GLOBAL K *leasts,
                                                 GANTRY_PARAMETERS(gantry__top_t) p) {
    const GANTRY_LONG group = p->group;
    GANTRY_ITEM_FN(top_state) state = {0, 0};
    GANTRY_LONG groups;

    state.limit = GANTRY_ITEM_FN(top_limit)(x, count, room, other, leasts, p, &groups);
    for (GANTRY_LONG g = 0; g <= groups; ++g) {
        if (g == groups || leasts[g] <= state.limit) {
            GANTRY_ITEM_FN(top_collect)
            (x, first, g * group, g < groups ? (g + 1) * group : count, room, other, p, &state);
        }
    }
    return state.found;
}

/* Does part `number` of the parts of all rows. */
GANTRY_ITEM void GANTRY_ITEM_FN(top_part)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL uchar *scratch,
                                          GANTRY_PARAMETERS(gantry__top_t) p,
                                          const GANTRY_LONG number,
                                          const GANTRY_ITEM_FN(radix_pairs) room,
                                          const GANTRY_ITEM_FN(radix_pairs) other,
                                          GANTRY_GLOBAL K *leasts) {
    const GANTRY_LONG row = number / p->parts, part = number - row * p->parts;
    const GANTRY_LONG begin = p->length * part / p->parts, end = p->length * (part + 1) / p->parts;
    GANTRY_GLOBAL K *keys = (GANTRY_GLOBAL K *)(scratch + p->found_keys) + number * p->kept;
    GANTRY_GLOBAL int *positions =
        (GANTRY_GLOBAL int *)(scratch + p->found_positions) + number * p->kept;
    GANTRY_LONG found = GANTRY_ITEM_FN(top_find)(x + row * p->length + begin, begin, end - begin,
                                                 room, other, leasts, p);

    found = GANTRY_ITEM_FN(top_choose)(room, other, found, p->kept);
    for (GANTRY_LONG e = 0; e < found; ++e) {
        keys[e] = room.keys[e];
        positions[e] = room.positions[e];
    }
    ((GANTRY_GLOBAL GANTRY_LONG *)(scratch + p->founds))[number] = found;
}

GANTRY_ITEM void GANTRY_ITEM_FN(top_parts)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL uchar *scratch,
                                           GANTRY_PARAMETERS(gantry__top_t) p,
                                           const GANTRY_LONG i) {
    const GANTRY_ITEM_FN(radix_pairs) room = GANTRY_ITEM_FN(top_room)(scratch, p, 0, i);
    const GANTRY_ITEM_FN(radix_pairs) other = GANTRY_ITEM_FN(top_room)(scratch, p, 1, i);
    GANTRY_GLOBAL K *leasts = (GANTRY_GLOBAL K *)(scratch + p->leasts) + i * p->room;

    for (GANTRY_LONG number = p->all * i / p->items; number < p->all * (i + 1) / p->items;
         ++number) {
        GANTRY_ITEM_FN(top_part)(x, scratch, p, number, room, other, leasts);
    }
}
GANTRY_ITEMS_1_1(top_parts, T, uchar, gantry__top_t)

/* Joins the parts of a row, which had an item each: their rooms are one room here. The result is
 * then in the place of the first part's. */
GANTRY_ITEM void GANTRY_ITEM_FN(top_join)(GANTRY_GLOBAL uchar *scratch,
                                          GANTRY_PARAMETERS(gantry__top_t) p, const GANTRY_LONG i) {
    const GANTRY_ITEM_FN(radix_pairs) room = GANTRY_ITEM_FN(top_room)(scratch, p, 0, i * p->parts);
    const GANTRY_ITEM_FN(radix_pairs) other = GANTRY_ITEM_FN(top_room)(scratch, p, 1, i * p->parts);
    GANTRY_GLOBAL K *keys = (GANTRY_GLOBAL K *)(scratch + p->found_keys) + i * p->parts * p->kept;
    GANTRY_GLOBAL int *positions =
        (GANTRY_GLOBAL int *)(scratch + p->found_positions) + i * p->parts * p->kept;
    GANTRY_GLOBAL const GANTRY_LONG *founds =
        (GANTRY_GLOBAL const GANTRY_LONG *)(scratch + p->founds) + i * p->parts;
    GANTRY_LONG count = 0;

    for (GANTRY_LONG part = 0; part < p->parts; ++part) {
        for (GANTRY_LONG e = 0; e < founds[part]; e++, count++) {
            room.keys[count] = keys[part * p->kept + e];
            room.positions[count] = positions[part * p->kept + e];
        }
    }
    count = GANTRY_ITEM_FN(top_choose)(room, other, count, p->kept);
    for (GANTRY_LONG e = 0; e < count; ++e) {
        keys[e] = room.keys[e];
        positions[e] = room.positions[e];
    }
}
GANTRY_ITEMS_0_1(top_join, uchar, gantry__top_t)

#undef K

#endif
