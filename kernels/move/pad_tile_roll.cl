/* SPDX-License-Identifier: Apache-2.0 */
/* Pad, MirrorPad, Tile and Roll, by element size. Each of them maps an index of the output to an
 * index of the input, dimension by dimension.
 *
 * In every dimension the input's index is the output's plus an offset. An index outside the input
 * is
 *     border   replaced by `value`                                     Pad
 *     spaced   likewise; the input's elements are `apart` places apart Pad
 *     mirror   mirrored at the nearer end                              MirrorPad
 *     extend   mirrored as often as needed, or that of the nearer end  Pad
 *     wrap     taken modulo the input's size                           Pad, Tile, Roll
 *
 * For extend and wrap the input may be a part of a tensor, which begins at `base`.
 *
 * An item is a run in the last dimension, the only one with stride 1. */
#ifndef GANTRY_REMAP_PARAMETERS
#define GANTRY_REMAP_PARAMETERS
typedef struct gantry__remap_t {
    gantry__work_t work;
    GANTRY_LONG rank;       /* at least 1 */
    gantry__runs_t runs;    /* runs of the output's last dimension */
    GANTRY_LONG edge;       /* 1 if the outermost element is mirrored, too; 0; -1: no mirror */
    GANTRY_LONG base;       /* the offset of the input's first element */
    ulong value[2];         /* border: the bits of the value */
    GANTRY_LONG dims[8];    /* the output's */
    GANTRY_LONG sizes[8];   /* the input's */
    GANTRY_LONG strides[8]; /* the input's */
    GANTRY_LONG offsets[8]; /* wrap: in [0, size) */
    GANTRY_LONG apart[8];   /* spaced: at least 1 */
} gantry__remap_t;

/* The index of the element of a dimension that stands at `place`: mirrored at its ends with the
 * period of a way there and back, or with an edge of -1 the nearest. */
GANTRY_SHARED_FN GANTRY_LONG gantry__extended(const GANTRY_LONG place, const GANTRY_LONG size,
                                              const GANTRY_LONG edge) {
    const GANTRY_LONG period = 2 * (size - 1 + edge), steps = place < 0 ? -1 - place : place;

    if (steps == place && place < size) {
        return place;
    }
    if (edge < 0 || period == 0) {
        return place < 0 ? 0 : size - 1;
    }
    const GANTRY_LONG rest = steps - gantry__divide_position(steps, period) * period,
                      at = place < 0 ? period - 1 - rest : rest;
    return at < size ? at : 2 * size - 2 + edge - at;
}
#endif

#ifdef GANTRY_ITEM_TEXT

/* Sets first and end, the item's part of its row; row_size and offset, those of the last dimension;
 * and outs, the row. It runs the statements `use_place` for every other dimension d, where `place`
 * is the output's index plus the offset. */
#define GANTRY_FIND_PLACES(use_place)                                       \
    GANTRY_FIND_RUN(p->runs)                                                \
    const int last = (int)p->rank - 1;                                      \
    const GANTRY_LONG row_size = p->sizes[last];                            \
    const GANTRY_LONG offset = p->offsets[last];                            \
    GANTRY_GLOBAL T *outs = out + line * p->runs.size;                      \
    GANTRY_LONG rest = line;                                                \
    for (int d = last - 1; d >= 0; --d) {                                   \
        const GANTRY_LONG next = gantry__divide_position(rest, p->dims[d]); \
        const GANTRY_LONG place = rest - next * p->dims[d] + p->offsets[d]; \
        rest = next;                                                        \
        use_place                                                           \
    }

#define GANTRY_BETWEEN(at, least, most) ((at) < (least) ? (least) : (at) > (most) ? (most) : (at))

GANTRY_ITEM void GANTRY_ITEM_FN(border)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                        GANTRY_PARAMETERS(gantry__remap_t) p, const GANTRY_LONG i) {
    int is_inside = 1;
    GANTRY_LONG row = 0; /* the offset of the input's row, if is_inside */
    GANTRY_FIND_PLACES({
        is_inside = is_inside && place >= 0 && place < p->sizes[d];
        row += place * p->strides[d];
    })
    const T value = GANTRY_T_OF_TWO(p->value);
    const GANTRY_LONG begin_inside = is_inside ? GANTRY_BETWEEN(-offset, first, end) : end;
    const GANTRY_LONG end_inside =
        is_inside ? GANTRY_BETWEEN(row_size - offset, begin_inside, end) : end;

    for (GANTRY_LONG e = first; e < begin_inside; ++e) {
        outs[e] = value;
    }
    for (GANTRY_LONG e = begin_inside; e < end_inside; ++e) {
        outs[e] = x[row + e + offset];
    }
    for (GANTRY_LONG e = end_inside; e < end; ++e) {
        outs[e] = value;
    }
}
GANTRY_ITEMS_1_1(border, T, T, gantry__remap_t)

GANTRY_ITEM void GANTRY_ITEM_FN(spaced)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                        GANTRY_PARAMETERS(gantry__remap_t) p, const GANTRY_LONG i) {
    int is_inside = 1;
    GANTRY_LONG row = 0; /* the offset of the input's row, if is_inside */
    GANTRY_FIND_PLACES({
        const GANTRY_LONG at = place < 0 ? -1 : gantry__divide_position(place, p->apart[d]);
        is_inside = is_inside && at >= 0 && at * p->apart[d] == place && at < p->sizes[d];
        row += at * p->strides[d];
    })
    const T value = GANTRY_T_OF_TWO(p->value);
    const GANTRY_LONG apart = p->apart[last], from = first + offset;

    for (GANTRY_LONG e = first; e < end; ++e) {
        outs[e] = value;
    }
    for (GANTRY_LONG at = from <= 0 ? 0 : gantry__divide_position(from - 1, apart) + 1;
         is_inside && at < row_size && at * apart - offset < end; ++at) {
        outs[at * apart - offset] = x[row + at];
    }
}
GANTRY_ITEMS_1_1(spaced, T, T, gantry__remap_t)

#define GANTRY_MIRROR(place, size)                          \
    ((place) < 0         ? -(place)-p->edge                 \
     : (place) >= (size) ? 2 * (size)-2 + p->edge - (place) \
                         : (place))

GANTRY_ITEM void GANTRY_ITEM_FN(mirror)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                        GANTRY_PARAMETERS(gantry__remap_t) p, const GANTRY_LONG i) {
    GANTRY_GLOBAL const T *ins = x;
    GANTRY_FIND_PLACES(ins += GANTRY_MIRROR(place, p->sizes[d]) * p->strides[d];)
    const GANTRY_LONG begin_inside = GANTRY_BETWEEN(-offset, first, end);
    const GANTRY_LONG end_inside = GANTRY_BETWEEN(row_size - offset, begin_inside, end);

    for (GANTRY_LONG e = first; e < begin_inside; ++e) {
        outs[e] = ins[-(e + offset) - p->edge];
    }
    for (GANTRY_LONG e = begin_inside; e < end_inside; ++e) {
        outs[e] = ins[e + offset];
    }
    for (GANTRY_LONG e = end_inside; e < end; ++e) {
        outs[e] = ins[2 * row_size - 2 + p->edge - (e + offset)];
    }
}
GANTRY_ITEMS_1_1(mirror, T, T, gantry__remap_t)

GANTRY_ITEM void GANTRY_ITEM_FN(extend)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                        GANTRY_PARAMETERS(gantry__remap_t) p, const GANTRY_LONG i) {
    GANTRY_GLOBAL const T *ins = x + p->base;
    GANTRY_FIND_PLACES(ins += gantry__extended(place, p->sizes[d], p->edge) * p->strides[d];)
    const GANTRY_LONG begin_inside = GANTRY_BETWEEN(-offset, first, end);
    const GANTRY_LONG end_inside = GANTRY_BETWEEN(row_size - offset, begin_inside, end);

    for (GANTRY_LONG e = first; e < begin_inside; ++e) {
        outs[e] = ins[gantry__extended(e + offset, row_size, p->edge)];
    }
    for (GANTRY_LONG e = begin_inside; e < end_inside; ++e) {
        outs[e] = ins[e + offset];
    }
    for (GANTRY_LONG e = end_inside; e < end; ++e) {
        outs[e] = ins[gantry__extended(e + offset, row_size, p->edge)];
    }
}
GANTRY_ITEMS_1_1(extend, T, T, gantry__remap_t)

#define GANTRY_WRAP(place, size) ((place)-gantry__divide_position(place, size) * (size))

GANTRY_ITEM void GANTRY_ITEM_FN(wrap)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry__remap_t) p, const GANTRY_LONG i) {
    GANTRY_GLOBAL const T *ins = x + p->base;
    GANTRY_FIND_PLACES(ins += GANTRY_WRAP(place, p->sizes[d]) * p->strides[d];)
    GANTRY_LONG at = GANTRY_WRAP(first + offset, row_size);
    GANTRY_LONG e = first;

    while (e < end) {
        const GANTRY_LONG left = row_size - at < end - e ? row_size - at : end - e;
        for (GANTRY_LONG k = 0; k < left; ++k) {
            outs[e + k] = ins[at + k];
        }
        e += left;
        at = 0;
    }
}
GANTRY_ITEMS_1_1(wrap, T, T, gantry__remap_t)

#endif
