/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of matrix products. A product has the same bits from run to run on one machine. Between
 * instruction sets the last bit may differ, because a fused multiply-add rounds only once. */
#include <stdint.h>
#include <string.h>

#include "kernels/matmul/matmul_cpu.h"
#include "kernels/common/cpu_prefetch.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define MM_VECTOR_BYTES 64
#define MM_ROWS 12
#define MM_DOTS 4
#define FMA_F32(a, b, c) _mm512_fmadd_ps(a, b, c)
#define FMA_F64(a, b, c) _mm512_fmadd_pd(a, b, c)
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define MM_VECTOR_BYTES 32
#define MM_ROWS 6
#define MM_DOTS 2
#define FMA_F32(a, b, c) _mm256_fmadd_ps(a, b, c)
#define FMA_F64(a, b, c) _mm256_fmadd_pd(a, b, c)
#elif defined(__aarch64__)
#include <arm_neon.h>
#define MM_VECTOR_BYTES 16
#define MM_ROWS 12
#define MM_DOTS 4
#define FMA_F32(a, b, c) vfmaq_f32(c, a, b)
#define FMA_F64(a, b, c) vfmaq_f64(c, a, b)
#else
#define MM_VECTOR_BYTES 16
#define MM_ROWS 4
#define MM_DOTS 2
#define FMA_F32(a, b, c) ((c) + (a) * (b))
#define FMA_F64(a, b, c) ((c) + (a) * (b))
#endif

#define MM_NAME(x) x##_f32
#define MM_HAS_LINES 1
#define MM_T float
#define MM_FMA(a, b, c) FMA_F32(a, b, c)
#include "kernels/matmul/matmul_cpu_body.h"

#define MM_NAME(x) x##_f64
#define MM_HAS_LINES 1
#define MM_T double
#define MM_FMA(a, b, c) FMA_F64(a, b, c)
#include "kernels/matmul/matmul_cpu_body.h"

/* Unsigned types are used because their overflow wraps. */
#define MM_NAME(x) x##_i32
#define MM_HAS_LINES 0
#define MM_T uint32_t
#define MM_FMA(a, b, c) ((c) + (a) * (b))
#include "kernels/matmul/matmul_cpu_body.h"

#define MM_NAME(x) x##_i64
#define MM_HAS_LINES 0
#define MM_T uint64_t
#define MM_FMA(a, b, c) ((c) + (a) * (b))
#include "kernels/matmul/matmul_cpu_body.h"

const gantry__cpu_gemm_loops_t *GANTRY_CPU_NAME(gemm_loops)(int32_t dtype) {
    switch (dtype) {
        case GANTRY_FLOAT32: return &loops_f32;
        case GANTRY_FLOAT64: return &loops_f64;
        case GANTRY_INT32: return &loops_i32;
        case GANTRY_INT64: return &loops_i64;
        default: return NULL;
    }
}
