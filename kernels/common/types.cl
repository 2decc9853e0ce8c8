/* SPDX-License-Identifier: Apache-2.0 */
/* Element types, by short names: f32 f64 bf16 f16, i8 i16 i32 i64, u8 u16 u32 u64, and b8 for bool.
 * A program's build options name its types: -DGANTRY_T=bf16 gives T; GANTRY_S and GANTRY_I, where a
 * kernel has a second (source, output) or an index type, give S and I. C code must set the same
 * names by #define before it includes a family's text, once per type (each_type.h); everything here
 * that depends on them is a macro. It must come after dialect.cl and type_table.cl, which the build
 * makes from ops/types.def: a line for each type of all that is pasted here.
 *
 *   U   T's twin in which arithmetic wraps: unsigned, of 32 bits at least, for integers; float for
 *       halves; else T
 *   C   the type that T is computed in: float for halves, else T; see half.cl for the way there and
 *       back
 *
 * bool is a uchar that holds 0 or 1; a half is a ushort with its bits. Where bits are only moved,
 * bool, uint16, int32, int64 and complex128 represent all types of their size.
 *
 *     #if GANTRY_T_IS(f64)        one type; only in #if
 *     GANTRY_T_IS_HALF, ...       a class of types; 0 or 1, in #if and in expressions */
#ifndef GANTRY_TYPES_CL
#define GANTRY_TYPES_CL

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "kernels/common/type_table.cl"
#endif

#define GANTRY_PASTE_TOKENS(a, b) a##b
#define GANTRY_PASTE(a, b) GANTRY_PASTE_TOKENS(a, b)

/* The preprocessor compares numbers, not names. Two equal names are pasted to a macro that is 1
 * (type_table.cl); two different ones to an unknown word, which #if takes as 0. */
#define GANTRY_SAME_TOKENS(a, b) GANTRY_SAME_##a##_##b
#define GANTRY_SAME(a, b) GANTRY_SAME_TOKENS(a, b)

#define GANTRY_T_IS(name) GANTRY_SAME(GANTRY_T, name)
#define GANTRY_S_IS(name) GANTRY_SAME(GANTRY_S, name)

#if defined(__OPENCL_VERSION__) && defined(cl_khr_fp64) && (GANTRY_T_IS(f64) || GANTRY_S_IS(f64))
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define T GANTRY_PASTE(gantry__type_, GANTRY_T)
#define U GANTRY_PASTE(gantry__wraps_, GANTRY_T)
#define C GANTRY_PASTE(gantry__computed_, GANTRY_T)
#define S GANTRY_PASTE(gantry__type_, GANTRY_S)
#define I GANTRY_PASTE(gantry__type_, GANTRY_I)

/* An element of 16 bytes, which is only moved. It needs only the alignment of its halves. */
typedef struct gantry__pair_t {
    ulong low, high;
} gantry__pair_t;

GANTRY_FN gantry__pair_t gantry__pair_of(const ulong low, const ulong high) {
    gantry__pair_t pair;

    pair.low = low;
    pair.high = high;
    return pair;
}

/* The T whose bits are the lowest of a ulong, and of an array of two; a T that is 0. */
#define GANTRY_T_OF_BITS(bits) GANTRY_PASTE(gantry__of_bits_, GANTRY_T)(bits)
#define GANTRY_T_OF_TWO(bits) GANTRY_PASTE(gantry__of_two_, GANTRY_T)(bits)
#define GANTRY_T_ZERO GANTRY_T_OF_BITS(0)
#define gantry__of_bits_f32(bits) GANTRY_AS_FLOAT((uint)(bits))
#define gantry__of_bits_f64(bits) GANTRY_AS_DOUBLE(bits)

/* Converts a T to the type C that it is computed in, and back, rounded; an S likewise. half.cl has
 * the functions of halves. */
#define GANTRY_WIDEN(x) GANTRY_PASTE(gantry__widen_, GANTRY_T)(x)
#define GANTRY_WIDEN_S(x) GANTRY_PASTE(gantry__widen_, GANTRY_S)(x)
#define GANTRY_NARROW(x) GANTRY_PASTE(gantry__narrow_, GANTRY_T)(x)

/* Classes of types, which type_table.cl numbers; a narrow type is computed in another one. */
#define GANTRY_CLASS_OF(name) GANTRY_PASTE(GANTRY_CLASS_OF_, name)

#define GANTRY_T_IS_FLOAT (GANTRY_CLASS_OF(GANTRY_T) == GANTRY_CLASS_FLOAT)
#define GANTRY_T_IS_HALF (GANTRY_CLASS_OF(GANTRY_T) == GANTRY_CLASS_HALF)
#define GANTRY_T_IS_SIGNED (GANTRY_CLASS_OF(GANTRY_T) == GANTRY_CLASS_SIGNED)
#define GANTRY_T_IS_UNSIGNED (GANTRY_CLASS_OF(GANTRY_T) == GANTRY_CLASS_UNSIGNED)
#define GANTRY_T_IS_BOOL (GANTRY_CLASS_OF(GANTRY_T) == GANTRY_CLASS_BOOL)
#define GANTRY_T_IS_NARROW GANTRY_PASTE(GANTRY_IS_NARROW_, GANTRY_T)
#define GANTRY_T_IS_INT (GANTRY_T_IS_SIGNED || GANTRY_T_IS_UNSIGNED)

#define GANTRY_S_IS_FLOAT (GANTRY_CLASS_OF(GANTRY_S) == GANTRY_CLASS_FLOAT)
#define GANTRY_S_IS_HALF (GANTRY_CLASS_OF(GANTRY_S) == GANTRY_CLASS_HALF)
#define GANTRY_S_IS_SIGNED (GANTRY_CLASS_OF(GANTRY_S) == GANTRY_CLASS_SIGNED)
#define GANTRY_S_IS_UNSIGNED (GANTRY_CLASS_OF(GANTRY_S) == GANTRY_CLASS_UNSIGNED)
#define GANTRY_S_IS_BOOL (GANTRY_CLASS_OF(GANTRY_S) == GANTRY_CLASS_BOOL)
#define GANTRY_S_IS_NARROW GANTRY_PASTE(GANTRY_IS_NARROW_, GANTRY_S)
#define GANTRY_S_IS_INT (GANTRY_S_IS_SIGNED || GANTRY_S_IS_UNSIGNED)

/* Gives name_1 if the set has T, else name_0. It is only for C, because device programs do not have
 * ops/type_sets.inc. */
#define GANTRY_IF_SET_HAS(set, type, name) \
    GANTRY_PASTE(name##_, GANTRY_PASTE(GANTRY_##set##_HAS_, type))
#define GANTRY_IF_SET_HAS_T(set, name) GANTRY_IF_SET_HAS(set, GANTRY_T, name)

/* The class of a type that is known when the kernel runs, as the number of abi_types.h. */
#define GANTRY_ID_IS_SIGNED(id) \
    ((id) == GANTRY_INT8 || (id) == GANTRY_INT16 || (id) == GANTRY_INT32 || (id) == GANTRY_INT64)

#endif
