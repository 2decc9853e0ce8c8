/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/cpu_backend.h"

#include <string.h>

static const char *const level_names[] = {"base", "avx2", "avx512"};

const char *gantry__cpu_simd_name(int level) {
    return level >= 0 && level <= GANTRY_CPU_AVX512 ? level_names[level] : "unknown";
}

static int machine_level(void) {
#if GANTRY_CPU_HAS_VARIANTS
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("f16c")) {
        return GANTRY_CPU_BASE;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return GANTRY_CPU_AVX512;
    }
    return GANTRY_CPU_AVX2;
#else
    return GANTRY_CPU_BASE;
#endif
}

int gantry__cpu_simd_detect(const char *option) {
    int level = machine_level();

    for (int i = 0; option != NULL && i < level; ++i) {
        if (strcmp(option, level_names[i]) == 0) {
            return i;
        }
    }
    return level;
}
