/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack's structs of device memory. data is a cl_mem or a CUdeviceptr, and byte_offset counts from
 * there. device_id is N of GPU:N for OpenCL, whose devices have no numbers of their own, and the
 * driver's number of the card for CUDA. */
#include <stdio.h>
#include <string.h>

#include "api/dlpack.h"
#include "backend/backend_check.h"
#include "device/device_open.h"
#include "device/sharing_queue.h"
#include "run/scope_state.h"

#define CUDA_PER_THREAD_STREAM ((void *)2)

bool gantry__dlpack_is_queue(const void *stream) {
    return stream && stream != GANTRY_DLPACK_NO_STREAM;
}

/* ---- devices ---- */

/* The backend of a type of device memory; NULL: of other memory. */
static const char *backend_of(int32_t type) {
#define DLPACK_BACKEND(number, name) \
    if (type == (number)) return name;
#include "api/dlpack_backend.def"
#undef DLPACK_BACKEND
    return NULL;
}

bool gantry__dlpack_is_device(const gantry__dl_tensor_t *tensor) {
    return backend_of(tensor->device_type) != NULL;
}

/* CUDA's number of a device that is open. */
static int32_t card_number(const gantry_logical_device_t *device) {
    const gantry_interop_ops_t *ops = gantry__backend_interop(device->backend);
    return (int32_t)(intptr_t)ops->native_device(device->handle);
}

static bool dlpack_is_of(const gantry_logical_device_t *device, int32_t type) {
    return strcmp(device->backend->name, backend_of(type)) == 0;
}

/* Devices of that type: "GPU:0, GPU:1", or "none". */
static void dlpack_list_devices(const gantry__device_table_t *table, int32_t type, char *out,
                                size_t out_bytes) {
    size_t used = 0;
    (void)snprintf(out, out_bytes, "none");
    for (size_t i = 0; i < table->listed_count && used < out_bytes; ++i) {
        if (!dlpack_is_of(table->logical[i], type)) continue;
        const int length = snprintf(out + used, out_bytes - used, "%s%s", used ? ", " : "",
                                    table->logical[i]->name);
        used += length > 0 ? (size_t)length : 0;
    }
}

static gantry_status_t refuse_id(const gantry__device_table_t *table,
                                 const gantry__dl_taken_t *taken) {
    const gantry__dl_tensor_t *tensor = taken->tensor;
    char devices[256];
    dlpack_list_devices(table, tensor->device_type, devices, sizeof devices);
    return gantry__refuse(
        "%s: device %d of %s is none of this runtime's; of this backend it has: %s", taken->call,
        (int)tensor->device_id, backend_of(tensor->device_type), devices);
}

static bool has_id(const gantry_logical_device_t *device, const gantry__dl_tensor_t *tensor) {
    const int64_t number = tensor->device_type == GANTRY__DL_OPENCL
                               ? device->index
                               : (int64_t)gantry__logical_view(device)->backend_index;
    return dlpack_is_of(device, tensor->device_type) && number == tensor->device_id;
}

static gantry_status_t find_by_id(const gantry__device_table_t *table,
                                  const gantry__dl_taken_t *taken,
                                  gantry_logical_device_t **out_device) {
    for (size_t i = 0; i < table->listed_count; ++i) {
        gantry_logical_device_t *device = table->logical[i];
        if (!has_id(device, taken->tensor)) continue;
        GANTRY__TRY(gantry__logical_device_open(device));
        if (taken->tensor->device_type == GANTRY__DL_CUDA &&
            card_number(device) != taken->tensor->device_id)
            break; /* the backend leaves a card out: numbers differ */
        *out_device = device;
        return GANTRY_OK;
    }
    return refuse_id(table, taken);
}

static gantry_status_t dlpack_find_device(gantry_scope_t *scope, const gantry__dl_taken_t *taken,
                                          const gantry_logical_device_t *wanted,
                                          gantry_logical_device_t **out_device) {
    const gantry__device_table_t *table = &scope->runtime->devices;
    GANTRY__TRY(gantry__runtime_initialize(scope->runtime, "Const"));
    if (!wanted) return find_by_id(table, taken, out_device);
    if (wanted->table != table)
        return gantry__refuse("%s: device is of another runtime; one of the scope's is accepted",
                              taken->call);
    if (!dlpack_is_of(wanted, taken->tensor->device_type))
        return gantry__refuse("%s: device %s is of the backend %s; one of %s is accepted",
                              taken->call, wanted->name, wanted->backend->name,
                              backend_of(taken->tensor->device_type));
    *out_device = table->logical[wanted->position];
    return gantry__logical_device_open(*out_device);
}

/* ---- taking ---- */

typedef struct take_t {
    gantry_scope_t *scope;
    const gantry__dl_taken_t *taken;
    gantry_logical_device_t *device;
    gantry__memory_t memory;
    gantry__dl_extent_t extent;
    gantry__from_device_t from;
} take_t;

/* The places of the elements in all that the strides reach. */
static void fill_places(const take_t *take, int64_t *places) {
    const gantry_shape_t *shape = &take->memory.shape;
    const int64_t *strides = take->taken->tensor->strides;
    const int64_t size = (int64_t)gantry_dtype_size(take->memory.dtype);
    int64_t index[GANTRY_MAX_RANK] = {0}, place = (int64_t)take->extent.before / size;
    for (int64_t i = gantry_shape_elements(shape); i > 0; --i) {
        *places++ = place;
        for (int32_t dim = shape->rank; dim-- > 0;) {
            if (shape->dims[dim] == 1) continue; /* its stride may be any number */
            place += strides[dim];
            if (++index[dim] < shape->dims[dim]) break;
            place -= strides[dim] * shape->dims[dim];
            index[dim] = 0;
        }
    }
}

static gantry_status_t make_places(const take_t *take, gantry_tensor_t **out_places) {
    const gantry__heap_t *heap = &take->scope->runtime->heap;
    const size_t bytes = (size_t)gantry_shape_elements(&take->memory.shape) * sizeof(int64_t);
    int64_t *places = gantry__heap_alloc(heap, bytes);
    if (!places) return GANTRY_RESOURCE_EXHAUSTED;
    fill_places(take, places);
    gantry_status_t status = gantry__tensor_from_host_for(take->scope, take->device, GANTRY_INT64,
                                                          &take->memory.shape, places, out_places);
    gantry__heap_free(heap, places, bytes);
    return status;
}

static gantry_status_t gather_places(const take_t *take, const gantry_tensor_t *whole,
                                     const gantry_tensor_t *places, gantry_tensor_t **out_tensor) {
    gantry_scope_t *scope = take->scope;
    (void)gantry_device_begin(scope, take->device->full_name);
    *out_tensor = (gantry_tensor_t *)gantry_gather(scope, whole, places, 0);
    return gantry_device_end(scope);
}

/* Adopts all that the strides reach, and gathers the elements on the device. */
static gantry_status_t take_strided_device(take_t *take, gantry_tensor_t **out_tensor) {
    const uint64_t bytes = take->extent.before + take->extent.after;
    const gantry_shape_t flat = {
        .rank = 1, .dims = {(int64_t)(bytes / gantry_dtype_size(take->memory.dtype))}};
    gantry_tensor_t *whole, *places = NULL;
    if (take->memory.options.requires_no_copy)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: requires_no_copy: the strides are not those of row-major order, which is accepted",
            take->taken->call);
    gantry_status_t status = make_places(take, &places);
    if (status != GANTRY_OK) return status;
    take->from.shape = &flat;
    status = gantry__from_device(take->scope, &take->from, &whole);
    if (status == GANTRY_OK) {
        status = gather_places(take, whole, places, out_tensor);
        if (status != GANTRY_OK) {
            whole->buffer->foreign.release = NULL; /* the memory is the caller's */
            (void)gantry__stream_synchronize(&take->device->streams[GANTRY_STREAM_COMPUTE]);
        }
        gantry_tensor_release(whole);
    }
    gantry_tensor_release(places);
    return status;
}

static gantry_status_t take_in_place(take_t *take, gantry_tensor_t **out_tensor) {
    GANTRY__TRY(gantry__from_device(take->scope, &take->from, out_tensor));
    gantry__scope_adopt(take->scope, *out_tensor);
    return GANTRY_OK;
}

static gantry_status_t dlpack_take_empty(const take_t *take, gantry_tensor_t **out_tensor) {
    const gantry__allocation_t purpose = {.owner = "Const", .tag = take->scope->tag};
    if (take->memory.options.requires_no_copy)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: requires_no_copy: the tensor has no elements; one element and more is accepted",
            take->taken->call);
    GANTRY__TRY(gantry__tensor_create_for(take->scope, take->device, take->memory.dtype,
                                          &take->memory.shape, &purpose, out_tensor));
    gantry__scope_adopt(take->scope, *out_tensor);
    gantry__dlpack_release(take->from.options.user);
    return GANTRY_OK;
}

/* The begin of all that the strides reach: an offset of a cl_mem, or an address. */
static gantry__shared_memory_t dlpack_place(const take_t *take, void *stream) {
    const gantry__dl_tensor_t *tensor = take->taken->tensor;
    const bool is_handle = tensor->device_type == GANTRY__DL_OPENCL;
    return (gantry__shared_memory_t){
        .native = is_handle
                      ? tensor->data
                      : (void *)((uintptr_t)take->memory.data - (uintptr_t)take->extent.before),
        .offset_bytes = is_handle ? tensor->byte_offset - take->extent.before : 0,
        .ready_queue = gantry__dlpack_is_queue(stream) ? stream : NULL};
}

static gantry_status_t take_held(take_t *take, void *stream, gantry__dl_held_t *held,
                                 gantry_tensor_t **out_tensor) {
    take->from =
        (gantry__from_device_t){.call = take->taken->call,
                                .device = take->device,
                                .dtype = take->memory.dtype,
                                .shape = &take->memory.shape,
                                .memory = dlpack_place(take, stream),
                                .options = {.struct_size = sizeof take->from.options,
                                            .is_writable = gantry__dlpack_is_writable(take->taken),
                                            .release = gantry__dlpack_release,
                                            .user = held}};
    if (take->memory.bytes == 0) return dlpack_take_empty(take, out_tensor);
    return gantry__dlpack_is_row_major(&take->memory.shape, take->taken->tensor->strides)
               ? take_in_place(take, out_tensor)
               : take_strided_device(take, out_tensor);
}

gantry_status_t gantry__dlpack_take_device(gantry_scope_t *scope, const gantry__dl_taken_t *taken,
                                           const gantry_from_dlpack_options_t *options,
                                           gantry_tensor_t **out_tensor) {
    take_t take = {.scope = scope,
                   .taken = taken,
                   .memory = {.options = {.requires_no_copy = options->requires_no_copy}}};
    gantry__dl_held_t *held;
    if (scope->trace)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: the body of a function is traced; device memory is accepted as an input of the function",
            taken->call);
    GANTRY__TRY(gantry__dlpack_read(taken, &take.memory, &take.extent));
    GANTRY__TRY(dlpack_find_device(scope, taken, options->device, &take.device));
    GANTRY__TRY(gantry__dlpack_hold(scope->runtime, taken, &held));
    gantry_status_t status = take_held(&take, options->stream, held, out_tensor);
    if (status != GANTRY_OK) gantry__dlpack_unhold(held);
    return status;
}

/* ---- giving ---- */

gantry_status_t gantry__dlpack_describe_device(const gantry_tensor_t *tensor,
                                               gantry__dl_tensor_t *out) {
    const bool is_opencl = dlpack_is_of(tensor->device, GANTRY__DL_OPENCL);
    gantry_device_memory_t memory = {.struct_size = sizeof memory};
    GANTRY__TRY(gantry_tensor_get_device_memory(tensor, &memory));
    out->device_type = is_opencl ? GANTRY__DL_OPENCL : GANTRY__DL_CUDA;
    out->device_id = is_opencl ? tensor->device->index : card_number(tensor->device);
    out->data = is_opencl || !memory.memory ? memory.memory
                                            : (unsigned char *)memory.memory + memory.offset_bytes;
    out->byte_offset = is_opencl ? memory.offset_bytes : 0;
    return GANTRY_OK;
}

gantry_status_t gantry__dlpack_order(const gantry_tensor_t *tensor, void *stream,
                                     gantry_backend_stream_t **out_queue) {
    const bool is_each_threads =
        stream == CUDA_PER_THREAD_STREAM && dlpack_is_of(tensor->device, GANTRY__DL_CUDA);
    *out_queue = NULL;
    if (stream == GANTRY_DLPACK_NO_STREAM) return GANTRY_OK;
    if (!stream || is_each_threads) return gantry_tensor_wait(tensor);
    return gantry__queue_lead(tensor->device, stream, tensor->ready, out_queue);
}
