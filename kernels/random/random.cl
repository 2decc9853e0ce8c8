/* SPDX-License-Identifier: Apache-2.0 */
/* Values that take a fixed number of Philox words: uniform, normal, integers. This file must follow
 * dialect, launch, types, the math texts, half, philox and work. An element of the work is a group:
 * the values of one counter step, which are four, or two of 64 bits. T must be a floating type, or
 * uint or ulong for integers of that size. */
typedef struct gantry__random_t {
    gantry__work_t work; /* groups */
    GANTRY_LONG values;  /* elements of out; the last group may have fewer */
    ulong low;
    ulong high;
    ulong key;
    ulong lowest; /* only for integers */
    ulong range;  /* for integers: the number of possible values; 0: all */
} gantry__random_t;

#if GANTRY_T_IS(f64) || GANTRY_T_IS(u64)
#define GANTRY_GROUP 2
#else
#define GANTRY_GROUP 4
#endif

#define GANTRY_FOUR(values, value) \
    {                              \
        values[0] = (T)value(w.a); \
        values[1] = (T)value(w.b); \
        values[2] = (T)value(w.c); \
        values[3] = (T)value(w.d); \
    }

#if GANTRY_T_IS_INT
/* The values of one group. */
GANTRY_FN void gantry__integers_group(const gantry__words_t w, const gantry__random_t *p,
                                      T *values) {
#if GANTRY_T_IS(u32)
    const uint lowest = (uint)p->lowest;
    const uint range = (uint)p->range;

#define GANTRY_INTEGER(word) (range == 0 ? (word) : gantry__integer_32(word, lowest, range))
    GANTRY_FOUR(values, GANTRY_INTEGER)
#else
#define GANTRY_INTEGER(first, second)                 \
    (p->range == 0 ? gantry__two_words(first, second) \
                   : gantry__integer_64(first, second, p->lowest, p->range))
    values[0] = GANTRY_INTEGER(w.a, w.b);
    values[1] = GANTRY_INTEGER(w.c, w.d);
#endif
}
#else
GANTRY_FN void gantry__uniform_group(const gantry__words_t w, const gantry__random_t *p,
                                     T *values) {
    (void)p;
#if GANTRY_T_IS(f32)
    GANTRY_FOUR(values, gantry__uniform_f32)
#elif GANTRY_T_IS(bf16)
    GANTRY_FOUR(values, gantry__uniform_bf16)
#elif GANTRY_T_IS(f16)
    GANTRY_FOUR(values, gantry__uniform_f16)
#else
    values[0] = gantry__uniform_f64(w.a, w.b);
    values[1] = gantry__uniform_f64(w.c, w.d);
#endif
}

#if !GANTRY_SERIAL || GANTRY_GROUP == 2 /* on others gantry__normal_block computes them */
GANTRY_FN void gantry__normal_group(const gantry__words_t w, const gantry__random_t *p, T *values) {
    C normals[GANTRY_GROUP];

    (void)p;
#if GANTRY_GROUP == 4
    gantry__normals_f32(w, normals);
#else
    gantry__normals_f64(w, normals);
#endif
    for (int v = 0; v < GANTRY_GROUP; ++v) {
        values[v] = GANTRY_NARROW(normals[v]);
    }
}
#endif
#endif

#if GANTRY_SERIAL
/* Blocks of groups: each step of the computation is a loop of its own, which compilers vectorize.
 * They would not vectorize one loop over all steps, because it branches for the last group. */
#define GANTRY_BLOCK 32 /* groups */
#define GANTRY_BY_GROUPS(block, group)                                                         \
    GANTRY_FN void block(const gantry__words_t *words, const gantry__random_t *p, T *values) { \
        for (int i = 0; i < GANTRY_BLOCK; ++i) {                                               \
            group(words[i], p, values + i * GANTRY_GROUP);                                     \
        }                                                                                      \
    }

#if GANTRY_T_IS_INT
GANTRY_BY_GROUPS(gantry__integers_block, gantry__integers_group)
#else
GANTRY_BY_GROUPS(gantry__uniform_block, gantry__uniform_group)
#if GANTRY_GROUP == 2
GANTRY_BY_GROUPS(gantry__normal_block, gantry__normal_group)
#else
/* gantry__normals_f32 of all groups: two neighbouring words give a pair of values. */
GANTRY_FN void gantry__normal_block(const gantry__words_t *words, const gantry__random_t *p,
                                    T *values) {
    const uint *word = (const uint *)words;
    float radius[2 * GANTRY_BLOCK], angle[2 * GANTRY_BLOCK];

    (void)p;
    for (int i = 0; i < 2 * GANTRY_BLOCK; ++i) {
        radius[i] = gantry__radius_f32(word[2 * i]);
    }
    for (int i = 0; i < 2 * GANTRY_BLOCK; ++i) {
        angle[i] = gantry__angle_f32(word[2 * i + 1]);
    }
    for (int i = 0; i < 2 * GANTRY_BLOCK; ++i) {
        values[2 * i] = GANTRY_NARROW(gantry__sin_4pi_f32(angle[i]) * radius[i]);
        values[2 * i + 1] = GANTRY_NARROW(gantry__cos_4pi_f32(angle[i]) * radius[i]);
    }
}
#endif
#endif

#define GANTRY_RANDOM_VALUES(kind)                                                \
    for (GANTRY_LONG g = GANTRY_FIRST(p.work), end = GANTRY_END(p.work); g < end; \
         g += GANTRY_BLOCK) {                                                     \
        const GANTRY_LONG first = g * GANTRY_GROUP,                               \
                          last = g + GANTRY_BLOCK < end ? g + GANTRY_BLOCK : end; \
        const GANTRY_LONG behind =                                                \
            last * GANTRY_GROUP < p.values ? last * GANTRY_GROUP : p.values;      \
        gantry__words_t words[GANTRY_BLOCK];                                      \
        T values[GANTRY_BLOCK * GANTRY_GROUP];                                    \
                                                                                  \
        for (int i = 0; i < GANTRY_BLOCK; ++i) {                                  \
            words[i] = gantry__philox(p.low, p.high, (ulong)(g + i), key0, key1); \
        }                                                                         \
        gantry__##kind##_block(words, &p, values);                                \
        for (GANTRY_LONG v = first; v < behind; ++v) {                            \
            outs[v] = values[v - first];                                          \
        }                                                                         \
    }
#else
GANTRY_WIDE_TYPE(gantry__wide_t, T, GANTRY_GROUP);

GANTRY_FN void gantry__store_group(GANTRY_GLOBAL T *to, const T *values, int count) {
    gantry__wide_t wide;

    for (int v = 0; v < GANTRY_GROUP; ++v) {
        wide.e[v] = values[v];
    }
    if (count == GANTRY_GROUP && GANTRY_IS_ALIGNED(to, gantry__wide_t)) {
        GANTRY_WIDE_STORE(gantry__wide_t, to, 0, wide)
        return;
    }
    /* a constant count, so that the values stay in registers */
    for (int v = 0; v < GANTRY_GROUP; ++v) {
        if (v < count) {
            to[v] = wide.e[v];
        }
    }
}
#define GANTRY_RANDOM_VALUES(kind)                                                               \
    const GANTRY_LONG whole = p.values / GANTRY_GROUP;                                           \
    for (GANTRY_LONG g = GANTRY_FIRST(p.work); g < GANTRY_END(p.work); g += GANTRY_STEP) {       \
        T values[GANTRY_GROUP];                                                                  \
        const int count = g < whole ? GANTRY_GROUP : (int)(p.values - whole * GANTRY_GROUP);     \
        gantry__##kind##_group(gantry__philox(p.low, p.high, (ulong)g, key0, key1), &p, values); \
        gantry__store_group(outs + g * GANTRY_GROUP, values, count);                             \
    }
#endif

#define GANTRY_RANDOM_KERNEL(name)                                       \
    GANTRY_KERNEL name(GANTRY_SPAN_OUT(out), const gantry__random_t p) { \
        GANTRY_GLOBAL T *outs = GANTRY_OUT(T, out);                      \
        const uint key0 = (uint)p.key;                                   \
        const uint key1 = (uint)(p.key >> 32);                           \
                                                                         \
        GANTRY_RANDOM_VALUES(name)                                       \
    }

#if GANTRY_T_IS_INT
GANTRY_RANDOM_KERNEL(integers)
#else
GANTRY_RANDOM_KERNEL(uniform)
GANTRY_RANDOM_KERNEL(normal)
#endif
