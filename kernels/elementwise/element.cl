/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the expressions of ops/elementwise.def for the type T, which GANTRY_T must name; C
 * is the type that T is computed in. It has only macros and no guard: the C loops include it once
 * per type. A device program has it once, after types.cl and the math texts. */
#undef GANTRY_RESULT_SAME
#undef GANTRY_RESULT_BOOL
#undef GANTRY_MATH
#undef GANTRY_IS_NAN
#undef GANTRY_IS_NEGATIVE
#undef GANTRY_ABSOLUTE
#undef GANTRY_DIVISOR
#undef GANTRY_QUOTIENT
#undef GANTRY_DIVIDE
#undef GANTRY_IS_OF_FLOOR
#undef GANTRY_FLOOR_DIVIDE
#undef GANTRY_TRUNCATE_DIVIDE
#undef GANTRY_REMAINDER
#undef GANTRY_FLOOR_REMAINDER
#undef GANTRY_ROUND
#undef GANTRY_POWER
#undef GANTRY_SHIFT
#undef GANTRY_RESULT_BYTE
#undef GANTRY_HAS_SIGN
#undef GANTRY_OR_ONES
#undef GANTRY_OR_FIRST
#undef GANTRY_ROUND_AWAY
#undef GANTRY_POWER_DEFINED
#undef GANTRY_SHIFTS
#undef GANTRY_SHIFT_DOWN
#undef GANTRY_UNSIGNED
#undef GANTRY_REDUCE_PRECISION
#undef GANTRY_BIT_COUNT
#undef GANTRY_LEADING_ZEROS
#undef GANTRY_CHECK_NEVER
#undef GANTRY_CHECK_ZERO_DIVISOR
#undef GANTRY_CHECK_NEGATIVE_EXPONENT

#define GANTRY_CHECK_NEVER(y) 0

#if GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF

#if GANTRY_T_IS(f64)
#define GANTRY_MATH(name) gantry__##name##_f64
#define GANTRY_HAS_SIGN(x) (int)(GANTRY_AS_ULONG(x) >> 63)
#define GANTRY_ABSOLUTE(x) GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff)
#else
#define GANTRY_MATH(name) gantry__##name##_f32
#define GANTRY_HAS_SIGN(x) (int)(GANTRY_AS_UINT(x) >> 31)
#define GANTRY_ABSOLUTE(x) GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu)
#endif
#define GANTRY_IS_NAN(x) ((x) != (x))
#define GANTRY_IS_NEGATIVE(x) ((x) < (C)0)
#define GANTRY_DIVIDE(x, y) ((x) / (y))
#define GANTRY_FLOOR_DIVIDE(x, y) GANTRY_MATH(floor)((x) / (y))
#define GANTRY_TRUNCATE_DIVIDE(x, y) GANTRY_MATH(trunc)((x) / (y))
#define GANTRY_REMAINDER(x, y) GANTRY_MATH(fmod)(x, y)
#define GANTRY_FLOOR_REMAINDER(x, y) GANTRY_MATH(floor_mod)(x, y)
#define GANTRY_ROUND(x) GANTRY_MATH(rint)(x)
#define GANTRY_POWER(x, y) GANTRY_MATH(pow)(x, y)
#define GANTRY_REDUCE_PRECISION(x, y) GANTRY_MATH(reduce_precision)(x, y)
/* exact: the part of x beyond its integer part, twice, is compared with 1 */
#define GANTRY_ROUND_AWAY(x)                                                                    \
    (GANTRY_ABSOLUTE((x)-GANTRY_MATH(trunc)(x)) + GANTRY_ABSOLUTE((x)-GANTRY_MATH(trunc)(x)) >= \
             (C)1                                                                               \
         ? GANTRY_MATH(trunc)(x) + (GANTRY_IS_NEGATIVE(x) ? (C)-1 : (C)1)                       \
         : GANTRY_MATH(trunc)(x))
#define GANTRY_OR_ONES(quotient, y) (quotient)
#define GANTRY_OR_FIRST(rest, x, y) (rest)
#define GANTRY_POWER_DEFINED(x, y) GANTRY_POWER(x, y)
#define GANTRY_CHECK_ZERO_DIVISOR(y) 0
#define GANTRY_CHECK_NEGATIVE_EXPONENT(y) 0

#else

#define GANTRY_IS_NAN(x) 0
#define GANTRY_HAS_SIGN(x) 0
#define GANTRY_ROUND_AWAY(x) (x)
#define GANTRY_CHECK_ZERO_DIVISOR(y) ((y) == 0)
#define GANTRY_TRUNCATE_DIVIDE(x, y) GANTRY_DIVIDE(x, y)
#define GANTRY_ROUND(x) (x)
#if GANTRY_T_IS(i64) || GANTRY_T_IS(u64)
#define GANTRY_POWER(x, y) gantry__power_u64((U)(x), (U)(y))
#else
#define GANTRY_POWER(x, y) gantry__power_u32((U)(x), (U)(y))
#endif

/* the bits of x in C's size */
#if GANTRY_T_IS(i64) || GANTRY_T_IS(u64)
#define GANTRY_UNSIGNED(x) ((ulong)(x))
#define GANTRY_BIT_COUNT(x) gantry__bit_count_u64(GANTRY_UNSIGNED(x))
#define GANTRY_LEADING_ZEROS(x) gantry__leading_zeros_u64(GANTRY_UNSIGNED(x))
#else
#define GANTRY_UNSIGNED(x) ((uint)(x) & (0xffffffffu >> (32 - 8 * sizeof(C))))
#define GANTRY_BIT_COUNT(x) gantry__bit_count_u32(GANTRY_UNSIGNED(x))
#define GANTRY_LEADING_ZEROS(x) \
    (gantry__leading_zeros_u32(GANTRY_UNSIGNED(x)) - (32 - 8 * (uint)sizeof(C)))
#endif

/* of ops that never fail: a quotient or a remainder, which is 0 for a zero divisor */
#define GANTRY_OR_ONES(quotient, y) ((U)(quotient) | -(U)((y) == 0))
#define GANTRY_OR_FIRST(rest, x, y) ((U)(rest) | ((U)(x) & -(U)((y) == 0)))

/* x / y for a y at which no machine traps. CPUs divide vectors of doubles, but integers one by one.
 * For 32 bits the quotient of the doubles is on the same side of every integer as the exact one, so
 * it truncates to x / y, too. */
#if (GANTRY_T_IS(i32) || GANTRY_T_IS(u32)) && GANTRY_HAS_FLOAT64 && \
    (!defined(GANTRY_SERIAL) || GANTRY_SERIAL)
#define GANTRY_QUOTIENT(x, y) ((C)((double)(x) / (double)(y)))
#else
#define GANTRY_QUOTIENT(x, y) ((C)((x) / (y)))
#endif

/* Without a quotient these give 0, and the zero divisor is reported by the op's check. The least
 * integer divided by -1 is itself, because multiplication wraps. A negative shift is one by 0 bits;
 * a shift by all bits or more is one by all but one. */
#if GANTRY_T_IS_SIGNED
#define GANTRY_IS_NEGATIVE(x) ((x) < 0)
#define GANTRY_ABSOLUTE(x) ((x) < 0 ? (C)(-(U)(x)) : (x))
/* a divisor at which no machine traps */
#define GANTRY_DIVISOR(y) ((((y) == 0) | ((y) == -1)) ? (C)1 : (C)(y))
#define GANTRY_DIVIDE(x, y) \
    ((C)((U)GANTRY_QUOTIENT(x, GANTRY_DIVISOR(y)) * (U)(((y) != 0) - 2 * ((y) == -1))))
#define GANTRY_REMAINDER(x, y) ((C)((x)-GANTRY_QUOTIENT(x, GANTRY_DIVISOR(y)) * GANTRY_DIVISOR(y)))
#define GANTRY_IS_OF_FLOOR(x, y) ((GANTRY_REMAINDER(x, y) != 0) & (((x) < 0) != ((y) < 0)))
#define GANTRY_FLOOR_DIVIDE(x, y) (GANTRY_DIVIDE(x, y) - GANTRY_IS_OF_FLOOR(x, y))
#define GANTRY_FLOOR_REMAINDER(x, y) (GANTRY_REMAINDER(x, y) + ((y) & -(C)GANTRY_IS_OF_FLOOR(x, y)))
#define GANTRY_SHIFT(y) (int)((y) < 0 ? 0 : (y) < (C)(8 * sizeof(C)) ? (y) : (C)(8 * sizeof(C) - 1))
#define GANTRY_SHIFTS(y) (((y) >= 0) & ((y) < (C)(8 * sizeof(C))))
#define GANTRY_SHIFT_DOWN(x, y) ((x) >> (GANTRY_SHIFTS(y) ? (int)(y) : (int)(8 * sizeof(C) - 1)))
#define GANTRY_POWER_DEFINED(x, y)                       \
    ((y) >= 0    ? GANTRY_POWER(x, (y) < 0 ? (C)0 : (y)) \
        : (x) == 1 ? (U)1                                \
     : (x) == -1 ? ((y)&1 ? -(U)1 : (U)1)                \
                 : (U)0)
#define GANTRY_CHECK_NEGATIVE_EXPONENT(y) ((y) < 0)
#else
#define GANTRY_IS_NEGATIVE(x) 0
#define GANTRY_ABSOLUTE(x) (x)
#define GANTRY_DIVISOR(y) ((y) == 0 ? (C)1 : (C)(y))
#define GANTRY_DIVIDE(x, y) ((C)(GANTRY_QUOTIENT(x, GANTRY_DIVISOR(y)) * ((y) != 0)))
#define GANTRY_REMAINDER(x, y) ((C)((x)-GANTRY_QUOTIENT(x, GANTRY_DIVISOR(y)) * GANTRY_DIVISOR(y)))
#define GANTRY_FLOOR_DIVIDE(x, y) GANTRY_DIVIDE(x, y)
#define GANTRY_FLOOR_REMAINDER(x, y) GANTRY_REMAINDER(x, y)
#define GANTRY_SHIFT(y) (int)((y) < (C)(8 * sizeof(C)) ? (y) : (C)(8 * sizeof(C) - 1))
#define GANTRY_SHIFTS(y) ((y) < (C)(8 * sizeof(C)))
#define GANTRY_SHIFT_DOWN(x, y) (GANTRY_SHIFTS(y) ? (x) >> GANTRY_SHIFT(y) : (C)0)
#define GANTRY_POWER_DEFINED(x, y) GANTRY_POWER(x, y)
#define GANTRY_CHECK_NEGATIVE_EXPONENT(y) 0
#endif

#endif

#define GANTRY_RESULT_SAME T
#define GANTRY_RESULT_BOOL uchar
#define GANTRY_RESULT_BYTE uchar
