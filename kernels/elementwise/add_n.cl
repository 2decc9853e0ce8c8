/* SPDX-License-Identifier: Apache-2.0 */
/* AddN: first + rest[0] + rest[1] + ..., from left to right, with up to seven of the rest in one
 * launch. The host must pass the first again for those that are absent. It comes after dialect,
 * launch, types, half and work. */
typedef struct gantry__add_n_t {
    gantry__work_t work;
    GANTRY_LONG rest; /* 0 to 7 */
} gantry__add_n_t;

GANTRY_KERNEL add_n(GANTRY_SPAN_IN(first), GANTRY_SPAN_IN(r0), GANTRY_SPAN_IN(r1),
                    GANTRY_SPAN_IN(r2), GANTRY_SPAN_IN(r3), GANTRY_SPAN_IN(r4), GANTRY_SPAN_IN(r5),
                    GANTRY_SPAN_IN(r6), GANTRY_SPAN_OUT(out), const gantry__add_n_t p) {
    GANTRY_GLOBAL const T *a = GANTRY_IN(T, first);
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);

    if (p.rest == 1) { /* the frequent sum of two */
        GANTRY_GLOBAL const T *b = GANTRY_IN(T, r0);

        GANTRY_ROLLED for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work);
                           i += GANTRY_STEP) {
            outs[i] = GANTRY_NARROW((C)((U)GANTRY_WIDEN(a[i]) + (U)GANTRY_WIDEN(b[i])));
        }
        return;
    }
    GANTRY_ROLLED for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work);
                       i += GANTRY_STEP) {
        U sum = (U)GANTRY_WIDEN(a[i]);

        sum = p.rest > 0 ? sum + (U)GANTRY_WIDEN(GANTRY_IN(T, r0)[i]) : sum;
        sum = p.rest > 1 ? sum + (U)GANTRY_WIDEN(GANTRY_IN(T, r1)[i]) : sum;
        sum = p.rest > 2 ? sum + (U)GANTRY_WIDEN(GANTRY_IN(T, r2)[i]) : sum;
        sum = p.rest > 3 ? sum + (U)GANTRY_WIDEN(GANTRY_IN(T, r3)[i]) : sum;
        sum = p.rest > 4 ? sum + (U)GANTRY_WIDEN(GANTRY_IN(T, r4)[i]) : sum;
        sum = p.rest > 5 ? sum + (U)GANTRY_WIDEN(GANTRY_IN(T, r5)[i]) : sum;
        sum = p.rest > 6 ? sum + (U)GANTRY_WIDEN(GANTRY_IN(T, r6)[i]) : sum;
        outs[i] = GANTRY_NARROW((C)sum);
    }
}
