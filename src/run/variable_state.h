/* SPDX-License-Identifier: Apache-2.0 */
/* Variables inside: what functions need to read and assign them at their place in a graph.
 *
 * Thread-safe. */
#ifndef GANTRY_RUN_VARIABLE_STATE_H
#define GANTRY_RUN_VARIABLE_STATE_H

#include <gantry/variable.h>

#include "op/op_def.h"
#include "run/tensor_state.h"

gantry_variable_t *gantry__variable_retain(gantry_variable_t *variable);
gantry_logical_device_t *gantry__variable_home(const gantry_variable_t *variable);
/* A reference of the caller's own to the present value. */
gantry_tensor_t *gantry__variable_take(gantry_variable_t *variable);
/* Replaces the value; takes over the caller's reference. */
void gantry__variable_replace(gantry_variable_t *variable, gantry_tensor_t *value);
/* Replaces the value by the result of an op on it and `value`, on the variable's device. Returns
 * the scope's status. */
gantry_status_t gantry__variable_update(gantry_scope_t *scope, gantry_variable_t *variable,
                                        const gantry_tensor_t *value, const gantry__op_def_t *op);

#endif
