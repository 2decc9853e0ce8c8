/* SPDX-License-Identifier: Apache-2.0 */
/* One source, three instruction sets: files named *_simd.c are compiled once per variant with
 * -DGANTRY_CPU_VARIANT=base, avx2 or avx512 (on machines that are not x86-64: base alone), and the
 * code that calls them picks by the device's level.
 *
 *     in a header:       GANTRY_CPU_DECLARE(void, sum_f32, (const float *x, int64_t n, float
 *                        *out));
 *     in x_simd.c:       void GANTRY_CPU_NAME(sum_f32)(const float *x, int64_t n, float *out) { ...
 *                        }
 *     where it is used:  GANTRY_CPU_PICK(level, sum_f32)(x, n, out);
 *
 * All variants give the same bits: no contraction, no reassociation, the order of sums fixed by the
 * algorithm.
 * Not here: other ways of dispatch. No state; thread-safe. */
#ifndef GANTRY_KERNELS_CPU_SIMD_H
#define GANTRY_KERNELS_CPU_SIMD_H

enum { GANTRY_CPU_BASE = 0, GANTRY_CPU_AVX2 = 1, GANTRY_CPU_AVX512 = 2 };

#define GANTRY_CPU_PASTE_(name, variant) gantry__cpu_##name##_##variant
#define GANTRY_CPU_PASTE(name, variant) GANTRY_CPU_PASTE_(name, variant)
#ifdef GANTRY_CPU_VARIANT
#define GANTRY_CPU_NAME(name) GANTRY_CPU_PASTE(name, GANTRY_CPU_VARIANT)
#endif

/* In front of a loop whose rounds do not touch what another one does: vector code without a test
 * for overlap. */
#if defined(__GNUC__) && !defined(__clang__)
#define GANTRY_INDEPENDENT _Pragma("GCC ivdep")
#else
#define GANTRY_INDEPENDENT
#endif

/* In front of a loop over lanes of a constant number, which are to be those of vectors whatever the
 * loop's cost seems; of one that adds them up in `sum`. */
#if defined(GANTRY_HAS_OPENMP_SIMD)
#define GANTRY_PRAGMA(text) _Pragma(#text)
#define GANTRY_LANES GANTRY_PRAGMA(omp simd)
#define GANTRY_LANES_SUM(sum) GANTRY_PRAGMA(omp simd reduction(+ : sum))
#else
#define GANTRY_LANES GANTRY_INDEPENDENT
#define GANTRY_LANES_SUM(sum)
#endif

/* The build may have one set alone (GANTRY_CPU_SIMD_BUILD), which is then the base. */
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
