/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cube root, with the same bits on every device. Comes after dialect.cl.
 *
 * Only IEEE operations, no table, no branch; a NaN result is always 0x7fc00000 and
 * 0x7ff8000000000000. |x| is first multiplied by a power of 8 if it is small or large, so that
 * nothing is denormal or overflows.
 *
 * The bits of a float are nearly its logarithm: a third of them, plus a constant, is the cube root
 * to 3 %. A step of Halley, t (t^3 + 2 x) / (2 t^3 + x), triples the digits that are right. t is
 * then cut to so few bits that t^3 is exact, and so is x - t^3. With u = (x - t^3) / t^3 the root
 * is t (1 + u)^(1/3) = t + t (u/3 - u^2/9 + 5 u^3/81), whose second term is 2^-9 (2^-18) of the
 * first, and so adds little to its rounding.
 *
 * Largest error, in units of the exact result's last place: float32 0.5102 at 1.2453289e-38, of all
 * inputs; float64 0.5001 of 20 million random ones.
 */
GANTRY_FN GANTRY_F32 gantry__cbrt_step_f32(GANTRY_F32 a, GANTRY_F32 t) {
    GANTRY_F32 cube = t * t * t;

    return t * ((cube + 2.0f * a) / (2.0f * cube + a));
}

GANTRY_FN GANTRY_F32 gantry__cbrt_f32(GANTRY_F32 x) {
    GANTRY_U32 sign = GANTRY_AS_UINT(x) & 0x80000000u;
    GANTRY_F32 size = GANTRY_AS_FLOAT(GANTRY_AS_UINT(x) & 0x7fffffffu);
    GANTRY_F32 down = size > 7.92281625e28f ? (GANTRY_F32)(1.26217745e-29f) : (GANTRY_F32)(1.0f);
    GANTRY_F32 scale = size < 7.88860905e-31f ? (GANTRY_F32)(7.92281625e28f) : down;
    GANTRY_F32 up = size > 7.92281625e28f ? (GANTRY_F32)(4294967296.0f) : (GANTRY_F32)(1.0f);
    GANTRY_F32 unscale = size < 7.88860905e-31f ? (GANTRY_F32)(2.32830644e-10f) : up;
    GANTRY_F32 a = size * scale;
    GANTRY_F32 start =
        GANTRY_AS_FLOAT(GANTRY_MUL_HIGH_U32(GANTRY_AS_UINT(a), 0x55555556u) + 0x2a5119f2u);
    GANTRY_F32 near = gantry__cbrt_step_f32(a, start);
    GANTRY_F32 t = GANTRY_AS_FLOAT((GANTRY_AS_UINT(near) + 0x8000u) & 0xffff0000u);
    GANTRY_F32 cube = t * t * t;
    GANTRY_F32 u = (a - cube) / cube;
    GANTRY_F32 terms = ((6.17283955e-2f * u - 1.11111112e-1f) * u + 3.33333343e-1f) * u;
    GANTRY_F32 root = (t + t * terms) * unscale;
    GANTRY_F32 signed_root = GANTRY_AS_FLOAT(GANTRY_AS_UINT(root) | sign);
    GANTRY_F32 same = x == x ? x : GANTRY_AS_FLOAT(0x7fc00000u);

    return ((size > 0.0f) & (size < GANTRY_AS_FLOAT(0x7f800000u))) ? signed_root : same;
}

#if GANTRY_HAS_FLOAT64
GANTRY_FN GANTRY_F64 gantry__cbrt_step_f64(GANTRY_F64 a, GANTRY_F64 t) {
    GANTRY_F64 cube = t * t * t;

    return t * ((cube + 2.0 * a) / (2.0 * cube + a));
}

GANTRY_FN GANTRY_F64 gantry__cbrt_f64(GANTRY_F64 x) {
    GANTRY_U64 sign = GANTRY_AS_ULONG(x) & (ulong)0x8000000000000000;
    GANTRY_F64 size = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(x) & (ulong)0x7fffffffffffffff);
    GANTRY_F64 down =
        size > 8.4527121981684446e270 ? (GANTRY_F64)(4.9090934652977266e-91) : (GANTRY_F64)(1.0);
    GANTRY_F64 scale = size < 1.1830521861667747e-271 ? (GANTRY_F64)(2.0370359763344861e90) : down;
    GANTRY_F64 up =
        size > 8.4527121981684446e270 ? (GANTRY_F64)(1.2676506002282294e30) : (GANTRY_F64)(1.0);
    GANTRY_F64 unscale = size < 1.1830521861667747e-271 ? (GANTRY_F64)(7.8886090522101181e-31) : up;
    GANTRY_F64 a = size * scale;
    GANTRY_U64 third = ((GANTRY_AS_ULONG(a) >> 32) * (ulong)0x55555556) >> 32;
    GANTRY_F64 start = GANTRY_AS_DOUBLE((third + (ulong)0x2a9f7893) << 32);
    GANTRY_F64 near = gantry__cbrt_step_f64(a, gantry__cbrt_step_f64(a, start));
    GANTRY_F64 t =
        GANTRY_AS_DOUBLE((GANTRY_AS_ULONG(near) + (ulong)0x800000000) & (ulong)0xfffffff000000000);
    GANTRY_F64 cube = t * t * t;
    GANTRY_F64 u = (a - cube) / cube;
    GANTRY_F64 terms =
        ((6.1728395061728392e-2 * u - 1.1111111111111110e-1) * u + 3.3333333333333331e-1) * u;
    GANTRY_F64 root = (t + t * terms) * unscale;
    GANTRY_F64 signed_root = GANTRY_AS_DOUBLE(GANTRY_AS_ULONG(root) | sign);
    GANTRY_F64 same = x == x ? x : GANTRY_AS_DOUBLE((ulong)0x7ff8000000000000);

    return ((size > 0.0) & (size < GANTRY_AS_DOUBLE((ulong)0x7ff0000000000000))) ? signed_root
                                                                                 : same;
}
#endif
