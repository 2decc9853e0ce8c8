/* SPDX-License-Identifier: Apache-2.0 */
/* NVML, NVIDIA's monitoring library: the part this backend calls, declared here, and its opening at
 * run time.
 *
 * It answers without a context: whether a card is busy and how much of its memory is free. Nothing
 * depends on it.
 * Owner: the instance holds the table and one nvmlInit_v2; the library stays loaded. Threads:
 * loading is thread-safe, NVML too. */
#ifndef GANTRY_CUDA_NVML_H
#define GANTRY_CUDA_NVML_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stddef.h>

typedef unsigned int gantry__nvml_result_t;
typedef struct nvmlDevice_st *gantry__nvml_device_t;

enum { GANTRY__NVML_SUCCESS = 0 };
#define GANTRY__NVML_UUID_BYTES 96 /* as long as one may be */

/* Bytes. Passed as a pointer to NVIDIA's struct of the same layout. */
typedef struct gantry__nvml_memory_t {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
} gantry__nvml_memory_t;

/* Percent of the last moments, from a sixth of a second to one. */
typedef struct gantry__nvml_utilization_t {
    unsigned int gpu;
    unsigned int memory;
} gantry__nvml_utilization_t;

struct nvmlMemory_st;
struct nvmlUtilization_st;

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

typedef struct gantry__nvml_t {
    bool is_tried;
    bool is_usable;
    char name[200];   /* "libnvidia-ml.so.1 (driver 535.104.05)" */
    char driver[80];  /* the driver's own version, "535.104.05"; "" when unknown */
    char reason[512]; /* when not usable */
    const char *(*nvmlErrorString)(gantry__nvml_result_t result);
#define GANTRY__NVML_SLOT(function, parameters) gantry__nvml_result_t(*function) parameters;
    GANTRY__NVML_FUNCTIONS(GANTRY__NVML_SLOT)
#undef GANTRY__NVML_SLOT
} gantry__nvml_t;

/* Opens option GANTRY_CUDA_NVML when set, else libnvidia-ml.so.1, on the first call. Its absence is
 * no failure: is_usable is 0 and reason says why. */
void gantry__nvml_open(const gantry_host_t *host, gantry__nvml_t *out_nvml);
void gantry__nvml_close(gantry__nvml_t *nvml);

/* The card at a PCI address, or the part of it (MIG) that has the UUID ("GPU-...", "" when it is
 * not known). 0 when NVML does not answer. */
bool gantry__nvml_memory(const gantry__nvml_t *nvml, const char *uuid, const char *pci_address,
                         gantry__nvml_memory_t *out_memory);
bool gantry__nvml_utilization(const gantry__nvml_t *nvml, const char *uuid, const char *pci_address,
                              gantry__nvml_utilization_t *out_percent);

#endif
