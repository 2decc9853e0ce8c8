/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of float64 that are the language's own: the C library's, OpenCL's or CUDA's. It must
 * come after dialect.cl and is empty if GANTRY_HAS_FLOAT64 is 0. Sine and cosine are in
 * math_float64_trig.cl, erf in math_erf.cl.
 *
 * Unlike those of math_float64.cl, their last bits differ between devices. OpenCL's allow 16 ulp
 * for pow, 6 for atan2, 5 for tan, asinh, acosh, atanh and the inverses, 4 for the others, gives no
 * bound for lgamma, and wants fmod exact. A NaN result is always 0x7ff8000000000000.
 *
 * Those of two arguments exist only without GANTRY_MATH_LANES, because PoCL 3.1's pow of vectors
 * gives infinity for powers of denormals that are 0, and its fmod of vectors does not end for
 * distant arguments.
 */
#if GANTRY_HAS_FLOAT64

/* x, with one NaN for every NaN. It is selected as bits, because a compiler may replace one NaN by
 * another and drop the select. */
GANTRY_FN GANTRY_F64 gantry__canonical_f64(GANTRY_F64 x) {
    GANTRY_U64 bits = GANTRY_AS_ULONG(x);

    bits = (bits & (ulong)0x7fffffffffffffff) > (ulong)0x7ff0000000000000
               ? (ulong)0x7ff8000000000000
               : bits;
    return GANTRY_AS_DOUBLE(bits);
}

#define GANTRY_LIBRARY_1(name)                                \
    GANTRY_FN GANTRY_F64 gantry__##name##_f64(GANTRY_F64 x) { \
        return gantry__canonical_f64(name(x));                \
    }
#define GANTRY_LIBRARY_2(name)                                              \
    GANTRY_FN GANTRY_F64 gantry__##name##_f64(GANTRY_F64 x, GANTRY_F64 y) { \
        return gantry__canonical_f64(name(x, y));                           \
    }

GANTRY_LIBRARY_1(tan)
GANTRY_LIBRARY_1(asin)
GANTRY_LIBRARY_1(acos)
GANTRY_LIBRARY_1(atan)
GANTRY_LIBRARY_1(sinh)
GANTRY_LIBRARY_1(cosh)
GANTRY_LIBRARY_1(asinh)
GANTRY_LIBRARY_1(acosh)
GANTRY_LIBRARY_1(atanh)
GANTRY_LIBRARY_1(erfc)
GANTRY_LIBRARY_1(expm1)
GANTRY_LIBRARY_1(log1p)
GANTRY_FN GANTRY_F64 gantry__lgamma_f64(GANTRY_F64 x) {
    return gantry__canonical_f64(GANTRY_LGAMMA_F64(x));
}
#if !defined(GANTRY_MATH_LANES)
GANTRY_LIBRARY_2(atan2)
GANTRY_LIBRARY_2(pow)
GANTRY_LIBRARY_2(fmod)
#endif

#undef GANTRY_LIBRARY_1
#undef GANTRY_LIBRARY_2

#endif
