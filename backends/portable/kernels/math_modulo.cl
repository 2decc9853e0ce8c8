/* The remainder of a float division, of the sign of x (fmod) or of y (floor_mod): exact but for floor_mod's sum. Comes
 * after dialect.cl and, where there is float64, math_float64_library.cl. Functions of scalars.
 * A program has float64's where that is its type.
 *
 * x = m 2^e and y = n 2^f with 24-bit integers m and n: the remainder is (m 2^(e - f) mod n) 2^f, and the power comes
 * in steps of 40 bits, which 64 have room for, the remainder taken after each: at most seven of them. */
#define GANTRY_FLOOR_MOD(T_, suffix)                                                  \
    GANTRY_FN T_ gantry_floor_mod_##suffix(T_ x, T_ y)                                \
    {                                                                                 \
        const T_ r = gantry_fmod_##suffix(x, y);                                      \
        return ((r != (T_)0) & ((r < (T_)0) != (y < (T_)0))) ? r + y : r;             \
    }

/* A power of two of the exponent field, 1 for denormals too: the value of a last place. */
GANTRY_FN float gantry__last_place_f32(int exponent)
{
    return GANTRY_AS_FLOAT(exponent > 23 ? (uint)(exponent - 23) << 23 : 1u << (exponent - 1));
}

GANTRY_FN float gantry_fmod_f32(float x, float y)
{
    const uint a = GANTRY_AS_UINT(x) & 0x7fffffffu;
    const uint b = GANTRY_AS_UINT(y) & 0x7fffffffu;
    const int x_exponent = a >> 23 ? (int)(a >> 23) : 1;
    const int y_exponent = b >> 23 ? (int)(b >> 23) : 1;
    const ulong divisor = (ulong)((b & 0x7fffffu) | (b >> 23 ? 0x800000u : 0u));
    ulong rest = (ulong)((a & 0x7fffffu) | (a >> 23 ? 0x800000u : 0u));
    float result;

    if ((a >= 0x7f800000u) | (b > 0x7f800000u) | (b == 0)) {
        return GANTRY_AS_FLOAT(0x7fc00000u);
    }
    if (a < b) {
        return x;
    }
    rest %= divisor;
    for (int left = x_exponent - y_exponent; left > 0; left -= 40) {
        rest = (rest << (left < 40 ? left : 40)) % divisor;
    }
    result = (float)rest * gantry__last_place_f32(y_exponent);
    return GANTRY_AS_FLOAT(GANTRY_AS_UINT(result) | (GANTRY_AS_UINT(x) & 0x80000000u));
}

GANTRY_FLOOR_MOD(float, f32)

#if GANTRY_HAS_FLOAT64 && (!defined(GANTRY_T_ID) || GANTRY_T_ID == 2)
GANTRY_FLOOR_MOD(double, f64)
#endif
