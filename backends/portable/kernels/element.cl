/* The words of elementwise.def's expressions for the type T, whose number is GANTRY_T_ID. Macros only, and no guard:
 * the C loops include this once per type, a device program holds it once, after types.cl and the math texts. */
#undef GANTRY_RESULT_SAME
#undef GANTRY_RESULT_BOOL
#undef GANTRY_MATH
#undef GANTRY_IS_NAN
#undef GANTRY_ABSOLUTE
#undef GANTRY_DIVIDE
#undef GANTRY_CHECK_NEVER
#undef GANTRY_CHECK_ZERO_DIVISOR

#if GANTRY_T_ID == 1
#define GANTRY_MATH(name) gantry_##name##_f32
#define GANTRY_ABSOLUTE(x) GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu)
#elif GANTRY_T_ID == 2
#define GANTRY_MATH(name) gantry_##name##_f64
#define GANTRY_ABSOLUTE(x) GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff)
#else
#define GANTRY_ABSOLUTE(x) ((x) < 0 ? (T)(-(U)(x)) : (x))
#endif

#if GANTRY_T_ID == 1 || GANTRY_T_ID == 2
#define GANTRY_IS_NAN(x) ((x) != (x))
#define GANTRY_DIVIDE(x, y) ((x) / (y))
#define GANTRY_CHECK_ZERO_DIVISOR(y) 0
#else
#define GANTRY_IS_NAN(x) 0
/* The least integer divided by -1 is itself, as multiplication wraps; a zero divisor gives 0 and is reported apart. */
#define GANTRY_DIVIDE(x, y) ((y) == 0 ? (T)0 : (y) == -1 ? (T)(-(U)(x)) : (T)((x) / (y)))
#define GANTRY_CHECK_ZERO_DIVISOR(y) ((y) == 0)
#endif
#define GANTRY_CHECK_NEVER(y) 0

#define GANTRY_RESULT_SAME T
#define GANTRY_RESULT_BOOL uchar
