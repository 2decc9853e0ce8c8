/* SPDX-License-Identifier: Apache-2.0 */
/* Select: condition ? x : y over the bits of elements of T's size. It must come after dialect,
 * launch, types and work. */

#if !GANTRY_SERIAL
#define GANTRY_ELEMENTS (16 / (int)sizeof(T))
GANTRY_WIDE_TYPE(gantry__wide_t, T, GANTRY_ELEMENTS);
GANTRY_WIDE_TYPE(gantry__wide_condition_t, uchar, GANTRY_ELEMENTS);
#endif

GANTRY_KERNEL dense(GANTRY_SPAN_IN(condition), GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(y),
                    GANTRY_SPAN_OUT(out), const gantry__work_t p) {
    GANTRY_GLOBAL const uchar *conditions = GANTRY_IN(uchar, condition);
    GANTRY_GLOBAL const T *xs = GANTRY_IN(T, x);
    GANTRY_GLOBAL const T *ys = GANTRY_IN(T, y);
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);
    GANTRY_LONG i = GANTRY_FIRST(p);

#if !GANTRY_SERIAL
    if (GANTRY_IS_ALIGNED(conditions, gantry__wide_condition_t) &&
        GANTRY_IS_ALIGNED(xs, gantry__wide_t) && GANTRY_IS_ALIGNED(ys, gantry__wide_t) &&
        GANTRY_IS_ALIGNED(outs, gantry__wide_t)) {
        const GANTRY_LONG wide = p.count / GANTRY_ELEMENTS;
        GANTRY_ROLLED for (; i < wide; i += GANTRY_STEP) {
            gantry__wide_condition_t c;
            gantry__wide_t t, e, result;
            GANTRY_WIDE_LOAD(gantry__wide_condition_t, conditions, i, c)
            GANTRY_WIDE_LOAD(gantry__wide_t, xs, i, t)
            GANTRY_WIDE_LOAD(gantry__wide_t, ys, i, e)
            GANTRY_UNROLLED for (int k = 0; k < GANTRY_ELEMENTS; ++k) {
                result.e[k] = c.e[k] ? t.e[k] : e.e[k];
            }
            GANTRY_WIDE_STORE(gantry__wide_t, outs, i, result)
        }
        i = wide * GANTRY_ELEMENTS + GANTRY_FIRST(p);
    }
#endif
    GANTRY_ROLLED for (; i < GANTRY_END(p); i += GANTRY_STEP) {
        const T t = xs[i];
        const T e = ys[i];
        outs[i] = conditions[i] ? t : e;
    }
}

/* Operands 0, 1, 2 of the plan must be condition, x, y. */
GANTRY_KERNEL broadcast(GANTRY_SPAN_IN(condition), GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(y),
                        GANTRY_SPAN_OUT(out), GANTRY_VALUE(gantry__item_plan_t, p)) {
    GANTRY_TAKE(gantry__item_plan_t, p)
    for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {
        GANTRY_LONG rest = i;
        GANTRY_LONG condition_at = 0;
        GANTRY_LONG x_at = 0;
        GANTRY_LONG y_at = 0;

        for (int d = (int)p.rank - 1; d >= 0; --d) {
            const GANTRY_LONG next = gantry__divide_position(rest, p.dims[d]);
            const GANTRY_LONG at = rest - next * p.dims[d];

            condition_at += at * p.strides0[d];
            x_at += at * p.strides1[d];
            y_at += at * p.strides2[d];
            rest = next;
        }
        GANTRY_OUT(T, out)
        [i] = GANTRY_IN(uchar, condition)[condition_at] ? GANTRY_IN(T, x)[x_at]
                                                        : GANTRY_IN(T, y)[y_at];
    }
}
