/* SPDX-License-Identifier: Apache-2.0 */
/* float16 and bfloat16, stored as ushort: conversions from and to float32 by operations on bits, so
 * that every machine gives the same ones. It must come after dialect.cl; C loops and device text
 * share it. It selects instead of branching, as convert.cl does.
 *
 *   float16    s eeeee mmmmmmmmmm      a float32 with 3 bits less of exponent, 13 less of fraction
 *   bfloat16   s eeeeeeee mmmmmmm      the upper half of a float32
 *
 * Towards float32 all values are exact. Towards a half the result is the nearest; of two equally
 * near the even one. A value that is too large becomes infinity, and any NaN the one positive quiet
 * NaN. Denormals are kept on both sides. A NaN is recognised by x != x: if its bits are compared,
 * LLVM 18 loses the rest of a float that was rounded to an integer before (PoCL 6). */

/* The bits that Truncate clears before a float is rounded to a half, because a normal half has no
 * room for them. */
#define GANTRY_F16_DROPS_OF_F32 13
#define GANTRY_F16_DROPS_OF_F64 42
#define GANTRY_BF16_DROPS_OF_F32 16

#if !defined(GANTRY_MATH_LANES) /* these are functions of scalars */

/* The biases of the exponents differ by 112. A denormal with fraction f is 2^-14 (1 + f) - 2^-14,
 * which float32 computes exactly. */
GANTRY_FN float gantry__f16_to_f32(ushort half_bits) {
    const uint magnitude = ((uint)half_bits & 0x7fffu) << 13;
    const uint normal = magnitude + (112u << 23);
    const uint denormal =
        GANTRY_AS_UINT(GANTRY_AS_FLOAT(magnitude + (113u << 23)) - GANTRY_AS_FLOAT(113u << 23));
    const uint special = (magnitude | 0x7f800000u) | (magnitude > (31u << 23) ? 0x00400000u : 0u);
    const uint finite = magnitude < (1u << 23) ? denormal : normal;

    return GANTRY_AS_FLOAT((magnitude >= (31u << 23) ? special : finite) |
                           ((uint)half_bits & 0x8000u) << 16);
}

/* An addition below its last bit rounds a normal result, and carries into the exponent where it
 * must. The addition of 0.5 rounds a denormal one, whose bits are then at the end of the sum's
 * fraction, because one unit there is 2^-24. */
GANTRY_FN ushort gantry__f32_to_f16(float x) {
    const uint bits = GANTRY_AS_UINT(x);
    const uint magnitude = bits & 0x7fffffffu;
    const uint normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    const uint denormal = GANTRY_AS_UINT(GANTRY_AS_FLOAT(magnitude) + 0.5f) - (126u << 23);
    const uint finite = magnitude < (113u << 23) ? denormal : normal;
    const uint special = x != x ? 0x7e00u : 0x7c00u | (bits >> 16 & 0x8000u);

    /* From 65520 on, halfway between the largest float16 and 65536, normal is infinity or more. */
    return (ushort)(magnitude >= 0x477ff000u ? special : finite | (bits >> 16 & 0x8000u));
}

/* For a single float16, outside of vector code: the processor's instruction, where there is one. */
#if defined(__F16C__) && !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
GANTRY_FN float gantry__lone_f16_to_f32(ushort bits) { return _cvtsh_ss(bits); }

GANTRY_FN ushort gantry__lone_f32_to_f16(float x) {
    return x != x ? (ushort)0x7e00u : _cvtss_sh(x, 0); /* 0: rounds to the nearest */
}
#else
#define gantry__lone_f16_to_f32 gantry__f16_to_f32
#define gantry__lone_f32_to_f16 gantry__f32_to_f16
#endif

GANTRY_FN float gantry__bf16_to_f32(ushort bits) { return GANTRY_AS_FLOAT((uint)bits << 16); }

GANTRY_FN ushort gantry__f32_to_bf16(float x) {
    const uint bits = GANTRY_AS_UINT(x);
    const uint rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;

    return (ushort)(x != x ? 0x7fc0u : rounded);
}

/* Returns x with its lowest `count` bits cleared; a NaN is unchanged. The test is not x == x,
 * because gcc 12 removes that here with -Os. */
GANTRY_FN float gantry__f32_without_bits(float x, int count) {
    const uint bits = GANTRY_AS_UINT(x);

    return (bits & 0x7fffffffu) > 0x7f800000u ? x : GANTRY_AS_FLOAT(bits >> count << count);
}

#if GANTRY_HAS_FLOAT64
GANTRY_FN double gantry__f64_without_bits(double x, int count) {
    const ulong bits = GANTRY_AS_ULONG(x);

    return (bits & (ulong)0x7fffffffffffffff) > (ulong)0x7ff0000000000000
               ? x
               : GANTRY_AS_DOUBLE(bits >> count << count);
}
#endif

#endif
