/* SPDX-License-Identifier: Apache-2.0 */
/* RotaryEmbedding: each pair (a, b) of a head's elements becomes (a cos - b sin, a sin + b cos). An
 * item is a head at one place. Each product rounds. 16-bit floats are computed in float32. */
#ifndef GANTRY_ROTARY_PARAMETERS
#define GANTRY_ROTARY_PARAMETERS
typedef struct gantry__rotary_t {
    gantry__work_t work;
    GANTRY_LONG heads, length, size; /* size: elements of a head */
    GANTRY_LONG pairs;               /* pairs that are turned */
    GANTRY_LONG cache_batch;         /* from one batch's cosines to the next: 0 if all share them */
    GANTRY_LONG heads_last;          /* x is [batch, length, heads, size]; else heads come first */
    GANTRY_LONG interleaved;         /* a pair is two neighbours; else its halves are apart */
} gantry__rotary_t;
#endif

#ifdef GANTRY_ITEM_TEXT

GANTRY_ITEM void GANTRY_ITEM_FN(rotary)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *cosines,
                                        GANTRY_GLOBAL const T *sines, GANTRY_GLOBAL T *y,
                                        GANTRY_PARAMETERS(gantry__rotary_t) p,
                                        const GANTRY_LONG i) {
    const GANTRY_LONG inner = p->heads_last ? p->heads : p->length;
    const GANTRY_LONG outer = p->heads_last ? p->length : p->heads;
    const GANTRY_LONG row = gantry__divide_position(i, inner);
    const GANTRY_LONG batch = gantry__divide_position(row, outer);
    const GANTRY_LONG place = p->heads_last ? row - batch * outer : i - row * inner;
    const GANTRY_LONG angles = batch * p->cache_batch + place * p->pairs;
    const GANTRY_LONG step = p->interleaved ? 2 : 1, apart = p->interleaved ? 1 : p->pairs;
    for (GANTRY_LONG k = 0; k < p->pairs; ++k) {
        const GANTRY_LONG at = i * p->size + k * step;
        const C a = GANTRY_WIDEN(x[at]), b = GANTRY_WIDEN(x[at + apart]);
        const C cosine = GANTRY_WIDEN(cosines[angles + k]), sine = GANTRY_WIDEN(sines[angles + k]);
        const C real = cosine * a, real_less = sine * b, other = sine * a, other_more = cosine * b;
        y[at] = GANTRY_NARROW(real - real_less);
        y[at + apart] = GANTRY_NARROW(other + other_more);
    }
    for (GANTRY_LONG k = 2 * p->pairs; k < p->size; ++k) {
        y[i * p->size + k] = x[i * p->size + k];
    }
}
GANTRY_ITEMS_3_1(rotary, T, T, T, T, gantry__rotary_t)

#endif
