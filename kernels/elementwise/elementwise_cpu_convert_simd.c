/* SPDX-License-Identifier: Apache-2.0 */
/* Loops from one element type to another, and Range's, for one instruction set (see cpu_simd.h). */
#include "kernels/elementwise/elementwise_cpu.h"

#include "kernels/common/dialect.cl"

#include "kernels/elementwise/convert.cl"

#include "kernels/common/half.cl"

#define RANGE(type, T, U)                                                                    \
    static void range_##type(const void *start, const void *delta, int64_t begin, void *out, \
                             int64_t count) {                                                \
        const U first = (U)((const T *)start)[0];                                            \
        const U step = (U)((const T *)delta)[0];                                             \
        GANTRY_INDEPENDENT                                                                   \
        for (int64_t i = 0; i < count; ++i) {                                                \
            ((T *)out)[i] = (T)(first + (U)(begin + i) * step);                              \
        }                                                                                    \
    }

RANGE(f32, float, float)
RANGE(f64, double, double)
RANGE(i32, int32_t, uint32_t)
RANGE(i64, int64_t, uint64_t)
RANGE(i8, int8_t, uint32_t)
RANGE(i16, int16_t, uint32_t)
RANGE(u8, uint8_t, uint32_t)
RANGE(u16, uint16_t, uint32_t)
RANGE(u32, uint32_t, uint32_t)
RANGE(u64, uint64_t, uint64_t)

#define RANGE_HALF(type)                                                                     \
    static void range_##type(const void *start, const void *delta, int64_t begin, void *out, \
                             int64_t count) {                                                \
        const float first = gantry__##type##_to_f32(((const uint16_t *)start)[0]);           \
        const float step = gantry__##type##_to_f32(((const uint16_t *)delta)[0]);            \
        GANTRY_INDEPENDENT                                                                   \
        for (int64_t i = 0; i < count; ++i) {                                                \
            ((uint16_t *)out)[i] = gantry__f32_to_##type(first + (float)(begin + i) * step); \
        }                                                                                    \
    }

RANGE_HALF(f16)
RANGE_HALF(bf16)

#define RANGE_COLUMN(type) [GANTRY_CPU_COLUMN_##type] = range_##type,
void GANTRY_CPU_NAME(range_loop)(uint32_t column, const void *start, const void *delta,
                                 int64_t begin, void *out, int64_t count) {
    static void (*const loops[GANTRY_CPU_ALL_TYPES])(const void *, const void *, int64_t, void *,
                                                     int64_t) = {GANTRY_NUMERIC(RANGE_COLUMN)};

    loops[column](start, delta, begin, out, count);
}

/* ---- conversion between types: every pair ---- */

#define CONVERT(from, S, to, D, expression)                                         \
    static int32_t convert_##from##_##to(const void *xs, const void *ys, void *out, \
                                         int64_t count) {                           \
        (void)ys;                                                                   \
        GANTRY_INDEPENDENT                                                          \
        for (int64_t i = 0; i < count; ++i) {                                       \
            const S x = ((const S *)xs)[i];                                         \
            ((D *)out)[i] = (D)(expression);                                        \
        }                                                                           \
        return 0;                                                                   \
    }

CONVERT(f32, uint32_t, f32, uint32_t, x)
CONVERT(f32, float, f64, double, x)
CONVERT(f32, float, i32, int32_t, gantry__f32_to_i32(x))
CONVERT(f32, float, i64, int64_t, gantry__f32_to_i64(x))
CONVERT(f32, float, b8, uint8_t, x != 0.0f)
CONVERT(f64, double, f32, float, x)
CONVERT(f64, uint64_t, f64, uint64_t, x)
CONVERT(f64, double, i32, int32_t, gantry__f64_to_i32(x))
CONVERT(f64, double, i64, int64_t, gantry__f64_to_i64(x))
CONVERT(f64, double, b8, uint8_t, x != 0.0)
CONVERT(i32, int32_t, f32, float, x)
CONVERT(i32, int32_t, f64, double, x)
CONVERT(i32, int32_t, i32, int32_t, x)
CONVERT(i32, int32_t, i64, int64_t, x)
CONVERT(i32, int32_t, b8, uint8_t, x != 0)
CONVERT(i64, int64_t, f32, float, x)
CONVERT(i64, int64_t, f64, double, x)
CONVERT(i64, int64_t, i32, int32_t, x)
CONVERT(i64, int64_t, i64, int64_t, x)
CONVERT(i64, int64_t, b8, uint8_t, x != 0)
CONVERT(b8, uint8_t, f32, float, x)
CONVERT(b8, uint8_t, f64, double, x)
CONVERT(b8, uint8_t, i32, int32_t, x)
CONVERT(b8, uint8_t, i64, int64_t, x)
CONVERT(b8, uint8_t, b8, uint8_t, x)

CONVERT(f64, double, f32_truncated, float, gantry__f64_to_f32_truncated(x))

/* A half goes through float32 both ways, as in TensorFlow. */
#define CONVERT_HALF(half)                                                                \
    CONVERT(half, uint16_t, f32, float, gantry__##half##_to_f32(x))                       \
    CONVERT(half, uint16_t, f64, double, gantry__##half##_to_f32(x))                      \
    CONVERT(half, uint16_t, i32, int32_t, gantry__f32_to_i32(gantry__##half##_to_f32(x))) \
    CONVERT(half, uint16_t, i64, int64_t, gantry__f32_to_i64(gantry__##half##_to_f32(x))) \
    CONVERT(half, uint16_t, b8, uint8_t, (x & 0x7fff) != 0)                               \
    CONVERT(half, uint16_t, half, uint16_t, x)                                            \
    CONVERT(f32, float, half, uint16_t, gantry__f32_to_##half(x))                         \
    CONVERT(f64, double, half, uint16_t, gantry__f32_to_##half((float)x))                 \
    CONVERT(i32, int32_t, half, uint16_t, gantry__f32_to_##half((float)x))                \
    CONVERT(i64, int64_t, half, uint16_t, gantry__f32_to_##half((float)x))                \
    CONVERT(b8, uint8_t, half, uint16_t, gantry__f32_to_##half((float)x))

CONVERT_HALF(f16)
CONVERT_HALF(bf16)
CONVERT(f16, uint16_t, bf16, uint16_t, gantry__f32_to_bf16(gantry__f16_to_f32(x)))
CONVERT(bf16, uint16_t, f16, uint16_t, gantry__f32_to_f16(gantry__bf16_to_f32(x)))

CONVERT(f32, float, f16_truncated, uint16_t,
        gantry__f32_to_f16(gantry__f32_without_bits(x, GANTRY_F16_DROPS_OF_F32)))
CONVERT(f64, double, f16_truncated, uint16_t,
        gantry__f32_to_f16((float)gantry__f64_without_bits(x, GANTRY_F16_DROPS_OF_F64)))
CONVERT(f32, float, bf16_truncated, uint16_t,
        gantry__f32_to_bf16(gantry__f32_without_bits(x, GANTRY_BF16_DROPS_OF_F32)))

/* The bounds are numbers that float32 has, so that cutting before is as good as after. */
static inline int32_t cut_to_byte(float x, float lowest, float highest) {
    const float y = x > lowest ? x : lowest;
    const int32_t r = (int32_t)(y < highest ? y : highest);
    return x == x ? r : 0;
}

/* The rarer integers convert to int64, and from its lowest bits (gantry__cpu_convert). */
#define CONVERT_RARE(type, S)         \
    CONVERT(type, S, i64, int64_t, x) \
    CONVERT(i64, int64_t, type, S, x)

/* Those of quantized values, at once: processors without AVX-512 have no vectors of float32 to
 * int64. */
CONVERT(f32, float, u8, uint8_t, cut_to_byte(x, 0, 255))
CONVERT(f32, float, i8, int8_t, cut_to_byte(x, -128, 127))

#define CONVERT_CLAMPED(type, S, NAME) \
    CONVERT(clamped, int64_t, type, S, \
            gantry__clamp_i64(x, GANTRY_LOWEST_##NAME, GANTRY_HIGHEST_##NAME))

CONVERT_RARE(i8, int8_t)
CONVERT_RARE(i16, int16_t)
CONVERT_RARE(u8, uint8_t)
CONVERT_RARE(u16, uint16_t)
CONVERT_RARE(u32, uint32_t)
CONVERT_RARE(u64, uint64_t)
CONVERT_CLAMPED(i8, int8_t, I8)
CONVERT_CLAMPED(i16, int16_t, I16)
CONVERT_CLAMPED(u8, uint8_t, U8)
CONVERT_CLAMPED(u16, uint16_t, U16)
CONVERT_CLAMPED(u32, uint32_t, U32)
/* Float8: every floating type, and int64; others go through float32 or int64. */
#define CONVERT_FLOAT8(type)                                                                       \
    CONVERT(type, uint8_t, f32, float, gantry__##type##_to_f32(x))                                 \
    CONVERT(type, uint8_t, i64, int64_t, gantry__f32_to_i64(gantry__##type##_to_f32(x)))           \
    CONVERT(type, uint8_t, type, uint8_t, x)                                                       \
    CONVERT(f32, float, type, uint8_t, gantry__f32_to_##type(x))                                   \
    CONVERT(f64, double, type, uint8_t, gantry__f32_to_##type(gantry__f64_to_f32_odd(x)))          \
    CONVERT(i64, int64_t, type, uint8_t, gantry__f32_to_##type((float)x))                          \
    CONVERT(f32, float, type##_truncated, uint8_t,                                                 \
            gantry__f32_to_##type(gantry__f32_without_bits(x, 23 - GANTRY_FRACTION_##type)))       \
    CONVERT(f64, double, type##_truncated, uint8_t,                                                \
            gantry__f32_to_##type(                                                                 \
                gantry__f64_to_f32_odd(gantry__f64_without_bits(x, 52 - GANTRY_FRACTION_##type)))) \
    CONVERT_NARROWER(f16, uint16_t, type)                                                          \
    CONVERT_NARROWER(bf16, uint16_t, type)

#define CONVERT_NARROWER(from, S, type)                \
    CONVERT(from, S, type##_truncated, uint8_t,        \
            gantry__f32_to_##type(GANTRY_WITHOUT_BITS( \
                gantry__##from##_to_f32, x, GANTRY_FRACTION_##from - GANTRY_FRACTION_##type)))

CONVERT_FLOAT8(f8e4m3)
CONVERT_FLOAT8(f8e5m2)
CONVERT_NARROWER(f8e4m3, uint8_t, f8e5m2)

CONVERT(u64, uint64_t, f32, float, x)
CONVERT(u64, uint64_t, f64, double, x)
CONVERT(f32, float, u64, uint64_t, gantry__f32_to_u64(x))
CONVERT(f64, double, u64, uint64_t, gantry__f64_to_u64(x))
/* This pair is for pixels. */
CONVERT(u8, uint8_t, f32, float, x)

#define CONVERT_ROW(from)                                \
    {                                                    \
        [GANTRY_CPU_COLUMN_f32] = convert_##from##_f32,  \
        [GANTRY_CPU_COLUMN_f64] = convert_##from##_f64,  \
        [GANTRY_CPU_COLUMN_i32] = convert_##from##_i32,  \
        [GANTRY_CPU_COLUMN_i64] = convert_##from##_i64,  \
        [GANTRY_CPU_COLUMN_b8] = convert_##from##_b8,    \
        [GANTRY_CPU_COLUMN_f16] = convert_##from##_f16,  \
        [GANTRY_CPU_COLUMN_bf16] = convert_##from##_bf16 \
    }

#define TO_FLOAT8(from, how)                                                                \
    [GANTRY_CPU_COLUMN_f8e4m3] = convert_##from##_f8e4m3##how, [GANTRY_CPU_COLUMN_f8e5m2] = \
                                                                   convert_##from##_f8e5m2##how

#define FROM_FLOAT8(type)                                                         \
    [GANTRY_CPU_COLUMN_##type] = {[GANTRY_CPU_COLUMN_f32] = convert_##type##_f32, \
                                  [GANTRY_CPU_COLUMN_i64] = convert_##type##_i64, \
                                  [GANTRY_CPU_COLUMN_##type] = convert_##type##_##type}

/* Returns NULL for pairs of types that Truncate does not change. */
static gantry__cpu_loop_fn truncating_loop(uint32_t from, uint32_t to) {
    static const gantry__cpu_loop_fn loops[GANTRY_CPU_ALL_TYPES][GANTRY_CPU_ALL_TYPES] = {
        [GANTRY_CPU_COLUMN_f32] = {[GANTRY_CPU_COLUMN_f16] = convert_f32_f16_truncated,
                                   [GANTRY_CPU_COLUMN_bf16] = convert_f32_bf16_truncated,
                                   TO_FLOAT8(f32, _truncated)},
        [GANTRY_CPU_COLUMN_f64] = {[GANTRY_CPU_COLUMN_f32] = convert_f64_f32_truncated,
                                   [GANTRY_CPU_COLUMN_f16] = convert_f64_f16_truncated,
                                   TO_FLOAT8(f64, _truncated)},
        [GANTRY_CPU_COLUMN_f16] = {TO_FLOAT8(f16, _truncated)},
        [GANTRY_CPU_COLUMN_bf16] = {TO_FLOAT8(bf16, _truncated)},
        [GANTRY_CPU_COLUMN_f8e4m3] = {[GANTRY_CPU_COLUMN_f8e5m2] =
                                          convert_f8e4m3_f8e5m2_truncated}};

    return loops[from][to];
}

/* The loops of pairs that CONVERT_ROW leaves out. */
static gantry__cpu_loop_fn rare_loop(uint32_t from, uint32_t to) {
    static const gantry__cpu_loop_fn loops[GANTRY_CPU_ALL_TYPES][GANTRY_CPU_ALL_TYPES] = {
        [GANTRY_CPU_COLUMN_i64] = {[GANTRY_CPU_COLUMN_i8] = convert_i64_i8,
                                   [GANTRY_CPU_COLUMN_i16] = convert_i64_i16,
                                   [GANTRY_CPU_COLUMN_u8] = convert_i64_u8,
                                   [GANTRY_CPU_COLUMN_u16] = convert_i64_u16,
                                   [GANTRY_CPU_COLUMN_u32] = convert_i64_u32,
                                   [GANTRY_CPU_COLUMN_u64] = convert_i64_u64,
                                   TO_FLOAT8(i64, )},
        [GANTRY_CPU_COLUMN_f32] = {[GANTRY_CPU_COLUMN_u64] = convert_f32_u64,
                                   [GANTRY_CPU_COLUMN_i8] = convert_f32_i8,
                                   [GANTRY_CPU_COLUMN_u8] = convert_f32_u8,
                                   TO_FLOAT8(f32, )},
        [GANTRY_CPU_COLUMN_f64] = {[GANTRY_CPU_COLUMN_u64] = convert_f64_u64, TO_FLOAT8(f64, )},
        FROM_FLOAT8(f8e4m3),
        FROM_FLOAT8(f8e5m2),
        [GANTRY_CPU_COLUMN_i8] = {[GANTRY_CPU_COLUMN_i64] = convert_i8_i64},
        [GANTRY_CPU_COLUMN_i16] = {[GANTRY_CPU_COLUMN_i64] = convert_i16_i64},
        [GANTRY_CPU_COLUMN_u8] =
            {[GANTRY_CPU_COLUMN_i64] = convert_u8_i64, [GANTRY_CPU_COLUMN_f32] = convert_u8_f32},
        [GANTRY_CPU_COLUMN_u16] = {[GANTRY_CPU_COLUMN_i64] = convert_u16_i64},
        [GANTRY_CPU_COLUMN_u32] = {[GANTRY_CPU_COLUMN_i64] = convert_u32_i64},
        [GANTRY_CPU_COLUMN_u64] = {[GANTRY_CPU_COLUMN_i64] = convert_u64_i64,
                                   [GANTRY_CPU_COLUMN_f32] = convert_u64_f32,
                                   [GANTRY_CPU_COLUMN_f64] = convert_u64_f64}};

    return loops[from][to];
}

gantry__cpu_loop_fn GANTRY_CPU_NAME(convert_loop)(uint32_t from, uint32_t to, bool truncate) {
    static const gantry__cpu_loop_fn loops[GANTRY_CPU_ALL_TYPES][GANTRY_CPU_ALL_TYPES] = {
        [GANTRY_CPU_COLUMN_f32] = CONVERT_ROW(f32),  [GANTRY_CPU_COLUMN_f64] = CONVERT_ROW(f64),
        [GANTRY_CPU_COLUMN_i32] = CONVERT_ROW(i32),  [GANTRY_CPU_COLUMN_i64] = CONVERT_ROW(i64),
        [GANTRY_CPU_COLUMN_b8] = CONVERT_ROW(b8),    [GANTRY_CPU_COLUMN_f16] = CONVERT_ROW(f16),
        [GANTRY_CPU_COLUMN_bf16] = CONVERT_ROW(bf16)};
    const gantry__cpu_loop_fn truncating = truncate ? truncating_loop(from, to) : NULL;

    if (truncating) return truncating;
    return loops[from][to] ? loops[from][to] : rare_loop(from, to);
}

gantry__cpu_loop_fn GANTRY_CPU_NAME(clamp_loop)(uint32_t to) {
    static const gantry__cpu_loop_fn loops[GANTRY_CPU_ALL_TYPES] = {
        [GANTRY_CPU_COLUMN_i8] = convert_clamped_i8,
        [GANTRY_CPU_COLUMN_i16] = convert_clamped_i16,
        [GANTRY_CPU_COLUMN_u8] = convert_clamped_u8,
        [GANTRY_CPU_COLUMN_u16] = convert_clamped_u16,
        [GANTRY_CPU_COLUMN_u32] = convert_clamped_u32};

    return loops[to];
}
