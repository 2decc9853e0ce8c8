/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in NVML shows all cards, because CUDA_VISIBLE_DEVICES does not affect NVML. NVML needs
 * no context. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in_settings.h"

enum {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_GPU_IS_LOST = 15,
    NVML_ARGUMENT_VERSION_MISMATCH = 25
};

static stand_in_object_t monitor = {.kind = STAND_IN_MONITORS};
static int monitor_uses;

static int begin(const char *function) {
    int code = stand_in__enter(function, STAND_IN_NEEDS_NOTHING);

    if (code == NVML_OK) {
        stand_in__lock();
        code = monitor_uses > 0 ? NVML_OK : NVML_UNINITIALIZED;
        stand_in__unlock();
    }
    return code;
}

STAND_IN_API int nvmlInit_v2(void);
int nvmlInit_v2(void) {
    int uses;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    stand_in__lock();
    uses = monitor_uses++;
    stand_in__unlock();
    if (uses == 0) {
        stand_in__list(&monitor);
    }
    return NVML_OK;
}

STAND_IN_API int nvmlShutdown(void);
int nvmlShutdown(void) {
    int code = begin(__func__);
    int uses;

    if (code == NVML_UNINITIALIZED) return code;
    stand_in__lock();
    uses = --monitor_uses;
    stand_in__unlock();
    if (uses == 0) {
        stand_in__unlist(&monitor);
    }
    return code;
}

STAND_IN_API const char *nvmlErrorString(int error);
const char *nvmlErrorString(int error) {
    return error == NVML_OK ? "Success" : "an error of the stand-in";
}

STAND_IN_API int nvmlSystemGetDriverVersion(char *text, unsigned length);
int nvmlSystemGetDriverVersion(char *text, unsigned length) {
    int code = begin(__func__);

    if (code != NVML_OK) return code;
    if (text == NULL || length < 16) return NVML_INSUFFICIENT_SIZE;
    snprintf(text, length, "0.0.stand-in");
    return NVML_OK;
}

STAND_IN_API int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count) {
    int code = begin(__func__);

    if (code != NVML_OK) return code;
    if (count == NULL) return NVML_INVALID_ARGUMENT;
    *count = (unsigned)stand_in__machine()->count;
    return NVML_OK;
}

/* ---- finding a card ---- */

STAND_IN_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    int code = begin(__func__);

    if (code != NVML_OK) return code;
    if (device == NULL || index >= (unsigned)stand_in__machine()->count)
        return NVML_INVALID_ARGUMENT;
    *device = &stand_in__machine()->device[index];
    return NVML_OK;
}

static int same_address(const char *a, const char *b) {
    unsigned parts[2][4] = {{0}};

    return sscanf(a, "%x:%x:%x.%x", &parts[0][0], &parts[0][1], &parts[0][2], &parts[0][3]) >= 3 &&
           sscanf(b, "%x:%x:%x.%x", &parts[1][0], &parts[1][1], &parts[1][2], &parts[1][3]) >= 3 &&
           memcmp(parts[0], parts[1], sizeof parts[0]) == 0;
}

/* The whole card of a part: its handle is the card's address, and its memory is twice the
 * part's. */
static void *whole_of(stand_in_device_t *device) {
    return device->is_part ? (void *)device->pci : (void *)device;
}

static int same_uuid(const stand_in_device_t *device, const char *text) {
    char own[48];

    stand_in__uuid_text(device, own);
    return strcmp(own, text) == 0;
}

static int find(const char *text, int is_address, void **device) {
    stand_in_machine_t *machine = stand_in__machine();

    if (text == NULL || device == NULL) return NVML_INVALID_ARGUMENT;
    for (int i = 0; i < machine->count; ++i) {
        if (is_address ? same_address(machine->device[i].pci, text)
                       : same_uuid(&machine->device[i], text)) {
            *device = is_address ? whole_of(&machine->device[i]) : (void *)&machine->device[i];
            return machine->device[i].lost != 0 ? NVML_GPU_IS_LOST : NVML_OK;
        }
    }
    return NVML_NOT_FOUND;
}

STAND_IN_API int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device) {
    int code = begin(__func__);

    return code != NVML_OK ? code : find(address, 1, device);
}

STAND_IN_API int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    int code = begin(__func__);

    return code != NVML_OK ? code : find(uuid, 0, device);
}

/* ---- queries of a card ---- */

static int device_of(void *handle, stand_in_device_t **out_device) {
    stand_in_machine_t *machine = stand_in__machine();

    for (int i = 0; i < machine->count; ++i) {
        if (handle == &machine->device[i] || handle == whole_of(&machine->device[i])) {
            *out_device = &machine->device[i];
            return machine->device[i].lost != 0 ? NVML_GPU_IS_LOST : NVML_OK;
        }
    }
    return NVML_INVALID_ARGUMENT;
}

typedef struct memory_t {
    unsigned long long total;
    unsigned long long free_bytes;
    unsigned long long used;
} memory_t;

typedef struct memory_v2_t {
    unsigned version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free_bytes;
    unsigned long long used;
} memory_v2_t;

static void ask_memory(const stand_in_device_t *device, memory_t *out) {
    out->total = device->memory;
    out->free_bytes = stand_in__free_bytes(device);
    out->used = out->total - out->free_bytes;
}

STAND_IN_API int nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory);
int nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory) {
    stand_in_device_t *device;
    int code = begin(__func__);

    if (code == NVML_OK) code = device_of(handle, &device);
    if (code != NVML_OK) return code;
    if (memory == NULL) return NVML_INVALID_ARGUMENT;
    ask_memory(device, memory);
    if (handle != device) {
        memory->total += device->memory;
        memory->free_bytes += device->memory;
    }
    return NVML_OK;
}

STAND_IN_API int nvmlDeviceGetMemoryInfo_v2(void *handle, memory_v2_t *memory);
int nvmlDeviceGetMemoryInfo_v2(void *handle, memory_v2_t *memory) {
    stand_in_device_t *device;
    memory_t plain;
    int code = begin(__func__);

    if (code == NVML_OK) code = device_of(handle, &device);
    if (code != NVML_OK) return code;
    if (memory == NULL) return NVML_INVALID_ARGUMENT;
    if (memory->version != (sizeof *memory | 2u << 24)) return NVML_ARGUMENT_VERSION_MISMATCH;
    ask_memory(device, &plain);
    memory->total = plain.total;
    memory->reserved = 0;
    memory->free_bytes = plain.free_bytes;
    memory->used = plain.used;
    return NVML_OK;
}

STAND_IN_API int nvmlDeviceGetUtilizationRates(void *handle, unsigned rates[2]);
int nvmlDeviceGetUtilizationRates(void *handle, unsigned rates[2]) {
    stand_in_device_t *device;
    int code = begin(__func__);

    if (code == NVML_OK) code = device_of(handle, &device);
    if (code != NVML_OK) return code;
    if (rates == NULL) return NVML_INVALID_ARGUMENT;
    rates[0] = 7;
    rates[1] = 3;
    return NVML_OK;
}

static int give_text(char *text, unsigned length, const char *value) {
    if (text == NULL) return NVML_INVALID_ARGUMENT;
    if (length <= strlen(value)) return NVML_INSUFFICIENT_SIZE;
    memcpy(text, value, strlen(value) + 1);
    return NVML_OK;
}

STAND_IN_API int nvmlDeviceGetName(void *handle, char *name, unsigned length);
int nvmlDeviceGetName(void *handle, char *name, unsigned length) {
    stand_in_device_t *device;
    int code = begin(__func__);

    if (code == NVML_OK) code = device_of(handle, &device);
    return code != NVML_OK ? code : give_text(name, length, "Stand-in for an NVIDIA GPU");
}

STAND_IN_API int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned length);
int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned length) {
    stand_in_device_t *device;
    char text[48];
    int code = begin(__func__);

    if (code == NVML_OK) code = device_of(handle, &device);
    if (code != NVML_OK) return code;
    stand_in__uuid_text(device, text);
    if (handle != device) {
        memcpy(text, "GPU-whole", strlen("GPU-whole"));
    }
    return give_text(uuid, length, text);
}

/* ---- figures, as an H200 at work gave them ---- */

/* A part of a card has no sensors of its own. */
static int begin_figure(const char *function, void *handle, const void *out) {
    stand_in_device_t *device;
    int code = begin(function);

    if (code == NVML_OK) code = device_of(handle, &device);
    if (code != NVML_OK) return code;
    if (out == NULL) return NVML_INVALID_ARGUMENT;
    return device->is_part && handle == device ? NVML_NOT_SUPPORTED : NVML_OK;
}

static int give_number(const char *function, void *handle, unsigned *out, unsigned value) {
    int code = begin_figure(function, handle, out);

    if (code == NVML_OK) *out = value;
    return code;
}

STAND_IN_API int nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *celsius);
int nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *celsius) {
    return sensor != 0 ? NVML_INVALID_ARGUMENT : give_number(__func__, handle, celsius, 43);
}

STAND_IN_API int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts);
int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts) {
    return give_number(__func__, handle, milliwatts, 118250);
}

STAND_IN_API int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *milliwatts);
int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *milliwatts) {
    return give_number(__func__, handle, milliwatts, 700000);
}

STAND_IN_API int nvmlDeviceGetClockInfo(void *handle, unsigned clock, unsigned *mhz);
int nvmlDeviceGetClockInfo(void *handle, unsigned clock, unsigned *mhz) {
    return clock > 3 ? NVML_INVALID_ARGUMENT
                     : give_number(__func__, handle, mhz, clock == 2 ? 3201 : 1755);
}

STAND_IN_API int nvmlDeviceGetMaxClockInfo(void *handle, unsigned clock, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *handle, unsigned clock, unsigned *mhz) {
    return clock > 3 ? NVML_INVALID_ARGUMENT
                     : give_number(__func__, handle, mhz, clock == 2 ? 3201 : 1980);
}

/* A card for servers has no fan. */
STAND_IN_API int nvmlDeviceGetFanSpeed(void *handle, unsigned *percent);
int nvmlDeviceGetFanSpeed(void *handle, unsigned *percent) {
    int code = give_number(__func__, handle, percent, 0);

    return code == NVML_OK ? NVML_NOT_SUPPORTED : code;
}

STAND_IN_API int nvmlDeviceGetEccMode(void *handle, unsigned *current, unsigned *pending);
int nvmlDeviceGetEccMode(void *handle, unsigned *current, unsigned *pending) {
    if (pending == NULL) return NVML_INVALID_ARGUMENT;
    *pending = 1;
    return give_number(__func__, handle, current, 1);
}

STAND_IN_API int nvmlDeviceGetTotalEccErrors(void *handle, unsigned kind, unsigned counter,
                                             unsigned long long *count);
int nvmlDeviceGetTotalEccErrors(void *handle, unsigned kind, unsigned counter,
                                unsigned long long *count) {
    int code = begin_figure(__func__, handle, count);

    if (code == NVML_OK && (kind > 1 || counter > 1)) code = NVML_INVALID_ARGUMENT;
    if (code == NVML_OK) *count = kind == 0 ? 2 : 0;
    return code;
}

STAND_IN_API int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle,
                                                           unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *reasons) {
    int code = begin_figure(__func__, handle, reasons);

    if (code == NVML_OK) *reasons = 0x4; /* the power limit */
    return code;
}

/* ---- processes: one of others, where they use memory ---- */

typedef struct process_t {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance;
    unsigned compute_instance;
} process_t;

#define OTHER_PID 4194300u /* above the pids of most machines */

STAND_IN_API int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count,
                                                         process_t *infos);
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, process_t *infos) {
    stand_in_device_t *device;
    unsigned room;
    int code = begin(__func__);

    if (code == NVML_OK) code = device_of(handle, &device);
    if (code != NVML_OK) return code;
    if (count == NULL) return NVML_INVALID_ARGUMENT;
    room = *count;
    *count = device->other > 0 ? 1 : 0;
    if (*count > room) return NVML_INSUFFICIENT_SIZE;
    if (*count > 0 && infos == NULL) return NVML_INVALID_ARGUMENT;
    if (*count > 0) infos[0] = (process_t){OTHER_PID, device->other, ~0u, ~0u};
    return NVML_OK;
}

STAND_IN_API int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned *count,
                                                          process_t *infos);
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned *count, process_t *infos) {
    stand_in_device_t *device;
    int code = begin(__func__);

    (void)infos;
    if (code == NVML_OK) code = device_of(handle, &device);
    if (code != NVML_OK) return code;
    if (count == NULL) return NVML_INVALID_ARGUMENT;
    *count = 0;
    return NVML_OK;
}

STAND_IN_API int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length);
int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length) {
    int code = begin(__func__);

    if (code != NVML_OK) return code;
    return pid == OTHER_PID ? give_text(name, length, "/usr/bin/python3") : NVML_NOT_FOUND;
}
