/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that do not wait for the context's default stream. The driver gives work to the card by
 * itself, so no flush is needed. Events have no times unless a timeline needs them; an event that
 * was never recorded counts as past, for the driver as for the interface. */
#include "cuda/cuda_backend.h"

#include "base/os/thread.h"

/* A wait of an adaptive device polls for so long, before the thread sleeps. */
#define SHORT_WAIT_NS UINT64_C(20000)

/* ---- streams ---- */

/* Makes a stream. A device has two levels for the core; the urgent one is the most urgent that its
 * context has. */
static int32_t cuda_stream_create_with_priority(gantry_backend_device_t *device, int32_t purpose,
                                                int32_t priority,
                                                gantry_backend_stream_t **out_stream) {
    gantry_backend_stream_t *stream = gantry__driver_alloc(device->host, sizeof *stream);
    int level = priority < 0 ? device->greatest_priority : device->least_priority;
    (void)purpose;
    *out_stream = NULL;
    if (!stream) return GANTRY_RESOURCE_EXHAUSTED;
    stream->device = device;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native,
                      device->cu->cuStreamCreateWithPriority(
                          &stream->handle, GANTRY__CU_STREAM_NON_BLOCKING, level));
    if (native != GANTRY__CU_SUCCESS) {
        gantry__host_free(device->host, stream, sizeof *stream);
        return gantry__driver_check(device->host, native, "making a stream on \"%.200s\"",
                                    device->record->hardware_name);
    }
    *out_stream = stream;
    return GANTRY_OK;
}

static int32_t cuda_stream_create(gantry_backend_device_t *device, int32_t purpose,
                                  gantry_backend_stream_t **out_stream) {
    return cuda_stream_create_with_priority(device, purpose, 0, out_stream);
}

/* Waits for the stream's work, and destroys it. The driver would let the work of a destroyed stream
 * go on, while its caller may free the work's memory next. A stream that captures cannot be waited
 * for. A stream of the program goes on, and whoever needs its work has waited. */
static void cuda_stream_destroy(gantry_backend_stream_t *stream) {
    gantry_backend_device_t *device = stream->device;
    if (!stream->is_adopted && gantry__cuda_enter(device) == GANTRY__CU_SUCCESS) {
        if (stream->is_capturing) gantry__cuda_capture_abandon(stream);
        device->cu->cuStreamSynchronize(stream->handle);
        device->cu->cuStreamDestroy_v2(stream->handle);
        gantry__cuda_leave(device);
    }
    gantry__host_free(device->host, stream, sizeof *stream);
}

static unsigned int event_flags(const gantry_backend_device_t *device) {
    return gantry__cuda_wait_policy(device) >= GANTRY__WAIT_BLOCK
               ? GANTRY__CU_EVENT_DISABLE_TIMING | GANTRY__CU_EVENT_BLOCKING_SYNC
               : GANTRY__CU_EVENT_DISABLE_TIMING;
}

/* Polls for the event as the policy says: until its end, for a short time, or not at all. The wait
 * that follows reports what fails. */
static void ask_by_policy(const gantry_backend_device_t *device, gantry__cu_event_t event) {
    const int32_t policy = gantry__cuda_wait_policy(device);
    const bool is_short = policy == GANTRY__WAIT_ADAPTIVE;
    if (policy == GANTRY__WAIT_AUTO || policy == GANTRY__WAIT_BLOCK) return;
    const uint64_t begin = is_short ? gantry__now_ns() : 0;
    while (device->cu->cuEventQuery(event) == GANTRY__CU_NOT_READY) {
        if (is_short && gantry__now_ns() - begin > SHORT_WAIT_NS) return;
        if (policy == GANTRY__WAIT_YIELD) gantry__thread_yield();
    }
}

/* The driver's wait for a stream polls in a context of others, while a wait for an event may sleep.
 * A stream that is captured would take the event for work. */
static gantry__cu_result_t wait_for_event_of(gantry_backend_stream_t *stream) {
    const gantry__cuda_symbols_t *cu = stream->device->cu;
    unsigned int state = GANTRY__CU_CAPTURE_NONE;
    gantry__cu_event_t event = NULL;
    gantry__cu_result_t native = cu->cuStreamIsCapturing(stream->handle, &state);
    if (native != GANTRY__CU_SUCCESS) return native;
    if (state != GANTRY__CU_CAPTURE_NONE) return GANTRY__CU_CAPTURE_UNSUPPORTED;
    native = cu->cuEventCreate(&event, event_flags(stream->device));
    if (native != GANTRY__CU_SUCCESS) return native;
    native = cu->cuEventRecord(event, stream->handle);
    if (native == GANTRY__CU_SUCCESS) {
        ask_by_policy(stream->device, event);
        native = cu->cuEventSynchronize(event);
    }
    cu->cuEventDestroy_v2(event);
    return native;
}

/* A stream of the program is waited for up to now only, in whatever order its threads go on. */
static gantry__cu_result_t wait_for_stream(gantry_backend_stream_t *stream) {
    if (stream->is_adopted) return wait_for_event_of(stream);
    if (gantry__cuda_wait_policy(stream->device) > GANTRY__WAIT_AUTO)
        (void)wait_for_event_of(stream); /* the wait that follows reports what fails */
    return stream->device->cu->cuStreamSynchronize(stream->handle);
}

static int32_t cuda_stream_synchronize(gantry_backend_stream_t *stream) {
    gantry_backend_device_t *device = stream->device;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, wait_for_stream(stream));
    return gantry__driver_check(device->host, native, "waiting for a stream of \"%.200s\"",
                                device->record->hardware_name);
}

/* The event may be another device's, because the driver waits on the card, in whatever context it
 * was recorded. */
static int32_t cuda_stream_wait_event(gantry_backend_stream_t *stream,
                                      gantry_backend_event_t *event) {
    gantry_backend_device_t *device = stream->device;
    gantry__cu_result_t native;
    GANTRY__TRY(gantry__cuda_stream_check(stream));
    GANTRY__CUDA_CALL(device, native,
                      device->cu->cuStreamWaitEvent(stream->handle, event->handle, 0));
    return gantry__driver_check(device->host, native,
                                "making a stream of \"%.200s\" wait for an event",
                                device->record->hardware_name);
}

const gantry_stream_ops_t gantry__cuda_stream_ops = {
    .struct_size = sizeof gantry__cuda_stream_ops,
    .create = cuda_stream_create,
    .destroy = cuda_stream_destroy,
    .flush = NULL,
    .synchronize = cuda_stream_synchronize,
    .wait_event = cuda_stream_wait_event,
    .create_with_priority = cuda_stream_create_with_priority,
};

/* ---- events ---- */

static int32_t make_event(gantry_backend_device_t *device, unsigned int flags,
                          gantry_backend_event_t **out_event) {
    gantry_backend_event_t *event = gantry__driver_alloc(device->host, sizeof *event);
    *out_event = NULL;
    if (!event) return GANTRY_RESOURCE_EXHAUSTED;
    event->device = device;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, device->cu->cuEventCreate(&event->handle, flags));
    if (native != GANTRY__CU_SUCCESS) {
        gantry__host_free(device->host, event, sizeof *event);
        return gantry__driver_check(device->host, native, "making an event on \"%.200s\"",
                                    device->record->hardware_name);
    }
    *out_event = event;
    return GANTRY_OK;
}

static int32_t cuda_event_create(gantry_backend_device_t *device,
                                 gantry_backend_event_t **out_event) {
    return make_event(device, event_flags(device), out_event);
}

static int32_t cuda_event_create_timed(gantry_backend_device_t *device,
                                       gantry_backend_event_t **out_event) {
    const unsigned int flags = event_flags(device) & ~(unsigned int)GANTRY__CU_EVENT_DISABLE_TIMING;
    return make_event(device, flags, out_event);
}

static void cuda_event_destroy(gantry_backend_event_t *event) {
    gantry_backend_device_t *device = event->device;
    if (gantry__cuda_enter(device) == GANTRY__CU_SUCCESS) {
        device->cu->cuEventDestroy_v2(event->handle);
        gantry__cuda_leave(device);
    }
    gantry__host_free(device->host, event, sizeof *event);
}

static int32_t cuda_event_record(gantry_backend_event_t *event, gantry_backend_stream_t *stream) {
    gantry_backend_device_t *device = event->device;
    gantry__cu_result_t native;
    GANTRY__TRY(gantry__cuda_stream_check(stream));
    GANTRY__CUDA_CALL(device, native, device->cu->cuEventRecord(event->handle, stream->handle));
    return gantry__driver_check(device->host, native, "recording an event on \"%.200s\"",
                                device->record->hardware_name);
}

static int32_t cuda_event_query(gantry_backend_event_t *event, int32_t *out_done) {
    gantry_backend_device_t *device = event->device;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, device->cu->cuEventQuery(event->handle));
    *out_done = native != GANTRY__CU_NOT_READY;
    return native == GANTRY__CU_NOT_READY
               ? GANTRY_OK
               : gantry__driver_check(device->host, native, "asking an event of \"%.200s\"",
                                      device->record->hardware_name);
}

static gantry__cu_result_t wait_for_event(gantry_backend_event_t *event) {
    ask_by_policy(event->device, event->handle);
    return event->device->cu->cuEventSynchronize(event->handle);
}

static int32_t cuda_event_synchronize(gantry_backend_event_t *event) {
    gantry_backend_device_t *device = event->device;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, wait_for_event(event));
    return gantry__driver_check(device->host, native, "waiting for an event of \"%.200s\"",
                                device->record->hardware_name);
}

static int32_t cuda_event_elapsed(gantry_backend_event_t *from, gantry_backend_event_t *to,
                                  int64_t *out_ns) {
    gantry_backend_device_t *device = from->device;
    gantry__cu_result_t native;
    float milliseconds = 0;
    GANTRY__CUDA_CALL(device, native,
                      device->cu->cuEventElapsedTime(&milliseconds, from->handle, to->handle));
    *out_ns = (int64_t)((double)milliseconds * 1e6);
    return gantry__driver_check(device->host, native, "asking an event of \"%.200s\" for its time",
                                device->record->hardware_name);
}

const gantry_event_ops_t gantry__cuda_event_ops = {
    .struct_size = sizeof gantry__cuda_event_ops,
    .create = cuda_event_create,
    .destroy = cuda_event_destroy,
    .record = cuda_event_record,
    .query = cuda_event_query,
    .synchronize = cuda_event_synchronize,
    .create_timed = cuda_event_create_timed,
    .elapsed = cuda_event_elapsed,
};
