/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dialect of the portable device text: what one source needs in order to be OpenCL C 1.2, C11
 * and CUDA C (NVRTC).
 *
 * A program for a device is constants.cl, which the build makes from gantry/abi_types.h, then this
 * text and others of the folder; C code includes this file, which includes that header, and then
 * those it uses. It holds no kernels, and no functions beyond the reinterpretation of bits and the
 * division of positions.
 *
 * Names given here, in all three languages:
 *   uchar ushort uint ulong    unsigned integers of 8, 16, 32 and 64 bits
 *   GANTRY_LONG                the signed 64-bit integer (plain `long` has 32 bits in some of the
 *                              three)
 *   GANTRY_FN                  what a function of the text starts with
 *   GANTRY_LONG_FN             the same for one so long that a C compiler might call it from a
 *                              loop, which then stays scalar
 *   GANTRY_SHARED_FN           the same for one that a C compiler shall keep one of, apart from its
 *                              callers: its loop has all registers, or it is long and many need it
 *   GANTRY_BODY_FN             the same for one that does the work of a kernel for processors: PoCL
 *                              compiles each kernel three times, and such a function once
 *   GANTRY_F32, GANTRY_U32     float and uint, or vectors of GANTRY_MATH_LANES of them (see below)
 *   GANTRY_F64, GANTRY_U64     double and ulong likewise, where GANTRY_HAS_FLOAT64 is 1
 *   GANTRY_AS_UINT, _INT       the bits of a GANTRY_F32 as GANTRY_U32, as int (or ints)
 *   GANTRY_AS_ULONG            the bits of a GANTRY_F64 as GANTRY_U64
 *   GANTRY_AS_FLOAT, _DOUBLE   the GANTRY_F32, GANTRY_F64 that has these bits
 *   GANTRY_SQRT_F32, _F64      the correctly rounded square root
 *   GANTRY_FMA_F32, _F64(a, b, c)   a b + c, rounded once (fused multiply-add)
 *   GANTRY_MUL_HIGH_U32(a, b)  the upper half of the 64-bit product of two GANTRY_U32
 *   GANTRY_ANY_LANE(condition) 0 only if no lane has the condition: a text may then skip what such
 *                              lanes need. In C always 1, because a branch would keep the loop from
 *                              becoming vector code
 *   GANTRY_PREFETCH(address)   prefetches the memory at an address (a ulong), which need not be
 *   GANTRY_PREFETCH_FOR_WRITE(address)   mapped; the second one for a write. Processors only:
 *                              nothing where a compiler cannot say it (SPIR) or a card runs it
 *
 * Lanes. Functions written in terms of these types become functions of vectors when an OpenCL
 * program is built with -DGANTRY_MATH_LANES=2, 4, 8 or 16, with the same bits in each lane. This is
 * for CPU devices whose compiler takes half of the vector registers' width by itself (PoCL 3.1 with
 * AVX-512: 1.6 to 1.9 times the speed). Such functions must choose by `condition ? a : b` only, and
 * scalars in them must be literals.
 *
 * The text is written so that its results have the same bits everywhere, which holds under these
 * conditions:
 *   C      -ffp-contract=off, no fast-math, float evaluated as float (checked below); the compiler
 *          fuses where GANTRY_FMA_F32 or _F64 says so and nowhere else;
 *          -fno-math-errno and -fno-trapping-math change no result and are what lets loops over
 *          these functions become vector code
 *   OpenCL -cl-std=CL1.2, and -cl-fp32-correctly-rounded-divide-sqrt where the device has it
 *   CUDA   --fmad=false --prec-div=true --prec-sqrt=true --ftz=false
 */
#if defined(__OPENCL_VERSION__)

#pragma OPENCL FP_CONTRACT OFF

#define GANTRY_FN static inline
#define GANTRY_LONG_FN GANTRY_FN
#define GANTRY_SHARED_FN GANTRY_FN
#if defined(POCL_DEVICE_ADDRESS_BITS) && GANTRY_SERIAL
#define GANTRY_BODY_FN static __attribute__((noinline))
#else
#define GANTRY_BODY_FN GANTRY_FN
#endif
#define GANTRY_LONG long

#if defined(GANTRY_MATH_LANES)
#define GANTRY_JOIN_TOKENS(a, b) a##b
#define GANTRY_JOIN(a, b) GANTRY_JOIN_TOKENS(a, b)
#define GANTRY_OF_LANES(name) GANTRY_JOIN(name, GANTRY_MATH_LANES)
#else
#define GANTRY_OF_LANES(name) name
#endif

#define GANTRY_F32 GANTRY_OF_LANES(float)
#define GANTRY_U32 GANTRY_OF_LANES(uint)
#define GANTRY_AS_INT(x) GANTRY_OF_LANES(as_int)((GANTRY_F32)(x))
#define GANTRY_AS_UINT(x) GANTRY_OF_LANES(as_uint)((GANTRY_F32)(x))
#define GANTRY_AS_FLOAT(bits) GANTRY_OF_LANES(as_float)((GANTRY_U32)(bits))
#define GANTRY_SQRT_F32(x) sqrt((GANTRY_F32)(x))
#define GANTRY_FMA_F32(a, b, c) fma((GANTRY_F32)(a), (GANTRY_F32)(b), (GANTRY_F32)(c))
#define GANTRY_MUL_HIGH_U32(a, b) mul_hi((GANTRY_U32)(a), (GANTRY_U32)(b))
#if defined(GANTRY_MATH_LANES)
#define GANTRY_ANY_LANE(condition) any(condition)
#if defined(__has_builtin)
/* This is one instruction, while PoCL's any() reads lane after lane. */
#if __has_builtin(__builtin_reduce_or)
#undef GANTRY_ANY_LANE
#define GANTRY_ANY_LANE(condition) (__builtin_reduce_or(condition) != 0)
#endif
#endif
#else
#define GANTRY_ANY_LANE(condition) (condition)
#endif

/* Defines `name` as the vector type V_ with the alignment of its elements T_, because PoCL makes
 * several stores of a wide vector's vstore. */
#define GANTRY_LOOSE_TYPE(V_, T_, name) typedef V_ __attribute__((aligned(sizeof(T_)))) name

#if defined(cl_khr_fp64)
#if __OPENCL_VERSION__ < 120
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define GANTRY_HAS_FLOAT64 1
#define GANTRY_F64 GANTRY_OF_LANES(double)
#define GANTRY_U64 GANTRY_OF_LANES(ulong)
#define GANTRY_AS_ULONG(x) GANTRY_OF_LANES(as_ulong)((GANTRY_F64)(x))
#define GANTRY_AS_DOUBLE(bits) GANTRY_OF_LANES(as_double)((GANTRY_U64)(bits))
#define GANTRY_SQRT_F64(x) sqrt((GANTRY_F64)(x))
#define GANTRY_FMA_F64(a, b, c) fma((GANTRY_F64)(a), (GANTRY_F64)(b), (GANTRY_F64)(c))
#define GANTRY_LGAMMA_F64(x) lgamma((GANTRY_F64)(x))
#else
#define GANTRY_HAS_FLOAT64 0
#endif

#elif defined(__CUDACC__)

#pragma nv_diag_suppress 177 /* a function that no kernel of this program needs */

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long gantry__cuda_ulong_t;
#define ulong gantry__cuda_ulong_t

#define GANTRY_FN static __device__ __forceinline__
#define GANTRY_LONG_FN GANTRY_FN
#define GANTRY_SHARED_FN GANTRY_FN
#define GANTRY_BODY_FN GANTRY_FN
#define GANTRY_LONG long long
#define GANTRY_HAS_FLOAT64 1
#define GANTRY_F32 float
#define GANTRY_U32 uint
#define GANTRY_F64 double
#define GANTRY_U64 ulong
#define GANTRY_AS_INT(x) __float_as_int(x)
#define GANTRY_AS_UINT(x) __float_as_uint(x)
#define GANTRY_AS_FLOAT(bits) __uint_as_float(bits)
#define GANTRY_AS_ULONG(x) ((ulong)__double_as_longlong(x))
#define GANTRY_AS_DOUBLE(bits) __longlong_as_double((long long)(bits))
#define GANTRY_SQRT_F32(x) __fsqrt_rn(x)
#define GANTRY_FMA_F32(a, b, c) __fmaf_rn(a, b, c)
#define GANTRY_MUL_HIGH_U32(a, b) __umulhi(a, b)
#define GANTRY_ANY_LANE(condition) (condition)
#define GANTRY_SQRT_F64(x) __dsqrt_rn(x)
#define GANTRY_LGAMMA_F64(x) lgamma(x)
#define GANTRY_FMA_F64(a, b, c) __fma_rn(a, b, c)

#else

#include <gantry/abi_types.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#if FLT_EVAL_METHOD != 0
#error \
    "the portable text needs float arithmetic evaluated as float (FLT_EVAL_METHOD 0; on 32-bit x86: -mfpmath=sse)"
#endif
#if defined(__FAST_MATH__)
#error "the portable text does not hold under -ffast-math"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

typedef uint8_t uchar;
typedef uint16_t ushort;
typedef uint32_t uint;
typedef uint64_t ulong;

#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define GANTRY_LONG_FN static inline __attribute__((always_inline))
#else
#define GANTRY_LONG_FN static inline
#endif
#if defined(GANTRY_CPU_VARIANT) /* a single call that is not inlined makes a whole loop scalar */
#define GANTRY_FN GANTRY_LONG_FN
#else
#define GANTRY_FN static inline
#endif
#if defined(__GNUC__)
#define GANTRY_SHARED_FN static __attribute__((noinline, unused))
#else
#define GANTRY_SHARED_FN GANTRY_FN
#endif
#define GANTRY_BODY_FN GANTRY_FN
#define GANTRY_LONG int64_t
#define GANTRY_HAS_FLOAT64 1
#define GANTRY_F32 float
#define GANTRY_U32 uint
#define GANTRY_F64 double
#define GANTRY_U64 ulong
#define GANTRY_AS_INT(x) ((int)gantry__bits_of_float(x))
#define GANTRY_AS_UINT(x) gantry__bits_of_float(x)
#define GANTRY_AS_FLOAT(bits) gantry__float_of_bits(bits)
#define GANTRY_AS_ULONG(x) gantry__bits_of_double(x)
#define GANTRY_AS_DOUBLE(bits) gantry__double_of_bits(bits)
#define GANTRY_SQRT_F32(x) sqrtf(x)
#if defined(__FMA__) || defined(__aarch64__) || defined(__FP_FAST_FMAF)
#define GANTRY_FMA_F32(a, b, c) fmaf(a, b, c)
#else
#define GANTRY_FMA_F32(a, b, c) gantry__emulated_fma_f32(a, b, c)
#endif
#define GANTRY_MUL_HIGH_U32(a, b) ((uint)(((ulong)(a) * (ulong)(b)) >> 32))
#define GANTRY_ANY_LANE(condition) 1
#define GANTRY_SQRT_F64(x) sqrt(x)
#define GANTRY_LGAMMA_F64(x) gantry__lgamma_alone(x)
#if defined(__FMA__) || defined(__aarch64__) || defined(__FP_FAST_FMA)
#define GANTRY_FMA_F64(a, b, c) fma(a, b, c)
#else
#define GANTRY_FMA_F64(a, b, c) gantry__emulated_fma_f64(a, b, c)
#endif

/* The C library's lgamma writes the program's variable signgam; lgamma_r, which is in POSIX and not
 * in C11, does not write it. */
extern double lgamma_r(double x, int *out_sign);
GANTRY_FN double gantry__lgamma_alone(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

GANTRY_FN uint gantry__bits_of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

GANTRY_FN float gantry__float_of_bits(uint bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

GANTRY_FN ulong gantry__bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

GANTRY_FN double gantry__double_of_bits(ulong bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns product + addend as a float, rounded once. The sum of doubles is rounded to odd (Boldo
 * and Melquiond), so that the second rounding meets no false tie: the last bit is set if the sum
 * lost something (Knuth), after 1 was taken off if it was rounded away from 0. */
GANTRY_SHARED_FN float gantry__float_of_sum(double product, double addend) {
    const double sum = product + addend;
    const double share = sum - product;
    const double lost = (product - (sum - share)) + (addend - share);
    const ulong bits = gantry__bits_of_double(sum);
    const ulong is_less = (bits ^ gantry__bits_of_double(lost)) >> 63;

    return lost < 0.0 || lost > 0.0 ? (float)gantry__double_of_bits((bits - is_less) | 1u)
                                    : (float)sum;
}

/* Returns a b + c, rounded once, on a processor without that instruction. The product is exact in
 * double. Rounding the sum twice is right unless the first rounding ends half-way between two
 * floats, or the result may be denormal. Vector code, which has no short way, takes twice as long;
 * the C library's fmaf takes longer still. */
GANTRY_FN float gantry__emulated_fma_f32(float a, float b, float c) {
    const double product = (double)a * (double)b;
    const double sum = product + (double)c;
    const ulong bits = gantry__bits_of_double(sum);
    const int32_t is_half_way = (bits & 0x1fffffffu) == 0x10000000u;
    const int32_t is_small = (bits >> 52 & 0x7ffu) <= 1023u - 126u;

    return is_half_way | is_small ? gantry__float_of_sum(product, (double)c) : (float)sum;
}

/* The upper 27 bits of a's fraction; the rest has 26. */
GANTRY_FN double gantry__upper_f64(double a) {
    return gantry__double_of_bits((gantry__bits_of_double(a) + 0x4000000u) &
                                  UINT64_C(0xfffffffff8000000));
}

/* Returns a b + c, rounded once, on a processor without that instruction. The product is a sum of
 * two doubles (Dekker), and so is the sum of the upper one with c (Knuth). The sum of the two lower
 * ones is exact if c lost nothing; else both its neighbours must lead to the same result. In all
 * other cases, and if the lower part of the product may be denormal or the upper one overflow, the
 * C library computes the result, which takes twenty times as long. */
GANTRY_SHARED_FN double gantry__emulated_fma_f64(double a, double b, double c) {
    const double product = a * b;
    const double a_upper = gantry__upper_f64(a), a_rest = a - a_upper;
    const double b_upper = gantry__upper_f64(b), b_rest = b - b_upper;
    const double product_low =
        (((a_upper * b_upper - product) + a_upper * b_rest) + a_rest * b_upper) + a_rest * b_rest;
    const double sum = product + c;
    const double share = sum - product;
    const double lost = (product - (sum - share)) + (c - share);
    const double low = lost + product_low;
    const ulong bits = gantry__bits_of_double(low);
    const double above = sum + gantry__double_of_bits(bits + 1u);
    const double below = sum + gantry__double_of_bits(bits - 1u);
    const double size = fabs(product);
    const int32_t is_exact = lost == 0.0 && low == low; /* NaN: the upper part overflowed */

    if (size > 0x1p-900 && size < 0x1p1000 && (is_exact || above == below)) {
        return sum + low;
    }
    return a == 0.0 || b == 0.0 ? product + c : fma(a, b, c);
}

#endif

#define GANTRY_PREFETCH(address)
#define GANTRY_PREFETCH_FOR_WRITE(address)
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__CUDACC__) && defined(__has_builtin)
#if __has_builtin(__builtin_prefetch)
#undef GANTRY_PREFETCH
#undef GANTRY_PREFETCH_FOR_WRITE
#define GANTRY_PREFETCH(address) __builtin_prefetch((const void *)(address))
#define GANTRY_PREFETCH_FOR_WRITE(address) __builtin_prefetch((const void *)(address), 1)
#endif
#endif

/* Whether an index is in [0, size); size must not be negative. Mesa 22.3 takes (long)index >= 0 of
 * an int as true, hence the unsigned comparison. */
#define GANTRY_IS_WITHIN(index, size) ((ulong)(GANTRY_LONG)(index) < (ulong)(size))

/* Returns position / size. Both must not be negative, and size not 0. A division of 64 bits takes a
 * GPU some hundred instructions, and most operands are below 2^32. NVRTC's own code tests whether
 * 32 bits are enough. */
GANTRY_FN GANTRY_LONG gantry__divide_position(const GANTRY_LONG position, const GANTRY_LONG size) {
#if defined(__CUDACC__)
    return position / size;
#else
    return ((position | size) >> 32) != 0 ? position / size
                                          : (GANTRY_LONG)((uint)position / (uint)size);
#endif
}
