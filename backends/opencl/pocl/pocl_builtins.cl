/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in functions of OpenCL C that Gantry's device text calls, for a PoCL that leaves its
 * own 18,000 lines of declarations out (opencl_program.c), with the attributes of Clang's
 * opencl-c.h. Every form costs PoCL time, so this file has only forms that a text may call:
 *   scalars   all types for which OpenCL C has the function: with fewer, a call might convert its
 *             arguments to another type's
 *   vectors   the widths and types of the texts; a call of another one does not compile
 * No text computes in half, so no function has that form. */
#define GANTRY_BUILTIN __attribute__((overloadable))
#define GANTRY_CONST_BUILTIN __attribute__((overloadable, const))

/* F(type) for each. */
#define GANTRY_VECTORS_OF(F, t) F(t##2) F(t##4) F(t##8) F(t##16)
#if defined(cl_khr_fp64)
#define GANTRY_FLOAT_TYPES(F) F(float) F(double)
#define GANTRY_FLOAT_VECTORS(F) GANTRY_VECTORS_OF(F, float) GANTRY_VECTORS_OF(F, double)
#else
#define GANTRY_FLOAT_TYPES(F) F(float)
#define GANTRY_FLOAT_VECTORS(F) GANTRY_VECTORS_OF(F, float)
#endif
#define GANTRY_INTEGER_TYPES(F) F(char) F(uchar) F(short) F(ushort) F(int) F(uint) F(long) F(ulong)

/* ---- work-items ---- */

GANTRY_CONST_BUILTIN size_t get_global_id(uint);
GANTRY_CONST_BUILTIN size_t get_global_size(uint);
GANTRY_CONST_BUILTIN size_t get_local_id(uint);
GANTRY_CONST_BUILTIN size_t get_local_size(uint);
GANTRY_CONST_BUILTIN size_t get_group_id(uint);
GANTRY_CONST_BUILTIN size_t get_num_groups(uint);
__attribute__((overloadable, convergent)) void barrier(cl_mem_fence_flags);

#define GANTRY_ATOMIC_OF(name, space, t) GANTRY_BUILTIN t name(volatile space t *, t);
#define GANTRY_ATOMIC(name)                \
    GANTRY_ATOMIC_OF(name, __global, int)  \
    GANTRY_ATOMIC_OF(name, __global, uint) \
    GANTRY_ATOMIC_OF(name, __local, int)   \
    GANTRY_ATOMIC_OF(name, __local, uint)
GANTRY_ATOMIC(atomic_max)
#if !GANTRY_SERIAL
GANTRY_ATOMIC(atomic_min)
GANTRY_ATOMIC(atomic_add)
GANTRY_ATOMIC(atomic_sub)
GANTRY_ATOMIC_OF(atomic_or, __global, uint)
GANTRY_ATOMIC_OF(atomic_xchg, __global, uint)
GANTRY_BUILTIN uint atomic_cmpxchg(volatile __global uint *, uint, uint);
#endif

/* ---- bits ---- */

/* Clang 11 (PoCL 1.8) has these in the header that is left out. */
#if !defined(as_uint)
#define as_int(x) __builtin_astype((x), int)
#define as_int2(x) __builtin_astype((x), int2)
#define as_int4(x) __builtin_astype((x), int4)
#define as_int8(x) __builtin_astype((x), int8)
#define as_int16(x) __builtin_astype((x), int16)
#define as_uint(x) __builtin_astype((x), uint)
#define as_uint2(x) __builtin_astype((x), uint2)
#define as_uint4(x) __builtin_astype((x), uint4)
#define as_uint8(x) __builtin_astype((x), uint8)
#define as_uint16(x) __builtin_astype((x), uint16)
#define as_long(x) __builtin_astype((x), long)
#define as_long2(x) __builtin_astype((x), long2)
#define as_long4(x) __builtin_astype((x), long4)
#define as_long8(x) __builtin_astype((x), long8)
#define as_long16(x) __builtin_astype((x), long16)
#define as_ulong(x) __builtin_astype((x), ulong)
#define as_ulong2(x) __builtin_astype((x), ulong2)
#define as_ulong4(x) __builtin_astype((x), ulong4)
#define as_ulong8(x) __builtin_astype((x), ulong8)
#define as_ulong16(x) __builtin_astype((x), ulong16)
#define as_float(x) __builtin_astype((x), float)
#define as_float2(x) __builtin_astype((x), float2)
#define as_float4(x) __builtin_astype((x), float4)
#define as_float8(x) __builtin_astype((x), float8)
#define as_float16(x) __builtin_astype((x), float16)
#define as_double(x) __builtin_astype((x), double)
#define as_double2(x) __builtin_astype((x), double2)
#define as_double4(x) __builtin_astype((x), double4)
#define as_double8(x) __builtin_astype((x), double8)
#define as_double16(x) __builtin_astype((x), double16)
#endif

/* ---- numbers ---- */

#define GANTRY_DECLARE_FLOAT_FUNCTIONS(V) \
    GANTRY_CONST_BUILTIN V ceil(V);       \
    GANTRY_CONST_BUILTIN V fabs(V);       \
    GANTRY_CONST_BUILTIN V floor(V);      \
    GANTRY_CONST_BUILTIN V fma(V, V, V);  \
    GANTRY_CONST_BUILTIN V rint(V);       \
    GANTRY_CONST_BUILTIN V sqrt(V);       \
    GANTRY_CONST_BUILTIN V trunc(V);
GANTRY_FLOAT_TYPES(GANTRY_DECLARE_FLOAT_FUNCTIONS)
GANTRY_FLOAT_VECTORS(GANTRY_DECLARE_FLOAT_FUNCTIONS)

#define GANTRY_DECLARE_ANY(V) GANTRY_CONST_BUILTIN int any(V);
GANTRY_VECTORS_OF(GANTRY_DECLARE_ANY, int)
GANTRY_VECTORS_OF(GANTRY_DECLARE_ANY, long)

#define GANTRY_DECLARE_MUL_HIGH(V) GANTRY_CONST_BUILTIN V mul_hi(V, V);
GANTRY_INTEGER_TYPES(GANTRY_DECLARE_MUL_HIGH)
GANTRY_VECTORS_OF(GANTRY_DECLARE_MUL_HIGH, uint)

#define GANTRY_DECLARE_BOUNDS(V)      \
    GANTRY_CONST_BUILTIN V min(V, V); \
    GANTRY_CONST_BUILTIN V max(V, V);
GANTRY_INTEGER_TYPES(GANTRY_DECLARE_BOUNDS)
GANTRY_FLOAT_TYPES(GANTRY_DECLARE_BOUNDS)
GANTRY_DECLARE_BOUNDS(uint16)
GANTRY_DECLARE_BOUNDS(ulong16)
