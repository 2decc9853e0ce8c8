/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of products of small integers. Words of two numbers of 16 bits serve every processor:
 * the instruction multiplies two pairs and adds them in 32 bits (PMADDWD), modulo 2^32. Bytes are
 * widened when they are packed. Words of four bytes need a processor that adds four products in
 * one instruction (AVX-512 VNNI, AVX-VNNI, Arm's dot product); none of these saturates. PMADDUBSW
 * does, so it is not used. */
#include <stdint.h>
#include <string.h>

#include "kernels/matmul/matmul_integer_cpu.h"

#if defined(__AVX512BW__)
#include <immintrin.h>
#define MI_BYTES 64
#define MI_ROWS 12
#elif defined(__AVX2__)
#include <immintrin.h>
#define MI_BYTES 32
#define MI_ROWS 6
#define MI_PAIRS_ARE_TUNED true /* most of its processors have no products of bytes */
#elif defined(__SSE2__)
#include <emmintrin.h>
#define MI_BYTES 16
#define MI_ROWS 4
#elif defined(__aarch64__)
#include <arm_neon.h>
#define MI_BYTES 16
#define MI_ROWS 12
#else
#define MI_BYTES 16
#define MI_ROWS 4
#endif

#define MI_LANES ((int)(MI_BYTES / sizeof(int32_t)))

#if !defined(MI_PAIRS_ARE_TUNED)
#define MI_PAIRS_ARE_TUNED false
#endif

typedef int32_t mi_vec_t __attribute__((vector_size(MI_BYTES)));
typedef int32_t mi_loose_t __attribute__((vector_size(MI_BYTES), aligned(1), may_alias));

static void mi_correct(int32_t *c, int64_t count, int32_t x, const int32_t *a, int32_t y,
                       const int32_t *b) {
    int64_t j = 0;
    for (; j + MI_LANES <= count; j += MI_LANES) {
        *(mi_loose_t *)(c + j) -=
            *(const mi_loose_t *)(a + j) * x + *(const mi_loose_t *)(b + j) * y;
    }
    for (; j < count; ++j) {
        c[j] =
            (int32_t)((uint32_t)c[j] - (uint32_t)x * (uint32_t)a[j] - (uint32_t)y * (uint32_t)b[j]);
    }
}

/* ---- packing ---- */

/* MI_LANES elements of neighbouring lines, widened. */
#define MI_WIDE(type, p) MI_WIDE_##type(p)
#if defined(__AVX512BW__)
#define MI_WIDE_uint8_t(p) ((mi_vec_t)_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p))))
#define MI_WIDE_int8_t(p) ((mi_vec_t)_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(p))))
#define MI_WIDE_int16_t(p) ((mi_vec_t)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)(p))))
#elif defined(__AVX2__)
#define MI_WIDE_uint8_t(p) ((mi_vec_t)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(p))))
#define MI_WIDE_int8_t(p) ((mi_vec_t)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(p))))
#define MI_WIDE_int16_t(p) ((mi_vec_t)_mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)(p))))
#else
#define MI_WIDE_uint8_t(p) ((mi_vec_t){(p)[0], (p)[1], (p)[2], (p)[3]})
#define MI_WIDE_int8_t MI_WIDE_uint8_t
#define MI_WIDE_int16_t MI_WIDE_uint8_t
#endif

/* Words from memory, whose first element must be in the low bits. */
#if GANTRY__IS_BIG_ENDIAN
typedef uint32_t mi_bits_t __attribute__((vector_size(MI_BYTES)));
#define MI_WORDS(words) ((mi_vec_t)((mi_bits_t)(words) << 16 | (mi_bits_t)(words) >> 16))
#else
#define MI_WORDS(words) (words)
#endif

/* MI_LANES words of contiguous elements. */
#define MI_WIDENED(type, p) MI_WIDENED_##type(p)
#if defined(__AVX512BW__)
#define MI_WIDENED_uint8_t(p) \
    ((mi_vec_t)_mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(p))))
#define MI_WIDENED_int8_t(p) ((mi_vec_t)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)(p))))
#elif defined(__AVX2__)
#define MI_WIDENED_uint8_t(p) ((mi_vec_t)_mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(p))))
#define MI_WIDENED_int8_t(p) ((mi_vec_t)_mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)(p))))
#else
typedef uint8_t mi_uint8_t __attribute__((vector_size(MI_BYTES / 2), aligned(1), may_alias));
typedef int8_t mi_int8_t __attribute__((vector_size(MI_BYTES / 2), aligned(1), may_alias));
typedef int16_t mi_halves_t __attribute__((vector_size(MI_BYTES)));
#define MI_WIDENED_OF(type, p) \
    MI_WORDS((mi_vec_t) __builtin_convertvector(*(const type *)(const void *)(p), mi_halves_t))
#define MI_WIDENED_uint8_t(p) MI_WIDENED_OF(mi_uint8_t, p)
#define MI_WIDENED_int8_t(p) MI_WIDENED_OF(mi_int8_t, p)
#endif
#define MI_COPIED(type, p) MI_WORDS(*(const mi_loose_t *)(const void *)(p))

#define MI_PAIR(p, along) ((uint32_t)(uint16_t)(p)[0] | (uint32_t)(uint16_t)(p)[along] << 16)
#define MI_PAIRS(type, p, along) ((MI_WIDE(type, p) & 0xffff) | MI_WIDE(type, (p) + (along)) << 16)

/* Packs the lines' whole words, and then the shorter one at the end. A line and a word are so many
 * words from the next one. WORD(p, along) is the word of the elements at p, p + along, ...; where
 * along is the constant 1, that is one load. WORDS is the same for MI_LANES neighbouring lines, and
 * LINE for MI_LANES words of a line. */
#define MI_DEFINE_PACK(name, type, GROUP, WORD, WORDS, LINE)                                   \
    static void name(const gantry__integer_lines_t *lines, int64_t count, int64_t line_step,   \
                     int64_t word_step, int64_t k, uint32_t flip, uint32_t *restrict target) { \
        const type *source = lines->elements;                                                  \
        const int64_t across = lines->across, along = lines->along, words = k / (GROUP);       \
        for (int64_t i = 0; along == 1 && i < count; ++i) {                                    \
            const type *line = source + i * across;                                            \
            uint32_t *restrict to = target + i * line_step;                                    \
            int64_t w = 0;                                                                     \
            for (; word_step == 1 && w + MI_LANES <= words; w += MI_LANES)                     \
                *(mi_loose_t *)(to + w) = LINE(type, line + w * (GROUP)) ^ (int32_t)flip;      \
            for (; w < words; ++w) to[w * word_step] = WORD(line + w * (GROUP), 1) ^ flip;     \
        }                                                                                      \
        for (int64_t w = 0; along != 1 && w < words; ++w) {                                    \
            const type *line = source + w * (GROUP)*along;                                     \
            uint32_t *restrict to = target + w * word_step;                                    \
            int64_t i = 0;                                                                     \
            for (; across == 1 && line_step == 1 && i + MI_LANES <= count; i += MI_LANES)      \
                *(mi_loose_t *)(to + i) = WORDS(type, line + i, along) ^ (int32_t)flip;        \
            for (; i < count; ++i) to[i * line_step] = WORD(line + i * across, along) ^ flip;  \
        }                                                                                      \
        for (int64_t i = 0; i < count && k % (GROUP) != 0; ++i) {                              \
            const uint32_t mask = UINT32_MAX >> (32 - 32 / (GROUP));                           \
            uint32_t word = 0;                                                                 \
            for (int64_t e = words * (GROUP); e < k; ++e) {                                    \
                const uint32_t element = (uint32_t)source[i * across + e * along] ^ flip;      \
                word |= (element & mask) << (uint32_t)(e % (GROUP)) * (32 / (GROUP));          \
            }                                                                                  \
            target[words * word_step + i * line_step] = word;                                  \
        }                                                                                      \
    }

MI_DEFINE_PACK(mi_pack_u8, uint8_t, 2, MI_PAIR, MI_PAIRS, MI_WIDENED)
MI_DEFINE_PACK(mi_pack_i8, int8_t, 2, MI_PAIR, MI_PAIRS, MI_WIDENED)
MI_DEFINE_PACK(mi_pack_i16, int16_t, 2, MI_PAIR, MI_PAIRS, MI_COPIED)

/* Where lines and words of a panel are. */
typedef struct mi_steps_t {
    int64_t line, word;
} mi_steps_t;

/* Clears the lines of a panel that do not exist. */
static mi_steps_t mi_begin_panel(int64_t count, int64_t width, bool is_plain, int64_t words,
                                 uint32_t *target) {
    const size_t left = (size_t)(width - count) * sizeof *target;
    for (int64_t w = 0; left && !is_plain && w < words; ++w)
        memset(target + w * width + count, 0, left);
    if (is_plain) memset(target + count * words, 0, left * (size_t)words);
    return is_plain ? (mi_steps_t){words, 1} : (mi_steps_t){1, width};
}

static void mi_pack_pairs(const gantry__integer_lines_t *lines, int64_t count, int64_t width,
                          bool is_plain, int64_t k, bool inverts, uint32_t *target) {
    const mi_steps_t step = mi_begin_panel(count, width, is_plain, (k + 1) / 2, target);
    (void)inverts;
    (lines->dtype == GANTRY_INT16  ? mi_pack_i16
     : lines->dtype == GANTRY_INT8 ? mi_pack_i8
                                   : mi_pack_u8)(lines, count, step.line, step.word, k, 0, target);
}

/* ---- two numbers of 16 bits ---- */

#define MI_NAME(x) mi_pairs_##x
#define MI_TARGET
#define MI_GROUP 2
#define MI_ONES 0x00010001u
#define MI_A_IS_UNSIGNED false
#define MI_PACK mi_pack_pairs
#define MI_IS_TUNED MI_PAIRS_ARE_TUNED
#if defined(__AVX512BW__)
#define MI_DOT(acc, a, b) ((acc) + (mi_vec_t)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)))
#elif defined(__AVX2__)
#define MI_DOT(acc, a, b) ((acc) + (mi_vec_t)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#elif defined(__SSE2__)
#define MI_DOT(acc, a, b) ((acc) + (mi_vec_t)_mm_madd_epi16((__m128i)(a), (__m128i)(b)))
#elif defined(__aarch64__)
static inline mi_vec_t mi_dot_pairs(mi_vec_t acc, mi_vec_t a, mi_vec_t b) {
    const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    return acc +
           (mi_vec_t)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}
#define MI_DOT(acc, a, b) mi_dot_pairs(acc, a, b)
#else
#define MI_DOT(acc, a, b) \
    ((acc) + ((a) << 16 >> 16) * ((b) << 16 >> 16) + ((a) >> 16) * ((b) >> 16))
#endif
#include "kernels/matmul/matmul_integer_cpu_body.h"

/* ---- four bytes ---- */

/* Compilers know AVX-VNNI since GCC 11 and Clang 12. */
#if defined(__AVX512BW__)
#define MI_TARGET __attribute__((target("avx512vnni")))
#define MI_A_IS_UNSIGNED true
#define MI_DOT(acc, a, b) \
    ((mi_vec_t)_mm512_dpbusd_epi32((__m512i)(acc), (__m512i)(a), (__m512i)(b)))
#elif defined(__AVX2__) && ((defined(__clang__) && __clang_major__ >= 12) || \
                            (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 11))
#define MI_TARGET __attribute__((target("avxvnni")))
#define MI_A_IS_UNSIGNED true
#define MI_DOT(acc, a, b) \
    ((mi_vec_t)_mm256_dpbusd_avx_epi32((__m256i)(acc), (__m256i)(a), (__m256i)(b)))
#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__)
#define MI_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#define MI_A_IS_UNSIGNED false
#define MI_DOT(acc, a, b) ((mi_vec_t)vdotq_s32((int32x4_t)(acc), (int8x16_t)(a), (int8x16_t)(b)))
#endif

#if defined(MI_DOT)
static inline uint32_t mi_bytes(const uint8_t *p, int64_t along) {
    return p[0] | (uint32_t)p[along] << 8 | (uint32_t)p[2 * along] << 16 |
           (uint32_t)p[3 * along] << 24;
}
#define MI_FOURS_OF(type, p, along)                         \
    (MI_WIDE(type, p) | MI_WIDE(type, (p) + (along)) << 8 | \
     MI_WIDE(type, (p) + 2 * (along)) << 16 | MI_WIDE(type, (p) + 3 * (along)) << 24)
MI_DEFINE_PACK(mi_pack_bytes, uint8_t, 4, mi_bytes, MI_FOURS_OF, MI_COPIED)

static void mi_pack_fours(const gantry__integer_lines_t *lines, int64_t count, int64_t width,
                          bool is_plain, int64_t k, bool inverts, uint32_t *target) {
    const mi_steps_t step = mi_begin_panel(count, width, is_plain, (k + 3) / 4, target);
    mi_pack_bytes(lines, count, step.line, step.word, k, inverts ? 0x80808080u : 0, target);
}

#define MI_NAME(x) mi_fours_##x
#define MI_GROUP 4
#define MI_ONES 0x01010101u
#define MI_PACK mi_pack_fours
#define MI_IS_TUNED false
#include "kernels/matmul/matmul_integer_cpu_body.h"
#define MI_FOURS &mi_fours_loops
#else
#define MI_FOURS NULL
#endif

const gantry__integer_loops_t *GANTRY_CPU_NAME(integer_loops)(int32_t dtype, bool has_dots) {
    const gantry__integer_loops_t *fours = MI_FOURS;
    return has_dots && fours && gantry__k_size(dtype) == 1 ? fours : &mi_pairs_loops;
}
