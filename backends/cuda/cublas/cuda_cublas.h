/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLASLt, the matrix products of NVIDIA's cards, opened at run time.
 *
 * cuBLASLt by itself is enough: it takes a workspace, a stream and nothing of the CUDA runtime's
 * state but the current context.
 *
 * Owner: the instance holds the table; the library stays loaded. Threads: the
 * instance's lock must guard the opening; the table is constant afterwards. */
#ifndef GANTRY_CUDA_CUBLAS_H
#define GANTRY_CUDA_CUBLAS_H

#include <gantry/backend_abi.h>

#include "cuda/cublas/cuda_cublas_api.h"
#include "cuda/cuda_driver.h"

/* Opens option GANTRY_CUDA_CUBLAS when set, else libcublasLt.so.13, .12; the older one first if
 * wants_12. cublas then says whether it can be used with the driver cu, and if not, why. */
void gantry__cublas_open(const gantry_host_t *host, const gantry__cuda_symbols_t *cu, bool wants_12,
                         gantry__cublas_t *cublas);

const char *gantry__cublas_status_name(gantry__cublas_status_t native);

#define GANTRY__CUBLAS_OPS 2
/* MatMul and BatchMatMul. */
extern const gantry_kernel_def_t gantry__cublas_kernels[GANTRY__CUBLAS_OPS];
/* _FusedMatMul with a bias, a Relu, or both. */
extern const gantry_kernel_def_t gantry__cublas_fused_kernel;

#endif
