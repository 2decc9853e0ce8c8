/* The words of elementwise.def's expressions for the type T, whose number is GANTRY_T_ID; C is what T is computed in.
 * Macros only, and no guard: the C loops include this once per type, a device program holds it once, after types.cl and
 * the math texts. */
#undef GANTRY_RESULT_SAME
#undef GANTRY_RESULT_BOOL
#undef GANTRY_MATH
#undef GANTRY_IS_NAN
#undef GANTRY_IS_NEGATIVE
#undef GANTRY_ABSOLUTE
#undef GANTRY_DIVIDE
#undef GANTRY_CHECK_NEVER
#undef GANTRY_CHECK_ZERO_DIVISOR

#define GANTRY_CHECK_NEVER(y) 0

#if GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF

#if GANTRY_T_ID == 2
#define GANTRY_MATH(name) gantry_##name##_f64
#define GANTRY_ABSOLUTE(x) GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff)
#else
#define GANTRY_MATH(name) gantry_##name##_f32
#define GANTRY_ABSOLUTE(x) GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu)
#endif
#define GANTRY_IS_NAN(x) ((x) != (x))
#define GANTRY_IS_NEGATIVE(x) ((x) < (C)0)
#define GANTRY_DIVIDE(x, y) ((x) / (y))
#define GANTRY_CHECK_ZERO_DIVISOR(y) 0

#else

#define GANTRY_IS_NAN(x) 0
#define GANTRY_CHECK_ZERO_DIVISOR(y) ((y) == 0)

/* A zero divisor gives 0 and is reported apart. The least integer divided by -1 is itself, as multiplication wraps. */
#if GANTRY_T_IS_SIGNED
#define GANTRY_IS_NEGATIVE(x) ((x) < 0)
#define GANTRY_ABSOLUTE(x) ((x) < 0 ? (C)(-(U)(x)) : (x))
#define GANTRY_DIVIDE(x, y) ((y) == 0 ? (C)0 : (y) == -1 ? (C)(-(U)(x)) : (C)((x) / (y)))
#else
#define GANTRY_IS_NEGATIVE(x) 0
#define GANTRY_ABSOLUTE(x) (x)
#define GANTRY_DIVIDE(x, y) ((y) == 0 ? (C)0 : (C)((x) / (y)))
#endif

#endif

#define GANTRY_RESULT_SAME T
#define GANTRY_RESULT_BOOL uchar
