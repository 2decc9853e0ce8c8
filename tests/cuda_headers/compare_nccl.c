/* SPDX-License-Identifier: Apache-2.0 */
/* Compares backends/cuda/cuda_nccl.h with NVIDIA's nccl.h. Compiled, never run. */
#include <nccl.h>

#include "cuda/cuda_nccl.h"
#include "compare.h"

SAME_FUNCTION(gantry__nccl_result_t, ncclGetVersion, (int *out_version))
SAME_NUMBER(GANTRY__NCCL_SUCCESS, ncclSuccess);
