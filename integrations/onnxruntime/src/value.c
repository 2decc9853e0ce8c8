/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of values of ONNX Runtime, and back: in the host's memory, where they are copied; at an
 * address of memory.c, where they are; and in memory of others. */
#include <stdlib.h>
#include <string.h>

#include "provider.h"

gantry_dtype_t ort_dtype_of(int type) {
    static const gantry_dtype_t dtypes[] = {
        [1] = GANTRY_FLOAT32,  [2] = GANTRY_UINT8,    [3] = GANTRY_INT8,    [4] = GANTRY_UINT16,
        [5] = GANTRY_INT16,    [6] = GANTRY_INT32,    [7] = GANTRY_INT64,   [9] = GANTRY_BOOL,
        [10] = GANTRY_FLOAT16, [11] = GANTRY_FLOAT64, [12] = GANTRY_UINT32, [13] = GANTRY_UINT64,
        [16] = GANTRY_BFLOAT16};
    return type >= 0 && type <= 16 ? dtypes[type] : GANTRY_DTYPE_NONE;
}

/* ---- what a value is, and where ---- */

static ort_status_t *read_ort_shape(const ort_provider_t *provider, const ort_value_t *value,
                                    ort_content_t *content) {
    const int64_t *dims = NULL;
    size_t rank = 0;
    int type = 0;
    ORT_TRY(provider->api->GetTensorElementTypeAndShapeDataReference(value, &type, &dims, &rank));
    if (rank > GANTRY_MAX_RANK)
        return ort_fail(
            provider, ORT_INVALID_ARGUMENT,
            "Gantry: InvalidArgument: %s %zu has %zu dimensions; at most %d are accepted",
            content->what.kind, content->what.number, rank, GANTRY_MAX_RANK);
    content->dtype = ort_dtype_of(type);
    if (content->dtype == GANTRY_DTYPE_NONE)
        return ort_fail(provider, ORT_INVALID_ARGUMENT,
                        "Gantry: InvalidArgument: %s %zu has elements of ONNX's type %d, of which "
                        "Gantry has no tensors",
                        content->what.kind, content->what.number, type);
    content->shape.rank = (int32_t)rank;
    content->bytes = gantry_dtype_size(content->dtype);
    for (size_t i = 0; i < rank; ++i) {
        content->shape.dims[i] = dims[i];
        content->bytes *= (size_t)dims[i];
    }
    return NULL;
}

bool ort_host_reads(const ort_ep_api_t *api, const ort_memory_device_t *device) {
    return !device || api->MemoryDevice_GetDeviceType(device) == ORT_DEVICE_CPU ||
           api->MemoryDevice_GetMemoryType(device) == ORT_MEMORY_HOST_ACCESSIBLE;
}

ort_status_t *ort_describe_value(const ort_provider_t *provider, ort_what_t what,
                                 const ort_value_t *value, ort_content_t *out) {
    const void *data = NULL;
    out->what = what;
    out->data = NULL;
    out->place = ORT_ON_HOST;
    ORT_TRY(read_ort_shape(provider, value, out));
    if (out->bytes == 0) return NULL;
    ORT_TRY(provider->api->GetTensorData(value, &data));
    out->data = (void *)(uintptr_t)data;
    const ort_memory_device_t *device = provider->ep_api->Value_GetMemoryDevice(value);
    out->place = ort_is_held(data)                          ? ORT_HELD
                 : ort_host_reads(provider->ep_api, device) ? ORT_ON_HOST
                                                            : ORT_FOREIGN;
    return NULL;
}

/* ---- the tensor of a value ---- */

static const gantry_tensor_t *constant_of_bytes(ort_provider_t *provider, gantry_scope_t *scope,
                                                const ort_content_t *content, const void *data) {
    (void)atomic_fetch_add(&provider->bytes_to_device, content->bytes);
    return gantry_constant(scope, content->dtype, content->shape, data ? data : "", content->bytes);
}

/* Python's ONNX Runtime copies elements of all types as bytes, of which only a cast makes bools. */
static const gantry_tensor_t *view_held(gantry_scope_t *scope, const ort_content_t *content,
                                        const ort_held_t *held) {
    const bool needs_cast =
        content->dtype == GANTRY_BOOL && gantry_tensor_dtype(held->tensor) != GANTRY_BOOL;
    const gantry_tensor_t *view =
        gantry_tensor_view(scope, held->tensor, held->first_byte,
                           needs_cast ? GANTRY_UINT8 : content->dtype, content->shape);
    return needs_cast ? gantry_cast(scope, view, GANTRY_BOOL) : view;
}

static gantry_status_t read_held_part(const ort_content_t *content, const ort_held_t *held,
                                      void *out) {
    gantry_scope_t *scope = gantry_scope_begin(held->provider->runtime, NULL);
    if (!scope) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_tensor_t *part = view_held(scope, content, held);
    if (part)
        (void)gantry_scope_fail(scope, gantry_tensor_read(part, out, content->bytes),
                                gantry_last_message());
    return gantry_scope_end(scope);
}

ort_status_t *ort_read_held(ort_provider_t *provider, const ort_content_t *content, void *out) {
    ort_held_t held;
    ORT_TRY(ort_take_tensor(provider, content->what, content->data, content->bytes, &held));
    (void)pthread_rwlock_rdlock(&held.provider->work);
    const gantry_status_t status = gantry_tensor_bytes(held.tensor) == content->bytes
                                       ? gantry_tensor_read(held.tensor, out, content->bytes)
                                       : read_held_part(content, &held, out);
    (void)pthread_rwlock_unlock(&held.provider->work);
    (void)atomic_fetch_add(&held.provider->bytes_to_host, content->bytes);
    ort_held_release(&held);
    return status == GANTRY_OK ? NULL : ort_fail_as(provider, status, gantry_last_message());
}

/* A tensor of another runtime goes through the host. */
static ort_status_t *bring_tensor(ort_provider_t *provider, gantry_scope_t *scope,
                                  const ort_content_t *content,
                                  const gantry_tensor_t **out_tensor) {
    void *data = malloc(content->bytes);
    if (!data) return ort_out_of_memory(provider);
    ort_status_t *failed = ort_read_held(provider, content, data);
    if (!failed) *out_tensor = constant_of_bytes(provider, scope, content, data);
    free(data);
    return failed;
}

static ort_status_t *tensor_of_held(ort_provider_t *provider, gantry_scope_t *scope,
                                    const ort_content_t *content,
                                    const gantry_tensor_t **out_tensor) {
    ort_held_t held;
    ORT_TRY(ort_take_tensor(provider, content->what, content->data, content->bytes, &held));
    const bool is_ours = held.provider->runtime == provider->runtime;
    if (is_ours) *out_tensor = view_held(scope, content, &held);
    ort_held_release(&held);
    return is_ours ? NULL : bring_tensor(provider, scope, content, out_tensor);
}

/* Memory of others has an address on CUDA; a cl_mem that is none would end the process. */
static ort_status_t *adopt_foreign(const ort_provider_t *provider, gantry_scope_t *scope,
                                   const gantry_logical_device_t *device,
                                   const ort_content_t *content,
                                   const gantry_tensor_t **out_tensor) {
    gantry_native_t native = {.struct_size = sizeof native};
    if (gantry_device_get_native(device, &native) != GANTRY_OK ||
        strcmp(native.backend, "cuda") != 0)
        return ort_fail(provider, ORT_INVALID_ARGUMENT,
                        "Gantry: InvalidArgument: %s %zu is in device memory that is not Gantry's; "
                        "accepted is memory of the host, memory that Gantry's provider allocated, "
                        "and on CUDA memory of the device's context",
                        content->what.kind, content->what.number);
    *out_tensor = gantry_tensor_from_device_memory(scope, device, content->dtype, content->shape,
                                                   content->data, 0, NULL);
    return NULL;
}

ort_status_t *ort_tensor_of_value(ort_provider_t *provider, gantry_scope_t *scope,
                                  const gantry_logical_device_t *device,
                                  const ort_content_t *content,
                                  const gantry_tensor_t **out_tensor) {
    *out_tensor = NULL;
    switch (content->place) {
        case ORT_HELD: return tensor_of_held(provider, scope, content, out_tensor);
        case ORT_FOREIGN: return adopt_foreign(provider, scope, device, content, out_tensor);
        default: *out_tensor = constant_of_bytes(provider, scope, content, content->data);
    }
    return NULL;
}

/* ---- the value of a tensor ---- */

ort_status_t *ort_store_tensor(ort_provider_t *provider, const ort_content_t *content,
                               const gantry_tensor_t *tensor, gantry_read_t **out_read) {
    gantry_status_t status;
    const size_t bytes = gantry_tensor_bytes(tensor);
    if (bytes != content->bytes) /* ONNX Runtime makes it of the type that it has inferred */
        return ort_fail(provider, ORT_RUNTIME_EXCEPTION,
                        "Gantry: %s %zu has %zu bytes of %s; ONNX Runtime has room for %zu",
                        content->what.kind, content->what.number, bytes,
                        gantry_dtype_name(gantry_tensor_dtype(tensor)), content->bytes);
    if (bytes == 0) return NULL;
    if (content->place == ORT_HELD)
        return ort_put_tensor(provider, content->what, content->data, tensor);
    if (content->place == ORT_FOREIGN)
        return ort_fail(
            provider, ORT_INVALID_ARGUMENT,
            "Gantry: InvalidArgument: %s %zu is to be written to device memory that is not "
            "Gantry's; accepted is memory of the host, and memory that Gantry's "
            "provider allocated",
            content->what.kind, content->what.number);
    (void)atomic_fetch_add(&provider->bytes_to_host, bytes);
    if (out_read)
        status = gantry_tensor_read_async(tensor, content->data, bytes, out_read);
    else
        status = gantry_tensor_read(tensor, content->data, bytes);
    return status == GANTRY_OK ? NULL : ort_fail_as(provider, status, gantry_last_message());
}
