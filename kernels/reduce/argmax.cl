/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin: the index of the first largest, or least, element. NaN never wins. If no
 * element is above the lowest value, the answer is 0.
 *
 * ArgMin is ArgMax of keys in reverse order: -x for floats, all bits inverted for integers. Halves
 * are compared as float32. A row is cut into pieces, and each gives one index; argmax_join takes
 * the best of a row's pieces. Of equal elements the lower index wins, so the result does not depend
 * on the cut into pieces and lanes.
 *
 * Options: GANTRY_T; GANTRY_SERIAL 1 for the forms of CPUs, 0 for those of GPUs. */

#if GANTRY_T_IS(f64)
#define ARG_LOWEST GANTRY_AS_DOUBLE(((ulong)0xfff00000u) << 32)
#elif GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF
#define ARG_LOWEST GANTRY_AS_FLOAT(0xff800000u)
#elif GANTRY_T_IS_SIGNED
#define ARG_LOWEST ((C)(-(C)(~(ulong)0 >> (65 - 8 * sizeof(C))) - 1))
#else
#define ARG_LOWEST ((C)0)
#endif

#if GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF
#define ARG_REVERSED(x) (-(x))
#else
#define ARG_REVERSED(x) ((C) ~(x))
#endif

GANTRY_FN C key_of(T x, const GANTRY_LONG is_least) {
    const C value = GANTRY_WIDEN(x);
    return is_least ? ARG_REVERSED(value) : value;
}

#define LANES 64
#define CHUNK 4096

/* Must have the host struct's fields: [outer, length, columns] reduced over its middle axis. */
typedef struct {
    GANTRY_LONG length;
    GANTRY_LONG columns;
    GANTRY_LONG sequences; /* outer * columns */
    GANTRY_LONG parts;     /* pieces of one sequence */
    GANTRY_LONG piece;     /* elements of a piece */
    GANTRY_LONG units;     /* sequences * parts; argmax_columns: outer * blocks * parts */
    GANTRY_LONG each;      /* units of a work-group, on CPUs */
    GANTRY_LONG blocks;    /* only argmax_columns: of 64 columns */
    GANTRY_LONG lanes;     /* 64 for argmax_row; those of a unit for argmax_group */
    GANTRY_LONG is_least;  /* whether it is ArgMin */
    GANTRY_LONG out_bytes; /* bytes of an index in the output: 2, 4 or 8 */
} argmax_t;

GANTRY_FN void put_index(GANTRY_SPAN_OUT(out), const argmax_t *plan, GANTRY_LONG at,
                         GANTRY_LONG index) {
    if (plan->out_bytes == 8) {
        GANTRY_OUT(GANTRY_LONG, out)[at] = index;
    } else if (plan->out_bytes == 4) {
        GANTRY_OUT(int, out)[at] = (int)index;
    } else {
        GANTRY_OUT(ushort, out)[at] = (ushort)index;
    }
}

/* Writes to the output when a sequence is one piece, else to `partial`. */
GANTRY_FN void store_index(GANTRY_SPAN_OUT(out), GANTRY_GLOBAL GANTRY_LONG *partial,
                           const argmax_t *plan, GANTRY_LONG unit, GANTRY_LONG index) {
    if (plan->parts == 1) {
        put_index(out_base, out_offset, plan, unit, index);
    } else {
        partial[unit] = index;
    }
}

/* A unit's number must be ((outer * columns) + column) * parts + part. */
GANTRY_FN GANTRY_LONG sequence_offset(const argmax_t *plan, GANTRY_LONG sequence) {
    const GANTRY_LONG outer = gantry__divide_position(sequence, plan->columns);
    return outer * plan->length * plan->columns + sequence - outer * plan->columns;
}

#if !GANTRY_SERIAL

#define AT_ONCE 8 /* loads of a work-item in flight */

/* Finds the first largest element at the places from, from + apart, ... before end, of a sequence
 * that starts at x. */
GANTRY_FN void look_through(GANTRY_GLOBAL const T *x, const argmax_t *plan, GANTRY_LONG from,
                            GANTRY_LONG apart, GANTRY_LONG end, C *best, GANTRY_LONG *found) {
    GANTRY_GLOBAL const T *p = x + from * plan->columns;
    const GANTRY_LONG step = apart * plan->columns;
    GANTRY_LONG i = from;
    for (; i + (AT_ONCE - 1) * apart < end; i += AT_ONCE * apart, p += AT_ONCE * step) {
        C values[AT_ONCE];
        GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) {
            values[k] = key_of(p[k * step], plan->is_least);
        }
        GANTRY_UNROLLED for (int k = 0; k < AT_ONCE; ++k) {
            *found = values[k] > *best ? i + k * apart : *found;
            *best = values[k] > *best ? values[k] : *best;
        }
    }
    for (; i < end; i += apart, p += step) {
        const C value = key_of(*p, plan->is_least);
        *found = value > *best ? i : *found;
        *best = value > *best ? value : *best;
    }
}

/* Each unit has one work-item. */
GANTRY_KERNEL argmax_item(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_SPAN_OUT(partial),
                          const argmax_t plan) {
    const GANTRY_LONG unit = GANTRY_GLOBAL_ID(0);
    if (unit >= plan.units) {
        return;
    }
    const GANTRY_LONG sequence = gantry__divide_position(unit, plan.parts);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + sequence_offset(&plan, sequence);
    const GANTRY_LONG first = (unit - sequence * plan.parts) * plan.piece;
    const GANTRY_LONG end = first + plan.piece < plan.length ? first + plan.piece : plan.length;
    C best = ARG_LOWEST;
    GANTRY_LONG found = first;
    look_through(x, &plan, first, 1, end, &best, &found);
    store_index(out_base, out_offset, GANTRY_OUT(GANTRY_LONG, partial), &plan, unit, found);
}

/* Each unit has `lanes` work-items. */
#define GROUP_MOST 256

GANTRY_KERNEL argmax_group(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_SPAN_OUT(partial),
                           const argmax_t plan) {
    GANTRY_LOCAL_ARRAY(C, values, GROUP_MOST);
    GANTRY_LOCAL_ARRAY(GANTRY_LONG, places, GROUP_MOST);
    const int item = (int)GANTRY_LOCAL_ID(0);
    const int lanes = (int)plan.lanes;
    const int lane = item % lanes;
    const GANTRY_LONG unit =
        GANTRY_GROUP_ID(0) * ((int)GANTRY_LOCAL_SIZE(0) / lanes) + item / lanes;
    const GANTRY_LONG sequence = gantry__divide_position(unit, plan.parts);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + sequence_offset(&plan, sequence);
    const GANTRY_LONG first = (unit - sequence * plan.parts) * plan.piece;
    const GANTRY_LONG end = first + plan.piece < plan.length ? first + plan.piece : plan.length;
    C best = ARG_LOWEST;
    /* after every place, so that a lane that finds nothing loses ties */
    GANTRY_LONG found = first + plan.piece;
    look_through(x, &plan, unit < plan.units ? first + lane : end, lanes, end, &best, &found);
    values[item] = best;
    places[item] = found;
    GANTRY_BARRIER();
    for (int apart = lanes / 2; apart > 0; apart /= 2) {
        if (lane < apart) {
            C value = values[item + apart];
            GANTRY_LONG place = places[item + apart];
            if (value > best || (value == best && place < found)) {
                best = value;
                found = place;
                values[item] = best;
                places[item] = found;
            }
        }
        GANTRY_BARRIER();
    }
    if (lane == 0 && unit < plan.units) {
        store_index(out_base, out_offset, GANTRY_OUT(GANTRY_LONG, partial), &plan, unit,
                    found < end ? found : first);
    }
}

#else

/* ---- CPUs: a work-group of one for several units; loops over lanes and columns vectorize ---- */

/* The largest key of adjacent elements. `lanes` is 64, but not a constant, because a constant makes
 * compilers unroll the loops. */
GANTRY_FN C largest_of(GANTRY_GLOBAL const T *x, int count, int lanes, GANTRY_LONG is_least) {
    C values[LANES];
    C best = ARG_LOWEST;
    int i = 0;
    if (count >= lanes) {
        for (int k = 0; k < lanes; ++k) {
            values[k] = ARG_LOWEST;
        }
        for (; i + lanes <= count; i += lanes) {
            for (int k = 0; k < lanes; ++k) {
                C key = key_of(x[i + k], is_least);
                values[k] = key > values[k] ? key : values[k];
            }
        }
        for (int k = 0; k < lanes; ++k) {
            best = values[k] > best ? values[k] : best;
        }
    }
    for (; i < count; ++i) {
        C key = key_of(x[i], is_least);
        best = key > best ? key : best;
    }
    return best;
}

/* Searches a piece of a row of one column: the largest of each 4096 elements, and its place only if
 * it beats all before. */
GANTRY_KERNEL argmax_row(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_SPAN_OUT(partial),
                         const argmax_t plan) {
    const GANTRY_LONG start = GANTRY_GROUP_ID(0) * plan.each;
    for (GANTRY_LONG unit = start; unit < start + plan.each && unit < plan.units; ++unit) {
        const GANTRY_LONG row = gantry__divide_position(unit, plan.parts);
        GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * plan.length;
        const GANTRY_LONG first = (unit - row * plan.parts) * plan.piece;
        const GANTRY_LONG end = first + plan.piece < plan.length ? first + plan.piece : plan.length;
        C best = ARG_LOWEST;
        GANTRY_LONG found = first;
        for (GANTRY_LONG chunk = first; chunk < end; chunk += CHUNK) {
            C value = largest_of(x + chunk, (int)(end - chunk < CHUNK ? end - chunk : CHUNK),
                                 (int)plan.lanes, plan.is_least);
            if (value > best) {
                best = value;
                found = chunk;
                while (!(key_of(x[found], plan.is_least) == value)) {
                    found++;
                }
            }
        }
        store_index(out_base, out_offset, GANTRY_OUT(GANTRY_LONG, partial), &plan, unit, found);
    }
}

/* Searches a piece of 64 columns. */
GANTRY_KERNEL argmax_columns(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_SPAN_OUT(partial),
                             const argmax_t plan) {
    C best[LANES];
    int place[LANES];
    const GANTRY_LONG start = GANTRY_GROUP_ID(0) * plan.each;
    for (GANTRY_LONG unit = start; unit < start + plan.each && unit < plan.units; ++unit) {
        const GANTRY_LONG block = gantry__divide_position(unit, plan.parts);
        const GANTRY_LONG outer = gantry__divide_position(block, plan.blocks);
        const GANTRY_LONG column = (block - outer * plan.blocks) * LANES;
        const GANTRY_LONG part = unit - block * plan.parts;
        const GANTRY_LONG first = part * plan.piece;
        const int rows = (int)(first + plan.piece < plan.length ? plan.piece : plan.length - first);
        const int width = (int)(plan.columns - column < LANES ? plan.columns - column : LANES);
        GANTRY_GLOBAL const T *x =
            GANTRY_IN(T, in) + (outer * plan.length + first) * plan.columns + column;
        for (int i = 0; i < width; ++i) {
            best[i] = ARG_LOWEST;
            place[i] = 0;
        }
        for (int row = 0; row < rows; ++row) {
            GANTRY_GLOBAL const T *values = x + row * plan.columns;
            for (int i = 0; i < width; ++i) {
                C key = key_of(values[i], plan.is_least);
                place[i] = key > best[i] ? row : place[i];
                best[i] = key > best[i] ? key : best[i];
            }
        }
        for (int i = 0; i < width; ++i) {
            store_index(out_base, out_offset, GANTRY_OUT(GANTRY_LONG, partial), &plan,
                        (outer * plan.columns + column + i) * plan.parts + part, first + place[i]);
        }
    }
}

#endif

/* A sequence of several pieces has one work-item. */
GANTRY_KERNEL argmax_join(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_SPAN_IN(partial),
                          const argmax_t plan) {
    const GANTRY_LONG sequence = GANTRY_GLOBAL_ID(0);
    if (sequence >= plan.sequences) {
        return;
    }
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + sequence_offset(&plan, sequence);
    C best = ARG_LOWEST;
    GANTRY_LONG found = 0;
    for (GANTRY_LONG part = 0; part < plan.parts; ++part) {
        GANTRY_LONG place = GANTRY_IN(GANTRY_LONG, partial)[sequence * plan.parts + part];
        C value = key_of(x[place * plan.columns], plan.is_least);
        found = value > best ? place : found;
        best = value > best ? value : best;
    }
    put_index(out_base, out_offset, &plan, sequence, found);
}
