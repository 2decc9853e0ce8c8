/* Cast from S to T. Before this come dialect, launch, types (with GANTRY_S_ID and GANTRY_T_ID), convert and work.
 * GANTRY_TRUNCATE: float64 to float32 rounds toward zero. */
#if GANTRY_T_IS_BOOL
#define GANTRY_CONVERT(x) ((uchar)((x) != 0))
#elif GANTRY_S_ID == 1 && GANTRY_T_ID == 3
#define GANTRY_CONVERT(x) gantry_f32_to_i32(x)
#elif GANTRY_S_ID == 1 && GANTRY_T_ID == 9
#define GANTRY_CONVERT(x) gantry_f32_to_i64(x)
#elif GANTRY_S_ID == 2 && GANTRY_T_ID == 3
#define GANTRY_CONVERT(x) gantry_f64_to_i32(x)
#elif GANTRY_S_ID == 2 && GANTRY_T_ID == 9
#define GANTRY_CONVERT(x) gantry_f64_to_i64(x)
#elif GANTRY_S_ID == 2 && GANTRY_T_ID == 1 && defined(GANTRY_TRUNCATE)
#define GANTRY_CONVERT(x) gantry_f64_to_f32_truncated(x)
#else
#define GANTRY_CONVERT(x) ((T)(x))
#endif

#if !GANTRY_SERIAL
#define GANTRY_ELEMENTS (16 / (int)(sizeof(S) > sizeof(T) ? sizeof(S) : sizeof(T)))
GANTRY_WIDE_TYPE(gantry_wide_in_t, S, GANTRY_ELEMENTS);
GANTRY_WIDE_TYPE(gantry_wide_out_t, T, GANTRY_ELEMENTS);
#endif

GANTRY_KERNEL cast(GANTRY_SPAN_IN(x), GANTRY_SPAN_OUT(out), const gantry_work_t p)
{
    GANTRY_GLOBAL const S *xs = GANTRY_IN(S, x);
    GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);

#if GANTRY_SERIAL
    GANTRY_STORE_ALL(T, outs, p, GANTRY_CONVERT(xs[i]))
#else
    GANTRY_MAP_ALL(S, gantry_wide_in_t, gantry_wide_out_t, GANTRY_ELEMENTS, xs, outs, p, GANTRY_CONVERT(x))
#endif
}
