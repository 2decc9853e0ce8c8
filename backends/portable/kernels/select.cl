/* Select: condition ? x : y over the bits of elements of T's size (uchar, ushort, int or long stand for all types).
 * Before this come dialect, launch, types and work. */

GANTRY_KERNEL dense(GANTRY_SPAN_IN(condition), GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(y), GANTRY_SPAN_OUT(out),
                    const gantry_work_t p)
{
    GANTRY_GLOBAL const uchar *conditions = GANTRY_IN(uchar, condition);
    GANTRY_GLOBAL const T *xs = GANTRY_IN(T, x);
    GANTRY_GLOBAL const T *ys = GANTRY_IN(T, y);
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);

    for (GANTRY_LONG i = GANTRY_FIRST(p); i < GANTRY_END(p); i += GANTRY_STEP) {
        const T t = xs[i];
        const T e = ys[i];
        outs[i] = conditions[i] ? t : e;
    }
}

/* Operands 0, 1, 2 of the plan are condition, x, y. */
GANTRY_KERNEL broadcast(GANTRY_SPAN_IN(condition), GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(y), GANTRY_SPAN_OUT(out),
                        const gantry_plan_t p)
{
    for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {
        ulong rest = (ulong)i;
        GANTRY_LONG condition_at = 0;
        GANTRY_LONG x_at = 0;
        GANTRY_LONG y_at = 0;

        for (int d = (int)p.rank - 1; d >= 0; d--) {
            const ulong next = gantry_divide_position(rest, (ulong)p.dims[d], p.work.count);
            const GANTRY_LONG at = (GANTRY_LONG)(rest - next * (ulong)p.dims[d]);

            condition_at += at * p.strides[0][d];
            x_at += at * p.strides[1][d];
            y_at += at * p.strides[2][d];
            rest = next;
        }
        GANTRY_OUT(T, out)
        [i] = GANTRY_IN(uchar, condition)[condition_at] ? GANTRY_IN(T, x)[x_at] : GANTRY_IN(T, y)[y_at];
    }
}
