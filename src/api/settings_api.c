/* SPDX-License-Identifier: Apache-2.0 */
/* Public settings, backends and placements: runtime.h and placement.h over the tables below. */
#include <gantry/gantry.h>

#include <stdio.h>

#include "base/fp_mode.h"
#include "device/device_config.h"
#include "api/api.h"
#include "base/trust.h"
#include "device/logical_device.h"

/* ---- the log ---- */

gantry_status_t gantry_runtime_log(gantry_runtime_t *runtime, gantry_log_level_t level,
                                   const char *text) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    gantry__log(&runtime->log, level, "%s", text ? text : "");
    return GANTRY_OK;
}

/* ---- files ---- */

gantry_status_t gantry_check_writers(const char *path) {
    if (!path) return gantry__refuse("gantry_check_writers: path is NULL; a path is accepted");
    return gantry__trust_check(path);
}

/* ---- backends ---- */

size_t gantry_backend_status_count(const gantry_runtime_t *runtime) {
    return runtime ? runtime->backends.count : 0;
}

gantry_status_t gantry_backend_status(const gantry_runtime_t *runtime, size_t index,
                                      gantry_backend_status_t *out_status) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (index >= runtime->backends.count) {
        return gantry__fail(GANTRY_OUT_OF_RANGE, "backend %zu is requested; there are %zu", index,
                            runtime->backends.count);
    }
    const gantry__backend_t *backend = &runtime->backends.items[index];
    bool is_usable = backend->state == GANTRY_BACKEND_USABLE;
    bool tells =
        is_usable && GANTRY_ABI_HAS(backend->table, libraries) && backend->table->libraries;
    const char *libraries = tells ? backend->table->libraries(backend->instance) : NULL;
    gantry_backend_status_t all = {.state = backend->state,
                                   .name = backend->name,
                                   .description = backend->table && backend->table->description
                                                      ? backend->table->description
                                                      : "",
                                   .path = backend->path,
                                   .reason = backend->reason,
                                   .libraries = libraries ? libraries : "",
                                   .device_count = backend->device_count,
                                   .untried = gantry__backend_untried(&runtime->backends, backend)};
    return gantry__struct_fill(out_status, &all, sizeof all, "gantry_backend_status: out_status");
}

/* ---- switches ---- */

gantry_status_t gantry_set_soft_device_placement(gantry_runtime_t *runtime, bool enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    atomic_store(&runtime->soft_placement, enabled);
    gantry__settings_note_call(&runtime->settings, "GANTRY_SOFT_PLACEMENT",
                               "gantry_set_soft_device_placement");
    return GANTRY_OK;
}

bool gantry_get_soft_device_placement(const gantry_runtime_t *runtime) {
    return runtime && atomic_load(&runtime->soft_placement) != 0;
}

gantry_status_t gantry_set_log_device_placement(gantry_runtime_t *runtime, bool enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    atomic_store(&runtime->log_placement, enabled);
    gantry__settings_note_call(&runtime->settings, "GANTRY_LOG_PLACEMENT",
                               "gantry_set_log_device_placement");
    return GANTRY_OK;
}

bool gantry_get_log_device_placement(const gantry_runtime_t *runtime) {
    return runtime && atomic_load(&runtime->log_placement) != 0;
}

gantry_status_t gantry_set_device_policy(gantry_runtime_t *runtime, gantry_device_policy_t policy) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (policy < GANTRY_POLICY_DEFAULT || policy > GANTRY_POLICY_SILENT_FOR_INT32) {
        return gantry__refuse(
            "device policy is %d; explicit, warn, silent and silent_for_int32 are accepted",
            (int)policy);
    }
    atomic_store(&runtime->device_policy,
                 (int)(policy == GANTRY_POLICY_DEFAULT ? GANTRY_POLICY_SILENT : policy));
    gantry__settings_note_call(&runtime->settings, "GANTRY_DEVICE_POLICY",
                               "gantry_set_device_policy");
    return GANTRY_OK;
}

gantry_device_policy_t gantry_get_device_policy(const gantry_runtime_t *runtime) {
    return runtime ? (gantry_device_policy_t)atomic_load(&runtime->device_policy)
                   : GANTRY_POLICY_DEFAULT;
}

gantry_status_t gantry_set_placement_mode(gantry_runtime_t *runtime, gantry_placement_mode_t mode) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (mode < GANTRY_PLACEMENT_DEFAULT || mode > GANTRY_PLACEMENT_REQUIRE) {
        return gantry__refuse("placement mode is %d; prefer, warn once and require are accepted",
                              (int)mode);
    }
    atomic_store(&runtime->placement_mode,
                 (int)(mode == GANTRY_PLACEMENT_DEFAULT ? GANTRY_PLACEMENT_PREFER : mode));
    gantry__settings_note_call(&runtime->settings, "GANTRY_PLACEMENT", "gantry_set_placement_mode");
    return GANTRY_OK;
}

gantry_placement_mode_t gantry_get_placement_mode(const gantry_runtime_t *runtime) {
    return runtime ? (gantry_placement_mode_t)atomic_load(&runtime->placement_mode)
                   : GANTRY_PLACEMENT_DEFAULT;
}

/* A number of threads, which initialisation freezes. */
typedef struct thread_setting_t {
    atomic_int *value;
    const char *frozen, *zero, *variable, *call;
} thread_setting_t;

static gantry_status_t change_threads(gantry_runtime_t *runtime, const thread_setting_t *setting,
                                      int32_t threads) {
    char text[16];
    const int present = atomic_load(setting->value);
    if (threads == present) return GANTRY_OK;
    if (gantry__device_table_is_frozen(&runtime->devices)) {
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION, "%s (initialized by %s): it is %d (0: %s), %d is given",
            setting->frozen, runtime->devices.frozen_by, present, setting->zero, threads);
    }
    (void)snprintf(text, sizeof text, "%d", threads);
    GANTRY__TRY(
        gantry__settings_put_call(&runtime->settings, setting->variable, text, setting->call));
    atomic_store(setting->value, threads);
    return GANTRY_OK;
}

/* Takes the device table's lock, as freezing does: the CPU's device opens with every accepted
 * number. */
static gantry_status_t set_threads(gantry_runtime_t *runtime, const thread_setting_t *setting,
                                   int32_t threads) {
    gantry__mutex_lock(&runtime->devices.lock);
    gantry_status_t status = change_threads(runtime, setting, threads);
    gantry__mutex_unlock(&runtime->devices.lock);
    return status;
}

gantry_status_t gantry_set_intra_op_parallelism_threads(gantry_runtime_t *runtime,
                                                        int32_t threads) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (threads < 0 || threads > GANTRY__MOST_THREADS) {
        return gantry__refuse("intra op threads is %d; 0 (all cores) to %d is accepted", threads,
                              GANTRY__MOST_THREADS);
    }
    const thread_setting_t setting = {
        .value = &runtime->threads.in_ops,
        .frozen = "Intra op parallelism cannot be modified after initialization",
        .zero = "all cores",
        .variable = "GANTRY_CPU_THREADS",
        .call = "gantry_set_intra_op_parallelism_threads"};
    return set_threads(runtime, &setting, threads);
}

int32_t gantry_get_intra_op_parallelism_threads(const gantry_runtime_t *runtime) {
    return runtime ? atomic_load(&runtime->threads.in_ops) : 0;
}

gantry_status_t gantry_set_inter_op_parallelism_threads(gantry_runtime_t *runtime,
                                                        int32_t threads) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (threads > GANTRY__MOST_THREADS) {
        return gantry__refuse(
            "inter op threads is %d; a negative number (only the caller's thread), or 0 (one for each CPU device that has enough to do) to %d, is accepted",
            threads, GANTRY__MOST_THREADS);
    }
    const thread_setting_t setting = {
        .value = &runtime->threads.between_ops,
        .frozen = "Inter op parallelism cannot be modified after initialization",
        .zero = "one for each CPU device that has enough to do",
        .variable = "GANTRY_INTER_OP_THREADS",
        .call = "gantry_set_inter_op_parallelism_threads"};
    return set_threads(runtime, &setting, threads);
}

int32_t gantry_get_inter_op_parallelism_threads(const gantry_runtime_t *runtime) {
    return runtime ? atomic_load(&runtime->threads.between_ops) : 0;
}

/* ---- placements ---- */

gantry_status_t gantry_set_placement_callback(gantry_runtime_t *runtime,
                                              gantry_placement_fn callback, void *user) {
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
    uint32_t struct_size;
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(gantry__list_check(capacity, out_records, out_count, sizeof *out_records,
                                   "gantry_get_placements: out_records", &struct_size));
    *out_count =
        gantry__placement_log_read(&runtime->placements, capacity, struct_size, out_records);
    return GANTRY_OK;
}

static bool counts_together(const gantry__kept_plan_t *a, const gantry__kept_plan_t *b) {
    return a->plan.op == b->plan.op && a->plan.reason == b->plan.reason &&
           a->plan.device == b->plan.device;
}

/* The uses of all plans with this one's (op, reason, device); 0 if an earlier one in the list
 * counts them. */
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

static void put_count(void *list, size_t index, uint32_t struct_size, const gantry__plan_t *plan,
                      uint64_t used) {
    gantry_placement_count_t count = {.reason = plan->reason, .count = used};
    (void)snprintf(count.op, sizeof count.op, "%s", plan->op->name);
    (void)snprintf(count.device, sizeof count.device, "%s",
                   plan->device ? plan->device->full_name : "");
    gantry__struct_fill_at(list, index, struct_size, &count);
}

gantry_status_t gantry_get_placement_counts(gantry_runtime_t *runtime, size_t capacity,
                                            gantry_placement_count_t *out_counts,
                                            size_t *out_count) {
    uint32_t struct_size;
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(gantry__list_check(capacity, out_counts, out_count, sizeof *out_counts,
                                   "gantry_get_placement_counts: out_counts", &struct_size));
    size_t count = 0;
    gantry__mutex_lock(&runtime->plans.lock);
    for (gantry__kept_plan_t *kept = runtime->plans.kept; kept; kept = kept->next_kept) {
        uint64_t used = count_uses(runtime->plans.kept, kept);
        if (used == 0) continue;
        if (count < capacity) put_count(out_counts, count, struct_size, &kept->plan, used);
        ++count;
    }
    gantry__mutex_unlock(&runtime->plans.lock);
    *out_count = count;
    return GANTRY_OK;
}
