/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as objects, in this order:
 *
 *   objects     counted; a few spare ones are kept by the runtime, because every op makes one
 *   making      new memory (inline, when small and on the CPU), or a view of other memory
 *   faults      errors that kernels may still find: inherited from inputs, settled before a read
 *   questions   type, shape, sizes, device
 *
 * tensor_elements.c moves their elements, device/buffer.c finds memory. */
#include <gantry/tensor.h>

#include <stdio.h>
#include <string.h>

#include "base/shape_limit.h"
#include "device/buffer.h"
#include "device/device_open.h"
#include "device/fault.h"
#include "device/sharing.h"
#include "run/scope_state.h"
#include "shared/struct_size.h"

#include "ops/type_rows.h"

#define SPARE_TENSORS 4096

/* ---- objects ---- */

/* Takes at most `most` of the runtime's spare objects, linked by next. */
static gantry_tensor_t *take_spares(gantry_runtime_t *runtime, uint32_t most, uint32_t *out_count) {
    uint32_t count = 0;
    gantry__mutex_lock(&runtime->lock);
    gantry_tensor_t *first = runtime->spares.first, *last = NULL;
    for (gantry_tensor_t *at = first; at && count < most; at = at->next, ++count) last = at;
    if (last) {
        runtime->spares.first = last->next;
        runtime->spares.count -= count;
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
    scope->spares.most = scope->spares.most < GANTRY__SCOPE_SPARES / 2 ? scope->spares.most * 2 + 1
                                                                       : GANTRY__SCOPE_SPARES;
    scope->spares.first = take_spares(runtime, scope->spares.most, &scope->spares.count);
    if (scope->spares.count > 0) (void)gantry__runtime_retain(runtime, scope->spares.count);
    for (gantry_tensor_t *at = scope->spares.first; at; at = at->next) at->runtime = runtime;
}

/* The same from the scope's own list, if there is a scope. */
static gantry_tensor_t *take_object_for(gantry_scope_t *scope, gantry_runtime_t *runtime) {
    if (!scope) return take_object(runtime);
    if (!scope->spares.first) fill_spares(scope);
    if (!scope->spares.first) return hold_runtime(runtime, NULL);
    gantry_tensor_t *tensor = scope->spares.first;
    scope->spares.first = tensor->next;
    --scope->spares.count;
    return tensor;
}

void gantry__tensor_return_all(gantry_runtime_t *runtime, gantry_tensor_t *first) {
    uint32_t count = 0;
    if (!first) return;
    gantry__mutex_lock(&runtime->lock);
    while (first && runtime->spares.count < SPARE_TENSORS) {
        gantry_tensor_t *tensor = first;
        first = tensor->next;
        tensor->next = runtime->spares.first;
        runtime->spares.first = tensor;
        ++runtime->spares.count;
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
    atomic_init(&tensor->map_count, 0);
    tensor->shape = *shape;
    tensor->scope = NULL;
    tensor->next = tensor->previous = NULL;
    tensor->trace = 0;
    tensor->is_symbolic = false;
    tensor->is_donated = false;
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

gantry_status_t gantry__tensor_create_at(gantry_runtime_t *runtime, gantry_scope_t *scope,
                                         gantry_logical_device_t *device, gantry_dtype_t dtype,
                                         const gantry_shape_t *shape, uint32_t first_stream,
                                         const gantry__allocation_t *purpose,
                                         gantry_tensor_t **out_tensor) {
    *out_tensor = NULL;
    GANTRY__TRY(gantry__logical_device_open(device));
    return create(take_object_for(scope, runtime), device, dtype, shape, first_stream, purpose,
                  out_tensor);
}

gantry_status_t gantry__tensor_create(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                      gantry_dtype_t dtype, const gantry_shape_t *shape,
                                      uint32_t first_stream, const gantry__allocation_t *purpose,
                                      gantry_tensor_t **out_tensor) {
    return gantry__tensor_create_at(runtime, NULL, device, dtype, shape, first_stream, purpose,
                                    out_tensor);
}

gantry_status_t gantry__tensor_create_for(gantry_scope_t *scope, gantry_logical_device_t *device,
                                          gantry_dtype_t dtype, const gantry_shape_t *shape,
                                          const gantry__allocation_t *purpose,
                                          gantry_tensor_t **out_tensor) {
    return gantry__tensor_create_at(scope->runtime, scope, device, dtype, shape,
                                    GANTRY_STREAM_COMPUTE, purpose, out_tensor);
}

gantry_status_t gantry__tensor_from_memory(gantry_scope_t *scope, gantry_logical_device_t *device,
                                           gantry_dtype_t dtype, const gantry_shape_t *shape,
                                           void *data, const gantry__foreign_t *foreign,
                                           gantry_tensor_t **out_tensor) {
    gantry_tensor_t *tensor =
        init_object(take_object_for(scope, scope->runtime), device, dtype, shape);
    *out_tensor = NULL;
    if (!tensor) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status =
        gantry__buffer_adopt(device, data, tensor->size_bytes, foreign, &tensor->buffer);
    if (status != GANTRY_OK) {
        gantry_tensor_release(tensor);
        return status;
    }
    tensor->data = data;
    *out_tensor = tensor;
    return GANTRY_OK;
}

gantry_status_t gantry__tensor_from_device_memory(gantry_scope_t *scope,
                                                  gantry_logical_device_t *device,
                                                  gantry_dtype_t dtype, const gantry_shape_t *shape,
                                                  const gantry__shared_memory_t *memory,
                                                  const gantry__foreign_t *foreign,
                                                  gantry_tensor_t **out_tensor) {
    gantry_tensor_t *tensor =
        init_object(take_object_for(scope, scope->runtime), device, dtype, shape);
    *out_tensor = NULL;
    if (!tensor) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status =
        gantry__sharing_adopt(device, memory, foreign, &tensor->buffer, &tensor->ready);
    if (status != GANTRY_OK) {
        gantry_tensor_release(tensor);
        return status;
    }
    *out_tensor = tensor;
    return GANTRY_OK;
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
    gantry__tensor_retype(*out_tensor, dtype);
    return GANTRY_OK;
}

void gantry__tensor_retype(gantry_tensor_t *tensor, gantry_dtype_t dtype) {
    tensor->dtype = dtype;
    tensor->size_bytes = (size_t)tensor->elements * gantry_dtype_size(dtype);
}

uint64_t gantry__tensor_bytes_to_align(const gantry_tensor_t *tensor, uint64_t first_byte,
                                       uint64_t size) {
    const gantry__buffer_t *buffer = tensor->buffer;
    uint64_t begin = first_byte;
    if (buffer)
        begin += (buffer->data ? (uint64_t)(uintptr_t)buffer->data : buffer->span.offset_bytes) +
                 tensor->offset_bytes;
    return (size - begin % size) % size;
}

bool gantry__tensor_is_sole(const gantry_tensor_t *tensor) {
    return tensor->buffer && is_held_once(tensor) &&
           atomic_load_explicit(&tensor->buffer->references, memory_order_acquire) == 1 &&
           tensor->buffer->foreign.is_writable && !gantry__buffer_is_held(tensor->buffer) &&
           gantry__buffer_is_aligned(tensor->buffer, tensor->offset_bytes);
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
