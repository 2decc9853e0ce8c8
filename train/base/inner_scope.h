/* SPDX-License-Identifier: Apache-2.0 */
/* A scope for the intermediate values of one call, so that a call in a scope that lives long adds
 * nothing but its result to it.
 *
 * Owner: the caller must end each scope that it begins. Threads: externally synchronised, as the
 * scope around it. */
#ifndef GANTRY_TRAIN_INNER_SCOPE_H
#define GANTRY_TRAIN_INNER_SCOPE_H

#include <gantry/gantry.h>

/* Returns FailedPrecondition for a runtime that was released while objects of it live, and in a
 * child of fork. */
gantry_status_t gantry__train_check_runtime(gantry_runtime_t *runtime);
/* Returns the status of a scope, after failing it if its runtime was released. */
gantry_status_t gantry__train_check_scope(gantry_scope_t *scope);
/* Returns why a scope of the runtime did not begin; the text is the thread's last message. The
 * reason is one of the above, or that memory is out. */
gantry_status_t gantry__train_no_scope(gantry_runtime_t *runtime);
/* The same for a scope in `outer`. outer gets the failure, and its status is returned. */
gantry_status_t gantry__train_no_inner(gantry_scope_t *outer);

/* Ends a scope, which fails with the thread's last message if status is not OK, and returns the
 * scope's status. */
gantry_status_t gantry__train_close(gantry_scope_t *scope, gantry_status_t status);

/* Begins a scope in outer, for a call named `call`. It returns NULL if outer is NULL, which the
 * thread's last message then says, if outer has failed, or if there is no memory, which fails
 * outer. */
gantry_scope_t *gantry__train_begin(gantry_scope_t *outer, const char *call);
/* Does the same, but observers of outer do not see the scope. */
gantry_scope_t *gantry__train_begin_unobserved(gantry_scope_t *outer, const char *call);
/* Begins a scope on a device in outer, which must not be NULL and fails where this fails. */
gantry_scope_t *gantry__train_begin_on(gantry_scope_t *outer, const char *device);
/* Ends the inner scope. Its failure becomes outer's, and the call then returns NULL. Without a
 * failure the result, which must be a tensor of the inner scope or NULL, moves to outer and is
 * returned. */
const gantry_tensor_t *gantry__train_end(gantry_scope_t *outer, gantry_scope_t *inner,
                                         const gantry_tensor_t *result);

/* Returns the value as a scalar of a number type, rounded to that type. */
const gantry_tensor_t *gantry__train_constant(gantry_scope_t *scope, gantry_dtype_t dtype,
                                              double value);
/* Returns x, converted if its type is another one. */
const gantry_tensor_t *gantry__train_cast(gantry_scope_t *scope, const gantry_tensor_t *x,
                                          gantry_dtype_t dtype);
bool gantry__train_is_float(gantry_dtype_t dtype);
bool gantry__train_is_number(gantry_dtype_t dtype); /* bool is none */

#endif
