/* Vendor libraries for matrix products, opened at run time on first need: oneDNN and OpenBLAS.
 *
 * A missing library costs nothing but its speed: our own loops (cpu_matmul.h) serve every type and size.
 * Owner: whoever created the object; libraries stay loaded. Threads: thread-safe after create. */
#ifndef GANTRY_CPU_BLAS_H
#define GANTRY_CPU_BLAS_H

#include <gantry/backend_abi.h>
#include <stdint.h>

typedef struct gantry__cpu_blas_t gantry__cpu_blas_t;

enum { GANTRY_CPU_BLAS_OWN = 0, GANTRY_CPU_BLAS_ONEDNN = 1, GANTRY_CPU_BLAS_OPENBLAS = 2 };

/* Reads option GANTRY_CPU_MATMUL (auto, onednn, openblas, own); opens nothing yet. ResourceExhausted when memory is
 * out. simd_level says how good our own loops are here. */
int32_t gantry__cpu_blas_create(const gantry_host_t *host, int simd_level, gantry__cpu_blas_t **out_blas);
/* NULL is fine. */
void gantry__cpu_blas_release(gantry__cpu_blas_t *blas);

/* Opens what the option asks for, once; returns GANTRY_CPU_BLAS_... that will serve float32 products. */
int gantry__cpu_blas_open(gantry__cpu_blas_t *blas);
/* One line for listings: what serves and why, or what will be tried. Opens nothing: a library costs milliseconds and
 * megabytes. Valid as long as blas. */
const char *gantry__cpu_blas_library(gantry__cpu_blas_t *blas);

/* Row-major C[m, n] = op(A) op(B) with leading dimensions, on the calling thread alone. The library has been opened.
 * Returns 0, or the library's own code. */
int32_t gantry__cpu_blas_sgemm(gantry__cpu_blas_t *blas, int transpose_a, int transpose_b, int64_t m, int64_t n,
                               int64_t k, const float *a, int64_t a_stride, const float *b, int64_t b_stride, float *c,
                               int64_t c_stride);

#endif
