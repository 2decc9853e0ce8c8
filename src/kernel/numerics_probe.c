/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/numerics_probe.h"

#include <stdio.h>

/* One text for OpenCL C and CUDA C. Each operand depends on the argument `one`, so that the
 * compiler can compute nothing in advance. */
static const char *const numerics_text[] = {
    "/* kernel gantry_numerics (of one work-item): writes 40 words */\n"
    "#if defined(__OPENCL_VERSION__)\n"
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#define FLOAT(bits) as_float((uint)(bits) ^ twist)\n"
    "#define WORD(value) *out++ = as_uint(value)\n"
    "#define FLAG(condition) *out++ = (condition) ? 1u : 0u\n"
    "#define ROOT(value) sqrt(value)\n"
    "#define FUSED(a, b, c) fma(a, b, c)\n"
    "#if defined(cl_khr_fp64)\n"
    "#define DOUBLE(bits) as_double((ulong)(bits) ^ (ulong)twist)\n"
    "#define WORDS(value) *out++ = (uint)(as_ulong(value) >> 32), *out++ = (uint)as_ulong(value)\n"
    "#define FUSED_DOUBLE(a, b, c) fma(a, b, c)\n"
    "#endif\n"
    "__kernel void gantry_numerics(__global uchar *base, const ulong offset, const uint one) {\n"
    "    __global uint *out = (__global uint *)(base + offset);\n"
    "    const uint twist = one ^ 0x3f800000u;\n"
    "#else\n"
    "#define FLOAT(bits) __uint_as_float((unsigned int)(bits) ^ twist)\n"
    "#define WORD(value) *out++ = __float_as_uint(value)\n"
    "#define FLAG(condition) *out++ = (condition) ? 1u : 0u\n"
    "#define ROOT(value) sqrtf(value)\n"
    "#define FUSED(a, b, c) __fmaf_rn(a, b, c)\n"
    "#define DOUBLE(bits) __longlong_as_double((long long)(bits) ^ (long long)twist)\n"
    "#define BITS(value) ((unsigned long long)__double_as_longlong(value))\n"
    "#define WORDS(value) *out++ = (unsigned int)(BITS(value) >> 32), *out++ = (unsigned int)BITS(value)\n"
    "#define FUSED_DOUBLE(a, b, c) __fma_rn(a, b, c)\n"
    "extern \"C\" __global__ void gantry_numerics(unsigned char *base, const unsigned long long offset, const unsigned int one) {\n"
    "    unsigned int *out = (unsigned int *)(base + offset);\n"
    "    const unsigned int twist = one ^ 0x3f800000u;\n"
    "#endif\n"
    "    const float a = FLOAT(0x3f800800), b = FLOAT(0x3f800801), tiny = FLOAT(0x00800000);\n"
    "    const float zero = FLOAT(0), endless = FLOAT(0x7f800000), quiet = FLOAT(0x7fc00000);\n"
    "    WORD(a * a + FLOAT(0xbf801000));\n"
    "    WORD(FLOAT(0x3f801000) - a * a);\n"
    "    WORD(FLOAT(0x3dcccccd) * FLOAT(0x41200000) + FLOAT(0xbf800000));\n"
    "    WORD(b * b - FLOAT(0x3f801003));\n"
    "    WORD(FLOAT(0x3f800000) / FLOAT(0x40400000));\n"
    "    WORD(FLOAT(0x3f800000) / FLOAT(0x41200000));\n"
    "    WORD(FLOAT(0x40a00000) / FLOAT(0x40e00000));\n"
    "    WORD(FLOAT(0x3f800000) / FLOAT(0x42440000));\n"
    "    WORD(FLOAT(0x41200000) / FLOAT(0x40400000));\n"
    "    WORD(FLOAT(0x40000000) / FLOAT(0x42240000));\n"
    "    WORD(ROOT(FLOAT(0x40000000)));\n"
    "    WORD(ROOT(FLOAT(0x40400000)));\n"
    "    WORD(ROOT(FLOAT(0x3f000000)));\n"
    "    WORD(ROOT(FLOAT(0x501502f9)));\n"
    "    WORD(tiny * FLOAT(0x3f000000));\n"
    "    WORD(FLOAT(0x00400000) * FLOAT(0x40000000));\n"
    "    WORD(FLOAT(0x00000001) + FLOAT(0x00000001));\n"
    "    WORD(tiny - FLOAT(0x00800001));\n"
    "    WORD(FLOAT(0x00800001) * FLOAT(0x3f000000));\n"
    "    WORD(FLOAT(0x1e3ce508) * FLOAT(0x1e3ce508));\n"
    "    FLAG(FLOAT(0x00000001) > zero);\n"
    "    WORD(FLOAT(0x00400000) / FLOAT(0x3f800000));\n"
    "    FLAG(quiet != quiet);\n"
    "    FLAG(quiet < FLOAT(0x3f800000));\n"
    "    FLAG(endless - endless != endless - endless);\n"
    "    FLAG(zero * endless != zero * endless);\n"
    "    WORD(FLOAT(0x3f800000) / zero);\n"
    "    WORD(FLOAT(0x7f000000) * FLOAT(0x40800000));\n"
    "    WORD(zero * FLOAT(0xbf800000));\n"
    "    WORD(FLOAT(0x80000000) + zero);\n"
    "    WORD(FLOAT(0x4b800001) + FLOAT(0x3f800000));\n"
    "    WORD(FLOAT(0x4b800000) + FLOAT(0x3f800000));\n"
    "    WORD(FUSED(a, a, FLOAT(0xbf801000)));\n"
    "    WORD(FUSED(FLOAT(0x3f800001), FLOAT(0x3ffffffe), FLOAT(0x4c000001)));\n"
    "#if defined(DOUBLE)\n"
    "    const double d = DOUBLE(0x3ff0000002000000), m = DOUBLE(0xbff0000004000000);\n"
    "    WORDS(d * d + m);\n"
    "    WORDS(FUSED_DOUBLE(d, d, m));\n"
    "    WORDS(FUSED_DOUBLE(DOUBLE(0x3ff0000000000001), DOUBLE(0x3ffffffffffffffe), DOUBLE(0x4350000000000001)));\n"
    "#else\n"
    "    *out++ = 0; *out++ = 0; *out++ = 0x3c900000u; *out++ = 0; *out++ = 0x43500000u; *out++ = 1;\n"
    "#endif\n"
    "}\n"};

const gantry_program_source_t gantry__numerics_source = {
    .struct_size = sizeof gantry__numerics_source,
    .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
    .label = "core/numerics_probe",
    .parts = numerics_text,
    .part_count = 1,
};

/* The kinds of words, in their order. */
static const struct {
    uint32_t count;
    const char *fault;
} kinds[] = {
    {4, "a * b + c is rounded once"},
    {6, "quotients are not rounded correctly"},
    {4, "square roots are not rounded correctly"},
    {8, "denormals are flushed"},
    {6, "infinity and NaN do not follow IEEE 754"},
    {2, "zero loses its sign"},
    {2, "sums are not rounded to nearest"},
    {2, "fma is not rounded once"},
    {2, "a * b + c of float64 is rounded once"},
    {4, "fma of float64 is not rounded once"},
};

static const uint32_t right[GANTRY__NUMERICS_WORDS] =
    {
        0,          0,          0,          0, /* products and sums, not fused */
        0x3eaaaaab, 0x3dcccccd, 0x3f36db6e, 0x3ca72f05, 0x40555555,
        0x3d47ce0c, 0x3fb504f3, 0x3fddb3d7, 0x3f3504f3, 0x47c35000, /* roots */
        0x00400000, 0x00800000, 0x00000002, 0x80000001, 0x00400000,
        0x000116c2, 1,          0x00400000, 1,          0,
        1,          1,          0x7f800000, 0x7f800000, /* infinity, NaN */
        0x80000000, 0,          0x4b800002, 0x4b800000, 0x33800000,
        0x4c000001,    /* fma; the second is 0x4c000002 if computed in double */
        0,          0, /* float64: not fused */
        0x3c900000, 0,          0x43500000, 1, /* fma; the second is more if rounded twice */
};

void gantry__numerics_judge(const uint32_t words[GANTRY__NUMERICS_WORDS], char *out,
                            size_t out_bytes) {
    uint32_t first = 0;
    size_t used = 0;
    out[0] = '\0';
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
        uint32_t wrong = 0;
        for (uint32_t i = first; i < first + kinds[k].count; ++i) wrong += words[i] != right[i];
        first += kinds[k].count;
        if (wrong == 0 || used >= out_bytes) continue;
        used += (size_t)snprintf(
            out + used, out_bytes - used, "%s%s",
            used > 0 ? ", " : "its results may differ from other devices': ", kinds[k].fault);
    }
}
