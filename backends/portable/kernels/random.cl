/* Values that take a fixed number of Philox words: uniform, normal, integers. Before this come dialect, launch, types,
 * the math texts, half, philox and work, whose elements are here groups: the values of one counter step, four, or two
 * of 64 bits. T is a floating type, or uint or ulong for integers of that size. */
typedef struct gantry_random_t {
    gantry_work_t work; /* groups */
    GANTRY_LONG values; /* elements of out: the last group may be cut short */
    ulong low;
    ulong high;
    ulong key;
    ulong lowest; /* of integers */
    ulong range;  /* of integers: how many values there are; 0: all */
} gantry_random_t;

#if GANTRY_T_ID == 2 || GANTRY_T_ID == 23
#define GANTRY_GROUP 2
#else
#define GANTRY_GROUP 4
#endif

#define GANTRY_FOUR(values, value)  \
    {                               \
        values[0] = (T)value(w.a);  \
        values[1] = (T)value(w.b);  \
        values[2] = (T)value(w.c);  \
        values[3] = (T)value(w.d);  \
    }

#if GANTRY_T_IS_INT
/* The values of one group. */
GANTRY_FN void gantry_integers_group(const gantry_words_t w, const gantry_random_t *p, T *values)
{
#if GANTRY_T_ID == 22
    const uint lowest = (uint)p->lowest;
    const uint range = (uint)p->range;

#define GANTRY_INTEGER(word) (range == 0 ? (word) : gantry_integer_32(word, lowest, range))
    GANTRY_FOUR(values, GANTRY_INTEGER)
#else
#define GANTRY_INTEGER(first, second) \
    (p->range == 0 ? gantry_two_words(first, second) : gantry_integer_64(first, second, p->lowest, p->range))
    values[0] = GANTRY_INTEGER(w.a, w.b);
    values[1] = GANTRY_INTEGER(w.c, w.d);
#endif
}
#else
GANTRY_FN void gantry_uniform_group(const gantry_words_t w, const gantry_random_t *p, T *values)
{
    (void)p;
#if GANTRY_T_ID == 1
    GANTRY_FOUR(values, gantry_uniform_f32)
#elif GANTRY_T_ID == 14
    GANTRY_FOUR(values, gantry_uniform_bf16)
#elif GANTRY_T_ID == 19
    GANTRY_FOUR(values, gantry_uniform_f16)
#else
    values[0] = gantry_uniform_f64(w.a, w.b);
    values[1] = gantry_uniform_f64(w.c, w.d);
#endif
}

GANTRY_FN void gantry_normal_group(const gantry_words_t w, const gantry_random_t *p, T *values)
{
    C normals[GANTRY_GROUP];

    (void)p;
#if GANTRY_GROUP == 4
    gantry_normals_f32(w, normals);
#else
    gantry_normals_f64(w, normals);
#endif
    for (int v = 0; v < GANTRY_GROUP; v++) {
        values[v] = GANTRY_NARROW(normals[v]);
    }
}
#endif

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
            group(gantry_philox(p.low, p.high, (ulong)g, key0, key1), &p, values);               \
            GANTRY_STORE_GROUP(outs + g * GANTRY_GROUP, values, count);                          \
        }                                                                                        \
    }

#if GANTRY_T_IS_INT
GANTRY_RANDOM_KERNEL(integers, gantry_integers_group)
#else
GANTRY_RANDOM_KERNEL(uniform, gantry_uniform_group)
GANTRY_RANDOM_KERNEL(normal, gantry_normal_group)
#endif
