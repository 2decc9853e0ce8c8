/* SPDX-License-Identifier: Apache-2.0 */
/* Events are markers in a queue.
 *
 * Two rules of OpenCL decide the code. A command may stay in its queue until that queue is flushed,
 * so whoever waits for an event must first flush the queue on which it was recorded, once per
 * record. And a wait list may only name events of the queue's own context, while each device has a
 * context of its own. Between devices a user event of the waiting context therefore represents the
 * other one, and a callback on the first sets the second:
 *
 *     queue of A:  ... marker ---callback---> user event of B's context
 *     queue of B:  ... barrier(user event) ...
 *
 * A failure is passed in the same way: the user event gets the negative status, and so do the
 * commands after it. */
#include "opencl/opencl_backend.h"

static int32_t opencl_event_create(gantry_backend_device_t *device,
                                   gantry_backend_event_t **out_event) {
    gantry_backend_event_t *event = gantry__driver_alloc(device->host, sizeof *event);
    *out_event = event;
    if (!event) return GANTRY_RESOURCE_EXHAUSTED;
    event->device = device;
    atomic_init(&event->flushed, 0);
    return GANTRY_OK;
}

static void forget_record(gantry_backend_event_t *event) {
    const gantry__opencl_symbols_t *cl = event->device->cl;
    if (event->handle) {
        cl->clReleaseEvent(event->handle);
        if (event->queue) cl->clReleaseCommandQueue(event->queue);
    }
    event->handle = NULL;
    event->queue = NULL;
    atomic_store(&event->flushed, 0);
}

static void opencl_event_destroy(gantry_backend_event_t *event) {
    forget_record(event);
    gantry__host_free(event->device->host, event, sizeof *event);
}

static int32_t opencl_event_record(gantry_backend_event_t *event, gantry_backend_stream_t *stream) {
    const gantry__opencl_symbols_t *cl = event->device->cl;
    cl_event handle = NULL;
    cl_int native = cl->clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &handle);
    if (native == CL_SUCCESS) native = cl->clRetainCommandQueue(stream->queue);
    if (native != CL_SUCCESS) {
        if (handle) cl->clReleaseEvent(handle);
        return gantry__driver_check(event->device->host, native, "recording an event on \"%.200s\"",
                                    stream->device->record->hardware_name);
    }
    forget_record(event);
    event->handle = handle;
    event->queue = stream->queue;
    return GANTRY_OK;
}

int32_t gantry__opencl_event_over(gantry_backend_device_t *device, cl_event handle,
                                  cl_command_queue queue, gantry_backend_event_t **out_event) {
    const gantry__opencl_symbols_t *cl = device->cl;
    GANTRY__TRY(opencl_event_create(device, out_event));
    cl_int native = cl->clRetainEvent(handle);
    if (native == CL_SUCCESS && queue) {
        native = cl->clRetainCommandQueue(queue);
        if (native != CL_SUCCESS) cl->clReleaseEvent(handle);
    }
    if (native == CL_SUCCESS) {
        (*out_event)->handle = handle;
        (*out_event)->queue = queue;
        return GANTRY_OK;
    }
    opencl_event_destroy(*out_event);
    *out_event = NULL;
    return gantry__driver_check(device->host, native, "retaining the cl_event %p", (void *)handle);
}

static cl_int flush_once(gantry_backend_event_t *event) {
    if (!event->queue || atomic_load(&event->flushed)) return CL_SUCCESS;
    cl_int native = event->device->cl->clFlush(event->queue);
    if (native == CL_SUCCESS) atomic_store(&event->flushed, 1);
    return native;
}

/* Reads the status: CL_COMPLETE, a positive number while the event runs, or the error of the work
 * before it. */
static cl_int ask_status(const gantry_backend_event_t *event, cl_int *out_status) {
    *out_status = CL_QUEUED;
    return event->device->cl->clGetEventInfo(event->handle, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                             sizeof *out_status, out_status, NULL);
}

static int32_t work_failed(const gantry_backend_event_t *event, cl_int status) {
    return gantry__opencl_check_wait(event->device->host, status, "work submitted to",
                                     event->device->record->hardware_name);
}

static int32_t opencl_event_query(gantry_backend_event_t *event, int32_t *out_done) {
    cl_int status = CL_COMPLETE;
    *out_done = 1;
    if (!event->handle) return GANTRY_OK;
    cl_int native = flush_once(event); /* or a caller that polls would never see the end */
    if (native == CL_SUCCESS) native = ask_status(event, &status);
    if (native != CL_SUCCESS) {
        return gantry__driver_check(event->device->host, native, "asking an event of \"%.200s\"",
                                    event->device->record->hardware_name);
    }
    *out_done = status <= CL_COMPLETE;
    return status < CL_COMPLETE ? work_failed(event, status) : GANTRY_OK;
}

static int32_t opencl_event_synchronize(gantry_backend_event_t *event) {
    if (!event->handle) return GANTRY_OK;
    cl_int native = flush_once(event);
    if (native != CL_SUCCESS)
        return gantry__driver_check(event->device->host, native,
                                    "waiting for an event of \"%.200s\"",
                                    event->device->record->hardware_name);
    native = gantry__opencl_wait(event->device->cl, &event->device->wait, event->handle);
    cl_int status = CL_COMPLETE;
    if (native != CL_SUCCESS && ask_status(event, &status) == CL_SUCCESS && status < CL_COMPLETE)
        return work_failed(event, status);
    return gantry__opencl_check_wait(event->device->host, native, "waiting for an event of",
                                     event->device->record->hardware_name);
}

static cl_int ask_end(const gantry_backend_event_t *event, cl_ulong *out_ns) {
    if (!event->handle) return CL_PROFILING_INFO_NOT_AVAILABLE;
    return event->device->cl->clGetEventProfilingInfo(event->handle, CL_PROFILING_COMMAND_END,
                                                      sizeof *out_ns, out_ns, NULL);
}

static int32_t opencl_event_elapsed(gantry_backend_event_t *from, gantry_backend_event_t *to,
                                    int64_t *out_ns) {
    cl_ulong begin_ns = 0, end_ns = 0;
    cl_int native = ask_end(from, &begin_ns);
    if (native == CL_SUCCESS) native = ask_end(to, &end_ns);
    *out_ns = (int64_t)(end_ns - begin_ns);
    return gantry__driver_check(from->device->host, native,
                                "asking an event of \"%.200s\" for its time",
                                from->device->record->hardware_name);
}

/* ---- waiting between queues ---- */

/* What the callback needs. The callback may run when the waiting stream no longer exists, so it
 * must hold nothing of device or instance. */
typedef struct bridge_t {
    const gantry_host_t *host;
    cl_event target;
    __typeof__(&clSetUserEventStatus) set_status;
    __typeof__(&clReleaseEvent) release;
} bridge_t;

static void CL_CALLBACK bridge_pass(cl_event source, cl_int status, void *user) {
    const bridge_t bridge = *(bridge_t *)user;
    (void)source;
    gantry__host_free(bridge.host, user,
                      /* must precede the status, because the waiting side may close everything
                       * after it */
                      sizeof bridge);
    bridge.set_status(bridge.target, status < CL_COMPLETE ? status : CL_COMPLETE);
    bridge.release(bridge.target);
}

/* Makes a user event of the device's context that ends when event does. The caller must release
 * it. */
static cl_int make_bridge(gantry_backend_device_t *device, gantry_backend_event_t *event,
                          cl_event *out_target) {
    const gantry__opencl_symbols_t *cl = device->cl;
    bridge_t *bridge = gantry__driver_alloc(device->host, sizeof *bridge);
    *out_target = NULL;
    if (!bridge) return CL_OUT_OF_HOST_MEMORY;
    *bridge = (bridge_t){device->host, NULL, cl->clSetUserEventStatus, cl->clReleaseEvent};
    cl_int native = CL_SUCCESS;
    bridge->target = cl->clCreateUserEvent(device->context, &native);
    if (native == CL_SUCCESS) {
        *out_target = bridge->target;
        native = cl->clRetainEvent(bridge->target); /* one for the callback, one for the caller */
    }
    if (native == CL_SUCCESS) {
        native = cl->clSetEventCallback(event->handle, CL_COMPLETE, bridge_pass, bridge);
        if (native == CL_SUCCESS) return CL_SUCCESS;
        cl->clReleaseEvent(*out_target);
    }
    gantry__host_free(device->host, bridge, sizeof *bridge);
    return native;
}

int32_t gantry__opencl_event_wait_on(gantry_backend_device_t *device, cl_command_queue queue,
                                     gantry_backend_event_t *event) {
    const gantry__opencl_symbols_t *cl = device->cl;
    cl_event target = NULL;
    cl_int status = CL_COMPLETE;
    if (!event->handle || event->queue == queue) return GANTRY_OK;
    cl_int native = flush_once(event);
    if (native == CL_SUCCESS) native = ask_status(event, &status);
    if (native == CL_SUCCESS && status < CL_COMPLETE) return work_failed(event, status);
    if (native == CL_SUCCESS && status != CL_COMPLETE) {
        if (event->device->context == device->context) {
            native = cl->clEnqueueBarrierWithWaitList(queue, 1, &event->handle, NULL);
        } else {
            native = make_bridge(device, event, &target);
            if (native == CL_SUCCESS)
                native = cl->clEnqueueBarrierWithWaitList(queue, 1, &target, NULL);
        }
    }
    if (target) cl->clReleaseEvent(target);
    return gantry__driver_check(device->host, native,
                                "making a stream of \"%.200s\" wait for an event",
                                device->record->hardware_name);
}

const gantry_event_ops_t gantry__opencl_event_ops = {
    .struct_size = sizeof gantry__opencl_event_ops,
    .create = opencl_event_create,
    .destroy = opencl_event_destroy,
    .record = opencl_event_record,
    .query = opencl_event_query,
    .synchronize = opencl_event_synchronize,
    .elapsed = opencl_event_elapsed,
};
