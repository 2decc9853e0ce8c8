/* SPDX-License-Identifier: Apache-2.0 */
/* Compares backends/cuda/cuda_nvrtc.h with NVIDIA's nvrtc.h. Compiled, never run. */
#include <nvrtc.h>

#include "cuda/cuda_nvrtc.h"
#include "compare.h"

#define SAME(function, parameters) SAME_FUNCTION(gantry__nvrtc_result_t, function, parameters)
GANTRY__NVRTC_FUNCTIONS(SAME)
SAME_FUNCTION(const char *, nvrtcGetErrorString, (gantry__nvrtc_result_t result))

SAME_NUMBER(GANTRY__NVRTC_SUCCESS, NVRTC_SUCCESS);
SAME_NUMBER(GANTRY__NVRTC_OUT_OF_MEMORY, NVRTC_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(GANTRY__NVRTC_INVALID_OPTION, NVRTC_ERROR_INVALID_OPTION);
SAME_NUMBER(GANTRY__NVRTC_COMPILATION, NVRTC_ERROR_COMPILATION);
