/* SPDX-License-Identifier: Apache-2.0 */
/* XlaDynamicSlice and XlaDynamicUpdateSlice, by element size: a box of a whole, which begins where
 * a tensor of the device says, and is clamped to be inside.
 *
 *     whole  |.....|== box ==|.....|     begin = clamp(start, 0, size of the whole - of the box)
 *
 * Dimensions are collapsed: one in which the box is as large as the whole becomes a part of the
 * dimension before it. An item is a run in the last dimension, the only one with stride 1. */
#ifndef GANTRY_BOX_PARAMETERS
#define GANTRY_BOX_PARAMETERS
typedef struct gantry__box_t {
    gantry__work_t work;
    gantry__runs_t runs;      /* runs of the box's last dimension */
    GANTRY_LONG rank;         /* at least 1 */
    GANTRY_LONG dims[8];      /* the box's */
    GANTRY_LONG strides[8];   /* the whole's */
    GANTRY_LONG start_count;  /* of dimensions in which the box may move */
    GANTRY_LONG start_bytes;  /* of a start: 1, 2, 4 or 8 */
    GANTRY_LONG start_signed; /* 1, or 0 for an unsigned type */
    GANTRY_LONG places[8];    /* of their starts */
    GANTRY_LONG limits[8];    /* the largest begin */
    GANTRY_LONG steps[8];     /* elements of the whole from one begin to the next */
} gantry__box_t;
#endif

#ifdef GANTRY_ITEM_TEXT

GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(read_start)(GANTRY_GLOBAL const uchar *starts,
                                                   GANTRY_PARAMETERS(gantry__box_t) p,
                                                   const GANTRY_LONG at) {
    if (p->start_bytes == 8) {
        return ((GANTRY_GLOBAL const GANTRY_LONG *)starts)[at];
    }
    if (p->start_bytes == 4) {
        return p->start_signed ? (GANTRY_LONG)((GANTRY_GLOBAL const int *)starts)[at]
                               : (GANTRY_LONG)((GANTRY_GLOBAL const uint *)starts)[at];
    }
    if (p->start_bytes == 2) {
        return p->start_signed ? (GANTRY_LONG)((GANTRY_GLOBAL const short *)starts)[at]
                               : (GANTRY_LONG)((GANTRY_GLOBAL const ushort *)starts)[at];
    }
    return p->start_signed ? (GANTRY_LONG)((GANTRY_GLOBAL const signed char *)starts)[at]
                           : (GANTRY_LONG)starts[at];
}

/* The place of the box's first element in the whole. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(find_box)(GANTRY_GLOBAL const uchar *starts,
                                                 GANTRY_PARAMETERS(gantry__box_t) p) {
    GANTRY_LONG first = 0;

    for (int k = 0; k < (int)p->start_count; ++k) {
        const GANTRY_LONG start = GANTRY_ITEM_FN(read_start)(starts, p, p->places[k]);
        const GANTRY_LONG most = p->limits[k];
        /* an unsigned start beyond the largest signed one is negative here, but no begin is */
        const GANTRY_LONG least = p->start_signed ? 0 : most;

        first += (start < 0 ? least : start > most ? most : start) * p->steps[k];
    }
    return first;
}

/* Sets first and end, the item's part of its row; and row, the place of the row in the whole. */
#define GANTRY_FIND_ROW                                                     \
    GANTRY_FIND_RUN(p->runs)                                                \
    GANTRY_LONG rest = line, row = GANTRY_ITEM_FN(find_box)(starts, p);     \
    for (int d = (int)p->rank - 2; d >= 0; --d) {                           \
        const GANTRY_LONG next = gantry__divide_position(rest, p->dims[d]); \
        row += (rest - next * p->dims[d]) * p->strides[d];                  \
        rest = next;                                                        \
    }

GANTRY_ITEM void GANTRY_ITEM_FN(take_box)(GANTRY_GLOBAL const uchar *starts,
                                          GANTRY_GLOBAL const T *whole, GANTRY_GLOBAL T *box,
                                          GANTRY_PARAMETERS(gantry__box_t) p, const GANTRY_LONG i) {
    GANTRY_FIND_ROW
    GANTRY_GLOBAL const T *from = whole + row;
    GANTRY_GLOBAL T *to = box + line * p->runs.size;

    for (GANTRY_LONG e = first; e < end; ++e) {
        to[e] = from[e];
    }
}
GANTRY_ITEMS_2_1(take_box, uchar, T, T, gantry__box_t)

GANTRY_ITEM void GANTRY_ITEM_FN(put_box)(GANTRY_GLOBAL const uchar *starts,
                                         GANTRY_GLOBAL const T *box, GANTRY_GLOBAL T *whole,
                                         GANTRY_PARAMETERS(gantry__box_t) p, const GANTRY_LONG i) {
    GANTRY_FIND_ROW
    GANTRY_GLOBAL const T *from = box + line * p->runs.size;
    GANTRY_GLOBAL T *to = whole + row;

    for (GANTRY_LONG e = first; e < end; ++e) {
        to[e] = from[e];
    }
}
GANTRY_ITEMS_2_1(put_box, uchar, T, T, gantry__box_t)

#undef GANTRY_FIND_ROW
#endif
