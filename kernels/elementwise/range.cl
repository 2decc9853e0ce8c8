/* SPDX-License-Identifier: Apache-2.0 */
/* Range: start + i * delta, each step rounded once; halves are computed in float32, and the sum is
 * rounded once more. It comes after dialect, launch, types, half and work. start and delta must be
 * the bits of T, widened to 64 bits. */
typedef struct gantry__range_t {
    gantry__work_t work;
    ulong start;
    ulong delta;
} gantry__range_t;

GANTRY_KERNEL range(GANTRY_SPAN_OUT(out), const gantry__range_t p) {
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);
    const U start = (U)GANTRY_WIDEN(GANTRY_T_OF_BITS(p.start));
    const U delta = (U)GANTRY_WIDEN(GANTRY_T_OF_BITS(p.delta));

    GANTRY_STORE_ALL(T, outs, p.work, , GANTRY_NARROW((C)(start + (U)i * delta)))
}
