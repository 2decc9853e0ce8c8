/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Scopes: where ops run, who owns their results, and the first error.
 *
 * A scope belongs to one thread, which must begin and end it. Ending it releases its tensors and
 * returns its first error. */
#ifndef GANTRY_SCOPE_H
#define GANTRY_SCOPE_H

#include <gantry/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A scope. The thread that began it must end it. */
typedef struct gantry_scope_t gantry_scope_t;

/** The most stack that an op, or any other call, needs on the CPU backend; a thread with 128 KiB
 * suffices. Drivers of other devices have needs of their own, most of all when they are opened
 * and compile programs (docs/embedding.md). */
#define GANTRY_STACK_BYTES (80 * 1024)

/** The most bodies that run inside each other on a thread: bodies of functions, branches and loops,
 * and callbacks to which a library on top lends a scope, such as forward and backward of
 * gantry_custom_gradient. One more is FailedPrecondition. The gradient of order n of L loops inside
 * each other takes L levels and one more for each order, at most 2 L; branches and functions among
 * them take one level each, as they do without a gradient. A thread with 128 KiB of stack suffices
 * for all levels. */
#define GANTRY_MAX_NESTING 16

/** Begins a scope. device is a device text, or NULL for no request. A bad text gives a failed
 * scope.
 *
 * Returns NULL only if memory ran out, runtime is NULL, this process is a child of fork, or the
 * runtime was released while its objects live; gantry_last_message says which. */
GANTRY_API gantry_scope_t *gantry_scope_begin(gantry_runtime_t *runtime, const char *device);
/** Begins a scope on a device that gantry_list_logical_devices or gantry_find_logical_device
 * returned, as gantry_scope_begin does on its name: without a search for the name, it costs as much
 * as a scope without a request. device NULL, or of another runtime, gives a failed scope. */
GANTRY_API gantry_scope_t *gantry_scope_begin_on(gantry_runtime_t *runtime,
                                                 const gantry_logical_device_t *device);
/** Begins a scope inside another, and must end before it. The fields of device replace the
 * parent's one by one (a new type clears the index); NULL inherits; GANTRY_DEVICE_NONE cancels
 * the parent's request. */
GANTRY_API gantry_scope_t *gantry_scope_begin_in(gantry_scope_t *parent, const char *device);
/** Begins a device request inside a scope, as `with tf.device(device):`: until gantry_device_end,
 * the scope's ops, constants, new variables, calls of functions and new inner scopes request
 * device. Its fields replace those of the request so far one by one (a new type clears the index, a
 * wildcard clears nothing). "" and GANTRY_DEVICE_NONE cancel the request so far, and device
 * functions. The scope owns what the ops make, as before. Requests nest. A scope that begins inside
 * keeps the request to its own end, and its own device goes before.
 *
 * Each call needs its gantry_device_end, also one that fails. Without it, the scope ends with
 * FailedPrecondition; so does a body or a callback that returns without it. A bad text, and NULL,
 * are InvalidArgument. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_device_begin(gantry_scope_t *scope, const char *device);
/** Ends the innermost gantry_device_begin of the scope, also in a scope that has failed: the
 * request is what it was. FailedPrecondition without one, and in a body that did not begin it.
 * Returns the scope's status. */
GANTRY_API gantry_status_t gantry_device_end(gantry_scope_t *scope);
/** An op that a device function chooses a device for. The library makes it; it may grow. */
typedef struct gantry_device_choice_t {
    const char *op;       /**< The op: "MatMul", "VarHandleOp" for a new variable. */
    const char *node;     /**< In a function that is traced, the node's name; elsewhere "". */
    gantry_dtype_t dtype; /**< The type of its first output, or of the value that it assigns. */
    size_t output_count;  /**< Its outputs. */
} gantry_device_choice_t;

/** A device function: returns the device text for one op; NULL: no request; GANTRY_DEVICE_NONE:
 * no request from outer scopes either. The text is read at once. It must not call Gantry. */
typedef const char *(*gantry_device_fn)(const gantry_device_choice_t *choice, void *user);
/** Begins a scope inside another in which a function chooses the device of each op, constant and
 * new variable. Device functions and scopes nest like scopes: the inner one's fields win one by
 * one. A bad text fails the op. A variable's reads and updates run where it lives, whatever the
 * function returns; composed ops ask for each of their parts; the call of a function asks once, for
 * "PartitionedCall". user must live as long as the scope. */
GANTRY_API gantry_scope_t *gantry_scope_begin_choosing(gantry_scope_t *parent,
                                                       gantry_device_fn choose, void *user);
/** Ends a scope: releases its tensors, without waiting, and returns its first error. NULL is
 * InvalidArgument. Ending a parent first is FailedPrecondition, and ends its children too. */
GANTRY_API gantry_status_t gantry_scope_end(gantry_scope_t *scope);

/** The scope's first error, or OK. */
GANTRY_API gantry_status_t gantry_scope_status(const gantry_scope_t *scope);
/** The text of the scope's first error, "" without one. Valid until the scope ends. */
GANTRY_API const char *gantry_scope_message(const gantry_scope_t *scope);
/** Clears the error, so that a program that handled it can continue. */
GANTRY_API void gantry_scope_clear(gantry_scope_t *scope);
/** Fails the scope, if it has not failed, with this status and text, as a call of the library that
 * fails in it: for libraries on top. text NULL: "". Returns the scope's status. OK does nothing. */
GANTRY_API gantry_status_t gantry_scope_fail(gantry_scope_t *scope, gantry_status_t status,
                                             const char *text);
/** Lends a scope to a callback of the program, for libraries on top: until gantry_scope_take_back,
 * gantry_scope_end refuses to end it, or a scope around it, with FailedPrecondition, which this
 * scope keeps. FailedPrecondition, and nothing is lent, inside GANTRY_MAX_NESTING bodies. Returns
 * the scope's status. */
GANTRY_API gantry_status_t gantry_scope_lend(gantry_scope_t *scope);
/** Takes back a scope that gantry_scope_lend lent; each call ends one loan. */
GANTRY_API void gantry_scope_take_back(gantry_scope_t *scope);
/** The runtime in which the scope was begun. */
GANTRY_API gantry_runtime_t *gantry_scope_runtime(const gantry_scope_t *scope);

/** Names the use of the scope's memory. Memory reports show the name with the op. Scopes begun
 * in this one later inherit it. NULL: no name. */
GANTRY_API gantry_status_t gantry_scope_set_tag(gantry_scope_t *scope, const char *tag);

/** Chooses whether a row of a result has the same bits by itself and in every batch, for the ops of
 * this scope and of those begun in it later: the option batch_invariant of the runtime
 * (runtime.h). GANTRY_DEFAULT: as the runtime. In the body of a function, a branch or
 * a loop, GANTRY_ON holds for all ops of that body once an op is called in the scope. Another
 * choice is InvalidArgument. */
GANTRY_API gantry_status_t gantry_scope_set_batch_invariant(gantry_scope_t *scope,
                                                            gantry_choice_t choice);

/** Chooses whether sums of floats may be made in any order, for the ops called from now on in this
 * scope and in those begun in it later: the option any_order of the runtime (runtime.h). A program
 * sets it before the call of one op and sets it back after it. GANTRY_DEFAULT: as the runtime. A
 * function keeps what holds in its body, not what its caller chose; a node of a graph that is built
 * has a field. A function that is made of a graph or a file in a runtime with the option has it in
 * all nodes. Another choice is InvalidArgument. */
GANTRY_API gantry_status_t gantry_scope_set_any_order(gantry_scope_t *scope,
                                                      gantry_choice_t choice);

/** Moves a tensor out of this scope. Without a parent scope, the caller owns the result and
 * releases it; with one, the parent owns it, and the caller must not release it. tensor NULL
 * fails the parent, or this scope. */
GANTRY_API gantry_tensor_t *gantry_scope_keep(gantry_scope_t *scope, const gantry_tensor_t *tensor);
/** Ends the scope's ownership of a tensor early, so that its memory is reused. NULL, and a
 * tensor of another owner, do no harm. */
GANTRY_API void gantry_tensor_drop(gantry_scope_t *scope, const gantry_tensor_t *tensor);
/** Makes a tensor that shares a part of another's memory, from byte first_byte on, under a type and
 * a shape of its own. Nothing is copied, and the memory lives as long as its last view. The view
 * is where the tensor is, whatever the scope requests. This is no op: a tape does not follow
 * it, as it follows gantry_reshape and gantry_slice. The scope owns the view.
 *
 * The scope keeps InvalidArgument if the elements are not inside the tensor, if first_byte is
 * not aligned for them, or if another type becomes bool; FailedPrecondition for a symbolic tensor,
 * which has no memory. */
GANTRY_API const gantry_tensor_t *gantry_tensor_view(gantry_scope_t *scope,
                                                     const gantry_tensor_t *tensor,
                                                     uint64_t first_byte, gantry_dtype_t dtype,
                                                     gantry_shape_t shape);
/** Donates a tensor to the next op of this scope that takes it: x = gantry_add(scope,
 * gantry_tensor_donate(scope, x), y). When that op returns, whether it succeeded or failed, the
 * scope no longer owns the tensor. If nothing else refers to the tensor, the op may reuse its
 * memory for the result. Any number of tensors can wait for their op.
 *
 * Returns tensor. NULL, and a tensor of another owner, stay as they are; that is no error. */
GANTRY_API const gantry_tensor_t *gantry_tensor_donate(gantry_scope_t *scope,
                                                       const gantry_tensor_t *tensor);

#ifdef __cplusplus
}
#endif
#endif
