/* SPDX-License-Identifier: Apache-2.0 */
/* One source, three instruction sets: files named *_simd.c are compiled once per variant with
 * -DGANTRY_CPU_VARIANT=base, avx2 or avx512 (only base if the machine is not x86-64). Callers
 * choose by the level of the device.
 *
 *     in a header:       GANTRY_CPU_DECLARE(void, add_f32, (float *x, int64_t n, float y));
 *     in x_simd.c:       void GANTRY_CPU_NAME(add_f32)(float *x, int64_t n, float y) { ... }
 *     where it is used:  GANTRY_CPU_PICK(level, add_f32)(x, n, y);
 *
 * All variants give the same bits: no contraction, no reassociation, and the algorithm fixes the
 * order of sums.
 *
 * Not here: other ways of dispatch. Owner: nothing, there is no state. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_SIMD_H
#define GANTRY_KERNELS_CPU_SIMD_H

enum { GANTRY_CPU_BASE = 0, GANTRY_CPU_AVX2 = 1, GANTRY_CPU_AVX512 = 2 };

#define GANTRY_CPU_PASTE_(name, variant) gantry__cpu_##name##_##variant
#define GANTRY_CPU_PASTE(name, variant) GANTRY_CPU_PASTE_(name, variant)
#ifdef GANTRY_CPU_VARIANT
#define GANTRY_CPU_NAME(name) GANTRY_CPU_PASTE(name, GANTRY_CPU_VARIANT)
/* The speed of a short loop depends on its place in a cache line. The code of each file begins at a
 * line, so that the sizes of other files do not move its loops. */
#if defined(__GNUC__)
__asm__(".text\n.p2align 6");
#endif
#endif

/* Comes before a loop, and makes vector code without a test for overlap. The loop's iterations must
 * be independent of each other. */
#if defined(__GNUC__) && !defined(__clang__)
#define GANTRY_INDEPENDENT _Pragma("GCC ivdep")
#else
#define GANTRY_INDEPENDENT
#endif

/* Comes before a loop over a constant number of lanes, and makes vectors of the lanes whatever the
 * compiler's cost model says. A loop that adds the lanes up in `sum` must take
 * GANTRY_LANES_SUM(sum) instead. */
#if defined(GANTRY_HAS_OPENMP_SIMD)
#define GANTRY_PRAGMA(text) _Pragma(#text)
#define GANTRY_LANES GANTRY_PRAGMA(omp simd)
#define GANTRY_LANES_SUM(sum) GANTRY_PRAGMA(omp simd reduction(+ : sum))
#else
#define GANTRY_LANES GANTRY_INDEPENDENT
#define GANTRY_LANES_SUM(sum)
#endif

/* A build may have only one instruction set (GANTRY_CPU_SIMD_BUILD), which is then the base. */
#if defined(__x86_64__) && !defined(GANTRY_CPU_ONLY_SET)
#define GANTRY_CPU_HAS_VARIANTS 1
#define GANTRY_CPU_DECLARE(result, name, parameters) \
    result gantry__cpu_##name##_base parameters;     \
    result gantry__cpu_##name##_avx2 parameters;     \
    result gantry__cpu_##name##_avx512 parameters
#define GANTRY_CPU_PICK(level, name)                            \
    ((level) >= GANTRY_CPU_AVX512 ? gantry__cpu_##name##_avx512 \
     : (level) == GANTRY_CPU_AVX2 ? gantry__cpu_##name##_avx2   \
                                  : gantry__cpu_##name##_base)
#else
#define GANTRY_CPU_HAS_VARIANTS 0
#define GANTRY_CPU_DECLARE(result, name, parameters) result gantry__cpu_##name##_base parameters
#define GANTRY_CPU_PICK(level, name) ((void)(level), gantry__cpu_##name##_base)
#endif

#endif
