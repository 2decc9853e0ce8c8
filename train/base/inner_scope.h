/* SPDX-License-Identifier: Apache-2.0 */
/* A scope of its own for the intermediate values of a call, so that a call in a scope that lives
 * long leaves its result alone there. Externally synchronised. */
#ifndef GANTRY_TRAIN_INNER_SCOPE_H
#define GANTRY_TRAIN_INNER_SCOPE_H

#include <gantry/gantry.h>

/* FailedPrecondition of a runtime that was released while objects of it live, and in a child of
 * fork. */
gantry_status_t gantry__train_check_runtime(gantry_runtime_t *runtime);
/* The status of a scope, which fails if its runtime was released. */
gantry_status_t gantry__train_check_scope(gantry_scope_t *scope);
/* Why a scope of the runtime did not begin, whose text is the thread's last message: as above, or
 * memory is out. */
gantry_status_t gantry__train_no_scope(gantry_runtime_t *runtime);
/* The same of a scope in `outer`, which gets the failure; returns its status. */
gantry_status_t gantry__train_no_inner(gantry_scope_t *outer);

/* Begins a scope in outer, for a call named `call`. NULL if outer is NULL, which is then the
 * thread's last message, if outer has failed, or if there is no memory, which fails outer. */
gantry_scope_t *gantry__train_begin(gantry_scope_t *outer, const char *call);
/* The same, unseen by observers of outer. */
gantry_scope_t *gantry__train_begin_unobserved(gantry_scope_t *outer, const char *call);
/* Ends the inner scope. Its failure becomes outer's, and the result is then NULL; else the result,
 * a tensor of the inner scope, moves to outer. result may be NULL. */
const gantry_tensor_t *gantry__train_end(gantry_scope_t *outer, gantry_scope_t *inner,
                                         const gantry_tensor_t *result);

/* A scalar of a number type, rounded to it. */
const gantry_tensor_t *gantry__train_constant(gantry_scope_t *scope, gantry_dtype_t dtype,
                                              double value);
/* x, converted if its type is another one. */
const gantry_tensor_t *gantry__train_cast(gantry_scope_t *scope, const gantry_tensor_t *x,
                                          gantry_dtype_t dtype);
bool gantry__train_is_float(gantry_dtype_t dtype);
bool gantry__train_is_number(gantry_dtype_t dtype); /* bool is none */

#endif
