/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of interop.h: tensors over the program's memory, and tensors' elements in
 * place. */
#include <gantry/interop.h>

#include "api/elements_check.h"
#include "api/interop.h"
#include "base/fp_mode.h"
#include "device/buffer.h"
#include "device/device_open.h"
#include "run/scope_state.h"
#include "run/trace_hooks.h"
#include "shared/struct_size.h"

/* ---- memory in ---- */

/* Why the memory cannot be used in place. */
static gantry_status_t check_in_place(const gantry__memory_t *memory) {
    const size_t size = gantry_dtype_size(memory->dtype);
    const unsigned char *flags = memory->data;
    if (memory->bytes == 0)
        return gantry__fail(GANTRY_FAILED_PRECONDITION,
                            "the tensor has no elements; one element and more is accepted");
    if ((uintptr_t)memory->data % size != 0)
        return gantry__fail(GANTRY_FAILED_PRECONDITION,
                            "the address %p is not aligned for %s; a multiple of %zu is accepted",
                            memory->data, gantry_dtype_name(memory->dtype), size);
    for (size_t i = 0; memory->dtype == GANTRY_BOOL && i < memory->bytes; ++i) {
        if (flags[i] > 1)
            return gantry__fail(GANTRY_FAILED_PRECONDITION, "bool %zu is %u; 0 and 1 are accepted",
                                i, flags[i]);
    }
    return GANTRY_OK;
}

static gantry_status_t adopt_memory(gantry_scope_t *scope, gantry_logical_device_t *device,
                                    const gantry__memory_t *memory, gantry_tensor_t **out_tensor) {
    const gantry__foreign_t foreign = {memory->options.release, memory->options.user,
                                       memory->options.is_writable};
    return gantry__tensor_from_memory(scope, device, memory->dtype, &memory->shape, memory->data,
                                      &foreign, out_tensor);
}

gantry_status_t gantry__open_host(gantry_scope_t *scope, gantry_logical_device_t **out_host) {
    GANTRY__TRY(gantry__runtime_initialize(scope->runtime, "Const"));
    *out_host = scope->runtime->host;
    return gantry__logical_device_open(*out_host);
}

static gantry_status_t make_from_memory(gantry_scope_t *scope, const gantry__memory_t *memory,
                                        const char *call, bool *out_in_place,
                                        gantry_tensor_t **out_tensor) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_Const, NULL);
    const uint32_t before = gantry__failures();
    gantry_status_t status = check_in_place(memory);
    *out_in_place = status == GANTRY_OK;
    if (status != GANTRY_OK && memory->options.requires_no_copy)
        return gantry__fail_prefix(status, "%s: requires_no_copy: ", call);
    gantry__forget_since(before);
    gantry_logical_device_t *device = memory->device;
    if (!device) GANTRY__TRY(gantry__open_host(scope, &device));
    recorded.device = device;
    *out_in_place = *out_in_place && device->host_addressable && device->synchronous;
    GANTRY__TRY(*out_in_place
                    ? adopt_memory(scope, device, memory, out_tensor)
                    : gantry__tensor_from_host_for(scope, device, memory->dtype, &memory->shape,
                                                   memory->data, out_tensor));
    return scope->trace ? gantry__trace_constant(scope, *out_tensor) : GANTRY_OK;
}

gantry_status_t gantry__from_memory(gantry_scope_t *scope, const gantry__memory_t *memory,
                                    const char *call, gantry_tensor_t **out_tensor) {
    gantry_tensor_t *tensor = NULL;
    bool in_place = false;
    *out_tensor = NULL;
    gantry_status_t status = make_from_memory(scope, memory, call, &in_place, &tensor);
    if (status != GANTRY_OK) {
        if (tensor && in_place) tensor->buffer->foreign.release = NULL;
        gantry_tensor_release(tensor);
        return status;
    }
    gantry__scope_adopt(scope, tensor);
    if (!in_place && memory->options.release) memory->options.release(memory->options.user);
    *out_tensor = tensor;
    return GANTRY_OK;
}

static gantry_status_t from_memory(gantry_scope_t *scope, gantry__memory_t *memory,
                                   const gantry_from_memory_options_t *options,
                                   gantry_tensor_t **out_tensor) {
    const char *call = "gantry_tensor_from_memory";
    GANTRY__TRY(gantry__struct_read(options, 0, &memory->options, sizeof memory->options,
                                    "gantry_tensor_from_memory: options"));
    GANTRY__TRY(
        gantry__check_elements(call, memory->dtype, &memory->shape, memory->data, memory->bytes));
    return gantry__from_memory(scope, memory, call, out_tensor);
}

const gantry_tensor_t *gantry_tensor_from_memory(gantry_scope_t *scope, gantry_dtype_t dtype,
                                                 gantry_shape_t shape, void *data, size_t bytes,
                                                 const gantry_from_memory_options_t *options) {
    GANTRY__OWN_FP_MODE(fp);
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry__memory_t memory = {dtype, shape, data, bytes, {.struct_size = 0}, NULL};
    gantry_tensor_t *tensor = NULL;
    gantry_status_t status = from_memory(scope, &memory, options, &tensor);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return tensor;
}

/* ---- elements in place ---- */

gantry_status_t gantry__check_concrete(const gantry_tensor_t *tensor, const char *call) {
    if (!tensor)
        return gantry__refuse("%s: the tensor is NULL; a tensor that an op made is accepted", call);
    GANTRY__TRY(gantry__runtime_check_well(tensor->runtime));
    return tensor->is_symbolic ? gantry__tensor_fail_symbolic(tensor) : GANTRY_OK;
}

bool gantry__is_mappable(const gantry_tensor_t *tensor) {
    return tensor->device->host_addressable && tensor->device->synchronous;
}

gantry_status_t gantry_get_tensor_memory(const gantry_tensor_t *tensor,
                                         gantry_tensor_memory_t *out_memory) {
    const char *call = "gantry_get_tensor_memory";
    GANTRY__TRY(gantry__check_concrete(tensor, call));
    const struct gantry__buffer_t *buffer = tensor->buffer;
    const gantry_tensor_memory_t all = {
        .is_foreign = buffer && !buffer->chunk,
        .is_writable = !buffer || buffer->foreign.is_writable,
        .is_mappable = gantry__is_mappable(tensor),
        .map_count = atomic_load_explicit(&tensor->map_count, memory_order_relaxed)};
    return gantry__struct_fill(out_memory, &all, sizeof all,
                               "gantry_get_tensor_memory: out_memory");
}

gantry_status_t gantry_tensor_map(const gantry_tensor_t *tensor, const void **out_data) {
    GANTRY__OWN_FP_MODE(fp);
    if (!out_data) return gantry__refuse("gantry_tensor_map: out_data is NULL");
    *out_data = NULL;
    GANTRY__TRY(gantry__check_concrete(tensor, "gantry_tensor_map"));
    if (!gantry__is_mappable(tensor))
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_tensor_map: the memory of %s is not the host's; a tensor of a CPU device is accepted, and gantry_tensor_read copies from every device",
            tensor->device->full_name);
    GANTRY__TRY(gantry__tensor_settle(tensor));
    gantry_tensor_t *held = gantry_tensor_retain(tensor);
    atomic_fetch_add_explicit(&held->map_count, 1, memory_order_relaxed);
    *out_data = held->data ? held->data : held->inline_data;
    return GANTRY_OK;
}

gantry_status_t gantry_tensor_unmap(const gantry_tensor_t *tensor) {
    if (!tensor || !gantry__runtime_is_ours(tensor->runtime))
        return gantry__check_concrete(tensor, "gantry_tensor_unmap");
    gantry_tensor_t *held = gantry_tensor_retain(tensor);
    unsigned count = atomic_load_explicit(&held->map_count, memory_order_relaxed);
    while (count > 0 &&
           !atomic_compare_exchange_weak_explicit(&held->map_count, &count, count - 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    gantry_tensor_release(held);
    if (count == 0)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_tensor_unmap: the tensor is not mapped; a tensor of gantry_tensor_map is accepted, once a call");
    gantry_tensor_release(held);
    return GANTRY_OK;
}
