/* SPDX-License-Identifier: Apache-2.0 */
/* Finding devices and opening them. Finding only reads descriptions: no context is made and no
 * device memory taken. */
#include "opencl/opencl_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/matmul/opencl_clblast_parameters.h"
#include "opencl/matmul/opencl_matmul.h"
#include "opencl/opencl_all_devices.h"
#include "opencl/pocl/opencl_linker.h"
#include "kernels/common/launch.h"
#include "driver/process_limit.h"

#define MOST_PLATFORMS 64
#define MOST_DEVICES 256 /* most devices of one platform */
#define REASON_BYTES GANTRY__POCL_REASON_BYTES
#define LIBRARY_BYTES (UINT64_C(256) << 20) /* address space: PoCL's with LLVM takes 240 MiB */

static void note_platform(gantry_backend_instance_t *instance, int32_t level, const char *platform,
                          const char *reason) {
    gantry__opencl_note(instance->host, &instance->notes, level, "OpenCL platform \"%.120s\": %s",
                        platform, reason);
}

static void opencl_device_leave_out(gantry_backend_instance_t *instance, const char *platform,
                                    const char *reason) {
    note_platform(instance, GANTRY_LEVEL_WARNING, platform, reason);
}

/* ---- finding ---- */

static int32_t append_record(gantry_backend_instance_t *instance, gantry__opencl_record_t *record) {
    const gantry_host_t *host = instance->host;
    if (instance->record_count == instance->record_capacity) {
        uint32_t capacity = instance->record_capacity == 0 ? 8 : instance->record_capacity * 2;
        size_t item = sizeof *instance->records;
        gantry__opencl_record_t **grown = host->reallocate(
            host->self, instance->records, instance->record_capacity * item, capacity * item);
        if (!grown) {
            return gantry__driver_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                                       "no host memory for a list of %u OpenCL devices", capacity);
        }
        instance->records = grown;
        instance->record_capacity = capacity;
    }
    instance->records[instance->record_count++] = record;
    return GANTRY_OK;
}

static void release_record(const gantry_host_t *host, gantry__opencl_record_t *record) {
    gantry__opencl_record_deinit(host, record);
    gantry__host_free(host, record, sizeof *record);
}

static bool has_device(const gantry_backend_instance_t *instance, cl_device_id device) {
    for (uint32_t i = 0; i < instance->record_count; ++i) {
        if (instance->records[i]->device == device) return true;
    }
    return false;
}

/* Adds a device. Only a lack of host memory is a failure here; a device that cannot be used is left
 * out. */
static int32_t add_device(gantry_backend_instance_t *instance, cl_platform_id platform,
                          cl_device_id device, const char *platform_name) {
    const gantry_host_t *host = instance->host;
    int32_t status = GANTRY_OK;
    if (has_device(instance, device)) {
        gantry__opencl_note(
            host, &instance->notes, GANTRY_LEVEL_INFO,
            "a device of OpenCL platform \"%.120s\" was found before under another platform: it is counted once",
            platform_name);
        return GANTRY_OK;
    }
    gantry__opencl_record_t *record = gantry__driver_alloc(host, sizeof *record);
    if (!record) return GANTRY_RESOURCE_EXHAUSTED;
    record->platform = platform;
    record->device = device;
    record->info.driver = instance->platform_count;
    char reason[REASON_BYTES] = "";
    cl_int native = gantry__opencl_record_fill(instance, record, reason, sizeof reason);
    if (native == CL_SUCCESS) {
        status = append_record(instance, record);
        if (status == GANTRY_OK) return GANTRY_OK;
    } else if (native == GANTRY__OPENCL_NO_MEMORY) {
        status = GANTRY_RESOURCE_EXHAUSTED;
    } else {
        opencl_device_leave_out(instance, platform_name, reason);
    }
    release_record(host, record);
    return status;
}

/* Takes the processors out of the list. */
static void drop_processors(const gantry_backend_instance_t *instance, cl_device_id *devices,
                            cl_uint *count) {
    cl_uint kept = 0;
    for (cl_uint i = 0; i < *count; ++i) {
        cl_device_type type = 0;
        if (instance->cl.clGetDeviceInfo(devices[i], CL_DEVICE_TYPE, sizeof type, &type, NULL) ==
                CL_SUCCESS &&
            (type & CL_DEVICE_TYPE_CPU) == 0) {
            devices[kept++] = devices[i];
        }
    }
    *count = kept;
}

/* Notes a driver without devices. A driver without a card of its maker is usual, but not one that a
 * variable names. */
static void leave_out_empty(gantry_backend_instance_t *instance, const char *name) {
    const char *variable = gantry__pocl_is(name)          ? "POCL_DEVICES"
                           : strcmp(name, "rusticl") == 0 ? "RUSTICL_ENABLE"
                                                          : NULL;
    const char *value = variable ? getenv(variable) : NULL;
    char reason[REASON_BYTES] = "it has no devices";
    if (value) {
        (void)snprintf(reason, sizeof reason,
                       "it has no devices; %s, which names them, is \"%.200s\"", variable, value);
    } else if (variable) {
        (void)snprintf(reason, sizeof reason, "it has no devices; %s, which names them, is not set",
                       variable);
    }
    note_platform(instance, value ? GANTRY_LEVEL_WARNING : GANTRY_LEVEL_INFO, name, reason);
}

/* Lists a platform's devices. PoCL is queried only when it has what it needs. No device and no
 * reason means that the platform has none. */
static cl_uint list_devices(gantry_backend_instance_t *instance, cl_platform_id platform,
                            const char *name, cl_device_id *devices, char *reason,
                            size_t reason_bytes) {
    bool is_pocl = gantry__pocl_is(name);
    if (is_pocl &&
        !gantry__pocl_can_start(instance->host, &instance->compiler.folder, reason, reason_bytes))
        return 0;
    cl_int native;
    cl_uint count = 0;
    native =
        instance->cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &count);
    if (native != CL_SUCCESS) {
        if (native != CL_DEVICE_NOT_FOUND) {
            (void)snprintf(reason, reason_bytes, "listing its devices: %s (%d)",
                           gantry__driver_error_name(native), (int)native);
        }
        return 0;
    }
    count = count < MOST_DEVICES ? count : MOST_DEVICES;
    if (is_pocl && count > 0 &&
        !gantry__linker_can_link(instance->compiler.folder.path, reason, reason_bytes))
        drop_processors(instance, devices, &count);
    return count;
}

static int32_t add_platform(gantry_backend_instance_t *instance, cl_platform_id platform) {
    const gantry_host_t *host = instance->host;
    char reason[REASON_BYTES] = "";
    char *name = NULL;
    cl_int native = gantry__opencl_platform_text(instance, platform, CL_PLATFORM_NAME, &name);
    if (native == GANTRY__OPENCL_NO_MEMORY) return GANTRY_RESOURCE_EXHAUSTED;
    if (native != CL_SUCCESS) {
        (void)snprintf(reason, sizeof reason, "asking for its name: %s (%d)",
                       gantry__driver_error_name(native), (int)native);
        opencl_device_leave_out(instance, "?", reason);
        return GANTRY_OK;
    }
    ++instance->platform_count;
    cl_uint count = 0;
    cl_device_id devices[MOST_DEVICES];
    gantry__host_driver_enter(host, name);
    count = list_devices(instance, platform, name, devices, reason, sizeof reason);
    if (reason[0] != '\0') {
        opencl_device_leave_out(instance, name, reason);
    } else if (count == 0) {
        leave_out_empty(instance, name);
    }
    int32_t status = GANTRY_OK;
    for (cl_uint i = 0; i < count && status == GANTRY_OK; ++i)
        status = add_device(instance, platform, devices[i], name);
    gantry__host_text_free(host, name);
    return status;
}

/* Whether a platform was listed before. ocl-icd returns the platforms of a driver twice if it finds
 * two .icd files of the driver; the Khronos loader does not. */
static bool is_repeated(const cl_platform_id *platforms, cl_uint at) {
    for (cl_uint i = 0; i < at; ++i) {
        if (platforms[i] == platforms[at]) return true;
    }
    return false;
}

static int32_t add_platforms(gantry_backend_instance_t *instance, const cl_platform_id *platforms,
                             cl_uint count) {
    uint32_t repeated = 0;
    int32_t status = GANTRY_OK;
    for (cl_uint i = 0; i < count && status == GANTRY_OK; ++i) {
        if (is_repeated(platforms, i)) {
            ++repeated;
        } else {
            status = add_platform(instance, platforms[i]);
        }
    }
    if (repeated > 0) {
        gantry__opencl_note(
            instance->host, &instance->notes, GANTRY_LEVEL_INFO,
            "%s hands out %u of its %u platforms again, as it does when two .icd files name one driver: each is counted once",
            instance->cl.name, repeated, count);
    }
    return status;
}

/* -1001 is the loader's own number for no platforms. */
static int32_t fail_without_platforms(const gantry_backend_instance_t *instance) {
    const char *notes = instance->notes.text;
    char room[256];
    if (!gantry__process_has_room(LIBRARY_BYTES, room, sizeof room)) {
        return gantry__driver_fail(instance->host, GANTRY_UNAVAILABLE, -1001,
                                   "no OpenCL platform: drivers cannot be loaded by %s: %s",
                                   instance->cl.name, room);
    }
    return gantry__driver_fail(
        instance->host, GANTRY_UNAVAILABLE, -1001,
        "no OpenCL platform: %.700s%s; install pocl-opencl-icd or the vendor's driver%s",
        notes[0] != '\0' ? notes : instance->cl.name,
        notes[0] != '\0' ? "" : " finds none in the drivers it opens",
        getenv("OCL_ICD_VENDORS") ? ", or unset OCL_ICD_VENDORS" : "");
}

static int32_t find_devices(gantry_backend_instance_t *instance) {
    const gantry_host_t *host = instance->host;
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0;
    cl_int native = instance->cl.clGetPlatformIDs(MOST_PLATFORMS, platforms, &count);
    if (native == -1001 || (native == CL_SUCCESS && count == 0))
        return fail_without_platforms(instance);
    instance->has_platforms = true;
    if (native != CL_SUCCESS)
        return gantry__driver_check(host, native, "listing the platforms of %s", instance->cl.name);
    int32_t status =
        add_platforms(instance, platforms, count < MOST_PLATFORMS ? count : MOST_PLATFORMS);
    if (status == GANTRY_OK && instance->record_count == 0) {
        status = gantry__driver_fail(host, GANTRY_UNAVAILABLE, 0,
                                     "OpenCL loader %s found but no usable device: %.1000s",
                                     instance->cl.name, instance->notes.text);
    }
    return status;
}

int32_t gantry__opencl_devices_find(gantry_backend_instance_t *instance) {
    gantry__host_driver_enter(instance->host, instance->cl.name);
    gantry__opencl_all_devices_begin(&instance->cl);
    const int32_t status = find_devices(instance);
    gantry__opencl_all_devices_end();
    return status;
}

void gantry__opencl_devices_forget(gantry_backend_instance_t *instance) {
    for (uint32_t i = 0; i < instance->record_count; ++i)
        release_record(instance->host, instance->records[i]);
    gantry__host_free(instance->host, instance->records,
                      instance->record_capacity * sizeof *instance->records);
    instance->records = NULL;
    instance->record_count = 0;
    instance->record_capacity = 0;
}

static int32_t opencl_device_check_index(gantry_backend_instance_t *instance, uint32_t index) {
    return gantry__record_check_index(instance->host, &GANTRY__DRIVER_ERRORS, index,
                                      instance->record_count);
}

int32_t gantry__opencl_device_info(gantry_backend_instance_t *instance, uint32_t index,
                                   gantry_device_info_t *out_info) {
    GANTRY__TRY(opencl_device_check_index(instance, index));
    return gantry__record_info(&instance->records[index]->info, out_info);
}

/* ---- opening ---- */

/* Resolves AUTO: CLBlast's kernels suit GPUs, ours suit processors whose work-items are loops; any
 * other device takes the portable pack. */
static int32_t resolve_matmul(gantry_backend_instance_t *instance,
                              const gantry__opencl_record_t *record) {
    int32_t choice = instance->matmul;
    if (choice == GANTRY__OPENCL_MATMUL_AUTO) {
        choice = record->info.type == GANTRY_DEVICE_TYPE_GPU ? GANTRY__OPENCL_MATMUL_CLBLAST
                 : gantry__k_is_serial_device(&record->info) ? GANTRY__OPENCL_MATMUL_CPU
                                                             : GANTRY__OPENCL_MATMUL_PORTABLE;
    }
    char reason[256];
    if ((choice == GANTRY__OPENCL_MATMUL_CLBLAST &&
         !gantry__opencl_has_clblast(instance, reason, sizeof reason)) ||
        !gantry__opencl_tensor_fits(&record->info, choice, reason, sizeof reason)) {
        gantry__host_log(instance->host,
                         instance->matmul == choice ? GANTRY_LEVEL_WARNING : GANTRY_LEVEL_INFO,
                         "matrix products on \"%.120s\" take the portable kernels: %s",
                         record->hardware_name, reason);
        choice = GANTRY__OPENCL_MATMUL_PORTABLE;
    }
    return choice;
}

/* Takes a reference of the program's context. */
static int32_t adopt_context(gantry_backend_device_t *device, cl_context context) {
    GANTRY__TRY(gantry__driver_check(device->host, device->cl->clRetainContext(context),
                                     "retaining the cl_context %p", (void *)context));
    device->context = context;
    return GANTRY_OK;
}

static int32_t make_context(gantry_backend_device_t *device) {
    const gantry__opencl_record_t *record = device->record;
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                          (cl_context_properties)record->platform, 0};
    if (device->is_pocl) GANTRY__TRY(gantry__pocl_check_opening(device->host));
    cl_int native = CL_SUCCESS;
    device->context =
        device->cl->clCreateContext(properties, 1, &record->device, NULL, NULL, &native);
    return gantry__driver_check(device->host, native, "making a context for \"%.200s\"",
                                record->hardware_name);
}

/* Makes a queue through which pinned memory is mapped, because mapping is not a stream's work. */
static int32_t make_host_queue(gantry_backend_device_t *device) {
    if (device->record->info.type == GANTRY_DEVICE_TYPE_CPU) return GANTRY_OK;
    cl_int native = CL_SUCCESS;
    device->host_queue =
        device->cl->clCreateCommandQueue(device->context, device->record->device, 0, &native);
    return gantry__driver_check(device->host, native, "making a queue for \"%.200s\"",
                                device->record->hardware_name);
}

static gantry_backend_device_t *opencl_device_make(gantry_backend_instance_t *instance,
                                                   const gantry__opencl_record_t *record) {
    gantry_backend_device_t *device = gantry__driver_alloc(instance->host, sizeof *device);
    if (!device) return NULL;
    device->instance = instance;
    device->host = instance->host;
    device->cl = &instance->cl;
    device->record = record;
    device->is_pocl = gantry__pocl_is(record->platform_name);
    atomic_init(&device->used_clblast, 0);
    atomic_init(&device->released_regions, 0);
    for (int i = 0; i < 4; ++i) atomic_init(&device->clblast_failed[i / 2][i % 2], 0);
    if (gantry__driver_mutex_init(device->host, &device->lock, "an OpenCL device") != GANTRY_OK) {
        gantry__host_free(device->host, device, sizeof *device);
        return NULL;
    }
    return device;
}

static void choose_matmul(gantry_backend_device_t *device) {
    const gantry_device_info_t *info = &device->record->info;
    device->matmul = resolve_matmul(device->instance, device->record);
    if (device->matmul == GANTRY__OPENCL_MATMUL_CLBLAST) {
        gantry__clblast_rows_apply(
            &(gantry__clblast_target_t){device->host, device->instance->clblast_rows,
                                        &device->instance->clblast, device->record->device, info});
    } else if (device->matmul == GANTRY__OPENCL_MATMUL_CPU) {
        device->cpu_blocks[0] = gantry__opencl_cpu_blocks_find(device->host, info, GANTRY_FLOAT32);
        device->cpu_blocks[1] = gantry__opencl_cpu_blocks_find(device->host, info, GANTRY_FLOAT64);
    }
}

int32_t gantry__opencl_device_open_over(gantry_backend_instance_t *instance, uint32_t index,
                                        cl_context context, gantry_backend_device_t **out_device) {
    *out_device = NULL;
    GANTRY__TRY(opencl_device_check_index(instance, index));
    gantry_backend_device_t *device = opencl_device_make(instance, instance->records[index]);
    if (!device) return GANTRY_RESOURCE_EXHAUSTED;
    int32_t status = context ? adopt_context(device, context) : make_context(device);
    if (status == GANTRY_OK) status = make_host_queue(device);
    if (status != GANTRY_OK) {
        gantry__opencl_device_close(device);
        return status;
    }
    choose_matmul(device);
    atomic_init(&device->wait.policy, atomic_load(&instance->records[index]->wait_policy));
    *out_device = device;
    return GANTRY_OK;
}

int32_t gantry__opencl_device_open(gantry_backend_instance_t *instance, uint32_t index,
                                   gantry_backend_device_t **out_device) {
    return gantry__opencl_device_open_over(instance, index, NULL, out_device);
}

int32_t gantry__opencl_set_wait_policy(gantry_backend_instance_t *instance, uint32_t index,
                                       int32_t policy) {
    GANTRY__TRY(opencl_device_check_index(instance, index));
    atomic_store(&instance->records[index]->wait_policy, policy);
    return GANTRY_OK;
}

void gantry__opencl_device_close(gantry_backend_device_t *device) {
    gantry__opencl_pinned_release_all(device);
    if (atomic_load(&device->used_clblast))
        gantry__opencl_clblast_forget(&device->instance->clblast);
    if (device->host_queue) device->cl->clReleaseCommandQueue(device->host_queue);
    if (device->context) device->cl->clReleaseContext(device->context);
    gantry__mutex_deinit(&device->lock);
    gantry__host_free(device->host, device, sizeof *device);
}
