/* The loops of every op of elementwise.def for one type. No guard: a file includes this once per type, with GANTRY_T_ID
 * defined, after types.cl and the math texts; it takes GANTRY_T_ID back at the end. With GANTRY_DENSE_ONLY there are no
 * loops with a scalar operand.
 * Plain loops: the compiler makes vector code of them. */
#include "portable/kernels/element.cl"

#define LOOP_PASTE_(name, type, form) name##_##type##_##form
#define LOOP_PASTE(name, type, form) LOOP_PASTE_(name, type, form)
#define LOOP(name, form) LOOP_PASTE(name, GANTRY_T_ID, form)

#define LOOPS_UNARY(name, result, check, expression)                                           \
    static int32_t LOOP(name, dense)(const void *xs, const void *ys, void *out, int64_t count) \
    {                                                                                          \
        (void)ys;                                                                              \
        GANTRY_INDEPENDENT                                                                     \
        for (int64_t i = 0; i < count; i++) {                                                  \
            const T x = ((const T *)xs)[i];                                                    \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);         \
        }                                                                                      \
        return 0;                                                                              \
    }

#define LOOP_DENSE(name, result, check, expression)                                            \
    static int32_t LOOP(name, dense)(const void *xs, const void *ys, void *out, int64_t count) \
    {                                                                                          \
        int32_t bad = 0;                                                                       \
        GANTRY_INDEPENDENT                                                                     \
        for (int64_t i = 0; i < count; i++) {                                                  \
            const T x = ((const T *)xs)[i];                                                    \
            const T y = ((const T *)ys)[i];                                                    \
            bad |= GANTRY_CHECK_##check(y);                                                    \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);         \
        }                                                                                      \
        return bad;                                                                            \
    }

#define LOOPS_SCALAR(name, result, check, expression)                                             \
    static int32_t LOOP(name, y_scalar)(const void *xs, const void *ys, void *out, int64_t count) \
    {                                                                                             \
        const T y = ((const T *)ys)[0];                                                           \
        GANTRY_INDEPENDENT                                                                        \
        for (int64_t i = 0; i < count; i++) {                                                     \
            const T x = ((const T *)xs)[i];                                                       \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);            \
        }                                                                                         \
        return GANTRY_CHECK_##check(y);                                                           \
    }                                                                                             \
    static int32_t LOOP(name, x_scalar)(const void *xs, const void *ys, void *out, int64_t count) \
    {                                                                                             \
        int32_t bad = 0;                                                                          \
        const T x = ((const T *)xs)[0];                                                           \
        GANTRY_INDEPENDENT                                                                        \
        for (int64_t i = 0; i < count; i++) {                                                     \
            const T y = ((const T *)ys)[i];                                                       \
            bad |= GANTRY_CHECK_##check(y);                                                       \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);            \
        }                                                                                         \
        return bad;                                                                               \
    }

#define LOOPS_CHOICE(name, result, check, expression) LOOPS_UNARY(name, result, check, expression)
#define LOOPS_VARIANT(name, result, check, expression) LOOPS_UNARY(name, result, check, expression)
#ifdef GANTRY_DENSE_ONLY
#define LOOPS_BINARY(name, result, check, expression) LOOP_DENSE(name, result, check, expression)
#else
#define LOOPS_BINARY(name, result, check, expression) \
    LOOP_DENSE(name, result, check, expression)       \
    LOOPS_SCALAR(name, result, check, expression)
#endif
#define LOOPS_VALUE(name, result, check, expression) LOOPS_BINARY(name, result, check, expression)

#define NO_LOOPS(loops)
#define ALL_LOOPS(loops) loops
#if GANTRY_T_IS_FLOAT
#define EMIT_FLOATING ALL_LOOPS
#define EMIT_INTEGERS NO_LOOPS
#define EMIT_SIGNED_NUMERIC ALL_LOOPS
#define EMIT_NUMERIC ALL_LOOPS
#define EMIT_BOOLS NO_LOOPS
#elif GANTRY_T_IS_BOOL
#define EMIT_FLOATING NO_LOOPS
#define EMIT_INTEGERS NO_LOOPS
#define EMIT_SIGNED_NUMERIC NO_LOOPS
#define EMIT_NUMERIC NO_LOOPS
#define EMIT_BOOLS ALL_LOOPS
#else
#define EMIT_FLOATING NO_LOOPS
#define EMIT_INTEGERS ALL_LOOPS
#define EMIT_NUMERIC ALL_LOOPS
#define EMIT_BOOLS NO_LOOPS
#if GANTRY_T_IS_SIGNED
#define EMIT_SIGNED_NUMERIC ALL_LOOPS
#else
#define EMIT_SIGNED_NUMERIC NO_LOOPS
#endif
#endif
#define EMIT_NUMERIC_BOOL ALL_LOOPS

#define GANTRY_ELEMENTWISE(name, form, types, result, check, math, expression) \
    EMIT_##types(LOOPS_##form(name, result, check, expression))
#include "portable/elementwise.def"
#undef GANTRY_ELEMENTWISE

#undef LOOP_PASTE_
#undef LOOP_PASTE
#undef LOOP
#undef LOOPS_UNARY
#undef LOOP_DENSE
#undef LOOPS_SCALAR
#undef LOOPS_CHOICE
#undef LOOPS_VARIANT
#undef LOOPS_BINARY
#undef LOOPS_VALUE
#undef NO_LOOPS
#undef ALL_LOOPS
#undef EMIT_FLOATING
#undef EMIT_INTEGERS
#undef EMIT_SIGNED_NUMERIC
#undef EMIT_NUMERIC
#undef EMIT_NUMERIC_BOOL
#undef EMIT_BOOLS
#undef GANTRY_T_ID
