/* SPDX-License-Identifier: Apache-2.0 */
/* NVML, NVIDIA's monitoring library: the part that this backend calls, declared here, and its
 * opening at run time.
 *
 * It answers without a context: whether a card is busy, how much of its memory is free, how warm it
 * is, who uses it. Nothing depends on it. Older drivers lack functions of the second list.
 *
 * Owner: the instance holds the table and one nvmlInit_v2; the library stays loaded. Threads:
 * loading is thread-safe, and so is NVML. */
#ifndef GANTRY_CUDA_NVML_H
#define GANTRY_CUDA_NVML_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stddef.h>

typedef unsigned int gantry__nvml_result_t;
typedef struct nvmlDevice_st *gantry__nvml_device_t;

enum { GANTRY__NVML_SUCCESS = 0 };
enum { GANTRY__NVML_TEMPERATURE_GPU = 0 };                         /* sensor */
enum { GANTRY__NVML_CLOCK_SM = 1, GANTRY__NVML_CLOCK_MEM = 2 };    /* clock */
enum { GANTRY__NVML_CORRECTED = 0, GANTRY__NVML_UNCORRECTED = 1 }; /* kind of error */
enum { GANTRY__NVML_VOLATILE_ECC = 0 };                            /* since the driver began */
/* Bits of nvmlDeviceGetCurrentClocksThrottleReasons. */
enum {
    GANTRY__NVML_SLOWED_IDLE = 0x1,
    GANTRY__NVML_SLOWED_SETTING = 0x2,
    GANTRY__NVML_SLOWED_POWER = 0x4,
    GANTRY__NVML_SLOWED_HARDWARE = 0x8,
    GANTRY__NVML_SLOWED_SYNC = 0x10,
    GANTRY__NVML_SLOWED_HEAT = 0x20,
    GANTRY__NVML_SLOWED_HARDWARE_HEAT = 0x40,
    GANTRY__NVML_SLOWED_POWER_BRAKE = 0x80,
    GANTRY__NVML_SLOWED_DISPLAY = 0x100
};
#define GANTRY__NVML_UUID_BYTES 96 /* the most that one may have */

/* Bytes. It is passed as a pointer to NVIDIA's struct, and must have the same layout. */
typedef struct gantry__nvml_memory_t {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
} gantry__nvml_memory_t;

/* Percent of the last moments, which are a sixth of a second to one second. */
typedef struct gantry__nvml_utilization_t {
    unsigned int gpu;
    unsigned int memory;
} gantry__nvml_utilization_t;

typedef struct gantry__nvml_process_t {
    unsigned int pid;
    unsigned long long used; /* bytes; all bits set when unknown */
    unsigned int gpu_instance;
    unsigned int compute_instance;
} gantry__nvml_process_t;

struct nvmlMemory_st;
struct nvmlUtilization_st;
struct nvmlProcessInfo_v2_st;

/* X(function, parameters); all but nvmlErrorString return a gantry__nvml_result_t. */
#define GANTRY__NVML_FUNCTIONS(X)                                                                 \
    X(nvmlInit_v2, (void))                                                                        \
    X(nvmlShutdown, (void))                                                                       \
    X(nvmlSystemGetDriverVersion, (char *text, unsigned int text_bytes))                          \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *address, gantry__nvml_device_t *out_device)) \
    X(nvmlDeviceGetHandleByUUID, (const char *uuid, gantry__nvml_device_t *out_device))           \
    X(nvmlDeviceGetUUID, (gantry__nvml_device_t device, char *text, unsigned int text_bytes))     \
    X(nvmlDeviceGetMemoryInfo, (gantry__nvml_device_t device, struct nvmlMemory_st * out_memory)) \
    X(nvmlDeviceGetUtilizationRates,                                                              \
      (gantry__nvml_device_t device, struct nvmlUtilization_st * out_percent))

/* The same for functions whose slot is NULL when the library lacks them. */
#define GANTRY__NVML_TELEMETRY_FUNCTIONS(X)                                                   \
    X(nvmlDeviceGetTemperature,                                                               \
      (gantry__nvml_device_t device, unsigned int sensor, unsigned int *out_celsius))         \
    X(nvmlDeviceGetPowerUsage, (gantry__nvml_device_t device, unsigned int *out_milliwatts))  \
    X(nvmlDeviceGetEnforcedPowerLimit,                                                        \
      (gantry__nvml_device_t device, unsigned int *out_milliwatts))                           \
    X(nvmlDeviceGetClockInfo,                                                                 \
      (gantry__nvml_device_t device, unsigned int clock, unsigned int *out_mhz))              \
    X(nvmlDeviceGetMaxClockInfo,                                                              \
      (gantry__nvml_device_t device, unsigned int clock, unsigned int *out_mhz))              \
    X(nvmlDeviceGetFanSpeed, (gantry__nvml_device_t device, unsigned int *out_percent))       \
    X(nvmlDeviceGetEccMode,                                                                   \
      (gantry__nvml_device_t device, unsigned int *out_current, unsigned int *out_pending))   \
    X(nvmlDeviceGetTotalEccErrors, (gantry__nvml_device_t device, unsigned int kind,          \
                                    unsigned int counter, unsigned long long *out_count))     \
    X(nvmlDeviceGetCurrentClocksThrottleReasons,                                              \
      (gantry__nvml_device_t device, unsigned long long *out_reasons))                        \
    X(nvmlDeviceGetComputeRunningProcesses_v3,                                                \
      (gantry__nvml_device_t device, unsigned int *count, struct nvmlProcessInfo_v2_st *out)) \
    X(nvmlDeviceGetGraphicsRunningProcesses_v3,                                               \
      (gantry__nvml_device_t device, unsigned int *count, struct nvmlProcessInfo_v2_st *out)) \
    X(nvmlSystemGetProcessName, (unsigned int pid, char *name, unsigned int name_bytes))

typedef struct gantry__nvml_t {
    bool is_tried;
    bool is_usable;
    char name[200];   /* "libnvidia-ml.so.1 (driver 535.104.05)" */
    char driver[80];  /* the driver's own version, "535.104.05"; "" when unknown */
    char reason[512]; /* why it is not usable */
    const char *(*nvmlErrorString)(gantry__nvml_result_t result);
#define GANTRY__NVML_SLOT(function, parameters) gantry__nvml_result_t(*function) parameters;
    GANTRY__NVML_FUNCTIONS(GANTRY__NVML_SLOT)
    GANTRY__NVML_TELEMETRY_FUNCTIONS(GANTRY__NVML_SLOT)
#undef GANTRY__NVML_SLOT
} gantry__nvml_t;

/* Opens option GANTRY_CUDA_NVML when set, else libnvidia-ml.so.1, on the first call. A missing
 * library is no failure: is_usable is 0 and reason says why. */
void gantry__nvml_open(const gantry_host_t *host, gantry__nvml_t *out_nvml);
void gantry__nvml_close(gantry__nvml_t *nvml);

/* Reads the memory of the card at a PCI address, or of the part of it (MIG) that has the UUID
 * ("GPU-...", or "" when it is not known). Returns false when NVML does not answer. */
bool gantry__nvml_memory(const gantry__nvml_t *nvml, const char *uuid, const char *pci_address,
                         gantry__nvml_memory_t *out_memory);
bool gantry__nvml_utilization(const gantry__nvml_t *nvml, const char *uuid, const char *pci_address,
                              gantry__nvml_utilization_t *out_percent);
/* Finds the handle of the same card or part. Returns false when NVML does not know it. */
bool gantry__nvml_find(const gantry__nvml_t *nvml, const char *uuid, const char *pci_address,
                       gantry__nvml_device_t *out_card);

#endif
