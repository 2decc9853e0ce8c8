/* Uniform and normal values from Philox words. Before this come dialect, launch, types (T is float or double), the math
 * texts, philox and work, whose elements are here groups: four float32 or two float64 values of one counter step. */
typedef struct gantry_random_t {
    gantry_work_t work; /* groups */
    GANTRY_LONG values; /* elements of out: the last group may be cut short */
    ulong low;
    ulong high;
    ulong key;
} gantry_random_t;

#define GANTRY_GROUP (16 / (int)sizeof(T))

/* The values of one group. */
GANTRY_FN void gantry_uniform_group(const gantry_words_t w, T *values)
{
#if GANTRY_T_ID == 1
    values[0] = gantry_uniform_f32(w.a);
    values[1] = gantry_uniform_f32(w.b);
    values[2] = gantry_uniform_f32(w.c);
    values[3] = gantry_uniform_f32(w.d);
#else
    values[0] = gantry_uniform_f64(w.a, w.b);
    values[1] = gantry_uniform_f64(w.c, w.d);
#endif
}

GANTRY_FN void gantry_normal_group(const gantry_words_t w, T *values)
{
#if GANTRY_T_ID == 1
    const float radius_0 = gantry_radius_f32(w.a);
    const float radius_1 = gantry_radius_f32(w.c);
    const float angle_0 = gantry_angle_f32(w.b);
    const float angle_1 = gantry_angle_f32(w.d);

    values[0] = gantry_sin_4pi_f32(angle_0) * radius_0;
    values[1] = gantry_cos_4pi_f32(angle_0) * radius_0;
    values[2] = gantry_sin_4pi_f32(angle_1) * radius_1;
    values[3] = gantry_cos_4pi_f32(angle_1) * radius_1;
#else
    const double radius = gantry_radius_f64(gantry_uniform_f64(w.a, w.b));
    const double angle = 6.283185307179586 * gantry_uniform_f64(w.c, w.d);

    values[0] = gantry_sin_4pi_f64(angle) * radius;
    values[1] = gantry_cos_4pi_f64(angle) * radius;
#endif
}

#if GANTRY_SERIAL
#define GANTRY_STORE_GROUP(to, values, count) \
    for (int v = 0; v < count; v++) {         \
        (to)[v] = values[v];                  \
    }
#else
GANTRY_WIDE_TYPE(gantry_wide_t, T, GANTRY_GROUP);

GANTRY_FN void gantry_store_group(GANTRY_GLOBAL T *to, const T *values, int count)
{
    gantry_wide_t wide;

    for (int v = 0; v < GANTRY_GROUP; v++) {
        wide.e[v] = values[v];
    }
    if (count == GANTRY_GROUP && GANTRY_IS_ALIGNED(to, gantry_wide_t)) {
        *(GANTRY_GLOBAL gantry_wide_t *)to = wide;
        return;
    }
    for (int v = 0; v < GANTRY_GROUP; v++) { /* a constant count: nothing is kept in memory for an index */
        if (v < count) {
            to[v] = wide.e[v];
        }
    }
}
#define GANTRY_STORE_GROUP(to, values, count) gantry_store_group(to, values, count)
#endif

#define GANTRY_RANDOM_KERNEL(name, group)                                                        \
    GANTRY_KERNEL name(GANTRY_SPAN_OUT(out), const gantry_random_t p)                            \
    {                                                                                            \
        GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);                                              \
        const uint key0 = (uint)p.key;                                                           \
        const uint key1 = (uint)(p.key >> 32);                                                   \
        const GANTRY_LONG whole = p.values / GANTRY_GROUP;                                       \
        for (GANTRY_LONG g = GANTRY_FIRST(p.work); g < GANTRY_END(p.work); g += GANTRY_STEP) {   \
            T values[GANTRY_GROUP];                                                              \
            const int count = g < whole ? GANTRY_GROUP : (int)(p.values - whole * GANTRY_GROUP); \
            group(gantry_philox(p.low, p.high, (ulong)g, key0, key1), values);                   \
            GANTRY_STORE_GROUP(outs + g * GANTRY_GROUP, values, count);                          \
        }                                                                                        \
    }

GANTRY_RANDOM_KERNEL(uniform, gantry_uniform_group)
GANTRY_RANDOM_KERNEL(normal, gantry_normal_group)
