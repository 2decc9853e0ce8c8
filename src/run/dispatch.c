/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch of one op, in this order: the record with log line and warning, ops that the core runs
 * itself, and the policy for inputs on other devices. place/plan_cache.c finds the plan. */
#include "run/dispatch.h"

#include <string.h>

#include "base/fp_mode.h"
#include "device/logical_device.h"

static GANTRY__COLD void call_back(gantry_runtime_t *runtime, uint64_t sequence,
                                   const gantry__plan_t *plan, const gantry__op_def_t *part_of,
                                   uint64_t bytes_copied, gantry__placed_costs_t costs) {
    gantry__mutex_lock(&runtime->lock);
    gantry_placement_fn callback = runtime->placement_callback;
    void *user = runtime->placement_user;
    gantry__mutex_unlock(&runtime->lock);
    if (!callback) return;
    gantry_placement_record_t record;
    gantry__placement_record_fill(&record, sequence, plan, part_of, bytes_copied, costs);
    GANTRY__PROGRAM_FP_MODE(program);
    callback(user, &record);
}

static GANTRY__COLD void warn_once(gantry_runtime_t *runtime, gantry__kept_plan_t *kept) {
    const gantry__plan_t *plan = &kept->plan;
    bool is_fallback = plan->reason == GANTRY_PLACED_SOFT_SAME_TYPE ||
                       plan->reason == GANTRY_PLACED_SOFT_OTHER_TYPE ||
                       plan->reason == GANTRY_PLACED_ONLY_CPU_KERNEL ||
                       plan->reason == GANTRY_PLACED_OUT_OF_MEMORY;
    if (!is_fallback || !gantry__plan_cache_warns(&runtime->plans, kept)) return;
    gantry__log(&runtime->log, GANTRY_LEVEL_WARNING, "Op %s runs on %s: %s", plan->op->name,
                plan->device->full_name, gantry_placement_reason_text(plan->reason));
}

static inline uint64_t leave_record(gantry_runtime_t *runtime, gantry__kept_plan_t *kept,
                                    const gantry__op_def_t *part_of, uint64_t bytes_copied,
                                    gantry__placed_costs_t costs) {
    uint64_t sequence = gantry__placement_log_next(&runtime->placements);
    (void)atomic_fetch_add_explicit(&kept->used, 1, memory_order_relaxed);
    gantry__placement_log_note(&runtime->placements, sequence, kept, part_of, bytes_copied, costs);
    if (atomic_load_explicit(&runtime->placement_mode, memory_order_relaxed) ==
        GANTRY_PLACEMENT_WARN_ONCE)
        warn_once(runtime, kept);
    if (atomic_load_explicit(&runtime->has_callback, memory_order_relaxed))
        call_back(runtime, sequence, &kept->plan, part_of, bytes_copied, costs);
    return sequence;
}

uint64_t gantry__dispatch_record(gantry_runtime_t *runtime, gantry__kept_plan_t *kept,
                                 const gantry__op_def_t *part_of, uint64_t bytes_copied,
                                 gantry__placed_costs_t costs) {
    return leave_record(runtime, kept, part_of, bytes_copied, costs);
}

static GANTRY__COLD void log_op(gantry_runtime_t *runtime, const gantry__plan_t *plan,
                                const char *log_name, const gantry__op_def_t *part_of) {
    gantry__log_asked(&runtime->log, GANTRY_LEVEL_INFO, "Executing op %s in device %s%s%s%s",
                      log_name, plan->device->full_name, part_of ? " (part of " : "",
                      part_of ? part_of->name : "", part_of ? ")" : "");
}

static inline uint64_t note(const gantry_scope_t *scope, gantry__kept_plan_t *kept,
                            const char *log_name, uint64_t bytes_copied) {
    gantry_runtime_t *runtime = scope->runtime;
    if (!kept) return gantry__placement_log_next(&runtime->placements);
    if (atomic_load_explicit(&runtime->log_placement, memory_order_relaxed) && kept->plan.device)
        log_op(runtime, &kept->plan, log_name, scope->called);
    return leave_record(runtime, kept, scope->called, bytes_copied, (gantry__placed_costs_t){0, 0});
}

uint64_t gantry__dispatch_note(const gantry_scope_t *scope, gantry__kept_plan_t *kept,
                               const char *log_name, uint64_t bytes_copied) {
    return note(scope, kept, log_name, bytes_copied);
}

void gantry__dispatch_types(const gantry__op_def_t *op, gantry_dtype_t dtype,
                            gantry_attr_t out_attrs[GANTRY__MAX_ATTRS]) {
    for (uint32_t i = 0; i < op->attr_count; ++i) {
        out_attrs[i] = (gantry_attr_t){.struct_size = sizeof out_attrs[i],
                                       .kind = op->attrs[i].kind,
                                       .name = op->attrs[i].name};
        if (op->attrs[i].kind == GANTRY_ATTR_TYPE) out_attrs[i].i = (int64_t)dtype;
    }
}

uint64_t gantry__dispatch_note_op(const gantry_scope_t *scope, gantry__kept_plan_t *kept,
                                  uint64_t bytes_copied) {
    if (scope->recorded_as) kept = scope->recorded_as->kept;
    return note(scope, kept, kept ? kept->plan.op->name : "", bytes_copied);
}

gantry_status_t gantry__plan_core_op(gantry_scope_t *scope, gantry__op_id_t id,
                                     const char *log_name, gantry_dtype_t dtype,
                                     bool integer_variable, const gantry_logical_device_t *pinned,
                                     gantry__kept_plan_t **out_kept) {
    gantry_runtime_t *runtime = scope->runtime;
    const gantry__op_def_t *op = gantry__op_get(id);
    GANTRY__TRY(gantry__runtime_initialize(runtime, op->name));
    gantry_attr_t attrs[GANTRY__MAX_ATTRS];
    gantry__dispatch_types(op, dtype, attrs);
    const gantry__wish_t *wish = scope->wish;
    if (scope->chooser && !pinned)
        GANTRY__TRY(gantry__scope_choose_op(scope, op->name, dtype, 1, &wish));
    gantry__place_request_t request =
        gantry__dispatch_request(runtime, op, attrs, wish, pinned, scope->order.batch_invariant);
    request.integer_variable = integer_variable;
    request.any_order = scope->order.any;
    gantry__profile_frame_t *frame = gantry__device_frame(&runtime->devices);
    gantry__phase_t before = gantry__profile_enter(frame, GANTRY__PHASE_PLACEMENT);
    gantry_status_t status = gantry__plan_cache_place(&runtime->plans, &request, out_kept);
    (void)gantry__profile_enter(frame, before);
    if (status != GANTRY_OK && *out_kept && !(*out_kept)->plan.device)
        (void)gantry__dispatch_note(scope, *out_kept, log_name, 0);
    return status;
}

gantry_status_t gantry__place_core_op(gantry_scope_t *scope, gantry__op_id_t id,
                                      const char *log_name, gantry_dtype_t dtype,
                                      bool integer_variable, const gantry_logical_device_t *pinned,
                                      gantry_logical_device_t **out_device) {
    gantry__kept_plan_t *kept;
    GANTRY__TRY(gantry__plan_core_op(scope, id, log_name, dtype, integer_variable, pinned, &kept));
    (void)gantry__dispatch_note(scope, kept, log_name, 0);
    *out_device = kept->plan.device;
    return GANTRY_OK;
}

gantry_status_t gantry__dispatch_check_policy(gantry_runtime_t *runtime, const gantry__op_def_t *op,
                                              uint32_t index, const gantry_tensor_t *input,
                                              const gantry_logical_device_t *device) {
    int policy = atomic_load_explicit(&runtime->device_policy, memory_order_relaxed);
    if (policy == GANTRY_POLICY_SILENT || strcmp(op->name, "Identity") == 0) return GANTRY_OK;
    if (policy == GANTRY_POLICY_SILENT_FOR_INT32 && input->dtype == GANTRY_INT32) return GANTRY_OK;
    if (policy == GANTRY_POLICY_WARN) {
        gantry__log(
            &runtime->log, GANTRY_LEVEL_WARNING,
            "before computing %s input #%u was expected to be on %s but is actually on %s (operation running on %s). This triggers a copy which can be a performance bottleneck.",
            op->name, index, device->full_name, input->device->full_name, device->full_name);
        return GANTRY_OK;
    }
    return gantry__refuse(
        "Tensors on conflicting devices: cannot compute %s as input #%u was expected to be on %s but is actually on %s (operation running on %s) Tensors can be copied explicitly with gantry_identity in a scope on that device, or transparently with gantry_set_device_policy(runtime, GANTRY_POLICY_SILENT). Copying tensors between devices may slow down your model",
        op->name, index, device->full_name, input->device->full_name, device->full_name);
}
