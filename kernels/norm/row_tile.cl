/* SPDX-License-Identifier: Apache-2.0 */
/* A tile: up to 4096 adjacent elements of a row, one chunk of the tree of reduce.cl. A work-group
 * of a GPU keeps it in registers, so a row is read once, by 256 work-items.
 *
 * The items are four parts of 64 lanes. A part has `each` rows of 64 elements:
 *
 *     each = 2:   part 0: rows 0, 1        item 64 q + l has the elements of lane l
 *                 part 1: rows 2, 3        in the rows of part q
 *                 part 2: rows 4, 5
 *                 part 3: rows 6, 7
 *
 * All parts load at once. They add one after the other, so that each lane adds its elements in the
 * order of the tree: the bits of a sum are the same as of one item for each lane.
 *
 * It is only for GPUs, and must come after types.cl; elements are of type C. */
#if !GANTRY_SERIAL

#define TILE 4096
#define TILE_ITEMS 256
#define TILE_LANES 64
#define TILE_ROWS 16 /* most rows of a part */
#define TILE_PARTS (TILE / TILE_LANES / TILE_ROWS)

/* An item's elements of a tile: `count` of them, TILE_LANES apart. */
typedef struct {
    int item, first, count;
} tile_t;

GANTRY_FN tile_t tile_of(const int length) {
    const int item = (int)GANTRY_LOCAL_ID(0);
    const int each = (length + TILE_ITEMS - 1) / TILE_ITEMS;
    const int first = item / TILE_LANES * each * TILE_LANES + item % TILE_LANES;
    const int left = (length - first + TILE_LANES - 1) / TILE_LANES;
    tile_t tile;
    tile.item = item;
    tile.first = first;
    tile.count = left < each ? left : each; /* 0 or less where the tile ends */
    return tile;
}

/* values[k] = READ(place) of the item's elements, then `other`, for which place 0 is loaded. There
 * is no branch between the loads, so all are in flight before the first is used. */
#define TILE_LOAD(values, tile, READ, other)                                    \
    GANTRY_UNROLLED for (int k = 0; k < TILE_ROWS; ++k) {                       \
        values[k] = READ(k < (tile).count ? (tile).first + k * TILE_LANES : 0); \
    }                                                                           \
    GANTRY_UNROLLED for (int k = 0; k < TILE_ROWS; ++k) {                       \
        values[k] = k < (tile).count ? values[k] : (other);                     \
    }

/* The tree's sum of a tile, for each item; terms must be +0 after the item's elements. `shared`
 * must have room for TILE_LANES elements. */
GANTRY_LOCAL_FN C tile_sum(GANTRY_LOCAL_POINTER(C) shared, const tile_t *tile, const C *terms) {
    const int part = tile->item / TILE_LANES;
    const int lane = tile->item % TILE_LANES;
    for (int step = 0; step < TILE_PARTS; ++step) {
        if (part == step) {
            C sum = step == 0 ? (C)0 : shared[lane];
            GANTRY_UNROLLED for (int k = 0; k < TILE_ROWS; ++k) { sum = sum + terms[k]; }
            shared[lane] = sum;
        }
        GANTRY_BARRIER();
    }
    for (int apart = TILE_LANES / 2; apart > 0; apart /= 2) {
        if (tile->item < apart) {
            shared[tile->item] = shared[tile->item] + shared[tile->item + apart];
        }
        GANTRY_BARRIER();
    }
    const C sum = shared[0];
    GANTRY_BARRIER();
    return sum;
}

#endif
