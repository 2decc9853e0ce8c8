/* SPDX-License-Identifier: Apache-2.0 */
/* Element types, by their numbers (gantry_dtype_t). A program's build options name its types:
 * -DGANTRY_T_ID=<number> gives T; GANTRY_S_ID and GANTRY_I_ID, where a kernel has a second (source,
 * output) or an index type, give S and I. C code sets the same names by #define before it includes
 * a family's text, once per type: everything that depends on them here is a macro. Comes after
 * dialect.cl.
 *
 *   U   T's twin in which arithmetic wraps: unsigned, of 32 bits at least, for integers; float for
 *       halves; else T
 *   C   the type that T is computed in: float for halves, else T; see half.cl for the way there and
 *       back
 *
 * bool is a uchar that holds 0 or 1; a half is a ushort, its bits. Where bits are moved and never
 * looked at, bool, uint16, int32 and int64 stand for all types of their size. Class flags are 0
 * or 1. */
#ifndef GANTRY_TYPES_CL
#define GANTRY_TYPES_CL

/* Types by name. #if cannot see the enumerators that C has for these numbers (constants.cl has
 * macros): the assertions below tie both. */
#define GANTRY_ID_f32 1
#define GANTRY_ID_f64 2
#define GANTRY_ID_i32 3
#define GANTRY_ID_u8 4
#define GANTRY_ID_i16 5
#define GANTRY_ID_i8 6
#define GANTRY_ID_i64 9
#define GANTRY_ID_b8 10
#define GANTRY_ID_bf16 14
#define GANTRY_ID_u16 17
#define GANTRY_ID_f16 19
#define GANTRY_ID_u32 22
#define GANTRY_ID_u64 23

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define GANTRY_SAME_ID(name, dtype) \
    _Static_assert(GANTRY_ID_##name == (int)GANTRY_##dtype, #name " is " #dtype)
GANTRY_SAME_ID(f32, FLOAT32);
GANTRY_SAME_ID(f64, FLOAT64);
GANTRY_SAME_ID(i32, INT32);
GANTRY_SAME_ID(u8, UINT8);
GANTRY_SAME_ID(i16, INT16);
GANTRY_SAME_ID(i8, INT8);
GANTRY_SAME_ID(i64, INT64);
GANTRY_SAME_ID(b8, BOOL);
GANTRY_SAME_ID(bf16, BFLOAT16);
GANTRY_SAME_ID(u16, UINT16);
GANTRY_SAME_ID(f16, FLOAT16);
GANTRY_SAME_ID(u32, UINT32);
GANTRY_SAME_ID(u64, UINT64);
#endif

#define GANTRY_T_IS(name) (GANTRY_T_ID == GANTRY_ID_##name)
#define GANTRY_S_IS(name) (GANTRY_S_ID == GANTRY_ID_##name)

#if defined(__OPENCL_VERSION__) && defined(cl_khr_fp64) && \
    ((defined(GANTRY_T_ID) && GANTRY_T_ID == 2) || (defined(GANTRY_S_ID) && GANTRY_S_ID == 2))
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef float gantry__type_1;
typedef int gantry__type_3;
typedef uchar gantry__type_4;
typedef short gantry__type_5;
typedef signed char gantry__type_6;
typedef GANTRY_LONG gantry__type_9;
typedef uchar gantry__type_10;
typedef ushort gantry__type_14;
typedef ushort gantry__type_17;
typedef ushort gantry__type_19;
typedef uint gantry__type_22;
typedef ulong gantry__type_23;

typedef float gantry__wraps_1;
typedef uint gantry__wraps_3;
typedef uint gantry__wraps_4;
typedef uint gantry__wraps_5;
typedef uint gantry__wraps_6;
typedef ulong gantry__wraps_9;
typedef uchar gantry__wraps_10;
typedef float gantry__wraps_14;
typedef uint gantry__wraps_17;
typedef float gantry__wraps_19;
typedef uint gantry__wraps_22;
typedef ulong gantry__wraps_23;

typedef float gantry__computed_1;
typedef int gantry__computed_3;
typedef uchar gantry__computed_4;
typedef short gantry__computed_5;
typedef signed char gantry__computed_6;
typedef GANTRY_LONG gantry__computed_9;
typedef uchar gantry__computed_10;
typedef float gantry__computed_14;
typedef ushort gantry__computed_17;
typedef float gantry__computed_19;
typedef uint gantry__computed_22;
typedef ulong gantry__computed_23;

#if GANTRY_HAS_FLOAT64
typedef double gantry__type_2;
typedef double gantry__wraps_2;
typedef double gantry__computed_2;
#endif

#define GANTRY_PASTE_TOKENS(a, b) a##b
#define GANTRY_PASTE(a, b) GANTRY_PASTE_TOKENS(a, b)

#define T GANTRY_PASTE(gantry__type_, GANTRY_T_ID)
#define U GANTRY_PASTE(gantry__wraps_, GANTRY_T_ID)
#define C GANTRY_PASTE(gantry__computed_, GANTRY_T_ID)
#define S GANTRY_PASTE(gantry__type_, GANTRY_S_ID)
#define I GANTRY_PASTE(gantry__type_, GANTRY_I_ID)

/* The T whose bits are the lowest of a ulong. */
#define GANTRY_T_OF_BITS(bits) GANTRY_PASTE(gantry__of_bits_, GANTRY_T_ID)(bits)
#define gantry__of_bits_1(bits) GANTRY_AS_FLOAT((uint)(bits))
#define gantry__of_bits_2(bits) GANTRY_AS_DOUBLE(bits)
#define gantry__of_bits_3(bits) ((int)(bits))
#define gantry__of_bits_4(bits) ((uchar)(bits))
#define gantry__of_bits_5(bits) ((short)(bits))
#define gantry__of_bits_6(bits) ((signed char)(bits))
#define gantry__of_bits_9(bits) ((GANTRY_LONG)(bits))
#define gantry__of_bits_14(bits) ((ushort)(bits))
#define gantry__of_bits_17(bits) ((ushort)(bits))
#define gantry__of_bits_19(bits) ((ushort)(bits))
#define gantry__of_bits_22(bits) ((uint)(bits))
#define gantry__of_bits_23(bits) (bits)

#define GANTRY_ID_IS_FLOAT(id) ((id) == 1 || (id) == 2)
#define GANTRY_ID_IS_SIGNED(id) ((id) == 3 || (id) == 5 || (id) == 6 || (id) == 9)
#define GANTRY_ID_IS_UNSIGNED(id) ((id) == 4 || (id) == 17 || (id) == 22 || (id) == 23)
#define GANTRY_ID_IS_HALF(id) ((id) == 14 || (id) == 19)

#define GANTRY_T_IS_FLOAT GANTRY_ID_IS_FLOAT(GANTRY_T_ID)
#define GANTRY_T_IS_SIGNED GANTRY_ID_IS_SIGNED(GANTRY_T_ID)
#define GANTRY_T_IS_UNSIGNED GANTRY_ID_IS_UNSIGNED(GANTRY_T_ID)
#define GANTRY_T_IS_INT (GANTRY_T_IS_SIGNED || GANTRY_T_IS_UNSIGNED)
#define GANTRY_T_IS_BOOL (GANTRY_T_ID == 10)
#define GANTRY_T_IS_HALF GANTRY_ID_IS_HALF(GANTRY_T_ID)

#define GANTRY_S_IS_FLOAT GANTRY_ID_IS_FLOAT(GANTRY_S_ID)
#define GANTRY_S_IS_SIGNED GANTRY_ID_IS_SIGNED(GANTRY_S_ID)
#define GANTRY_S_IS_UNSIGNED GANTRY_ID_IS_UNSIGNED(GANTRY_S_ID)
#define GANTRY_S_IS_INT (GANTRY_S_IS_SIGNED || GANTRY_S_IS_UNSIGNED)
#define GANTRY_S_IS_BOOL (GANTRY_S_ID == 10)
#define GANTRY_S_IS_HALF GANTRY_ID_IS_HALF(GANTRY_S_ID)

#endif
