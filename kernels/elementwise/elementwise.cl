/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of one op of ops/elementwise.def for one type. It must come after dialect, launch, types,
 * half, the math texts, element, work and the op's own lines, made by the host from its row:
 *
 *     GANTRY_FORM_...               UNARY, BINARY or VALUE, whatever the row's form is: defined
 *     GANTRY_RESULT_IS_...          SAME, BOOL or BYTE: defined
 *     GANTRY_EXPRESSION             of x and y
 *     GANTRY_CHECK(y)               not 0 for a bad element
 *     GANTRY_FAULT_CODE             of an op with a check: for integers its kernels take the
 *                                   fault slot as their last parameter; 0 for others */

/* Operands and result arrive as bases, because a driver may spend a tenth of a small launch on each
 * argument. */
typedef struct gantry__dense_t {
    gantry__work_t work;
    ulong offsets[3]; /* in bytes: those of the operands, then that of the result */
    ulong y;          /* only for a VALUE: the bits of a T */
} gantry__dense_t;

#define GANTRY_DENSE_UNARY(q)                    \
    const gantry__work_t p = (q).work;           \
    const ulong x_offset = (q).offsets[0];       \
    const ulong out_offset = (q).offsets[1];     \
    GANTRY_GLOBAL const T *xs = GANTRY_IN(T, x); \
    GANTRY_GLOBAL R *outs = GANTRY_OUT(R, out);

#define GANTRY_DENSE_BINARY(q)                   \
    const gantry__work_t p = (q).work;           \
    const ulong x_offset = (q).offsets[0];       \
    const ulong y_offset = (q).offsets[1];       \
    const ulong out_offset = (q).offsets[2];     \
    GANTRY_GLOBAL const T *xs = GANTRY_IN(T, x); \
    GANTRY_GLOBAL const T *ys = GANTRY_IN(T, y); \
    GANTRY_GLOBAL R *outs = GANTRY_OUT(R, out);

#if defined(GANTRY_RESULT_IS_SAME)
typedef T R;
#define GANTRY_RESULT(value) GANTRY_NARROW((C)(value))
#else
typedef uchar R;
#define GANTRY_RESULT(value) ((uchar)(value))
#endif

#if GANTRY_SERIAL && defined(GANTRY_RESULT_IS_BOOL) && GANTRY_T_IS_BOOL
#define GANTRY_STORED(value) GANTRY_HIDDEN_BOOL_OF_BOOLS(value)
#elif GANTRY_SERIAL && defined(GANTRY_RESULT_IS_BOOL)
#define GANTRY_STORED(value) GANTRY_HIDDEN_BOOL(value)
#else
#define GANTRY_STORED(value) (value)
#endif

#if GANTRY_FAULT_CODE && GANTRY_T_IS_INT
#define GANTRY_CAN_FAIL 1
#define GANTRY_FAULT_PARAMETER , GANTRY_SPAN_OUT(fault)
#define GANTRY_REPORT(bad, position)                         \
    if (bad) {                                               \
        GANTRY_FAULT(fault, GANTRY_FAULT_CODE, 1, position); \
    }
#else
#define GANTRY_CAN_FAIL 0
#define GANTRY_FAULT_PARAMETER
#define GANTRY_REPORT(bad, position)
#endif

#if defined(GANTRY_MATH_LANES)

/* A costly function of floats on a processor whose compiler does not use the full width of its
 * vectors: math texts and expression work on GANTRY_MATH_LANES elements at once. */
#define GANTRY_LOAD_OF(lanes) vload##lanes
#define GANTRY_STORE_OF(lanes) vstore##lanes
#define GANTRY_LOAD_NAME(lanes) GANTRY_LOAD_OF(lanes)
#define GANTRY_STORE_NAME(lanes) GANTRY_STORE_OF(lanes)
#define GANTRY_LOAD GANTRY_LOAD_NAME(GANTRY_MATH_LANES)
#define GANTRY_STORE GANTRY_STORE_NAME(GANTRY_MATH_LANES)
#if GANTRY_T_IS(f32)
#define GANTRY_VECTOR GANTRY_F32
#else
#define GANTRY_VECTOR GANTRY_F64
#endif
GANTRY_LOOSE_TYPE(GANTRY_VECTOR, T, gantry__loose_t);

#if defined(GANTRY_FORM_UNARY)

GANTRY_FN GANTRY_VECTOR gantry__apply(const GANTRY_VECTOR x) { return GANTRY_EXPRESSION; }

/* Applies the op to fewer than GANTRY_MATH_LANES elements. */
GANTRY_FN void gantry__apply_few(GANTRY_GLOBAL const T *xs, GANTRY_GLOBAL T *outs, int count) {
    T few[GANTRY_MATH_LANES];

    for (int e = 0; e < GANTRY_MATH_LANES; ++e) {
        few[e] = e < count ? xs[e] : (T)1;
    }
    GANTRY_STORE(gantry__apply(GANTRY_LOAD(0, few)), 0, few);
    for (int e = 0; e < count; ++e) {
        outs[e] = few[e];
    }
}

GANTRY_KERNEL dense(GANTRY_BASE_IN(x), GANTRY_BASE_OUT(out), const gantry__dense_t q) {
    GANTRY_DENSE_UNARY(q)
    const GANTRY_LONG end = GANTRY_END(p);
    GANTRY_LONG i = GANTRY_FIRST(p);

#if GANTRY_CAN_STREAM
    if (p.stream) {
        for (; end - i >= GANTRY_MATH_LANES; i += GANTRY_MATH_LANES) {
            GANTRY_PREFETCH((ulong)(xs + i) + GANTRY_STREAM_AHEAD);
            __builtin_nontemporal_store(gantry__apply(GANTRY_LOAD(0, xs + i)),
                                        (GANTRY_GLOBAL GANTRY_VECTOR *)(outs + i));
        }
    }
#endif
    for (; end - i >= GANTRY_MATH_LANES; i += GANTRY_MATH_LANES) {
        *(GANTRY_GLOBAL gantry__loose_t *)(outs + i) = gantry__apply(GANTRY_LOAD(0, xs + i));
    }
    if (i < end) {
        gantry__apply_few(xs + i, outs + i, (int)(end - i));
    }
}

#else

GANTRY_FN GANTRY_VECTOR gantry__apply(const GANTRY_VECTOR x, const GANTRY_VECTOR y) {
    return GANTRY_EXPRESSION;
}

/* The operand from element i on: its own elements, or a scalar in all lanes. */
#define GANTRY_TAKE_EACH(from, i) GANTRY_LOAD(0, from + (i))
#define GANTRY_TAKE_ONE(from, i) ((GANTRY_VECTOR)(from[0]))
#define GANTRY_PLACE_EACH(i) (i)
#define GANTRY_PLACE_ONE(i) 0

/* x_is and y_is must be EACH or ONE. The last elements, fewer than lanes, repeat their first. */
#define GANTRY_LANES_KERNEL(name, x_is, y_is)                                                      \
    GANTRY_KERNEL name(GANTRY_BASE_IN(x), GANTRY_BASE_IN(y), GANTRY_BASE_OUT(out),                 \
                       const gantry__dense_t q) {                                                  \
        GANTRY_DENSE_BINARY(q)                                                                     \
        const GANTRY_LONG end = GANTRY_END(p);                                                     \
        GANTRY_LONG i = GANTRY_FIRST(p);                                                           \
                                                                                                   \
        for (; end - i >= GANTRY_MATH_LANES; i += GANTRY_MATH_LANES) {                             \
            *(GANTRY_GLOBAL gantry__loose_t *)(outs + i) =                                         \
                gantry__apply(GANTRY_TAKE_##x_is(xs, i), GANTRY_TAKE_##y_is(ys, i));               \
        }                                                                                          \
        if (i < end) {                                                                             \
            T few_x[GANTRY_MATH_LANES];                                                            \
            T few_y[GANTRY_MATH_LANES];                                                            \
            R few_out[GANTRY_MATH_LANES];                                                          \
            for (int e = 0; e < GANTRY_MATH_LANES; ++e) {                                          \
                const GANTRY_LONG at = i + e < end ? i + e : i;                                    \
                few_x[e] = xs[GANTRY_PLACE_##x_is(at)];                                            \
                few_y[e] = ys[GANTRY_PLACE_##y_is(at)];                                            \
            }                                                                                      \
            GANTRY_STORE(gantry__apply(GANTRY_LOAD(0, few_x), GANTRY_LOAD(0, few_y)), 0, few_out); \
            for (int e = 0; i + e < end; ++e) {                                                    \
                outs[i + e] = few_out[e];                                                          \
            }                                                                                      \
        }                                                                                          \
    }

GANTRY_LANES_KERNEL(dense, EACH, EACH)
GANTRY_LANES_KERNEL(y_scalar, EACH, ONE)
GANTRY_LANES_KERNEL(x_scalar, ONE, EACH)

#endif

#else

GANTRY_FN R gantry__apply(const T a, const T b) {
    const C x = GANTRY_WIDEN(a);
    const C y = GANTRY_WIDEN(b);

    return GANTRY_RESULT(GANTRY_EXPRESSION);
}

#if !GANTRY_SERIAL
#define GANTRY_ELEMENTS (16 / (int)sizeof(T))
GANTRY_WIDE_TYPE(gantry__wide_t, T, GANTRY_ELEMENTS);
GANTRY_WIDE_TYPE(gantry__wide_result_t, R, GANTRY_ELEMENTS);
#endif

#if defined(GANTRY_FORM_UNARY)

GANTRY_KERNEL dense(GANTRY_BASE_IN(x), GANTRY_BASE_OUT(out), const gantry__dense_t q) {
    GANTRY_DENSE_UNARY(q)
#if GANTRY_SERIAL
    GANTRY_HIDE_TRUE(p)
    GANTRY_STORE_ALL(R, outs, p, GANTRY_PREFETCH((ulong)(xs + i)),
                     GANTRY_STORED(gantry__apply(xs[i], xs[i])))
#else
    GANTRY_MAP_ALL(T, gantry__wide_t, gantry__wide_result_t, GANTRY_ELEMENTS, xs, outs, p,
                   gantry__apply(x, x))
#endif
}

#elif defined(GANTRY_FORM_VALUE)

GANTRY_KERNEL value(GANTRY_BASE_IN(x), GANTRY_BASE_OUT(out), const gantry__dense_t q) {
    GANTRY_DENSE_UNARY(q)
    const T y = GANTRY_T_OF_BITS(q.y);

#if GANTRY_SERIAL
    GANTRY_HIDE_TRUE(p)
    GANTRY_STORE_ALL(R, outs, p, GANTRY_PREFETCH((ulong)(xs + i)),
                     GANTRY_STORED(gantry__apply(xs[i], y)))
#else
    GANTRY_MAP_ALL(T, gantry__wide_t, gantry__wide_result_t, GANTRY_ELEMENTS, xs, outs, p,
                   gantry__apply(x, y))
#endif
}

#else

#if GANTRY_SERIAL

/* Sets `bad`, if it is still -1, to `base` + the place of the first bad element of ys. `place` is
 * an expression of i, which goes from `first` to `end`. The search is separate from the work,
 * because LLVM makes no vector code of a loop that keeps a position. */
#define GANTRY_FIND_BAD(i, first, end, base, place)             \
    for (GANTRY_LONG i = (first); i < (end) && bad < 0; ++i) {  \
        bad = GANTRY_CHECK(ys[place]) ? (base) + (place) : bad; \
    }

/* Runs `work`, which sets is_bad if it meets a bad element. The search for its position comes after
 * that, or before if `work` overwrites ys. */
#define GANTRY_CHECKED(i, first, end, base, place, work)                             \
    {                                                                                \
        const int is_over = GANTRY_CAN_FAIL && (ulong)ys == (ulong)outs;             \
        int is_bad = 0;                                                              \
        if (is_over) {                                                               \
            GANTRY_FIND_BAD(i, first, end, base, place)                              \
        }                                                                            \
        work if (is_bad && !is_over) { GANTRY_FIND_BAD(i, first, end, base, place) } \
    }

#define GANTRY_DENSE(xi, yi)                                                         \
    GANTRY_LONG bad = -1;                                                            \
    GANTRY_HIDE_TRUE(p)                                                              \
    GANTRY_CHECKED(i, GANTRY_FIRST(p), GANTRY_END(p), 0, yi,                         \
                   GANTRY_STORE_ALL(R, outs, p, GANTRY_PREFETCH((ulong)(xs + (xi))); \
                                    GANTRY_PREFETCH((ulong)(ys + (yi))),             \
                                    (is_bad |= GANTRY_CHECK(ys[yi]),                 \
                                     GANTRY_STORED(gantry__apply(xs[xi], ys[yi]))))) \
    GANTRY_REPORT(bad >= 0, bad)

#define GANTRY_DENSE_KERNEL(name, xi, yi)                                          \
    GANTRY_KERNEL name(GANTRY_BASE_IN(x), GANTRY_BASE_IN(y), GANTRY_BASE_OUT(out), \
                       const gantry__dense_t q GANTRY_FAULT_PARAMETER) {           \
        GANTRY_DENSE_BINARY(q)                                                     \
        GANTRY_DENSE(xi, yi)                                                       \
    }

GANTRY_DENSE_KERNEL(dense, i, i)
GANTRY_DENSE_KERNEL(y_scalar, i, 0)
GANTRY_DENSE_KERNEL(x_scalar, 0, i)

/* Row by row: innermost strides are 0 or 1, so three loops suffice, which become vector code. */
#define GANTRY_ROW(xi, yi)                                                 \
    GANTRY_CHECKED(                                                        \
        e, 0, length, y_at, yi, for (GANTRY_LONG e = 0; e < length; ++e) { \
            is_bad |= GANTRY_CHECK(ys[yi]);                                \
            outs[e] = GANTRY_STORED(gantry__apply(xs[xi], ys[yi]));        \
        })

GANTRY_KERNEL broadcast(GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(y), GANTRY_SPAN_OUT(out),
                        GANTRY_VALUE(gantry__item_plan_t, p) GANTRY_FAULT_PARAMETER) {
    GANTRY_TAKE(gantry__item_plan_t, p)
    const int inner = (int)p.rank - 1;
    const GANTRY_LONG x_step = p.strides0[inner];
    const GANTRY_LONG y_step = p.strides1[inner];
    const GANTRY_LONG end = GANTRY_END(p.work);
    GANTRY_LONG i = GANTRY_FIRST(p.work);
    GANTRY_LONG at[8];
    GANTRY_LONG rest = i;
    GANTRY_LONG x_at = 0;
    GANTRY_LONG y_at = 0;
    GANTRY_LONG bad = -1;
    GANTRY_HIDE_TRUE(p.work)

    for (int d = inner; d >= 0; --d) {
        at[d] = rest % p.dims[d];
        rest /= p.dims[d];
        x_at += at[d] * p.strides0[d];
        y_at += at[d] * p.strides1[d];
    }
    while (i < end) {
        GANTRY_GLOBAL const T *xs = GANTRY_IN(T, x) + x_at;
        GANTRY_GLOBAL const T *ys = GANTRY_IN(T, y) + y_at;
        GANTRY_GLOBAL R *outs = GANTRY_OUT(R, out) + i;
        const GANTRY_LONG left = p.dims[inner] - at[inner];
        const GANTRY_LONG length = left < end - i ? left : end - i;

        if (x_step == y_step) {
            GANTRY_ROW(e, e)
        } else if (y_step == 0) {
            GANTRY_ROW(e, 0)
        } else {
            GANTRY_ROW(0, e)
        }
        i += length;
        at[inner] += length;
        x_at += length * x_step;
        y_at += length * y_step;
        for (int d = inner; d > 0 && at[d] == p.dims[d]; --d) {
            x_at += p.strides0[d - 1] - p.dims[d] * p.strides0[d];
            y_at += p.strides1[d - 1] - p.dims[d] * p.strides1[d];
            at[d] = 0;
            at[d - 1]++;
        }
    }
    GANTRY_REPORT(bad >= 0, bad)
}

#else

/* Takes first 16 bytes at a time, then the rest. */
GANTRY_KERNEL dense(GANTRY_BASE_IN(x), GANTRY_BASE_IN(y), GANTRY_BASE_OUT(out),
                    const gantry__dense_t q GANTRY_FAULT_PARAMETER) {
    GANTRY_DENSE_BINARY(q)
    GANTRY_LONG bad = -1;
    const int aligned = GANTRY_IS_ALIGNED(xs, gantry__wide_t) &&
                        GANTRY_IS_ALIGNED(ys, gantry__wide_t) &&
                        GANTRY_IS_ALIGNED(outs, gantry__wide_result_t);
    const GANTRY_LONG wide = aligned ? p.count / GANTRY_ELEMENTS : 0;

    GANTRY_ROLLED for (GANTRY_LONG g = GANTRY_FIRST(p); g < wide; g += GANTRY_STEP) {
        gantry__wide_t x, y;
        gantry__wide_result_t out;

        GANTRY_WIDE_LOAD(gantry__wide_t, xs, g, x)
        GANTRY_WIDE_LOAD(gantry__wide_t, ys, g, y)
        GANTRY_UNROLLED for (int e = 0; e < GANTRY_ELEMENTS; ++e) {
            bad = bad < 0 && GANTRY_CHECK(y.e[e]) ? g * GANTRY_ELEMENTS + e : bad;
            out.e[e] = gantry__apply(x.e[e], y.e[e]);
        }
        GANTRY_WIDE_STORE(gantry__wide_result_t, outs, g, out)
    }
    GANTRY_ROLLED for (GANTRY_LONG i = wide * GANTRY_ELEMENTS + GANTRY_FIRST(p); i < p.count;
                       i += GANTRY_STEP) {
        bad = bad < 0 && GANTRY_CHECK(ys[i]) ? i : bad;
        outs[i] = gantry__apply(xs[i], ys[i]);
    }
    GANTRY_REPORT(bad >= 0, bad)
}

/* One operand must have the result's shape. `size` elements of the other are each repeated `inner`
 * times, and all of that over and over: element i of the result takes number i / inner % size. */
typedef struct gantry__repeat_t {
    gantry__dense_t dense;
    GANTRY_LONG inner, size;
    GANTRY_LONG is_y; /* whether y is repeated, not x */
} gantry__repeat_t;

GANTRY_FN GANTRY_LONG gantry__repeat_place(const GANTRY_LONG i, const GANTRY_LONG inner,
                                           const GANTRY_LONG size) {
    const GANTRY_LONG number = gantry__divide_position(i, inner);

    return number - gantry__divide_position(number, size) * size;
}

/* The elements that do not fill 16 bytes, from `from` on, or all of them. */
#define GANTRY_REPEAT_REST(from)                                                                  \
    GANTRY_ROLLED for (GANTRY_LONG i = (from) + GANTRY_FIRST(p); i < p.count; i += GANTRY_STEP) { \
        const GANTRY_LONG at = gantry__repeat_place(i, r.inner, r.size);                          \
        const T y = ys[r.is_y ? at : i];                                                          \
        bad = bad < 0 && GANTRY_CHECK(y) ? (r.is_y ? at : i) : bad;                               \
        outs[i] = gantry__apply(xs[r.is_y ? i : at], y);                                          \
    }                                                                                             \
    GANTRY_REPORT(bad >= 0, bad)

/* For an inner of 1: rows of `size` elements, 16 bytes at a time if none crosses a row's end. */
GANTRY_KERNEL repeat_rows(GANTRY_BASE_IN(x), GANTRY_BASE_IN(y), GANTRY_BASE_OUT(out),
                          const gantry__repeat_t r GANTRY_FAULT_PARAMETER) {
    GANTRY_DENSE_BINARY(r.dense)
    GANTRY_LONG bad = -1;
    const int aligned = r.size % GANTRY_ELEMENTS == 0 && GANTRY_IS_ALIGNED(xs, gantry__wide_t) &&
                        GANTRY_IS_ALIGNED(ys, gantry__wide_t) &&
                        GANTRY_IS_ALIGNED(outs, gantry__wide_result_t);
    const GANTRY_LONG wide = aligned ? p.count / GANTRY_ELEMENTS : 0;
    const GANTRY_LONG wide_row = aligned ? r.size / GANTRY_ELEMENTS : 1;

    GANTRY_ROLLED for (GANTRY_LONG g = GANTRY_FIRST(p); g < wide; g += GANTRY_STEP) {
        const GANTRY_LONG at = g - gantry__divide_position(g, wide_row) * wide_row;
        const GANTRY_LONG y_at = r.is_y ? at : g;
        gantry__wide_t x, y;
        gantry__wide_result_t out;

        GANTRY_WIDE_LOAD(gantry__wide_t, xs, r.is_y ? g : at, x)
        GANTRY_WIDE_LOAD(gantry__wide_t, ys, y_at, y)
        GANTRY_UNROLLED for (int e = 0; e < GANTRY_ELEMENTS; ++e) {
            bad = bad < 0 && GANTRY_CHECK(y.e[e]) ? y_at * GANTRY_ELEMENTS + e : bad;
            out.e[e] = gantry__apply(x.e[e], y.e[e]);
        }
        GANTRY_WIDE_STORE(gantry__wide_result_t, outs, g, out)
    }
    GANTRY_REPEAT_REST(wide * GANTRY_ELEMENTS)
}

/* For any inner, and a scalar. It takes 16 bytes at a time, if they have one element of the other
 * in common. all and few: xs and ys, or ys and xs; X and Y: the operands of an element. */
#define GANTRY_REPEAT_EACH_KERNEL(name, all, few, X, Y, bad_place)                        \
    GANTRY_KERNEL name(GANTRY_BASE_IN(x), GANTRY_BASE_IN(y), GANTRY_BASE_OUT(out),        \
                       const gantry__repeat_t r GANTRY_FAULT_PARAMETER) {                 \
        GANTRY_DENSE_BINARY(r.dense)                                                      \
        GANTRY_LONG bad = -1;                                                             \
        const int aligned = (r.size == 1 || r.inner % GANTRY_ELEMENTS == 0) &&            \
                            GANTRY_IS_ALIGNED(all, gantry__wide_t) &&                     \
                            GANTRY_IS_ALIGNED(outs, gantry__wide_result_t);               \
        const GANTRY_LONG wide = aligned ? p.count / GANTRY_ELEMENTS : 0;                 \
                                                                                          \
        GANTRY_ROLLED for (GANTRY_LONG g = GANTRY_FIRST(p); g < wide; g += GANTRY_STEP) { \
            const GANTRY_LONG i = g * GANTRY_ELEMENTS;                                    \
            const GANTRY_LONG at = gantry__repeat_place(i, r.inner, r.size);              \
            const T one = few[at];                                                        \
            gantry__wide_t each;                                                          \
            gantry__wide_result_t out;                                                    \
                                                                                          \
            GANTRY_WIDE_LOAD(gantry__wide_t, all, g, each)                                \
            GANTRY_UNROLLED for (int e = 0; e < GANTRY_ELEMENTS; ++e) {                   \
                bad = bad < 0 && GANTRY_CHECK(Y) ? (bad_place) : bad;                     \
                out.e[e] = gantry__apply(X, Y);                                           \
            }                                                                             \
            GANTRY_WIDE_STORE(gantry__wide_result_t, outs, g, out)                        \
        }                                                                                 \
        GANTRY_REPEAT_REST(wide *GANTRY_ELEMENTS)                                         \
    }

GANTRY_REPEAT_EACH_KERNEL(repeat_y, xs, ys, each.e[e], one, at)
GANTRY_REPEAT_EACH_KERNEL(repeat_x, ys, xs, one, each.e[e], i + e)

/* All other shapes take this kernel. */
GANTRY_KERNEL broadcast(GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(y), GANTRY_SPAN_OUT(out),
                        GANTRY_VALUE(gantry__item_plan_t, p) GANTRY_FAULT_PARAMETER) {
    GANTRY_TAKE(gantry__item_plan_t, p)
    GANTRY_ROLLED for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < p.work.count; i += GANTRY_STEP) {
        GANTRY_LONG rest = i;
        GANTRY_LONG x_at = 0;
        GANTRY_LONG y_at = 0;

        for (int d = (int)p.rank - 1; d > 0; --d) {
            const GANTRY_LONG next = gantry__divide_position(rest, p.dims[d]);
            const GANTRY_LONG at = rest - next * p.dims[d];

            x_at += at * p.strides0[d];
            y_at += at * p.strides1[d];
            rest = next;
        }
        x_at += rest * p.strides0[0];
        y_at += rest * p.strides1[0];
        GANTRY_REPORT(GANTRY_CHECK(GANTRY_IN(T, y)[y_at]), y_at)
        GANTRY_OUT(R, out)[i] = gantry__apply(GANTRY_IN(T, x)[x_at], GANTRY_IN(T, y)[y_at]);
    }
}

#endif
#endif
#endif
