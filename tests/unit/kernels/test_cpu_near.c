/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CPU backend's loops for Sin, Cos and Tan of float32, and Sin and Cos of float64,
 * give the portable text's bits for any contents of a block. */

#include "cpu/cpu_backend.h"
#include "kernels/elementwise/elementwise_cpu.h"
#include "math_text.h"
#include "test.h"

enum { COUNT = 5000 };

static float x[COUNT];
static float out[COUNT];
static double wide_x[COUNT];
static double wide_out[COUNT];

/* Blocks of near arguments, of far ones, and of near ones with one far, infinite or NaN among
 * them. */
static void fill_arguments(void) {
    static const uint32_t odd_ones[] = {0x44800000u, 0xc47fffffu, 0x7f800000u,
                                        0xff800000u, 0x7fc00000u, 0x7f7fffffu};
    uint32_t bits = 1;
    for (int i = 0; i < COUNT; ++i) {
        bits = bits * 1664525u + 1013904223u;
        float near = (float)(int32_t)bits * 0x1p-24f;
        x[i] = i < 700 ? near : i < 1500 ? GANTRY_AS_FLOAT(bits) : near * 7.9f;
        if (i > 2000 && i % 611 == 0) {
            x[i] = GANTRY_AS_FLOAT(odd_ones[i / 611 % 6]);
        }
    }
}

static void assert_loop(int row, float (*function)(float)) {
    static const int64_t counts[] = {0, 1, 255, 256, 257, COUNT};
    for (int level = 0; level <= gantry__cpu_simd_detect(NULL); ++level) {
        const gantry__cpu_loops_t *loops =
            &GANTRY_CPU_PICK(level, element_loops)(GANTRY_CPU_COLUMN_f32)[row];
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
            loops->dense(x, x, out, counts[c]);
            for (int64_t i = 0; i < counts[c]; ++i) {
                if (GANTRY_AS_UINT(out[i]) != GANTRY_AS_UINT(function(x[i]))) {
                    fail_msg("row %d, level %d, element %d of %d: x = %a gives %a, not %a", row,
                             level, (int)i, (int)counts[c], (double)x[i], (double)out[i],
                             (double)function(x[i]));
                }
            }
        }
    }
}

/* The same arguments times 2^10, the ratio of float64's limit to float32's. */
static void assert_wide_loop(int row, double (*function)(double)) {
    static const int64_t counts[] = {0, 1, 255, 256, 257, COUNT};
    for (int i = 0; i < COUNT; ++i) {
        wide_x[i] = (double)x[i] * 1024.0;
    }
    for (int level = 0; level <= gantry__cpu_simd_detect(NULL); ++level) {
        const gantry__cpu_loops_t *loops =
            &GANTRY_CPU_PICK(level, element_loops)(GANTRY_CPU_COLUMN_f64)[row];
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
            loops->dense(wide_x, wide_x, wide_out, counts[c]);
            for (int64_t i = 0; i < counts[c]; ++i) {
                if (GANTRY_AS_ULONG(wide_out[i]) != GANTRY_AS_ULONG(function(wide_x[i]))) {
                    fail_msg("row %d, level %d, element %d of %d: x = %a gives %a, not %a", row,
                             level, (int)i, (int)counts[c], wide_x[i], wide_out[i],
                             function(wide_x[i]));
                }
            }
        }
    }
}

TEST(sin_of_near_and_far_blocks_has_the_texts_bits) {
    assert_loop(GANTRY_K_ROW_Sin, gantry__sin_f32);
    assert_wide_loop(GANTRY_K_ROW_Sin, gantry__sin_f64);
}

TEST(cos_of_near_and_far_blocks_has_the_texts_bits) {
    assert_loop(GANTRY_K_ROW_Cos, gantry__cos_f32);
    assert_wide_loop(GANTRY_K_ROW_Cos, gantry__cos_f64);
}

TEST(tan_of_near_and_far_blocks_has_the_texts_bits) {
    assert_loop(GANTRY_K_ROW_Tan, gantry__tan_f32);
}

int main(void) {
    fill_arguments();
    return test_main();
}
