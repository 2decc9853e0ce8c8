/* SPDX-License-Identifier: Apache-2.0 */
/* Cast from S to T. It must come after dialect, launch, types (with GANTRY_S and GANTRY_T),
 * convert, half, work and cast_value. */
#if !GANTRY_SERIAL
#define GANTRY_ELEMENTS (16 / (int)(sizeof(S) > sizeof(T) ? sizeof(S) : sizeof(T)))
GANTRY_WIDE_TYPE(gantry__wide_in_t, S, GANTRY_ELEMENTS);
GANTRY_WIDE_TYPE(gantry__wide_out_t, T, GANTRY_ELEMENTS);
#endif

GANTRY_KERNEL cast(GANTRY_SPAN_IN(x), GANTRY_SPAN_OUT(out), const gantry__work_t p) {
    GANTRY_GLOBAL const S *xs = GANTRY_IN(S, x);
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);

#if GANTRY_SERIAL && GANTRY_T_IS_BOOL
    GANTRY_HIDE_TRUE(p)
    GANTRY_STORE_ALL(T, outs, p, GANTRY_PREFETCH((ulong)(xs + i)),
                     GANTRY_HIDDEN_BOOL(GANTRY_CONVERT(xs[i])))
#elif GANTRY_SERIAL
    GANTRY_STORE_ALL(T, outs, p, GANTRY_PREFETCH((ulong)(xs + i)), GANTRY_CONVERT(xs[i]))
#else
    GANTRY_MAP_ALL(S, gantry__wide_in_t, gantry__wide_out_t, GANTRY_ELEMENTS, xs, outs, p,
                   GANTRY_CONVERT(x))
#endif
}
