/* SPDX-License-Identifier: Apache-2.0 */
/* What cards do now, through NVML: no context is made, and no card is woken. A card, a part of one,
 * or a card without a fan may have no answer to a question. */
#include <stdio.h>
#include <string.h>

#include "cuda/cuda_backend.h"

#define MOST_PROCESSES 128

typedef struct asked_t {
    const gantry__nvml_t *nvml;
    gantry__nvml_device_t card;
    gantry_device_telemetry_t *out;
} asked_t;

#define ANSWERS(asked, function, ...) \
    ((asked)->nvml->function &&       \
     (asked)->nvml->function((asked)->card, __VA_ARGS__) == GANTRY__NVML_SUCCESS)

/* Marks whether the field of this bit is known. */
static void nvml_know(const asked_t *asked, uint32_t bit, bool is_known) {
    if (is_known) asked->out->known |= bit;
}

static void ask_use(const asked_t *asked) {
    gantry_device_telemetry_t *out = asked->out;
    gantry__nvml_memory_t memory = {0, 0, 0};
    gantry__nvml_utilization_t use = {0, 0};
    nvml_know(asked, GANTRY_TELEMETRY_MEMORY,
              ANSWERS(asked, nvmlDeviceGetMemoryInfo, (struct nvmlMemory_st *)(void *)&memory));
    nvml_know(
        asked, GANTRY_TELEMETRY_UTILIZATION,
        ANSWERS(asked, nvmlDeviceGetUtilizationRates, (struct nvmlUtilization_st *)(void *)&use));
    out->total_bytes = memory.total;
    out->used_bytes = memory.used;
    out->free_bytes = memory.free;
    out->utilization_percent = use.gpu;
    out->memory_busy_percent = use.memory;
}

static void ask_heat(const asked_t *asked) {
    gantry_device_telemetry_t *out = asked->out;
    unsigned int celsius = 0;
    nvml_know(asked, GANTRY_TELEMETRY_TEMPERATURE,
              ANSWERS(asked, nvmlDeviceGetTemperature, GANTRY__NVML_TEMPERATURE_GPU, &celsius));
    out->temperature_celsius = (int32_t)celsius;
    nvml_know(asked, GANTRY_TELEMETRY_POWER,
              ANSWERS(asked, nvmlDeviceGetPowerUsage, &out->power_milliwatts));
    nvml_know(asked, GANTRY_TELEMETRY_POWER_LIMIT,
              ANSWERS(asked, nvmlDeviceGetEnforcedPowerLimit, &out->power_limit_milliwatts));
    nvml_know(asked, GANTRY_TELEMETRY_FAN,
              ANSWERS(asked, nvmlDeviceGetFanSpeed, &out->fan_percent));
}

static uint32_t slowed_by(unsigned long long reasons) {
    static const struct {
        unsigned long long native;
        uint32_t ours;
    } rows[] = {
        {GANTRY__NVML_SLOWED_IDLE, GANTRY_SLOWED_IDLE},
        {GANTRY__NVML_SLOWED_SETTING, GANTRY_SLOWED_SETTING},
        {GANTRY__NVML_SLOWED_POWER, GANTRY_SLOWED_POWER},
        {GANTRY__NVML_SLOWED_HEAT | GANTRY__NVML_SLOWED_HARDWARE_HEAT, GANTRY_SLOWED_TEMPERATURE},
        {GANTRY__NVML_SLOWED_HARDWARE | GANTRY__NVML_SLOWED_POWER_BRAKE, GANTRY_SLOWED_HARDWARE},
        {GANTRY__NVML_SLOWED_SYNC, GANTRY_SLOWED_SYNC},
        {GANTRY__NVML_SLOWED_DISPLAY, GANTRY_SLOWED_DISPLAY}};
    uint32_t result = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        if (reasons & rows[i].native) result |= rows[i].ours;
        reasons &= ~rows[i].native;
    }
    return reasons ? result | GANTRY_SLOWED_OTHER : result;
}

static void ask_clocks(const asked_t *asked) {
    gantry_device_telemetry_t *out = asked->out;
    unsigned long long reasons = 0;
    nvml_know(asked, GANTRY_TELEMETRY_CLOCK,
              ANSWERS(asked, nvmlDeviceGetClockInfo, GANTRY__NVML_CLOCK_SM, &out->clock_mhz));
    nvml_know(
        asked, GANTRY_TELEMETRY_MEMORY_CLOCK,
        ANSWERS(asked, nvmlDeviceGetClockInfo, GANTRY__NVML_CLOCK_MEM, &out->memory_clock_mhz));
    nvml_know(
        asked, GANTRY_TELEMETRY_MOST_CLOCK,
        ANSWERS(asked, nvmlDeviceGetMaxClockInfo, GANTRY__NVML_CLOCK_SM, &out->most_clock_mhz));
    nvml_know(asked, GANTRY_TELEMETRY_SLOWED,
              ANSWERS(asked, nvmlDeviceGetCurrentClocksThrottleReasons, &reasons));
    out->slowed_by = slowed_by(reasons);
}

static void ask_ecc(const asked_t *asked) {
    gantry_device_telemetry_t *out = asked->out;
    unsigned int pending = 0;
    unsigned long long corrected = 0, uncorrected = 0;
    nvml_know(asked, GANTRY_TELEMETRY_ECC_MODE,
              ANSWERS(asked, nvmlDeviceGetEccMode, &out->ecc_enabled, &pending));
    nvml_know(asked, GANTRY_TELEMETRY_ECC_ERRORS,
              ANSWERS(asked, nvmlDeviceGetTotalEccErrors, GANTRY__NVML_CORRECTED,
                      GANTRY__NVML_VOLATILE_ECC, &corrected) &&
                  ANSWERS(asked, nvmlDeviceGetTotalEccErrors, GANTRY__NVML_UNCORRECTED,
                          GANTRY__NVML_VOLATILE_ECC, &uncorrected));
    out->ecc_corrected = corrected;
    out->ecc_uncorrected = uncorrected;
}

/* Writes NVML and the card's handle, or returns Unavailable with the reason. */
static int32_t nvml_open_card(gantry_backend_instance_t *instance, uint32_t index,
                              const gantry__nvml_t **out_nvml, gantry__nvml_device_t *out_card) {
    const gantry__nvml_t *nvml = gantry__cuda_nvml(instance);
    *out_nvml = nvml;
    GANTRY__TRY(gantry__record_check_index(instance->host, &GANTRY__DRIVER_ERRORS, index,
                                           instance->record_count));
    const gantry__cuda_record_t *record = &instance->records[index];
    if (gantry__nvml_find(nvml, record->texts.uuid, record->texts.pci_address, out_card))
        return GANTRY_OK;
    return gantry__driver_fail(
        instance->host, GANTRY_UNAVAILABLE, 0, "the figures of \"%.100s\" are not known: %s",
        record->hardware_name,
        nvml->is_usable ? "NVML does not answer for this card" : nvml->reason);
}

static int32_t nvml_read(gantry_backend_instance_t *instance, uint32_t index,
                         gantry_device_telemetry_t *out_telemetry) {
    gantry_device_telemetry_t figures = {.struct_size = out_telemetry->struct_size};
    asked_t asked = {.out = &figures};
    GANTRY__TRY(nvml_open_card(instance, index, &asked.nvml, &asked.card));
    ask_use(&asked);
    ask_heat(&asked);
    ask_clocks(&asked);
    ask_ecc(&asked);
    memcpy(out_telemetry, &figures,
           figures.struct_size < sizeof figures ? figures.struct_size : sizeof figures);
    return GANTRY_OK;
}

/* ---- processes ---- */

typedef gantry__nvml_result_t (*list_fn)(gantry__nvml_device_t device, unsigned int *count,
                                         struct nvmlProcessInfo_v2_st *out);

static int32_t visit_kind(const asked_t *asked, list_fn list, uint32_t is_graphics,
                          void (*visit)(void *user, const gantry_device_process_t *process),
                          void *user) {
    gantry__nvml_process_t found[MOST_PROCESSES];
    unsigned int count = MOST_PROCESSES;
    if (!list) return GANTRY_UNIMPLEMENTED;
    if (list(asked->card, &count, (struct nvmlProcessInfo_v2_st *)(void *)found) !=
        GANTRY__NVML_SUCCESS)
        return GANTRY_UNAVAILABLE;
    for (unsigned int i = 0; i < count && i < MOST_PROCESSES; ++i) {
        gantry_device_process_t process = {.struct_size = sizeof process,
                                           .pid = found[i].pid,
                                           .used_bytes = found[i].used,
                                           .is_graphics = is_graphics};
        if (!asked->nvml->nvmlSystemGetProcessName ||
            asked->nvml->nvmlSystemGetProcessName(process.pid, process.name, sizeof process.name) !=
                GANTRY__NVML_SUCCESS)
            process.name[0] = '\0';
        process.name[sizeof process.name - 1] = '\0';
        visit(user, &process);
    }
    return GANTRY_OK;
}

static int32_t nvml_processes(gantry_backend_instance_t *instance, uint32_t index,
                              void (*visit)(void *user, const gantry_device_process_t *process),
                              void *user) {
    asked_t asked = {.nvml = NULL};
    GANTRY__TRY(nvml_open_card(instance, index, &asked.nvml, &asked.card));
    const int32_t status =
        visit_kind(&asked, asked.nvml->nvmlDeviceGetComputeRunningProcesses_v3, 0, visit, user);
    if (status != GANTRY_OK) {
        return gantry__driver_fail(instance->host, status, 0,
                                   "NVML does not list the processes of \"%.100s\"",
                                   instance->records[index].hardware_name);
    }
    (void)visit_kind(&asked, asked.nvml->nvmlDeviceGetGraphicsRunningProcesses_v3, 1, visit, user);
    return GANTRY_OK;
}

const gantry_telemetry_ops_t gantry__cuda_telemetry_ops = {
    .struct_size = sizeof gantry__cuda_telemetry_ops,
    .read = nvml_read,
    .processes = nvml_processes,
};
