/* SPDX-License-Identifier: Apache-2.0 */
/* Variables: values that change, on the device where they were made. Ops on them run there.
 *
 * Counted; released by whoever created it. Integer variables other than int64 live on the CPU (as
 * in TensorFlow), and so do those of a type that the device does not compute with.
 * Thread-safe: an assignment is seen whole or not at all. */
#ifndef GANTRY_VARIABLE_H
#define GANTRY_VARIABLE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_variable_t gantry_variable_t;

/* Placed by the scope's device; holds initial's value. NULL after an error (kept by the scope).
 * name may be NULL. */
GANTRY_API gantry_variable_t *gantry_variable_create(gantry_scope_t *scope,
                                                     const gantry_tensor_t *initial,
                                                     const char *name);
GANTRY_API void gantry_variable_release(gantry_variable_t *variable); /* NULL is allowed */

GANTRY_API gantry_dtype_t gantry_variable_dtype(const gantry_variable_t *variable);
GANTRY_API const gantry_shape_t *gantry_variable_shape(const gantry_variable_t *variable);
GANTRY_API const gantry_logical_device_t *gantry_variable_device(const gantry_variable_t *variable);
GANTRY_API const char *gantry_variable_name(const gantry_variable_t *variable);

/* The present value, as a tensor of the scope that later assignments do not change. */
GANTRY_API const gantry_tensor_t *gantry_variable_read(gantry_scope_t *scope,
                                                       gantry_variable_t *variable);
/* value has the variable's type and shape; all return the scope's status. */
GANTRY_API gantry_status_t gantry_variable_assign(gantry_scope_t *scope,
                                                  gantry_variable_t *variable,
                                                  const gantry_tensor_t *value);
GANTRY_API gantry_status_t gantry_variable_assign_add(gantry_scope_t *scope,
                                                      gantry_variable_t *variable,
                                                      const gantry_tensor_t *value);
GANTRY_API gantry_status_t gantry_variable_assign_sub(gantry_scope_t *scope,
                                                      gantry_variable_t *variable,
                                                      const gantry_tensor_t *value);

#ifdef __cplusplus
}
#endif
#endif
