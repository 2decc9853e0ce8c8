/* SPDX-License-Identifier: Apache-2.0 */
/* SpaceToBatchND and BatchToSpaceND, by element size. Some dimensions of the space are cut into
 * blocks. The position k in a block becomes a part of the batch's index, and the number q of the
 * block becomes the index in the dimension:
 *
 *     space [batch, s0, s1, ..., inner]
 *     batch [k0, k1, ..., batch, q0, q1, ..., inner]      s + start = q * block + k
 *
 * Places outside the space are 0. An item is a run in the last dimension that is cut, together with
 * all of `inner`. */
#ifndef GANTRY_SPACE_BATCH_PARAMETERS
#define GANTRY_SPACE_BATCH_PARAMETERS
typedef struct gantry__space_batch_t {
    gantry__work_t work;
    gantry__runs_t runs;
    GANTRY_LONG rank;  /* dimensions that are cut; at least 1 */
    GANTRY_LONG batch; /* the space's */
    GANTRY_LONG inner;
    GANTRY_LONG lines;     /* the product of all `counts` except the last one */
    GANTRY_LONG space[8];  /* the size of each dimension, */
    GANTRY_LONG counts[8]; /* the number of its blocks, */
    GANTRY_LONG blocks[8]; /* their size, */
    GANTRY_LONG starts[8]; /* and the padding before it */
} gantry__space_batch_t;
#endif

#ifdef GANTRY_ITEM_TEXT

GANTRY_ITEM void GANTRY_ITEM_FN(space_to_batch)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                                GANTRY_PARAMETERS(gantry__space_batch_t) p,
                                                const GANTRY_LONG i) {
    GANTRY_FIND_RUN(p->runs)
    const int last = (int)p->rank - 1;
    const GANTRY_LONG part = gantry__divide_position(line, p->lines);
    /* the q of the dimensions that are not yet decoded */
    GANTRY_LONG cell = line - part * p->lines;
    GANTRY_LONG place = gantry__divide_position(part, p->batch); /* the k of the same dimensions */
    const GANTRY_LONG image = part - place * p->batch;
    GANTRY_LONG next = gantry__divide_position(place, p->blocks[last]);
    const GANTRY_LONG start = place - next * p->blocks[last] - p->starts[last];
    GANTRY_LONG stride = p->space[last];
    GANTRY_LONG from = 0;
    int is_inside = 1;

    for (int d = last - 1; d >= 0; --d) {
        const GANTRY_LONG rest = gantry__divide_position(cell, p->counts[d]);
        GANTRY_LONG s = (cell - rest * p->counts[d]) * p->blocks[d] - p->starts[d];

        place = next;
        next = gantry__divide_position(place, p->blocks[d]);
        s += place - next * p->blocks[d];
        is_inside = is_inside && s >= 0 && s < p->space[d];
        from += s * stride;
        stride *= p->space[d];
        cell = rest;
    }
    from += image * stride;

    GANTRY_LONG s = gantry__divide_position(first, p->inner);
    GANTRY_LONG c = first - s * p->inner;
    s = s * p->blocks[last] + start;
    for (GANTRY_LONG e = first; e < end; ++e) {
        const int is_there = is_inside && s >= 0 && s < p->space[last];

        out[line * p->runs.size + e] = is_there ? x[(from + s) * p->inner + c] : GANTRY_T_ZERO;
        c++;
        if (c == p->inner) {
            c = 0;
            s += p->blocks[last];
        }
    }
}
GANTRY_ITEMS_1_1(space_to_batch, T, T, gantry__space_batch_t)

GANTRY_ITEM void GANTRY_ITEM_FN(batch_to_space)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                                GANTRY_PARAMETERS(gantry__space_batch_t) p,
                                                const GANTRY_LONG i) {
    GANTRY_FIND_RUN(p->runs)
    const int last = (int)p->rank - 1;
    const GANTRY_LONG block = p->blocks[last];
    GANTRY_LONG rest = line;
    GANTRY_LONG stride = p->counts[last];
    GANTRY_LONG from = 0;
    GANTRY_LONG place = 0;
    GANTRY_LONG places = block;

    for (int d = last - 1; d >= 0; --d) {
        const GANTRY_LONG next = gantry__divide_position(rest, p->space[d]);
        const GANTRY_LONG at = rest - next * p->space[d] + p->starts[d];
        const GANTRY_LONG q = gantry__divide_position(at, p->blocks[d]);

        from += q * stride;
        stride *= p->counts[d];
        place += (at - q * p->blocks[d]) * places;
        places *= p->blocks[d];
        rest = next;
    }
    from += (place * p->batch + rest) * stride;

    const GANTRY_LONG s = gantry__divide_position(first, p->inner);
    GANTRY_LONG q = gantry__divide_position(s + p->starts[last], block);
    GANTRY_LONG k = s + p->starts[last] - q * block;
    GANTRY_LONG c = first - s * p->inner;
    for (GANTRY_LONG e = first; e < end; ++e) {
        out[line * p->runs.size + e] = x[(from + q + k * p->batch * stride) * p->inner + c];
        c++;
        if (c == p->inner) {
            c = 0;
            k++;
            q += k == block;
            k = k == block ? 0 : k;
        }
    }
}
GANTRY_ITEMS_1_1(batch_to_space, T, T, gantry__space_batch_t)

#endif
