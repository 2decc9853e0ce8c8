/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting a physical device into logical ones: the accepted splits, and the calls. */
#include <inttypes.h>
#include <string.h>

#include "device/device_config.h"
#include "device/device_table.h"
#include "device/physical_device.h"

typedef struct gantry_physical_device_t physical_t;
typedef gantry_logical_device_config_t part_t;

/* ---- checks ---- */

static gantry_status_t check_count(const physical_t *device, const part_t *parts, size_t count) {
    if (count == 0 || !parts) {
        return gantry__refuse(
            "the logical device configuration of %s is %s; one entry or more is accepted",
            device->name, parts ? "empty" : "NULL");
    }
    if (count > GANTRY__MOST_PARTS) {
        return gantry__refuse(
            "%s cannot be split into %zu logical devices; at most %d are accepted", device->name,
            count, GANTRY__MOST_PARTS);
    }
    if (device->listed) return GANTRY_OK;
    return gantry__refuse("%s cannot be split: %s", device->name, device->note);
}

/* Parts of a CPU without a limit share the rest equally. */
static gantry_status_t check_limits(const physical_t *device, const part_t *parts, size_t count) {
    uint64_t sum = gantry__parts_sum(parts, count), total = device->info.total_bytes, open = 0;
    for (size_t i = 0; i < count; ++i) open += parts[i].memory_limit_bytes == 0;
    if (open > 0 && count > 1 && strcmp(device->type, "CPU") != 0)
        return gantry__refuse("Setting memory limit is required for GPU virtual devices (%s)",
                              device->name);
    if (total == 0 || (sum <= total && total - sum >= open)) return GANTRY_OK;
    if (count == 1) {
        return gantry__refuse("memory limit %" PRIu64
                              " of %s is more than the device has: at most %" PRIu64
                              " bytes are accepted, 0 means its default",
                              sum, device->name, total);
    }
    if (open == 0 || sum > total) {
        return gantry__refuse("the memory limits of the %zu parts of %s add up to %" PRIu64
                              " bytes; it has %" PRIu64,
                              count, device->name, sum, total);
    }
    return gantry__refuse("the memory limits of %s add up to all of its %" PRIu64 " bytes; %" PRIu64
                          " parts without a limit are left without memory",
                          device->name, total, open);
}

static gantry_status_t check_imitation(const physical_t *device, size_t index, const char *what,
                                       uint64_t wanted, uint64_t own) {
    if (wanted == 0 || own == 0 || wanted <= own) return GANTRY_OK;
    return gantry__refuse("%s of part %zu of %s is %" PRIu64 "; at most its own %" PRIu64
                          " can be imitated",
                          what, index, device->name, wanted, own);
}

static gantry_status_t check_part(const physical_t *device, size_t index, const part_t *part) {
    const gantry_device_info_t *info = &device->info;
    if (part->has_priority &&
        (part->priority < info->greatest_priority || part->priority > info->least_priority)) {
        return gantry__refuse("Priority %" PRId32
                              " is outside the range of supported priorities [%" PRId32 ",%" PRId32
                              "] for virtual device %zu on %s# %" PRId32,
                              part->priority, info->greatest_priority, info->least_priority, index,
                              device->type, device->number);
    }
    if (part->has_ordinal && part->ordinal < 0) {
        return gantry__refuse("the device ordinal of part %zu of %s is %" PRId32
                              "; 0 or more is accepted",
                              index, device->name, part->ordinal);
    }
    uint64_t largest =
        info->largest_allocation_bytes ? info->largest_allocation_bytes : info->total_bytes;
    GANTRY__TRY(check_imitation(device, index, "the largest allocation",
                                part->largest_allocation_bytes, largest));
    GANTRY__TRY(check_imitation(device, index, "the local memory", part->local_memory_bytes,
                                info->local_memory_bytes));
    return check_imitation(device, index, "the work-group size", part->max_work_group_size,
                           info->max_work_group_size);
}

gantry_status_t gantry__parts_check(const gantry_physical_device_t *device, const part_t *parts,
                                    size_t count) {
    GANTRY__TRY(check_count(device, parts, count));
    size_t priorities = 0, ordinals = 0;
    for (size_t i = 0; i < count; ++i) {
        priorities += parts[i].has_priority;
        ordinals += parts[i].has_ordinal;
    }
    if (priorities % count != 0) {
        return gantry__refuse(
            "priority must be specified for all virtual devices: %zu of the %zu parts of %s have one",
            priorities, count, device->name);
    }
    if (ordinals % count != 0) {
        return gantry__refuse(
            "device_ordinals must be specified for all virtual devices: %zu of the %zu parts of %s have one",
            ordinals, count, device->name);
    }
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(check_part(device, i, &parts[i]));
    return check_limits(device, parts, count);
}

gantry_status_t gantry__parts_check_ordinals(const gantry__device_table_t *table,
                                             const gantry_physical_device_t *device,
                                             const part_t *parts, size_t count) {
    if (count < 2) return GANTRY_OK;
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *sibling = table->physical[i];
        if (sibling == device || sibling->card->part_count < 2 ||
            strcmp(sibling->type, device->type) != 0)
            continue;
        if (sibling->card->parts[0].has_ordinal == parts[0].has_ordinal) continue;
        return gantry__refuse(
            "Device ordinals must be set for all virtual devices or none. %s has %s, %s has %s",
            device->name, parts[0].has_ordinal ? "them" : "none", sibling->name,
            parts[0].has_ordinal ? "none" : "them");
    }
    return GANTRY_OK;
}

/* ---- calls ---- */

/* Takes the parts into next and commits it. The caller must hold the lock. *parts is then the
 * memory to free after it. */
static gantry_status_t commit_parts(gantry__device_table_t *table, const physical_t *device,
                                    gantry__device_settings_t *next, part_t **parts, size_t *count,
                                    bool *out_changed) {
    gantry__device_layer_t *said = &next->layers[GANTRY__LAYER_CALL];
    part_t *before = said->parts;
    size_t before_count = said->part_count;
    GANTRY__TRY(gantry__parts_check_ordinals(table, device, *parts, *count));
    said->parts = *parts;
    said->part_count = *count;
    GANTRY__TRY(gantry__device_commit(table, device, next, "Virtual devices", out_changed));
    if (!*out_changed) return GANTRY_OK;
    *parts = before;
    *count = before_count;
    return GANTRY_OK;
}

static gantry_status_t set_parts(gantry__device_table_t *table, const physical_t *device,
                                 const part_t *configs, size_t count, const char *by, bool once) {
    GANTRY__TRY(gantry__device_check(table, device));
    GANTRY__TRY(gantry__parts_check(device, configs, count));
    part_t *parts = gantry__heap_alloc(table->heap, count * sizeof *parts);
    if (!parts) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(parts, configs, count * sizeof *parts);
    bool is_changed = false;
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&table->lock);
    gantry__device_settings_t next = device->card->settings;
    gantry__device_layer_t *said = &next.layers[GANTRY__LAYER_CALL];
    bool is_set = said->by[GANTRY__DEVICE_PARTS] != NULL;
    if (once && is_set && !gantry__parts_equal(said->parts, said->part_count, parts, count)) {
        status = gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "Virtual CPUs already set, cannot modify again. (%zu are set by %s, %zu are requested)",
            said->part_count, said->by[GANTRY__DEVICE_PARTS], count);
    } else {
        said->by[GANTRY__DEVICE_PARTS] = by;
        status = commit_parts(table, device, &next, &parts, &count, &is_changed);
    }
    gantry__mutex_unlock(&table->lock);
    gantry__heap_free(table->heap, parts, count * sizeof *parts);
    return status;
}

gantry_status_t gantry__device_set_logical(gantry__device_table_t *table,
                                           const gantry_physical_device_t *device,
                                           const part_t *configs, size_t count) {
    return set_parts(table, device, configs, count, "gantry_set_logical_device_configuration",
                     false);
}

gantry_status_t gantry__device_set_logical_cpus(gantry__device_table_t *table, size_t count) {
    static const part_t equal[GANTRY__MOST_PARTS]; /* no limits: an equal share each */
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *device = table->physical[i];
        if (!device->listed || strcmp(device->type, "CPU") != 0) continue;
        return set_parts(table, device, equal, count, "gantry_set_logical_cpu_devices", true);
    }
    return gantry__fail(GANTRY_NOT_FOUND, "No CPU devices are available in this process");
}

gantry_status_t gantry__device_get_logical(gantry__device_table_t *table,
                                           const gantry_physical_device_t *device, size_t capacity,
                                           part_t *out_configs, size_t *out_count) {
    *out_count = 0;
    GANTRY__TRY(gantry__device_check(table, device));
    gantry__mutex_lock(&table->lock);
    *out_count = device->card->part_count;
    for (size_t i = 0; i < device->card->part_count && i < capacity; ++i)
        out_configs[i] = device->card->parts[i];
    gantry__mutex_unlock(&table->lock);
    return GANTRY_OK;
}
