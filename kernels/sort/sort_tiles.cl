/* SPDX-License-Identifier: Apache-2.0 */
/* The sort of sort.cl by tiles of 2048 elements on GPUs, in local memory: sort_tile sorts rows of
 * up to 2048 elements, several to a tile, in one launch that writes the result; of longer rows it
 * makes runs of 2048, which sort_merge_tile merges. If only the first k of long rows are wanted,
 * sort_tile keeps k of each tile, and sorts what is left again. Each of the 256 items of a group
 * has 8 neighbours of the tile in registers:
 *
 *     item          0            1            2            3        ...
 *     sorts     [ 8 keys ]   [ 8 keys ]   [ 8 keys ]   [ 8 keys ]   by exchanges of neighbours
 *     merges    [  8 of the first 16  ]   [  8 of the next 16   ]   width 8
 *     merges    [                 8 of the first 32             ]   width 16, ..., 1024
 *
 * Before a merge all items store their keys, and each finds by sort_split's search along the merge
 * path where its outputs begin. Of equal keys those of the first run come first. Keys after the end
 * of the row are the largest and come after equal keys, so they stay at the end.
 *
 * A place in local memory has one more word for each 32: items whose elements are 8 apart use all
 * banks. Cost: 16.5 KiB of local memory, or 24.8 KiB for elements of 8 bytes. It must come after
 * sort.cl. */
#if !GANTRY_SERIAL

#define GANTRY_SORT_TILE 2048
#define GANTRY_SORT_TILE_ITEMS (GANTRY_SORT_TILE / GANTRY_SORT_RUN)
#define GANTRY_SORT_PLACE(i) ((i) + ((i) >> 5))
#define K GANTRY_KEY_OF_T

/* Two neighbouring sorted runs in local memory, from place `start` on. */
typedef struct sort_pair_t {
    int start, a_count, b_count;
} sort_pair_t;

/* Returns how many of the first `diagonal` outputs come from the first run. */
GANTRY_LOCAL_FN int sort_tile_split(GANTRY_LOCAL_POINTER(const K) keys, const sort_pair_t *pair,
                                    const int diagonal) {
    int low = diagonal > pair->b_count ? diagonal - pair->b_count : 0;
    int high = diagonal < pair->a_count ? diagonal : pair->a_count;

    while (low < high) {
        const int middle = (low + high) / 2, from_b = pair->a_count + diagonal - 1 - middle;
        const K a = keys[GANTRY_SORT_PLACE(pair->start + middle)];
        const K b = keys[GANTRY_SORT_PLACE(pair->start + from_b)];

        low = a <= b ? middle + 1 : low;
        high = a <= b ? high : middle;
    }
    return low;
}

/* key, place = the item's outputs of a pair, from output `diagonal` on. */
#define GANTRY_SORT_MERGE_OWN(key, place, pair, diagonal)                                  \
    {                                                                                      \
        const int middle = (pair).start + (pair).a_count, end = middle + (pair).b_count;   \
        const int from_a = sort_tile_split(tile_keys, &(pair), diagonal);                  \
        int at_a = (pair).start + from_a, at_b = middle + (diagonal)-from_a;               \
        GANTRY_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) {                        \
            const K a = tile_keys[GANTRY_SORT_PLACE(at_a < middle ? at_a : (pair).start)]; \
            const K b = tile_keys[GANTRY_SORT_PLACE(at_b < end ? at_b : (pair).start)];    \
            const int takes_a = at_a < middle && (at_b >= end || a <= b);                  \
            const int from = takes_a ? at_a : at_b < end ? at_b : (pair).start;            \
            key[e] = takes_a ? a : b;                                                      \
            place[e] = tile_places[GANTRY_SORT_PLACE(from)];                               \
            at_a += takes_a;                                                               \
            at_b += !takes_a;                                                              \
        }                                                                                  \
    }

#define GANTRY_SORT_KEEP_OWN(key, place)                        \
    GANTRY_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) { \
        tile_keys[GANTRY_SORT_PLACE(mine + e)] = key[e];        \
        tile_places[GANTRY_SORT_PLACE(mine + e)] = place[e];    \
    }                                                           \
    GANTRY_BARRIER();

/* Place `at` of a tile: its row, the place in the row, and whether an element is there. */
typedef struct sort_spot_t {
    GANTRY_LONG row, e;
    int is_there;
} sort_spot_t;

GANTRY_FN sort_spot_t sort_find_spot(const gantry__sort_tile_t *p, const int at) {
    const GANTRY_LONG tiles = gantry__divide_position(GANTRY_GROUP_ID(0), p->tiles);
    const int within = at & (int)(p->room - 1);
    sort_spot_t spot;

    spot.row = tiles * (GANTRY_SORT_TILE / p->room) + (at - within) / (int)p->room;
    spot.e = (GANTRY_GROUP_ID(0) - tiles * p->tiles) * GANTRY_SORT_TILE + within;
    spot.is_there = spot.row < p->rows && spot.e < p->length;
    return spot;
}

/* The place of element e of a row in an array of rows of `length` elements with stride inner. */
GANTRY_FN GANTRY_LONG sort_at(const GANTRY_LONG inner, const GANTRY_LONG length,
                              const GANTRY_LONG row, const GANTRY_LONG e) {
    const GANTRY_LONG outer = inner == 1 ? row : gantry__divide_position(row, inner);

    return (outer * length + e) * inner + row - outer * inner;
}

/* A group for each tile, which is a part of a row, or some whole rows. What it sorts is either
 * elements of x or pairs of an earlier launch. What it writes, the first p.kept of each tile or
 * row, is either pairs or the result. */
GANTRY_KERNEL sort_tile(GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(keys), GANTRY_SPAN_IN(positions),
                        GANTRY_SPAN_OUT(out_keys), GANTRY_SPAN_OUT(out_positions),
                        GANTRY_SPAN_OUT(values), GANTRY_SPAN_OUT(indices),
                        GANTRY_VALUE(gantry__sort_tile_t, p)) {
    GANTRY_TAKE(gantry__sort_tile_t, p)
    GANTRY_LOCAL_ARRAY(K, tile_keys, GANTRY_SORT_PLACE(GANTRY_SORT_TILE));
    GANTRY_LOCAL_ARRAY(int, tile_places, GANTRY_SORT_PLACE(GANTRY_SORT_TILE));
    const int item = (int)GANTRY_LOCAL_ID(0), mine = item * GANTRY_SORT_RUN;
    const int count = p.length < p.room ? (int)p.length : (int)p.room;
    K key[GANTRY_SORT_RUN];
    int place[GANTRY_SORT_RUN];

    GANTRY_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) {
        const int at = e * GANTRY_SORT_TILE_ITEMS + item;
        const sort_spot_t spot = sort_find_spot(&p, at);
        K loaded = ~(K)0;
        if (spot.is_there && p.takes_pairs) {
            loaded = GANTRY_IN(K, keys)[spot.row * p.length + spot.e];
        } else if (spot.is_there) {
            loaded = GANTRY_ITEM_FN(sort_key)(
                GANTRY_IN(T, x)[sort_at(p.inner, p.length, spot.row, spot.e)], &p.order);
        }
        tile_keys[GANTRY_SORT_PLACE(at)] = loaded;
    }
    GANTRY_BARRIER();
    GANTRY_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) {
        key[e] = tile_keys[GANTRY_SORT_PLACE(mine + e)];
        place[e] = mine + e;
    }
    GANTRY_SORT_OWN(key, place)
    GANTRY_BARRIER();
    for (int width = GANTRY_SORT_RUN;; width *= 2) {
        const sort_pair_t pair = {mine / (2 * width) * (2 * width), width, width};
        GANTRY_SORT_KEEP_OWN(key, place)
        if (width >= count) {
            break;
        }
        GANTRY_SORT_MERGE_OWN(key, place, pair, mine - pair.start)
        GANTRY_BARRIER();
    }
    GANTRY_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) {
        const int at = e * GANTRY_SORT_TILE_ITEMS + item, within = at & (int)(p.room - 1);
        const sort_spot_t spot = sort_find_spot(&p, at);
        if (spot.is_there && within < p.kept) {
            const GANTRY_LONG begin = spot.e - within; /* of the tile in the row */
            const GANTRY_LONG from = begin + tile_places[GANTRY_SORT_PLACE(at)] - (at - within);
            const int position =
                p.takes_pairs ? GANTRY_IN(int, positions)[spot.row * p.length + from] : (int)from;
            const GANTRY_LONG to = sort_at(p.inner, p.kept, spot.row, within);

            if (p.tiles > 1 || p.gives_pairs) {
                const GANTRY_LONG pair =
                    spot.row * p.out_length + begin / GANTRY_SORT_TILE * p.kept + within;
                GANTRY_OUT(K, out_keys)[pair] = tile_keys[GANTRY_SORT_PLACE(at)];
                GANTRY_OUT(int, out_positions)[pair] = position;
            } else {
                if (p.has_values) {
                    GANTRY_OUT(T, values)
                    [to] = GANTRY_IN(T, x)[sort_at(p.inner, p.x_length, spot.row, position)];
                }
                if (p.index_bytes == 2) {
                    GANTRY_OUT(short, indices)[to] = (short)position;
                } else if (p.index_bytes != 0) {
                    GANTRY_PUT_INDEX(GANTRY_OUT(uchar, indices), p.index_bytes == 8, to, position);
                }
            }
        }
    }
}

/* Does what sort_merge does, by a group for 2048 outputs, all of which must be of one pair of runs.
 * Two items search where the outputs begin and end in the first run. The group loads its part of
 * both runs in the order of memory, merges it in local memory, and stores it in that order. */
GANTRY_KERNEL sort_merge_tile(GANTRY_SPAN_IN(keys), GANTRY_SPAN_IN(positions),
                              GANTRY_SPAN_OUT(out_keys), GANTRY_SPAN_OUT(out_positions),
                              GANTRY_VALUE(gantry__sort_merge_t, p)) {
    GANTRY_TAKE(gantry__sort_merge_t, p)
    GANTRY_LOCAL_ARRAY(K, tile_keys, GANTRY_SORT_PLACE(GANTRY_SORT_TILE));
    GANTRY_LOCAL_ARRAY(int, tile_places, GANTRY_SORT_PLACE(GANTRY_SORT_TILE));
    GANTRY_LOCAL_ARRAY(GANTRY_LONG, bounds, 2);
    const int item = (int)GANTRY_LOCAL_ID(0), mine = item * GANTRY_SORT_RUN;
    const GANTRY_LONG row = gantry__divide_position(GANTRY_GROUP_ID(0), p.pieces),
                      begin = (GANTRY_GROUP_ID(0) - row * p.pieces) * GANTRY_SORT_TILE;
    const GANTRY_LONG number = gantry__divide_position(begin, p.out_width),
                      diagonal = begin - number * p.out_width;
    const GANTRY_LONG start = number * 2 * p.width, rest = p.length - start;
    const GANTRY_LONG a_count = rest < p.width ? rest : p.width;
    const GANTRY_LONG b_count = rest < 2 * p.width ? rest - a_count : p.width;
    const GANTRY_LONG left = p.out_length - begin;
    const int count = left < GANTRY_SORT_TILE ? (int)left : GANTRY_SORT_TILE;
    GANTRY_GLOBAL const K *in = GANTRY_IN(K, keys) + row * p.length + start;
    GANTRY_GLOBAL const int *places = GANTRY_IN(int, positions) + row * p.length + start;
    K key[GANTRY_SORT_RUN];
    int place[GANTRY_SORT_RUN];

    if (item % (GANTRY_SORT_TILE_ITEMS / 2) == 0) {
        bounds[item != 0] =
            GANTRY_ITEM_FN(sort_split)(in, a_count, b_count, diagonal + (item != 0 ? count : 0));
    }
    GANTRY_BARRIER();
    const GANTRY_LONG first_a = bounds[0], first_b = a_count + diagonal - first_a;
    const sort_pair_t pair = {0, (int)(bounds[1] - first_a), count - (int)(bounds[1] - first_a)};
    GANTRY_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) {
        const int at = e * GANTRY_SORT_TILE_ITEMS + item;
        if (at < count) {
            const GANTRY_LONG from = at < pair.a_count ? first_a + at : first_b + at - pair.a_count;
            tile_keys[GANTRY_SORT_PLACE(at)] = in[from];
            tile_places[GANTRY_SORT_PLACE(at)] = places[from];
        }
    }
    GANTRY_BARRIER();
    GANTRY_SORT_MERGE_OWN(key, place, pair, mine < count ? mine : count)
    GANTRY_BARRIER();
    GANTRY_SORT_KEEP_OWN(key, place)
    GANTRY_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) {
        const int at = e * GANTRY_SORT_TILE_ITEMS + item;
        if (at < count) {
            const GANTRY_LONG to = row * p.out_length + begin + at;
            GANTRY_OUT(K, out_keys)[to] = tile_keys[GANTRY_SORT_PLACE(at)];
            GANTRY_OUT(int, out_positions)[to] = tile_places[GANTRY_SORT_PLACE(at)];
        }
    }
}

#undef K
#endif
