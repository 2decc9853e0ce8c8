/* SPDX-License-Identifier: Apache-2.0 */
/* More of pocl_builtins.cl, which precedes it: for the programs whose text calls one of them, since
 * PoCL takes 10 ms for these. */
/* F(type) of single elements. */
#define GANTRY_INTEGER_TYPES(F) F(char) F(uchar) F(short) F(ushort) F(int) F(uint) F(long) F(ulong)
#define GANTRY_FLOAT_TYPES(F) F(float) GANTRY_IF_FLOAT64(F(double))
#define GANTRY_ALL_TYPES(F) GANTRY_INTEGER_TYPES(F) GANTRY_FLOAT_TYPES(F)

/* ---- numbers ---- */

#define GANTRY_DECLARE_BOUNDS(V)      \
    GANTRY_CONST_BUILTIN V min(V, V); \
    GANTRY_CONST_BUILTIN V max(V, V);
#define GANTRY_DECLARE_VECTOR_BOUNDS(V, t) \
    GANTRY_CONST_BUILTIN V min(V, t);      \
    GANTRY_CONST_BUILTIN V max(V, t);
#define GANTRY_DECLARE_SCALAR_BOUNDS(t)       \
    GANTRY_LANES_OF(GANTRY_DECLARE_BOUNDS, t) \
    GANTRY_DECLARE_VECTOR_BOUNDS(t##2, t)     \
    GANTRY_DECLARE_VECTOR_BOUNDS(t##3, t)     \
    GANTRY_DECLARE_VECTOR_BOUNDS(t##4, t)     \
    GANTRY_DECLARE_VECTOR_BOUNDS(t##8, t)     \
    GANTRY_DECLARE_VECTOR_BOUNDS(t##16, t)
GANTRY_ALL_TYPES(GANTRY_DECLARE_SCALAR_BOUNDS)

#define GANTRY_DECLARE_SELECT(V, I_, U_)     \
    GANTRY_CONST_BUILTIN V select(V, V, I_); \
    GANTRY_CONST_BUILTIN V select(V, V, U_);
#define GANTRY_DECLARE_SELECTS(t, i, u)     \
    GANTRY_DECLARE_SELECT(t, i, u)          \
    GANTRY_DECLARE_SELECT(t##2, i##2, u##2) \
    GANTRY_DECLARE_SELECT(t##3, i##3, u##3) \
    GANTRY_DECLARE_SELECT(t##4, i##4, u##4) \
    GANTRY_DECLARE_SELECT(t##8, i##8, u##8) \
    GANTRY_DECLARE_SELECT(t##16, i##16, u##16)
GANTRY_DECLARE_SELECTS(char, char, uchar)
GANTRY_DECLARE_SELECTS(uchar, char, uchar)
GANTRY_DECLARE_SELECTS(short, short, ushort)
GANTRY_DECLARE_SELECTS(ushort, short, ushort)
GANTRY_DECLARE_SELECTS(int, int, uint)
GANTRY_DECLARE_SELECTS(uint, int, uint)
GANTRY_DECLARE_SELECTS(float, int, uint)
GANTRY_DECLARE_SELECTS(long, long, ulong)
GANTRY_DECLARE_SELECTS(ulong, long, ulong)
GANTRY_IF_FLOAT64(GANTRY_DECLARE_SELECTS(double, long, ulong))

#define GANTRY_DECLARE_CONVERSIONS(t)               \
    GANTRY_CONST_BUILTIN uint8 convert_uint8(t##8); \
    GANTRY_CONST_BUILTIN ushort8 convert_ushort8(t##8);
GANTRY_ALL_TYPES(GANTRY_DECLARE_CONVERSIONS)
#define GANTRY_DECLARE_CHOPPED(V) GANTRY_CONST_BUILTIN float convert_float_rtz(V);
GANTRY_ALL_TYPES(GANTRY_DECLARE_CHOPPED)

/* ---- functions of the library ---- */

#define GANTRY_DECLARE_LIBRARY(V)       \
    GANTRY_CONST_BUILTIN V exp(V);      \
    GANTRY_CONST_BUILTIN V log(V);      \
    GANTRY_CONST_BUILTIN V sin(V);      \
    GANTRY_CONST_BUILTIN V cos(V);      \
    GANTRY_CONST_BUILTIN V tan(V);      \
    GANTRY_CONST_BUILTIN V tanh(V);     \
    GANTRY_CONST_BUILTIN V erf(V);      \
    GANTRY_CONST_BUILTIN V asin(V);     \
    GANTRY_CONST_BUILTIN V acos(V);     \
    GANTRY_CONST_BUILTIN V atan(V);     \
    GANTRY_CONST_BUILTIN V sinh(V);     \
    GANTRY_CONST_BUILTIN V cosh(V);     \
    GANTRY_CONST_BUILTIN V asinh(V);    \
    GANTRY_CONST_BUILTIN V acosh(V);    \
    GANTRY_CONST_BUILTIN V atanh(V);    \
    GANTRY_CONST_BUILTIN V erfc(V);     \
    GANTRY_CONST_BUILTIN V expm1(V);    \
    GANTRY_CONST_BUILTIN V log1p(V);    \
    GANTRY_CONST_BUILTIN V atan2(V, V); \
    GANTRY_CONST_BUILTIN V pow(V, V);   \
    GANTRY_CONST_BUILTIN V fmod(V, V);
GANTRY_ALL_FLOATS(GANTRY_DECLARE_LIBRARY)

/* ---- memory ---- */

#define GANTRY_DECLARE_LOAD(t, lanes, space) \
    __attribute__((overloadable, pure)) t##lanes vload##lanes(size_t, const space t *);
#define GANTRY_DECLARE_STORE(t, lanes, space) \
    GANTRY_BUILTIN void vstore##lanes(t##lanes, size_t, space t *);
#define GANTRY_DECLARE_MOVES(t, lanes)        \
    GANTRY_DECLARE_LOAD(t, lanes, __constant) \
    GANTRY_DECLARE_LOAD(t, lanes, __global)   \
    GANTRY_DECLARE_LOAD(t, lanes, __local)    \
    GANTRY_DECLARE_LOAD(t, lanes, __private)  \
    GANTRY_DECLARE_STORE(t, lanes, __global)  \
    GANTRY_DECLARE_STORE(t, lanes, __local)   \
    GANTRY_DECLARE_STORE(t, lanes, __private)
#define GANTRY_DECLARE_ALL_MOVES(t) \
    GANTRY_DECLARE_MOVES(t, 2)      \
    GANTRY_DECLARE_MOVES(t, 4)      \
    GANTRY_DECLARE_MOVES(t, 8)      \
    GANTRY_DECLARE_MOVES(t, 16)
GANTRY_ALL_TYPES(GANTRY_DECLARE_ALL_MOVES)
