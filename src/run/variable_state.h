/* SPDX-License-Identifier: Apache-2.0 */
/* The struct of a variable: what functions need to read and assign it at its place in a graph, and
 * what updates of several variables need.
 *
 * Owner: variables are counted; a variable holds one reference to its value. Threads:
 * thread-safe. */
#ifndef GANTRY_RUN_VARIABLE_STATE_H
#define GANTRY_RUN_VARIABLE_STATE_H

#include <gantry/variable.h>

#include "op/op_def.h"
#include "run/scope_state.h"
#include "run/tensor_state.h"
#include "base/os/thread.h"

struct gantry_variable_t {
    atomic_uint references;
    gantry_runtime_t *runtime;
    gantry_logical_device_t *device;
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    char *name;
    gantry__mutex_t update; /* one read-modify-write at a time */
    gantry__mutex_t lock;   /* guards what follows */
    gantry_tensor_t *value; /* NULL: an update overwrites it, and holds its lock */
    uint64_t assignments;   /* so far */
};

gantry_variable_t *gantry__variable_retain(gantry_variable_t *variable);
gantry_logical_device_t *gantry__variable_home(const gantry_variable_t *variable);
/* A reference of the caller's own to the present value. */
gantry_tensor_t *gantry__variable_take(gantry_variable_t *variable);
/* A tensor of the variable's own on its device. */
gantry_status_t gantry__variable_own(const gantry_scope_t *scope, const gantry_tensor_t *value,
                                     gantry_logical_device_t *device, gantry_tensor_t **out_value);
/* Gives the present value to an update that holds the update lock. If no one else holds it, the
 * variable has none until gantry__variable_put: readers wait for the lock. */
gantry_tensor_t *gantry__variable_withdraw(gantry_variable_t *variable, bool *out_is_alone);
/* Takes the value from the variable, and its update lock, if the value is this one, which only the
 * variable and the caller hold. gantry__variable_put and unlocking end it. */
bool gantry__variable_try_withdraw(gantry_variable_t *variable, gantry_tensor_t *value);
/* Sets the value; takes over the caller's reference. The caller must hold the update lock. */
void gantry__variable_put(gantry_variable_t *variable, gantry_tensor_t *value);
/* Replaces the value; takes over the caller's reference. */
void gantry__variable_replace(gantry_variable_t *variable, gantry_tensor_t *value);
/* Replaces the value by the result of an op on it and `value`, on the variable's device. kept: the
 * plan that the record gets; NULL: there is no record. Returns the scope's status. */
gantry_status_t gantry__variable_update(gantry_scope_t *scope, gantry_variable_t *variable,
                                        const gantry_tensor_t *value, const gantry__op_def_t *op,
                                        struct gantry__kept_plan_t *kept);

#endif
