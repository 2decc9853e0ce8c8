/* SPDX-License-Identifier: Apache-2.0 */
/* LinSpace: start + i * ((stop - start) / last), each step rounded once; halves are computed in
 * float32, and the sum is rounded once more. The ends are start and stop themselves, however the
 * steps between them round. It must come after dialect, launch, types, half and work. */
#define LIN_SPACE_VALUE(place) \
    i == 0 ? start : i == last ? stop : GANTRY_NARROW(from + (C)(place)*step)

GANTRY_KERNEL lin_space(GANTRY_SPAN_IN(start), GANTRY_SPAN_IN(stop), GANTRY_SPAN_OUT(out),
                        const gantry__work_t p) {
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);
    const T start = GANTRY_IN(T, start)[0];
    const T stop = GANTRY_IN(T, stop)[0];
    const GANTRY_LONG last = p.count - 1;
    const C from = GANTRY_WIDEN(start);
    const C step = (GANTRY_WIDEN(stop) - from) / (C)last;

    /* not every processor converts vectors of 64-bit integers to floats */
    if (last < ((GANTRY_LONG)1 << 31)) {
        GANTRY_STORE_ALL(T, outs, p, , LIN_SPACE_VALUE((int)i))
    } else {
        GANTRY_STORE_ALL(T, outs, p, , LIN_SPACE_VALUE(i))
    }
}
