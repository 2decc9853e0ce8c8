/* SPDX-License-Identifier: Apache-2.0 */
/* Fill: one element of T's size everywhere. It must come after dialect, launch, types and work. */

#if !GANTRY_SERIAL
#define GANTRY_ELEMENTS (16 / (int)sizeof(T))
GANTRY_WIDE_TYPE(gantry__wide_t, T, GANTRY_ELEMENTS);
#endif

GANTRY_KERNEL fill(GANTRY_SPAN_IN(value), GANTRY_SPAN_OUT(out), const gantry__work_t p) {
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);
    const T value = GANTRY_IN(T, value)[0];

#if GANTRY_SERIAL
    GANTRY_STORE_ALL(T, outs, p, , value)
#else
    const GANTRY_LONG wide =
        GANTRY_IS_ALIGNED(outs, gantry__wide_t) ? p.count / GANTRY_ELEMENTS : 0;
    gantry__wide_t values;

    GANTRY_UNROLLED for (int e = 0; e < GANTRY_ELEMENTS; ++e) { values.e[e] = value; }
    GANTRY_ROLLED for (GANTRY_LONG g = GANTRY_FIRST(p); g < wide; g += GANTRY_STEP){
        GANTRY_WIDE_STORE(gantry__wide_t, outs, g,
                          values)} GANTRY_ROLLED for (GANTRY_LONG i =
                                                          wide * GANTRY_ELEMENTS + GANTRY_FIRST(p);
                                                      i < p.count; i += GANTRY_STEP) {
        outs[i] = value;
    }
#endif
}

/* The same with a value from the host, for processors, where a driver's own fill uses only one
 * core, and no streaming stores, and for elements of 16 bytes, which drivers do not fill with. */
typedef struct gantry__fill_t {
    gantry__work_t work;
    ulong bits[2];
} gantry__fill_t;

GANTRY_KERNEL fill_bits(GANTRY_SPAN_OUT(out), GANTRY_VALUE(gantry__fill_t, p)) {
    GANTRY_TAKE(gantry__fill_t, p)
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);
    const T value = GANTRY_T_OF_TWO(p.bits);

    GANTRY_STORE_ALL(T, outs, p.work, , value)
}
