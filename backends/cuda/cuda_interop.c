/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing with the program: a device over its context, its streams, memory and events for us, and
 * ours for it.
 *
 * The driver counts no references of contexts, streams and events, so what is the program's is only
 * used, and the program keeps it. An event that comes in is the exception, because the program may
 * record it again or destroy it at any time: its present record is taken over by an event of ours.
 *
 *     the program's event <- waits - the relay, a stream of ours <- is recorded on - our event
 *
 * The relay is in order: our event may pass later than the record that it stands for, if an event
 * that came in before is still pending, and never earlier.
 *
 * A region is the driver's whole range around an address, because kernels rely on the alignment of
 * a region's first byte; the address becomes an offset in it. */
#include "cuda/cuda_backend.h"

/* Handles that are no pointers; each context, or each thread, has a stream of its own for them. */
#define LEGACY_STREAM ((uintptr_t)1)
#define PER_THREAD_STREAM ((uintptr_t)2)

/* ---- contexts ---- */

/* Reads of which card a context is. */
static int32_t find_card(const gantry_backend_instance_t *instance, void *native_context,
                         gantry__cu_device_t *out_card) {
    const gantry__cuda_symbols_t *cu = &instance->cu;
    gantry__cu_result_t native = cu->cuCtxPushCurrent_v2((gantry__cu_context_t)native_context);
    if (native == GANTRY__CU_SUCCESS) {
        gantry__cu_context_t popped = NULL;
        native = cu->cuCtxGetDevice(out_card);
        cu->cuCtxPopCurrent_v2(&popped);
    }
    if (native != GANTRY__CU_INVALID_CONTEXT && native != GANTRY__CU_CONTEXT_IS_DESTROYED)
        return gantry__driver_check(instance->host, native, "asking context %p for its device",
                                    native_context);
    return gantry__driver_fail(
        instance->host, GANTRY_INVALID_ARGUMENT, native,
        "context %p: the driver does not know it: %s (%u); a CUcontext that was not destroyed is accepted",
        native_context, gantry__driver_error_name(native), native);
}

static int32_t cuda_context_find(gantry_backend_instance_t *instance, void *native_context,
                                 void *native_device, uint32_t *out_index) {
    gantry__cu_device_t card = 0;
    (void)native_device; /* a context is of one card */
    if (!native_context)
        return gantry__driver_fail(instance->host, GANTRY_INVALID_ARGUMENT, 0,
                                   "context NULL: a CUcontext is accepted");
    GANTRY__TRY(find_card(instance, native_context, &card));
    for (uint32_t i = 0; i < instance->record_count; ++i) {
        if (instance->records[i].device != card) continue;
        *out_index = i;
        return GANTRY_OK;
    }
    return gantry__driver_fail(
        instance->host, GANTRY_INVALID_ARGUMENT, 0,
        "context %p is of the CUDA device %d, which is left out: a context of one of the %u devices in use is accepted",
        native_context, card, instance->record_count);
}

static int32_t cuda_device_adopt(gantry_backend_instance_t *instance, uint32_t index,
                                 void *native_context, gantry_backend_device_t **out_device) {
    uint32_t found = 0;
    *out_device = NULL;
    GANTRY__TRY(cuda_context_find(instance, native_context, NULL, &found));
    if (found != index)
        return gantry__driver_fail(instance->host, GANTRY_INVALID_ARGUMENT, 0,
                                   "context %p is of device %u, not of device %u", native_context,
                                   found, index);
    return gantry__cuda_device_open_over(instance, index, (gantry__cu_context_t)native_context,
                                         out_device);
}

/* ---- streams ---- */

static int32_t refuse_stream(const gantry_backend_device_t *device, int32_t code, void *queue,
                             const char *why) {
    return gantry__driver_fail(
        device->host, code, 0,
        "stream %p %s: a stream of the adopted context %p (\"%.200s\") is accepted, or CU_STREAM_LEGACY",
        queue, why, (void *)device->context, device->record->hardware_name);
}

typedef struct stream_facts_t {
    gantry__cu_context_t context;
    unsigned int state;
} stream_facts_t;

/* A special handle is of the context that is current. */
static gantry__cu_result_t read_stream(const gantry_backend_device_t *device,
                                       gantry__cu_stream_t handle, stream_facts_t *out_facts) {
    const gantry__cuda_symbols_t *cu = device->cu;
    gantry__cu_result_t native = cu->cuStreamGetCtx(handle, &out_facts->context);
    return native == GANTRY__CU_SUCCESS && out_facts->context == device->context
               ? cu->cuStreamIsCapturing(handle, &out_facts->state)
               : native;
}

static int32_t check_stream(gantry_backend_device_t *device, void *native_queue) {
    if (!native_queue)
        return refuse_stream(device, GANTRY_INVALID_ARGUMENT, native_queue,
                             "is a stream of each context");
    if ((uintptr_t)native_queue == PER_THREAD_STREAM)
        return refuse_stream(device, GANTRY_INVALID_ARGUMENT, native_queue,
                             "(CU_STREAM_PER_THREAD) is another stream in each thread");
    stream_facts_t facts = {.state = GANTRY__CU_CAPTURE_NONE};
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native,
                      read_stream(device, (gantry__cu_stream_t)native_queue, &facts));
    if (native == GANTRY__CU_INVALID_HANDLE || native == GANTRY__CU_INVALID_CONTEXT)
        return refuse_stream(device, GANTRY_INVALID_ARGUMENT, native_queue,
                             "is unknown to the driver");
    GANTRY__TRY(gantry__driver_check(device->host, native, "asking stream %p of \"%.200s\"",
                                     native_queue, device->record->hardware_name));
    if (facts.context != device->context)
        return refuse_stream(device, GANTRY_INVALID_ARGUMENT, native_queue,
                             "is of another context");
    if (facts.state != GANTRY__CU_CAPTURE_NONE)
        return refuse_stream(device, GANTRY_FAILED_PRECONDITION, native_queue,
                             "is being captured by the program");
    return GANTRY_OK;
}

static int32_t cuda_stream_adopt(gantry_backend_device_t *device, void *native_queue,
                                 gantry_backend_stream_t **out_stream) {
    *out_stream = NULL;
    GANTRY__TRY(check_stream(device, native_queue));
    gantry_backend_stream_t *stream = gantry__driver_alloc(device->host, sizeof *stream);
    if (!stream) return GANTRY_RESOURCE_EXHAUSTED;
    stream->device = device;
    stream->handle = (gantry__cu_stream_t)native_queue;
    stream->is_adopted = true;
    *out_stream = stream;
    return GANTRY_OK;
}

/* Work in a capture of the program would run with each launch of its graph, when Gantry has long
 * given the memory to others. */
int32_t gantry__cuda_stream_refuse_capture(const gantry_backend_stream_t *stream) {
    const gantry_backend_device_t *device = stream->device;
    unsigned int state = GANTRY__CU_CAPTURE_NONE;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, device->cu->cuStreamIsCapturing(stream->handle, &state));
    if (native == GANTRY__CU_SUCCESS && state != GANTRY__CU_CAPTURE_NONE)
        return refuse_stream(device, GANTRY_FAILED_PRECONDITION, (void *)stream->handle,
                             "is being captured by the program");
    return gantry__driver_check(device->host, native, "asking stream %p of \"%.200s\"",
                                (void *)stream->handle, device->record->hardware_name);
}

/* ---- memory ---- */

typedef struct pointer_facts_t {
    gantry__cu_context_t context; /* NULL: of a memory pool or a mapping, which have none */
    gantry__cu_address_t start;
    size_t size;
    unsigned int type, is_managed;
    int card;
} pointer_facts_t;

static gantry__cu_result_t read_pointer(const gantry__cuda_symbols_t *cu,
                                        gantry__cu_address_t address, pointer_facts_t *out_facts) {
    unsigned int attributes[] = {GANTRY__CU_POINTER_CONTEXT,     GANTRY__CU_POINTER_MEMORY_TYPE,
                                 GANTRY__CU_POINTER_IS_MANAGED,  GANTRY__CU_POINTER_DEVICE_ORDINAL,
                                 GANTRY__CU_POINTER_RANGE_START, GANTRY__CU_POINTER_RANGE_SIZE};
    void *values[] = {&out_facts->context, &out_facts->type,  &out_facts->is_managed,
                      &out_facts->card,    &out_facts->start, &out_facts->size};
    *out_facts = (pointer_facts_t){.card = -1};
    return cu->cuPointerGetAttributes(sizeof attributes / sizeof attributes[0], attributes, values,
                                      address);
}

static int32_t refuse_memory(const gantry_backend_device_t *device, gantry__cu_address_t address,
                             const char *what) {
    return gantry__driver_fail(
        device->host, GANTRY_INVALID_ARGUMENT, 0,
        "memory %#llx is %s: device memory of context %p or of a pool of \"%.200s\" is accepted",
        address, what, (void *)device->context, device->record->hardware_name);
}

static int32_t check_memory_place(const gantry_backend_device_t *device,
                                  gantry__cu_address_t address, const pointer_facts_t *facts) {
    if (facts->is_managed) return refuse_memory(device, address, "managed memory");
    if (facts->type == GANTRY__CU_MEMORY_HOST)
        return refuse_memory(device, address, "pinned memory of the host");
    if (facts->type != GANTRY__CU_MEMORY_DEVICE)
        return refuse_memory(device, address, "no memory that the driver knows");
    if (facts->card != device->record->device)
        return refuse_memory(device, address, "memory of another device");
    if (facts->context && facts->context != device->context)
        return refuse_memory(device, address, "memory of another context");
    return GANTRY_OK;
}

static int32_t check_memory_range(const gantry_backend_device_t *device,
                                  gantry__cu_address_t address, uint64_t offset_bytes,
                                  uint64_t size_bytes, const pointer_facts_t *facts) {
    const uint64_t before = address - facts->start;
    const uint64_t there = before <= facts->size ? facts->size - before : 0;
    if (offset_bytes <= there && size_bytes <= there - offset_bytes) return GANTRY_OK;
    return gantry__driver_fail(
        device->host, GANTRY_INVALID_ARGUMENT, 0,
        "memory %#llx of \"%.200s\" is too small: %llu bytes at offset %llu are needed, and it has %llu bytes",
        address, device->record->hardware_name, (unsigned long long)size_bytes,
        (unsigned long long)offset_bytes, (unsigned long long)there);
}

static int32_t cuda_region_adopt(gantry_backend_device_t *device, void *native_memory,
                                 uint64_t offset_bytes, uint64_t size_bytes, int32_t writes,
                                 uint64_t *out_region, uint64_t *out_offset_bytes) {
    const gantry__cu_address_t address = (gantry__cu_address_t)(uintptr_t)native_memory;
    pointer_facts_t facts;
    gantry__cu_result_t native;
    (void)writes; /* the driver knows no memory that is only read, but for mappings */
    *out_region = *out_offset_bytes = 0;
    GANTRY__CUDA_CALL(device, native, read_pointer(device->cu, address, &facts));
    GANTRY__TRY(gantry__driver_check(device->host, native, "asking for memory %#llx on \"%.200s\"",
                                     address, device->record->hardware_name));
    GANTRY__TRY(check_memory_place(device, address, &facts));
    GANTRY__TRY(check_memory_range(device, address, offset_bytes, size_bytes, &facts));
    *out_region = facts.start;
    *out_offset_bytes = address - facts.start + offset_bytes;
    return GANTRY_OK;
}

static void cuda_region_disown(gantry_backend_device_t *device, uint64_t region) {
    (void)device;
    (void)region;
}

/* ---- events ---- */

/* Makes the relay at the first event that comes in. The device's context must be current. */
static gantry__cu_result_t need_relay(gantry_backend_device_t *device) {
    gantry__cu_result_t native = GANTRY__CU_SUCCESS;
    gantry__mutex_lock(&device->lock);
    if (!device->relay)
        native = device->cu->cuStreamCreateWithPriority(
            &device->relay, GANTRY__CU_STREAM_NON_BLOCKING, device->greatest_priority);
    gantry__mutex_unlock(&device->lock);
    return native;
}

/* Makes the relay wait. A captured event would make it a part of the program's capture. */
static gantry__cu_result_t relay_wait(gantry_backend_device_t *device,
                                      gantry__cu_event_t native_event) {
    const gantry__cuda_symbols_t *cu = device->cu;
    unsigned int state = GANTRY__CU_CAPTURE_NONE;
    gantry__cu_result_t native = need_relay(device);
    if (native == GANTRY__CU_SUCCESS)
        native = cu->cuStreamWaitEvent(device->relay, native_event, 0);
    if (native == GANTRY__CU_SUCCESS) native = cu->cuStreamIsCapturing(device->relay, &state);
    return state == GANTRY__CU_CAPTURE_NONE ? native : GANTRY__CU_CAPTURED_EVENT;
}

static int32_t check_event(const gantry_backend_device_t *device, gantry__cu_result_t native,
                           void *native_event) {
    if (native != GANTRY__CU_INVALID_HANDLE)
        return gantry__driver_check(device->host, native, "waiting for event %p on \"%.200s\"",
                                    native_event, device->record->hardware_name);
    return gantry__driver_fail(
        device->host, GANTRY_INVALID_ARGUMENT, native,
        "event %p: the driver does not know it: %s (%u); a recorded CUevent is accepted",
        native_event, gantry__driver_error_name(native), native);
}

static int32_t cuda_event_adopt(gantry_backend_device_t *device, void *native_event,
                                gantry_backend_event_t **out_event) {
    gantry__cu_result_t native;
    *out_event = NULL;
    if (!native_event)
        return gantry__driver_fail(device->host, GANTRY_INVALID_ARGUMENT, 0,
                                   "event NULL: a recorded CUevent is accepted");
    GANTRY__CUDA_CALL(device, native, relay_wait(device, (gantry__cu_event_t)native_event));
    GANTRY__TRY(check_event(device, native, native_event));
    GANTRY__TRY(gantry__cuda_event_ops.create(device, out_event));
    GANTRY__CUDA_CALL(device, native,
                      device->cu->cuEventRecord((*out_event)->handle, device->relay));
    if (native == GANTRY__CU_SUCCESS) return GANTRY_OK;
    gantry__cuda_event_ops.destroy(*out_event);
    *out_event = NULL;
    return check_event(device, native, native_event);
}

/* ---- out ---- */

static void *cuda_native_context(gantry_backend_device_t *device) {
    return (void *)device->context;
}

static void *cuda_native_device(gantry_backend_device_t *device) {
    return (void *)(intptr_t)device->record->device;
}

static void *cuda_native_queue(gantry_backend_stream_t *stream) { return (void *)stream->handle; }

static void *cuda_native_memory(gantry_backend_device_t *device, uint64_t region) {
    (void)device;
    return (void *)(uintptr_t)region;
}

static gantry__cu_result_t record_new(gantry_backend_stream_t *stream,
                                      gantry__cu_event_t *out_event) {
    const gantry__cuda_symbols_t *cu = stream->device->cu;
    gantry__cu_result_t native = cu->cuEventCreate(out_event, GANTRY__CU_EVENT_DISABLE_TIMING);
    if (native != GANTRY__CU_SUCCESS) return native;
    native = cu->cuEventRecord(*out_event, stream->handle);
    if (native != GANTRY__CU_SUCCESS) {
        cu->cuEventDestroy_v2(*out_event);
        *out_event = NULL;
    }
    return native;
}

static int32_t cuda_native_event(gantry_backend_stream_t *stream, void **out_native_event) {
    gantry_backend_device_t *device = stream->device;
    gantry__cu_event_t event = NULL;
    gantry__cu_result_t native;
    *out_native_event = NULL;
    GANTRY__TRY(gantry__cuda_stream_check(stream));
    GANTRY__CUDA_CALL(device, native, record_new(stream, &event));
    *out_native_event = (void *)event;
    return gantry__driver_check(device->host, native,
                                "recording an event for the program on \"%.200s\"",
                                device->record->hardware_name);
}

const gantry_interop_ops_t gantry__cuda_interop_ops = {
    .struct_size = sizeof gantry__cuda_interop_ops,
    .context_find = cuda_context_find,
    .device_adopt = cuda_device_adopt,
    .stream_adopt = cuda_stream_adopt,
    .region_adopt = cuda_region_adopt,
    .region_disown = cuda_region_disown,
    .event_adopt = cuda_event_adopt,
    .native_context = cuda_native_context,
    .native_device = cuda_native_device,
    .native_queue = cuda_native_queue,
    .native_memory = cuda_native_memory,
    .native_event = cuda_native_event,
};
