/* Loops of the random family for one instruction set (see cpu_simd.h). A block's words are made first and stored by
 * kind of word, so that both that loop and the ones that use the words become vector code. */
#include "cpu/cpu_random.h"

#include "portable/kernels/dialect.cl"
#include "portable/kernels/math_float32.cl"
#include "portable/kernels/math_float64.cl"
#include "portable/kernels/philox.cl"

#define BLOCK 128 /* groups: the words of a block are 2 KiB */

typedef struct block_t {
    uint32_t a[BLOCK], b[BLOCK], c[BLOCK], d[BLOCK];
} block_t;

static int64_t make_words(const gantry_k_stream_t *stream, int64_t group, int64_t groups, block_t *out)
{
    const int64_t count = groups < BLOCK ? groups : BLOCK;
    const uint64_t low = stream->low;
    const uint64_t high = stream->high;
    const uint32_t key0 = stream->key0;
    const uint32_t key1 = stream->key1;

    for (int64_t g = 0; g < count; g++) {
        const gantry_words_t w = gantry_philox(low, high, (uint64_t)(group + g), key0, key1);
        out->a[g] = w.a;
        out->b[g] = w.b;
        out->c[g] = w.c;
        out->d[g] = w.d;
    }
    return count;
}

void GANTRY_CPU_NAME(uniform_f32)(const gantry_k_stream_t *stream, int64_t first, int64_t groups, float *out)
{
    block_t words;

    while (groups > 0) {
        const int64_t count = make_words(stream, first, groups, &words);
        for (int64_t g = 0; g < count; g++) {
            out[4 * g] = gantry_uniform_f32(words.a[g]);
            out[4 * g + 1] = gantry_uniform_f32(words.b[g]);
            out[4 * g + 2] = gantry_uniform_f32(words.c[g]);
            out[4 * g + 3] = gantry_uniform_f32(words.d[g]);
        }
        first += count;
        groups -= count;
        out += 4 * count;
    }
}

void GANTRY_CPU_NAME(uniform_f64)(const gantry_k_stream_t *stream, int64_t first, int64_t groups, double *out)
{
    block_t words;

    while (groups > 0) {
        const int64_t count = make_words(stream, first, groups, &words);
        for (int64_t g = 0; g < count; g++) {
            out[2 * g] = gantry_uniform_f64(words.a[g], words.b[g]);
            out[2 * g + 1] = gantry_uniform_f64(words.c[g], words.d[g]);
        }
        first += count;
        groups -= count;
        out += 2 * count;
    }
}

static void normal_pairs_f32(const uint32_t *restrict first, const uint32_t *restrict second, int64_t count,
                             float *restrict sines, float *restrict cosines)
{
    for (int64_t g = 0; g < count; g++) {
        const float radius = gantry_radius_f32(first[g]);
        const float angle = gantry_angle_f32(second[g]);
        sines[g] = gantry_sin_4pi_f32(angle) * radius;
        cosines[g] = gantry_cos_4pi_f32(angle) * radius;
    }
}

void GANTRY_CPU_NAME(normal_f32)(const gantry_k_stream_t *stream, int64_t first, int64_t groups, float *out)
{
    block_t words;
    float values[4][BLOCK];

    while (groups > 0) {
        const int64_t count = make_words(stream, first, groups, &words);
        normal_pairs_f32(words.a, words.b, count, values[0], values[1]);
        normal_pairs_f32(words.c, words.d, count, values[2], values[3]);
        for (int64_t g = 0; g < count; g++) {
            out[4 * g] = values[0][g];
            out[4 * g + 1] = values[1][g];
            out[4 * g + 2] = values[2][g];
            out[4 * g + 3] = values[3][g];
        }
        first += count;
        groups -= count;
        out += 4 * count;
    }
}

void GANTRY_CPU_NAME(normal_f64)(const gantry_k_stream_t *stream, int64_t first, int64_t groups, double *out)
{
    block_t words;

    while (groups > 0) {
        const int64_t count = make_words(stream, first, groups, &words);
        for (int64_t g = 0; g < count; g++) {
            const double radius = gantry_radius_f64(gantry_uniform_f64(words.a[g], words.b[g]));
            const double angle = 6.283185307179586 * gantry_uniform_f64(words.c[g], words.d[g]);
            out[2 * g] = gantry_sin_4pi_f64(angle) * radius;
            out[2 * g + 1] = gantry_cos_4pi_f64(angle) * radius;
        }
        first += count;
        groups -= count;
        out += 2 * count;
    }
}
