/* SPDX-License-Identifier: Apache-2.0 */
/* One card's description, which needs no context. */
#include <stdio.h>
#include <string.h>

#include "cuda/cuda_backend.h"

#define PARAMETER_BYTES 4096 /* the parameters of one launch, on every card */

typedef struct asked_t {
    const gantry__cuda_symbols_t *cu;
    gantry__cuda_record_t *record;
    gantry__cu_result_t failure; /* that of a query that the driver must answer */
} asked_t;

/* A number; 0 when the driver does not answer. */
static uint32_t cuda_device_info_number(asked_t *asked, unsigned int attribute) {
    int value = 0;
    gantry__cu_result_t native =
        asked->cu->cuDeviceGetAttribute(&value, attribute, asked->record->device);
    if (native != GANTRY__CU_SUCCESS) {
        asked->failure = native;
        return 0;
    }
    return value > 0 ? (uint32_t)value : 0;
}

/* A number that may be missing, because newer drivers drop some attributes. */
static uint32_t optional_number(asked_t *asked, unsigned int attribute) {
    gantry__cu_result_t failure = asked->failure;
    uint32_t value = cuda_device_info_number(asked, attribute);
    asked->failure = failure;
    return value;
}

/* ---- what identifies the card ---- */

/* Finds the PCI address. Virtual machines number domains with all 32 bits, so a negative answer is
 * a number, too. The function in the address of a card is always 0; others are its sound and its
 * USB port. */
static void cuda_device_info_find_pci(asked_t *asked) {
    int domain = 0;
    gantry__cu_result_t native = asked->cu->cuDeviceGetAttribute(
        &domain, GANTRY__CU_ATTRIBUTE_PCI_DOMAIN_ID, asked->record->device);
    if (native != GANTRY__CU_SUCCESS) asked->failure = native;
    uint32_t bus = cuda_device_info_number(asked, GANTRY__CU_ATTRIBUTE_PCI_BUS_ID);
    uint32_t device = cuda_device_info_number(asked, GANTRY__CU_ATTRIBUTE_PCI_DEVICE_ID);
    gantry__record_set_pci(&asked->record->texts, (uint32_t)domain, bus, device, 0);
}

/* Finds the UUID. A part of a card (MIG) has a UUID of its own, which is "MIG-..." elsewhere; the
 * driver API does not say which of the two it is. */
static void cuda_device_info_find_uuid(asked_t *asked) {
    unsigned char b[GANTRY__CU_UUID_BYTES];
    memset(b, 0, sizeof b);
    if (asked->cu->cuDeviceGetUuid_v2((struct CUuuid_st *)b, asked->record->device) !=
        GANTRY__CU_SUCCESS) {
        return;
    }
    gantry__record_set_uuid(&asked->record->texts, b);
}

/* ---- what programs are compiled for ---- */

/* A card that NVRTC does not know gets PTX for the first architecture of its own family (10.0 for
 * 10.3), else of the nearest family before it. Those within a family have features that another may
 * lack. */
int gantry__cuda_arch_choose(const int *archs, int count, int capability) {
    int base = 0, any = 0;
    for (int i = 0; i < count; ++i) {
        if (archs[i] == capability) return capability;
        if (archs[i] > capability) continue;
        if (archs[i] > any) any = archs[i];
        if (archs[i] % 10 == 0 && archs[i] > base) base = archs[i];
    }
    return base != 0 ? base : any;
}

/* Finds the card's own architecture, as machine code, or another one as PTX, which the driver
 * translates. */
static void find_arch(const gantry_backend_instance_t *instance, gantry__cuda_record_t *record) {
    const gantry__nvrtc_t *nvrtc = &instance->nvrtc;
    if (!nvrtc->is_usable) return;
    record->arch = gantry__cuda_arch_choose(nvrtc->archs, nvrtc->arch_count, record->capability);
    record->is_ptx = record->arch != record->capability;
    if (record->arch == 0) {
        gantry__host_log(
            instance->host, GANTRY_LEVEL_WARNING,
            "\"%.120s\" runs no programs: its compute capability %s is older than any that %s compiles for",
            record->hardware_name, record->texts.compute_capability, nvrtc->name);
    }
}

/* The driver is a part of the hash, because a cached binary may be one that only a newer driver
 * takes. */
static void fill_build_hash(const gantry_backend_instance_t *instance,
                            gantry__cuda_record_t *record) {
    char target[64];
    (void)snprintf(target, sizeof target, "%s %d %d", record->is_ptx ? "compute" : "sm",
                   record->arch, instance->nvrtc.version);
    const char *parts[] = {"NVIDIA CUDA", record->hardware_name, instance->version, target};
    gantry__record_set_hash(&record->texts, parts, sizeof parts / sizeof parts[0]);
}

/* ---- the record ---- */

static void cuda_device_info_fill_numbers(asked_t *asked) {
    gantry_device_info_t *info = &asked->record->info;
    uint32_t major = cuda_device_info_number(asked, GANTRY__CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    uint32_t minor = cuda_device_info_number(asked, GANTRY__CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    info->type = GANTRY_DEVICE_TYPE_GPU;
    info->flags = GANTRY_DEVICE_WAITS_FOR_PAGEABLE | GANTRY_DEVICE_FLOAT_ATOMICS;
    if (cuda_device_info_number(asked, GANTRY__CU_ATTRIBUTE_INTEGRATED) != 0)
        info->flags |= GANTRY_DEVICE_INTEGRATED | GANTRY_DEVICE_HOST_BACKED;
    info->compute_units = cuda_device_info_number(asked, GANTRY__CU_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (info->compute_units == 0) { /* work is cut into as many parts */
        info->compute_units = 1;
    }
    info->base_alignment_bytes = 256;
    info->local_memory_bytes =
        cuda_device_info_number(asked, GANTRY__CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    info->dtype_mask = GANTRY_DTYPES_ANY;
    info->max_work_group_size =
        cuda_device_info_number(asked, GANTRY__CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info->parameter_bytes = PARAMETER_BYTES;
    info->native_vector_width = 1;
    info->sub_group_size = cuda_device_info_number(asked, GANTRY__CU_ATTRIBUTE_WARP_SIZE);
    info->clock_mhz = optional_number(asked, GANTRY__CU_ATTRIBUTE_CLOCK_RATE) / 1000;
    if (optional_number(asked, GANTRY__CU_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED) != 0) {
        info->greatest_priority = -1; /* two levels; only a context knows how many there are */
    }
    asked->record->capability = (int)(major * 10 + minor);
    if (major >= 7) info->flags |= GANTRY_DEVICE_GROUPS_GO_ON; /* each thread has a counter */
    (void)snprintf(asked->record->texts.compute_capability,
                   sizeof asked->record->texts.compute_capability, "%u.%u", major, minor);
}

void gantry__cuda_record_point(const gantry_backend_instance_t *instance,
                               gantry__cuda_record_t *record) {
    gantry_device_info_t *info = &record->info;
    gantry__record_point(info, &record->texts);
    info->hardware_name = record->hardware_name;
    info->vendor = "NVIDIA Corporation";
    info->driver_version = instance->version;
    info->platform_name = "NVIDIA CUDA";
    info->platform_version = instance->version + sizeof "CUDA";
    info->no_programs = record->arch != 0           ? ""
                        : instance->nvrtc.is_usable ? "NVRTC does not know its compute capability"
                                                    : instance->nvrtc.reason;
}

static gantry__cu_result_t fill_name_and_size(asked_t *asked) {
    gantry__cuda_record_t *record = asked->record;
    size_t total = 0;
    gantry__cu_result_t native = asked->cu->cuDeviceGetName(
        record->hardware_name, (int)sizeof record->hardware_name, record->device);
    record->hardware_name[sizeof record->hardware_name - 1] = '\0';
    if (native == GANTRY__CU_SUCCESS) {
        native = asked->cu->cuDeviceTotalMem_v2(&total, record->device);
        record->info.total_bytes = total;
    }
    return native;
}

gantry__cu_result_t gantry__cuda_record_fill(const gantry_backend_instance_t *instance,
                                             gantry__cuda_record_t *record, char *reason,
                                             size_t reason_bytes) {
    asked_t asked = {&instance->cu, record, GANTRY__CU_SUCCESS};
    gantry__cu_result_t native = fill_name_and_size(&asked);
    if (native == GANTRY__CU_SUCCESS) {
        cuda_device_info_fill_numbers(&asked);
        cuda_device_info_find_pci(&asked);
        native = asked.failure;
    }
    if (native != GANTRY__CU_SUCCESS) {
        (void)snprintf(reason, reason_bytes, "\"%.100s\" does not describe itself: %s (%u)",
                       record->hardware_name, gantry__driver_error_name(native), native);
        return native;
    }
    if (optional_number(&asked, GANTRY__CU_ATTRIBUTE_COMPUTE_MODE) ==
        GANTRY__CU_COMPUTE_MODE_PROHIBITED) {
        (void)snprintf(reason, reason_bytes,
                       "\"%.100s\" is in compute mode \"prohibited\" (nvidia-smi -c changes it)",
                       record->hardware_name);
        return GANTRY__CU_NO_DEVICE;
    }
    cuda_device_info_find_uuid(&asked);
    find_arch(instance, record);
    record->info.program_kinds = record->arch != 0 ? GANTRY_PROGRAM_CUDA_C : 0;
    fill_build_hash(instance, record);
    gantry__cuda_record_point(instance, record);
    return GANTRY__CU_SUCCESS;
}
