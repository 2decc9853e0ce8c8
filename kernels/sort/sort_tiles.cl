/* SPDX-License-Identifier: Apache-2.0 */
/* The sort of sort.cl by tiles of 2048 elements on GPUs, in local memory: sort_tile makes runs of
 * 2048, and saves eight passes over global memory; sort_merge_tile merges them. Each of the 256
 * items of a group has 8 neighbours of the tile in registers:
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

/* A group for each tile; p.runs are the tiles of a row. */
GANTRY_KERNEL sort_tile(GANTRY_SPAN_IN(x), GANTRY_SPAN_OUT(keys), GANTRY_SPAN_OUT(positions),
                        GANTRY_VALUE(gantry__sort_runs_t, p)) {
    GANTRY_TAKE(gantry__sort_runs_t, p)
    GANTRY_LOCAL_ARRAY(K, tile_keys, GANTRY_SORT_PLACE(GANTRY_SORT_TILE));
    GANTRY_LOCAL_ARRAY(int, tile_places, GANTRY_SORT_PLACE(GANTRY_SORT_TILE));
    const int item = (int)GANTRY_LOCAL_ID(0), mine = item * GANTRY_SORT_RUN;
    const GANTRY_LONG row = gantry__divide_position(GANTRY_GROUP_ID(0), p.runs),
                      begin = (GANTRY_GROUP_ID(0) - row * p.runs) * GANTRY_SORT_TILE;
    const GANTRY_LONG outer = gantry__divide_position(row, p.inner), rest = p.length - begin;
    const int count = rest < GANTRY_SORT_TILE ? (int)rest : GANTRY_SORT_TILE;
    GANTRY_GLOBAL const T *in =
        GANTRY_IN(T, x) + (outer * p.length + begin) * p.inner + row - outer * p.inner;
    K key[GANTRY_SORT_RUN];
    int place[GANTRY_SORT_RUN];

    GANTRY_UNROLLED for (int e = 0; e < GANTRY_SORT_RUN; ++e) {
        const int at = e * GANTRY_SORT_TILE_ITEMS + item;
        const T element = in[(at < count ? at : 0) * p.inner];
        tile_keys[GANTRY_SORT_PLACE(at)] =
            at < count ? GANTRY_ITEM_FN(sort_key)(element, &p.order) : ~(K)0;
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
        const int at = e * GANTRY_SORT_TILE_ITEMS + item;
        if (at < count) {
            GANTRY_OUT(K, keys)[row * p.length + begin + at] = tile_keys[GANTRY_SORT_PLACE(at)];
            GANTRY_OUT(int, positions)
            [row * p.length + begin + at] = (int)begin + tile_places[GANTRY_SORT_PLACE(at)];
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
