/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel is made of: one call, from TensorFlow's context to a scope of Gantry and back.
 *
 *     static void relu_grad_compute(void *kernel, TF_OpKernelContext *context) {
 *         (void)kernel;
 *         bridge_call_t call;
 *         if (!bridge_begin(&call, context)) return;
 *         const gantry_tensor_t *gradient = bridge_input(&call, 0);
 *         const gantry_tensor_t *features = bridge_input(&call, 1);
 *         bridge_output(&call, 0, gantry_relu_grad(call.scope, gradient, features));
 *         bridge_end(&call);
 *     }
 *
 * Errors are sticky, as in a scope: after the first one inputs are NULL, Gantry's calls do nothing,
 * and outputs are not set. bridge_end hands the first error to TensorFlow, with its class and
 * Gantry's text. So a kernel needs no checks of its own, but it must check an input before it reads
 * the input's elements.
 *
 * Threads: a call belongs to one thread. TensorFlow calls one kernel from many threads at once, so
 * a kernel must not change what its create function returned. */
#ifndef GANTRY_TENSORFLOW_BRIDGE_H
#define GANTRY_TENSORFLOW_BRIDGE_H

#include <gantry/gantry.h>
#include "tf_kernels.h"

#include "device.h"
#include "register.h"

/* The most tensors that a call holds until it ends. */
#define BRIDGE_HELD 64
/* TensorFlow's own bound of a tensor's dimensions */
#define BRIDGE_MOST_DIMS 254

/* A call of a kernel. Kernels may only use scope and device. */
typedef struct bridge_call_t {
    /* Its device is that of the kernel, or the CPU if output 0 is on the host. */
    gantry_scope_t *scope;
    uint32_t device;            /* number of the device, for device_at */
    gantry_scope_t *host_scope; /* the scope of inputs on the host; NULL: none so far */
    TF_OpKernelContext *context;
    TF_Status *status;
    bool has_failed;
    bool takes_any_rank; /* whether an input with more dimensions than Gantry's is NULL, no error */
    bool is_deep;        /* there was one */
    uint32_t held_count;
    gantry_tensor_t *held[BRIDGE_HELD];
    TF_Tensor *host[BRIDGE_HELD];
    uint32_t host_count;
} bridge_call_t;

/* ---- the frame of a call ---- */

/* Begins a call. If it returns false, the kernel must return at once; TensorFlow has the error. */
bool bridge_begin(bridge_call_t *call, TF_OpKernelContext *context);
/* Ends the call: releases what the call holds, and fails the kernel if an error happened. It must
 * follow each bridge_begin that returned true. */
void bridge_end(bridge_call_t *call);
/* Keeps an error, if there is none yet. */
__attribute__((format(printf, 3, 4))) void bridge_fail(bridge_call_t *call, gantry_status_t status,
                                                       const char *format, ...);
/* The same for a malloc that failed. */
void bridge_fail_memory(bridge_call_t *call);
/* Whether an error happened in the call, or in its scope. */
bool bridge_has_failed(const bridge_call_t *call);

/* ---- inputs ---- */

/* Input i as a tensor, whether it is on the device or on the host. It lives until the call ends.
 * NULL after an error. */
const gantry_tensor_t *bridge_input(bridge_call_t *call, int i);
/* Input i as TensorFlow's; the caller must delete it. NULL after an error. */
TF_Tensor *bridge_take_input(bridge_call_t *call, int i);
/* The elements of an input on the host, which host_args must name; they live until the call ends.
 * *out_tensor (out_tensor may be NULL) has type and shape. NULL after an error, and without
 * elements. */
const void *bridge_host_input(bridge_call_t *call, int i, TF_Tensor **out_tensor);
/* Number i of a tensor of int32 or int64, which bridge_host_input must have given. */
int64_t bridge_host_int(const TF_Tensor *tensor, int64_t i);
/* The nearest number of 32 bits: an axis, or a count, that is far outside stays outside. */
static inline int32_t bridge_nearest_int32(int64_t wide) {
    return wide < INT32_MIN ? INT32_MIN : wide > INT32_MAX ? INT32_MAX : (int32_t)wide;
}
/* The elements of input i, whose TF_Tensor `tensor` must be, under another shape of as many
 * elements. */
const gantry_tensor_t *bridge_input_as(bridge_call_t *call, int i, const TF_Tensor *tensor,
                                       const gantry_shape_t *shape);
/* The tensor at an address of the device. */
const gantry_tensor_t *bridge_tensor_at(bridge_call_t *call, const void *address,
                                        gantry_dtype_t dtype, const gantry_shape_t *shape);
/* Writes the shape of a TF_Tensor. Returns false if it has more dimensions than Gantry's; the call
 * has then failed, or is deep. */
bool bridge_shape(bridge_call_t *call, const TF_Tensor *tensor, gantry_shape_t *out);

/* ---- outputs ---- */

/* Makes this tensor output i. Its memory is TensorFlow's name for the tensor; if the output is on
 * the host, the elements are read. NULL, which a failed call of Gantry returns, does nothing. */
void bridge_output(bridge_call_t *call, int i, const gantry_tensor_t *tensor);
/* The same under other dimensions, which may be more than Gantry's. */
void bridge_output_as(bridge_call_t *call, int i, const gantry_tensor_t *tensor,
                      const int64_t *dims, int rank);
/* The same, in the memory of input number `input` if TensorFlow allows it. Collectives demand that
 * of their Add and Div. */
void bridge_output_in_place(bridge_call_t *call, int i, int input, const gantry_tensor_t *tensor);

/* ---- making kernels ---- */

/* The create and the delete function of a kernel that needs nothing of its node. */
void *bridge_create_nothing(TF_OpKernelConstruction *construction);
void bridge_destroy_nothing(void *kernel);
/* Writes the op's name, "AddV2", because TensorFlow's C API gives a create function nothing of
 * ours. Returns false if TensorFlow gave no node, and has the error. */
bool bridge_op_name(TF_OpKernelConstruction *construction, char *out, size_t out_bytes);
/* Fails the making of a kernel. */
void bridge_refuse(TF_OpKernelConstruction *construction, gantry_status_t status, const char *text);
/* The same for a malloc that failed. */
void bridge_refuse_memory(TF_OpKernelConstruction *construction);

#endif
