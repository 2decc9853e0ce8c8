/* SpaceToBatchND and BatchToSpaceND, by element size. Some dimensions of a space are cut into blocks; a place in a block is
 * a place in the batch, the number of the block is what is left of the dimension:
 *
 *     space [batch, s0, s1, ..., inner]   batch [k0, k1, ..., batch, q0, q1, ..., inner]   s + start = q * block + k
 *
 * What a space lacks at its ends is 0. Items are elements of the output. */
#ifndef GANTRY_SPACE_BATCH_PARAMETERS
#define GANTRY_SPACE_BATCH_PARAMETERS
typedef struct gantry_space_batch_t {
    gantry_work_t work;
    GANTRY_LONG most_place; /* no position of an element or in a dimension is above */
    GANTRY_LONG rank;       /* dimensions that are cut */
    GANTRY_LONG batch;      /* of the space */
    GANTRY_LONG inner;
    GANTRY_LONG cells;     /* the product of `counts` */
    GANTRY_LONG space[8];  /* of each dimension its size, */
    GANTRY_LONG counts[8]; /* blocks, */
    GANTRY_LONG blocks[8]; /* their size, */
    GANTRY_LONG starts[8]; /* and what comes before it */
} gantry_space_batch_t;
#endif

#ifdef GANTRY_ITEM_TEXT

#define GANTRY_DIVIDE(place, size) (GANTRY_LONG)gantry_divide_position((ulong)(place), (ulong)(size), p->most_place)

GANTRY_ITEM void GANTRY_ITEM_FN(space_to_batch)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                                GANTRY_PARAMETERS(gantry_space_batch_t) p, const GANTRY_LONG i)
{
    const GANTRY_LONG line = GANTRY_DIVIDE(i, p->inner);
    const GANTRY_LONG part = GANTRY_DIVIDE(line, p->cells);
    GANTRY_LONG place = GANTRY_DIVIDE(part, p->batch); /* k of the dimensions not done yet */
    GANTRY_LONG cell = line - part * p->cells;         /* q of them */
    GANTRY_LONG stride = p->inner;
    GANTRY_LONG from = i - line * p->inner;
    int is_inside = 1;
    const GANTRY_LONG image = part - place * p->batch;

    for (int d = (int)p->rank - 1; d >= 0; d--) {
        const GANTRY_LONG next_cell = GANTRY_DIVIDE(cell, p->counts[d]);
        const GANTRY_LONG next_place = GANTRY_DIVIDE(place, p->blocks[d]);
        const GANTRY_LONG q = cell - next_cell * p->counts[d];
        const GANTRY_LONG k = place - next_place * p->blocks[d];
        const GANTRY_LONG s = q * p->blocks[d] + k - p->starts[d];

        is_inside = is_inside && s >= 0 && s < p->space[d];
        from += s * stride;
        stride *= p->space[d];
        cell = next_cell;
        place = next_place;
    }
    out[i] = is_inside ? x[from + image * stride] : (T)0;
}
GANTRY_ITEMS_1_1(space_to_batch, T, T, gantry_space_batch_t)

GANTRY_ITEM void GANTRY_ITEM_FN(batch_to_space)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                                GANTRY_PARAMETERS(gantry_space_batch_t) p, const GANTRY_LONG i)
{
    GANTRY_LONG rest = GANTRY_DIVIDE(i, p->inner);
    GANTRY_LONG from = i - rest * p->inner;
    GANTRY_LONG stride = p->inner;
    GANTRY_LONG place = 0;
    GANTRY_LONG places = 1;

    for (int d = (int)p->rank - 1; d >= 0; d--) {
        const GANTRY_LONG next = GANTRY_DIVIDE(rest, p->space[d]);
        const GANTRY_LONG at = rest - next * p->space[d] + p->starts[d];
        const GANTRY_LONG q = GANTRY_DIVIDE(at, p->blocks[d]);

        from += q * stride;
        stride *= p->counts[d];
        place += (at - q * p->blocks[d]) * places;
        places *= p->blocks[d];
        rest = next;
    }
    out[i] = x[from + (place * p->batch + rest) * stride];
}
GANTRY_ITEMS_1_1(batch_to_space, T, T, gantry_space_batch_t)

#endif
