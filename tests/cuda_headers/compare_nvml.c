/* SPDX-License-Identifier: Apache-2.0 */
/* Compares backends/cuda/cuda_nvml.h with NVIDIA's nvml.h. Compiled, never run. */
#include <nvml.h>

#include "cuda/cuda_nvml.h"
#include "compare.h"

#define SAME(function, parameters) SAME_FUNCTION(gantry__nvml_result_t, function, parameters)
GANTRY__NVML_FUNCTIONS(SAME)
SAME_FUNCTION(const char *, nvmlErrorString, (gantry__nvml_result_t result))

_Static_assert(sizeof(gantry__nvml_memory_t) == sizeof(nvmlMemory_t), "nvmlMemory_t");
SAME_NUMBER(offsetof(gantry__nvml_memory_t, total), offsetof(nvmlMemory_t, total));
SAME_NUMBER(offsetof(gantry__nvml_memory_t, free), offsetof(nvmlMemory_t, free));
SAME_NUMBER(offsetof(gantry__nvml_memory_t, used), offsetof(nvmlMemory_t, used));
_Static_assert(sizeof(gantry__nvml_utilization_t) == sizeof(nvmlUtilization_t),
               "nvmlUtilization_t");
SAME_NUMBER(offsetof(gantry__nvml_utilization_t, gpu), offsetof(nvmlUtilization_t, gpu));
SAME_NUMBER(offsetof(gantry__nvml_utilization_t, memory), offsetof(nvmlUtilization_t, memory));
SAME_NUMBER(GANTRY__NVML_SUCCESS, NVML_SUCCESS);
SAME_NUMBER(GANTRY__NVML_UUID_BYTES, NVML_DEVICE_UUID_V2_BUFFER_SIZE);
