/* The loops of every op of elementwise.def for one type. No guard: cpu_elementwise_simd.c includes this once per type, with T, U,
 * GANTRY_T_ID and GANTRY_T_NAME (the suffix of the loops' names) defined; it takes them back at the end.
 * Plain loops: the compiler makes vector code of them, with a test for overlap in front. */
#include "portable/kernels/element.cl"

#define LOOP_PASTE_(name, type, form) name##_##type##_##form
#define LOOP_PASTE(name, type, form) LOOP_PASTE_(name, type, form)
#define LOOP(name, form) LOOP_PASTE(name, GANTRY_T_NAME, form)

#define LOOPS_1(name, result, check, expression)                                                                     \
    static int32_t LOOP(name, dense)(const void *xs, const void *ys, void *out, int64_t count)                       \
    {                                                                                                                \
        (void)ys;                                                                                                    \
        for (int64_t i = 0; i < count; i++) {                                                                        \
            const T x = ((const T *)xs)[i];                                                                          \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);                               \
        }                                                                                                            \
        return 0;                                                                                                    \
    }

#define LOOPS_2(name, result, check, expression)                                                                     \
    static int32_t LOOP(name, dense)(const void *xs, const void *ys, void *out, int64_t count)                       \
    {                                                                                                                \
        int32_t bad = 0;                                                                                             \
        for (int64_t i = 0; i < count; i++) {                                                                        \
            const T x = ((const T *)xs)[i];                                                                          \
            const T y = ((const T *)ys)[i];                                                                          \
            bad |= GANTRY_CHECK_##check(y);                                                                          \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);                               \
        }                                                                                                            \
        return bad;                                                                                                  \
    }                                                                                                                \
    static int32_t LOOP(name, y_scalar)(const void *xs, const void *ys, void *out, int64_t count)                    \
    {                                                                                                                \
        const T y = ((const T *)ys)[0];                                                                              \
        for (int64_t i = 0; i < count; i++) {                                                                        \
            const T x = ((const T *)xs)[i];                                                                          \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);                               \
        }                                                                                                            \
        return GANTRY_CHECK_##check(y);                                                                              \
    }                                                                                                                \
    static int32_t LOOP(name, x_scalar)(const void *xs, const void *ys, void *out, int64_t count)                    \
    {                                                                                                                \
        int32_t bad = 0;                                                                                             \
        const T x = ((const T *)xs)[0];                                                                              \
        for (int64_t i = 0; i < count; i++) {                                                                        \
            const T y = ((const T *)ys)[i];                                                                          \
            bad |= GANTRY_CHECK_##check(y);                                                                          \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);                               \
        }                                                                                                            \
        return bad;                                                                                                  \
    }

#if GANTRY_T_ID == 1 || GANTRY_T_ID == 2
#define EMIT_NUMBERS(loops) loops
#define EMIT_FLOATS(loops) loops
#define EMIT_ALL(loops) loops
#define EMIT_BOOLS(loops)
#elif GANTRY_T_ID == 10
#define EMIT_NUMBERS(loops)
#define EMIT_FLOATS(loops)
#define EMIT_ALL(loops) loops
#define EMIT_BOOLS(loops) loops
#else
#define EMIT_NUMBERS(loops) loops
#define EMIT_FLOATS(loops)
#define EMIT_ALL(loops) loops
#define EMIT_BOOLS(loops)
#endif

#define GANTRY_ELEMENTWISE(name, arity, types, result, check, expression)                                            \
    EMIT_##types(LOOPS_##arity(name, result, check, expression))
#include "portable/elementwise.def"
#undef GANTRY_ELEMENTWISE

#undef LOOP_PASTE_
#undef LOOP_PASTE
#undef LOOP
#undef LOOPS_1
#undef LOOPS_2
#undef EMIT_NUMBERS
#undef EMIT_FLOATS
#undef EMIT_ALL
#undef EMIT_BOOLS
#undef T
#undef U
#undef GANTRY_T_ID
#undef GANTRY_T_NAME
