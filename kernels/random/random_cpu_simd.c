/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of the random family for one instruction set (cpu_simd.h). A loop first makes the words of
 * a block and stores them as four arrays, so that gcc vectorizes both that loop and those that use
 * the words. */
#include "kernels/random/random_cpu.h"

#include "kernels/common/dialect.cl"
#include "kernels/common/half.cl"
#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float64.cl"
#include "kernels/random/philox.cl"

#define BLOCK 128 /* in groups; the words of a block take 2 KiB */

typedef struct block_t {
    uint32_t a[BLOCK], b[BLOCK], c[BLOCK], d[BLOCK];
} block_t;

static int64_t make_words(const gantry__k_stream_t *stream, int64_t group, int64_t groups,
                          block_t *out) {
    const int64_t count = groups < BLOCK ? groups : BLOCK;
    const uint64_t low = stream->low;
    const uint64_t high = stream->high;
    const uint32_t key0 = stream->key0;
    const uint32_t key1 = stream->key1;
    for (int64_t g = 0; g < count; ++g) {
        const gantry__words_t w = gantry__philox(low, high, (uint64_t)(group + g), key0, key1);
        out->a[g] = w.a;
        out->b[g] = w.b;
        out->c[g] = w.c;
        out->d[g] = w.d;
    }
    return count;
}

/* Defines a loop over all groups, block by block. fill writes the values of `count` groups to
 * `to`. */
#define LOOP(name, type, group, fill)                                                             \
    void GANTRY_CPU_NAME(name)(const gantry__k_draw_t *draw, int64_t first, int64_t groups,       \
                               void *out) {                                                       \
        type *to = out;                                                                           \
        block_t words;                                                                            \
                                                                                                  \
        for (int64_t done = 0; done < groups; done += BLOCK) {                                    \
            const int64_t count = make_words(&draw->stream, first + done, groups - done, &words); \
            fill(&words, count, draw, to);                                                        \
            to += group * count;                                                                  \
        }                                                                                         \
    }

/* Four values of one word each, or two of two words. */
#define FILL_FOUR(name, type, value)                                                           \
    static void fill_##name(const block_t *words, int64_t count, const gantry__k_draw_t *draw, \
                            type *to) {                                                        \
        const uint32_t lowest = (uint32_t)draw->lowest;                                        \
        const uint32_t range = (uint32_t)draw->range;                                          \
                                                                                               \
        (void)lowest, (void)range;                                                             \
        for (int64_t g = 0; g < count; ++g) {                                                  \
            to[4 * g] = value(words->a[g]);                                                    \
            to[4 * g + 1] = value(words->b[g]);                                                \
            to[4 * g + 2] = value(words->c[g]);                                                \
            to[4 * g + 3] = value(words->d[g]);                                                \
        }                                                                                      \
    }                                                                                          \
    LOOP(name, type, 4, fill_##name)

#define FILL_TWO(name, type, value)                                                            \
    static void fill_##name(const block_t *words, int64_t count, const gantry__k_draw_t *draw, \
                            type *to) {                                                        \
        const uint64_t lowest = draw->lowest;                                                  \
        const uint64_t range = draw->range;                                                    \
                                                                                               \
        (void)lowest, (void)range;                                                             \
        for (int64_t g = 0; g < count; ++g) {                                                  \
            to[2 * g] = value(words->a[g], words->b[g]);                                       \
            to[2 * g + 1] = value(words->c[g], words->d[g]);                                   \
        }                                                                                      \
    }                                                                                          \
    LOOP(name, type, 2, fill_##name)

#define SAME(word) (word)
#define INTEGER_32(word) gantry__integer_32(word, lowest, range)
#define INTEGER_64(low, high) gantry__integer_64(low, high, lowest, range)

FILL_FOUR(uniform_f16, uint16_t, gantry__uniform_f16)
FILL_FOUR(uniform_bf16, uint16_t, gantry__uniform_bf16)
FILL_FOUR(uniform_f32, float, gantry__uniform_f32)
FILL_TWO(uniform_f64, double, gantry__uniform_f64)
FILL_FOUR(words_32, uint32_t, SAME)
FILL_TWO(words_64, uint64_t, gantry__two_words)
FILL_FOUR(integers_32, uint32_t, INTEGER_32)
FILL_TWO(integers_64, uint64_t, INTEGER_64)

static void normal_pairs_f32(const uint32_t *restrict first, const uint32_t *restrict second,
                             int64_t count, float *restrict sines, float *restrict cosines) {
    for (int64_t g = 0; g < count; ++g) {
        const float radius = gantry__radius_f32(first[g]);
        const float angle = gantry__angle_f32(second[g]);
        sines[g] = gantry__sin_4pi_f32(angle) * radius;
        cosines[g] = gantry__cos_4pi_f32(angle) * radius;
    }
}

/* Computes in float32 and rounds once. */
#define FILL_NORMAL(name, type, rounded)                                                       \
    static void fill_##name(const block_t *words, int64_t count, const gantry__k_draw_t *draw, \
                            type *to) {                                                        \
        float values[4][BLOCK];                                                                \
                                                                                               \
        (void)draw;                                                                            \
        normal_pairs_f32(words->a, words->b, count, values[0], values[1]);                     \
        normal_pairs_f32(words->c, words->d, count, values[2], values[3]);                     \
        for (int64_t g = 0; g < count; ++g) {                                                  \
            to[4 * g] = rounded(values[0][g]);                                                 \
            to[4 * g + 1] = rounded(values[1][g]);                                             \
            to[4 * g + 2] = rounded(values[2][g]);                                             \
            to[4 * g + 3] = rounded(values[3][g]);                                             \
        }                                                                                      \
    }                                                                                          \
    LOOP(name, type, 4, fill_##name)

FILL_NORMAL(normal_f16, uint16_t, gantry__f32_to_f16)
FILL_NORMAL(normal_bf16, uint16_t, gantry__f32_to_bf16)
FILL_NORMAL(normal_f32, float, SAME)

static void fill_normal_f64(const block_t *words, int64_t count, const gantry__k_draw_t *draw,
                            double *to) {
    (void)draw;
    for (int64_t g = 0; g < count; ++g) {
        gantry__normals_f64((gantry__words_t){words->a[g], words->b[g], words->c[g], words->d[g]},
                            to + 2 * g);
    }
}
LOOP(normal_f64, double, 2, fill_normal_f64)
