/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes: where ops run, who owns what they make, and the first error.
 *
 * A scope belongs to one thread. Ending it releases its tensors and returns its first error. */
#ifndef GANTRY_SCOPE_H
#define GANTRY_SCOPE_H

#include <gantry/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_scope_t gantry_scope_t;

/* The most that an op, or any other call, needs of its thread's stack on the CPU backend; a thread
 * of 128 KiB will do. What drivers of other devices need, above all when they are opened and
 * compile programs, is theirs (docs/embedding.md). */
#define GANTRY_STACK_BYTES (80 * 1024)

/* device: a user's device text, or NULL for no wish. A bad device gives a failed scope; NULL only
 * when memory is gone, runtime is NULL, this is a child of fork, or the runtime was released and
 * other objects of it still live (gantry_last_message tells). */
GANTRY_API gantry_scope_t *gantry_scope_begin(gantry_runtime_t *runtime, const char *device);
/* device replaces the parent's field by field (a new type clears the index); NULL inherits;
 * GANTRY_DEVICE_NONE cuts off. Must end before parent does. */
GANTRY_API gantry_scope_t *gantry_scope_begin_in(gantry_scope_t *parent, const char *device);
/* Releases the scope's tensors; does not wait. NULL is InvalidArgument. Ending a parent first is
 * FailedPrecondition and ends its children too. */
GANTRY_API gantry_status_t gantry_scope_end(gantry_scope_t *scope);

GANTRY_API gantry_status_t gantry_scope_status(const gantry_scope_t *scope);
/* "" while healthy; until the scope ends */
GANTRY_API const char *gantry_scope_message(const gantry_scope_t *scope);
/* Forgets the error, so that a program which handled it may go on. */
GANTRY_API void gantry_scope_clear(gantry_scope_t *scope);
GANTRY_API gantry_runtime_t *gantry_scope_runtime(const gantry_scope_t *scope);

/* A word for what the scope's memory is used for, shown by reports beside the op; inherited by
 * scopes begun in it later. NULL: none. */
GANTRY_API gantry_status_t gantry_scope_set_tag(gantry_scope_t *scope, const char *tag);

/* Hands a tensor of this scope on. Without a parent the caller owns the result and releases it;
 * with one the parent does, and it is not released. NULL fails the parent, or this scope. */
GANTRY_API gantry_tensor_t *gantry_scope_keep(gantry_scope_t *scope, const gantry_tensor_t *tensor);
/* Ends the scope's ownership early, so that memory is reused. Not an error for NULL or another's
 * tensor. */
GANTRY_API void gantry_tensor_drop(gantry_scope_t *scope, const gantry_tensor_t *tensor);
/* Gives the tensor to the next op of this scope that takes it: the scope owns it no longer once
 * that op returns, well or not, and where nobody else holds it, its memory may become the result's:
 * x = gantry_add(scope, gantry_tensor_donate(scope, x), y). Returns tensor. Not an error for
 * NULL or another's tensor, which stay what they are; so does a tensor that finds
 * GANTRY_MAX_DONATED others waiting. */
#define GANTRY_MAX_DONATED 16
GANTRY_API const gantry_tensor_t *gantry_tensor_donate(gantry_scope_t *scope,
                                                       const gantry_tensor_t *tensor);

#ifdef __cplusplus
}
#endif
#endif
