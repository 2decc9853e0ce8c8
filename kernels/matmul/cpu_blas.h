/* SPDX-License-Identifier: Apache-2.0 */
/* Vendor libraries for matrix products, opened at run time on first need: oneDNN and OpenBLAS.
 *
 * The choice is made for each size class: by the measurements of this machine (cpu_tuned.h), else
 * by a rule. A missing library costs only speed, because our own loops (matmul_cpu.h) serve every
 * type and size. Owner: the creator must release the object; libraries stay loaded. Threads:
 * thread-safe after create and set_device. */
#ifndef GANTRY_KERNELS_CPU_BLAS_H
#define GANTRY_KERNELS_CPU_BLAS_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/common/cpu_device.h"
#include "kernels/matmul/cpu_product.h"

int gantry__cpu_product_class(int64_t m, int64_t n, int64_t k);

/* Reads option GANTRY_CPU_MATMUL (auto, onednn, openblas, own); opens no library yet. simd_level
 * must be that of our own loops. Returns ResourceExhausted when memory runs out. */
int32_t gantry__cpu_blas_create(const gantry_host_t *host, int simd_level,
                                gantry__cpu_blas_t **out_blas);
/* Sets the device and the number of threads whose records are looked up; without this call none
 * are. The caller must keep info's texts as long as blas, and must not call while another thread
 * uses blas. */
void gantry__cpu_blas_set_device(gantry__cpu_blas_t *blas, const gantry_device_info_t *info,
                                 uint32_t threads);
/* Releases the object; NULL is accepted. */
void gantry__cpu_blas_release(gantry__cpu_blas_t *blas);

/* Opens the libraries that the option and the records name, once. Returns the GANTRY_CPU_BLAS_...
 * that serves a float32 product of this size. */
int gantry__cpu_blas_choose(gantry__cpu_blas_t *blas, int64_t m, int64_t n, int64_t k);
/* The same for a product whose rows of B are contiguous and b_row elements apart; 0: they are
 * not. */
int gantry__cpu_blas_choose_rows(gantry__cpu_blas_t *blas, int64_t m, int64_t n, int64_t k,
                                 int64_t b_row);
/* Whether neither the option nor a record says what serves products of this size, so that a rule
 * may. Opens no library. */
bool gantry__cpu_blas_has_no_wish(gantry__cpu_blas_t *blas, int64_t m, int64_t n, int64_t k);
/* Whether the libraries are open. From then on the line below does not change. */
bool gantry__cpu_blas_is_open(gantry__cpu_blas_t *blas);
/* One line for listings: which library serves and why, or which will be tried. Opens no library,
 * because that costs milliseconds and megabytes. The text lives as long as blas. */
const char *gantry__cpu_blas_library(gantry__cpu_blas_t *blas);

/* Computes row-major C[m, n] = op(A) op(B) with leading dimensions, only on the calling thread.
 * library must be one that choose returned. Returns 0, or the library's own code. */
int32_t gantry__cpu_blas_sgemm(gantry__cpu_blas_t *blas, int library, bool transpose_a,
                               bool transpose_b, int64_t m, int64_t n, int64_t k, const float *a,
                               int64_t a_stride, const float *b, int64_t b_stride, float *c,
                               int64_t c_stride);

#endif
