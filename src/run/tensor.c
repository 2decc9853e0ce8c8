/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors from the object to the reader, in this order:
 *
 *   objects   counted; a few spare ones are kept by the runtime, because every op makes one
 *   making    new memory (inline, when small and on the CPU), a view of other memory, a copy on
 *             another device, elements from host memory
 *   faults    errors that kernels may still find: inherited from inputs, settled before a read
 *   reading   read, wait, format, and plain questions
 *
 * device/transfer.c moves bytes, device/buffer.c finds memory. */
#include <gantry/tensor.h>

#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "base/shape_limit.h"
#include "base/struct_size.h"
#include "device/device_open.h"
#include "device/fault.h"
#include "device/loss.h"
#include "device/transfer.h"
#include "io/tensor_format.h"
#include "run/scope_state.h"

#include "ops/type_rows.h"

#define SPARE_TENSORS 4096
#define MOST_PUT_BYTES (INT64_C(1) << 20)
/* below this, calling a device's own copy takes longer than copying */
#define SHORT_READ_BYTES 8192

/* ---- objects ---- */

/* Takes at most `most` of the runtime's spare objects, linked by next. */
static gantry_tensor_t *take_spares(gantry_runtime_t *runtime, uint32_t most, uint32_t *out_count) {
    uint32_t count = 0;
    gantry__mutex_lock(&runtime->lock);
    gantry_tensor_t *first = runtime->spare_tensors, *last = NULL;
    for (gantry_tensor_t *at = first; at && count < most; at = at->next, ++count) last = at;
    if (last) {
        runtime->spare_tensors = last->next;
        runtime->spare_count -= count;
        last->next = NULL;
    }
    gantry__mutex_unlock(&runtime->lock);
    *out_count = count;
    return first;
}

/* Returns an object that holds its runtime: the spare one, or if that is NULL a new one. */
static gantry_tensor_t *hold_runtime(gantry_runtime_t *runtime, gantry_tensor_t *spare) {
    gantry_tensor_t *tensor = spare ? spare : gantry__heap_alloc(&runtime->heap, sizeof *tensor);
    if (tensor) tensor->runtime = gantry__runtime_retain(runtime, 1);
    return tensor;
}

static gantry_tensor_t *take_object(gantry_runtime_t *runtime) {
    uint32_t count;
    return hold_runtime(runtime, take_spares(runtime, 1, &count));
}

/* Fills the scope's list, with one lock and one count for twice as many objects as before. */
static GANTRY__NOINLINE void fill_spares(gantry_scope_t *scope) {
    gantry_runtime_t *runtime = scope->runtime;
    scope->spare_most = scope->spare_most < GANTRY__SCOPE_SPARES / 2 ? scope->spare_most * 2 + 1
                                                                     : GANTRY__SCOPE_SPARES;
    scope->spare = take_spares(runtime, scope->spare_most, &scope->spare_count);
    if (scope->spare_count > 0) (void)gantry__runtime_retain(runtime, scope->spare_count);
    for (gantry_tensor_t *at = scope->spare; at; at = at->next) at->runtime = runtime;
}

/* The same from the scope's own list, if there is a scope. */
static gantry_tensor_t *take_object_for(gantry_scope_t *scope, gantry_runtime_t *runtime) {
    if (!scope) return take_object(runtime);
    if (!scope->spare) fill_spares(scope);
    if (!scope->spare) return hold_runtime(runtime, NULL);
    gantry_tensor_t *tensor = scope->spare;
    scope->spare = tensor->next;
    --scope->spare_count;
    return tensor;
}

void gantry__tensor_return_all(gantry_runtime_t *runtime, gantry_tensor_t *first) {
    uint32_t count = 0;
    if (!first) return;
    gantry__mutex_lock(&runtime->lock);
    while (first && runtime->spare_count < SPARE_TENSORS) {
        gantry_tensor_t *tensor = first;
        first = tensor->next;
        tensor->next = runtime->spare_tensors;
        runtime->spare_tensors = tensor;
        ++runtime->spare_count;
        ++count;
    }
    gantry__mutex_unlock(&runtime->lock);
    for (; first; ++count) {
        gantry_tensor_t *tensor = first;
        first = tensor->next;
        gantry__heap_free(&runtime->heap, tensor, sizeof *tensor);
    }
    gantry__runtime_drop(runtime, count);
}

/* Initialises object, which must hold its runtime; it is NULL if memory is out, and then NULL is
 * returned. */
static gantry_tensor_t *init_object(gantry_tensor_t *object, gantry_logical_device_t *device,
                                    gantry_dtype_t dtype, const gantry_shape_t *shape) {
    gantry_tensor_t *tensor = object;
    if (!tensor) return NULL;
    atomic_init(&tensor->references, 1);
    tensor->dtype = dtype;
    tensor->device = device;
    tensor->buffer = NULL;
    tensor->offset_bytes = 0;
    tensor->elements = gantry__shape_elements(shape);
    tensor->size_bytes = (size_t)tensor->elements * gantry_dtype_size(dtype);
    tensor->data = NULL;
    tensor->ready = (gantry__point_t){NULL, 0};
    tensor->faults = NULL;
    tensor->fault_count = 0;
    tensor->shape = *shape;
    tensor->scope = NULL;
    tensor->next = tensor->previous = NULL;
    tensor->trace = 0;
    tensor->is_symbolic = false;
    tensor->is_own = false;
    return tensor;
}

static void release_contents(gantry_tensor_t *tensor) {
    gantry__buffer_release(tensor->buffer);
    for (uint32_t i = 0; i < tensor->fault_count; ++i) gantry__fault_release(tensor->faults[i]);
    if (tensor->faults)
        gantry__heap_free(&tensor->runtime->heap, tensor->faults,
                          tensor->fault_count * sizeof *tensor->faults);
}

gantry_tensor_t *gantry_tensor_retain(const gantry_tensor_t *tensor) {
    if (!tensor) return NULL;
    gantry_tensor_t *mutable_tensor;
    /* an owner may release an object that users see as const */
    memcpy(&mutable_tensor, &tensor, sizeof mutable_tensor);
    atomic_fetch_add_explicit(&mutable_tensor->references, 1, memory_order_relaxed);
    return mutable_tensor;
}

/* Whether only the caller holds it, so that no other code can take a reference. */
static bool is_held_once(const gantry_tensor_t *tensor) {
    return atomic_load_explicit(&tensor->references, memory_order_acquire) == 1;
}

void gantry_tensor_release(gantry_tensor_t *tensor) {
    if (!tensor || !gantry__runtime_is_ours(tensor->runtime)) return;
    if (!is_held_once(tensor) &&
        atomic_fetch_sub_explicit(&tensor->references, 1, memory_order_acq_rel) != 1)
        return;
    release_contents(tensor);
    tensor->next = NULL;
    gantry__tensor_return_all(tensor->runtime, tensor);
}

bool gantry__tensor_empty(gantry_tensor_t *tensor) {
    if (!is_held_once(tensor)) return false;
    release_contents(tensor);
    tensor->buffer = NULL;
    tensor->faults = NULL;
    tensor->fault_count = 0;
    return true;
}

/* ---- making ---- */

static const char *tensorflow_type_name(gantry_dtype_t dtype) {
    const char *alias = dtype == GANTRY_INT32 ? NULL : gantry__type_alias((int32_t)dtype);
    return alias ? alias : gantry_dtype_name(dtype);
}

static gantry_status_t explain_oom(gantry_status_t status, const gantry_tensor_t *tensor) {
    if (status != GANTRY_RESOURCE_EXHAUSTED) return status;
    char shape[GANTRY_MAX_RANK * 21 + 3];
    (void)gantry_shape_format(&tensor->shape, shape, sizeof shape);
    return gantry__fail_prefix(
        status,
        "OOM when allocating tensor with shape%s and type %s on %s by allocator %s: ", shape,
        tensorflow_type_name(tensor->dtype), tensor->device->full_name,
        tensor->device->allocator.name);
}

/* Creates a tensor; object is that of init_object. */
static gantry_status_t create(gantry_tensor_t *object, gantry_logical_device_t *device,
                              gantry_dtype_t dtype, const gantry_shape_t *shape,
                              uint32_t first_stream, const gantry__allocation_t *purpose,
                              gantry_tensor_t **out_tensor) {
    gantry_tensor_t *tensor = init_object(object, device, dtype, shape);
    if (!tensor) return GANTRY_RESOURCE_EXHAUSTED;
    if (device->host_addressable && device->synchronous &&
        tensor->size_bytes <= GANTRY__INLINE_BYTES) {
        tensor->data = tensor->inline_data;
    } else if (tensor->size_bytes > 0) {
        gantry__allocation_t request = *purpose;
        request.bytes = tensor->size_bytes;
        gantry_status_t status =
            gantry__buffer_allocate(device, &request, first_stream, &tensor->buffer);
        if (status != GANTRY_OK) {
            status = explain_oom(status, tensor);
            gantry_tensor_release(tensor);
            return status;
        }
        tensor->data = tensor->buffer->data;
    }
    *out_tensor = tensor;
    return GANTRY_OK;
}

gantry_status_t gantry__tensor_create(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                      gantry_dtype_t dtype, const gantry_shape_t *shape,
                                      uint32_t first_stream, const gantry__allocation_t *purpose,
                                      gantry_tensor_t **out_tensor) {
    *out_tensor = NULL;
    GANTRY__TRY(gantry__logical_device_open(device));
    return create(take_object(runtime), device, dtype, shape, first_stream, purpose, out_tensor);
}

gantry_status_t gantry__tensor_create_for(gantry_scope_t *scope, gantry_logical_device_t *device,
                                          gantry_dtype_t dtype, const gantry_shape_t *shape,
                                          const gantry__allocation_t *purpose,
                                          gantry_tensor_t **out_tensor) {
    *out_tensor = NULL;
    GANTRY__TRY(gantry__logical_device_open(device));
    return create(take_object_for(scope, scope->runtime), device, dtype, shape,
                  GANTRY_STREAM_COMPUTE, purpose, out_tensor);
}

gantry_status_t gantry__tensor_alias(gantry_scope_t *scope, const gantry_tensor_t *source,
                                     const gantry_shape_t *shape, gantry_tensor_t **out_tensor) {
    gantry_tensor_t *tensor =
        init_object(take_object_for(scope, source->runtime), source->device, source->dtype, shape);
    *out_tensor = tensor;
    if (!tensor) return GANTRY_RESOURCE_EXHAUSTED;
    if (source->is_symbolic) { /* a result of a composed op that is its input */
        tensor->trace = source->trace;
        tensor->value = source->value;
        tensor->is_symbolic = true;
        tensor->size_bytes = source->size_bytes;
        memcpy(tensor->inline_data, source->inline_data, sizeof tensor->inline_data);
        return GANTRY_OK;
    }
    tensor->ready = source->ready;
    if (source->buffer) {
        tensor->buffer = gantry__buffer_retain(source->buffer);
        tensor->offset_bytes = source->offset_bytes;
        tensor->data = source->data;
    } else if (source->data) {
        tensor->data = tensor->inline_data;
        memcpy(tensor->inline_data, source->inline_data, source->size_bytes);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__tensor_symbolic(gantry_runtime_t *runtime, gantry_dtype_t dtype,
                                        const gantry_shape_t *shape, uint64_t trace, uint32_t value,
                                        const char *name, gantry_tensor_t **out_tensor) {
    gantry_tensor_t *tensor = init_object(take_object(runtime), NULL, dtype, shape);
    *out_tensor = tensor;
    if (!tensor) return GANTRY_RESOURCE_EXHAUSTED;
    tensor->trace = trace;
    tensor->value = value;
    tensor->is_symbolic = true;
    if (tensor->elements < 0) tensor->size_bytes = 0; /* the shape depends on data */
    (void)snprintf((char *)tensor->inline_data, sizeof tensor->inline_data, "%s", name);
    return GANTRY_OK;
}

gantry_status_t gantry__tensor_fail_symbolic(const gantry_tensor_t *tensor) {
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "tensor %s is symbolic: a function that is traced made it, so it has a type and a shape, but no elements; pass it to ops of that function, or return it and read the result of a call",
        (const char *)tensor->inline_data);
}

gantry_status_t gantry__tensor_view(const gantry_tensor_t *source, uint64_t first_byte,
                                    const gantry_shape_t *shape, gantry_tensor_t **out_tensor) {
    GANTRY__TRY(gantry__tensor_alias(NULL, source, shape, out_tensor));
    gantry_tensor_t *tensor = *out_tensor;
    tensor->offset_bytes += first_byte;
    if (tensor->data) tensor->data = (unsigned char *)tensor->data + first_byte;
    return GANTRY_OK;
}

gantry_status_t gantry__tensor_reuse(const gantry_tensor_t *source, gantry_dtype_t dtype,
                                     const gantry_shape_t *shape, gantry_tensor_t **out_tensor) {
    GANTRY__TRY(gantry__tensor_alias(NULL, source, shape, out_tensor));
    (*out_tensor)->dtype = dtype;
    return GANTRY_OK;
}

bool gantry__tensor_is_sole(const gantry_tensor_t *tensor) {
    return tensor->buffer && is_held_once(tensor) &&
           atomic_load_explicit(&tensor->buffer->references, memory_order_acquire) == 1 &&
           gantry__buffer_is_aligned(tensor->buffer, tensor->offset_bytes);
}

/* Counts copies of a few bytes that no buffer takes part in. */
static void tensor_count_moved(const gantry_runtime_t *runtime, uint64_t bytes) {
    gantry__profile_frame_t *frame = gantry__device_frame(&runtime->devices);
    if (frame) frame->numbers.bytes_moved += bytes;
}

/* A single element goes to an asynchronous device as a fill: the ops that take it find it on their
 * own stream. */
static bool is_filled(const gantry_logical_device_t *device, gantry_dtype_t dtype,
                      const gantry_shape_t *shape) {
    const size_t size = gantry_dtype_size(dtype);
    return !device->synchronous && (size == 1 || size == 2 || size == 4 || size == 8) &&
           gantry_shape_elements(shape) == 1;
}

/* To a C program, NumPy and TensorFlow, a bool that is not 0 is true; kernels rely on 1. As fast as
 * a copy: the compiler vectorises this loop and the next one. */
static void copy_bools(unsigned char *target, const unsigned char *source, size_t count) {
    for (size_t i = 0; i < count; ++i) target[i] = source[i] != 0;
}

/* Whether a byte is neither 0 nor 1. Both halves run side by side: a single sum would wait for its
 * previous value. */
static bool has_odd_bool(const unsigned char *bytes, size_t count) {
    const size_t half = count / 2;
    unsigned char first = 0, second = count % 2 ? bytes[count - 1] : 0;
    for (size_t i = 0; i < half; ++i) {
        first |= bytes[i];
        second |= bytes[half + i];
    }
    return (first | second) > 1;
}

/* Whether bools are copied unchecked into memory that this thread writes itself. Larger ones go
 * through the device's copy, which has all threads. */
static bool are_put(const gantry_logical_device_t *device, const gantry_shape_t *shape) {
    return device->host_addressable && device->synchronous &&
           gantry_shape_elements(shape) <= MOST_PUT_BYTES;
}

static gantry_status_t put_bools(gantry_tensor_t *tensor, const unsigned char *data) {
    gantry__profile_frame_t *frame = gantry__device_frame(&tensor->runtime->devices);
    GANTRY__TRY(gantry__loss_check(tensor->device));
    gantry__phase_t before = gantry__profile_enter(frame, GANTRY__PHASE_COPY);
    copy_bools(tensor->data, data, tensor->size_bytes);
    if (frame) frame->numbers.bytes_moved += tensor->size_bytes;
    (void)gantry__profile_enter(frame, before);
    return GANTRY_OK;
}

static gantry_status_t from_odd_bools(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                      const gantry_shape_t *shape, const unsigned char *data,
                                      const char *tag, gantry_tensor_t **out_tensor) {
    const size_t count = (size_t)gantry_shape_elements(shape);
    *out_tensor = NULL;
    unsigned char *bools = gantry__heap_alloc(&runtime->heap, count);
    if (!bools) return GANTRY_RESOURCE_EXHAUSTED;
    copy_bools(bools, data, count);
    gantry_status_t status =
        gantry__tensor_from_host(runtime, device, GANTRY_BOOL, shape, bools, tag, out_tensor);
    gantry__heap_free(&runtime->heap, bools, count);
    return status;
}

/* scope: whose spare objects serve, or NULL. */
static gantry_status_t make_from_host(gantry_runtime_t *runtime, gantry_scope_t *scope,
                                      gantry_logical_device_t *device, gantry_dtype_t dtype,
                                      const gantry_shape_t *shape, const void *data,
                                      const char *tag, gantry_tensor_t **out_tensor) {
    const bool puts_bools = dtype == GANTRY_BOOL && are_put(device, shape);
    if (dtype == GANTRY_BOOL && !puts_bools &&
        has_odd_bool(data, (size_t)gantry_shape_elements(shape)))
        return from_odd_bools(runtime, device, shape, data, tag, out_tensor);
    const gantry__allocation_t purpose = {.owner = "Const", .tag = tag};
    const bool fills = is_filled(device, dtype, shape);
    *out_tensor = NULL;
    GANTRY__TRY(create(take_object_for(scope, runtime), device, dtype, shape,
                       fills ? GANTRY_STREAM_COMPUTE : GANTRY_STREAM_TO_DEVICE, &purpose,
                       out_tensor));
    gantry_tensor_t *tensor = *out_tensor;
    gantry_status_t status = GANTRY_OK;
    if (puts_bools && tensor->data) {
        status = put_bools(tensor, data);
    } else if (fills && tensor->buffer) {
        status = gantry__fill_from_host(tensor->buffer, data, (uint32_t)tensor->size_bytes,
                                        &tensor->ready);
    } else if (tensor->buffer) {
        status = gantry__copy_from_host(tensor->buffer, data, tensor->size_bytes, &tensor->ready);
    } else if (tensor->size_bytes > 0) {
        memcpy(tensor->inline_data, data, tensor->size_bytes);
        tensor_count_moved(runtime, tensor->size_bytes);
    }
    if (status != GANTRY_OK) {
        gantry_tensor_release(tensor);
        *out_tensor = NULL;
    }
    return status;
}

gantry_status_t gantry__tensor_from_host(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                         gantry_dtype_t dtype, const gantry_shape_t *shape,
                                         const void *data, const char *tag,
                                         gantry_tensor_t **out_tensor) {
    return make_from_host(runtime, NULL, device, dtype, shape, data, tag, out_tensor);
}

gantry_status_t gantry__tensor_from_host_for(gantry_scope_t *scope, gantry_logical_device_t *device,
                                             gantry_dtype_t dtype, const gantry_shape_t *shape,
                                             const void *data, gantry_tensor_t **out_tensor) {
    return make_from_host(scope->runtime, scope, device, dtype, shape, data, scope->tag,
                          out_tensor);
}

static gantry_status_t copy_elements(gantry_tensor_t *target, const gantry_tensor_t *source) {
    if (source->size_bytes == 0) return GANTRY_OK;
    if (source->data && source->device->synchronous) {
        if (!target->buffer) {
            memcpy(target->data, source->data, source->size_bytes);
            tensor_count_moved(source->runtime, source->size_bytes);
            return GANTRY_OK;
        }
        return gantry__copy_from_host(target->buffer, source->data, source->size_bytes,
                                      &target->ready);
    }
    if (!target->buffer)
        return gantry__copy_to_host(target->data, source->buffer, source->offset_bytes,
                                    source->size_bytes, source->ready);
    return gantry__copy_across(target->buffer, source->buffer, source->offset_bytes,
                               source->size_bytes, source->ready, &target->ready);
}

gantry_status_t gantry__tensor_copy_to(const gantry_tensor_t *source,
                                       gantry_logical_device_t *device,
                                       const gantry__allocation_t *purpose,
                                       gantry_tensor_t **out_tensor) {
    GANTRY__TRY(gantry__tensor_create(source->runtime, device, source->dtype, &source->shape,
                                      GANTRY_STREAM_TO_DEVICE, purpose, out_tensor));
    gantry_status_t status = copy_elements(*out_tensor, source);
    if (status == GANTRY_OK) status = gantry__tensor_inherit_faults(*out_tensor, source);
    if (status != GANTRY_OK) {
        gantry_tensor_release(*out_tensor);
        *out_tensor = NULL;
    }
    return status;
}

/* ---- faults ---- */

gantry_status_t gantry__tensor_add_fault(gantry_tensor_t *tensor, gantry__fault_t *fault) {
    gantry__fault_t **grown =
        gantry__heap_resize(&tensor->runtime->heap, tensor->faults, tensor->fault_count,
                            tensor->fault_count + 1, sizeof *grown);
    if (!grown) {
        gantry__fault_release(fault);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    tensor->faults = grown;
    tensor->faults[tensor->fault_count++] = fault;
    return GANTRY_OK;
}

bool gantry__tensor_has_faults(const gantry_tensor_t *tensor) {
    for (uint32_t i = 0; i < tensor->fault_count; ++i) {
        if (!gantry__fault_is_good(tensor->faults[i])) return true;
    }
    return false;
}

gantry_status_t gantry__tensor_inherit_faults(gantry_tensor_t *tensor,
                                              const gantry_tensor_t *source) {
    for (uint32_t i = 0; i < source->fault_count; ++i) {
        gantry__fault_t *fault = source->faults[i];
        bool known = gantry__fault_is_good(fault);
        for (uint32_t j = 0; j < tensor->fault_count && !known; ++j)
            known = tensor->faults[j] == fault;
        if (!known) GANTRY__TRY(gantry__tensor_add_fault(tensor, gantry__fault_retain(fault)));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__tensor_settle(const gantry_tensor_t *tensor) {
    for (uint32_t i = 0; i < tensor->fault_count; ++i)
        GANTRY__TRY(gantry__fault_settle(tensor->faults[i]));
    return GANTRY_OK;
}

/* ---- reading ---- */

static gantry_status_t check_tensor(const gantry_tensor_t *tensor) {
    if (!tensor)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "the tensor is NULL; a tensor that an op made is accepted");
    GANTRY__TRY(gantry__runtime_check_well(tensor->runtime));
    return tensor->is_symbolic ? gantry__tensor_fail_symbolic(tensor) : GANTRY_OK;
}

gantry_status_t gantry__tensor_host_data(const gantry_tensor_t *tensor, const void **out_data,
                                         void **out_owned) {
    *out_owned = NULL;
    *out_data = NULL;
    if (tensor->is_symbolic) return gantry__tensor_fail_symbolic(tensor);
    GANTRY__TRY(gantry__tensor_settle(tensor));
    if (tensor->size_bytes == 0) {
        *out_data = tensor->inline_data; /* never read, never NULL */
        return GANTRY_OK;
    }
    if (tensor->data && tensor->device->synchronous) {
        *out_data = tensor->data;
        return GANTRY_OK;
    }
    void *copy = gantry__heap_alloc(&tensor->runtime->heap, tensor->size_bytes);
    if (!copy) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry__copy_to_host(copy, tensor->buffer, tensor->offset_bytes,
                                                  tensor->size_bytes, tensor->ready);
    if (status != GANTRY_OK) {
        gantry__heap_free(&tensor->runtime->heap, copy, tensor->size_bytes);
        return status;
    }
    *out_data = *out_owned = copy;
    return GANTRY_OK;
}

static gantry_status_t tensor_check_room(const gantry_tensor_t *tensor, const void *out,
                                         size_t bytes) {
    if (!out && tensor->size_bytes > 0)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "reading a tensor: out is NULL; the address of %zu bytes is accepted",
                            tensor->size_bytes);
    if (bytes == tensor->size_bytes) return GANTRY_OK;
    return gantry__fail(
        GANTRY_INVALID_ARGUMENT,
        "reading a tensor of %zu bytes into %zu bytes; exactly its size is accepted",
        tensor->size_bytes, bytes);
}

gantry_status_t gantry__tensor_check_read(const gantry_tensor_t *tensor, const void *out,
                                          size_t bytes) {
    GANTRY__TRY(check_tensor(tensor));
    return tensor_check_room(tensor, out, bytes);
}

gantry_status_t gantry_tensor_read(const gantry_tensor_t *tensor, void *out, size_t bytes) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__tensor_check_read(tensor, out, bytes));
    GANTRY__RECORD(recorded, tensor->runtime, GANTRY__PROFILE_READ, tensor->device);
    GANTRY__PHASE(recorded.frame, COPY);
    if (tensor->fault_count > 0) GANTRY__TRY(gantry__tensor_settle(tensor));
    if (bytes == 0) return GANTRY_OK;
    if (tensor->data && tensor->device->synchronous && bytes < SHORT_READ_BYTES) {
        if (recorded.frame) recorded.frame->numbers.bytes_moved += bytes;
        memcpy(out, tensor->data, bytes);
        return GANTRY_OK;
    }
    return gantry__copy_to_host(out, tensor->buffer, tensor->offset_bytes, bytes, tensor->ready);
}

gantry_status_t gantry_tensor_wait(const gantry_tensor_t *tensor) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(check_tensor(tensor));
    GANTRY__RECORD(recorded, tensor->runtime, GANTRY__PROFILE_WAITED, tensor->device);
    if (tensor->buffer) GANTRY__TRY(gantry__loss_check(tensor->device));
    GANTRY__TRY(gantry__point_wait(tensor->ready));
    return gantry__tensor_settle(tensor);
}

static gantry_status_t read_format_options(const gantry_format_options_t *given,
                                           gantry__format_options_t *out_layout) {
    gantry_format_options_t options;
    GANTRY__TRY(gantry__struct_read(given, 0, &options, sizeof options, "format options"));
    *out_layout = (gantry__format_options_t){options.precision, options.threshold,
                                             options.edge_items, options.line_width};
    return GANTRY_OK;
}

static gantry_status_t format(const gantry_tensor_t *tensor, const gantry_format_options_t *options,
                              char *out, size_t out_bytes, size_t *out_needed) {
    gantry__format_options_t layout;
    GANTRY__TRY(read_format_options(options, &layout));
    const void *data;
    void *owned;
    GANTRY__TRY(gantry__tensor_host_data(tensor, &data, &owned));
    gantry__text_t text;
    gantry__text_init(&text, &tensor->runtime->heap);
    (void)gantry__format_array(tensor->dtype, &tensor->shape, data, &layout, &text);
    gantry_status_t status = gantry__text_status(&text);
    if (status == GANTRY_OK && out && out_bytes > 0) {
        size_t copied = text.length < out_bytes - 1 ? text.length : out_bytes - 1;
        memcpy(out, gantry__text_get(&text), copied);
        out[copied] = '\0';
    }
    if (out_needed) *out_needed = text.length;
    gantry__text_deinit(&text);
    gantry__heap_free(&tensor->runtime->heap, owned, tensor->size_bytes);
    return status;
}

gantry_status_t gantry_tensor_format(const gantry_tensor_t *tensor,
                                     const gantry_format_options_t *options, char *out,
                                     size_t out_bytes, size_t *out_needed) {
    GANTRY__OWN_FP_MODE(fp);
    if (out && out_bytes > 0) out[0] = '\0';
    if (out_needed) *out_needed = 0;
    GANTRY__TRY(check_tensor(tensor));
    if (!out && out_bytes > 0)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "gantry_tensor_format: out is NULL, but out_bytes is %zu", out_bytes);
    GANTRY__RECORD(recorded, tensor->runtime, GANTRY__PROFILE_READ, tensor->device);
    return format(tensor, options, out, out_bytes, out_needed);
}

/* ---- plain questions ---- */

gantry_dtype_t gantry_tensor_dtype(const gantry_tensor_t *tensor) {
    return tensor ? tensor->dtype : GANTRY_DTYPE_NONE;
}

const gantry_shape_t *gantry_tensor_shape(const gantry_tensor_t *tensor) {
    static const gantry_shape_t none = {.rank = 0};
    return tensor ? &tensor->shape : &none;
}

int64_t gantry_tensor_elements(const gantry_tensor_t *tensor) {
    return tensor ? tensor->elements : 0;
}

size_t gantry_tensor_bytes(const gantry_tensor_t *tensor) {
    return tensor ? tensor->size_bytes : 0;
}

const gantry_logical_device_t *gantry_tensor_device(const gantry_tensor_t *tensor) {
    return tensor ? tensor->device : NULL;
}
