/* SPDX-License-Identifier: Apache-2.0 */
/* A small complete backend: one device in host memory that adds float32 numbers.
 * docs/write_a_backend.md walks through it.
 *
 * Work is done when a slot returns, so streams and events have nothing to remember. Owner: the core
 * owns every object made here. Threads: gantry/backend_abi.h states the rule for each slot. */
#include <gantry/backend_abi.h>
#include <gantry/status.h>
#include <gantry/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

struct gantry_backend_instance_t {
    const gantry_host_t *host;
};
struct gantry_backend_device_t {
    const gantry_host_t *host;
};
struct gantry_backend_stream_t {
    const gantry_host_t *host;
};
struct gantry_backend_event_t {
    const gantry_host_t *host;
};

/* Allocates host memory through the host's services, and reports a failure through them. */
static void *take(const gantry_host_t *host, size_t bytes) {
    void *object = host->reallocate(host->self, NULL, 0, bytes);
    if (!object)
        host->set_error(host->self, GANTRY_RESOURCE_EXHAUSTED, "small", 0,
                        "no host memory for an object of the backend small");
    return object;
}

/* ---- instance and devices ---- */

static int32_t open_instance(const gantry_host_t *host, gantry_backend_instance_t **out_instance) {
    *out_instance = take(host, sizeof **out_instance);
    if (!*out_instance) return GANTRY_RESOURCE_EXHAUSTED;
    (*out_instance)->host = host;
    return GANTRY_OK;
}

static void close_instance(gantry_backend_instance_t *instance) {
    instance->host->reallocate(instance->host->self, instance, sizeof *instance, 0);
}

static uint32_t device_count(gantry_backend_instance_t *instance) {
    (void)instance;
    return 1;
}

static int32_t device_info(gantry_backend_instance_t *instance, uint32_t index,
                           gantry_device_info_t *out_info) {
    (void)instance;
    (void)index; /* below device_count */
    gantry_device_info_t info = {
        .struct_size = out_info->struct_size,
        .type = GANTRY_DEVICE_TYPE_GPU,
        .flags =
            GANTRY_DEVICE_HOST_BACKED | GANTRY_DEVICE_HOST_ADDRESSABLE | GANTRY_DEVICE_SYNCHRONOUS,
        .compute_units = 1,
        .hardware_name = "Small",
        .vendor = "Example",
        .driver_version = "1.0",
        .platform_name = "Small",
        .platform_version = "",
        .pci_address = "",
        .uuid = "",
        .compute_capability = "",
        .build_hash = "1",
        .total_bytes = UINT64_C(256) << 20,
        .base_alignment_bytes = ALIGNMENT,
        .dtype_mask = UINT64_C(1) << GANTRY_FLOAT32,
        .native_vector_width = 1,
        .no_programs = "",
    };
    memcpy(out_info, &info,
           out_info->struct_size < sizeof info ? out_info->struct_size : sizeof info);
    return GANTRY_OK;
}

static int32_t device_open(gantry_backend_instance_t *instance, uint32_t index,
                           gantry_backend_device_t **out_device) {
    (void)index;
    *out_device = take(instance->host, sizeof **out_device);
    if (!*out_device) return GANTRY_RESOURCE_EXHAUSTED;
    (*out_device)->host = instance->host;
    return GANTRY_OK;
}

static void device_close(gantry_backend_device_t *device) {
    device->host->reallocate(device->host->self, device, sizeof *device, 0);
}

/* ---- memory ---- */

static int32_t region_alloc(gantry_backend_device_t *device, uint64_t size_bytes,
                            gantry_region_t *out_region) {
    uint64_t whole_bytes = (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *out_region = (gantry_region_t)(uintptr_t)aligned_alloc(ALIGNMENT, (size_t)whole_bytes);
    if (*out_region != 0) return GANTRY_OK;
    char text[96];
    (void)snprintf(text, sizeof text, "taking %llu bytes: malloc has no more",
                   (unsigned long long)size_bytes);
    return device->host->set_error(device->host->self, GANTRY_RESOURCE_EXHAUSTED, "small", 0, text);
}

static void region_free(gantry_backend_device_t *device, gantry_region_t region,
                        uint64_t size_bytes) {
    (void)device;
    (void)size_bytes;
    free((void *)(uintptr_t)region);
}

static const gantry_memory_ops_t memory = {
    .struct_size = sizeof memory, .region_alloc = region_alloc, .region_free = region_free};

/* ---- streams and events: all work before them is done ---- */

static int32_t stream_create(gantry_backend_device_t *device, int32_t purpose,
                             gantry_backend_stream_t **out_stream) {
    (void)purpose;
    *out_stream = take(device->host, sizeof **out_stream);
    if (!*out_stream) return GANTRY_RESOURCE_EXHAUSTED;
    (*out_stream)->host = device->host;
    return GANTRY_OK;
}

static void stream_destroy(gantry_backend_stream_t *stream) {
    stream->host->reallocate(stream->host->self, stream, sizeof *stream, 0);
}

static int32_t stream_synchronize(gantry_backend_stream_t *stream) {
    (void)stream;
    return GANTRY_OK;
}

static int32_t stream_wait_event(gantry_backend_stream_t *stream, gantry_backend_event_t *event) {
    (void)stream;
    (void)event;
    return GANTRY_OK;
}

static const gantry_stream_ops_t streams = {.struct_size = sizeof streams,
                                            .create = stream_create,
                                            .destroy = stream_destroy,
                                            .synchronize = stream_synchronize,
                                            .wait_event = stream_wait_event};

static int32_t event_create(gantry_backend_device_t *device, gantry_backend_event_t **out_event) {
    *out_event = take(device->host, sizeof **out_event);
    if (!*out_event) return GANTRY_RESOURCE_EXHAUSTED;
    (*out_event)->host = device->host;
    return GANTRY_OK;
}

static void event_destroy(gantry_backend_event_t *event) {
    event->host->reallocate(event->host->self, event, sizeof *event, 0);
}

static int32_t event_record(gantry_backend_event_t *event, gantry_backend_stream_t *stream) {
    (void)event;
    (void)stream;
    return GANTRY_OK;
}

static int32_t event_query(gantry_backend_event_t *event, int32_t *out_done) {
    (void)event;
    *out_done = 1;
    return GANTRY_OK;
}

static int32_t event_synchronize(gantry_backend_event_t *event) {
    (void)event;
    return GANTRY_OK;
}

static const gantry_event_ops_t events = {.struct_size = sizeof events,
                                          .create = event_create,
                                          .destroy = event_destroy,
                                          .record = event_record,
                                          .query = event_query,
                                          .synchronize = event_synchronize};

/* ---- transfers ---- */

static char *address(const gantry_span_t *span) {
    return (char *)(uintptr_t)(span->region + span->offset_bytes);
}

static int32_t to_device(gantry_backend_stream_t *stream, const gantry_span_t *target,
                         const void *source) {
    (void)stream;
    memcpy(address(target), source, (size_t)target->size_bytes);
    return GANTRY_OK;
}

static int32_t to_host(gantry_backend_stream_t *stream, void *target, const gantry_span_t *source) {
    (void)stream;
    memcpy(target, address(source), (size_t)source->size_bytes);
    return GANTRY_OK;
}

static int32_t copy(gantry_backend_stream_t *stream, const gantry_span_t *target,
                    const gantry_span_t *source) {
    return to_device(stream, target, address(source));
}

static int32_t fill(gantry_backend_stream_t *stream, const gantry_span_t *target,
                    const void *pattern, uint32_t pattern_bytes) {
    (void)stream;
    for (uint64_t at = 0; at < target->size_bytes; at += pattern_bytes)
        memcpy(address(target) + at, pattern, pattern_bytes);
    return GANTRY_OK;
}

static const gantry_transfer_ops_t transfers = {.struct_size = sizeof transfers,
                                                .to_device = to_device,
                                                .to_host = to_host,
                                                .copy = copy,
                                                .fill = fill};

/* ---- a kernel ---- */

/* Other kernels handle broadcasting. */
static int32_t add_supports(const gantry_op_call_t *call) {
    int64_t count = call->outputs[0]->element_count;
    return call->inputs[0]->element_count == count && call->inputs[1]->element_count == count;
}

static int32_t add_compute(gantry_op_call_t *call) {
    const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    float *out = call->outputs[0]->data;
    for (int64_t i = 0; i < call->outputs[0]->element_count; ++i) out[i] = a[i] + b[i];
    return GANTRY_OK;
}

static const gantry_type_constraint_t float32_only = {"T", UINT64_C(1) << GANTRY_FLOAT32};
static const gantry_kernel_def_t add = {.struct_size = sizeof add,
                                        .op = "Add",
                                        .types = &float32_only,
                                        .type_count = 1,
                                        .flags = GANTRY_KERNEL_IN_PLACE,
                                        .supports = add_supports,
                                        .compute = add_compute};

static uint32_t list_kernels(gantry_backend_instance_t *instance, uint32_t index,
                             const gantry_kernel_def_t *const **out_kernels) {
    static const gantry_kernel_def_t *const kernels[] = {&add};
    (void)instance;
    (void)index;
    *out_kernels = kernels;
    return sizeof kernels / sizeof kernels[0];
}

/* ---- the module ---- */

static const gantry_backend_t table = {.struct_size = sizeof table,
                                       .abi_version = 1,
                                       .name = "small",
                                       .description = "One device in host memory",
                                       .rank = 1,
                                       .open = open_instance,
                                       .close = close_instance,
                                       .device_count = device_count,
                                       .device_info = device_info,
                                       .device_open = device_open,
                                       .device_close = device_close,
                                       .kernels = list_kernels,
                                       .memory = &memory,
                                       .stream = &streams,
                                       .event = &events,
                                       .transfer = &transfers};

GANTRY_BACKEND_EXPORT int32_t gantry_backend_query(uint32_t max_abi,
                                                   const gantry_backend_t **out_backend);
int32_t gantry_backend_query(uint32_t max_abi, const gantry_backend_t **out_backend) {
    *out_backend = max_abi < table.abi_version ? NULL : &table;
    return *out_backend ? GANTRY_OK : GANTRY_FAILED_PRECONDITION;
}
