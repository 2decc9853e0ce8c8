/* SPDX-License-Identifier: Apache-2.0 */
#include "run/tensor_stream.h"

#include "device/device_open.h"
#include "device/logical_device.h"
#include "device/transfer.h"
#include "run/dispatch.h"
#include "run/scope_state.h"

/* A device gets more elements in blocks of this size: the host never holds all of them. */
#define STREAM_BLOCK ((size_t)4 << 20)

typedef struct tensor_stream_t {
    gantry_scope_t *scope;
    gantry_logical_device_t *device;
    gantry_dtype_t dtype;
    const gantry_shape_t *shape;
    gantry__elements_fn next;
    void *user;
} tensor_stream_t;

static gantry_status_t stream_make(const tensor_stream_t *stream, gantry_tensor_t **out_tensor) {
    const gantry__allocation_t purpose = {.owner = "Const", .tag = stream->scope->tag};
    return gantry__tensor_create(stream->scope->runtime, stream->device, stream->dtype,
                                 stream->shape, GANTRY_STREAM_TO_DEVICE, &purpose, out_tensor);
}

static gantry_status_t stream_in_place(const tensor_stream_t *stream,
                                       gantry_tensor_t **out_tensor) {
    GANTRY__TRY(stream_make(stream, out_tensor));
    return stream->next(stream->user, (*out_tensor)->data, (*out_tensor)->size_bytes);
}

static gantry_status_t stream_whole(const tensor_stream_t *stream, void *block, size_t bytes,
                                    gantry_tensor_t **out_tensor) {
    GANTRY__TRY(stream->next(stream->user, block, bytes));
    return gantry__tensor_from_host(stream->scope->runtime, stream->device, stream->dtype,
                                    stream->shape, block, stream->scope->tag, out_tensor);
}

static gantry_status_t stream_by_blocks(const tensor_stream_t *stream, void *block,
                                        gantry_tensor_t **out_tensor) {
    GANTRY__TRY(stream_make(stream, out_tensor));
    gantry_tensor_t *tensor = *out_tensor;
    for (uint64_t at = 0; at < tensor->size_bytes; at += STREAM_BLOCK) {
        const uint64_t left = tensor->size_bytes - at;
        const size_t bytes = left < STREAM_BLOCK ? (size_t)left : STREAM_BLOCK;
        GANTRY__TRY(stream->next(stream->user, block, bytes));
        GANTRY__TRY(gantry__copy_part_from_host(tensor->buffer, at, block, bytes, &tensor->ready));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__tensor_stream(gantry_scope_t *scope, gantry_logical_device_t *device,
                                      gantry_dtype_t dtype, const gantry_shape_t *shape,
                                      bool is_whole, gantry__elements_fn next, void *user,
                                      gantry_tensor_t **out_tensor) {
    const tensor_stream_t stream = {scope, device, dtype, shape, next, user};
    if (device->host_addressable && device->synchronous)
        return stream_in_place(&stream, out_tensor);
    const size_t all = (size_t)gantry_shape_elements(shape) * gantry_dtype_size(dtype);
    is_whole = is_whole || all <= STREAM_BLOCK;
    const gantry__heap_t *heap = &scope->runtime->heap;
    const size_t bytes = is_whole ? all : STREAM_BLOCK;
    void *block = gantry__heap_alloc(heap, bytes);
    if (!block) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = is_whole ? stream_whole(&stream, block, bytes, out_tensor)
                                      : stream_by_blocks(&stream, block, out_tensor);
    gantry__heap_free(heap, block, bytes);
    return status;
}

static gantry_status_t stream_make_noted(const tensor_stream_t *stream, gantry__kept_plan_t *kept,
                                         gantry_tensor_t **out_tensor) {
    GANTRY__RECORD(recorded, stream->scope->runtime, GANTRY__OP_ID_Const, NULL);
    recorded.device = stream->device;
    (void)gantry__dispatch_note(stream->scope, kept, "_EagerConst", 0);
    return stream_make(stream, out_tensor);
}

gantry_status_t gantry__tensor_to_fill(gantry_scope_t *scope, gantry_dtype_t dtype,
                                       const gantry_shape_t *shape, gantry_tensor_t **out_tensor) {
    gantry__kept_plan_t *kept;
    *out_tensor = NULL;
    GANTRY__TRY(
        gantry__plan_core_op(scope, GANTRY__OP_ID_Const, "_EagerConst", dtype, false, NULL, &kept));
    const tensor_stream_t stream = {scope, kept->plan.device, dtype, shape, NULL, NULL};
    GANTRY__TRY(gantry__logical_device_open(stream.device));
    return stream.device->host_addressable && stream.device->synchronous
               ? stream_make_noted(&stream, kept, out_tensor)
               : GANTRY_OK;
}
