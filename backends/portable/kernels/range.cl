/* Range: start + i * delta, each rounded once. Before this come dialect, launch, types and work. start and delta arrive
 * as the bits of T, widened to 64 bits. */
typedef struct gantry_range_t {
    gantry_work_t work;
    ulong start;
    ulong delta;
} gantry_range_t;

#if GANTRY_T_ID == 1
#define GANTRY_FROM_BITS(bits) GANTRY_AS_FLOAT((uint)(bits))
#elif GANTRY_T_ID == 2
#define GANTRY_FROM_BITS(bits) GANTRY_AS_DOUBLE(bits)
#else
#define GANTRY_FROM_BITS(bits) ((U)(bits))
#endif

GANTRY_KERNEL range(GANTRY_SPAN_OUT(out), const gantry_range_t p)
{
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);
    const U start = GANTRY_FROM_BITS(p.start);
    const U delta = GANTRY_FROM_BITS(p.delta);

    GANTRY_STORE_ALL(T, outs, p.work, (T)(start + (U)i * delta))
}
