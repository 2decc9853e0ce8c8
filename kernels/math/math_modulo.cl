/* SPDX-License-Identifier: Apache-2.0 */
/* The remainder of a float division, of the sign of x (fmod) or of y (floor_mod): exact but for
 * floor_mod's sum. It comes after dialect.cl and, if there is float64, math_float64_library.cl.
 * Those of float32 are functions of lanes. A program has float64's where that is its type.
 *
 * Near, |x| up to 2^21 |y|: with the integer n nearest to the quotient, x - n y is exact, and so is
 * each of the steps towards it when n and y are cut in two of 12 bits each.
 * Far: x = m 2^e and y = n 2^f with 24-bit integers m and n: the remainder is (m 2^(e - f) mod n)
 * 2^f, and the power comes in steps of 40 bits, which 64 have room for, the remainder taken
 * after each: at most seven of them. */
#define GANTRY_FLOOR_MOD(T_, suffix)                                                  \
    GANTRY_FN T_ gantry__floor_mod_##suffix(T_ x, T_ y) {                             \
        const T_ r = gantry__fmod_##suffix(x, y);                                     \
        const T_ sum = r + y;                                                         \
                                                                                      \
        return (((r < (T_)0) & (y > (T_)0)) | ((r > (T_)0) & (y < (T_)0))) ? sum : r; \
    }

#if defined(GANTRY_MATH_LANES)
#define GANTRY_BITS_OF_SCALAR(x) as_uint(x)
#define GANTRY_SCALAR_OF_BITS(bits) as_float(bits)
#else
#define GANTRY_BITS_OF_SCALAR(x) GANTRY_AS_UINT(x)
#define GANTRY_SCALAR_OF_BITS(bits) GANTRY_AS_FLOAT(bits)
#endif

/* A power of two of the exponent field, where denormals have 1, too: the value of a last place. */
GANTRY_FN float gantry__last_place_f32(int exponent) {
    return GANTRY_SCALAR_OF_BITS(exponent > 23 ? (uint)(exponent - 23) << 23
                                               : 1u << (exponent - 1));
}

GANTRY_FN float gantry__fmod_far_f32(float x, float y) {
    const uint a = GANTRY_BITS_OF_SCALAR(x) & 0x7fffffffu;
    const uint b = GANTRY_BITS_OF_SCALAR(y) & 0x7fffffffu;
    const int x_exponent = a >> 23 ? (int)(a >> 23) : 1;
    const int y_exponent = b >> 23 ? (int)(b >> 23) : 1;
    const ulong divisor = (ulong)((b & 0x7fffffu) | (b >> 23 ? 0x800000u : 0u));
    ulong rest = (ulong)((a & 0x7fffffu) | (a >> 23 ? 0x800000u : 0u));
    float result;

    if ((a >= 0x7f800000u) | (b > 0x7f800000u) | (b == 0)) {
        return GANTRY_SCALAR_OF_BITS(0x7fc00000u);
    }
    if (a < b) {
        return x;
    }
    rest %= divisor;
    for (int left = x_exponent - y_exponent; left > 0; left -= 40) {
        rest = (rest << (left < 40 ? left : 40)) % divisor;
    }
    result = (float)rest * gantry__last_place_f32(y_exponent);
    return GANTRY_SCALAR_OF_BITS(GANTRY_BITS_OF_SCALAR(result) |
                                 (GANTRY_BITS_OF_SCALAR(x) & 0x80000000u));
}

#define GANTRY_MODULO_NEAR_F32 2097152.0f

/* Whether this quotient, or a zero divisor, is out of reach of gantry__fmod_near_f32. */
#define GANTRY_FMOD_IS_FAR_F32(a, b) ((a) > (b)*GANTRY_MODULO_NEAR_F32)

GANTRY_FN GANTRY_F32 gantry__fmod_near_f32(GANTRY_F32 x, GANTRY_F32 y) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 b = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) & 0x7fffffffu);
    /* Nothing may overflow. */
    GANTRY_F32 scale = b > 1.26765060e30f ? 9.31322575e-10f : 1.0f;
    GANTRY_F32 unscale = b > 1.26765060e30f ? 1073741824.0f : 1.0f;
    GANTRY_F32 m = a * scale;
    GANTRY_F32 d = b * scale;
    GANTRY_F32 n = (m / d + 8388608.0f) - 8388608.0f;
    GANTRY_F32 n_upper = GANTRY_AS_FLOAT(GANTRY_AS_UINT(n) & 0xfffff000u);
    GANTRY_F32 d_upper = GANTRY_AS_FLOAT(GANTRY_AS_UINT(d) & 0xfffff000u);
    GANTRY_F32 n_rest = n - n_upper;
    GANTRY_F32 d_rest = d - d_upper;
    GANTRY_F32 r =
        (((m - n_upper * d_upper) - n_upper * d_rest) - n_rest * d_upper) - n_rest * d_rest;
    GANTRY_F32 above = r + d;
    GANTRY_F32 z = r < 0.0f ? above : r;

    z = GANTRY_AS_FLOAT(GANTRY_AS_UINT(z * unscale) | sign);
    z = a < b ? x : z;
    return ((a <= 3.40282347e38f) & (b > 0.0f)) ? z : GANTRY_AS_FLOAT(0x7fc00000u);
}

#if defined(GANTRY_MATH_LANES)
GANTRY_FN GANTRY_F32 gantry__fmod_f32(GANTRY_F32 x, GANTRY_F32 y) {
    GANTRY_F32 z = gantry__fmod_near_f32(x, y);

    if (GANTRY_ANY_LANE(GANTRY_FMOD_IS_FAR_F32(fabs(x), fabs(y)))) {
        for (int e = 0; e < GANTRY_MATH_LANES; ++e) {
            ((float *)&z)[e] = gantry__fmod_far_f32(((const float *)&x)[e], ((const float *)&y)[e]);
        }
    }
    return z;
}
#else
GANTRY_FN float gantry__fmod_f32(float x, float y) {
    const float a = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    const float b = GANTRY_AS_FLOAT(GANTRY_AS_UINT(y) & 0x7fffffffu);

    return GANTRY_FMOD_IS_FAR_F32(a, b) ? gantry__fmod_far_f32(x, y) : gantry__fmod_near_f32(x, y);
}
#endif

GANTRY_FLOOR_MOD(GANTRY_F32, f32)
GANTRY_FLOOR_MOD(GANTRY_F32, near_f32)

/* A device's program for another type omits the functions of float64. */
#if defined(GANTRY_T)
#define GANTRY_MODULO_HAS_F64 GANTRY_T_IS(f64)
#else
#define GANTRY_MODULO_HAS_F64 1
#endif
#if GANTRY_HAS_FLOAT64 && GANTRY_MODULO_HAS_F64
GANTRY_FLOOR_MOD(double, f64)
#endif
