/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in functions that few texts call: with them, every other program would compile for longer.
 * pocl_builtins.cl must come before. */

/* ---- numbers ---- */

GANTRY_CONST_BUILTIN uint8 select(uint8, uint8, int8);
GANTRY_CONST_BUILTIN uint8 convert_uint8(ushort8);
GANTRY_CONST_BUILTIN ushort8 convert_ushort8(uint8);
#define GANTRY_DECLARE_CHOPPED(t) GANTRY_CONST_BUILTIN float convert_float_rtz(t);
GANTRY_INTEGER_TYPES(GANTRY_DECLARE_CHOPPED)
GANTRY_FLOAT_TYPES(GANTRY_DECLARE_CHOPPED)

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
    GANTRY_CONST_BUILTIN V lgamma(V);   \
    GANTRY_CONST_BUILTIN V atan2(V, V); \
    GANTRY_CONST_BUILTIN V pow(V, V);   \
    GANTRY_CONST_BUILTIN V fmod(V, V);
GANTRY_FLOAT_TYPES(GANTRY_DECLARE_LIBRARY)
#if defined(GANTRY_MATH_LANES)
#define GANTRY_JOIN_NAMES(t, lanes) t##lanes
#define GANTRY_JOIN_LANES(t, lanes) GANTRY_JOIN_NAMES(t, lanes)
#define GANTRY_DECLARE_LIBRARY_LANES(t) \
    GANTRY_DECLARE_LIBRARY(GANTRY_JOIN_LANES(t, GANTRY_MATH_LANES))
GANTRY_FLOAT_TYPES(GANTRY_DECLARE_LIBRARY_LANES)
#endif

/* ---- memory ---- */

#define GANTRY_DECLARE_MOVES_OF(t, lanes, space)                                        \
    __attribute__((overloadable, pure)) t##lanes vload##lanes(size_t, const space t *); \
    GANTRY_BUILTIN void vstore##lanes(t##lanes, size_t, space t *);
#define GANTRY_DECLARE_MOVES(t, lanes)          \
    GANTRY_DECLARE_MOVES_OF(t, lanes, __global) \
    GANTRY_DECLARE_MOVES_OF(t, lanes, __private)
#define GANTRY_DECLARE_WIDE_MOVES(t) GANTRY_DECLARE_MOVES(t, 8) GANTRY_DECLARE_MOVES(t, 16)
#define GANTRY_DECLARE_INTEGER_MOVES(t) GANTRY_DECLARE_MOVES(t, 4) GANTRY_DECLARE_WIDE_MOVES(t)
#define GANTRY_DECLARE_FLOAT_MOVES(t) GANTRY_DECLARE_MOVES(t, 2) GANTRY_DECLARE_INTEGER_MOVES(t)
GANTRY_FLOAT_TYPES(GANTRY_DECLARE_FLOAT_MOVES)
GANTRY_DECLARE_INTEGER_MOVES(uchar)
GANTRY_DECLARE_INTEGER_MOVES(ushort)
GANTRY_DECLARE_INTEGER_MOVES(int)
GANTRY_DECLARE_INTEGER_MOVES(long)
GANTRY_DECLARE_WIDE_MOVES(uint)
GANTRY_DECLARE_WIDE_MOVES(ulong)
