/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of interop.h for contexts, memory and events of a driver. */
#include <gantry/interop.h>

#include "api/elements_check.h"
#include "api/interop.h"
#include "backend/backend_check.h"
#include "backend/slot_failure.h"
#include "base/fp_mode.h"
#include "device/device_open.h"
#include "device/loss.h"
#include "device/sharing.h"
#include "run/scope_state.h"
#include "shared/struct_size.h"

/* ---- contexts ---- */

static gantry_runtime_t *runtime_of(const gantry_logical_device_t *device) {
    return (gantry_runtime_t *)((char *)device->table - offsetof(gantry_runtime_t, devices));
}

/* Finds the device as the runtime's own, opened, and the slots of its backend. */
static gantry_status_t open_shared(gantry_runtime_t *runtime, const gantry_logical_device_t *device,
                                   const char *call, gantry_logical_device_t **out_device,
                                   const gantry_interop_ops_t **out_ops) {
    *out_device = runtime->devices.logical[device->position];
    GANTRY__TRY(gantry__sharing_ops(device, call, out_ops));
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__TRY(gantry__logical_device_open(*out_device));
    return gantry__sharing_ops(device, call, out_ops); /* another view may serve the card now */
}

gantry_status_t gantry_device_get_native(const gantry_logical_device_t *device,
                                         gantry_native_t *out_native) {
    GANTRY__OWN_FP_MODE(fp);
    const char *call = "gantry_device_get_native";
    gantry_logical_device_t *own;
    const gantry_interop_ops_t *ops;
    uint32_t struct_size;
    if (!device)
        return gantry__refuse("%s: device is NULL; one of gantry_list_logical_devices is accepted",
                              call);
    GANTRY__TRY(gantry__struct_check(out_native, sizeof *out_native,
                                     "gantry_device_get_native: out_native", &struct_size));
    GANTRY__TRY(gantry__runtime_check_well(runtime_of(device)));
    GANTRY__TRY(open_shared(runtime_of(device), device, call, &own, &ops));
    const gantry_native_t all = {
        .is_adopted = own->card->adopted_context != NULL,
        .backend = own->backend->name,
        .context = ops->native_context(own->handle),
        .device = ops->native_device(own->handle),
        .queue = ops->native_queue(own->streams[GANTRY_STREAM_COMPUTE].handle)};
    return gantry__struct_fill(out_native, &all, sizeof all,
                               "gantry_device_get_native: out_native");
}

/* ---- memory in ---- */

static gantry_status_t interop_check_device(const gantry_scope_t *scope,
                                            const gantry__from_device_t *from) {
    const gantry_logical_device_t *device = from->device;
    if (!device || device->table != &scope->runtime->devices)
        return gantry__refuse(
            "%s: device is %s; one of gantry_list_logical_devices of the scope's runtime is accepted",
            from->call, device ? "of another runtime" : "NULL");
    return GANTRY_OK;
}

static gantry_status_t check_from(const gantry_scope_t *scope, gantry__from_device_t *from) {
    const size_t size = gantry_dtype_size(from->dtype);
    const int64_t elements = gantry_shape_elements(from->shape);
    if (scope->trace)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: the body of a function is traced; an input of the function is accepted",
            from->call);
    GANTRY__TRY(interop_check_device(scope, from));
    from->memory.size_bytes = elements > 0 && (uint64_t)elements <= SIZE_MAX / (size ? size : 1)
                                  ? (uint64_t)elements * size
                                  : 0;
    GANTRY__TRY(gantry__check_elements(from->call, from->dtype, from->shape, from->memory.native,
                                       (size_t)from->memory.size_bytes));
    from->memory.element_bytes = size;
    if (from->memory.size_bytes == 0)
        return gantry__refuse("%s: the tensor has no elements; one element and more is accepted",
                              from->call);
    if (from->memory.offset_bytes % size != 0)
        return gantry__refuse("%s: offset_bytes is %llu; a multiple of %zu is accepted for %s",
                              from->call, (unsigned long long)from->memory.offset_bytes, size,
                              gantry_dtype_name(from->dtype));
    return GANTRY_OK;
}

static gantry_status_t make_from_device(gantry_scope_t *scope, const gantry__from_device_t *from,
                                        gantry_tensor_t **out_tensor) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_Const, NULL);
    const gantry__foreign_t foreign = {from->options.release, from->options.user,
                                       from->options.is_writable};
    gantry_logical_device_t *device;
    const gantry_interop_ops_t *ops;
    GANTRY__TRY(gantry__runtime_initialize(scope->runtime, "Const"));
    GANTRY__TRY(open_shared(scope->runtime, from->device, from->call, &device, &ops));
    recorded.device = device;
    return gantry__tensor_from_device_memory(scope, device, from->dtype, from->shape, &from->memory,
                                             &foreign, out_tensor);
}

gantry_status_t gantry__from_device(gantry_scope_t *scope, gantry__from_device_t *from,
                                    gantry_tensor_t **out_tensor) {
    *out_tensor = NULL;
    GANTRY__TRY(check_from(scope, from));
    from->memory.ready_event = from->options.ready_event;
    return make_from_device(scope, from, out_tensor);
}

const gantry_tensor_t *gantry_tensor_from_device_memory(
    gantry_scope_t *scope, const gantry_logical_device_t *device, gantry_dtype_t dtype,
    gantry_shape_t shape, void *memory, uint64_t offset_bytes,
    const gantry_from_device_memory_options_t *options) {
    GANTRY__OWN_FP_MODE(fp);
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry__from_device_t from = {
        .call = "gantry_tensor_from_device_memory",
        .device = device,
        .dtype = dtype,
        .shape = &shape,
        .memory = {.native = memory, .offset_bytes = offset_bytes},
    };
    gantry_tensor_t *tensor = NULL;
    gantry_status_t status = gantry__struct_read(options, 0, &from.options, sizeof from.options,
                                                 "gantry_tensor_from_device_memory: options");
    if (status == GANTRY_OK) status = gantry__from_device(scope, &from, &tensor);
    if (status != GANTRY_OK)
        (void)gantry__scope_fail(scope, status);
    else
        gantry__scope_adopt(scope, tensor);
    return tensor;
}

/* ---- memory out ---- */

/* Checks a tensor whose device shares memory. */
static gantry_status_t check_shared(const gantry_tensor_t *tensor, const char *call,
                                    const gantry_interop_ops_t **out_ops) {
    GANTRY__TRY(gantry__check_concrete(tensor, call));
    GANTRY__TRY(gantry__sharing_ops(tensor->device, call, out_ops));
    return gantry__loss_check(tensor->device);
}

/* Makes work of the adopted queue follow the tensor. */
static gantry_status_t expose(const gantry_tensor_t *tensor) {
    gantry__stream_t *compute = &tensor->device->streams[GANTRY_STREAM_COMPUTE];
    if (!compute->is_adopted) return GANTRY_OK;
    GANTRY__TRY(gantry__stream_wait_for(compute, &tensor->ready, 1));
    gantry__sharing_expose(tensor->buffer);
    return GANTRY_OK;
}

gantry_status_t gantry_tensor_get_device_memory(const gantry_tensor_t *tensor,
                                                gantry_device_memory_t *out_memory) {
    GANTRY__OWN_FP_MODE(fp);
    const gantry_interop_ops_t *ops;
    uint32_t struct_size;
    GANTRY__TRY(gantry__struct_check(out_memory, sizeof *out_memory,
                                     "gantry_tensor_get_device_memory: out_memory", &struct_size));
    GANTRY__TRY(check_shared(tensor, "gantry_tensor_get_device_memory", &ops));
    gantry_device_memory_t all = {.device = tensor->device, .size_bytes = tensor->size_bytes};
    if (tensor->buffer) {
        GANTRY__TRY(expose(tensor));
        all.memory = ops->native_memory(tensor->device->handle, tensor->buffer->span.region);
        all.offset_bytes = tensor->buffer->span.offset_bytes + tensor->offset_bytes;
    }
    return gantry__struct_fill(out_memory, &all, sizeof all,
                               "gantry_tensor_get_device_memory: out_memory");
}

gantry_status_t gantry_tensor_get_event(const gantry_tensor_t *tensor, void **out_event) {
    GANTRY__OWN_FP_MODE(fp);
    const char *call = "gantry_tensor_get_event";
    const gantry_interop_ops_t *ops;
    if (!out_event) return gantry__refuse("%s: out_event is NULL", call);
    *out_event = NULL;
    GANTRY__TRY(check_shared(tensor, call, &ops));
    gantry__stream_t *stream =
        tensor->ready.stream ? tensor->ready.stream : &tensor->device->streams[0];
    gantry_status_t status;
    gantry__stream_begin(stream);
    GANTRY__CALL_SLOT(status, ops->native_event(stream->handle, out_event));
    (void)gantry__stream_end(stream);
    return gantry__loss_note(tensor->device, status);
}

gantry_status_t gantry_tensor_use_until(const gantry_tensor_t *tensor, void *native_event) {
    GANTRY__OWN_FP_MODE(fp);
    const gantry_interop_ops_t *ops;
    if (!native_event)
        return gantry__refuse(
            "gantry_tensor_use_until: native_event is NULL; one that the program recorded is accepted");
    GANTRY__TRY(check_shared(tensor, "gantry_tensor_use_until", &ops));
    return tensor->buffer ? gantry__sharing_hold(tensor->buffer, native_event) : GANTRY_OK;
}
