/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the kernels' instruction set: the best one that is built in, that the processor has and
 * that the user allows. Finds out whether it has products of bytes, too. */
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/os/processor.h"
#include "cpu/cpu_backend.h"

static const char *const level_names[] = {"base", "avx2", "avx512"};

/* The instruction set that a processor must have: the one set of a build, or the least of
 * several. */
#ifdef GANTRY_CPU_ONLY_SET
#define LEAST_SET GANTRY_CPU_ONLY_SET
#else
#define LEAST_SET GANTRY_CPU_BASE
#endif

const char *gantry__cpu_simd_name(int level) {
    return level >= 0 && level <= GANTRY_CPU_AVX512 ? level_names[level] : "unknown";
}

#if defined(__x86_64__)
/* Clang before 15 does not know this feature's name, so the processor itself is read. */
static bool has_f16c(void) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}
#endif

static int processor_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2") || !has_f16c())
        return GANTRY_CPU_BASE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return GANTRY_CPU_AVX512;
    return GANTRY_CPU_AVX2;
#else
    return GANTRY_CPU_BASE;
#endif
}

#if defined(__x86_64__)
/* Compilers know the name of AVX-VNNI later than its instructions. */
static bool has_avx_vnni(void) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & 1u << 4) != 0;
}
#endif

bool gantry__cpu_dots_detect(int level) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (level >= GANTRY_CPU_AVX512) return __builtin_cpu_supports("avx512vnni");
    return level == GANTRY_CPU_AVX2 && has_avx_vnni();
#else
    (void)level;
    return gantry__os_processor_has_dots();
#endif
}

const char *gantry__cpu_simd_missing(void) {
    return processor_level() < LEAST_SET ? level_names[LEAST_SET] : NULL;
}

int gantry__cpu_simd_detect(const char *option) {
    const int level = GANTRY_CPU_HAS_VARIANTS ? processor_level() : LEAST_SET;
    for (int i = LEAST_SET; option && i < level; ++i)
        if (strcmp(option, level_names[i]) == 0) return i;
    return level;
}
