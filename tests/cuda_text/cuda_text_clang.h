/* SPDX-License-Identifier: Apache-2.0 */
/* What NVRTC declares by itself, as far as the device text uses it: cuda_text_clang.c gives this
 * file to clang, which has no CUDA headers here. Nothing of it is defined, linked or run, and
 * no C file includes it. Owner: nothing. Threads: any. */
#ifndef TESTS_CUDA_TEXT_CLANG_H
#define TESTS_CUDA_TEXT_CLANG_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(bytes) __attribute__((aligned(bytes)))

struct uint3 {
    unsigned int x, y, z;
};
struct uint4 {
    unsigned int x, y, z, w;
};
struct float4 {
    float x, y, z, w;
};
extern __device__ const uint3 threadIdx, blockIdx, blockDim, gridDim;

__device__ int __float_as_int(float x);
__device__ unsigned int __float_as_uint(float x);
__device__ float __uint_as_float(unsigned int bits);
__device__ long long __double_as_longlong(double x);
__device__ double __longlong_as_double(long long bits);
__device__ float __fsqrt_rn(float x);
__device__ double __dsqrt_rn(double x);
__device__ int __dp4a(int a, int b, int sum);
__device__ unsigned int __umulhi(unsigned int a, unsigned int b);
__device__ unsigned int atomicMax(unsigned int *at, unsigned int value);
__device__ int atomicMax(int *at, int value);
__device__ unsigned int atomicMin(unsigned int *at, unsigned int value);
__device__ int atomicMin(int *at, int value);
__device__ unsigned int atomicAdd(unsigned int *at, unsigned int value);
__device__ float atomicAdd(float *at, float value);
__device__ unsigned int atomicExch(unsigned int *at, unsigned int value);
__device__ unsigned int atomicCAS(unsigned int *at, unsigned int compare, unsigned int value);
__device__ unsigned int atomicSub(unsigned int *at, unsigned int value);
__device__ float fmaf(float a, float b, float c);
__device__ float __fmaf_rn(float a, float b, float c);
__device__ float ceilf(float x);
__device__ float floorf(float x);
__device__ float rintf(float x);
__device__ float truncf(float x);
__device__ double fma(double a, double b, double c);
__device__ double __fma_rn(double a, double b, double c);
__device__ double atan2(double x, double y);
__device__ double fmod(double x, double y);
__device__ double pow(double x, double y);
__device__ double acos(double x);
__device__ double acosh(double x);
__device__ double asin(double x);
__device__ double asinh(double x);
__device__ double atan(double x);
__device__ double atanh(double x);
__device__ double cos(double x);
__device__ double cosh(double x);
__device__ double floor(double x);
__device__ double trunc(double x);
__device__ double erfc(double x);
__device__ double expm1(double x);
__device__ double lgamma(double x);
__device__ double log1p(double x);
__device__ double sin(double x);
__device__ double sinh(double x);
__device__ double tan(double x);

#endif
