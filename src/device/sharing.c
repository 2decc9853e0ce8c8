/* SPDX-License-Identifier: Apache-2.0 */
/* Work that the program submits to an adopted queue is in the order of the compute stream. Memory
 * that was given out is therefore used, until it is given back, by the newest work of that stream:
 * its other streams wait for a point that is made when they ask. device/buffer_end.c says how the
 * program's memory ends. */
#include "device/sharing.h"

#include "backend/backend_check.h"
#include "backend/slot_failure.h"
#include "device/device_table.h"
#include "device/loss.h"
#include "device/sharing_queue.h"

gantry_status_t gantry__sharing_ops(const gantry_logical_device_t *device, const char *call,
                                    const gantry_interop_ops_t **out_ops) {
    *out_ops = gantry__backend_interop(device->backend);
    if (*out_ops) return GANTRY_OK;
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "%s: the backend %s of %s shares no device memory; a device of opencl or cuda is accepted",
        call, device->backend->name, device->full_name);
}

/* ---- memory in ---- */

/* Makes the compute stream wait for the program's event. */
static gantry_status_t wait_for_ready(gantry_logical_device_t *device,
                                      const gantry_interop_ops_t *ops, void *native_event) {
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_COMPUTE];
    gantry_backend_event_t *event;
    gantry_status_t status;
    GANTRY__CALL_SLOT(status, ops->event_adopt(device->handle, native_event, &event));
    if (status != GANTRY_OK) return status;
    gantry__stream_begin(stream);
    GANTRY__CALL_SLOT(status, device->backend->stream->wait_event(stream->handle, event));
    atomic_store_explicit(&stream->waits, true, memory_order_release);
    (void)gantry__stream_end(stream);
    device->backend->event->destroy(event);
    return gantry__loss_note(device, status);
}

static gantry__point_t newest_work(gantry_logical_device_t *device) {
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_COMPUTE];
    return (gantry__point_t){stream, gantry__stream_count(stream)};
}

static gantry_status_t check_alignment(const gantry__shared_memory_t *memory,
                                       const gantry_span_t *span) {
    if (span->offset_bytes % memory->element_bytes == 0) return GANTRY_OK;
    return gantry__refuse(
        "memory %p: the first element is %llu bytes after the begin of its allocation; a multiple of %llu is accepted",
        memory->native, (unsigned long long)span->offset_bytes,
        (unsigned long long)memory->element_bytes);
}

gantry_status_t gantry__sharing_adopt(gantry_logical_device_t *device,
                                      const gantry__shared_memory_t *memory,
                                      const gantry__foreign_t *foreign,
                                      gantry__buffer_t **out_buffer, gantry__point_t *out_ready) {
    const gantry_interop_ops_t *ops = gantry__backend_interop(device->backend);
    gantry_span_t span = {0, 0, memory->size_bytes};
    gantry_status_t status;
    *out_buffer = NULL;
    *out_ready = (gantry__point_t){NULL, 0};
    gantry__buffers_look(device);
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__CALL_SLOT(
        status,
        ops->region_adopt(device->handle, memory->native, memory->offset_bytes, memory->size_bytes,
                          foreign->is_writable, &span.region, &span.offset_bytes));
    if (status != GANTRY_OK) return gantry__loss_note(device, status);
    status = check_alignment(memory, &span);
    if (status == GANTRY_OK && memory->ready_event)
        status = wait_for_ready(device, ops, memory->ready_event);
    if (status == GANTRY_OK && memory->ready_queue)
        status = gantry__queue_follow(device, memory->ready_queue);
    if (status == GANTRY_OK) status = gantry__buffer_over(device, &span, foreign, out_buffer);
    if (status != GANTRY_OK) {
        ops->region_disown(device->handle, span.region);
        return status;
    }
    (*out_buffer)->is_region = true;
    if (memory->ready_event || memory->ready_queue ||
        device->streams[GANTRY_STREAM_COMPUTE].is_adopted)
        *out_ready = newest_work(device);
    return GANTRY_OK;
}

/* ---- memory out ---- */

void gantry__sharing_expose(gantry__buffer_t *buffer) {
    if (!buffer->device->streams[GANTRY_STREAM_COMPUTE].is_adopted) return;
    atomic_store_explicit(&buffer->is_exposed, true, memory_order_release);
}

gantry_status_t gantry__sharing_hold(gantry__buffer_t *buffer, void *native_event) {
    gantry_logical_device_t *device = buffer->device;
    gantry__hold_t *hold = gantry__heap_zalloc(device->table->heap, sizeof *hold);
    gantry_status_t status;
    if (!hold) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__CALL_SLOT(status, gantry__backend_interop(device->backend)
                                  ->event_adopt(device->handle, native_event, &hold->event));
    if (status != GANTRY_OK) {
        gantry__heap_free(device->table->heap, hold, sizeof *hold);
        return gantry__loss_note(device, status);
    }
    gantry__buffer_add_hold(buffer, hold);
    return GANTRY_OK;
}
