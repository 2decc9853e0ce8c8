/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/cuda_nvml.h"

#include <stdio.h>
#include <string.h>

#include "base/os/library.h"
#include "cuda/cuda_driver.h"
#include "cuda/cuda_library.h"
#include "cuda/cuda_names.h"
#include "driver/library_open.h"

static const gantry__library_symbol_t symbols[] = {
    {"nvmlErrorString", offsetof(gantry__nvml_t, nvmlErrorString)},
#define SYMBOL(function, parameters) {#function, offsetof(gantry__nvml_t, function)},
    GANTRY__NVML_FUNCTIONS(SYMBOL)};
static const gantry__library_symbol_t telemetry_symbols[] = {
    GANTRY__NVML_TELEMETRY_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

/* Finds the functions of the second list. The library is already open, so opening it again only
 * gives a handle. */
static void find_telemetry(gantry__nvml_t *nvml, const char *file) {
    void *library = gantry__os_library_open(file, GANTRY__OS_LIBRARY_LOADED);
    for (size_t i = 0; library && i < sizeof telemetry_symbols / sizeof telemetry_symbols[0]; ++i)
        (void)gantry__library_resolve(library, &telemetry_symbols[i], 1, nvml);
}

static void cuda_nvml_start(gantry__nvml_t *nvml, const char *file) {
    gantry__nvml_result_t native = nvml->nvmlInit_v2();
    const char *text;
    if (native != GANTRY__NVML_SUCCESS) {
        text = nvml->nvmlErrorString(native);
        (void)snprintf(nvml->reason, sizeof nvml->reason, "%.200s does not start: %.200s (%u)",
                       file, text ? text : "?", native);
        return;
    }
    if (nvml->nvmlSystemGetDriverVersion(nvml->driver, sizeof nvml->driver) !=
        GANTRY__NVML_SUCCESS) {
        nvml->driver[0] = '\0';
    }
    (void)snprintf(nvml->name, sizeof nvml->name,
                   nvml->driver[0] != '\0' ? "%.100s (driver %.70s)" : "%.100s", file,
                   nvml->driver);
    nvml->is_usable = true;
}

void gantry__nvml_open(const gantry_host_t *host, gantry__nvml_t *out_nvml) {
    static const char *const candidates[] = {GANTRY__CUDA_NVML};
    static const gantry__cuda_file_t wanted = {.name = "NVML",
                                               .least = "",
                                               .option = "GANTRY_CUDA_NVML",
                                               .candidates = candidates,
                                               .candidate_count = 1};
    char file[GANTRY__CUDA_FILE_BYTES];

    out_nvml->is_tried = true;
    if (gantry__cuda_library_open(host, &wanted, symbols, sizeof symbols / sizeof symbols[0],
                                  out_nvml, file, out_nvml->reason, sizeof out_nvml->reason)) {
        find_telemetry(out_nvml, file);
        cuda_nvml_start(out_nvml, file);
    }
}

void gantry__nvml_close(gantry__nvml_t *nvml) {
    if (nvml->is_usable) {
        nvml->nvmlShutdown();
        nvml->is_usable = false;
    }
}

static bool cuda_nvml_has_uuid(const gantry__nvml_t *nvml, gantry__nvml_device_t card,
                               const char *uuid) {
    char own[GANTRY__NVML_UUID_BYTES];
    return nvml->nvmlDeviceGetUUID(card, own, sizeof own) == GANTRY__NVML_SUCCESS &&
           strcmp(own, uuid) == 0;
}

/* Finds a card. The address comes first, because a look-up by UUID may wake every card of the
 * machine. A part of a card (MIG) has its card's address and a UUID of its own, which the driver
 * gives without its tag and by which NVML knows the part. A card that has neither is not taken for
 * it. */
bool gantry__nvml_find(const gantry__nvml_t *nvml, const char *uuid, const char *pci_address,
                       gantry__nvml_device_t *out_card) {
    if (!nvml->is_usable ||
        nvml->nvmlDeviceGetHandleByPciBusId_v2(pci_address, out_card) != GANTRY__NVML_SUCCESS) {
        return false;
    }
    if (uuid[0] == '\0' || cuda_nvml_has_uuid(nvml, *out_card, uuid)) return true;
    char part[GANTRY__NVML_UUID_BYTES];
    (void)snprintf(part, sizeof part, "MIG-%s", uuid + strlen("GPU-"));
    return nvml->nvmlDeviceGetHandleByUUID(part, out_card) == GANTRY__NVML_SUCCESS;
}

bool gantry__nvml_memory(const gantry__nvml_t *nvml, const char *uuid, const char *pci_address,
                         gantry__nvml_memory_t *out_memory) {
    gantry__nvml_device_t card = NULL;
    return gantry__nvml_find(nvml, uuid, pci_address, &card) &&
           nvml->nvmlDeviceGetMemoryInfo(card, (struct nvmlMemory_st *)(void *)out_memory) ==
               GANTRY__NVML_SUCCESS;
}

bool gantry__nvml_utilization(const gantry__nvml_t *nvml, const char *uuid, const char *pci_address,
                              gantry__nvml_utilization_t *out_percent) {
    gantry__nvml_device_t card = NULL;
    return gantry__nvml_find(nvml, uuid, pci_address, &card) &&
           nvml->nvmlDeviceGetUtilizationRates(
               card, (struct nvmlUtilization_st *)(void *)out_percent) == GANTRY__NVML_SUCCESS;
}
