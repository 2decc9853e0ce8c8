/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The random generator gives its authors' known answers, and the CPU's stateless random
 * kernels agree with plain scalar C.
 * Promise: Normal random numbers on the CPU are those of Box and Muller's formula, with the same
 * bits on every instruction set. */
#include <math.h>

#include "cpu_kernel_call.h"
#include "kernels/random/random_cpu.h"
#include "test.h"

#include "kernels/common/dialect.cl"
#include "kernels/common/half.cl"
#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float64.cl"
#include "kernels/random/philox.cl"

#define LEVELS (gantry__cpu_simd_detect(NULL) + 1)

TEST(philox_known_answers_are_met) {
    /* kat_vectors of the Random123 distribution: counter, key, words */
    static const uint32_t cases[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t c = 0; c < 3; ++c) {
        const uint32_t *k = cases[c];
        const gantry__words_t w =
            gantry__philox((uint64_t)k[1] << 32 | k[0], (uint64_t)k[3] << 32 | k[2], 0, k[4], k[5]);
        assert_int_equal(w.a, k[6]);
        assert_int_equal(w.b, k[7]);
        assert_int_equal(w.c, k[8]);
        assert_int_equal(w.d, k[9]);
    }
}

TEST(philox_group_carries_into_the_upper_half) {
    const gantry__words_t over = gantry__philox(UINT64_MAX - 1, 41, 3, 5, 6);
    const gantry__words_t want = gantry__philox(1, 42, 0, 5, 6);
    assert_memory_equal(&over, &want, sizeof over);
}

TEST(philox_groups_beyond_32_bits_are_counted) {
    const gantry__words_t far = gantry__philox(7, 3, UINT64_C(5) << 33, 5, 6);
    const gantry__words_t want = gantry__philox((UINT64_C(5) << 33) + 7, 3, 0, 5, 6);
    assert_memory_equal(&far, &want, sizeof far);
}

TEST(angle_every_word_is_the_float64_product_rounded_once) {
    for (uint32_t m = 0; m < 1u << 23; ++m) {
        const float want = (float)(6.283185307179586 * (double)gantry__uniform_f32(m));
        const float got = gantry__angle_f32(m | 0xff800000u); /* upper bits do not matter */
        if (memcmp(&want, &got, sizeof got) != 0) {
            fail_msg("word %u: %a, not %a", m, (double)got, (double)want);
        }
    }
}

/* ---- loops ---- */

/* A loop that begins at a group beyond 2^32 gives the same numbers as a loop at the start of a
 * stream that is as far ahead. */
TEST(loops_beyond_2_to_the_32_groups_are_right) {
    typedef void (*loop_t)(const gantry__k_draw_t *draw, int64_t first, int64_t groups, void *out);
    static const loop_t loops[] = {
        gantry__cpu_uniform_f32_base, gantry__cpu_uniform_f64_base, gantry__cpu_uniform_f16_base,
        gantry__cpu_normal_f32_base,  gantry__cpu_normal_f64_base,  gantry__cpu_normal_bf16_base,
        gantry__cpu_words_32_base,    gantry__cpu_integers_64_base,
    };
    const int64_t first = (INT64_C(1) << 34) + 3, groups = 300;
    const gantry__k_draw_t near = {
        .stream = {.low = (uint64_t)first, .high = 4, .key0 = 5}, .lowest = 2, .range = 99};
    gantry__k_draw_t far = near;
    static _Alignas(16) char got[300 * 16], want[300 * 16];
    far.stream.low = 0;
    for (size_t k = 0; k < sizeof loops / sizeof loops[0]; ++k) {
        memset(got, 0, sizeof got);
        memset(want, 0, sizeof want);
        loops[k](&far, first, groups, got);
        loops[k](&near, 0, groups, want);
        assert_memory_equal(got, want, sizeof got);
    }
}

/* ---- kernels ---- */

static const gantry_kernel_def_t *find(const char *op) {
    const gantry_kernel_def_t *kernel =
        cpu_kernel(gantry__cpu_random_kernels, gantry__cpu_random_kernel_count, op);
    assert_non_null(kernel);
    return kernel;
}

static gantry_arg_t *longs(cpu_call_t *device, int64_t count, const int64_t *values) {
    gantry_arg_t *arg = cpu_tensor(device, GANTRY_INT64, 1, &count);
    memcpy(arg->data, values, (size_t)count * 8);
    arg->in_host_memory = 1;
    return arg;
}

static const int64_t key[] = {0x0123456789abcdef};
static const int64_t counter[] = {-3, 7}; /* the low half soon overflows */

static gantry_arg_t *draw(cpu_call_t *device, const char *op, int32_t dtype, int64_t count) {
    const int32_t philox = GANTRY_K_PHILOX;
    const gantry_arg_t *in[4] = {longs(device, 1, &count), longs(device, 1, key),
                                 longs(device, 2, counter), cpu_ints(device, 1, &philox)};
    gantry_arg_t *out = cpu_tensor(device, dtype, 1, &count);
    assert_int_equal(cpu_compute(device, find(op), in, 4, out, NULL, 0), 0);
    return out;
}

static uint32_t word(int64_t i) {
    const gantry__words_t w = gantry__philox((uint64_t)counter[0], (uint64_t)counter[1],
                                             (uint64_t)(i / 4), 0x89abcdef, 0x01234567);
    const uint32_t words[4] = {w.a, w.b, w.c, w.d};
    return words[i % 4];
}

TEST(uniform_all_sizes_and_levels_matches_scalar_code) {
    static const int64_t counts[] = {1, 2, 3, 4, 5, 63, 511, 513, 30001};
    for (int level = 0; level < LEVELS; ++level) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
            cpu_call_t device;
            cpu_call_open(&device, level, 2);
            const float *f =
                draw(&device, "StatelessRandomUniformV2", GANTRY_FLOAT32, counts[c])->data;
            const double *d =
                draw(&device, "StatelessRandomUniformV2", GANTRY_FLOAT64, counts[c])->data;
            for (int64_t i = 0; i < counts[c]; ++i) {
                const float want_f = ldexpf((float)(word(i) & 0x7fffff), -23);
                const uint64_t bits = (uint64_t)(word(2 * i) & 0xfffff) << 32 | word(2 * i + 1);
                const double want_d = ldexp((double)bits, -52);
                assert_memory_equal(&f[i], &want_f, sizeof want_f);
                assert_memory_equal(&d[i], &want_d, sizeof want_d);
            }
            cpu_call_close(&device);
        }
    }
}

static int near(double got, double want, double eps) {
    return fabs(got - want) <= 4 * eps * fabs(want);
}

TEST(normal_is_box_muller_and_equal_on_all_levels) {
    const int64_t count = 50003;
    cpu_call_t device;
    cpu_call_open(&device, -1, 2);
    const float *f = draw(&device, "StatelessRandomNormalV2", GANTRY_FLOAT32, count)->data;
    const double *d = draw(&device, "StatelessRandomNormalV2", GANTRY_FLOAT64, count)->data;
    for (int64_t i = 0; i + 1 < count; i += 2) {
        const double u = fmax((double)gantry__uniform_f32(word(i)), (double)1e-7f);
        const double a =
            (double)(float)(6.283185307179586 * (double)gantry__uniform_f32(word(i + 1)));
        const double r = sqrt(-2 * log(u));
        assert_true(near((double)f[i], sin(a) * r, 0x1p-23));
        assert_true(near((double)f[i + 1], cos(a) * r, 0x1p-23));
        const double v = fmax(gantry__uniform_f64(word(2 * i), word(2 * i + 1)), 1e-7);
        const double b = 6.283185307179586 * gantry__uniform_f64(word(2 * i + 2), word(2 * i + 3));
        assert_true(near(d[i], sin(b) * sqrt(-2 * log(v)), 0x1p-52));
        assert_true(near(d[i + 1], cos(b) * sqrt(-2 * log(v)), 0x1p-52));
    }
    for (int level = 0; level < LEVELS; ++level) {
        device.device.simd_level = level;
        assert_memory_equal(f,
                            draw(&device, "StatelessRandomNormalV2", GANTRY_FLOAT32, count)->data,
                            (size_t)count * 4);
        assert_memory_equal(d,
                            draw(&device, "StatelessRandomNormalV2", GANTRY_FLOAT64, count)->data,
                            (size_t)count * 8);
    }
    cpu_call_close(&device);
}

TEST(seed_of_either_width_is_scrambled_alike) {
    const int64_t count = 33;
    const int64_t wide[] = {-2, 5};
    const int32_t narrow[] = {-2, 5};
    cpu_call_t device;
    cpu_call_open(&device, -1, 1);
    gantry_arg_t *a = cpu_tensor(&device, GANTRY_FLOAT32, 1, &count);
    gantry_arg_t *b = cpu_tensor(&device, GANTRY_FLOAT32, 1, &count);
    const gantry_arg_t *by_wide[2] = {longs(&device, 1, &count), longs(&device, 2, wide)};
    const gantry_arg_t *by_narrow[2] = {longs(&device, 1, &count), cpu_ints(&device, 2, narrow)};
    assert_int_equal(cpu_compute(&device, find("StatelessRandomUniform"), by_wide, 2, a, NULL, 0),
                     0);
    assert_int_equal(cpu_compute(&device, find("StatelessRandomUniform"), by_narrow, 2, b, NULL, 0),
                     0);
    assert_memory_equal(a->data, b->data, (size_t)count * 4);
    const gantry__words_t mix = gantry__philox((uint64_t)-2, 5, 0, 0x3ec8f720u, 0x02461e29u);
    const gantry__words_t first = gantry__philox(0, (uint64_t)mix.d << 32 | mix.c, 0, mix.a, mix.b);
    const float want = gantry__uniform_f32(first.a);
    assert_memory_equal(a->data, &want, sizeof want);
    cpu_call_close(&device);
}

TEST(algorithm_unknown_is_invalid_argument) {
    const int64_t count = 4;
    const int32_t threefry = 2;
    cpu_call_t device;
    cpu_call_open(&device, -1, 1);
    const gantry_arg_t *in[4] = {longs(&device, 1, &count), longs(&device, 1, key),
                                 longs(&device, 2, counter), cpu_ints(&device, 1, &threefry)};
    gantry_arg_t *out = cpu_tensor(&device, GANTRY_FLOAT32, 1, &count);
    assert_int_equal(cpu_compute(&device, find("StatelessRandomNormalV2"), in, 4, out, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(device.message, "alg is 2"));
    cpu_call_close(&device);
}

int main(void) { return test_main(); }
