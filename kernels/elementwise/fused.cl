/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the text that fused_text.c makes from a program. It has only macros, and must come after
 * dialect, launch, types, convert, half and work. */

/* A row of ops/elementwise.def for the type T, as a function of stored elements; `expression` must
 * be one of x and y. */
#define GANTRY_FUSED_SAME(name, expression)    \
    GANTRY_FN T name(const T a, const T b) {   \
        const C x = GANTRY_WIDEN(a);           \
        const C y = GANTRY_WIDEN(b);           \
        return GANTRY_NARROW((C)(expression)); \
    }
#define GANTRY_FUSED_BYTE(name, expression)      \
    GANTRY_FN uchar name(const T a, const T b) { \
        const C x = GANTRY_WIDEN(a);             \
        const C y = GANTRY_WIDEN(b);             \
        return (uchar)(expression);              \
    }

/* ClipByValue, as in clip.cl. */
#define GANTRY_FUSED_CLIP(name)                                        \
    GANTRY_FN T name(const T x, const T lower, const T upper) {        \
        const C low = GANTRY_WIDEN(lower), high = GANTRY_WIDEN(upper); \
        C value = GANTRY_WIDEN(x);                                     \
        value = high < value ? high : value;                           \
        value = value < low ? low : value;                             \
        return GANTRY_NARROW(value);                                   \
    }

/* An element of a bool output. */
#if GANTRY_SERIAL
#define GANTRY_FUSED_STORED_BOOL(value) GANTRY_HIDDEN_BOOL(value)
#else
#define GANTRY_FUSED_STORED_BOOL(value) (value)
#endif

/* Comes before a loop over elements on a processor: an element of an output may be in the same
 * memory as the same element of an input, but of no other, so no iteration reads another's output.
 *
 * With GANTRY_LOOP_LANES, the loop becomes one of vectors of that many lanes. Otherwise LLVM takes
 * half of the registers of AVX-512. It also splits longer vectors into two, unless the kernel calls
 * a function of such vectors: GANTRY_FULL_WIDTH. */
#define GANTRY_FUSED_LOOP
#define GANTRY_FULL_WIDTH
#if GANTRY_SERIAL && defined(__clang__) && defined(__OPENCL_VERSION__)
#undef GANTRY_FUSED_LOOP
#if defined(GANTRY_LOOP_LANES)
#define GANTRY_FUSED_PRAGMA(text) _Pragma(#text)
#define GANTRY_FUSED_LANES(lanes) \
    GANTRY_FUSED_PRAGMA(clang loop vectorize(assume_safety) vectorize_width(lanes))
#define GANTRY_FUSED_LOOP GANTRY_FUSED_LANES(GANTRY_LOOP_LANES)
#define GANTRY_FUSED_JOIN(name, lanes) name##lanes
#define GANTRY_FUSED_VECTOR(lanes) GANTRY_FUSED_JOIN(float, lanes)
typedef GANTRY_FUSED_VECTOR(GANTRY_LOOP_LANES) gantry__loop_vector_t;
GANTRY_FN int gantry__take_vector(const gantry__loop_vector_t value) { return value.s0 == 0.0f; }
#undef GANTRY_FULL_WIDTH
#define GANTRY_FULL_WIDTH (void)gantry__take_vector((gantry__loop_vector_t)(0.0f));
#else
#define GANTRY_FUSED_LOOP _Pragma("clang loop vectorize(assume_safety)")
#endif
#endif
#undef GANTRY_STORE_LOOP
#define GANTRY_STORE_LOOP GANTRY_FUSED_LOOP
