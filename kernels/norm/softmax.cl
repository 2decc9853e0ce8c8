/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and LogSoftmax over rows: e = exp(x - largest), e / sum(e) or (x - largest) -
 * log(sum(e)).
 *
 * The sum follows the tree of reduce.cl, and exp and log are the same everywhere. So all kernels
 * and all devices give the same bits.
 *
 *   softmax_group       GPUs: a work-item for each lane of a row of at most 4096 elements. A row
 *                       shorter than 64 has as many lanes as the smallest power of two that holds
 *                       it, and a group has more rows
 *   softmax_item        CPUs: rows of 65 to 4096 elements, one after the other. With
 *                       GANTRY_MATH_LANES, in vectors of that many lanes; the output holds terms
 *   softmax_transposed  CPUs: rows of at most 64 elements; a work-group of one, 64 rows at a time
 *   softmax_few, softmax_tile_...   GPUs: few rows, and longer rows: softmax_tile.cl
 *   longer rows         CPUs, and GPUs whose groups are small: reduce.cl for the largest,
 *                       softmax_terms, reduce.cl for the sum, softmax_result
 *
 * 16-bit floats are computed in float32 (C of types.cl) and rounded once.
 *
 * Options: GANTRY_T, a floating type; GANTRY_SOFTMAX_LOG, 0 or 1; GANTRY_SERIAL, 1 for CPUs and 0
 * for GPUs. */

#if !GANTRY_T_IS(f64)
#define SOFT_EXP(x) gantry__exp_f32(x)
#define SOFT_LOG(x) gantry__log_f32(x)
#define SOFT_LOWEST GANTRY_AS_FLOAT(0xff800000u)
#else
#define SOFT_EXP(x) gantry__exp_f64(x)
#define SOFT_LOG(x) gantry__log_f64(x)
#define SOFT_LOWEST GANTRY_AS_DOUBLE(((ulong)0xfff00000u) << 32)
#endif

#define SOFT_MAX(a, b) ((b) != (b) || (b) > (a) ? (b) : (a))
#define LANES 64

#if defined(GANTRY_MATH_LANES)

/* ---- CPUs, with explicit vectors (dialect.cl): T is float32 or float64, and the 64 lanes of the
 * tree are VECTORS vectors ---- */

#define VECTORS (LANES / GANTRY_MATH_LANES)
#define SOFT_LOAD GANTRY_OF_LANES(vload)
#define SOFT_STORE GANTRY_OF_LANES(vstore)
#if GANTRY_T_IS(f64)
typedef GANTRY_F64 V;
#else
typedef GANTRY_F32 V;
#endif
GANTRY_LOOSE_TYPE(V, T, loose_t);

/* Loads the vector at x, which has `left` elements; the rest is `other`. */
GANTRY_FN V load_some(GANTRY_GLOBAL const T *x, int left, T other) {
    T some[GANTRY_MATH_LANES];
    if (left >= GANTRY_MATH_LANES) {
        return SOFT_LOAD(0, x);
    }
    for (int k = 0; k < GANTRY_MATH_LANES; ++k) {
        some[k] = k < left ? x[k] : other;
    }
    return SOFT_LOAD(0, some);
}

GANTRY_FN void store_some(V values, GANTRY_GLOBAL T *y, int left) {
    T some[GANTRY_MATH_LANES];
    if (left >= GANTRY_MATH_LANES) {
        *(GANTRY_GLOBAL loose_t *)y = values;
        return;
    }
    SOFT_STORE(values, 0, some);
    for (int k = 0; k < left; ++k) {
        y[k] = some[k];
    }
}

GANTRY_FN T row_largest(GANTRY_GLOBAL const T *x, int length) {
    V values[VECTORS];
    T lanes[LANES];
    T largest = (T)(-INFINITY);
    int i = 0;
    GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) { values[q] = (V)(-INFINITY); }
    for (; i + LANES <= length; i += LANES) {
        GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) {
            const V value = SOFT_LOAD(q, x + i);
            values[q] = ((value != value) | (value > values[q])) ? value : values[q];
        }
    }
    GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) { SOFT_STORE(values[q], q, lanes); }
    for (int k = 0; k < LANES; ++k) {
        largest = SOFT_MAX(largest, lanes[k]);
    }
    for (; i < length; ++i) {
        largest = SOFT_MAX(largest, x[i]);
    }
    return largest + (T)0;
}

/* Returns exp(x - largest) of `left` elements, and +0 for the rest, which changes no sum. Stores
 * the terms to y, except for LogSoftmax. */
GANTRY_FN V put_terms(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *y, int left, T largest) {
    const V terms = SOFT_EXP(load_some(x, left, (T)(-INFINITY)) - (V)(largest));
#if !GANTRY_SOFTMAX_LOG
    store_some(terms, y, left);
#endif
    return terms;
}

GANTRY_FN T row_sum(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *y, int length, T largest) {
    V values[VECTORS];
    T lanes[GANTRY_MATH_LANES];
    int i = 0;
    GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) { values[q] = (V)(0); }
    for (; i + LANES <= length; i += LANES) {
        GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) {
            const int at = i + q * GANTRY_MATH_LANES;
            /* prefetch the next row while this one is computed */
            GANTRY_PREFETCH((ulong)(x + at + length));
            GANTRY_PREFETCH_FOR_WRITE((ulong)(y + at + length));
            values[q] = values[q] + put_terms(x + at, y + at, GANTRY_MATH_LANES, largest);
        }
    }
    GANTRY_UNROLLED for (int q = 0; q < VECTORS; ++q) {
        const int at = i + q * GANTRY_MATH_LANES;
        if (at < length) {
            values[q] = values[q] + put_terms(x + at, y + at, length - at, largest);
        }
    }
    GANTRY_FOLD_LANES(GANTRY_FOLD_ADD, SOFT_STORE, values, VECTORS, GANTRY_MATH_LANES, lanes)
    return lanes[0];
}

GANTRY_FN void do_row(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *y, int length) {
    const T largest = row_largest(x, length);
    const V sum = (V)(row_sum(x, y, length, largest));
#if GANTRY_SOFTMAX_LOG
    const V scale = SOFT_LOG(sum);
#endif
    for (int i = 0; i < length; i += GANTRY_MATH_LANES) {
#if GANTRY_SOFTMAX_LOG
        store_some((load_some(x + i, length - i, largest) - (V)(largest)) - scale, y + i,
                   length - i);
#else
        store_some(load_some(y + i, length - i, (T)0) / sum, y + i, length - i);
#endif
    }
}

/* A work-group of one for `each` rows. */
GANTRY_KERNEL softmax_item(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), const GANTRY_LONG length,
                           const GANTRY_LONG rows, const GANTRY_LONG lanes,
                           const GANTRY_LONG each) {
    const GANTRY_LONG first = GANTRY_GROUP_ID(0) * each;
    const GANTRY_LONG end = first + each < rows ? first + each : rows;
    for (GANTRY_LONG row = first; row < end; ++row) {
        do_row(GANTRY_IN(T, in) + row * length, GANTRY_OUT(T, out) + row * length, (int)length);
    }
}

#else

/* The result for x, from the largest element and the sum of its row. For LogSoftmax `sum` must be
 * the logarithm of the sum. */
GANTRY_FN T result_of(T element, C largest, C sum) {
    const C x = GANTRY_WIDEN(element);
    C result;
#if GANTRY_SOFTMAX_LOG
    result = (x - largest) - sum;
#else
    result = SOFT_EXP(x - largest) / sum;
#endif
    return GANTRY_NARROW(result);
}

GANTRY_FN C scale_of(C sum) {
#if GANTRY_SOFTMAX_LOG
    return SOFT_LOG(sum);
#else
    return sum;
#endif
}

#if !GANTRY_SERIAL

#define GROUP_MOST 256 /* work-items */

/* Gives each item its row's result, of `lanes` values. All items of the group must reach it. */
#define SOFT_FOLD(values, item, lane, lanes, value, OP)    \
    values[item] = value;                                  \
    GANTRY_BARRIER();                                      \
    for (int apart = (lanes) / 2; apart > 0; apart /= 2) { \
        if ((lane) < apart) {                              \
            value = OP(value, values[(item) + apart]);     \
            values[item] = value;                          \
        }                                                  \
        GANTRY_BARRIER();                                  \
    }                                                      \
    value = values[(item) - (lane)];                       \
    GANTRY_BARRIER()

#define SOFT_ADD(a, b) ((a) + (b))

GANTRY_KERNEL softmax_group(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), const GANTRY_LONG length,
                            const GANTRY_LONG rows, const GANTRY_LONG row_lanes) {
    GANTRY_LOCAL_ARRAY(C, values, GROUP_MOST);
    const int item = (int)GANTRY_LOCAL_ID(0);
    const int lanes = (int)row_lanes;
    const int lane = item % lanes;
    const GANTRY_LONG row = GANTRY_GROUP_ID(0) * ((int)GANTRY_LOCAL_SIZE(0) / lanes) + item / lanes;
    const GANTRY_LONG first =
        row < rows ? lane : length; /* an item without a row only takes part in the barriers */
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length;
    GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * length;
    C largest = SOFT_LOWEST;
    C sum = 0;
    for (GANTRY_LONG i = first; i < length; i += lanes) {
        const C value = GANTRY_WIDEN(x[i]);
        largest = SOFT_MAX(largest, value);
    }
    SOFT_FOLD(values, item, lane, lanes, largest, SOFT_MAX);
    largest = largest + (C)0; /* a zero of either sign is +0 */
    for (GANTRY_LONG i = first; i < length; i += lanes) {
        sum = sum + SOFT_EXP(GANTRY_WIDEN(x[i]) - largest);
    }
    SOFT_FOLD(values, item, lane, lanes, sum, SOFT_ADD);
    sum = scale_of(sum);
    for (GANTRY_LONG i = first; i < length; i += lanes) {
        y[i] = result_of(x[i], largest, sum);
    }
}

#else

/* ---- CPUs: row by row. `lanes` is 64, or for short rows the smallest power of two that is not
 * below the length: more lanes would hold the identity. It is a parameter, because compilers would
 * unroll a loop of constant length instead of vectorizing it ---- */

GANTRY_FN C row_largest(GANTRY_GLOBAL const T *x, int length, int lanes) {
    C values[LANES];
    C largest = SOFT_LOWEST;
    int i = 0;
    for (int k = 0; k < lanes; ++k) {
        values[k] = SOFT_LOWEST;
    }
    for (; i + lanes <= length; i += lanes) {
        for (int k = 0; k < lanes; ++k) {
            const C value = GANTRY_WIDEN(x[i + k]);
            values[k] = SOFT_MAX(values[k], value);
        }
    }
    for (int k = 0; k < lanes; ++k) {
        largest = SOFT_MAX(largest, values[k]);
    }
    for (; i < length; ++i) {
        const C value = GANTRY_WIDEN(x[i]);
        largest = SOFT_MAX(largest, value);
    }
    return largest + (C)0;
}

GANTRY_FN C row_sum(GANTRY_GLOBAL const T *x, int length, C largest, int lanes) {
    C values[LANES];
    int i = 0;
    for (int k = 0; k < lanes; ++k) {
        values[k] = 0;
    }
    for (; i + lanes <= length; i += lanes) {
        for (int k = 0; k < lanes; ++k) {
            values[k] = values[k] + SOFT_EXP(GANTRY_WIDEN(x[i + k]) - largest);
        }
    }
    for (int k = 0; i + k < length; ++k) {
        values[k] = values[k] + SOFT_EXP(GANTRY_WIDEN(x[i + k]) - largest);
    }
    for (int apart = lanes / 2; apart > 0; apart /= 2) {
        for (int k = 0; k < apart; ++k) {
            values[k] = values[k] + values[k + apart];
        }
    }
    return values[0];
}

/* A work-group of one for `each` rows. */
GANTRY_KERNEL softmax_item(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), const GANTRY_LONG length,
                           const GANTRY_LONG rows, const GANTRY_LONG lanes,
                           const GANTRY_LONG each) {
    const GANTRY_LONG first = GANTRY_GROUP_ID(0) * each;
    const GANTRY_LONG end = first + each < rows ? first + each : rows;
    for (GANTRY_LONG row = first; row < end; ++row) {
        GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length;
        GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * length;
        const C largest = row_largest(x, (int)length, (int)lanes);
        const C scale = scale_of(row_sum(x, (int)length, largest, (int)lanes));
        for (int i = 0; i < (int)length; ++i) {
            y[i] = result_of(x[i], largest, scale);
        }
    }
}

/* ---- CPUs, short rows: 64 rows are transposed, so that exp, the tree and the division run along
 * whole rows of `transposed` ---- */

#define WIDTH 64

/* Sets terms = exp(transposed - largest) and transposed -= largest, over `width` columns of
 * `length` elements. */
GANTRY_FN void transposed_terms(C *transposed, C *terms, int length, int width) {
    C largest[WIDTH];
    for (int i = 0; i < width; ++i) {
        largest[i] = transposed[i];
    }
    for (int k = 1; k < length; ++k) {
        for (int i = 0; i < width; ++i) {
            largest[i] = SOFT_MAX(largest[i], transposed[k * WIDTH + i]);
        }
    }
    for (int k = 0; k < length; ++k) {
        for (int i = 0; i < width; ++i) {
            C shifted = transposed[k * WIDTH + i] - (largest[i] + (C)0);
            transposed[k * WIDTH + i] = shifted;
            terms[k * WIDTH + i] = SOFT_EXP(shifted);
        }
    }
}

/* Leaves the results in transposed. Reduces terms as the tree reduces lanes. */
GANTRY_FN void transposed_results(C *transposed, C *terms, int length, int lanes, int width) {
#if !GANTRY_SOFTMAX_LOG
    for (int i = 0; i < length * WIDTH; ++i) {
        transposed[i] = terms[i];
    }
#endif
    for (int apart = lanes / 2; apart > 0; apart /= 2) {
        for (int k = 0; k < apart && k + apart < length; ++k) {
            for (int i = 0; i < width; ++i) {
                terms[k * WIDTH + i] = terms[k * WIDTH + i] + terms[(k + apart) * WIDTH + i];
            }
        }
    }
    for (int i = 0; i < width; ++i) {
        terms[i] = scale_of(terms[i]);
    }
    for (int k = 0; k < length; ++k) {
        for (int i = 0; i < width; ++i) {
#if GANTRY_SOFTMAX_LOG
            transposed[k * WIDTH + i] = transposed[k * WIDTH + i] - terms[i];
#else
            transposed[k * WIDTH + i] = transposed[k * WIDTH + i] / terms[i];
#endif
        }
    }
}

/* Squares of 4 x 4 are transposed in registers. Compilers would make slow gathers of a transpose
 * element by element. */
#if GANTRY_T_IS_HALF
#define TRANSPOSED_AT_ONCE(size) 0
#define TRANSPOSE_FOUR(from, from_row, to, to_row)
#else
#if GANTRY_T_IS(f64)
#define FOUR double4
#else
#define FOUR float4
#endif
#define TRANSPOSED_AT_ONCE(size) ((size) & ~3)
#define TRANSPOSE_FOUR(from, from_row, to, to_row)                                                 \
    {                                                                                              \
        const FOUR a = vload4(0, (from)), b = vload4(0, (from) + (from_row));                      \
        const FOUR c = vload4(0, (from) + 2 * (from_row)), d = vload4(0, (from) + 3 * (from_row)); \
        vstore4((FOUR)(a.s0, b.s0, c.s0, d.s0), 0, (to));                                          \
        vstore4((FOUR)(a.s1, b.s1, c.s1, d.s1), 0, (to) + (to_row));                               \
        vstore4((FOUR)(a.s2, b.s2, c.s2, d.s2), 0, (to) + 2 * (to_row));                           \
        vstore4((FOUR)(a.s3, b.s3, c.s3, d.s3), 0, (to) + 3 * (to_row));                           \
    }
#endif

GANTRY_FN void transpose_rows(GANTRY_GLOBAL const T *x, C *transposed, int count, int width) {
    const int rows = TRANSPOSED_AT_ONCE(width), whole = TRANSPOSED_AT_ONCE(count);
    for (int i = 0; i < rows; i += 4) {
        for (int k = 0; k < whole; k += 4) {
            TRANSPOSE_FOUR(x + i * count + k, count, transposed + k * WIDTH + i, WIDTH)
        }
    }
    for (int i = 0; i < width; ++i) {
        for (int k = i < rows ? whole : 0; k < count; ++k) {
            transposed[k * WIDTH + i] = GANTRY_WIDEN(x[i * count + k]);
        }
    }
}

GANTRY_FN void transpose_back(GANTRY_GLOBAL T *y, const C *transposed, int count, int width) {
    const int rows = TRANSPOSED_AT_ONCE(width), whole = TRANSPOSED_AT_ONCE(count);
    for (int i = 0; i < rows; i += 4) {
        for (int k = 0; k < whole; k += 4) {
            TRANSPOSE_FOUR(transposed + k * WIDTH + i, WIDTH, y + i * count + k, count)
        }
    }
    for (int i = 0; i < width; ++i) {
        for (int k = i < rows ? whole : 0; k < count; ++k) {
            y[i * count + k] = GANTRY_NARROW(transposed[k * WIDTH + i]);
        }
    }
}

/* A work-group of one for `each` rows. */
GANTRY_KERNEL softmax_transposed(GANTRY_SPAN_IN(in), GANTRY_SPAN_OUT(out), const GANTRY_LONG length,
                                 const GANTRY_LONG rows, const GANTRY_LONG lanes,
                                 const GANTRY_LONG each) {
    C transposed[LANES * WIDTH];
    C terms[LANES * WIDTH];
    const int count = (int)length;
    const GANTRY_LONG first = GANTRY_GROUP_ID(0) * each;
    const GANTRY_LONG end = first + each < rows ? first + each : rows;
    for (GANTRY_LONG row = first; row < end; row += WIDTH) {
        const int width = (int)(end - row < WIDTH ? end - row : WIDTH);
        GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length;
        GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * length;
        transpose_rows(x, transposed, count, width);
        transposed_terms(transposed, terms, count, width);
        transposed_results(transposed, terms, count, (int)lanes, width);
        transpose_back(y, transposed, count, width);
    }
}

#endif

/* ---- rows of more than 4096 elements: reduce.cl computes largest[row] and sum[row]; a work-group
 * computes a piece of a row ---- */

#define PIECE 4096

GANTRY_KERNEL softmax_terms(GANTRY_SPAN_IN(in), GANTRY_SPAN_IN(largest), GANTRY_SPAN_OUT(terms),
                            const GANTRY_LONG length, const GANTRY_LONG pieces) {
    const GANTRY_LONG row = gantry__divide_position(GANTRY_GROUP_ID(0), pieces);
    const GANTRY_LONG first = (GANTRY_GROUP_ID(0) - row * pieces) * PIECE;
    const int count = (int)(length - first < PIECE ? length - first : PIECE);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length + first;
    GANTRY_GLOBAL C *e = GANTRY_OUT(C, terms) + row * length + first;
    const C most = GANTRY_IN(C, largest)[row] + (C)0;
    const int step = (int)GANTRY_LOCAL_SIZE(0);
    for (int i = (int)GANTRY_LOCAL_ID(0); i < count; i += step) {
        e[i] = SOFT_EXP(GANTRY_WIDEN(x[i]) - most);
    }
}

GANTRY_KERNEL softmax_result(GANTRY_SPAN_IN(in), GANTRY_SPAN_IN(largest), GANTRY_SPAN_IN(sum),
                             GANTRY_SPAN_OUT(out), const GANTRY_LONG length,
                             const GANTRY_LONG pieces) {
    const GANTRY_LONG row = gantry__divide_position(GANTRY_GROUP_ID(0), pieces);
    const GANTRY_LONG first = (GANTRY_GROUP_ID(0) - row * pieces) * PIECE;
    const int count = (int)(length - first < PIECE ? length - first : PIECE);
    GANTRY_GLOBAL const T *x = GANTRY_IN(T, in) + row * length + first;
    GANTRY_GLOBAL T *y = GANTRY_OUT(T, out) + row * length + first;
    const C most = GANTRY_IN(C, largest)[row] + (C)0;
    const C scale = scale_of(GANTRY_IN(C, sum)[row]);
    const int step = (int)GANTRY_LOCAL_SIZE(0);
    for (int i = (int)GANTRY_LOCAL_ID(0); i < count; i += step) {
        y[i] = result_of(x[i], most, scale);
    }
}

#endif
