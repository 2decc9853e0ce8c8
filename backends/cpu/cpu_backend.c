/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's table: options of the process, the instance and its kernels, and the device's
 * info. */
#include "cpu/cpu_backend.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/process.h"
#include "kernels/common/cpu_kernels.h"
#include "host/try.h"

/* ---- cores, memory and options of the process ---- */

static uint64_t physical_bytes(void) {
    uint64_t free_bytes, total_bytes;
    gantry__cpu_machine_memory("", &free_bytes, &total_bytes);
    return total_bytes > 0 ? total_bytes : gantry__os_memory_bytes();
}

static const char *cpu_backend_option(const gantry_host_t *host, const char *name) {
    return GANTRY_ABI_HAS(host, option) && host->option ? host->option(host->self, name) : NULL;
}

static void cpu_backend_warn(const gantry_host_t *host, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void cpu_backend_warn(const gantry_host_t *host, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    host->log(host->self, GANTRY_LEVEL_WARNING, text);
}

/* The number of the pool's threads: GANTRY_CPU_THREADS, or the usable cores. *out_refused is the
 * option's value if that is not a number of threads, else NULL. */
static uint32_t wanted_threads(const gantry_host_t *host, uint32_t cores,
                               const char **out_refused) {
    *out_refused = NULL;
    const char *text = cpu_backend_option(host, "GANTRY_CPU_THREADS");
    if (!text || text[0] == '\0') return cores;
    char *end;
    long threads = strtol(text, &end, 10);
    if (end == text || *end != '\0' || threads < 0 || threads > GANTRY__CPU_MOST_THREADS) {
        *out_refused = text;
        return cores;
    }
    return threads == 0 ? cores : (uint32_t)threads;
}

static void warn_of_threads(const gantry_host_t *host, uint32_t cores) {
    const char *refused;
    (void)wanted_threads(host, cores, &refused);
    if (refused) {
        cpu_backend_warn(
            host,
            "GANTRY_CPU_THREADS is \"%.40s\"; accepted are 0 to %d. Using %u, the cores this process may use",
            refused, GANTRY__CPU_MOST_THREADS, cores);
    }
}

static int wanted_level(const gantry_host_t *host) {
    const char *text = cpu_backend_option(host, "GANTRY_CPU_SIMD");
    int level = gantry__cpu_simd_detect(text);
    if (text && text[0] != '\0' && strcmp(text, gantry__cpu_simd_name(level)) != 0) {
        cpu_backend_warn(
            host,
            "GANTRY_CPU_SIMD is \"%.40s\"; accepted are base, avx2 and avx512 as far as this machine and this build have them. Using %s",
            text, gantry__cpu_simd_name(level));
    }
    return level;
}

/* ---- instance ---- */

static void cpu_backend_close_instance(gantry_backend_instance_t *instance) {
    if (!instance) return;
    const gantry_host_t *host = instance->host;
    gantry__cpu_blas_release(instance->blas);
    gantry__cpu_pool_release(instance->pool);
    while (instance->libraries) {
        gantry__cpu_line_t *line = instance->libraries;
        instance->libraries = line->next;
        host->reallocate(host->self, line, sizeof *line, 0);
    }
    if (instance->kernels) {
        host->reallocate(host->self, instance->kernels,
                         instance->kernel_count * sizeof *instance->kernels, 0);
    }
    gantry__mutex_deinit(&instance->lock);
    host->reallocate(host->self, instance, sizeof *instance, 0);
}

typedef struct family_t {
    const gantry_kernel_def_t *const *kernels;
    const uint32_t *count;
} family_t;

static const family_t families[] = {
#define GANTRY_K_FAMILY(name) {gantry__cpu_##name##_kernels, &gantry__cpu_##name##_kernel_count},
#include "kernels/common/families.def"
#undef GANTRY_K_FAMILY
};

#define FAMILIES (sizeof families / sizeof families[0])

static int32_t collect_kernels(gantry_backend_instance_t *instance) {
    const gantry_host_t *host = instance->host;
    uint32_t count = 0, next = 0;
    for (size_t f = 0; f < FAMILIES; ++f) count += *families[f].count;
    instance->kernels = host->reallocate(host->self, NULL, 0, count * sizeof *instance->kernels);
    if (!instance->kernels) {
        return gantry__cpu_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                                "No memory for the CPU backend's list of %u kernels", count);
    }
    instance->kernel_count = count;
    for (size_t f = 0; f < FAMILIES; ++f)
        for (uint32_t k = 0; k < *families[f].count; ++k)
            instance->kernels[next++] = families[f].kernels[k];
    return GANTRY_OK;
}

static void describe_platform(gantry_backend_instance_t *instance) {
    char system[41], machine[41];
    gantry__os_system_name(system, machine, sizeof system);
    if (*system)
        snprintf(instance->platform_version, sizeof instance->platform_version, "%s %s", system,
                 machine);
}

static uint32_t vector_width(int level) { return 4u << level; }

static int32_t cpu_backend_check_index(gantry_backend_instance_t *instance, uint32_t index) {
    if (index != 0) {
        return gantry__cpu_fail(instance->host, GANTRY_INVALID_ARGUMENT, 0,
                                "The CPU backend has one device, number 0, not %u", index);
    }
    return GANTRY_OK;
}

/* The base set of x86-64 has no such instruction, but that of 64-bit Arm does. */
static uint32_t fma_flag(int simd_level) {
#ifdef FP_FAST_FMAF
    (void)simd_level;
    return 0;
#else
    return simd_level == GANTRY_CPU_BASE ? GANTRY_DEVICE_EMULATES_FMA : 0;
#endif
}

static int32_t device_info(gantry_backend_instance_t *instance, uint32_t index,
                           gantry_device_info_t *out_info) {
    gantry_device_info_t info = {
        .struct_size = out_info->struct_size,
        .type = GANTRY_DEVICE_TYPE_CPU,
        .flags = GANTRY_DEVICE_HOST_BACKED | GANTRY_DEVICE_HOST_ADDRESSABLE |
                 GANTRY_DEVICE_SYNCHRONOUS | fma_flag(instance->simd_level),
        .compute_units = instance->cores,
        .hardware_name = instance->identity.hardware_name,
        .vendor = instance->identity.vendor,
        .driver_version = "1",
        .platform_name = "Host",
        .platform_version = instance->platform_version,
        .pci_address = "",
        .uuid = "",
        .compute_capability = "",
        .build_hash = gantry__cpu_simd_name(instance->simd_level),
        .total_bytes = instance->total_bytes,
        .largest_allocation_bytes = 0,
        .base_alignment_bytes = 64,
        .local_memory_bytes = 0,
        .dtype_mask = GANTRY_DTYPES_ANY,
        .max_work_group_size = 1,
        .parameter_bytes = 0,
        .native_vector_width = vector_width(instance->simd_level),
        .sub_group_size = 0,
        .program_kinds = 0,
        .clock_mhz = instance->identity.clock_mhz,
    };
    size_t size = out_info->struct_size < sizeof info ? out_info->struct_size : sizeof info;
    GANTRY__TRY(cpu_backend_check_index(instance, index));
    memcpy(out_info, &info, size);
    return GANTRY_OK;
}

static int32_t cpu_backend_open_instance(const gantry_host_t *host,
                                         gantry_backend_instance_t **out_instance) {
    *out_instance = NULL;
    const char *missing = gantry__cpu_simd_missing();
    if (missing) {
        return gantry__cpu_fail(
            host, GANTRY_UNAVAILABLE, 0,
            "this library was built only for processors with %s, and this processor lacks it: a build with -DGANTRY_CPU_SIMD_BUILD=all runs on every processor",
            missing);
    }
    gantry_backend_instance_t *instance = host->reallocate(host->self, NULL, 0, sizeof *instance);
    if (!instance) {
        return gantry__cpu_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                                "No memory for the CPU backend (%zu bytes)", sizeof *instance);
    }
    memset(instance, 0, sizeof *instance);
    if (gantry__mutex_init(&instance->lock) != 0) {
        host->reallocate(host->self, instance, sizeof *instance, 0);
        return gantry__cpu_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0, "No lock for the CPU backend");
    }
    instance->host = host;
    gantry__cpu_machine_identity("", &instance->identity);
    instance->cores = gantry__cpu_machine_cores("", gantry__os_usable_cores());
    instance->total_bytes = physical_bytes();
    instance->simd_level = wanted_level(host);
    describe_platform(instance);
    int32_t status = collect_kernels(instance);
    if (status != GANTRY_OK) goto fail;
    warn_of_threads(host, instance->cores);
    status = gantry__cpu_blas_create(host, instance->simd_level, &instance->blas);
    if (status != GANTRY_OK) goto fail;
    *out_instance = instance;
    return GANTRY_OK;
fail:
    cpu_backend_close_instance(instance);
    return status;
}

static uint32_t cpu_backend_device_count(gantry_backend_instance_t *instance) {
    (void)instance;
    return 1;
}

/* Makes the pool when the first device is opened, because until then a program may set the number
 * of threads. */
static int32_t make_pool(gantry_backend_instance_t *instance) {
    gantry_device_info_t info = {.struct_size = sizeof info};
    int32_t status = GANTRY_OK;
    device_info(instance, 0, &info);
    gantry__mutex_lock(&instance->lock);
    if (!instance->pool) {
        const char *refused;
        uint32_t threads = wanted_threads(instance->host, instance->cores, &refused);
        status = gantry__cpu_pool_create(instance->host, threads, &instance->pool);
        if (status == GANTRY_OK) gantry__cpu_blas_set_device(instance->blas, &info, threads);
    }
    gantry__mutex_unlock(&instance->lock);
    return status;
}

static int32_t device_open(gantry_backend_instance_t *instance, uint32_t index,
                           gantry_backend_device_t **out_device) {
    *out_device = NULL;
    GANTRY__TRY(cpu_backend_check_index(instance, index));
    GANTRY__TRY(make_pool(instance));
    const gantry_host_t *host = instance->host;
    gantry_backend_device_t *device = host->reallocate(host->self, NULL, 0, sizeof *device);
    if (!device) {
        return gantry__cpu_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                                "No memory for the CPU device (%zu bytes)", sizeof *device);
    }
    *device = (gantry_backend_device_t){.host = host,
                                        .pool = instance->pool,
                                        .blas = instance->blas,
                                        .simd_level = instance->simd_level,
                                        .has_dots = gantry__cpu_dots_detect(instance->simd_level)};
    *out_device = device;
    return GANTRY_OK;
}

static void device_close(gantry_backend_device_t *device) {
    device->host->reallocate(device->host->self, device, sizeof *device, 0);
}

static uint32_t cpu_backend_list_kernels(gantry_backend_instance_t *instance, uint32_t index,
                                         const gantry_kernel_def_t *const **out_kernels) {
    if (index != 0) return 0;
    *out_kernels = instance->kernels;
    return instance->kernel_count;
}

static void write_libraries(gantry_backend_instance_t *instance, char *out, size_t out_bytes) {
    char threads[32];
    const char *refused;
    uint32_t count = wanted_threads(instance->host, instance->cores, &refused);
    snprintf(threads, sizeof threads, count == 1 ? "one thread" : "%u threads", count);
    snprintf(out, out_bytes, "%s; vector code: %s; %s",
             instance->pool ? gantry__cpu_pool_description(instance->pool) : threads,
             gantry__cpu_simd_name(instance->simd_level), gantry__cpu_blas_library(instance->blas));
}

static const char *cpu_backend_list_libraries(gantry_backend_instance_t *instance) {
    const gantry_host_t *host = instance->host;
    gantry__cpu_line_t now = {NULL, ""};
    gantry__mutex_lock(&instance->lock);
    write_libraries(instance, now.text, sizeof now.text);
    gantry__cpu_line_t *line = instance->libraries;
    while (line && strcmp(line->text, now.text) != 0) line = line->next;
    if (!line) {
        line = host->reallocate(host->self, NULL, 0, sizeof *line);
        if (line) {
            now.next = instance->libraries;
            *line = now;
            instance->libraries = line;
        }
    }
    gantry__mutex_unlock(&instance->lock);
    return line ? line->text : "";
}

static const gantry_backend_t table = {
    .struct_size = sizeof table,
    .abi_version = 1,
    .name = "cpu",
    .description = "Host memory and the processor's cores",
    .rank = 0,
    .open = cpu_backend_open_instance,
    .close = cpu_backend_close_instance,
    .device_count = cpu_backend_device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .kernels = cpu_backend_list_kernels,
    .libraries = cpu_backend_list_libraries,
    .memory = &gantry__cpu_memory_ops,
    .stream = &gantry__cpu_stream_ops,
    .event = &gantry__cpu_event_ops,
    .transfer = &gantry__cpu_transfer_ops,
    .program = NULL,
    .telemetry = &gantry__cpu_telemetry_ops,
};

int32_t gantry_backend_query_cpu(uint32_t max_abi, const gantry_backend_t **out_backend) {
    *out_backend = NULL;
    if (max_abi < table.abi_version) return GANTRY_FAILED_PRECONDITION;
    *out_backend = &table;
    return GANTRY_OK;
}
