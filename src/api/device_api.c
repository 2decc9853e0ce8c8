/* SPDX-License-Identifier: Apache-2.0 */
/* Public device listings and their settings: device.h over the device table. */
#include <gantry/gantry.h>

#include <string.h>

#include "base/fp_mode.h"
#include "device/fail_over.h"
#include "device/device_config.h"
#include "api/api.h"
#include "device/logical_device.h"
#include "device/physical_device.h"

gantry_status_t gantry__list_check(size_t capacity, const void *list, const size_t *out_count,
                                   size_t known_bytes, const char *what,
                                   uint32_t *out_struct_size) {
    *out_struct_size = (uint32_t)known_bytes;
    if (!out_count) return gantry__refuse("%s: out_count is NULL", what);
    return capacity > 0 ? gantry__struct_check(list, known_bytes, what, out_struct_size)
                        : GANTRY_OK;
}

static gantry_status_t device_check_list(size_t capacity, const void *out_devices,
                                         const size_t *out_count, const char *call) {
    if (!out_count || (capacity > 0 && !out_devices))
        return gantry__refuse("%s: %s is NULL", call, out_count ? "out_devices" : "out_count");
    return GANTRY_OK;
}

/* Reads a type; *type becomes the devices' spelling. */
static gantry_status_t read_type(const char *call, const char **type) {
    if (!*type) return GANTRY_OK;
    size_t length =
        strspn(*type, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    if (length == 0 || (*type)[length] != '\0') {
        return gantry__refuse(
            "%s: the type is \"%.100s\"; a type such as \"GPU\" is accepted, or NULL for all", call,
            *type);
    }
    const char *standard = gantry__device_type_standard(*type);
    if (standard) *type = standard;
    return GANTRY_OK;
}

static gantry_status_t check_name(const char *name, const char *call) {
    if (name) return GANTRY_OK;
    return gantry__refuse("%s: the device is NULL; a text such as \"GPU:0\" is accepted", call);
}

gantry_status_t gantry_list_physical_devices(gantry_runtime_t *runtime, const char *type,
                                             size_t capacity,
                                             const gantry_physical_device_t **out_devices,
                                             size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(
        device_check_list(capacity, out_devices, out_count, "gantry_list_physical_devices"));
    GANTRY__TRY(read_type("gantry_list_physical_devices", &type));
    *out_count = 0;
    for (size_t i = 0; i < runtime->devices.physical_count; ++i) {
        const struct gantry_physical_device_t *device = runtime->devices.physical[i];
        if (!device->listed || (type && strcmp(device->type, type) != 0)) continue;
        if (*out_count < capacity) out_devices[*out_count] = device;
        ++*out_count;
    }
    return GANTRY_OK;
}

gantry_status_t gantry_find_physical_device(gantry_runtime_t *runtime, const char *name,
                                            const gantry_physical_device_t **out_device) {
    if (!out_device) return gantry__refuse("gantry_find_physical_device: out_device is NULL");
    *out_device = NULL;
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(check_name(name, "gantry_find_physical_device"));
    return gantry__physical_device_find(&runtime->devices, name, out_device);
}

gantry_status_t gantry_list_device_views(gantry_runtime_t *runtime, size_t capacity,
                                         const gantry_physical_device_t **out_devices,
                                         size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(device_check_list(capacity, out_devices, out_count, "gantry_list_device_views"));
    *out_count = runtime->devices.physical_count;
    for (size_t i = 0; i < *out_count && i < capacity; ++i)
        out_devices[i] = runtime->devices.physical[i];
    return GANTRY_OK;
}

const char *gantry_device_three_launches(const gantry_physical_device_t *device) {
    if (!device) return NULL;
    const gantry_device_info_t *info = &gantry__device_shown(device)->info;
    if (info->type == GANTRY_DEVICE_TYPE_CPU || info->flags & GANTRY_DEVICE_GROUPS_GO_ON) return "";
    return "its driver does not promise that work-groups go on while others wait for them";
}

gantry_status_t gantry_get_device_details(gantry_runtime_t *runtime,
                                          const gantry_physical_device_t *device,
                                          gantry_device_details_t *out_details) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(gantry__device_check(&runtime->devices, device));
    gantry_device_details_t all;
    memset(&all, 0, sizeof all); /* the caller's padding gets no bytes of this stack */
    gantry__device_details(&runtime->devices, device, &all);
    return gantry__struct_fill(out_details, &all, sizeof all,
                               "gantry_get_device_details: out_details");
}

gantry_status_t gantry_set_visible_devices(gantry_runtime_t *runtime,
                                           const gantry_physical_device_t *const *devices,
                                           size_t count, const char *type) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (count > 0 && !devices)
        return gantry__refuse("gantry_set_visible_devices: %zu devices are given at NULL", count);
    GANTRY__TRY(read_type("gantry_set_visible_devices", &type));
    return gantry__device_set_visible(&runtime->devices, devices, count, type);
}

gantry_status_t gantry_get_visible_devices(gantry_runtime_t *runtime, const char *type,
                                           size_t capacity,
                                           const gantry_physical_device_t **out_devices,
                                           size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(device_check_list(capacity, out_devices, out_count, "gantry_get_visible_devices"));
    GANTRY__TRY(read_type("gantry_get_visible_devices", &type));
    *out_count = 0;
    gantry__mutex_lock(&runtime->devices.lock);
    for (size_t i = 0; i < runtime->devices.visible_count; ++i) {
        const struct gantry_physical_device_t *device = runtime->devices.visible[i];
        if (type && strcmp(device->type, type) != 0) continue;
        if (*out_count < capacity) out_devices[*out_count] = device;
        ++*out_count;
    }
    gantry__mutex_unlock(&runtime->devices.lock);
    return GANTRY_OK;
}

gantry_status_t gantry_set_logical_device_configuration(
    gantry_runtime_t *runtime, const gantry_physical_device_t *device,
    const gantry_logical_device_config_t *configs, size_t count) {
    gantry_logical_device_config_t parts[GANTRY__MOST_PARTS];
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!configs || count > GANTRY__MOST_PARTS) /* refused below, after the check of the device */
        return gantry__device_set_logical(&runtime->devices, device, configs, count);
    GANTRY__TRY(gantry__struct_read_list(configs, count, sizeof *configs, parts, sizeof *parts,
                                         "gantry_set_logical_device_configuration: configs"));
    return gantry__device_set_logical(&runtime->devices, device, parts, count);
}

gantry_status_t gantry_get_logical_device_configuration(gantry_runtime_t *runtime,
                                                        const gantry_physical_device_t *device,
                                                        size_t capacity,
                                                        gantry_logical_device_config_t *out_configs,
                                                        size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    static const char what[] = "gantry_get_logical_device_configuration: out_configs";
    gantry_logical_device_config_t parts[GANTRY__MOST_PARTS];
    uint32_t struct_size;
    GANTRY__TRY(gantry__list_check(capacity, out_configs, out_count, sizeof *out_configs, what,
                                   &struct_size));
    GANTRY__TRY(gantry__device_get_logical(&runtime->devices, device, GANTRY__MOST_PARTS, parts,
                                           out_count));
    for (size_t i = 0; i < *out_count && i < capacity; ++i)
        gantry__struct_fill_at(out_configs, i, struct_size, &parts[i]);
    return GANTRY_OK;
}

gantry_status_t gantry_set_logical_cpu_devices(gantry_runtime_t *runtime, size_t count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_logical_cpus(&runtime->devices, count);
}

gantry_status_t gantry_list_logical_devices(gantry_runtime_t *runtime, const char *type,
                                            size_t capacity,
                                            const gantry_logical_device_t **out_devices,
                                            size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(device_check_list(capacity, out_devices, out_count, "gantry_list_logical_devices"));
    GANTRY__TRY(read_type("gantry_list_logical_devices", &type));
    GANTRY__TRY(gantry__runtime_initialize(runtime, "gantry_list_logical_devices"));
    *out_count = 0;
    for (size_t i = 0; i < runtime->devices.listed_count; ++i) {
        gantry_logical_device_t *device = runtime->devices.logical[i];
        if (type && strcmp(device->physical->type, type) != 0) continue;
        if (*out_count < capacity) out_devices[*out_count] = device;
        ++*out_count;
    }
    return GANTRY_OK;
}

const char *gantry_logical_device_name(const gantry_logical_device_t *device) {
    return device ? device->name : "";
}

const char *gantry_logical_device_full_name(const gantry_logical_device_t *device) {
    return device ? device->full_name : "";
}

const char *gantry_logical_device_type(const gantry_logical_device_t *device) {
    return device ? device->physical->type : "";
}

const gantry_physical_device_t *gantry_logical_device_physical(
    const gantry_logical_device_t *device) {
    return device ? device->physical : NULL;
}

gantry_status_t gantry__find_device(gantry_runtime_t *runtime, const char *name, const char *call,
                                    gantry_logical_device_t **out_device) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(check_name(name, call));
    GANTRY__TRY(gantry__runtime_initialize(runtime, call));
    gantry__device_reference_t reference;
    GANTRY__TRY(gantry__device_reference_from_user(&runtime->devices, name, &reference));
    return gantry__device_reference_find(&runtime->devices, &reference, name, out_device);
}

gantry_status_t gantry_find_logical_device(gantry_runtime_t *runtime, const char *name,
                                           const gantry_logical_device_t **out_device) {
    if (!out_device) return gantry__refuse("gantry_find_logical_device: out_device is NULL");
    *out_device = NULL;
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(gantry__find_device(runtime, name, "gantry_find_logical_device", &device));
    *out_device = device;
    return GANTRY_OK;
}
