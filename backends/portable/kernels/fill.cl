/* Fill: one element of T's size (uchar, int or long stand for all types) everywhere. Before this come dialect, launch,
 * types and work. */

GANTRY_KERNEL fill(GANTRY_SPAN_IN(value), GANTRY_SPAN_OUT(out), const gantry_work_t p)
{
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);
    const T value = GANTRY_IN(T, value)[0];

    GANTRY_STORE_ALL(T, outs, p, value)
}
