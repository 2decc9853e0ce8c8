/* SPDX-License-Identifier: Apache-2.0 */
/* ClipByValue. Its items are elements of the output. */
#ifndef GANTRY_CLIP_PARAMETERS
#define GANTRY_CLIP_PARAMETERS
/* The collapsed plan of x (which must be dense), the lower and the upper bound. */
typedef gantry__item_plan_t gantry__clip_t;
#endif

#ifdef GANTRY_ITEM_TEXT

/* A bound that is NaN has no effect. If the bounds cross, the lower one wins. */
GANTRY_ITEM T GANTRY_ITEM_FN(clip_value)(const T x, const T lower, const T upper) {
    const C low = GANTRY_WIDEN(lower), high = GANTRY_WIDEN(upper);
    C value = GANTRY_WIDEN(x);

    value = high < value ? high : value;
    value = value < low ? low : value;
    return GANTRY_NARROW(value);
}

/* Both bounds have one element: this loop becomes vector code. */
GANTRY_ITEM void GANTRY_ITEM_FN(clip_all)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *lower,
                                          GANTRY_GLOBAL const T *upper, GANTRY_GLOBAL T *out,
                                          GANTRY_PARAMETERS(gantry__clip_t) p,
                                          const GANTRY_LONG i) {
    (void)p;
    out[i] = GANTRY_ITEM_FN(clip_value)(x[i], lower[0], upper[0]);
}
GANTRY_ITEMS_3_1(clip_all, T, T, T, T, gantry__clip_t)

GANTRY_ITEM void GANTRY_ITEM_FN(clip)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *lower,
                                      GANTRY_GLOBAL const T *upper, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry__clip_t) p, const GANTRY_LONG i) {
    GANTRY_LONG rest = i;
    GANTRY_LONG lower_at = 0;
    GANTRY_LONG upper_at = 0;

    for (int d = (int)p->rank - 1; d > 0; --d) {
        const GANTRY_LONG next = gantry__divide_position(rest, p->dims[d]);
        const GANTRY_LONG at = rest - next * p->dims[d];

        lower_at += at * p->strides1[d];
        upper_at += at * p->strides2[d];
        rest = next;
    }
    out[i] = GANTRY_ITEM_FN(clip_value)(x[i], lower[lower_at + rest * p->strides1[0]],
                                        upper[upper_at + rest * p->strides2[0]]);
}
GANTRY_ITEMS_3_1(clip, T, T, T, T, gantry__clip_t)

#endif
