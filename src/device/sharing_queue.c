/* SPDX-License-Identifier: Apache-2.0 */
/* A foreign queue is adopted for one order at a time: an event is recorded on one side, and the
 * other waits for it. */
#include "device/sharing_queue.h"

#include "backend/backend_check.h"
#include "backend/slot_failure.h"
#include "device/device_table.h"
#include "device/loss.h"

static gantry_status_t open_queue(gantry_logical_device_t *device, void *native_queue,
                                  gantry_backend_stream_t **out_queue) {
    const gantry_interop_ops_t *ops = gantry__backend_interop(device->backend);
    gantry_status_t status;
    *out_queue = NULL;
    GANTRY__CALL_SLOT(status, ops->stream_adopt(device->handle, native_queue, out_queue));
    return gantry__loss_note(device, status);
}

/* Makes an event after the queue's present work. */
static gantry_status_t record_queue(const gantry_logical_device_t *device,
                                    gantry_backend_stream_t *queue,
                                    gantry_backend_event_t **out_event) {
    const gantry_event_ops_t *ops = device->backend->event;
    gantry_status_t status;
    *out_event = NULL;
    GANTRY__CALL_SLOT(status, ops->create(device->handle, out_event));
    if (status != GANTRY_OK) return status;
    GANTRY__CALL_SLOT(status, ops->record(*out_event, queue));
    if (status != GANTRY_OK) ops->destroy(*out_event);
    return status;
}

gantry_status_t gantry__queue_follow(gantry_logical_device_t *device, void *native_queue) {
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_COMPUTE];
    gantry_backend_stream_t *queue;
    gantry_backend_event_t *event;
    GANTRY__TRY(open_queue(device, native_queue, &queue));
    gantry_status_t status = record_queue(device, queue, &event);
    if (status == GANTRY_OK) {
        gantry__stream_begin(stream);
        GANTRY__CALL_SLOT(status, device->backend->stream->wait_event(stream->handle, event));
        atomic_store_explicit(&stream->waits, true, memory_order_release);
        (void)gantry__stream_end(stream);
        device->backend->event->destroy(event);
    }
    device->backend->stream->destroy(queue);
    return gantry__loss_note(device, status);
}

static gantry_status_t wait_for_point(const gantry_logical_device_t *device,
                                      gantry_backend_stream_t *queue, gantry__point_t point) {
    gantry__event_t *event = NULL;
    gantry_status_t status;
    if (!point.stream) return GANTRY_OK;
    GANTRY__TRY(gantry__event_take(point, &event));
    if (!event) return GANTRY_OK;
    GANTRY__CALL_SLOT(status, device->backend->stream->wait_event(queue, event->handle));
    gantry__event_release(event);
    return status;
}

gantry_status_t gantry__queue_lead(gantry_logical_device_t *device, void *native_queue,
                                   gantry__point_t point, gantry_backend_stream_t **out_queue) {
    GANTRY__TRY(open_queue(device, native_queue, out_queue));
    gantry_status_t status = wait_for_point(device, *out_queue, point);
    if (status == GANTRY_OK) return GANTRY_OK;
    device->backend->stream->destroy(*out_queue);
    *out_queue = NULL;
    return gantry__loss_note(device, status);
}

static gantry_status_t hold_after(const gantry_logical_device_t *device,
                                  gantry_backend_stream_t *queue, gantry__buffer_t *buffer) {
    const gantry__heap_t *heap = device->table->heap;
    gantry__hold_t *hold = gantry__heap_zalloc(heap, sizeof *hold);
    if (!hold) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = record_queue(device, queue, &hold->event);
    if (status == GANTRY_OK)
        gantry__buffer_add_hold(buffer, hold);
    else
        gantry__heap_free(heap, hold, sizeof *hold);
    return status;
}

void gantry__queue_close(gantry_logical_device_t *device, gantry_backend_stream_t *queue,
                         gantry__buffer_t *buffer) {
    const gantry_stream_ops_t *ops = device->backend->stream;
    const uint32_t before = gantry__failures();
    if (buffer && !gantry__device_is_lost(device) && hold_after(device, queue, buffer) != GANTRY_OK)
        (void)ops->synchronize(queue);
    ops->destroy(queue);
    gantry__forget_since(before);
}
