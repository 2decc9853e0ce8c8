/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of every op of ops/elementwise.def for one type. This file has no guard, because
 * each_type.h includes it once per type, with GANTRY_T defined. It must come after types.cl and the
 * math texts. With GANTRY_DENSE_ONLY there are no loops with a scalar operand.
 *
 * The compiler makes vector code of plain loops. Of costly functions of floats it must make only
 * that: no scalar copy for the rest, and none for each scalar operand. Those go through
 * elementwise_cpu_blocks.h.
 *
 * Owner: arrays are the caller's. Threads: thread-safe. */
#include "kernels/elementwise/element.cl"

#define LOOP_PASTE_(name, type, form) name##_##type##_##form
#define LOOP_PASTE(name, type, form) LOOP_PASTE_(name, type, form)
#define LOOP(name, form) LOOP_PASTE(name, GANTRY_T, form)

#define SHORT_UNARY(name, result, check, expression)                                             \
    static int32_t LOOP(name, dense)(const void *xs, const void *ys, void *out, int64_t count) { \
        (void)ys;                                                                                \
        GANTRY_INDEPENDENT                                                                       \
        for (int64_t i = 0; i < count; ++i) {                                                    \
            const T x = ((const T *)xs)[i];                                                      \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);           \
        }                                                                                        \
        return 0;                                                                                \
    }

#define LOOP_DENSE(name, result, check, expression)                                              \
    static int32_t LOOP(name, dense)(const void *xs, const void *ys, void *out, int64_t count) { \
        int32_t bad = 0;                                                                         \
        GANTRY_INDEPENDENT                                                                       \
        for (int64_t i = 0; i < count; ++i) {                                                    \
            const T x = ((const T *)xs)[i];                                                      \
            const T y = ((const T *)ys)[i];                                                      \
            bad |= GANTRY_CHECK_##check(y);                                                      \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression);           \
        }                                                                                        \
        return bad;                                                                              \
    }

#define LOOPS_SCALAR(name, result, check, expression)                                  \
    static int32_t LOOP(name, y_scalar)(const void *xs, const void *ys, void *out,     \
                                        int64_t count) {                               \
        const T y = ((const T *)ys)[0];                                                \
        GANTRY_INDEPENDENT                                                             \
        for (int64_t i = 0; i < count; ++i) {                                          \
            const T x = ((const T *)xs)[i];                                            \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression); \
        }                                                                              \
        return GANTRY_CHECK_##check(y);                                                \
    }                                                                                  \
    static int32_t LOOP(name, x_scalar)(const void *xs, const void *ys, void *out,     \
                                        int64_t count) {                               \
        int32_t bad = 0;                                                               \
        const T x = ((const T *)xs)[0];                                                \
        GANTRY_INDEPENDENT                                                             \
        for (int64_t i = 0; i < count; ++i) {                                          \
            const T y = ((const T *)ys)[i];                                            \
            bad |= GANTRY_CHECK_##check(y);                                            \
            ((GANTRY_RESULT_##result *)out)[i] = (GANTRY_RESULT_##result)(expression); \
        }                                                                              \
        return bad;                                                                    \
    }

#ifdef GANTRY_DENSE_ONLY
#define SHORT_BINARY(name, result, check, expression) LOOP_DENSE(name, result, check, expression)
#else
#define SHORT_BINARY(name, result, check, expression) \
    LOOP_DENSE(name, result, check, expression)       \
    LOOPS_SCALAR(name, result, check, expression)
#endif

#if GANTRY_T_IS_FLOAT && defined(GANTRY_BLOCK_LANES)
#if GANTRY_T_IS(f32)
#define LOOP_TYPE float
#else
#define LOOP_TYPE double
#endif
#define IN_BLOCKS_(T_) in_blocks_##T_
#define IN_BLOCKS(T_) IN_BLOCKS_(T_)
/* A loop over whole blocks; ys is xs if there is no y. */
#define LOOP_WHOLE(name, expression)                                                 \
    static void LOOP(name, whole)(const T *xs, const T *ys, T *out, int64_t count) { \
        GANTRY_INDEPENDENT                                                           \
        for (int64_t i = 0; i < (count & -(int64_t)GANTRY_BLOCK_LANES); ++i) {       \
            const T x = xs[i];                                                       \
            const T y = ys[i];                                                       \
            (void)y;                                                                 \
            out[i] = (T)(expression);                                                \
        }                                                                            \
    }
#define LOOP_BLOCKS(name, form, y, x_step, y_step)                                              \
    static int32_t LOOP(name, form)(const void *xs, const void *ys, void *out, int64_t count) { \
        (void)ys;                                                                               \
        IN_BLOCKS(LOOP_TYPE)(LOOP(name, whole), xs, x_step, y, y_step, out, count);             \
        return 0;                                                                               \
    }
#define LONG_UNARY(name, result, check, expression) \
    LOOP_WHOLE(name, expression)                    \
    LOOP_BLOCKS(name, dense, xs, 1, 1)
#define LONG_BINARY(name, result, check, expression) \
    LOOP_WHOLE(name, expression)                     \
    LOOP_BLOCKS(name, dense, ys, 1, 1)               \
    LOOP_BLOCKS(name, y_scalar, ys, 1, 0)            \
    LOOP_BLOCKS(name, x_scalar, ys, 0, 1)
#else
#define LONG_UNARY SHORT_UNARY
#define LONG_BINARY SHORT_BINARY
#endif

#define SHORT_ACTIVATION SHORT_UNARY
#define SHORT_CHOICE SHORT_UNARY
#define SHORT_VARIANT SHORT_UNARY
#define SHORT_ANGLE SHORT_BINARY
#define SHORT_EQUALITY SHORT_BINARY
#define SHORT_VALUE SHORT_BINARY
#define SHORT_PRECISION SHORT_BINARY
#define SHORT_UNARY_CHOICE SHORT_UNARY
#define SHORT_BINARY_CHOICE SHORT_BINARY
#define SHORT_BINARY_VARIANT SHORT_BINARY
#define LONG_ACTIVATION LONG_UNARY
#define LONG_CHOICE LONG_UNARY
#define LONG_VARIANT LONG_UNARY
#define LONG_ANGLE LONG_BINARY
#define LONG_BINARY_CHOICE LONG_BINARY
#define LONG_BINARY_VARIANT LONG_BINARY
#define LENGTH_NONE SHORT
#define LENGTH_ROUNDING SHORT
#define LENGTH_BITS SHORT
#define LENGTH_ROOT LONG
#define LENGTH_FUNCTIONS LONG
#define LENGTH_ERROR LONG
#define LENGTH_ACTIVATION LONG
#if GANTRY_T_IS(f64) /* most of these call the C library */
#define LENGTH_LIBRARY SHORT
#else
#define LENGTH_LIBRARY LONG
#endif
#define LENGTH_MODULO LENGTH_LIBRARY
#define LENGTH_TRIGONOMETRY LENGTH_LIBRARY
#define LENGTH_HYPERBOLIC LENGTH_LIBRARY
#define LENGTH_SPECIAL LENGTH_LIBRARY
#define LENGTH_GAMMA LENGTH_LIBRARY
#define LENGTH_POWER LENGTH_LIBRARY
#define LOOPS_OF_(length, form) length##_##form
#define LOOPS_OF(length, form) LOOPS_OF_(length, form)

#define LOOPS_IF_0(...)
#define LOOPS_IF_1(...) __VA_ARGS__

#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    GANTRY_IF_SET_HAS_T(types, LOOPS_IF)                                                          \
    (LOOPS_OF(LENGTH_##math, form)(name, result, check, expression))
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE

/* These differ between types; the other macros do not. */
#undef LONG_UNARY
#undef LONG_BINARY
#undef LENGTH_LIBRARY
#undef LOOP_TYPE
