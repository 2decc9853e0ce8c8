/* SPDX-License-Identifier: Apache-2.0 */
/* Compares backends/cuda/cuda_nvml.h with NVIDIA's nvml.h. Compiled, never run. */
#include <nvml.h>

#include "cuda/cuda_nvml.h"
#include "compare.h"

#define SAME(function, parameters) SAME_FUNCTION(gantry__nvml_result_t, function, parameters)
GANTRY__NVML_FUNCTIONS(SAME)
GANTRY__NVML_TELEMETRY_FUNCTIONS(SAME)
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
SAME_NUMBER(GANTRY__NVML_TEMPERATURE_GPU, NVML_TEMPERATURE_GPU);
SAME_NUMBER(GANTRY__NVML_CLOCK_SM, NVML_CLOCK_SM);
SAME_NUMBER(GANTRY__NVML_CLOCK_MEM, NVML_CLOCK_MEM);
SAME_NUMBER(GANTRY__NVML_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED);
SAME_NUMBER(GANTRY__NVML_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME_NUMBER(GANTRY__NVML_VOLATILE_ECC, NVML_VOLATILE_ECC);
SAME_NUMBER(GANTRY__NVML_SLOWED_IDLE, nvmlClocksThrottleReasonGpuIdle);
SAME_NUMBER(GANTRY__NVML_SLOWED_SETTING, nvmlClocksThrottleReasonApplicationsClocksSetting);
SAME_NUMBER(GANTRY__NVML_SLOWED_POWER, nvmlClocksThrottleReasonSwPowerCap);
SAME_NUMBER(GANTRY__NVML_SLOWED_HARDWARE, nvmlClocksThrottleReasonHwSlowdown);
SAME_NUMBER(GANTRY__NVML_SLOWED_SYNC, nvmlClocksThrottleReasonSyncBoost);
SAME_NUMBER(GANTRY__NVML_SLOWED_HEAT, nvmlClocksThrottleReasonSwThermalSlowdown);
SAME_NUMBER(GANTRY__NVML_SLOWED_HARDWARE_HEAT, nvmlClocksThrottleReasonHwThermalSlowdown);
SAME_NUMBER(GANTRY__NVML_SLOWED_POWER_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
SAME_NUMBER(GANTRY__NVML_SLOWED_DISPLAY, nvmlClocksThrottleReasonDisplayClockSetting);
_Static_assert(sizeof(gantry__nvml_process_t) == sizeof(nvmlProcessInfo_t), "nvmlProcessInfo_t");
SAME_NUMBER(offsetof(gantry__nvml_process_t, pid), offsetof(nvmlProcessInfo_t, pid));
SAME_NUMBER(offsetof(gantry__nvml_process_t, used), offsetof(nvmlProcessInfo_t, usedGpuMemory));
SAME_NUMBER(offsetof(gantry__nvml_process_t, gpu_instance),
            offsetof(nvmlProcessInfo_t, gpuInstanceId));
