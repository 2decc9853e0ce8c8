/* SPDX-License-Identifier: Apache-2.0 */
/* OneHot: out[p, d, s] = indices[p, s] == d ? on : off, by element size: T represents all types of
 * that size. Indices have the type I. An index outside [0, depth) gives off everywhere. It must
 * come after dialect, launch, types and work. */
typedef struct gantry__one_hot_t {
    gantry__work_t work; /* over the output's elements */
    GANTRY_LONG depth;
    GANTRY_LONG suffix;
} gantry__one_hot_t;

#if GANTRY_SERIAL

/* The innermost dimension (suffix, or depth if suffix is 1) is one loop of comparisons. */
GANTRY_KERNEL one_hot(GANTRY_SPAN_IN(indices), GANTRY_SPAN_IN(on), GANTRY_SPAN_IN(off),
                      GANTRY_SPAN_OUT(out), const gantry__one_hot_t p) {
    const T on_value = GANTRY_IN(T, on)[0];
    const T off_value = GANTRY_IN(T, off)[0];
    const GANTRY_LONG inner = p.suffix == 1 ? p.depth : p.suffix;
    const GANTRY_LONG end = GANTRY_END(p.work);
    GANTRY_LONG i = GANTRY_FIRST(p.work);
    GANTRY_LONG row = i / inner;
    GANTRY_LONG at = i % inner;

    while (i < end) {
        const GANTRY_LONG left = inner - at;
        const GANTRY_LONG length = left < end - i ? left : end - i;
        GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out) + i;

        if (p.suffix == 1) {
            const GANTRY_LONG index = (GANTRY_LONG)GANTRY_IN(I, indices)[row];
            for (GANTRY_LONG e = 0; e < length; ++e) {
                outs[e] = at + e == index ? on_value : off_value;
            }
        } else {
            const GANTRY_LONG prefix = gantry__divide_position(row, p.depth);
            const GANTRY_LONG place = row - prefix * p.depth;
            GANTRY_GLOBAL const I *list = GANTRY_IN(I, indices) + prefix * p.suffix + at;
            for (GANTRY_LONG e = 0; e < length; ++e) {
                outs[e] = (GANTRY_LONG)list[e] == place ? on_value : off_value;
            }
        }
        i += length;
        at = 0;
        row++;
    }
}

#else

GANTRY_KERNEL one_hot(GANTRY_SPAN_IN(indices), GANTRY_SPAN_IN(on), GANTRY_SPAN_IN(off),
                      GANTRY_SPAN_OUT(out), const gantry__one_hot_t p) {
    const T on_value = GANTRY_IN(T, on)[0];
    const T off_value = GANTRY_IN(T, off)[0];

    for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {
        const GANTRY_LONG row = gantry__divide_position(i, p.suffix); /* (p, d) */
        const GANTRY_LONG prefix = gantry__divide_position(row, p.depth);
        const GANTRY_LONG place = row - prefix * p.depth;
        const GANTRY_LONG at = i - row * p.suffix;
        const GANTRY_LONG index = (GANTRY_LONG)GANTRY_IN(I, indices)[prefix * p.suffix + at];

        GANTRY_OUT(T, out)[i] = index == place ? on_value : off_value;
    }
}

#endif
