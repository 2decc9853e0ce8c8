/* SPDX-License-Identifier: Apache-2.0 */
/* Compares backends/cuda/cuda_cudnn.h with NVIDIA's cudnn_graph.h. Compiled, never run. */
#include <cudnn_graph.h>

#include "cuda/cuda_cudnn.h"
#include "compare.h"

SAME_FUNCTION(size_t, cudnnGetVersion, (void))
