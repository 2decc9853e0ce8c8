/* SPDX-License-Identifier: Apache-2.0 */
/* GANTRY_CONVERT(x): an S as a T, for Cast. It comes after types (with GANTRY_S and GANTRY_T),
 * convert and half. It has only macros and no guard, because a program that casts between several
 * types has it once for each pair. GANTRY_TRUNCATE: float64 to float32 rounds toward zero. float64
 * to float16, and float32 to both halves, first drop the bits beyond the half's fraction, as in
 * TensorFlow: that rounds toward zero, except for denormal halves and infinity. A half goes through
 * float32 both ways, also from float64 and integers, where that rounds twice. A float8 is rounded
 * once from every floating type, and with GANTRY_TRUNCATE every wider one first drops bits. */
#undef GANTRY_FROM
#undef GANTRY_IS_FROM_FLOAT
#undef GANTRY_T_IS_QUARTER
#undef GANTRY_T_FRACTION
#undef GANTRY_TO
#undef GANTRY_LOWEST
#undef GANTRY_HIGHEST
#undef GANTRY_CONVERT

#define GANTRY_FROM(x) GANTRY_WIDEN_S(x)
#define GANTRY_T_IS_QUARTER (GANTRY_CLASS_OF(GANTRY_T) == GANTRY_CLASS_QUARTER)
#define GANTRY_T_FRACTION GANTRY_PASTE(GANTRY_FRACTION_, GANTRY_T)
#define GANTRY_IS_FROM_FLOAT (GANTRY_S_IS_FLOAT || GANTRY_S_IS_NARROW)

/* From a float to an integer. */
#if GANTRY_S_IS(f64)
#define GANTRY_TO(target, x) gantry__f64_to_##target(GANTRY_FROM(x))
#else
#define GANTRY_TO(target, x) gantry__f32_to_##target(GANTRY_FROM(x))
#endif
#if GANTRY_T_IS(u8)
#define GANTRY_LOWEST GANTRY_LOWEST_U8
#define GANTRY_HIGHEST GANTRY_HIGHEST_U8
#elif GANTRY_T_IS(i8)
#define GANTRY_LOWEST GANTRY_LOWEST_I8
#define GANTRY_HIGHEST GANTRY_HIGHEST_I8
#elif GANTRY_T_IS(u16)
#define GANTRY_LOWEST GANTRY_LOWEST_U16
#define GANTRY_HIGHEST GANTRY_HIGHEST_U16
#elif GANTRY_T_IS(i16)
#define GANTRY_LOWEST GANTRY_LOWEST_I16
#define GANTRY_HIGHEST GANTRY_HIGHEST_I16
#else
#define GANTRY_LOWEST GANTRY_LOWEST_U32
#define GANTRY_HIGHEST GANTRY_HIGHEST_U32
#endif

#if GANTRY_T_IS(f16) && GANTRY_S_IS(f32) && defined(GANTRY_TRUNCATE)
#define GANTRY_CONVERT(x) GANTRY_NARROW(gantry__f32_without_bits(x, GANTRY_F16_DROPS_OF_F32))
#elif GANTRY_T_IS(f16) && GANTRY_S_IS(f64) && defined(GANTRY_TRUNCATE)
#define GANTRY_CONVERT(x) GANTRY_NARROW((float)gantry__f64_without_bits(x, GANTRY_F16_DROPS_OF_F64))
#elif GANTRY_T_IS(bf16) && GANTRY_S_IS(f32) && defined(GANTRY_TRUNCATE)
#define GANTRY_CONVERT(x) GANTRY_NARROW(gantry__f32_without_bits(x, GANTRY_BF16_DROPS_OF_F32))
#elif GANTRY_T_IS_QUARTER && defined(GANTRY_TRUNCATE) && GANTRY_S_IS(f64)
#define GANTRY_CONVERT(x) \
    GANTRY_NARROW(gantry__f64_to_f32_odd(gantry__f64_without_bits(x, 52 - GANTRY_T_FRACTION)))
#elif GANTRY_T_IS_QUARTER && defined(GANTRY_TRUNCATE) && GANTRY_S_IS(f32)
#define GANTRY_CONVERT(x) GANTRY_NARROW(gantry__f32_without_bits(x, 23 - GANTRY_T_FRACTION))
#elif GANTRY_T_IS_QUARTER && defined(GANTRY_TRUNCATE)
#define GANTRY_CONVERT(x)              \
    GANTRY_NARROW(GANTRY_WITHOUT_BITS( \
        GANTRY_FROM, x, GANTRY_PASTE(GANTRY_FRACTION_, GANTRY_S) - GANTRY_T_FRACTION))
#elif GANTRY_T_IS_QUARTER && GANTRY_S_IS(f64)
#define GANTRY_CONVERT(x) GANTRY_NARROW(gantry__f64_to_f32_odd(x))
#elif GANTRY_T_IS_NARROW
#define GANTRY_CONVERT(x) GANTRY_NARROW((float)GANTRY_FROM(x))
#elif GANTRY_T_IS_BOOL && GANTRY_S_IS_NARROW
#define GANTRY_CONVERT(x) ((uchar)((S)((x) << 1) != 0)) /* all bits but the sign */
#elif GANTRY_T_IS_BOOL
#define GANTRY_CONVERT(x) ((uchar)((x) != 0))
#elif GANTRY_IS_FROM_FLOAT && GANTRY_T_IS(i32)
#define GANTRY_CONVERT(x) GANTRY_TO(i32, x)
#elif GANTRY_IS_FROM_FLOAT && GANTRY_T_IS(i64)
#define GANTRY_CONVERT(x) GANTRY_TO(i64, x)
#elif GANTRY_IS_FROM_FLOAT && GANTRY_T_IS(u64)
#define GANTRY_CONVERT(x) GANTRY_TO(u64, x)
#elif GANTRY_IS_FROM_FLOAT && GANTRY_T_IS_INT
#define GANTRY_CONVERT(x) ((T)gantry__clamp_i64(GANTRY_TO(i64, x), GANTRY_LOWEST, GANTRY_HIGHEST))
#elif GANTRY_S_IS(f64) && GANTRY_T_IS(f32) && defined(GANTRY_TRUNCATE)
#define GANTRY_CONVERT(x) gantry__f64_to_f32_truncated(x)
#else
#define GANTRY_CONVERT(x) ((T)GANTRY_FROM(x))
#endif
