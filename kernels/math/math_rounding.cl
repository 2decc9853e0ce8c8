/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding to a neighbouring integer: exact in all three languages, which only name it differently.
 * It must come after dialect.cl. rint takes the even one of two equally near ones. */
#if defined(__OPENCL_VERSION__)
#define gantry__floor_f32(x) floor(x)
#define gantry__ceil_f32(x) ceil(x)
#define gantry__trunc_f32(x) trunc(x)
#define gantry__rint_f32(x) rint(x)
#else
#define gantry__floor_f32(x) floorf(x)
#define gantry__ceil_f32(x) ceilf(x)
#define gantry__trunc_f32(x) truncf(x)
#define gantry__rint_f32(x) rintf(x)
#endif
#define gantry__floor_f64(x) floor(x)
#define gantry__ceil_f64(x) ceil(x)
#define gantry__trunc_f64(x) trunc(x)
#define gantry__rint_f64(x) rint(x)
