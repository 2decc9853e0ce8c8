/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of OpenCL that the program shares: its context, queue, buffers and events come in, and
 * those of this backend go out.
 *
 * What comes in is retained while Gantry holds it, and released once. A driver checks a handle only
 * if it can: one that was released may be another object's by now. */
#include "opencl/opencl_backend.h"

#include <string.h>

#define MOST_CONTEXT_DEVICES 64
/* CL_MEM_USE_HOST_PTR memory begins where the program wants it: elements have up to 16 bytes, and
 * results begin at a cache line */
#define ELEMENT_BYTES 16u
#define RESULT_BYTES 64u

static int32_t interop_refuse_null(const gantry_host_t *host, const char *what) {
    return gantry__driver_fail(host, GANTRY_INVALID_ARGUMENT, 0,
                               "%s is NULL; one that the program made is accepted", what);
}

/* A handle that the driver does not know is the caller's fault, whatever the driver calls it. */
static int32_t check_handle(const gantry_host_t *host, cl_int native, const char *what,
                            const void *handle) {
    if (native == CL_SUCCESS) return GANTRY_OK;
    const int32_t code =
        gantry__driver_check(host, native, "%s %p: one that is valid is accepted", what, handle);
    return code == GANTRY_RESOURCE_EXHAUSTED ? code : GANTRY_INVALID_ARGUMENT;
}

/* ---- contexts ---- */

typedef struct context_devices_t {
    cl_device_id ids[MOST_CONTEXT_DEVICES];
    size_t count;
} context_devices_t;

static int32_t read_devices(const gantry_backend_instance_t *instance, cl_context context,
                            context_devices_t *out) {
    size_t bytes = 0;
    out->count = 0;
    GANTRY__TRY(check_handle(instance->host,
                             instance->cl.clGetContextInfo(context, CL_CONTEXT_DEVICES,
                                                           sizeof out->ids, out->ids, &bytes),
                             "the cl_context", context));
    out->count = bytes / sizeof out->ids[0];
    return GANTRY_OK;
}

static bool context_has(const context_devices_t *devices, cl_device_id device) {
    for (size_t i = 0; i < devices->count; ++i) {
        if (devices->ids[i] == device) return true;
    }
    return false;
}

static int32_t interop_context_find(struct gantry_backend_instance_t *instance,
                                    void *native_context, void *native_device,
                                    uint32_t *out_index) {
    const gantry_host_t *host = instance->host;
    context_devices_t devices;
    cl_device_id device = native_device;
    if (!native_context) return interop_refuse_null(host, "the cl_context");
    GANTRY__TRY(read_devices(instance, native_context, &devices));
    if (!device && devices.count != 1)
        return gantry__driver_fail(
            host, GANTRY_INVALID_ARGUMENT, 0,
            "the cl_context %p has %zu devices: device must name one of them", native_context,
            devices.count);
    if (!device) device = devices.ids[0];
    if (!context_has(&devices, device))
        return gantry__driver_fail(
            host, GANTRY_INVALID_ARGUMENT, 0,
            "the cl_device_id %p is not of the cl_context %p; one of its %zu devices is accepted",
            native_device, native_context, devices.count);
    for (uint32_t i = 0; i < instance->record_count; ++i) {
        if (instance->records[i]->device != device) continue;
        *out_index = i;
        return GANTRY_OK;
    }
    return gantry__driver_fail(
        host, GANTRY_INVALID_ARGUMENT, 0,
        "the cl_device_id %p is none of the %u devices that were found, as a sub-device is not; one of clGetDeviceIDs is accepted",
        (void *)device, instance->record_count);
}

static int32_t interop_device_adopt(struct gantry_backend_instance_t *instance, uint32_t index,
                                    void *native_context,
                                    struct gantry_backend_device_t **out_device) {
    context_devices_t devices;
    *out_device = NULL;
    if (!native_context) return interop_refuse_null(instance->host, "the cl_context");
    GANTRY__TRY(read_devices(instance, native_context, &devices));
    if (index < instance->record_count && !context_has(&devices, instance->records[index]->device))
        return gantry__driver_fail(instance->host, GANTRY_INVALID_ARGUMENT, 0,
                                   "the cl_context %p is not of \"%.200s\"", native_context,
                                   instance->records[index]->hardware_name);
    return gantry__opencl_device_open_over(instance, index, native_context, out_device);
}

/* ---- queues ---- */

static int32_t check_queue(const gantry_backend_device_t *device, cl_command_queue queue) {
    const gantry__opencl_symbols_t *cl = device->cl;
    cl_context context = NULL;
    cl_device_id owner = NULL;
    cl_command_queue_properties properties = 0;
    if (!queue) return interop_refuse_null(device->host, "the cl_command_queue");
    cl_int native =
        cl->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (native == CL_SUCCESS)
        native = cl->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof owner, &owner, NULL);
    if (native == CL_SUCCESS)
        native = cl->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties,
                                           &properties, NULL);
    GANTRY__TRY(check_handle(device->host, native, "the cl_command_queue", queue));
    const char *why = context != device->context        ? "it is of another context"
                      : owner != device->record->device ? "it is of another device"
                      : properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? "it is out of order"
                                                                            : NULL;
    if (!why) return GANTRY_OK;
    return gantry__driver_fail(
        device->host, GANTRY_INVALID_ARGUMENT, 0,
        "the cl_command_queue %p: %s; an in-order queue of the cl_context %p and of \"%.200s\" is accepted",
        (void *)queue, why, (void *)device->context, device->record->hardware_name);
}

static int32_t interop_stream_adopt(struct gantry_backend_device_t *device, void *native_queue,
                                    struct gantry_backend_stream_t **out_stream) {
    *out_stream = NULL;
    GANTRY__TRY(check_queue(device, native_queue));
    gantry_backend_stream_t *stream = gantry__driver_alloc(device->host, sizeof *stream);
    if (!stream) return GANTRY_RESOURCE_EXHAUSTED;
    stream->device = device;
    stream->queue = native_queue;
    stream->is_adopted = true;
    const int32_t status =
        gantry__driver_check(device->host, device->cl->clRetainCommandQueue(stream->queue),
                             "retaining the cl_command_queue %p", native_queue);
    if (status != GANTRY_OK) {
        gantry__host_free(device->host, stream, sizeof *stream);
        return status;
    }
    *out_stream = stream;
    return GANTRY_OK;
}

/* ---- memory ---- */

typedef struct memory_facts_t {
    cl_mem_object_type type;
    cl_context context;
    size_t bytes;
    cl_mem_flags flags;
    void *host_ptr;
} memory_facts_t;

static int32_t ask_memory(const gantry_backend_device_t *device, cl_mem memory,
                          memory_facts_t *out) {
    const struct {
        cl_mem_info what;
        size_t bytes;
        void *to;
    } questions[] = {{CL_MEM_TYPE, sizeof out->type, &out->type},
                     {CL_MEM_CONTEXT, sizeof out->context, &out->context},
                     {CL_MEM_SIZE, sizeof out->bytes, &out->bytes},
                     {CL_MEM_FLAGS, sizeof out->flags, &out->flags},
                     {CL_MEM_HOST_PTR, sizeof out->host_ptr, &out->host_ptr}};
    cl_int native = CL_SUCCESS;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0] && native == CL_SUCCESS; ++i)
        native = device->cl->clGetMemObjectInfo(memory, questions[i].what, questions[i].bytes,
                                                questions[i].to, NULL);
    return check_handle(device->host, native, "the cl_mem", memory);
}

/* Why the memory does not serve; NULL: it does. */
static const char *why_not(const gantry_backend_device_t *device, const memory_facts_t *facts,
                           uint64_t offset_bytes, bool writes) {
    const uintptr_t begin = facts->flags & CL_MEM_USE_HOST_PTR
                                ? (uintptr_t)facts->host_ptr + (uintptr_t)offset_bytes
                                : (uintptr_t)offset_bytes;
    if (facts->type != CL_MEM_OBJECT_BUFFER) return "it is an image; a buffer is accepted";
    if (facts->context != device->context)
        return "it is of another context; a buffer of the device's cl_context is accepted";
    if (facts->flags & CL_MEM_WRITE_ONLY)
        return "it is CL_MEM_WRITE_ONLY; a buffer that kernels may read is accepted";
    if (writes && facts->flags & CL_MEM_READ_ONLY)
        return "it is CL_MEM_READ_ONLY; is_writable demands a buffer that kernels may write";
    if (facts->flags & CL_MEM_USE_HOST_PTR && (uintptr_t)facts->host_ptr % ELEMENT_BYTES != 0)
        return "its CL_MEM_USE_HOST_PTR is no multiple of 16 bytes; a multiple is accepted";
    if (writes && begin % RESULT_BYTES != 0 && facts->flags & CL_MEM_USE_HOST_PTR)
        return "its first byte is not at a multiple of 64; is_writable demands a multiple";
    return NULL;
}

static int32_t interop_region_adopt(struct gantry_backend_device_t *device, void *native_memory,
                                    uint64_t offset_bytes, uint64_t size_bytes, int32_t writes,
                                    uint64_t *out_region, uint64_t *out_offset_bytes) {
    const gantry_host_t *host = device->host;
    memory_facts_t facts;
    *out_region = 0;
    *out_offset_bytes = offset_bytes;
    if (!native_memory) return interop_refuse_null(host, "the cl_mem");
    GANTRY__TRY(ask_memory(device, native_memory, &facts));
    const char *why = why_not(device, &facts, offset_bytes, writes != 0);
    if (why)
        return gantry__driver_fail(host, GANTRY_INVALID_ARGUMENT, 0, "the cl_mem %p: %s",
                                   native_memory, why);
    if (offset_bytes > facts.bytes || size_bytes > facts.bytes - offset_bytes)
        return gantry__driver_fail(
            host, GANTRY_INVALID_ARGUMENT, 0,
            "the cl_mem %p has %zu bytes; %llu bytes at offset %llu are beyond them: an offset and bytes whose sum is at most %zu are accepted",
            native_memory, facts.bytes, (unsigned long long)size_bytes,
            (unsigned long long)offset_bytes, facts.bytes);
    GANTRY__TRY(check_handle(host, device->cl->clRetainMemObject(native_memory), "the cl_mem",
                             native_memory));
    *out_region = gantry__opencl_region(native_memory);
    return GANTRY_OK;
}

static void interop_region_disown(struct gantry_backend_device_t *device, uint64_t region) {
    /* the program may release the buffer now, and its number may be another's */
    atomic_fetch_add(&device->released_regions, 1);
    device->cl->clReleaseMemObject(gantry__opencl_buffer(region));
}

/* ---- events ---- */

static int32_t interop_event_adopt(struct gantry_backend_device_t *device, void *native_event,
                                   struct gantry_backend_event_t **out_event) {
    const gantry__opencl_symbols_t *cl = device->cl;
    cl_context context = NULL;
    cl_command_queue queue = NULL;
    *out_event = NULL;
    if (!native_event) return interop_refuse_null(device->host, "the cl_event");
    cl_int native =
        cl->clGetEventInfo(native_event, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
    if (native == CL_SUCCESS)
        native = cl->clGetEventInfo(native_event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue,
                                    NULL); /* NULL of a user event */
    GANTRY__TRY(check_handle(device->host, native, "the cl_event", native_event));
    if (context != device->context)
        return gantry__driver_fail(
            device->host, GANTRY_INVALID_ARGUMENT, 0,
            "the cl_event %p is of another context; one of the cl_context %p is accepted",
            native_event, (void *)device->context);
    return gantry__opencl_event_over(device, native_event, queue, out_event);
}

static int32_t interop_native_event(struct gantry_backend_stream_t *stream,
                                    void **out_native_event) {
    const gantry__opencl_symbols_t *cl = stream->device->cl;
    cl_event event = NULL;
    *out_native_event = NULL;
    cl_int native = cl->clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &event);
    if (native == CL_SUCCESS) native = cl->clFlush(stream->queue);
    if (native != CL_SUCCESS) {
        if (event) cl->clReleaseEvent(event);
        return gantry__driver_check(stream->device->host, native,
                                    "recording an event on \"%.200s\"",
                                    stream->device->record->hardware_name);
    }
    *out_native_event = event;
    return GANTRY_OK;
}

/* ---- what goes out ---- */

static void *interop_native_context(struct gantry_backend_device_t *device) {
    return device->context;
}

static void *interop_native_device(struct gantry_backend_device_t *device) {
    return device->record->device;
}

static void *interop_native_queue(struct gantry_backend_stream_t *stream) { return stream->queue; }

static void *interop_native_memory(struct gantry_backend_device_t *device, uint64_t region) {
    (void)device;
    return gantry__opencl_buffer(region);
}

const gantry_interop_ops_t gantry__opencl_interop_ops = {
    .struct_size = sizeof gantry__opencl_interop_ops,
    .context_find = interop_context_find,
    .device_adopt = interop_device_adopt,
    .stream_adopt = interop_stream_adopt,
    .region_adopt = interop_region_adopt,
    .region_disown = interop_region_disown,
    .event_adopt = interop_event_adopt,
    .native_context = interop_native_context,
    .native_device = interop_native_device,
    .native_queue = interop_native_queue,
    .native_memory = interop_native_memory,
    .native_event = interop_native_event,
};
