/* SPDX-License-Identifier: Apache-2.0 */
/* In-order command queues. A queue keeps its commands until it is flushed, and does not report a
 * command that failed until someone reads an event after it. So waiting must use a marker, not
 * clFinish, whose result no driver is obliged to give. */
#include "opencl/opencl_backend.h"

/* cl_khr_priority_hints */
#define QUEUE_PRIORITY_KHR 0x1096
#define QUEUE_PRIORITY_HIGH_KHR 1
#define QUEUE_PRIORITY_MED_KHR 2
#define QUEUE_PRIORITY_LOW_KHR 4
/* OpenCL 2.0 */
#define QUEUE_PROPERTIES 0x1093

static cl_command_queue make_queue(const gantry_backend_device_t *device, int32_t priority,
                                   cl_command_queue_properties kind, cl_int *out_native) {
    cl_ulong level = priority < 0   ? QUEUE_PRIORITY_HIGH_KHR
                     : priority > 0 ? QUEUE_PRIORITY_LOW_KHR
                                    : QUEUE_PRIORITY_MED_KHR;
    const cl_ulong properties[] = {QUEUE_PRIORITY_KHR, level, QUEUE_PROPERTIES, kind, 0};
    if (priority == 0 ||
        device->record->info.least_priority == device->record->info.greatest_priority) {
        return device->cl->clCreateCommandQueue(device->context, device->record->device, kind,
                                                out_native);
    }
    return device->cl->create_queue_with_properties(device->context, device->record->device,
                                                    properties, out_native);
}

/* Makes a stream. A priority is a hint: one outside of the device's range becomes the nearest one
 * in it. */
static int32_t opencl_stream_create_with_priority(gantry_backend_device_t *device, int32_t purpose,
                                                  int32_t priority,
                                                  gantry_backend_stream_t **out_stream) {
    gantry_backend_stream_t *stream = gantry__driver_alloc(device->host, sizeof *stream);
    (void)purpose;
    *out_stream = NULL;
    if (!stream) return GANTRY_RESOURCE_EXHAUSTED;
    stream->device = device;
    stream->priority = priority;
    stream->former = NULL;
    cl_int native = CL_SUCCESS;
    stream->queue = make_queue(device, priority, 0, &native);
    if (native != CL_SUCCESS) {
        gantry__host_free(device->host, stream, sizeof *stream);
        return gantry__driver_check(device->host, native, "making a stream on \"%.200s\"",
                                    device->record->hardware_name);
    }
    *out_stream = stream;
    return GANTRY_OK;
}

static int32_t opencl_stream_create(gantry_backend_device_t *device, int32_t purpose,
                                    gantry_backend_stream_t **out_stream) {
    return opencl_stream_create_with_priority(device, purpose, 0, out_stream);
}

static void opencl_stream_destroy(gantry_backend_stream_t *stream) {
    if (!stream->is_adopted) stream->device->cl->clFinish(stream->queue);
    stream->device->cl->clReleaseCommandQueue(stream->queue);
    if (stream->former) {
        stream->device->cl->clFinish(stream->former);
        stream->device->cl->clReleaseCommandQueue(stream->former);
    }
    gantry__host_free(stream->device->host, stream, sizeof *stream);
}

static int32_t flush(gantry_backend_stream_t *stream) {
    return gantry__driver_check(stream->device->host, stream->device->cl->clFlush(stream->queue),
                                "flushing a stream of \"%.200s\"",
                                stream->device->record->hardware_name);
}

/* Returns what failed, not only that something did. */
static cl_int wait_for_marker(gantry_backend_device_t *device, cl_event marker) {
    const gantry__opencl_symbols_t *cl = device->cl;
    cl_int native = gantry__opencl_wait(cl, &device->wait, marker);
    cl_int status = CL_COMPLETE;
    if (native != CL_SUCCESS &&
        cl->clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                           NULL) == CL_SUCCESS &&
        status < CL_COMPLETE)
        return status;
    return native;
}

static int32_t opencl_stream_synchronize(gantry_backend_stream_t *stream) {
    const gantry__opencl_symbols_t *cl = stream->device->cl;
    const char *hardware_name = stream->device->record->hardware_name;
    cl_event marker = NULL;
    cl_int native = cl->clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &marker);
    if (native == CL_SUCCESS) native = cl->clFlush(stream->queue);
    int32_t code = native == CL_SUCCESS
                       ? gantry__opencl_check_wait(stream->device->host,
                                                   wait_for_marker(stream->device, marker),
                                                   "waiting for a stream of", hardware_name)
                       : gantry__driver_check(stream->device->host, native,
                                              "waiting for a stream of \"%.200s\"", hardware_name);
    if (marker) cl->clReleaseEvent(marker);
    return code;
}

static int32_t opencl_stream_wait_event(gantry_backend_stream_t *stream,
                                        gantry_backend_event_t *event) {
    return gantry__opencl_event_wait_on(stream->device, stream->queue, event);
}

/* Replaces the queue, because a queue has times from its beginning or never. The old one is kept
 * until the next time, because a library may be about to use it on another thread. The program's
 * queue stays: it has times if the program wants them. */
static int32_t opencl_stream_set_timed(gantry_backend_stream_t *stream, int32_t timed) {
    const gantry_backend_device_t *device = stream->device;
    cl_int native = CL_SUCCESS;
    if (stream->is_adopted) return GANTRY_OK;
    cl_command_queue queue =
        make_queue(device, stream->priority, timed ? CL_QUEUE_PROFILING_ENABLE : 0, &native);
    if (native != CL_SUCCESS)
        return gantry__driver_check(device->host, native, "making a timed stream on \"%.200s\"",
                                    device->record->hardware_name);
    device->cl->clFinish(stream->queue);
    if (stream->former) device->cl->clReleaseCommandQueue(stream->former);
    stream->former = stream->queue;
    stream->queue = queue;
    return GANTRY_OK;
}

const gantry_stream_ops_t gantry__opencl_stream_ops = {
    .struct_size = sizeof gantry__opencl_stream_ops,
    .create = opencl_stream_create,
    .destroy = opencl_stream_destroy,
    .flush = flush,
    .synchronize = opencl_stream_synchronize,
    .wait_event = opencl_stream_wait_event,
    .create_with_priority = opencl_stream_create_with_priority,
    .set_timed = opencl_stream_set_timed,
};
