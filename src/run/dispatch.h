/* SPDX-License-Identifier: Apache-2.0 */
/* Placement on the eager path: the kept plan of an op, its record, and its log line. Owner: the
 * runtime has the plans. Threads: thread-safe, except for a scope, which belongs to the calling
 * thread. */
#ifndef GANTRY_RUN_DISPATCH_H
#define GANTRY_RUN_DISPATCH_H

#include "op/op_def.h"
#include "run/scope_state.h"

/* A request filled from the runtime's settings. */
static inline gantry__place_request_t gantry__dispatch_request(
    gantry_runtime_t *runtime, const gantry__op_def_t *op, const gantry_attr_t *attrs,
    const gantry__wish_t *wish, const gantry_logical_device_t *pinned, bool batch_invariant) {
    return (gantry__place_request_t){
        .devices = &runtime->devices,
        .registries = runtime->registries,
        .op = op,
        .attrs = attrs,
        .wish = wish,
        .pinned = pinned,
        .soft = atomic_load_explicit(&runtime->soft_placement, memory_order_relaxed) != 0,
        .require = atomic_load_explicit(&runtime->placement_mode, memory_order_relaxed) ==
                   GANTRY_PLACEMENT_REQUIRE,
        .batch_invariant = batch_invariant,
    };
}

/* Attributes of an op for a request without a call: every type is dtype, the others are empty. */
void gantry__dispatch_types(const gantry__op_def_t *op, gantry_dtype_t dtype,
                            gantry_attr_t out_attrs[GANTRY__MAX_ATTRS]);

/* Makes record, count, callback and warning of one placement; returns its sequence number.
 * part_of: the composed op that the program called, or NULL. costs: 0 without crossover. */
uint64_t gantry__dispatch_record(gantry_runtime_t *runtime, gantry__kept_plan_t *kept,
                                 const gantry__op_def_t *part_of, uint64_t bytes_copied,
                                 gantry__placed_costs_t costs);

/* Makes record, count, callback, log line and warning of an op of this scope; returns the op's
 * sequence number. */
uint64_t gantry__dispatch_note(const gantry_scope_t *scope, gantry__kept_plan_t *kept,
                               const char *log_name, uint64_t bytes_copied);

/* What the ops of a scope are recorded as: this plan; NULL: they leave no record. */
typedef struct gantry__recorded_as_t {
    gantry__kept_plan_t *kept;
} gantry__recorded_as_t;

/* Makes an op's record and log line in the scope, as itself or as what the scope says. */
uint64_t gantry__dispatch_note_op(const gantry_scope_t *scope, gantry__kept_plan_t *kept,
                                  uint64_t bytes_copied);

/* The plan of an op that the core runs itself; it leaves a record if it is refused. */
gantry_status_t gantry__plan_core_op(gantry_scope_t *scope, gantry__op_id_t id,
                                     const char *log_name, gantry_dtype_t dtype,
                                     bool integer_variable, const gantry_logical_device_t *pinned,
                                     gantry__kept_plan_t **out_kept);
/* Chooses the device of an op that the core runs itself (Const, variables); records and logs it
 * under log_name. */
gantry_status_t gantry__place_core_op(gantry_scope_t *scope, gantry__op_id_t id,
                                      const char *log_name, gantry_dtype_t dtype,
                                      bool integer_variable, const gantry_logical_device_t *pinned,
                                      gantry_logical_device_t **out_device);

/* Applies the device policy to input `index` of op, which is on another device than the one on
 * which the op runs. */
gantry_status_t gantry__dispatch_check_policy(gantry_runtime_t *runtime, const gantry__op_def_t *op,
                                              uint32_t index, const gantry_tensor_t *input,
                                              const gantry_logical_device_t *device);

#endif
