/*
 * The dialect of the portable device text: what one source needs in order to be OpenCL C 1.2, C11 and CUDA C (NVRTC).
 *
 * This file comes first. A program for a device is this text followed by others of the folder; C code includes this
 * file and then the ones it uses. It holds no kernels and no functions of its own beyond reinterpretation of bits.
 *
 * Names given here, in all three languages:
 *   uchar ushort uint ulong    unsigned integers of 8, 16, 32 and 64 bits
 *   GANTRY_LONG                the signed 64-bit integer (plain `long` has 32 bits in some of the three)
 *   GANTRY_FN                  what a function of the text starts with
 *   GANTRY_AS_INT, _UINT       the bits of a float as int or uint
 *   GANTRY_AS_FLOAT            the float of a uint's bits
 *   GANTRY_AS_ULONG, _DOUBLE   the same between double and ulong, where GANTRY_HAS_FLOAT64 is 1
 *   GANTRY_SQRT_F32, _F64      the correctly rounded square root
 *
 * The text is written so that its results have the same bits everywhere, which holds under these conditions:
 *   C      -ffp-contract=off, no fast-math, float evaluated as float (checked below); -fno-math-errno and
 *          -fno-trapping-math change no result and are what lets loops over these functions become vector code
 *   OpenCL -cl-std=CL1.2, and -cl-fp32-correctly-rounded-divide-sqrt where the device has it
 *   CUDA   --fmad=false --prec-div=true --prec-sqrt=true --ftz=false
 */
#if defined(__OPENCL_VERSION__)

#pragma OPENCL FP_CONTRACT OFF

#define GANTRY_FN static inline
#define GANTRY_LONG long
#define GANTRY_AS_INT(x) as_int(x)
#define GANTRY_AS_UINT(x) as_uint(x)
#define GANTRY_AS_FLOAT(bits) as_float((uint)(bits))
#define GANTRY_SQRT_F32(x) sqrt((float)(x))

#if defined(cl_khr_fp64)
#if __OPENCL_VERSION__ < 120
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define GANTRY_HAS_FLOAT64 1
#define GANTRY_AS_ULONG(x) as_ulong(x)
#define GANTRY_AS_DOUBLE(bits) as_double((ulong)(bits))
#define GANTRY_SQRT_F64(x) sqrt((double)(x))
#else
#define GANTRY_HAS_FLOAT64 0
#endif

#elif defined(__CUDACC__)

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long gantry_cuda_ulong_t;
#define ulong gantry_cuda_ulong_t

#define GANTRY_FN static __device__ __forceinline__
#define GANTRY_LONG long long
#define GANTRY_HAS_FLOAT64 1
#define GANTRY_AS_INT(x) __float_as_int(x)
#define GANTRY_AS_UINT(x) __float_as_uint(x)
#define GANTRY_AS_FLOAT(bits) __uint_as_float(bits)
#define GANTRY_AS_ULONG(x) ((ulong)__double_as_longlong(x))
#define GANTRY_AS_DOUBLE(bits) __longlong_as_double((long long)(bits))
#define GANTRY_SQRT_F32(x) __fsqrt_rn(x)
#define GANTRY_SQRT_F64(x) __dsqrt_rn(x)

#else

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "the portable text needs float arithmetic evaluated as float (FLT_EVAL_METHOD 0; on 32-bit x86: -mfpmath=sse)"
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

#define GANTRY_FN static inline
#define GANTRY_LONG int64_t
#define GANTRY_HAS_FLOAT64 1
#define GANTRY_AS_INT(x) gantry__bits_to_int(x)
#define GANTRY_AS_UINT(x) gantry__bits_to_uint(x)
#define GANTRY_AS_FLOAT(bits) gantry__bits_to_float(bits)
#define GANTRY_AS_ULONG(x) gantry__bits_to_ulong(x)
#define GANTRY_AS_DOUBLE(bits) gantry__bits_to_double(bits)
#define GANTRY_SQRT_F32(x) sqrtf(x)
#define GANTRY_SQRT_F64(x) sqrt(x)

GANTRY_FN int gantry__bits_to_int(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

GANTRY_FN uint gantry__bits_to_uint(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

GANTRY_FN float gantry__bits_to_float(uint bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

GANTRY_FN ulong gantry__bits_to_ulong(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

GANTRY_FN double gantry__bits_to_double(ulong bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
