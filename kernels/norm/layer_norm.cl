/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormRows: normalizes rows of at most 4096 elements to mean 0 and variance 1, then scales and
 * shifts them.
 *
 *     mean = sum(x) / n        d = x - mean        variance = sum(d d) / n
 *     y = ((d * (1 / sqrt(variance + epsilon))) * scale) + offset
 *
 * The sums follow the tree of reduce.cl, and each operation rounds. So the bits are those of single
 * ops, called one by one.
 *
 *   norm_group   GPUs: a work-item for each lane of a row. A row shorter than 64 has as many lanes
 *                as the smallest power of two that holds it, and a group has more rows
 *   norm_few     GPUs, few long rows, if each can have a compute unit: a work-group for a row,
 *                which is read once (row_tile.cl, which comes before)
 *   norm_rows    CPUs: a work-group of one for `each` rows; the lanes are vectors of 64 bytes
 *
 * Options: GANTRY_T, float32 or float64; GANTRY_SERIAL, 1 for CPUs and 0 for GPUs. */

#if GANTRY_T_IS(f64)
#define NORM_SQRT(x) gantry__sqrt_f64(x)
#else
#define NORM_SQRT(x) gantry__sqrt_f32(x)
#endif

#define LANES 64

typedef struct gantry__norm_t {
    GANTRY_LONG length;
    GANTRY_LONG rows;
    GANTRY_LONG lanes; /* lanes of a row, on GPUs */
    GANTRY_LONG each;  /* rows of a work-group, on CPUs */
    ulong epsilon;     /* the bits of a T */
} gantry__norm_t;

GANTRY_FN T scaling_of(T squares, const gantry__norm_t *p) {
    const T variance = squares / (T)p->length;
    return (T)1 / NORM_SQRT(variance + GANTRY_T_OF_BITS(p->epsilon));
}

#if !GANTRY_SERIAL

#define GROUP_MOST 256 /* work-items */

/* Gives each item the sum of its row, of `lanes` values. All items of the group must reach it. */
#define NORM_FOLD(values, item, lane, lanes, value)        \
    values[item] = value;                                  \
    GANTRY_BARRIER();                                      \
    for (int apart = (lanes) / 2; apart > 0; apart /= 2) { \
        if ((lane) < apart) {                              \
            value = value + values[(item) + apart];        \
            values[item] = value;                          \
        }                                                  \
        GANTRY_BARRIER();                                  \
    }                                                      \
    value = values[(item) - (lane)];                       \
    GANTRY_BARRIER()

GANTRY_KERNEL norm_group(GANTRY_SPAN_IN(in), GANTRY_SPAN_IN(scale), GANTRY_SPAN_IN(offset),
                         GANTRY_SPAN_OUT(out), const gantry__norm_t p) {
    GANTRY_LOCAL_ARRAY(T, values, GROUP_MOST);
    const int item = (int)GANTRY_LOCAL_ID(0);
    const int lanes = (int)p.lanes;
    const int lane = item % lanes;
    const GANTRY_LONG row = GANTRY_GROUP_ID(0) * ((int)GANTRY_LOCAL_SIZE(0) / lanes) + item / lanes;
    /* an item without a row only takes part in the barriers */
    const GANTRY_LONG first = row < p.rows ? lane : p.length;
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * p.length;
    GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * p.length;
    T mean = 0;
    T squares = 0;
    for (GANTRY_LONG i = first; i < p.length; i += lanes) {
        mean = mean + x[i];
    }
    NORM_FOLD(values, item, lane, lanes, mean);
    mean = mean / (T)p.length;
    for (GANTRY_LONG i = first; i < p.length; i += lanes) {
        const T d = x[i] - mean;
        squares = squares + d * d;
    }
    NORM_FOLD(values, item, lane, lanes, squares);
    squares = scaling_of(squares, &p);
    for (GANTRY_LONG i = first; i < p.length; i += lanes) {
        y[i] = ((x[i] - mean) * squares) * GANTRY_IN(T, scale)[i] + GANTRY_IN(T, offset)[i];
    }
}

#define NORM_READ(place) x[place]

GANTRY_KERNEL norm_few(GANTRY_SPAN_IN(in), GANTRY_SPAN_IN(scale), GANTRY_SPAN_IN(offset),
                       GANTRY_SPAN_OUT(out), const gantry__norm_t p) {
    GANTRY_LOCAL_ARRAY(T, shared, TILE_LANES);
    const tile_t tile = tile_of((int)p.length);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + GANTRY_GROUP_ID(0) * p.length;
    GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + GANTRY_GROUP_ID(0) * p.length;
    T values[TILE_ROWS];
    T squares[TILE_ROWS];
    TILE_LOAD(values, tile, NORM_READ, (T)0)
    const T mean = tile_sum(shared, &tile, values) / (T)p.length;
    GANTRY_UNROLLED for (int k = 0; k < TILE_ROWS; ++k) {
        values[k] = k < tile.count ? values[k] - mean : (T)0;
        squares[k] = values[k] * values[k];
    }
    const T scaling = scaling_of(tile_sum(shared, &tile, squares), &p);
    GANTRY_UNROLLED for (int k = 0; k < TILE_ROWS; ++k) {
        const int i = tile.first + k * TILE_LANES;
        if (k < tile.count) {
            y[i] = (values[k] * scaling) * GANTRY_IN(T, scale)[i] + GANTRY_IN(T, offset)[i];
        }
    }
}

#else

#if GANTRY_T_IS(f64)
#define WIDTH 8
typedef double8 line_t;
#define LINE_LOAD vload8
#define LINE_STORE vstore8
#else
#define WIDTH 16
typedef float16 line_t;
#define LINE_LOAD vload16
#define LINE_STORE vstore16
#endif
GANTRY_LOOSE_TYPE(line_t, T, loose_t);
#define VECTORS (LANES / WIDTH)

/* The tree's sum of x - mean, or of the squares of x - mean, over `length` elements. */
GANTRY_FN T row_sum(GANTRY_GLOBAL const T *x, int length, T mean, int is_squared) {
    line_t sums[VECTORS];
    T lanes[LANES];
    int i = 0;
    GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) { sums[q] = (line_t)(0); }
    for (; i + LANES <= length; i += LANES) {
        GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) {
            const line_t value = LINE_LOAD(q, x + i);
            const line_t d = value - (line_t)(mean);
            sums[q] = sums[q] + (is_squared ? d * d : value);
        }
    }
    GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) { LINE_STORE(sums[q], q, lanes); }
    for (int k = 0; i + k < length; ++k) {
        const T d = x[i + k] - mean;
        lanes[k] = lanes[k] + (is_squared ? d * d : x[i + k]);
    }
    GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) { sums[q] = LINE_LOAD(q, lanes); }
    GANTRY_FOLD_LANES(GANTRY_FOLD_ADD, LINE_STORE, sums, VECTORS, WIDTH, lanes)
    return lanes[0];
}

GANTRY_KERNEL norm_rows(GANTRY_SPAN_IN(in), GANTRY_SPAN_IN(scale), GANTRY_SPAN_IN(offset),
                        GANTRY_SPAN_OUT(out), const gantry__norm_t p) {
    const GANTRY_LONG first = GANTRY_GROUP_ID(0) * p.each;
    const GANTRY_LONG end = first + p.each < p.rows ? first + p.each : p.rows;
    const int length = (int)p.length;
    GANTRY_GLOBAL const T *scales = GANTRY_IN(T, scale);
    GANTRY_GLOBAL const T *offsets = GANTRY_IN(T, offset);
    for (GANTRY_LONG row = first; row < end; ++row) {
        GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length;
        GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * length;
        const T mean = row_sum(x, length, (T)0, 0) / (T)p.length;
        const T scaling = scaling_of(row_sum(x, length, mean, 1), &p);
        int i = 0;
        for (; i + WIDTH <= length; i += WIDTH) {
            const line_t d = LINE_LOAD(0, x + i) - (line_t)(mean);
            *(GANTRY_GLOBAL loose_t *)(y + i) =
                (d * (line_t)(scaling)) * LINE_LOAD(0, scales + i) + LINE_LOAD(0, offsets + i);
        }
        for (; i < length; ++i) {
            y[i] = ((x[i] - mean) * scaling) * scales[i] + offsets[i];
        }
    }
}

#endif
