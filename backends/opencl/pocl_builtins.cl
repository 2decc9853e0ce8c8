/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in functions of OpenCL C that Gantry's device text calls, for a PoCL that leaves its
 * own 18,000 lines of declarations out (opencl_program.c). A function has all forms that Clang's
 * opencl-c.h gives it for OpenCL C 1.2, with the same attributes: with fewer, a call might convert
 * its arguments to another form's. No text computes in half, so that no function has that form. */
#define GANTRY_BUILTIN __attribute__((overloadable))
#define GANTRY_CONST_BUILTIN __attribute__((overloadable, const))

/* F(type) for each. */
#define GANTRY_LANES_OF(F, t) F(t) F(t##2) F(t##3) F(t##4) F(t##8) F(t##16)
#if defined(cl_khr_fp64)
#define GANTRY_IF_FLOAT64(text) text
#else
#define GANTRY_IF_FLOAT64(text)
#endif
#define GANTRY_ALL_FLOATS(F)  \
    GANTRY_LANES_OF(F, float) \
    GANTRY_IF_FLOAT64(GANTRY_LANES_OF(F, double))
#define GANTRY_ALL_SIGNED(F) \
    GANTRY_LANES_OF(F, char) \
    GANTRY_LANES_OF(F, short) GANTRY_LANES_OF(F, int) GANTRY_LANES_OF(F, long)
#define GANTRY_ALL_UNSIGNED(F) \
    GANTRY_LANES_OF(F, uchar)  \
    GANTRY_LANES_OF(F, ushort) GANTRY_LANES_OF(F, uint) GANTRY_LANES_OF(F, ulong)

/* ---- work-items ---- */

GANTRY_CONST_BUILTIN size_t get_global_id(uint);
GANTRY_CONST_BUILTIN size_t get_global_size(uint);
GANTRY_CONST_BUILTIN size_t get_local_id(uint);
GANTRY_CONST_BUILTIN size_t get_local_size(uint);
GANTRY_CONST_BUILTIN size_t get_group_id(uint);
GANTRY_CONST_BUILTIN size_t get_num_groups(uint);
__attribute__((overloadable, convergent)) void barrier(cl_mem_fence_flags);

GANTRY_BUILTIN int atomic_max(volatile __global int *, int);
GANTRY_BUILTIN uint atomic_max(volatile __global uint *, uint);
GANTRY_BUILTIN int atomic_max(volatile __local int *, int);
GANTRY_BUILTIN uint atomic_max(volatile __local uint *, uint);

/* ---- numbers ---- */

#define GANTRY_DECLARE_FLOAT_FUNCTIONS(V) \
    GANTRY_CONST_BUILTIN V ceil(V);       \
    GANTRY_CONST_BUILTIN V fabs(V);       \
    GANTRY_CONST_BUILTIN V floor(V);      \
    GANTRY_CONST_BUILTIN V fma(V, V, V);  \
    GANTRY_CONST_BUILTIN V lgamma(V);     \
    GANTRY_CONST_BUILTIN V rint(V);       \
    GANTRY_CONST_BUILTIN V sqrt(V);       \
    GANTRY_CONST_BUILTIN V trunc(V);
GANTRY_ALL_FLOATS(GANTRY_DECLARE_FLOAT_FUNCTIONS)

#define GANTRY_DECLARE_ANY(V) GANTRY_CONST_BUILTIN int any(V);
GANTRY_ALL_SIGNED(GANTRY_DECLARE_ANY)

#define GANTRY_DECLARE_MUL_HIGH(V) GANTRY_CONST_BUILTIN V mul_hi(V, V);
GANTRY_ALL_SIGNED(GANTRY_DECLARE_MUL_HIGH)
GANTRY_ALL_UNSIGNED(GANTRY_DECLARE_MUL_HIGH)
