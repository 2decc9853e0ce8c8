/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of reduce.cl for processors: reduce_narrow, reduce_small and reduce_wide. It must come
 * after reduce.cl, in the same program. */
#if GANTRY_SERIAL

/* ---- CPUs: the device's compiler makes vector code of loops over private arrays. Their counts are
 * not constants: a loop that it unrolls completely does not become vector code ---- */

/* The most sums of an output row that reduce_narrow takes; the columns that reduce_wide takes at a
 * time; the sequences that reduce_small takes. */
#define NARROW (512 / (int)sizeof(ACC))
#define BLOCK 256
#define WIDTH 64

/* acc = op(acc, x) */
GANTRY_FN void add_row(ACC *acc, GANTRY_GLOBAL const T *x, int count) {
    for (int i = 0; i < count; ++i) {
        ACC value = REDUCE_LOAD(x[i]);
        acc[i] = REDUCE_OP(acc[i], value);
    }
}

/* The same for four pieces of x that are `stride` elements apart. */
GANTRY_FN void add_rows4(ACC *acc, GANTRY_GLOBAL const T *x, GANTRY_LONG stride, int count) {
    GANTRY_GLOBAL const T *y = x + stride, *z = y + stride, *w = z + stride;
    for (int i = 0; i < count; ++i) {
        ACC a = REDUCE_LOAD(x[i]), b = REDUCE_LOAD(y[i]), c = REDUCE_LOAD(z[i]),
            d = REDUCE_LOAD(w[i]);
        ACC sum = REDUCE_OP(acc[i], a);
        sum = REDUCE_OP(sum, b);
        sum = REDUCE_OP(sum, c);
        acc[i] = REDUCE_OP(sum, d);
    }
}

/* to = op(a, b) */
GANTRY_FN void join(ACC *to, const ACC *a, const ACC *b, int count) {
    for (int i = 0; i < count; ++i) {
        to[i] = REDUCE_OP(a[i], b[i]);
    }
}

/* Adds `count` adjacent elements, the first to acc[0]; period must be 64 * columns. */
GANTRY_FN void add_run(ACC *acc, GANTRY_GLOBAL const T *x, GANTRY_LONG count, int period) {
    while (count >= 4 * period) {
        add_rows4(acc, x, period, period);
        x += 4 * period;
        count -= 4 * period;
    }
    while (count > 0) {
        add_row(acc, x, (int)(count < period ? count : period));
        x += period;
        count -= period;
    }
}

/* Computes acc[lane][column] of the chunk that starts at row, and folds it into the first `columns`
 * elements. */
GANTRY_FN void narrow_chunk(ACC *acc, GANTRY_GLOBAL const T *x, const reduce_level_t *level,
                            GANTRY_LONG row) {
    const int columns = (int)level->columns;
    const int period = LANES * columns;
    const GANTRY_LONG run =
        level->reduced_rank == 1 ? level->length : level->reduced_dims[level->reduced_rank - 1];
    GANTRY_LONG rows = chunk_rows(level, row);
    const int lanes = lanes_used(rows);
    int at = 0; /* the place of the next row in acc */
    for (int i = 0; i < lanes * columns; ++i) {
        acc[i] = REDUCE_IDENTITY;
    }
    while (rows > 0) {
        GANTRY_GLOBAL const T *p = x + row_offset(level, row);
        const GANTRY_LONG left = (gantry__divide_position(row, run) + 1) * run - row;
        const GANTRY_LONG piece = left < rows ? left : rows;
        GANTRY_LONG count = piece * columns;
        row += piece;
        rows -= piece;
        if (at > 0) {
            int head = (int)(period - at < count ? period - at : count);
            add_row(acc + at, p, head);
            p += head;
            count -= head;
            at = (at + head) % period;
        }
        if (count > 0) {
            add_run(acc, p, count, period);
            at = (int)(count % period);
        }
    }
    for (int apart = lanes / 2 * columns; apart >= columns; apart /= 2) {
        join(acc, acc, acc + apart, apart);
    }
}

/* Does the units of a work-group. */
GANTRY_BODY_FN void narrow_units(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out),
                                 const reduce_level_t level, const GANTRY_LONG group) {
    ACC acc[LANES * NARROW];
    const int columns = (int)level.columns;
    const GANTRY_LONG first = group * level.each;
    for (GANTRY_LONG unit = first; unit < first + level.each && unit < level.units; ++unit) {
        const chunk_t chunk = find_chunk(&level, unit);
        narrow_chunk(acc, GANTRY_IN(T, in) + chunk.offset, &level, chunk.row);
        for (int i = 0; i < columns; ++i) {
            PUT(unit * columns + i, acc[i]);
        }
    }
}

GANTRY_KERNEL reduce_narrow(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out),
                            GANTRY_VALUE(reduce_level_t, level)) {
    GANTRY_TAKE(reduce_level_t, level)
    narrow_units(in_base, in_offset, out_base, out_offset, level, GANTRY_GROUP_ID(0));
}

/* Sequences of at most 64 neighbours: 64 of them are transposed, so that a lane of the tree is a
 * row of `transposed`. */
GANTRY_KERNEL reduce_small(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out),
                           GANTRY_VALUE(reduce_level_t, level)) {
    GANTRY_TAKE(reduce_level_t, level)
    ACC transposed[LANES * WIDTH];
    const int length = (int)level.length;
    const GANTRY_LONG first = GANTRY_GROUP_ID(0) * level.each;
    const GANTRY_LONG end = first + level.each < level.units ? first + level.each : level.units;
    for (GANTRY_LONG unit = first; unit < end; unit += WIDTH) {
        const int width = (int)(end - unit < WIDTH ? end - unit : WIDTH);
        GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + unit * length;
        for (int i = 0; i < width; ++i) {
            for (int k = 0; k < length; ++k) {
                ACC value = REDUCE_LOAD(x[i * length + k]);
                transposed[k * WIDTH + i] = REDUCE_OP(REDUCE_IDENTITY, value);
            }
        }
        for (int apart = lanes_used(length) / 2; apart > 0; apart /= 2) {
            for (int k = 0; k < apart && k + apart < length; ++k) {
                join(transposed + k * WIDTH, transposed + k * WIDTH,
                     transposed + (k + apart) * WIDTH, width);
            }
        }
        for (int i = 0; i < width; ++i) {
            PUT(unit + i, transposed[i]);
        }
    }
}

/* Adds the rows of the lane that starts at row, in `width` columns. */
GANTRY_FN void add_lane(ACC *acc, GANTRY_GLOBAL const T *x, const reduce_level_t *level,
                        GANTRY_LONG row, GANTRY_LONG end, int width) {
    GANTRY_GLOBAL const T *p = x + row_offset(level, row);
    for (int i = 0; i < width; ++i) {
        ACC value = REDUCE_LOAD(p[i]);
        acc[i] = REDUCE_OP(REDUCE_IDENTITY, value);
    }
    row += LANES;
    if (level->reduced_rank == 1) {
        for (; row + 3 * LANES < end; row += 4 * LANES) {
            add_rows4(acc, x + row * level->reduced_strides[0], level->reduced_strides[0] * LANES,
                      width);
        }
    }
    for (; row < end; row += LANES) {
        add_row(acc, x + row_offset(level, row), width);
    }
}

/* Reduces the chunk that starts at row, in `width` columns. sums must have eight blocks: partial
 * sum b is of 2^b lanes; the last block is the new lane. Returns the place of the result. */
GANTRY_BODY_FN const ACC *wide_chunk(ACC *sums, GANTRY_GLOBAL const T *x,
                                     const reduce_level_t *level, GANTRY_LONG row, int width) {
    ACC *lane = sums + 7 * BLOCK;
    const ACC *result = sums;
    const GANTRY_LONG end = row + chunk_rows(level, row);
    const int lanes = lanes_used(end - row);
    for (int index = 0; index < lanes; ++index) {
        const GANTRY_LONG first = row + reversed(index, lanes);
        if (first >= end) { /* a lane without elements: its fold would change nothing */
            for (int i = 0; i < width; ++i) {
                lane[i] = REDUCE_IDENTITY;
            }
        } else {
            add_lane((index & 1) == 0 ? sums : lane, x, level, first, end, width);
        }
        ACC *kept = sums;
        for (int bit = 1; (index & bit) != 0; bit *= 2, kept += BLOCK) {
            join((index & (2 * bit)) != 0 ? lane : kept + BLOCK, kept, lane, width);
        }
        result = kept;
    }
    return result;
}

GANTRY_KERNEL reduce_wide(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out),
                          GANTRY_VALUE(reduce_level_t, level)) {
    GANTRY_TAKE(reduce_level_t, level)
    ACC sums[8 * BLOCK];
    const GANTRY_LONG first = GANTRY_GROUP_ID(0) * level.each;
    for (GANTRY_LONG unit = first; unit < first + level.each && unit < level.units; ++unit) {
        const GANTRY_LONG number = gantry__divide_position(unit, level.blocks);
        const GANTRY_LONG column = (unit - number * level.blocks) * BLOCK;
        const int width = (int)(level.columns - column < BLOCK ? level.columns - column : BLOCK);
        const chunk_t chunk = find_chunk(&level, number);
        const ACC *sum =
            wide_chunk(sums, GANTRY_IN(T, in) + chunk.offset + column, &level, chunk.row, width);
        for (int i = 0; i < width; ++i) {
            PUT(number * level.columns + column + i, sum[i]);
        }
    }
}

#endif
