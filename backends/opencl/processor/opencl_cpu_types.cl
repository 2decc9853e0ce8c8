/* SPDX-License-Identifier: Apache-2.0 */
/* The types of the programs for processors. Options: GANTRY_T, f32 or f64;
 * GANTRY_LANES elements in a vector register; GANTRY_MR rows at a time. */
#pragma OPENCL FP_CONTRACT OFF

/* A function that does a kernel's work must start with this: PoCL compiles each kernel three times,
 * and such a function once. */
#if defined(POCL_DEVICE_ADDRESS_BITS)
#define BODY_FN static __attribute__((noinline))
#else
#define BODY_FN static
#endif

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#define IS_DOUBLE_f32 0
#define IS_DOUBLE_f64 1
#define IS_DOUBLE CAT(IS_DOUBLE_, GANTRY_T)
#if IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define T double
#else
#define T float
#endif
#define V CAT(T, GANTRY_LANES)
#define LOAD CAT(vload, GANTRY_LANES)
#define MR GANTRY_MR

#if MR == 12
#define ROWS(X) \
    X(0)        \
    X(1)        \
    X(2)        \
    X(3)        \
    X(4)        \
    X(5)        \
    X(6)        \
    X(7)        \
    X(8)        \
    X(9)        \
    X(10)       \
    X(11)
#elif MR == 6
#define ROWS(X) \
    X(0)        \
    X(1)        \
    X(2)        \
    X(3)        \
    X(4)        \
    X(5)
#elif MR == 4
#define ROWS(X) \
    X(0)        \
    X(1)        \
    X(2)        \
    X(3)
#elif MR == 2
#define ROWS(X) \
    X(0)        \
    X(1)
#endif
