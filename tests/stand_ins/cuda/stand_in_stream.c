/* SPDX-License-Identifier: Apache-2.0 */
/* Streams are in-order queues of PoCL. An event is the completion of a marker in a queue. Unlike on
 * a card, a stream made without "non-blocking" does not wait for the context's own stream here. */
#include <stdlib.h>
#include <string.h>

#include "stand_in_graph.h"

#define STREAMS_AT_ONCE 256

typedef struct event_t {
    stand_in_object_t object;
    cl_event marker;        /* NULL: never recorded, or captured */
    stand_in_place_t place; /* the place of its last capture */
    uint32_t flags;
} event_t;

/* ---- streams ---- */

static void end_stream(stand_in_object_t *object) {
    stand_in_stream_t *stream = (stand_in_stream_t *)object;

    stand_in__leave_capture(stream);
    stand_in__pocl()->clFinish(stream->queue);
    stand_in__pocl()->clReleaseCommandQueue(stream->queue);
    free(stream);
}

static stand_in_stream_t *make_stream(stand_in_context_t *context, uint32_t flags, int priority) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    stand_in_stream_t *stream = calloc(1, sizeof *stream);
    cl_int native = CL_SUCCESS;

    if (stream == NULL) return NULL;
    stream->queue =
        cl->clCreateCommandQueue(cl->context, cl->device, CL_QUEUE_PROFILING_ENABLE, &native);
    if (native != CL_SUCCESS) {
        free(stream);
        return NULL;
    }
    stream->object.kind = STAND_IN_STREAMS;
    stream->object.context = context;
    stream->object.end = end_stream;
    stream->flags = flags;
    stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    return stream;
}

int stand_in__open_null_stream(stand_in_context_t *context) {
    context->null_stream = make_stream(context, 0, 0);
    return context->null_stream != NULL ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

void stand_in__close_null_stream(stand_in_context_t *context) {
    end_stream(&context->null_stream->object);
    context->null_stream = NULL;
}

static int create_stream(void **out_stream, unsigned flags, int priority) {
    stand_in_stream_t *stream;

    if (out_stream == NULL || flags > 1) return CUDA_INVALID_VALUE;
    stream = make_stream(stand_in__current(), flags, priority);
    if (stream == NULL) return CUDA_OUT_OF_MEMORY;
    stand_in__list(&stream->object);
    *out_stream = stream;
    return CUDA_OK;
}

STAND_IN_API int cuStreamCreate(void **stream, unsigned flags);
int cuStreamCreate(void **stream, unsigned flags) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return create_stream(stream, flags, 0);
}

STAND_IN_API int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority);
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return create_stream(stream, flags, priority);
}

STAND_IN_API int cuStreamGetPriority(void *handle, int *priority);
int cuStreamGetPriority(void *handle, int *priority) {
    stand_in_stream_t *stream;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    code = stand_in__stream_of(handle, &stream);
    if (code != CUDA_OK) return code;
    if (priority == NULL) return CUDA_INVALID_VALUE;
    *priority = stream->priority;
    return CUDA_OK;
}

STAND_IN_API int cuStreamGetCtx(void *handle, stand_in_context_t **context);
int cuStreamGetCtx(void *handle, stand_in_context_t **context) {
    stand_in_stream_t *stream = stand_in__find(handle, STAND_IN_STREAMS);

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (stream == NULL && !stand_in__is_legacy(handle)) return CUDA_INVALID_HANDLE;
    if (context == NULL) return CUDA_INVALID_VALUE;
    *context = stream != NULL ? stream->object.context : stand_in__current();
    return CUDA_OK;
}

int stand_in__is_legacy(const void *handle) { return (uintptr_t)handle <= 1; }

int stand_in__stream_of(const void *handle, stand_in_stream_t **out_stream) {
    stand_in_context_t *current = stand_in__current();
    stand_in_stream_t *stream;

    if (current == NULL) return CUDA_INVALID_CONTEXT;
    stream = stand_in__is_legacy(handle) ? current->null_stream
                                         : stand_in__find(handle, STAND_IN_STREAMS);
    if (stream == NULL) return CUDA_INVALID_HANDLE;
    if (stream->object.context != current) return CUDA_INVALID_CONTEXT;
    *out_stream = stream;
    return CUDA_OK;
}

static int submit_work(stand_in_stream_t *stream, const stand_in_node_t *node) {
    return stand_in__enqueue(stream, node->work, node->arguments, node->bytes);
}

int stand_in__enqueue(stand_in_stream_t *stream, void (*work)(void *arguments),
                      const void *arguments, size_t bytes) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    cl_int native;

    if (stand_in__is_captured(stream))
        return stand_in__keep(stream, submit_work, work, arguments, bytes);
    native = cl->clEnqueueNativeKernel(stream->queue, work, (void *)(uintptr_t)arguments, bytes, 0,
                                       NULL, NULL, 0, NULL, NULL);
    if (native == CL_SUCCESS) {
        native = cl->clFlush(stream->queue);
    }
    return native == CL_SUCCESS              ? CUDA_OK
           : native == CL_OUT_OF_HOST_MEMORY ? CUDA_OUT_OF_MEMORY
                                             : CUDA_UNKNOWN;
}

/* ---- kernels that are held ---- */

static cl_event held; /* under the lock; NULL: none is held */

static cl_event change_held(cl_event event) {
    cl_event former;

    stand_in__lock();
    former = held;
    held = event;
    stand_in__unlock();
    return former;
}

void stand_in__hold(int is_held) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    cl_event former = change_held(is_held ? cl->clCreateUserEvent(cl->context, NULL) : NULL);

    if (former == NULL) return;
    cl->clSetUserEventStatus(former, CL_COMPLETE);
    cl->clReleaseEvent(former);
}

int stand_in__hold_stream(stand_in_stream_t *stream) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    cl_event event;
    cl_int native = CL_SUCCESS;

    stand_in__lock();
    event = held;
    if (event != NULL) {
        cl->clRetainEvent(event);
    }
    stand_in__unlock();
    if (event == NULL) return CUDA_OK;
    native = cl->clEnqueueBarrierWithWaitList(stream->queue, 1, &event, NULL);
    cl->clReleaseEvent(event);
    return native == CL_SUCCESS ? CUDA_OK : CUDA_UNKNOWN;
}

STAND_IN_API int cuStreamDestroy_v2(void *handle);
int cuStreamDestroy_v2(void *handle) {
    int code = stand_in__enter(__func__, STAND_IN_NEEDS_ANY_CONTEXT);
    stand_in_stream_t *stream;

    if (!stand_in__may_end(code)) return code;
    stream = stand_in__find(handle, STAND_IN_STREAMS);
    if (stream == NULL || !stand_in__unlist(&stream->object)) return CUDA_INVALID_HANDLE;
    end_stream(&stream->object);
    return code;
}

/* An error on the device during the wait counts too. */
static int code_of_context(const stand_in_context_t *context) {
    int code;

    stand_in__lock();
    code = context->device->lost;
    stand_in__unlock();
    return code;
}

STAND_IN_API int cuStreamSynchronize(void *handle);
int cuStreamSynchronize(void *handle) {
    stand_in_stream_t *stream;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    code = stand_in__stream_of(handle, &stream);
    if (code != CUDA_OK) return code;
    if (stand_in__is_captured(stream)) return stand_in__spoil(stream, CUDA_CAPTURE_UNSUPPORTED);
    return stand_in__pocl()->clFinish(stream->queue) == CL_SUCCESS
               ? code_of_context(stream->object.context)
               : CUDA_LAUNCH_FAILED;
}

static int is_done(cl_event marker) {
    cl_int state = CL_COMPLETE;

    stand_in__pocl()->clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                     &state, NULL);
    return state <= CL_COMPLETE;
}

STAND_IN_API int cuStreamQuery(void *handle);
int cuStreamQuery(void *handle) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    stand_in_stream_t *stream;
    cl_event marker;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    code = stand_in__stream_of(handle, &stream);
    if (code != CUDA_OK) return code;
    if (stand_in__is_captured(stream)) return stand_in__spoil(stream, CUDA_CAPTURE_UNSUPPORTED);
    if (cl->clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &marker) != CL_SUCCESS)
        return CUDA_UNKNOWN;
    cl->clFlush(stream->queue);
    code = is_done(marker) ? CUDA_OK : CUDA_NOT_READY;
    cl->clReleaseEvent(marker);
    return code;
}

typedef struct queues_t {
    cl_command_queue queue[STREAMS_AT_ONCE];
    int count;
} queues_t;

static void take_queue(stand_in_object_t *object, void *self) {
    queues_t *queues = self;

    if (queues->count < STREAMS_AT_ONCE) {
        cl_command_queue queue = ((stand_in_stream_t *)object)->queue;

        stand_in__pocl()->clRetainCommandQueue(queue);
        queues->queue[queues->count++] = queue;
    }
}

int stand_in__finish(stand_in_context_t *context) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    queues_t queues = {.count = 0};

    stand_in__each(STAND_IN_STREAMS, context, take_queue, &queues);
    for (int i = 0; i < queues.count; ++i) {
        cl->clFinish(queues.queue[i]);
        cl->clReleaseCommandQueue(queues.queue[i]);
    }
    if (context->null_stream != NULL) {
        cl->clFinish(context->null_stream->queue);
    }
    return code_of_context(context);
}

/* ---- a call of the host ---- */

typedef struct host_call_t {
    void (*function)(void *data);
    void *data;
} host_call_t;

static void run_host_call(void *arguments) {
    const host_call_t *call = arguments;

    call->function(call->data);
}

STAND_IN_API int cuLaunchHostFunc(void *handle, void (*function)(void *data), void *data);
int cuLaunchHostFunc(void *handle, void (*function)(void *data), void *data) {
    const host_call_t call = {function, data};
    stand_in_stream_t *stream;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (function == NULL) return CUDA_INVALID_VALUE;
    code = stand_in__stream_of(handle, &stream);
    return code != CUDA_OK ? code : stand_in__enqueue(stream, run_host_call, &call, sizeof call);
}

/* ---- events ---- */

static void end_event(stand_in_object_t *object) {
    event_t *event = (event_t *)object;

    if (event->marker != NULL) {
        stand_in__pocl()->clReleaseEvent(event->marker);
    }
    free(event);
}

/* The marker, retained; NULL: never recorded. */
static cl_event take_marker(event_t *event) {
    cl_event marker;

    stand_in__lock();
    marker = event->marker;
    if (marker != NULL) {
        stand_in__pocl()->clRetainEvent(marker);
    }
    stand_in__unlock();
    return marker;
}

STAND_IN_API int cuEventCreate(void **out_event, unsigned flags);
int cuEventCreate(void **out_event, unsigned flags) {
    event_t *event;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (out_event == NULL || flags > 7) return CUDA_INVALID_VALUE;
    event = calloc(1, sizeof *event);
    if (event == NULL) return CUDA_OUT_OF_MEMORY;
    event->object.kind = STAND_IN_EVENTS;
    event->object.context = stand_in__current();
    event->object.end = end_event;
    event->flags = flags;
    stand_in__list(&event->object);
    *out_event = event;
    return CUDA_OK;
}

STAND_IN_API int cuEventDestroy_v2(void *handle);
int cuEventDestroy_v2(void *handle) {
    int code = stand_in__enter(__func__, STAND_IN_NEEDS_ANY_CONTEXT);
    event_t *event;

    if (!stand_in__may_end(code)) return code;
    event = stand_in__find(handle, STAND_IN_EVENTS);
    if (event == NULL || !stand_in__unlist(&event->object)) return CUDA_INVALID_HANDLE;
    end_event(&event->object);
    return code;
}

/* The place of the event's last capture. */
static stand_in_place_t place_of(const event_t *event) {
    stand_in_place_t place;

    stand_in__lock();
    place = event->place;
    stand_in__unlock();
    return place;
}

static void set_record(event_t *event, cl_event marker, const stand_in_place_t *place) {
    cl_event old;

    stand_in__lock();
    old = event->marker;
    event->marker = marker;
    event->place = *place;
    stand_in__unlock();
    if (old != NULL) {
        stand_in__pocl()->clReleaseEvent(old);
    }
}

STAND_IN_API int cuEventRecord(void *handle, void *stream_handle);
int cuEventRecord(void *handle, void *stream_handle) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    event_t *event;
    stand_in_stream_t *stream;
    stand_in_place_t place = {.capture = 0};
    cl_event marker = NULL;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    event = stand_in__find(handle, STAND_IN_EVENTS);
    if (event == NULL) return CUDA_INVALID_HANDLE;
    code = stand_in__stream_of(stream_handle, &stream);
    if (code != CUDA_OK) return code;
    if (event->object.context != stream->object.context) return CUDA_INVALID_HANDLE;
    if (stand_in__is_captured(stream)) {
        code = stand_in__place_of(stream, &place);
        if (code != CUDA_OK) return code;
    } else {
        if (cl->clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &marker) != CL_SUCCESS)
            return CUDA_UNKNOWN;
        cl->clFlush(stream->queue);
    }
    set_record(event, marker, &place);
    return CUDA_OK;
}

STAND_IN_API int cuEventQuery(void *handle);
int cuEventQuery(void *handle) {
    event_t *event;
    stand_in_place_t place;
    cl_event marker;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    event = stand_in__find(handle, STAND_IN_EVENTS);
    if (event == NULL) return CUDA_INVALID_HANDLE;
    place = place_of(event);
    if (place.capture != 0) return stand_in__refuse_place(&place);
    marker = take_marker(event);
    if (marker == NULL) return CUDA_OK;
    code = is_done(marker) ? code_of_context(event->object.context) : CUDA_NOT_READY;
    stand_in__pocl()->clReleaseEvent(marker);
    return code;
}

STAND_IN_API int cuEventSynchronize(void *handle);
int cuEventSynchronize(void *handle) {
    event_t *event;
    stand_in_place_t place;
    cl_event marker;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    event = stand_in__find(handle, STAND_IN_EVENTS);
    if (event == NULL) return CUDA_INVALID_HANDLE;
    place = place_of(event);
    if (place.capture != 0) return stand_in__refuse_place(&place);
    marker = take_marker(event);
    if (marker == NULL) return CUDA_OK;
    stand_in__count((event->flags & 1) != 0 ? "waits that block" : "waits that poll");
    stand_in__pocl()->clWaitForEvents(1, &marker);
    stand_in__pocl()->clReleaseEvent(marker);
    return code_of_context(event->object.context);
}

STAND_IN_API int cuStreamWaitEvent(void *stream_handle, void *handle, unsigned flags);
int cuStreamWaitEvent(void *stream_handle, void *handle, unsigned flags) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    stand_in_stream_t *stream;
    event_t *event;
    stand_in_place_t place;
    cl_event marker;
    cl_int native;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (flags > 1) return CUDA_INVALID_VALUE;
    event = stand_in__find(handle, STAND_IN_EVENTS);
    if (event == NULL) return CUDA_INVALID_HANDLE;
    code = stand_in__stream_of(stream_handle, &stream);
    if (code != CUDA_OK) return code;
    place = place_of(event);
    if (place.capture != 0) return stand_in__wait_for_place(stream, &place);
    marker = take_marker(event);
    if (marker == NULL) return CUDA_OK;
    if (stand_in__is_captured(stream)) {
        cl->clReleaseEvent(marker);
        return stand_in__spoil(stream, CUDA_CAPTURE_ISOLATION);
    }
    native = cl->clEnqueueBarrierWithWaitList(stream->queue, 1, &marker, NULL);
    cl->clFlush(stream->queue);
    cl->clReleaseEvent(marker);
    return native == CL_SUCCESS ? CUDA_OK : CUDA_UNKNOWN;
}

static int time_of(event_t *event, cl_ulong *out_ns) {
    cl_event marker = take_marker(event);
    cl_int native;

    if ((event->flags & 2) != 0 || marker == NULL) {
        if (marker != NULL) stand_in__pocl()->clReleaseEvent(marker);
        return CUDA_INVALID_HANDLE;
    }
    if (!is_done(marker)) {
        stand_in__pocl()->clReleaseEvent(marker);
        return CUDA_NOT_READY;
    }
    native = stand_in__pocl()->clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_END,
                                                       sizeof *out_ns, out_ns, NULL);
    stand_in__pocl()->clReleaseEvent(marker);
    return native == CL_SUCCESS ? CUDA_OK : CUDA_UNKNOWN;
}

STAND_IN_API int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    event_t *events[2];
    cl_ulong at[2] = {0, 0};
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    events[0] = stand_in__find(start, STAND_IN_EVENTS);
    events[1] = stand_in__find(end, STAND_IN_EVENTS);
    if (events[0] == NULL || events[1] == NULL) return CUDA_INVALID_HANDLE;
    if (milliseconds == NULL) return CUDA_INVALID_VALUE;
    code = time_of(events[0], &at[0]);
    if (code == CUDA_OK) code = time_of(events[1], &at[1]);
    if (code == CUDA_OK) *milliseconds = (float)((double)at[1] - (double)at[0]) * 1e-6f;
    return code;
}
