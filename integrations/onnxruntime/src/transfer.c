/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the host and devices, as ONNX Runtime asks for them: before and after a run,
 * around nodes of its own, and by calls of the program. */
#include <stdlib.h>

#include "provider.h"

typedef struct device_transfer_t {
    ort_transfer_t base; /* must be first */
    ort_provider_t *provider;
} device_transfer_t;

/* ---- to a device ---- */

/* On the device of the memory that it is for: another one's tensor is copied there by Gantry. */
static ort_status_t *fill_held(ort_provider_t *provider, gantry_scope_t *scope,
                               const gantry_logical_device_t *device, const ort_content_t *from,
                               const ort_content_t *to) {
    const gantry_tensor_t *tensor;
    ORT_TRY(ort_tensor_of_value(provider, scope, device, from, &tensor));
    if (tensor && gantry_tensor_device(tensor) != device) tensor = gantry_identity(scope, tensor);
    if (!tensor)
        return ort_fail_as(provider, gantry_scope_status(scope), gantry_scope_message(scope));
    return ort_store_tensor(provider, to, tensor, NULL);
}

static ort_status_t *copy_to_memory(const ort_provider_t *provider, const ort_content_t *from,
                                    const ort_content_t *to) {
    const gantry_logical_device_t *device = NULL;
    ort_provider_t *owner = NULL;
    ORT_TRY(ort_find_memory(provider, to->what, to->data, &owner, &device));
    (void)pthread_rwlock_rdlock(&owner->work);
    gantry_scope_t *scope = gantry_scope_begin_on(owner->runtime, device);
    ort_status_t *failed =
        scope ? fill_held(owner, scope, device, from, to) : ort_out_of_memory(provider);
    if (scope) (void)gantry_scope_end(scope);
    (void)pthread_rwlock_unlock(&owner->work);
    ort_provider_release(owner);
    return failed;
}

/* ---- any copy ---- */

static ort_status_t *transfer_value(ort_provider_t *provider, size_t number,
                                    const ort_value_t *from, ort_value_t *to) {
    ort_content_t source, target;
    ORT_TRY(ort_describe_value(provider, (ort_what_t){"tensor", number}, from, &source));
    ORT_TRY(ort_describe_value(provider, (ort_what_t){"target", number}, to, &target));
    if (source.bytes != target.bytes)
        return ort_fail(provider, ORT_INVALID_ARGUMENT,
                        "Gantry: InvalidArgument: %s %zu has %zu bytes; %s %zu has room for %zu",
                        source.what.kind, number, source.bytes, target.what.kind, number,
                        target.bytes);
    if (source.bytes == 0) return NULL;
    if (target.place == ORT_HELD && source.place != ORT_FOREIGN)
        return copy_to_memory(provider, &source, &target);
    if (target.place == ORT_ON_HOST && source.place == ORT_HELD)
        return ort_read_held(provider, &source, target.data);
    return ort_fail(
        provider, ORT_INVALID_ARGUMENT,
        "Gantry: InvalidArgument: %s %zu is to be copied to or from device memory that is "
        "not Gantry's; accepted is memory of the host, and memory that Gantry's "
        "provider allocated",
        source.what.kind, number);
}

static ort_status_t *transfer_values(ort_transfer_t *self, const ort_value_t **from,
                                     ort_value_t **to, ort_stream_t **streams, size_t count) {
    ort_provider_t *provider = ((device_transfer_t *)self)->provider;
    (void)streams;
    for (size_t i = 0; i < count; ++i) ORT_TRY(transfer_value(provider, i, from[i], to[i]));
    return NULL;
}

static bool can_copy(const ort_transfer_t *self, const ort_memory_device_t *from,
                     const ort_memory_device_t *to) {
    const ort_ep_api_t *api = ((const device_transfer_t *)self)->provider->ep_api;
    const ort_memory_device_t *const ends[] = {from, to};
    size_t ours = 0, hosts = 0;
    for (size_t i = 0; i < 2; ++i) {
        if (ort_host_reads(api, ends[i]))
            ++hosts;
        else if (api->MemoryDevice_GetVendorId(ends[i]) == ORT_VENDOR_ID)
            ++ours;
    }
    return ours + hosts == 2 && ours > 0;
}

static void release_transfer(ort_transfer_t *self) {
    ort_provider_release(((device_transfer_t *)self)->provider);
    free(self);
}

ort_status_t *ort_transfer_create(ort_provider_t *provider, ort_transfer_t **out_transfer) {
    device_transfer_t *transfer = calloc(1, sizeof *transfer);
    *out_transfer = NULL;
    if (!transfer) return ort_out_of_memory(provider);
    transfer->base = (ort_transfer_t){.version = ORT_VERSION,
                                      .Release = release_transfer,
                                      .CanCopy = can_copy,
                                      .CopyTensors = transfer_values};
    transfer->provider = ort_provider_retain(provider);
    *out_transfer = &transfer->base;
    return NULL;
}
