/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between two arrays of the same dimensions and any strides: Transpose, BroadcastTo, Slice
 * and Concat, by element size: one type T represents all types of its size. This file must follow
 * dialect, launch, types and work. */

/* Copies element (i0, i1, ...) from in[from + sum i * strides0] to out[to + sum i * strides1]. */
typedef struct gantry__move_t {
    gantry__item_plan_t plan;
    GANTRY_LONG from;
    GANTRY_LONG to;
} gantry__move_t;

#if GANTRY_SERIAL

/* Copies row by row, and counts the outer dimensions like an odometer. */
GANTRY_KERNEL strided(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_VALUE(gantry__move_t, p)) {
    GANTRY_TAKE(gantry__move_t, p)
    const int inner = (int)p.plan.rank - 1;
    const GANTRY_LONG in_step = p.plan.strides0[inner];
    const GANTRY_LONG out_step = p.plan.strides1[inner];
    const GANTRY_LONG end = GANTRY_END(p.plan.work);
    GANTRY_LONG i = GANTRY_FIRST(p.plan.work);
    GANTRY_LONG at[8];
    GANTRY_LONG rest = i;
    GANTRY_LONG in_at = p.from;
    GANTRY_LONG out_at = p.to;

    for (int d = inner; d >= 0; --d) {
        at[d] = rest % p.plan.dims[d];
        rest /= p.plan.dims[d];
        in_at += at[d] * p.plan.strides0[d];
        out_at += at[d] * p.plan.strides1[d];
    }
    while (i < end) {
        GANTRY_GLOBAL const T *ins = GANTRY_IN(T, in) + in_at;
        GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out) + out_at;
        const GANTRY_LONG left = p.plan.dims[inner] - at[inner];
        const GANTRY_LONG length = left < end - i ? left : end - i;

        if (out_step != 1) {
            for (GANTRY_LONG e = 0; e < length; ++e) {
                outs[e * out_step] = ins[e * in_step];
            }
        } else if (in_step == 1) {
            for (GANTRY_LONG e = 0; e < length; ++e) {
                outs[e] = ins[e];
            }
        } else if (in_step == 0) {
            const T value = ins[0];
            for (GANTRY_LONG e = 0; e < length; ++e) {
                outs[e] = value;
            }
        } else if (in_step == -1) { /* a constant, so that the compiler reverses whole vectors */
            for (GANTRY_LONG e = 0; e < length; ++e) {
                outs[e] = ins[-e];
            }
        } else {
            for (GANTRY_LONG e = 0; e < length; ++e) {
                outs[e] = ins[e * in_step];
            }
        }
        i += length;
        at[inner] += length;
        in_at += length * in_step;
        out_at += length * out_step;
        for (int d = inner; d > 0 && at[d] == p.plan.dims[d]; --d) {
            in_at += p.plan.strides0[d - 1] - p.plan.dims[d] * p.plan.strides0[d];
            out_at += p.plan.strides1[d - 1] - p.plan.dims[d] * p.plan.strides1[d];
            at[d] = 0;
            at[d - 1]++;
        }
    }
}

#else

GANTRY_KERNEL strided(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_VALUE(gantry__move_t, p)) {
    GANTRY_TAKE(gantry__move_t, p)
    for (GANTRY_LONG i = GANTRY_FIRST(p.plan.work); i < GANTRY_END(p.plan.work); i += GANTRY_STEP) {
        GANTRY_LONG rest = i;
        GANTRY_LONG in_at = p.from;
        GANTRY_LONG out_at = p.to;

        for (int d = (int)p.plan.rank - 1; d >= 0; --d) {
            const GANTRY_LONG next = gantry__divide_position(rest, p.plan.dims[d]);
            const GANTRY_LONG at = rest - next * p.plan.dims[d];

            in_at += at * p.plan.strides0[d];
            out_at += at * p.plan.strides1[d];
            rest = next;
        }
        GANTRY_OUT(T, out)[out_at] = GANTRY_IN(T, in)[in_at];
    }
}

#endif

/* Transposes matrices in tiles, so that both reads and writes are contiguous runs:
 *
 *     element (batch, row, column):   in[from + batch + row * row_stride + column]
 *                                     out[to + batch + column * column_stride + row]
 *
 * Tiles are numbered along the columns, then the rows, then the matrices. */
typedef struct gantry__tiles_t {
    GANTRY_LONG from;
    GANTRY_LONG to;
    GANTRY_LONG rows;
    GANTRY_LONG columns;
    GANTRY_LONG row_stride;
    GANTRY_LONG column_stride;
    GANTRY_LONG tile_rows;
    GANTRY_LONG tile_columns;
    GANTRY_LONG across;
    GANTRY_LONG down;
    GANTRY_LONG tiles;
    GANTRY_LONG run; /* tiles of a work-item on processors */
    GANTRY_LONG batch_rank;
    GANTRY_LONG batch_dims[8];
    GANTRY_LONG batch_strides0[8], batch_strides1[8];
} gantry__tiles_t;

#define GANTRY_SIDE 32 /* the side of a square tile */

/* Sets row and column, the tile's first ones, and in_at and out_at, the offsets of its first
 * element. */
#define GANTRY_FIND_TILE(p, tile)                                                             \
    const GANTRY_LONG down_all = gantry__divide_position(tile, (p).across);                   \
    const GANTRY_LONG column = ((tile)-down_all * (p).across) * (p).tile_columns;             \
    GANTRY_LONG batch = gantry__divide_position(down_all, (p).down);                          \
    const GANTRY_LONG row = (down_all - batch * (p).down) * (p).tile_rows;                    \
    GANTRY_LONG in_at = (p).from + row * (p).row_stride + column;                             \
    GANTRY_LONG out_at = (p).to + column * (p).column_stride + row;                           \
    for (int d = (int)(p).batch_rank - 1; d >= 0; --d) {                                      \
        const GANTRY_LONG next = gantry__divide_position(batch, (p).batch_dims[d]);           \
        const GANTRY_LONG at = batch - next * (p).batch_dims[d];                              \
        in_at += at * (p).batch_strides0[d];                                                  \
        out_at += at * (p).batch_strides1[d];                                                 \
        batch = next;                                                                         \
    }                                                                                         \
    const GANTRY_LONG rows = (p).rows - row < (p).tile_rows ? (p).rows - row : (p).tile_rows; \
    const GANTRY_LONG columns =                                                               \
        (p).columns - column < (p).tile_columns ? (p).columns - column : (p).tile_columns;

#if GANTRY_SERIAL

#if GANTRY_T_IS(b8)
typedef uchar4 gantry__four_t;
#elif GANTRY_T_IS(u16)
typedef ushort4 gantry__four_t;
#elif GANTRY_T_IS(i32)
typedef int4 gantry__four_t;
#elif GANTRY_T_IS(i64)
typedef long4 gantry__four_t;
#endif

/* out[lane] = the four columns of rows a, b, c, d. */
#define GANTRY_COLUMN(lane, pointer)  \
    {                                 \
        gantry__four_t column_;       \
        column_.x = a.lane;           \
        column_.y = b.lane;           \
        column_.z = c.lane;           \
        column_.w = d.lane;           \
        vstore4(column_, 0, pointer); \
    }

/* Transposes squares of 4 x 4 in registers, and one by one the elements at the edges and those of
 * 16 bytes. */
GANTRY_KERNEL tiles(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_VALUE(gantry__tiles_t, p)) {
    GANTRY_TAKE(gantry__tiles_t, p)
    const GANTRY_LONG first = GANTRY_GLOBAL_ID(0) * p.run;
    const GANTRY_LONG end = p.tiles < first + p.run ? p.tiles : first + p.run;

    for (GANTRY_LONG tile = first; tile < end; ++tile) {
        GANTRY_FIND_TILE(p, tile)
        GANTRY_GLOBAL const T *ins = GANTRY_IN(T, in) + in_at;
        GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out) + out_at;
#if GANTRY_T_IS(c128)
        const GANTRY_LONG whole_rows = 0, whole_columns = 0;
#else
        const GANTRY_LONG whole_rows = rows / 4 * 4;
        const GANTRY_LONG whole_columns = columns / 4 * 4;

        for (GANTRY_LONG y = 0; y < whole_columns; y += 4) {
            for (GANTRY_LONG x = 0; x < whole_rows; x += 4) {
                GANTRY_GLOBAL const T *from = ins + x * p.row_stride + y;
                GANTRY_GLOBAL T *to = outs + y * p.column_stride + x;
                const gantry__four_t a = vload4(0, from);
                const gantry__four_t b = vload4(0, from + p.row_stride);
                const gantry__four_t c = vload4(0, from + 2 * p.row_stride);
                const gantry__four_t d = vload4(0, from + 3 * p.row_stride);

                GANTRY_COLUMN(x, to)
                GANTRY_COLUMN(y, to + p.column_stride)
                GANTRY_COLUMN(z, to + 2 * p.column_stride)
                GANTRY_COLUMN(w, to + 3 * p.column_stride)
            }
        }
#endif
        for (GANTRY_LONG y = 0; y < columns; ++y) {
            for (GANTRY_LONG x = y < whole_columns ? whole_rows : 0; x < rows; ++x) {
                outs[y * p.column_stride + x] = ins[x * p.row_stride + y];
            }
        }
    }
}

#else

/* A work-group of 128 or 64 transposes one square tile. The block in local memory has one more
 * column, which avoids bank conflicts. */
GANTRY_KERNEL tiles(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), GANTRY_VALUE(gantry__tiles_t, p)) {
    GANTRY_TAKE(gantry__tiles_t, p)
    GANTRY_LOCAL_ARRAY(T, block, GANTRY_SIDE * (GANTRY_SIDE + 1));
    const int lane = (int)GANTRY_LOCAL_ID(0) % GANTRY_SIDE;
    const int line = (int)GANTRY_LOCAL_ID(0) / GANTRY_SIDE;
    const int lines = (int)GANTRY_LOCAL_SIZE(0) / GANTRY_SIDE;
    const GANTRY_LONG tile = GANTRY_GROUP_ID(0);
    GANTRY_FIND_TILE(p, tile)

    for (int r = line; r < GANTRY_SIDE; r += lines) {
        if (r < rows && lane < columns) {
            block[r * (GANTRY_SIDE + 1) + lane] = GANTRY_IN(T, in)[in_at + r * p.row_stride + lane];
        }
    }
    GANTRY_BARRIER();
    for (int c = line; c < GANTRY_SIDE; c += lines) {
        if (c < columns && lane < rows) {
            GANTRY_OUT(T, out)
            [out_at + c * p.column_stride + lane] = block[lane * (GANTRY_SIDE + 1) + c];
        }
    }
}

#endif
