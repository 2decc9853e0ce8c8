/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of a call, its inputs and outputs, and what the making of a kernel needs (bridge.h). */
#define _POSIX_C_SOURCE 200809L
#include "bridge.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "pace.h"
#include "status.h"
#include "stream.h"

/* ---- the frame of a call ---- */

/* The CPU for a kernel whose first output is on the host, such as int32 of shapes and keys of
 * seeds. */
static const gantry_logical_device_t *bridge_find_place(bridge_call_t *call) {
    const bool is_on_host =
        TF_NumOutputs(call->context) && TF_IsHostMemoryOutput(call->context, 0, call->status);
    return is_on_host ? device_host() : device_logical(call->device);
}

/* Begins the call's scope. Returns NULL, with the error in the call's status. */
static gantry_scope_t *begin_scope(bridge_call_t *call) {
    if (device_is_forked()) {
        status_set(call->status, GANTRY_FAILED_PRECONDITION, device_fork_text());
        return NULL;
    }
    const gantry_logical_device_t *place = bridge_find_place(call);
    gantry_scope_t *scope = place ? gantry_scope_begin_on(device_runtime(), place) : NULL;
    if (!scope) status_set_last(call->status, GANTRY_UNAVAILABLE);
    return scope;
}

bool bridge_begin(bridge_call_t *call, TF_OpKernelContext *context) {
    call->context = context;
    call->status = TF_NewStatus();
    call->scope = NULL;
    call->host_scope = NULL;
    call->has_failed = false;
    call->takes_any_rank = false;
    call->is_deep = false;
    call->held_count = 0;
    call->host_count = 0;
    const SP_Stream stream = TF_GetStream(context, call->status);
    if (stream) {
        call->device = stream_device(stream);
        call->scope = begin_scope(call);
    }
    if (call->scope) return true;
    TF_OpKernelContext_Failure(context, call->status);
    TF_DeleteStatus(call->status);
    return false;
}

bool bridge_has_failed(const bridge_call_t *call) {
    return call->has_failed || gantry_scope_status(call->scope) != GANTRY_OK;
}

void bridge_fail(bridge_call_t *call, gantry_status_t status, const char *format, ...) {
    if (bridge_has_failed(call)) return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)gantry_scope_fail(call->scope, status, text);
}

void bridge_fail_memory(bridge_call_t *call) {
    bridge_fail(call, GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
}

/* Logs who holds the device's memory, as TensorFlow does for its own allocator. A program that
 * retries with less memory fails many times, so there is one report in ten seconds. */
static void log_oom_report(uint32_t device) {
    static atomic_int_least64_t next_seconds;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int_least64_t next = atomic_load(&next_seconds);
    if (now.tv_sec < next || !atomic_compare_exchange_strong(&next_seconds, &next, now.tv_sec + 10))
        return;
    size_t needed = 0;
    const char *name = device_at(device)->name;
    gantry_runtime_t *runtime = device_runtime();
    if (gantry_get_oom_report(runtime, name, GANTRY_REPORT_TEXT, NULL, 0, &needed)) return;
    char *text = malloc(needed + 1);
    if (text && !gantry_get_oom_report(runtime, name, GANTRY_REPORT_TEXT, text, needed + 1, NULL))
        log_receive(NULL, GANTRY_LEVEL_WARNING, text);
    free(text);
}

void bridge_end(bridge_call_t *call) {
    for (uint32_t i = 0; i < call->held_count; ++i) gantry_tensor_release(call->held[i]);
    for (uint32_t i = 0; i < call->host_count; ++i) TF_DeleteTensor(call->host[i]);
    const gantry_status_t status = gantry_scope_status(call->scope);
    if (status && !call->has_failed) {
        status_set(call->status, status, gantry_scope_message(call->scope));
        call->has_failed = true;
    }
    if (call->has_failed) TF_OpKernelContext_Failure(call->context, call->status);
    if (status == GANTRY_RESOURCE_EXHAUSTED) log_oom_report(call->device);
    pace_count(call->device);
    (void)gantry_scope_end(call->scope);
    if (call->host_scope) (void)gantry_scope_end(call->host_scope);
    TF_DeleteStatus(call->status);
}

/* Handles an error that a call of TensorFlow left in call->status. The scope fails, too, so that
 * Gantry's calls do nothing; TensorFlow's own status goes back to TensorFlow. */
static bool check_status(bridge_call_t *call) {
    if (TF_GetCode(call->status) == TF_OK) return true;
    call->has_failed = true;
    (void)gantry_scope_fail(call->scope, GANTRY_UNKNOWN, TF_Message(call->status));
    return false;
}

/* Fails the call after a function that does not take the scope failed on this thread. */
static void fail_last(bridge_call_t *call, gantry_status_t status) {
    (void)gantry_scope_fail(call->scope, status, gantry_last_message());
}

/* ---- inputs ---- */

/* Keeps a tensor that the call releases when it ends. A tensor too many becomes an alias that the
 * scope owns. */
static const gantry_tensor_t *bridge_hold(bridge_call_t *call, gantry_tensor_t *tensor) {
    if (tensor && call->held_count == BRIDGE_HELD) {
        const gantry_tensor_t *alias = gantry_identity(call->scope, tensor);
        gantry_tensor_release(tensor);
        return alias;
    }
    if (tensor) call->held[call->held_count++] = tensor;
    return tensor;
}

bool bridge_shape(bridge_call_t *call, const TF_Tensor *tensor, gantry_shape_t *out) {
    out->rank = TF_NumDims(tensor);
    if (out->rank > GANTRY_MAX_RANK) {
        call->is_deep = true;
        if (call->takes_any_rank) return false;
        bridge_fail(call, GANTRY_UNIMPLEMENTED, "a tensor has %d dimensions; accepted are %d",
                    out->rank, GANTRY_MAX_RANK);
        return false;
    }
    for (int32_t i = 0; i < out->rank; ++i) out->dims[i] = TF_Dim(tensor, i);
    return true;
}

const gantry_tensor_t *bridge_tensor_at(bridge_call_t *call, const void *address,
                                        gantry_dtype_t dtype, const gantry_shape_t *shape) {
    if (bridge_has_failed(call)) return NULL;
    if (!gantry_shape_elements(shape)) return gantry_constant(call->scope, dtype, *shape, "", 0);
    return bridge_hold(call, memory_tensor(device_memory(), call->scope, address, dtype, shape));
}

/* The tensor at the address of a TF_Tensor of the device. */
static const gantry_tensor_t *device_tensor(bridge_call_t *call, const TF_Tensor *tensor) {
    gantry_shape_t shape;
    if (!bridge_shape(call, tensor, &shape)) return NULL;
    return bridge_tensor_at(call, TF_TensorData(tensor), (gantry_dtype_t)TF_TensorType(tensor),
                            &shape);
}

TF_Tensor *bridge_take_input(bridge_call_t *call, int i) {
    if (bridge_has_failed(call)) return NULL;
    TF_Tensor *tensor = NULL;
    TF_GetInput(call->context, i, &tensor, call->status);
    return check_status(call) ? tensor : NULL;
}

/* Makes a constant of an input that Gantry reads on the host, such as an axis or a shape, because
 * reading it from the device would wait. */
static const gantry_tensor_t *host_constant(bridge_call_t *call, const TF_Tensor *tensor) {
    gantry_shape_t shape;
    if (!bridge_shape(call, tensor, &shape)) return NULL;
    if (!call->host_scope) {
        call->host_scope = gantry_scope_begin_on(device_runtime(), device_host());
    }
    const size_t bytes = TF_TensorByteSize(tensor);
    const gantry_tensor_t *constant =
        call->host_scope ? gantry_constant(call->host_scope, (gantry_dtype_t)TF_TensorType(tensor),
                                           shape, bytes ? TF_TensorData(tensor) : "", bytes)
                         : NULL;
    if (!constant) fail_last(call, GANTRY_RESOURCE_EXHAUSTED);
    return constant;
}

const gantry_tensor_t *bridge_input(bridge_call_t *call, int i) {
    TF_Tensor *tensor = bridge_take_input(call, i);
    if (!tensor) return NULL;
    const bool is_on_host = TF_IsHostMemoryInput(call->context, i, call->status);
    const gantry_tensor_t *input =
        is_on_host ? host_constant(call, tensor) : device_tensor(call, tensor);
    TF_DeleteTensor(tensor);
    return input;
}

const gantry_tensor_t *bridge_input_as(bridge_call_t *call, int i, const TF_Tensor *tensor,
                                       const gantry_shape_t *shape) {
    const gantry_dtype_t dtype = (gantry_dtype_t)TF_TensorType(tensor);
    if (TF_IsHostMemoryInput(call->context, i, call->status))
        return gantry_constant(call->scope, dtype, *shape, TF_TensorData(tensor),
                               TF_TensorByteSize(tensor));
    return bridge_tensor_at(call, TF_TensorData(tensor), dtype, shape);
}

const void *bridge_host_input(bridge_call_t *call, int i, TF_Tensor **out_tensor) {
    if (out_tensor) *out_tensor = NULL;
    TF_Tensor *tensor = bridge_take_input(call, i);
    if (!tensor) return NULL;
    if (call->host_count == BRIDGE_HELD) {
        TF_DeleteTensor(tensor);
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "more than %d inputs from the host in one kernel", BRIDGE_HELD);
        return NULL;
    }
    call->host[call->host_count++] = tensor;
    if (out_tensor) *out_tensor = tensor;
    return TF_TensorData(tensor);
}

int64_t bridge_host_int(const TF_Tensor *tensor, int64_t i) {
    const void *elements = TF_TensorData(tensor);
    return TF_TensorType(tensor) == TF_INT64 ? ((const int64_t *)elements)[i]
                                             : ((const int32_t *)elements)[i];
}

/* ---- outputs ---- */

/* Binds this tensor to the memory of a TF_Tensor of the device. */
static void bind_output(bridge_call_t *call, TF_Tensor *target, const gantry_tensor_t *tensor) {
    if (!tensor || bridge_has_failed(call)) return;
    const gantry_status_t status = memory_bind(device_memory(), TF_TensorData(target), tensor);
    if (status) fail_last(call, status);
}

/* Copies a result to the device if it is not there: an op without a kernel of the device ran on the
 * CPU. The result is copied once, not whenever an op takes it. */
static const gantry_tensor_t *bring_output(bridge_call_t *call, const gantry_tensor_t *tensor) {
    if (gantry_tensor_device(tensor) == device_logical(call->device)) return tensor;
    return gantry_identity(call->scope, tensor);
}

static void bridge_fill_output(bridge_call_t *call, int i, TF_Tensor *output,
                               const gantry_tensor_t *tensor) {
    const size_t bytes = gantry_tensor_bytes(tensor);
    if (!bytes) return;
    if (!TF_IsHostMemoryOutput(call->context, i, call->status)) {
        tensor = bring_output(call, tensor);
        bind_output(call, output, tensor);
        return;
    }
    const gantry_status_t status = gantry_tensor_read(tensor, TF_TensorData(output), bytes);
    if (status) fail_last(call, status);
}

void bridge_output_as(bridge_call_t *call, int i, const gantry_tensor_t *tensor,
                      const int64_t *dims, int rank) {
    if (!tensor || bridge_has_failed(call)) return;
    TF_Tensor *output =
        TF_AllocateOutput(call->context, i, (TF_DataType)gantry_tensor_dtype(tensor), dims, rank,
                          gantry_tensor_bytes(tensor), call->status);
    if (!check_status(call)) return;
    bridge_fill_output(call, i, output, tensor);
    TF_DeleteTensor(output);
}

void bridge_output(bridge_call_t *call, int i, const gantry_tensor_t *tensor) {
    if (!tensor) return;
    const gantry_shape_t *shape = gantry_tensor_shape(tensor);
    bridge_output_as(call, i, tensor, shape->dims, shape->rank);
}

void bridge_output_in_place(bridge_call_t *call, int i, int input, const gantry_tensor_t *tensor) {
    if (!tensor || bridge_has_failed(call)) return;
    const gantry_shape_t *shape = gantry_tensor_shape(tensor);
    int forwarded = -1;
    TF_Tensor *output = TF_ForwardInputOrAllocateOutput(call->context, &input, 1, i, shape->dims,
                                                        shape->rank, &forwarded, call->status);
    if (!check_status(call)) return;
    bridge_fill_output(call, i, output, tensor);
    TF_DeleteTensor(output);
}

/* ---- making kernels ---- */

/* Reads a number of a protocol buffer; *at must be below end and does not pass it. */
static uint64_t bridge_read_number(const unsigned char **at, const unsigned char *end) {
    uint64_t number = 0;
    for (uint32_t shift = 0; *at < end && shift < 64; shift += 7) {
        const unsigned char byte = *(*at)++;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    return number;
}

/* Finds the op's name in a NodeDef: name = 1, op = 2. Both are texts, and come first in every
 * serialization. */
static bool bridge_find_op(const TF_Buffer *node, char *out, size_t out_bytes) {
    const unsigned char *at = node->data, *end = at + node->length;
    while (at < end) {
        const uint64_t tag = bridge_read_number(&at, end);
        if ((tag & 7) != 2) return false;
        const uint64_t bytes = bridge_read_number(&at, end);
        if (bytes > (uint64_t)(end - at)) return false;
        if (tag >> 3 == 2 && bytes < out_bytes) {
            memcpy(out, at, bytes);
            out[bytes] = 0;
            return true;
        }
        at += bytes;
    }
    return false;
}

bool bridge_op_name(TF_OpKernelConstruction *construction, char *out, size_t out_bytes) {
    TF_Status *status = TF_NewStatus();
    TF_Buffer *node = TF_OpKernelConstruction_GetNodeDef(construction, status);
    const bool is_known = TF_GetCode(status) == TF_OK && bridge_find_op(node, out, out_bytes);
    if (node) TF_DeleteBuffer(node);
    TF_DeleteStatus(status);
    if (!is_known)
        bridge_refuse(construction, GANTRY_INTERNAL, "TensorFlow gave a node without op");
    return is_known;
}

void bridge_refuse(TF_OpKernelConstruction *construction, gantry_status_t status,
                   const char *text) {
    TF_Status *out = TF_NewStatus();
    status_set(out, status, text);
    TF_OpKernelConstruction_Failure(construction, out);
    TF_DeleteStatus(out);
}

void bridge_refuse_memory(TF_OpKernelConstruction *construction) {
    TF_Status *out = TF_NewStatus();
    status_set_memory(out);
    TF_OpKernelConstruction_Failure(construction, out);
    TF_DeleteStatus(out);
}

void *bridge_create_nothing(TF_OpKernelConstruction *construction) {
    (void)construction;
    return NULL;
}

void bridge_destroy_nothing(void *kernel) { (void)kernel; }
