/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Variables: values that change, on the device where they were created. Ops on them run there.
 *
 * Reference-counted; the caller that created a variable releases it. Integer variables other
 * than int64 live on the CPU, as in TensorFlow; so do variables of a type that the device does
 * not compute with. Thread-safe: a read sees an assignment as a whole or not at all. */
#ifndef GANTRY_VARIABLE_H
#define GANTRY_VARIABLE_H

#include <gantry/op.h>
#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A variable. The caller that created it releases it. */
typedef struct gantry_variable_t gantry_variable_t;

/** Creates a variable on the scope's device, with initial's value. name may be NULL. Returns
 * NULL after an error, which the scope keeps. */
GANTRY_API gantry_variable_t *gantry_variable_create(gantry_scope_t *scope,
                                                     const gantry_tensor_t *initial,
                                                     const char *name);
/** Releases a variable; NULL does no harm. */
GANTRY_API void gantry_variable_release(gantry_variable_t *variable);

/** The type of its elements. */
GANTRY_API gantry_dtype_t gantry_variable_dtype(const gantry_variable_t *variable);
/** Its shape; the variable owns it. */
GANTRY_API const gantry_shape_t *gantry_variable_shape(const gantry_variable_t *variable);
/** The device where it lives; valid as long as the runtime. */
GANTRY_API const gantry_logical_device_t *gantry_variable_device(const gantry_variable_t *variable);
/** Its name, "" without one; the variable owns it. */
GANTRY_API const char *gantry_variable_name(const gantry_variable_t *variable);

/** How often it was assigned: so far, or, in the scope of a trace, by what the trace recorded. Code
 * that reads a variable twice learns from two counts whether it reads the same value. */
GANTRY_API uint64_t gantry_variable_assignments(const gantry_scope_t *scope,
                                                gantry_variable_t *variable);

/** Its value now, as a tensor of the scope. Later assignments do not change that tensor. */
GANTRY_API const gantry_tensor_t *gantry_variable_read(gantry_scope_t *scope,
                                                       gantry_variable_t *variable);
/** Replaces the value. value has the variable's type and shape. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_variable_assign(gantry_scope_t *scope,
                                                  gantry_variable_t *variable,
                                                  const gantry_tensor_t *value);
/** Adds a tensor of its type and shape to the value. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_variable_assign_add(gantry_scope_t *scope,
                                                      gantry_variable_t *variable,
                                                      const gantry_tensor_t *value);
/** Subtracts a tensor of its type and shape from the value. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_variable_assign_sub(gantry_scope_t *scope,
                                                      gantry_variable_t *variable,
                                                      const gantry_tensor_t *value);

/** Updates variables by an op: ResourceApplyAdam, ResourceScatterAdd and the others whose names
 * begin with "Resource", with TensorFlow's formulas and attributes. docs/ops.md lists them.
 *
 *     gantry_variable_t *const variables[] = {weights, m, v};
 *     const gantry_tensor_t *const inputs[] = {beta1_power, beta2_power, lr, beta1, beta2,
 *                                              epsilon, gradient};
 *     gantry_variable_update(scope, "ResourceApplyAdam", variables, 3, inputs, 7, NULL, 0);
 *
 * variables take the place of TensorFlow's resources, in their order. They must be different
 * variables of one device, where the op runs. Two threads' updates of one variable both count; in a
 * function, its reads and assignments are nodes of their own, and another thread's update between
 * them is lost. After a failure all variables have their former values, unless a device finds the
 * error later: then their values are faulty until they are assigned. Observers of the scope are not
 * called. Returns the scope's status. */
GANTRY_API gantry_status_t
gantry_variable_update(gantry_scope_t *scope, const char *op, gantry_variable_t *const *variables,
                       size_t variable_count, const gantry_tensor_t *const *inputs,
                       size_t input_count, const gantry_attr_value_t *attrs, size_t attr_count);

#ifdef __cplusplus
}
#endif
#endif
