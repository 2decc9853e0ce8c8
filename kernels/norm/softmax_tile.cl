/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of softmax.cl on GPUs that keep a tile of a row in registers (row_tile.cl). It must
 * come after both, in the same program.
 *
 *   softmax_few          rows of at most 4096 elements, if each can have a compute unit: a
 *                        work-group for a row, which is read once
 *   longer rows, in three launches of a work-group for each tile:
 *   softmax_tile_most    the largest element of a tile
 *   softmax_tile_sum     the largest of the row from those, and the sum of a tile's terms
 *   softmax_tile_result  the sum of the row from those, and the results
 *
 * Each group of the last two reads the partial results of its row again. There are at most 4096 of
 * them, no more than the elements of a tile. */
#if !GANTRY_SERIAL

/* The group's largest value, for each item. */
GANTRY_LOCAL_FN C tile_largest(GANTRY_LOCAL_POINTER(C) shared, const int item, C value) {
    shared[item] = value;
    GANTRY_BARRIER();
    for (int apart = TILE_ITEMS / 2; apart > 0; apart /= 2) {
        if (item < apart) {
            value = SOFT_MAX(value, shared[item + apart]);
            shared[item] = value;
        }
        GANTRY_BARRIER();
    }
    value = shared[0];
    GANTRY_BARRIER();
    return value;
}

/* The largest of the item's own elements. */
GANTRY_FN C largest_of(const C *values) {
    C largest = values[0];
    GANTRY_UNROLLED for (int k = 1; k < TILE_ROWS; ++k) { largest = SOFT_MAX(largest, values[k]); }
    return largest;
}

/* terms[k] = exp(values[k] - largest) of the item's elements. This is a macro, because a compiler
 * that does not inline so long a function would keep the arrays in memory. */
#define SOFT_TERMS(terms, values, tile, largest)                              \
    GANTRY_UNROLLED for (int k = 0; k < TILE_ROWS; ++k) {                     \
        terms[k] = k < (tile).count ? SOFT_EXP(values[k] - (largest)) : (C)0; \
    }

/* Defines the tile of this group: the tile's number and the row's in [rows][tiles], and its
 * elements x, `count` from `first` on. */
#define SOFT_OPEN_TILE                                                      \
    const GANTRY_LONG group = GANTRY_GROUP_ID(0);                           \
    const GANTRY_LONG row = gantry__divide_position(group, tiles);          \
    const GANTRY_LONG first = (group - row * tiles) * TILE;                 \
    const int count = (int)(length - first < TILE ? length - first : TILE); \
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length + first;     \
    const tile_t tile = tile_of(count);
#define SOFT_READ(place) GANTRY_WIDEN(x[place])

GANTRY_KERNEL softmax_few(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), const GANTRY_LONG length) {
    GANTRY_LOCAL_ARRAY(C, shared, TILE_ITEMS);
    const tile_t tile = tile_of((int)length);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + GANTRY_GROUP_ID(0) * length;
    GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + GANTRY_GROUP_ID(0) * length;
    C values[TILE_ROWS];
    C terms[TILE_ROWS];
    TILE_LOAD(values, tile, SOFT_READ, SOFT_LOWEST)
    const C largest = tile_largest(shared, tile.item, largest_of(values)) + (C)0;
    SOFT_TERMS(terms, values, tile, largest)
    const C scale = scale_of(tile_sum(shared, &tile, terms));
    GANTRY_UNROLLED for (int k = 0; k < TILE_ROWS; ++k) {
        if (k < tile.count) {
#if GANTRY_SOFTMAX_LOG
            y[tile.first + k * TILE_LANES] = GANTRY_NARROW((values[k] - largest) - scale);
#else
            y[tile.first + k * TILE_LANES] = GANTRY_NARROW(terms[k] / scale);
#endif
        }
    }
}

GANTRY_KERNEL softmax_tile_most(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(most), const GANTRY_LONG length,
                                const GANTRY_LONG tiles) {
    GANTRY_LOCAL_ARRAY(C, shared, TILE_ITEMS);
    SOFT_OPEN_TILE
    C values[TILE_ROWS];
    TILE_LOAD(values, tile, SOFT_READ, SOFT_LOWEST)
    const C largest = tile_largest(shared, tile.item, largest_of(values));
    if (tile.item == 0) {
        GANTRY_OUT(C, most)[group] = largest;
    }
}

GANTRY_KERNEL softmax_tile_sum(GANTRY_SPAN_IN(in), GANTRY_SPAN_IN(most), GANTRY_SPAN_OUT(largest),
                               GANTRY_SPAN_OUT(sums), const GANTRY_LONG length,
                               const GANTRY_LONG tiles) {
    GANTRY_LOCAL_ARRAY(C, shared, TILE_ITEMS);
    SOFT_OPEN_TILE
    C values[TILE_ROWS];
    C terms[TILE_ROWS];
    C top = SOFT_LOWEST;
    TILE_LOAD(values, tile, SOFT_READ, SOFT_LOWEST)
    for (int i = tile.item; i < (int)tiles; i += TILE_ITEMS) {
        const C value = GANTRY_IN(C, most)[row * tiles + i];
        top = SOFT_MAX(top, value);
    }
    top = tile_largest(shared, tile.item, top) + (C)0;
    SOFT_TERMS(terms, values, tile, top)
    const C sum = tile_sum(shared, &tile, terms);
    if (tile.item == 0) {
        GANTRY_OUT(C, sums)[group] = sum;
        if (first == 0) {
            GANTRY_OUT(C, largest)[row] = top;
        }
    }
}

GANTRY_KERNEL softmax_tile_result(GANTRY_SPAN_IN(in), GANTRY_SPAN_IN(largest), GANTRY_SPAN_IN(sums),
                                  GANTRY_SPAN_OUT(out), const GANTRY_LONG length,
                                  const GANTRY_LONG tiles) {
#define SOFT_READ_SUM(place) GANTRY_IN(C, sums)[row * tiles + (place)]
    GANTRY_LOCAL_ARRAY(C, shared, TILE_ITEMS);
    SOFT_OPEN_TILE
    GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * length + first;
    const tile_t partial = tile_of((int)tiles);
    const C top = GANTRY_IN(C, largest)[row];
    C values[TILE_ROWS];
    if (tiles > TILE_ITEMS) {
        TILE_LOAD(values, partial, SOFT_READ_SUM, (C)0)
    } else { /* at most one for each item */
        GANTRY_UNROLLED for (int k = 1; k < TILE_ROWS; ++k) { values[k] = 0; }
        values[0] = partial.count > 0 ? SOFT_READ_SUM(partial.first) : (C)0;
    }
    const C scale = scale_of(tile_sum(shared, &partial, values));
    for (int i = tile.item; i < count; i += TILE_ITEMS) {
        y[i] = result_of(x[i], top, scale);
    }
}

#endif
