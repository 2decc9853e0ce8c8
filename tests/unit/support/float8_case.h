/* SPDX-License-Identifier: Apache-2.0 */
/* Casts of float8_e5m2 and float8_e4m3fn, and ops that move them, on one device.
 *
 * The expected values come from a table of doubles that is made from the formats' definition, and
 * from a search in it, not from bits. Owner: the caller, of the runtime. Threads: one. */
#ifndef GANTRY_TEST_FLOAT8_CASE_H
#define GANTRY_TEST_FLOAT8_CASE_H

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gantry/gantry.h>

#define FLOAT8_NUMBERS 128 /* patterns without a sign */

typedef struct float8_t {
    gantry_dtype_t dtype;
    int last; /* the pattern of the largest finite number */
    unsigned char nan;
    double table[FLOAT8_NUMBERS + 1];
} float8_t;

/* Pattern p of e bits of exponent is m 2^k; the table goes on where the format has infinity or NaN,
 * so that a search finds what a larger number is nearest to. */
static inline float8_t float8_of(gantry_dtype_t dtype) {
    const bool is_e5m2 = dtype == GANTRY_FLOAT8_E5M2;
    const int fraction_bits = is_e5m2 ? 2 : 3, bias = is_e5m2 ? 15 : 7, one = 1 << fraction_bits;
    float8_t f = {.dtype = dtype, .last = is_e5m2 ? 0x7b : 0x7e, .nan = is_e5m2 ? 0x7e : 0x7f};
    for (int p = 0; p <= FLOAT8_NUMBERS; ++p) {
        const int field = p / one, fraction = p % one;
        f.table[p] =
            ldexp(field ? one + fraction : fraction, (field ? field : 1) - bias - fraction_bits);
    }
    return f;
}

static inline double float8_decode(const float8_t *f, unsigned char bits) {
    const int p = bits & 0x7f;
    const double sign = bits & 0x80 ? -1 : 1;
    if (p <= f->last) return sign * f->table[p];
    return f->dtype == GANTRY_FLOAT8_E5M2 && p == 0x7c ? sign * (double)INFINITY : (double)NAN;
}

/* To the nearest, of two as near the one with an even pattern. */
static inline unsigned char float8_encode(const float8_t *f, double x) {
    const double a = fabs(x);
    int p = 0;
    if (isnan(x)) return f->nan;
    while (p <= f->last && f->table[p + 1] <= a) ++p;
    if (p <= f->last && a > f->table[p]) {
        const double down = a - f->table[p],
                     up = f->table[p + 1] - a; /* exact for what is tested */
        if (up < down || (up <= down && p % 2 == 1)) ++p;
    }
    if (p > f->last && f->dtype == GANTRY_FLOAT8_E4M3FN) return f->nan;
    return (unsigned char)((p > f->last ? 0x7c : p) | (signbit(x) ? 0x80 : 0));
}

static inline void float8_check_scope(gantry_scope_t *scope) {
    if (gantry_scope_end(scope) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static inline void float8_read(const gantry_tensor_t *x, void *out, size_t bytes) {
    if (!x || gantry_tensor_read(x, out, bytes) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- casts ---- */

/* Casts count elements at `data`, whose numbers are `values`, to the type, and compares. */
static inline void float8_expect(gantry_runtime_t *runtime, const char *device, const float8_t *f,
                                 gantry_dtype_t from, const void *data, const double *values,
                                 size_t count) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    unsigned char *got = malloc(count);
    assert_non_null(got);
    const gantry_tensor_t *x = gantry_constant(scope, from, GANTRY_SHAPE((int64_t)count), data,
                                               count * gantry_dtype_size(from));
    float8_read(gantry_cast(scope, x, f->dtype), got, count);
    for (size_t i = 0; i < count; ++i) {
        const unsigned char wanted = float8_encode(f, values[i]);
        if (got[i] != wanted)
            fail_msg("%s: %s %a becomes %s %02x, not %02x", device, gantry_dtype_name(from),
                     values[i], gantry_dtype_name(f->dtype), got[i], wanted);
    }
    free(got);
    float8_check_scope(scope);
}

static inline double float8_number_of_half(gantry_dtype_t dtype, int bits) {
    const int fraction_bits = dtype == GANTRY_FLOAT16 ? 10 : 7,
              highest = dtype == GANTRY_FLOAT16 ? 31 : 255;
    const int field = (bits & 0x7fff) >> fraction_bits, one = 1 << fraction_bits,
              fraction = bits & (one - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (field == highest) return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * ldexp(field ? one + fraction : fraction,
                        (field ? field : 1) - highest / 2 - fraction_bits);
}

static inline void float8_cast_halves(gantry_runtime_t *runtime, const char *device,
                                      const float8_t *f) {
    static uint16_t bits[0x10000];
    static double values[0x10000];
    const gantry_dtype_t halves[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16};
    for (int h = 0; h < 2; ++h) {
        for (int i = 0; i < 0x10000; ++i) {
            bits[i] = (uint16_t)i;
            values[i] = float8_number_of_half(halves[h], i);
        }
        float8_expect(runtime, device, f, halves[h], bits, values, 0x10000);
    }
}

/* Each number, each middle between two, and the float32 and float64 on both sides of these. */
static inline void float8_cast_borders(gantry_runtime_t *runtime, const char *device,
                                       const float8_t *f, bool has_float64) {
    static float singles[FLOAT8_NUMBERS * 12 + 16];
    static double values[FLOAT8_NUMBERS * 12 + 16], wide[FLOAT8_NUMBERS * 12 + 16];
    const double others[] = {
        (double)NAN, (double)INFINITY, (double)FLT_MAX, (double)FLT_MIN, 0x1p-149, 1e5, 460, 470};
    size_t count = 0;
    for (int p = 0; p <= f->last; ++p) {
        const double places[] = {f->table[p], (f->table[p] + f->table[p + 1]) / 2};
        for (int k = 0; k < 2; ++k) {
            for (int sign = -1; sign <= 1; sign += 2) {
                const float x = (float)(sign * places[k]);
                singles[count] = x;
                singles[count + 1] = nextafterf(x, INFINITY);
                singles[count + 2] = nextafterf(x, -INFINITY);
                count += 3;
            }
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
        singles[count++] = (float)others[i];
        singles[count++] = (float)-others[i];
    }
    for (size_t i = 0; i < count; ++i) values[i] = (double)singles[i];
    float8_expect(runtime, device, f, GANTRY_FLOAT32, singles, values, count);
    if (!has_float64) return;
    /* rounding to float32 first would give a middle here */
    for (size_t i = 0; i < count; ++i)
        wide[i] = i % 2 ? nextafter(values[i], (double)INFINITY)
                        : nextafter(values[i], -(double)INFINITY);
    float8_expect(runtime, device, f, GANTRY_FLOAT64, wide, wide, count);
}

static inline void float8_cast_integers(gantry_runtime_t *runtime, const char *device,
                                        const float8_t *f) {
    static int32_t narrow[4096];
    static int64_t longs[4096];
    static double values[4096];
    int8_t bytes[256];
    uint64_t naturals[64];
    uint8_t flags[] = {0, 1};
    for (int i = 0; i < 4096; ++i) {
        narrow[i] = (i - 2048) * (i % 3 == 0 ? 41 : 1);
        longs[i] = narrow[i];
        values[i] = narrow[i];
    }
    float8_expect(runtime, device, f, GANTRY_INT32, narrow, values, 4096);
    float8_expect(runtime, device, f, GANTRY_INT64, longs, values, 4096);
    for (int i = 0; i < 256; ++i) {
        bytes[i] = (int8_t)(i - 128);
        values[i] = i - 128;
    }
    float8_expect(runtime, device, f, GANTRY_INT8, bytes, values, 256);
    for (int i = 0; i < 64; ++i) {
        naturals[i] = UINT64_C(1) << i;
        values[i] = ldexp(1, i);
    }
    float8_expect(runtime, device, f, GANTRY_UINT64, naturals, values, 64);
    for (int i = 0; i < 2; ++i) values[i] = i;
    float8_expect(runtime, device, f, GANTRY_BOOL, flags, values, 2);
}

/* All patterns to other types, and back by float32. */
static inline void float8_cast_all_values(gantry_runtime_t *runtime, const char *device,
                                          const float8_t *f, bool has_float64) {
    unsigned char all[256], back[256], truths[256];
    float singles[256], halves_as_singles[256];
    double doubles[256];
    int8_t bytes[256];
    uint64_t naturals[256];
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    for (int i = 0; i < 256; ++i) all[i] = (unsigned char)i;
    const gantry_tensor_t *x = gantry_constant(scope, f->dtype, GANTRY_SHAPE(256), all, sizeof all);
    const gantry_tensor_t *wide = gantry_cast(scope, x, GANTRY_FLOAT32);
    float8_read(wide, singles, sizeof singles);
    float8_read(gantry_cast(scope, wide, f->dtype), back, sizeof back);
    float8_read(gantry_cast(scope, gantry_cast(scope, x, GANTRY_BFLOAT16), GANTRY_FLOAT32),
                halves_as_singles, sizeof halves_as_singles);
    float8_read(gantry_cast(scope, x, GANTRY_INT8), bytes, sizeof bytes);
    float8_read(gantry_cast(scope, x, GANTRY_UINT64), naturals, sizeof naturals);
    float8_read(gantry_cast(scope, x, GANTRY_BOOL), truths, sizeof truths);
    if (has_float64) float8_read(gantry_cast(scope, x, GANTRY_FLOAT64), doubles, sizeof doubles);
    for (int i = 0; i < 256; ++i) {
        const double wanted = float8_decode(f, (unsigned char)i);
        const double clamped = isnan(wanted) ? 0 : fmin(fmax(wanted, -128), 127);
        if (!has_float64) doubles[i] = (double)singles[i];
        assert_int_equal(back[i], isnan(wanted) ? f->nan : i);
        assert_int_equal(truths[i], isnan(wanted) || fabs(wanted) > 0);
        assert_int_equal(bytes[i], (int8_t)clamped);
        assert_true(naturals[i] == (wanted >= 0x1p64 ? UINT64_MAX
                                    : wanted > 0     ? (uint64_t)wanted
                                                     : 0));
        assert_true(isnan(wanted)
                        ? isnan(singles[i]) && isnan(doubles[i]) && isnan(halves_as_singles[i])
                        : memcmp(&(float){(float)wanted}, &singles[i], sizeof singles[i]) == 0 &&
                              memcmp(&wanted, &doubles[i], sizeof doubles[i]) == 0 &&
                              memcmp(&singles[i], &halves_as_singles[i], sizeof singles[i]) == 0);
    }
    float8_check_scope(scope);
}

/* With Truncate a wider type first loses what the fraction has no room for. */
static inline void float8_cast_truncates(gantry_runtime_t *runtime, const char *device,
                                         const float8_t *f) {
    static const float x[] = {1.99f, -1.99f, 0.3f, 1000.5f, -0x1.fep-7f, 3.9f};
    const double unit = f->dtype == GANTRY_FLOAT8_E5M2 ? 0x1p-2 : 0x1p-3;
    const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT16, GANTRY_BFLOAT16};
    for (int t = 0; t < 3; ++t) {
        unsigned char got[6];
        size_t count = 1;
        const gantry_tensor_t *out = NULL;
        gantry_scope_t *scope = gantry_scope_begin(runtime, device);
        const gantry_tensor_t *in = gantry_cast(
            scope, gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(6), x, sizeof x), types[t]);
        const gantry_attr_value_t attrs[] = {
            {.name = "DstT", .kind = GANTRY_ATTR_TYPE, .i = f->dtype},
            {.name = "Truncate", .kind = GANTRY_ATTR_BOOL, .i = 1}};
        (void)gantry_op_call(scope, "Cast", &in, 1, attrs, 2, &out, &count);
        float8_read(out, got, sizeof got);
        for (int i = 0; i < 6; ++i) {
            int exponent;
            const double fraction = 2 * frexp((double)x[i], &exponent);
            const double cut = ldexp(trunc(fraction / unit) * unit, exponent - 1);
            assert_int_equal(got[i], float8_encode(f, cut));
        }
        float8_check_scope(scope);
    }
}

/* ---- moves ---- */

/* Moves the 256 patterns by a dozen ops; the same bytes as uint8 must take the same way. */
static inline size_t float8_move(gantry_scope_t *s, gantry_dtype_t dtype,
                                 unsigned char out[12][1024]) {
    unsigned char all[256];
    static const int32_t places[] = {15, 3, 3, 0}, axis[] = {1};
    static const unsigned char flags[] = {1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0};
    for (int i = 0; i < 256; ++i) all[i] = (unsigned char)(i * 37);
    const gantry_tensor_t *x = gantry_constant(s, dtype, GANTRY_SHAPE(16, 16), all, sizeof all);
    const gantry_tensor_t *at =
        gantry_constant(s, GANTRY_INT32, GANTRY_SHAPE(4), places, sizeof places);
    const gantry_tensor_t *mask =
        gantry_constant(s, GANTRY_BOOL, GANTRY_SHAPE(16), flags, sizeof flags);
    const gantry_tensor_t *turned = gantry_transpose(s, x, NULL);
    const gantry_tensor_t *two[] = {x, turned};
    const gantry_tensor_t *moved[12] = {
        gantry_identity(s, x),
        gantry_reshape(s, x, GANTRY_SHAPE(8, 32)),
        turned,
        gantry_slice(s, x, (int64_t[]){2, 1}, (int64_t[]){11, 13}),
        gantry_concat(s, two, 2, 1),
        gantry_pack(s, two, 2, 1),
        gantry_gather(s, x, at, 1),
        gantry_tile(s, gantry_slice(s, x, (int64_t[]){0, 0}, (int64_t[]){3, 5}), (int64_t[]){4, 2}),
        gantry_pad(s, x, (int64_t[]){1, 2, 3, 4}, NULL),
        gantry_reverse(s, x, axis, 1),
        gantry_select(s, mask, x, turned),
        gantry_zeros_like(s, x)};
    for (int i = 0; i < 12; ++i) {
        memset(out[i], 0xa5, 1024);
        assert_int_equal(moved[i] ? (int)gantry_tensor_dtype(moved[i]) : -1, dtype);
        float8_read(moved[i], out[i], gantry_tensor_bytes(moved[i]));
    }
    return 12;
}

static inline void float8_moves(gantry_runtime_t *runtime, const char *device, const float8_t *f) {
    static unsigned char wanted[12][1024], got[12][1024];
    unsigned char one = 0;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const size_t count = float8_move(scope, GANTRY_UINT8, wanted);
    (void)float8_move(scope, f->dtype, got);
    for (size_t i = 0; i < count; ++i) assert_memory_equal(got[i], wanted[i], sizeof got[i]);
    float8_read(gantry_ones(scope, f->dtype, GANTRY_SCALAR), &one, 1);
    assert_int_equal(one, float8_encode(f, 1));
    float8_check_scope(scope);
}

/* Nothing computes with the type: a sum of it names the types that have one. */
static inline void float8_is_not_computed(gantry_runtime_t *runtime, const char *device,
                                          const float8_t *f) {
    const unsigned char x[] = {0x38};
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *t = gantry_constant(scope, f->dtype, GANTRY_SHAPE(1), x, 1);
    assert_null(gantry_add(scope, t, t));
    assert_non_null(strstr(gantry_scope_message(scope), gantry_dtype_name(f->dtype)));
    assert_int_equal(gantry_scope_end(scope), GANTRY_INVALID_ARGUMENT);
}

static inline void float8_check(gantry_runtime_t *runtime, const char *device, bool has_float64) {
    const gantry_dtype_t types[] = {GANTRY_FLOAT8_E5M2, GANTRY_FLOAT8_E4M3FN};
    for (int t = 0; t < 2; ++t) {
        const float8_t f = float8_of(types[t]);
        float8_cast_all_values(runtime, device, &f, has_float64);
        float8_cast_halves(runtime, device, &f);
        float8_cast_borders(runtime, device, &f, has_float64);
        float8_cast_integers(runtime, device, &f);
        float8_cast_truncates(runtime, device, &f);
        float8_moves(runtime, device, &f);
        float8_is_not_computed(runtime, device, &f);
    }
}

#endif
