/* SPDX-License-Identifier: Apache-2.0 */
/* Vendor libraries for matrix products, opened at run time on first need: oneDNN and OpenBLAS.
 *
 * Who serves is chosen per size class: what was measured on this machine (cpu_tuned.h), else a
 * rule. A missing library costs nothing but its speed: our own loops (matmul_cpu.h) serve every
 * type and size.
 * Owner: whoever created the object; libraries stay loaded. Threads: thread-safe after create
 * and set_device. */
#ifndef GANTRY_KERNELS_CPU_BLAS_H
#define GANTRY_KERNELS_CPU_BLAS_H

#include <gantry/backend_abi.h>
#include <stdint.h>

#include "kernels/common/cpu_device.h"
#include "kernels/matmul/cpu_product.h"

int gantry__cpu_product_class(int64_t m, int64_t n, int64_t k);

/* Reads option GANTRY_CPU_MATMUL (auto, onednn, openblas, own); opens nothing yet.
 * ResourceExhausted when memory is out. simd_level says how good our own loops are here. */
int32_t gantry__cpu_blas_create(const gantry_host_t *host, int simd_level,
                                gantry__cpu_blas_t **out_blas);
/* For what device and how many wanted threads records are looked up; without it none are. info's
 * texts outlive blas. */
void gantry__cpu_blas_set_device(gantry__cpu_blas_t *blas, const gantry_device_info_t *info,
                                 uint32_t threads);
/* NULL is fine. */
void gantry__cpu_blas_release(gantry__cpu_blas_t *blas);

/* Opens what option and records ask for, once; returns GANTRY_CPU_BLAS_... that serves a float32
 * product of that size. */
int gantry__cpu_blas_choose(gantry__cpu_blas_t *blas, int64_t m, int64_t n, int64_t k);
/* 1 once they are opened: the line below is the last one then. */
int gantry__cpu_blas_is_open(gantry__cpu_blas_t *blas);
/* One line for listings: what serves and why, or what will be tried. Opens no library: one costs
 * milliseconds and megabytes. Valid as long as blas. */
const char *gantry__cpu_blas_library(gantry__cpu_blas_t *blas);

/* Row-major C[m, n] = op(A) op(B) with leading dimensions, on the calling thread alone, by a
 * library that choose named. Returns 0, or the library's own code. */
int32_t gantry__cpu_blas_sgemm(gantry__cpu_blas_t *blas, int library, int transpose_a,
                               int transpose_b, int64_t m, int64_t n, int64_t k, const float *a,
                               int64_t a_stride, const float *b, int64_t b_stride, float *c,
                               int64_t c_stride);

#endif
