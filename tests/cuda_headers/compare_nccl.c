/* SPDX-License-Identifier: Apache-2.0 */
/* Compares backends/cuda/cuda_nccl.h with NVIDIA's nccl.h. Compiled, never run. */
#include <nccl.h>

#include "cuda/cuda_nccl.h"
#include "compare.h"

#define SAME(function, parameters) SAME_FUNCTION(gantry__nccl_result_t, function, parameters)
GANTRY__NCCL_FUNCTIONS(SAME)
SAME_FUNCTION(const char *, ncclGetErrorString, (gantry__nccl_result_t result))
SAME_NUMBER(GANTRY__NCCL_SUCCESS, ncclSuccess);
SAME_NUMBER(GANTRY__NCCL_INT32, ncclInt32);
SAME_NUMBER(GANTRY__NCCL_INT64, ncclInt64);
SAME_NUMBER(GANTRY__NCCL_FLOAT16, ncclFloat16);
SAME_NUMBER(GANTRY__NCCL_FLOAT32, ncclFloat32);
SAME_NUMBER(GANTRY__NCCL_FLOAT64, ncclFloat64);
SAME_NUMBER(GANTRY__NCCL_BFLOAT16, ncclBfloat16);
SAME_NUMBER(GANTRY__NCCL_SUM, ncclSum);
SAME_NUMBER(GANTRY__NCCL_PROD, ncclProd);
SAME_NUMBER(GANTRY__NCCL_MAX, ncclMax);
SAME_NUMBER(GANTRY__NCCL_MIN, ncclMin);
