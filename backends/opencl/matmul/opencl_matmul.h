/* SPDX-License-Identifier: Apache-2.0 */
/* A MatMul or BatchMatMul call as plain numbers, read once for all of this backend's matrix
 * products.
 *
 * Owner: spans belong to the call. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_MATMUL_H
#define GANTRY_OPENCL_MATMUL_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

#include "kernels/matmul/matmul_epilogue.h"

/* The batch dimensions that may be left after those that run on are joined; a tensor has at most
 * 8. */
#define GANTRY__OPENCL_BATCH_RANK 6

/* c[i, j] = sum over p of a[i, p] * b[p, j], once per batch. Strides are in elements. */
typedef struct gantry__opencl_matmul_t {
    int32_t dtype;
    int32_t is_a_transposed; /* a is stored as k rows of m */
    int32_t is_b_transposed; /* b is stored as n rows of k */
    int64_t m;
    int64_t n;
    int64_t k;
    int32_t batch_rank; /* 0: one product */
    int64_t batch_count;
    int64_t groups; /* of a product of groups, which are its batch; 0: it is none */
    bool is_interleaved;
    int64_t batch_dims[GANTRY__OPENCL_BATCH_RANK];
    /* stride of a along each dimension; 0 where it is broadcast */
    int64_t a_batch[GANTRY__OPENCL_BATCH_RANK];
    int64_t b_batch[GANTRY__OPENCL_BATCH_RANK];
} gantry__opencl_matmul_t;

void gantry__opencl_matmul_read(const gantry_op_call_t *call, gantry__opencl_matmul_t *out_matmul);
/* The same of _GroupedMatMul or _FusedGroupedMatMul. */
void gantry__opencl_matmul_read_groups(const gantry_op_call_t *call,
                                       gantry__opencl_matmul_t *out_matmul);
/* Fills c with zeros, which a product over no elements is. */
int32_t gantry__opencl_matmul_clear(gantry_op_call_t *call);

/* The float32 lanes that the kernels for processors use on that device: 16, 8 or 4. */
int32_t gantry__opencl_lanes(const gantry_device_info_t *info);

/* ---- opencl_cpu_matmul.c and opencl_cpu_conv.c: products on processors ---- */

/* The register tile of opencl_cpu_tile.cl: mr rows of nr = vectors * lanes elements. */
typedef struct gantry__opencl_tile_t {
    int64_t mr;
    int64_t nr;
    int32_t lanes;
    int32_t vectors;
} gantry__opencl_tile_t;

gantry__opencl_tile_t gantry__opencl_tile(const gantry_device_info_t *info, int32_t dtype);
#define GANTRY__OPENCL_TILE_OPTION_BYTES 96
void gantry__opencl_tile_options(const gantry__opencl_tile_t *tile, int32_t dtype,
                                 char options[GANTRY__OPENCL_TILE_OPTION_BYTES]);
/* The same, and GANTRY_EPILOGUE. */
#define GANTRY__OPENCL_EPILOGUE_OPTION_BYTES (GANTRY__OPENCL_TILE_OPTION_BYTES + 32)
void gantry__opencl_epilogue_options(const gantry__opencl_tile_t *tile, int32_t dtype,
                                     const gantry__epilogue_t *epilogue,
                                     char options[GANTRY__OPENCL_EPILOGUE_OPTION_BYTES]);
/* The number of work-items among which so much work is divided; at least 1. */
int64_t gantry__opencl_tile_items(const gantry_device_info_t *info, double multiplications);
/* Launches a kernel over that many work-items, each of which is a group of its own. */
int32_t gantry__opencl_launch_items(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                                    int64_t items, const gantry_launch_arg_t *args,
                                    size_t arg_count);
/* supports() of their kernels. */
int32_t gantry__opencl_suits_processor(const gantry_op_call_t *call);

/* ---- opencl_cpu_dots.c: products with a narrow side, on processors ---- */

/* Whether the product is one of few rows or columns whose other operand runs along the sum. */
bool gantry__opencl_dots_fit(const gantry__opencl_matmul_t *matmul);
int32_t gantry__opencl_dots_compute(gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul);

/* ---- opencl_cpu_rows.c: products of a few rows, on processors ---- */

/* Whether the product is one of few rows or columns whose other operand runs across the sum. */
bool gantry__opencl_rows_fit(const gantry__opencl_matmul_t *matmul);
/* The same for a product that has an epilogue: its rows must be those of c. */
bool gantry__opencl_rows_fit_epilogue(const gantry__opencl_matmul_t *matmul);
int32_t gantry__opencl_rows_compute(gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul,
                                    const gantry__epilogue_t *epilogue);

/* ---- opencl_tensor_matmul.c: tensor cores by inline PTX ---- */

/* False if the choice is this kernel and the device cannot run it; reason then says why. */
bool gantry__opencl_tensor_fits(const gantry_device_info_t *info, int32_t choice, char *reason,
                                size_t reason_bytes);

#define GANTRY__OPENCL_TENSOR_OPTIONS \
    "-DGANTRY_SIDE=%d -DGANTRY_A_ALONG=%d -DGANTRY_B_ALONG=%d -DGANTRY_QUADS=%d -DGANTRY_EMULATED=%d"
extern const gantry_program_source_t gantry__opencl_tensor_source;

extern const gantry_kernel_def_t gantry__opencl_cpu_conv_kernel;
extern const gantry_kernel_def_t gantry__opencl_cpu_filter_kernel;
/* _FusedConvolveImages with a bias, a Relu, or both, on processors. */
extern const gantry_kernel_def_t gantry__opencl_cpu_fused_conv_kernel;

/* MatMul and BatchMatMul by CLBlast, by the kernel for processors, and by tensor cores. */
#define GANTRY__OPENCL_MATMUL_OPS 2
extern const gantry_kernel_def_t gantry__opencl_clblast_kernels[GANTRY__OPENCL_MATMUL_OPS];
extern const gantry_kernel_def_t gantry__opencl_cpu_matmul_kernels[GANTRY__OPENCL_MATMUL_OPS];
extern const gantry_kernel_def_t gantry__opencl_tensor_kernels[GANTRY__OPENCL_MATMUL_OPS];
/* _FusedMatMul with a bias, a Relu, or both, on processors. */
extern const gantry_kernel_def_t gantry__opencl_cpu_fused_kernel;
/* _GroupedMatMul and _FusedGroupedMatMul, on processors. */
extern const gantry_kernel_def_t gantry__opencl_cpu_grouped_kernel,
    gantry__opencl_cpu_fused_grouped_kernel;

#endif
