/* Public settings, device listings and numbers: runtime.h, device.h and placement.h over the tables below. */
#include <gantry/gantry.h>

#include <string.h>

#include "run/runtime_state.h"

/* ---- backends ---- */

size_t gantry_backend_status_count(const gantry_runtime_t *runtime) { return runtime ? runtime->backends.count : 0; }

/* Copies as much of a struct as the caller's version of it has; FailedPrecondition-free check of the out pointer. */
static gantry_status_t copy_out(const void *all, size_t all_bytes, void *out, uint32_t struct_size, const char *what) {
    if (struct_size < sizeof(uint32_t) || struct_size > all_bytes) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s: struct_size is %u; 4 to %zu is accepted", what, struct_size,
                            all_bytes);
    }
    memcpy(out, all, struct_size);
    return GANTRY_OK;
}

gantry_status_t gantry_backend_status(const gantry_runtime_t *runtime, size_t index,
                                      gantry_backend_status_t *out_status) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!out_status) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_backend_status: out_status is NULL");
    if (index >= runtime->backends.count) {
        return gantry__fail(GANTRY_OUT_OF_RANGE, "backend %zu is asked for; there are %zu", index,
                            runtime->backends.count);
    }
    const gantry__backend_t *backend = &runtime->backends.items[index];
    bool is_usable = backend->state == GANTRY_BACKEND_USABLE;
    bool tells = is_usable && GANTRY_ABI_HAS(backend->table, libraries) && backend->table->libraries;
    const char *libraries = tells ? backend->table->libraries(backend->instance) : NULL;
    gantry_backend_status_t all = {
        .struct_size = out_status->struct_size,
        .state = backend->state,
        .name = backend->name,
        .description = backend->table && backend->table->description ? backend->table->description : "",
        .path = backend->path,
        .reason = backend->reason,
        .libraries = libraries ? libraries : "",
        .device_count = backend->device_count};
    return copy_out(&all, sizeof all, out_status, out_status->struct_size, "gantry_backend_status");
}

/* ---- switches ---- */

gantry_status_t gantry_set_soft_device_placement(gantry_runtime_t *runtime, bool enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    atomic_store(&runtime->soft_placement, enabled);
    return GANTRY_OK;
}

bool gantry_get_soft_device_placement(const gantry_runtime_t *runtime) {
    return runtime && atomic_load(&runtime->soft_placement) != 0;
}

gantry_status_t gantry_set_log_device_placement(gantry_runtime_t *runtime, bool enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    atomic_store(&runtime->log_placement, enabled);
    return GANTRY_OK;
}

gantry_status_t gantry_set_device_policy(gantry_runtime_t *runtime, gantry_device_policy_t policy) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (policy < GANTRY_POLICY_DEFAULT || policy > GANTRY_POLICY_SILENT_FOR_INT32) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "device policy is %d; explicit, warn, silent and silent_for_int32 are accepted",
                            (int)policy);
    }
    atomic_store(&runtime->device_policy, (int)(policy == GANTRY_POLICY_DEFAULT ? GANTRY_POLICY_SILENT : policy));
    return GANTRY_OK;
}

gantry_device_policy_t gantry_get_device_policy(const gantry_runtime_t *runtime) {
    return runtime ? (gantry_device_policy_t)atomic_load(&runtime->device_policy) : GANTRY_POLICY_DEFAULT;
}

gantry_status_t gantry_set_placement_mode(gantry_runtime_t *runtime, gantry_placement_mode_t mode) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (mode < GANTRY_PLACEMENT_DEFAULT || mode > GANTRY_PLACEMENT_REQUIRE) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "placement mode is %d; prefer, warn once and require are accepted",
                            (int)mode);
    }
    atomic_store(&runtime->placement_mode, (int)(mode == GANTRY_PLACEMENT_DEFAULT ? GANTRY_PLACEMENT_PREFER : mode));
    return GANTRY_OK;
}

gantry_status_t gantry_set_intra_op_parallelism_threads(gantry_runtime_t *runtime, int32_t threads) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (threads < 0)
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "intra op threads is %d; 0 (all cores) or more is accepted",
                            threads);
    if (threads == runtime->intra_op_threads) return GANTRY_OK;
    return gantry__fail(GANTRY_FAILED_PRECONDITION,
                        "Intra op parallelism cannot be modified after initialization: the CPU backend was opened "
                        "with %d threads (0: all cores) when the runtime was created; set option intra_op_threads or "
                        "GANTRY_CPU_THREADS",
                        runtime->intra_op_threads);
}

int32_t gantry_get_intra_op_parallelism_threads(const gantry_runtime_t *runtime) {
    return runtime ? runtime->intra_op_threads : 0;
}

/* ---- devices ---- */

static gantry_status_t check_list(size_t capacity, const void *out_devices, const size_t *out_count, const char *call) {
    if (!out_count || (capacity > 0 && !out_devices))
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s: out_devices or out_count is NULL", call);
    return GANTRY_OK;
}

gantry_status_t gantry_list_physical_devices(gantry_runtime_t *runtime, const char *type, size_t capacity,
                                             const gantry_physical_device_t **out_devices, size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(check_list(capacity, out_devices, out_count, "gantry_list_physical_devices"));
    *out_count = 0;
    for (size_t i = 0; i < runtime->devices.physical_count; ++i) {
        const struct gantry_physical_device_t *device = runtime->devices.physical[i];
        if (!device->listed || (type && strcmp(device->type, type) != 0)) continue;
        if (*out_count < capacity) out_devices[*out_count] = device;
        ++*out_count;
    }
    return GANTRY_OK;
}

gantry_status_t gantry_list_device_views(gantry_runtime_t *runtime, size_t capacity,
                                         const gantry_physical_device_t **out_devices, size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(check_list(capacity, out_devices, out_count, "gantry_list_device_views"));
    *out_count = runtime->devices.physical_count;
    for (size_t i = 0; i < *out_count && i < capacity; ++i) out_devices[i] = runtime->devices.physical[i];
    return GANTRY_OK;
}

gantry_status_t gantry_get_device_details(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                          gantry_device_details_t *out_details) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!out_details || out_details->struct_size < sizeof(uint32_t)) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "gantry_get_device_details: out_details is NULL or its struct_size is not set");
    }
    GANTRY__TRY(gantry__device_check(&runtime->devices, device));
    gantry__device_details(&runtime->devices, device, out_details);
    return GANTRY_OK;
}

gantry_status_t gantry_set_visible_devices(gantry_runtime_t *runtime, const gantry_physical_device_t *const *devices,
                                           size_t count, const char *type) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (count > 0 && !devices)
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_set_visible_devices: %zu devices are given at NULL",
                            count);
    if (count > runtime->devices.physical_count) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_set_visible_devices: %zu devices are given; there are %zu",
                            count, runtime->devices.physical_count);
    }
    return gantry__device_set_visible(&runtime->devices, devices, count, type);
}

gantry_status_t gantry_get_visible_devices(gantry_runtime_t *runtime, const char *type, size_t capacity,
                                           const gantry_physical_device_t **out_devices, size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(check_list(capacity, out_devices, out_count, "gantry_get_visible_devices"));
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

gantry_status_t gantry_set_memory_growth(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                         bool enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_growth(&runtime->devices, device, enabled);
}

gantry_status_t gantry_get_memory_growth(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                         bool *out_enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!out_enabled) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_get_memory_growth: out_enabled is NULL");
    GANTRY__TRY(gantry__device_check(&runtime->devices, device));
    *out_enabled = gantry__device_growth(&runtime->devices, device);
    return GANTRY_OK;
}

gantry_status_t gantry_set_memory_limit(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                        uint64_t limit_bytes) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_limit(&runtime->devices, device, limit_bytes);
}

gantry_status_t gantry_set_logical_device_configuration(gantry_runtime_t *runtime,
                                                        const gantry_physical_device_t *device,
                                                        const gantry_logical_device_config_t *configs, size_t count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_logical(&runtime->devices, device, configs, count);
}

gantry_status_t gantry_list_logical_devices(gantry_runtime_t *runtime, const char *type, size_t capacity,
                                            const gantry_logical_device_t **out_devices, size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(check_list(capacity, out_devices, out_count, "gantry_list_logical_devices"));
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

const char *gantry_logical_device_name(const gantry_logical_device_t *device) { return device ? device->name : ""; }

const char *gantry_logical_device_full_name(const gantry_logical_device_t *device) {
    return device ? device->full_name : "";
}

const char *gantry_logical_device_type(const gantry_logical_device_t *device) {
    return device ? device->physical->type : "";
}

const gantry_physical_device_t *gantry_logical_device_physical(const gantry_logical_device_t *device) {
    return device ? device->physical : NULL;
}

static gantry_status_t find_device(gantry_runtime_t *runtime, const char *name, const char *call,
                                   gantry_logical_device_t **out_device) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!name)
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s: the device is NULL; a text such as \"GPU:0\" is accepted",
                            call);
    GANTRY__TRY(gantry__runtime_initialize(runtime, call));
    gantry__device_reference_t reference;
    GANTRY__TRY(gantry__device_reference_from_user(&runtime->devices, name, &reference));
    return gantry__device_reference_find(&runtime->devices, &reference, name, out_device);
}

gantry_status_t gantry_find_logical_device(gantry_runtime_t *runtime, const char *name,
                                           const gantry_logical_device_t **out_device) {
    if (!out_device) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_find_logical_device: out_device is NULL");
    *out_device = NULL;
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(find_device(runtime, name, "gantry_find_logical_device", &device));
    *out_device = device;
    return GANTRY_OK;
}

/* ---- numbers ---- */

gantry_status_t gantry_get_memory_info(gantry_runtime_t *runtime, const char *device_name,
                                       gantry_memory_info_t *out_info) {
    if (!out_info) return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_get_memory_info: out_info is NULL");
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(find_device(runtime, device_name, "gantry_get_memory_info", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    gantry__bfc_stats_t stats;
    gantry__allocator_stats(&device->allocator, &stats);
    gantry_memory_info_t all = {.struct_size = out_info->struct_size,
                                .current_bytes = stats.bytes_in_use,
                                .peak_bytes = stats.peak_bytes_in_use,
                                .pool_bytes = stats.pool_bytes,
                                .peak_pool_bytes = stats.peak_pool_bytes,
                                .limit_bytes = stats.bytes_limit,
                                .largest_free_bytes = stats.largest_free_block_bytes,
                                .largest_allocation_bytes = stats.largest_alloc_bytes,
                                .allocation_count = stats.num_allocs};
    const gantry_memory_ops_t *memory = device->backend->memory;
    if (GANTRY_ABI_HAS(memory, memory_info) && memory->memory_info &&
        memory->memory_info(device->handle, &all.driver_free_bytes, &all.driver_total_bytes) != 0) {
        all.driver_free_bytes = all.driver_total_bytes = 0;
    }
    return copy_out(&all, sizeof all, out_info, out_info->struct_size, "gantry_get_memory_info");
}

gantry_status_t gantry_reset_memory_stats(gantry_runtime_t *runtime, const char *device_name) {
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(find_device(runtime, device_name, "gantry_reset_memory_stats", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    gantry__allocator_clear_stats(&device->allocator);
    return GANTRY_OK;
}

/* ---- placements ---- */

gantry_status_t gantry_set_placement_callback(gantry_runtime_t *runtime, gantry_placement_fn callback, void *user) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    gantry__mutex_lock(&runtime->lock);
    runtime->placement_callback = callback;
    runtime->placement_user = user;
    atomic_store(&runtime->has_callback, callback != NULL);
    gantry__mutex_unlock(&runtime->lock);
    return GANTRY_OK;
}

gantry_status_t gantry_get_placements(gantry_runtime_t *runtime, size_t capacity,
                                      gantry_placement_record_t *out_records, size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!out_count || (capacity > 0 && !out_records)) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_get_placements: out_records or out_count is NULL");
    }
    *out_count = gantry__placement_log_read(&runtime->placements, capacity, out_records);
    return GANTRY_OK;
}

static bool counts_together(const gantry__kept_plan_t *a, const gantry__kept_plan_t *b) {
    return a->plan.op == b->plan.op && a->plan.reason == b->plan.reason;
}

/* The uses of all plans of this one's (op, reason); 0 when an earlier one in the list stands for them. */
static uint64_t count_uses(const gantry__kept_plan_t *all, const gantry__kept_plan_t *kept) {
    for (; all != kept; all = all->next_kept) {
        if (counts_together(all, kept)) return 0;
    }
    uint64_t used = 0;
    for (; kept; kept = kept->next_kept) {
        if (counts_together(all, kept)) used += atomic_load(&kept->used);
    }
    return used;
}

gantry_status_t gantry_get_placement_counts(gantry_runtime_t *runtime, size_t capacity,
                                            gantry_placement_count_t *out_counts, size_t *out_count) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!out_count || (capacity > 0 && !out_counts)) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_get_placement_counts: out_counts or out_count is NULL");
    }
    size_t count = 0;
    gantry__mutex_lock(&runtime->plans.lock);
    for (gantry__kept_plan_t *kept = runtime->plans.kept; kept; kept = kept->next_kept) {
        uint64_t used = count_uses(runtime->plans.kept, kept);
        if (used == 0) continue;
        if (count < capacity) {
            memset(&out_counts[count], 0, sizeof out_counts[count]);
            strncpy(out_counts[count].op, kept->plan.op->name, sizeof out_counts[count].op - 1);
            out_counts[count].reason = kept->plan.reason;
            out_counts[count].count = used;
        }
        ++count;
    }
    gantry__mutex_unlock(&runtime->plans.lock);
    *out_count = count;
    return GANTRY_OK;
}
