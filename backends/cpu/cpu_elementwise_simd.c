/* All loops of the elementwise family for one instruction set (see cpu_simd.h). */
#include "cpu/cpu_elementwise.h"

#include "portable/kernels/dialect.cl"
#include "portable/kernels/math_float32.cl"
#include "portable/kernels/math_float64.cl"
#include "portable/kernels/convert.cl"
#include "portable/kernels/half.cl"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define T float
#define U float
#define GANTRY_T_ID 1
#define GANTRY_T_NAME f32
#include "cpu/cpu_elementwise_loops.h"

#define T double
#define U double
#define GANTRY_T_ID 2
#define GANTRY_T_NAME f64
#include "cpu/cpu_elementwise_loops.h"

#define T int32_t
#define U uint32_t
#define GANTRY_T_ID 3
#define GANTRY_T_NAME i32
#include "cpu/cpu_elementwise_loops.h"

#define T int64_t
#define U uint64_t
#define GANTRY_T_ID 9
#define GANTRY_T_NAME i64
#include "cpu/cpu_elementwise_loops.h"

#define T uint8_t
#define U uint8_t
#define GANTRY_T_ID 10
#define GANTRY_T_NAME b8
#include "cpu/cpu_elementwise_loops.h"

/* ---- tables ---- */

#define FORMS_1(name, type) {name##_##type##_dense, NULL, NULL}
#define FORMS_2(name, type) {name##_##type##_dense, name##_##type##_y_scalar, name##_##type##_x_scalar}
#define NO_FORMS {NULL, NULL, NULL}
#define ROW_FLOATS(forms, name) forms(name, f32), forms(name, f64), NO_FORMS, NO_FORMS, NO_FORMS,
#define ROW_NUMBERS(forms, name) forms(name, f32), forms(name, f64), forms(name, i32), forms(name, i64), NO_FORMS,
#define ROW_ALL(forms, name) forms(name, f32), forms(name, f64), forms(name, i32), forms(name, i64), forms(name, b8),
#define ROW_BOOLS(forms, name) NO_FORMS, NO_FORMS, NO_FORMS, NO_FORMS, forms(name, b8),

static const gantry__cpu_loops_t element_table[GANTRY_CPU_OPS * GANTRY_CPU_TYPES] = {
#define GANTRY_ELEMENTWISE(name, arity, types, result, check, expression) ROW_##types(FORMS_##arity, name)
#include "portable/elementwise.def"
#undef GANTRY_ELEMENTWISE
};

const gantry__cpu_loops_t *GANTRY_CPU_NAME(element_loops)(void)
{
    return element_table;
}

#define RANGE(type, T, U)                                                                                   \
    static void range_##type(const void *start, const void *delta, int64_t begin, void *out, int64_t count) \
    {                                                                                                       \
        const U first = (U)((const T *)start)[0];                                                           \
        const U step = (U)((const T *)delta)[0];                                                            \
        for (int64_t i = 0; i < count; i++) {                                                               \
            ((T *)out)[i] = (T)(first + (U)(begin + i) * step);                                             \
        }                                                                                                   \
    }

RANGE(f32, float, float)
RANGE(f64, double, double)
RANGE(i32, int32_t, uint32_t)
RANGE(i64, int64_t, uint64_t)

void GANTRY_CPU_NAME(range_loop)(uint32_t column, const void *start, const void *delta, int64_t begin, void *out,
                                 int64_t count)
{
    static void (*const loops[])(const void *, const void *, int64_t, void *, int64_t) = {range_f32, range_f64,
                                                                                          range_i32, range_i64};

    loops[column](start, delta, begin, out, count);
}

/* ---- conversion between types: every pair ---- */

#define CONVERT(from, S, to, D, expression)                                                        \
    static int32_t convert_##from##_##to(const void *xs, const void *ys, void *out, int64_t count) \
    {                                                                                              \
        (void)ys;                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const S x = ((const S *)xs)[i];                                                        \
            ((D *)out)[i] = (D)(expression);                                                       \
        }                                                                                          \
        return 0;                                                                                  \
    }

CONVERT(f32, uint32_t, f32, uint32_t, x)
CONVERT(f32, float, f64, double, x)
CONVERT(f32, float, i32, int32_t, gantry_f32_to_i32(x))
CONVERT(f32, float, i64, int64_t, gantry_f32_to_i64(x))
CONVERT(f32, float, b8, uint8_t, x != 0.0f)
CONVERT(f64, double, f32, float, x)
CONVERT(f64, uint64_t, f64, uint64_t, x)
CONVERT(f64, double, i32, int32_t, gantry_f64_to_i32(x))
CONVERT(f64, double, i64, int64_t, gantry_f64_to_i64(x))
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

CONVERT(f64, double, f32_truncated, float, gantry_f64_to_f32_truncated(x))

/* A half goes through float32 both ways, as in TensorFlow. */
#define CONVERT_HALF(half)                                                                                            \
    CONVERT(half, uint16_t, f32, float, gantry_##half##_to_f32(x))                                                    \
    CONVERT(half, uint16_t, f64, double, gantry_##half##_to_f32(x))                                                   \
    CONVERT(half, uint16_t, i32, int32_t, gantry_f32_to_i32(gantry_##half##_to_f32(x)))                               \
    CONVERT(half, uint16_t, i64, int64_t, gantry_f32_to_i64(gantry_##half##_to_f32(x)))                               \
    CONVERT(half, uint16_t, b8, uint8_t, (x & 0x7fff) != 0)                                                           \
    CONVERT(half, uint16_t, half, uint16_t, x)                                                                        \
    CONVERT(f32, float, half, uint16_t, gantry_f32_to_##half(x))                                                      \
    CONVERT(f64, double, half, uint16_t, gantry_f32_to_##half((float)x))                                              \
    CONVERT(i32, int32_t, half, uint16_t, gantry_f32_to_##half((float)x))                                             \
    CONVERT(i64, int64_t, half, uint16_t, gantry_f32_to_##half((float)x))                                             \
    CONVERT(b8, uint8_t, half, uint16_t, gantry_f32_to_##half((float)x))

CONVERT_HALF(f16)
CONVERT_HALF(bf16)
CONVERT(f16, uint16_t, bf16, uint16_t, gantry_f32_to_bf16(gantry_f16_to_f32(x)))
CONVERT(bf16, uint16_t, f16, uint16_t, gantry_f32_to_f16(gantry_bf16_to_f32(x)))

CONVERT(f32, float, f16_truncated, uint16_t, gantry_f32_to_f16(gantry_f32_without_bits(x, GANTRY_F16_DROPS_OF_F32)))
CONVERT(f64, double, f16_truncated, uint16_t,
        gantry_f32_to_f16((float)gantry_f64_without_bits(x, GANTRY_F16_DROPS_OF_F64)))
CONVERT(f32, float, bf16_truncated, uint16_t, gantry_f32_to_bf16(gantry_f32_without_bits(x, GANTRY_BF16_DROPS_OF_F32)))

/* In the order of gantry__cpu_convert_column. */
#define CONVERT_ROW(from)                                                                                            \
    {                                                                                                                \
        convert_##from##_f32, convert_##from##_f64, convert_##from##_i32, convert_##from##_i64, convert_##from##_b8, \
            convert_##from##_f16, convert_##from##_bf16                                                              \
    }

/* NULL where nothing is cut off. */
static gantry__cpu_loop_fn truncating_loop(uint32_t from, uint32_t to)
{
    static const gantry__cpu_loop_fn loops[2][GANTRY_CPU_CONVERTED_TYPES] = {
        [0] = {[5] = convert_f32_f16_truncated, [6] = convert_f32_bf16_truncated},
        [1] = {[0] = convert_f64_f32_truncated, [5] = convert_f64_f16_truncated}};

    return from < 2 ? loops[from][to] : NULL;
}

gantry__cpu_loop_fn GANTRY_CPU_NAME(convert_loop)(uint32_t from, uint32_t to, int32_t truncate)
{
    static const gantry__cpu_loop_fn loops[GANTRY_CPU_CONVERTED_TYPES][GANTRY_CPU_CONVERTED_TYPES] = {
        CONVERT_ROW(f32), CONVERT_ROW(f64), CONVERT_ROW(i32), CONVERT_ROW(i64),
        CONVERT_ROW(b8),  CONVERT_ROW(f16), CONVERT_ROW(bf16)};
    const gantry__cpu_loop_fn truncating = truncate != 0 ? truncating_loop(from, to) : NULL;

    return truncating != NULL ? truncating : loops[from][to];
}

/* ---- loops over bits: by size alone ---- */

#define SELECT(B)                                                                                   \
    static void select_##B(const uint8_t *condition, const B *x, const B *y, B *out, int64_t count) \
    {                                                                                               \
        for (int64_t i = 0; i < count; i++) {                                                       \
            const B t = x[i];                                                                       \
            const B e = y[i];                                                                       \
            out[i] = condition[i] != 0 ? t : e;                                                     \
        }                                                                                           \
    }

SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)

void GANTRY_CPU_NAME(select_loop)(uint32_t bytes, const uint8_t *condition, const void *x, const void *y, void *out,
                                  int64_t count)
{
    if (bytes == 1) {
        select_uint8_t(condition, x, y, out, count);
    } else if (bytes == 2) {
        select_uint16_t(condition, x, y, out, count);
    } else if (bytes == 4) {
        select_uint32_t(condition, x, y, out, count);
    } else {
        select_uint64_t(condition, x, y, out, count);
    }
}

/* ---- past the caches ---- */

#define LINE_BYTES 64
#define BLOCK_BYTES 4096

#if defined(__x86_64__)
#if defined(__AVX512F__)
static void stream_line(char *out, const char *in)
{
    _mm512_stream_si512((void *)out, _mm512_load_si512((const void *)in));
}
#elif defined(__AVX2__)
static void stream_line(char *out, const char *in)
{
    _mm256_stream_si256((void *)out, _mm256_load_si256((const void *)in));
    _mm256_stream_si256((void *)(out + 32), _mm256_load_si256((const void *)(in + 32)));
}
#else
static void stream_line(char *out, const char *in)
{
    for (int i = 0; i < LINE_BYTES; i += 16) {
        _mm_stream_si128((void *)(out + i), _mm_load_si128((const void *)(in + i)));
    }
}
#endif

static void stream_fence(void)
{
    _mm_sfence();
}
#else
static void stream_line(char *out, const char *in)
{
    memcpy(out, in, LINE_BYTES);
}

static void stream_fence(void)
{
}
#endif

/* Elements before out reaches a line's boundary; all of them when it never does. */
static int64_t elements_to_line(const char *out, uint32_t bytes, int64_t count)
{
    uint64_t gap = (LINE_BYTES - (uint64_t)(uintptr_t)out % LINE_BYTES) % LINE_BYTES;

    if (gap % bytes != 0 || (int64_t)(gap / bytes) > count) {
        return count;
    }
    return (int64_t)(gap / bytes);
}

int32_t GANTRY_CPU_NAME(stream_loop)(gantry__cpu_loop_fn loop, const char *x, uint32_t x_bytes, const char *y,
                                     uint32_t y_bytes, char *out, uint32_t out_bytes, int64_t count)
{
    _Alignas(LINE_BYTES) char block[BLOCK_BYTES];
    const int64_t step = BLOCK_BYTES / out_bytes;
    int64_t i = elements_to_line(out, out_bytes, count);
    int32_t bad = i > 0 ? loop(x, y, out, i) : 0;

    for (; count - i >= step; i += step) {
        bad |= loop(x + i * x_bytes, y + i * y_bytes, block, step);
        for (int64_t b = 0; b < BLOCK_BYTES; b += LINE_BYTES) {
            stream_line(out + i * out_bytes + b, block + b);
        }
    }
    stream_fence();
    if (i < count) {
        bad |= loop(x + i * x_bytes, y + i * y_bytes, out + i * out_bytes, count - i);
    }
    return bad;
}

#define FILL(B)                                                       \
    static void fill_##B(const void *value, char *out, int64_t count) \
    {                                                                 \
        const B v = ((const B *)value)[0];                            \
        for (int64_t i = 0; i < count; i++) {                         \
            ((B *)(void *)out)[i] = v;                                \
        }                                                             \
    }

FILL(uint8_t)
FILL(uint16_t)
FILL(uint32_t)
FILL(uint64_t)

static void fill_cached(uint32_t bytes, const void *value, char *out, int64_t count)
{
    if (bytes == 1) {
        fill_uint8_t(value, out, count);
    } else if (bytes == 2) {
        fill_uint16_t(value, out, count);
    } else if (bytes == 4) {
        fill_uint32_t(value, out, count);
    } else {
        fill_uint64_t(value, out, count);
    }
}

void GANTRY_CPU_NAME(fill_loop)(uint32_t bytes, const void *value, char *out, int64_t count, int32_t stream)
{
    _Alignas(LINE_BYTES) char line[LINE_BYTES];
    const int64_t step = LINE_BYTES / bytes;
    int64_t i = stream != 0 ? elements_to_line(out, bytes, count) : count;

    fill_cached(bytes, value, out, i);
    if (i == count) {
        return;
    }
    fill_cached(bytes, value, line, step);
    for (; count - i >= step; i += step) {
        stream_line(out + i * bytes, line);
    }
    stream_fence();
    fill_cached(bytes, value, out + i * bytes, count - i);
}
