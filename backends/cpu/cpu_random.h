/* The vector loops of the random family: what cpu_random.c and cpu_random_simd.c share. Constant data; thread-safe. */
#ifndef GANTRY_CPU_RANDOM_H
#define GANTRY_CPU_RANDOM_H

#include "cpu/cpu_kernels.h"
#include "portable/random_seed.h"

/* Writes groups [first, first + groups) of the stream to out: four float32 or two float64 values each. */
GANTRY_CPU_DECLARE(void, uniform_f32, (const gantry_k_stream_t *stream, int64_t first, int64_t groups, float *out));
GANTRY_CPU_DECLARE(void, uniform_f64, (const gantry_k_stream_t *stream, int64_t first, int64_t groups, double *out));
GANTRY_CPU_DECLARE(void, normal_f32, (const gantry_k_stream_t *stream, int64_t first, int64_t groups, float *out));
GANTRY_CPU_DECLARE(void, normal_f64, (const gantry_k_stream_t *stream, int64_t first, int64_t groups, double *out));

#endif
