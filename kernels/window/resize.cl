/* SPDX-License-Identifier: Apache-2.0 */
/* One dimension of a tensor resized, _ResizeLinear and _ResizeWeighted: each slice of the result
 * joins some slices of x, which a table names.
 *
 *     x     [lines, source, inner]
 *     out   [lines, result, inner]
 *
 * Linear: out = low + (high - low) * part, with places [result, 2] for low and high, and a part for
 * each slice. Weighted: the sum of weight * x, from 0 on, in the order of the table; slice r has
 * the entries from starts[r] on, before starts[r + 1].
 *
 * An item is a run of elements of a line of the result. */
#ifndef GANTRY_RESIZE_PARAMETERS
#define GANTRY_RESIZE_PARAMETERS
typedef struct gantry__resize_t {
    gantry__work_t work;
    gantry__runs_t runs;
    GANTRY_LONG source;
    GANTRY_LONG inner;
} gantry__resize_t;
#endif

#ifdef GANTRY_ITEM_TEXT

/* Sets x and out to the item's line, and finds the slice and its element with which the item
 * begins. */
#define GANTRY_FIND_SLICE                                         \
    GANTRY_FIND_RUN(p->runs)                                      \
    GANTRY_LONG place = gantry__divide_position(first, p->inner); \
    GANTRY_LONG c = first - place * p->inner;                     \
    x += line * p->source * p->inner;                             \
    out += line * p->runs.size;

GANTRY_ITEM void GANTRY_ITEM_FN(resize_between)(GANTRY_GLOBAL const T *low,
                                                GANTRY_GLOBAL const T *high, const T part,
                                                GANTRY_GLOBAL T *GANTRY_APART out,
                                                const GANTRY_LONG count) {
    for (GANTRY_LONG k = 0; k < count; ++k) {
        out[k] = low[k] + (high[k] - low[k]) * part;
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(resize_linear)(GANTRY_GLOBAL const T *x,
                                               GANTRY_GLOBAL const int *places,
                                               GANTRY_GLOBAL const T *parts, GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry__resize_t) p,
                                               const GANTRY_LONG i) {
    GANTRY_FIND_SLICE
    if (p->inner == 1) {
        for (GANTRY_LONG e = first; e < end; ++e) {
            const T low = x[places[2 * e]];
            out[e] = low + (x[places[2 * e + 1]] - low) * parts[e];
        }
        return;
    }
    for (GANTRY_LONG e = first; e < end;) {
        const GANTRY_LONG count = end - e < p->inner - c ? end - e : p->inner - c;

        GANTRY_ITEM_FN(resize_between)
        (x + places[2 * place] * p->inner + c, x + places[2 * place + 1] * p->inner + c,
         parts[place], out + e, count);
        e += count;
        c = 0;
        place++;
    }
}
GANTRY_ITEMS_3_1(resize_linear, T, int, T, T, gantry__resize_t)

/* x: the line's element of the first slice. */
GANTRY_ITEM void GANTRY_ITEM_FN(resize_sum)(GANTRY_GLOBAL const T *x,
                                            GANTRY_GLOBAL const int *places,
                                            GANTRY_GLOBAL const T *weights, const GANTRY_LONG inner,
                                            const int begin, const int end,
                                            GANTRY_GLOBAL T *GANTRY_APART out,
                                            const GANTRY_LONG count) {
    T sums[GANTRY_RUN_MOST];

    for (GANTRY_LONG k = 0; k < count; ++k) {
        sums[k] = GANTRY_T_ZERO;
    }
    for (int t = begin; t < end; ++t) {
        GANTRY_GLOBAL const T *slice = x + places[t] * inner;
        const T weight = weights[t];

        for (GANTRY_LONG k = 0; k < count; ++k) {
            sums[k] += weight * slice[k];
        }
    }
    for (GANTRY_LONG k = 0; k < count; ++k) {
        out[k] = sums[k];
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(resize_weighted)(
    GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const int *starts, GANTRY_GLOBAL const int *places,
    GANTRY_GLOBAL const T *weights, GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry__resize_t) p,
    const GANTRY_LONG i) {
    GANTRY_FIND_SLICE
    for (GANTRY_LONG e = first; e < end;) {
        const GANTRY_LONG count = end - e < p->inner - c ? end - e : p->inner - c;

        GANTRY_ITEM_FN(resize_sum)
        (x + c, places, weights, p->inner, starts[place], starts[place + 1], out + e, count);
        e += count;
        c = 0;
        place++;
    }
}
GANTRY_ITEMS_4_1(resize_weighted, T, int, int, T, T, gantry__resize_t)

#undef GANTRY_FIND_SLICE
#endif
