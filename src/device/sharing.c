/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory that Gantry and the program share.
 *
 * A buffer ends when its last reference goes, usually with work in flight. The next owner of
 * Gantry's own memory waits for that work on its stream. That is not enough in two cases, and in
 * those the buffer goes to a list of its device:
 *
 *   the program's memory            release says that no work uses it any more
 *   held by the program's events    work that Gantry did not submit uses it
 *
 *     release of the last reference ──> list ──> uses passed, events completed ──> end
 *                                        ^ looked at by later calls of the device, none of which
 *                                          waits; the device's closing does
 *
 * Work that the program submits to an adopted queue is in the order of the compute stream. Memory
 * that was given out is therefore used, until it is given back, by the newest work of that stream:
 * its other streams wait for a point that is made when they ask.
 *
 * The list is a stack without a lock: a thread takes all of it, and puts back what is in use. */
#include "device/sharing.h"

#include "backend/backend_check.h"
#include "backend/slot_failure.h"
#include "device/device_table.h"
#include "device/loss.h"

/* An event of the program for which the memory waits. */
typedef struct gantry__hold_t {
    struct gantry__hold_t *next;
    gantry_backend_event_t *event;
} gantry__hold_t;

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
    gantry__sharing_collect(device);
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__CALL_SLOT(
        status,
        ops->region_adopt(device->handle, memory->native, memory->offset_bytes, memory->size_bytes,
                          foreign->is_writable, &span.region, &span.offset_bytes));
    if (status != GANTRY_OK) return gantry__loss_note(device, status);
    status = check_alignment(memory, &span);
    if (status == GANTRY_OK && memory->ready_event)
        status = wait_for_ready(device, ops, memory->ready_event);
    if (status == GANTRY_OK) status = gantry__buffer_over(device, &span, foreign, out_buffer);
    if (status != GANTRY_OK) {
        ops->region_disown(device->handle, span.region);
        return status;
    }
    (*out_buffer)->is_region = true;
    if (memory->ready_event || device->streams[GANTRY_STREAM_COMPUTE].is_adopted)
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
    hold->next = atomic_load(&buffer->holds);
    while (!atomic_compare_exchange_weak(&buffer->holds, &hold->next, hold)) {
    }
    return GANTRY_OK;
}

/* Whether the event has completed, well or not. A failure of the program's work is the program's.
 */
static bool is_over(const gantry_logical_device_t *device, const gantry__hold_t *hold, bool waits) {
    const gantry_event_ops_t *ops = device->backend->event;
    const uint32_t before = gantry__failures();
    int32_t done = 1;
    if (gantry__device_is_lost(device)) return true;
    const int32_t code = waits ? ops->synchronize(hold->event) : ops->query(hold->event, &done);
    gantry__forget_since(before);
    return code != GANTRY_OK || done;
}

bool gantry__sharing_is_held(gantry__buffer_t *buffer) {
    for (const gantry__hold_t *hold = atomic_load_explicit(&buffer->holds, memory_order_acquire);
         hold; hold = hold->next) {
        if (!is_over(buffer->device, hold, false)) return true;
    }
    return false;
}

static void drop_holds(gantry__buffer_t *buffer) {
    const gantry_logical_device_t *device = buffer->device;
    gantry__hold_t *hold = atomic_exchange(&buffer->holds, NULL);
    while (hold) {
        gantry__hold_t *next = hold->next;
        device->backend->event->destroy(hold->event);
        gantry__heap_free(device->table->heap, hold, sizeof *hold);
        hold = next;
    }
}

/* ---- ends ---- */

/* Whether the buffer's last use on a stream has passed. Its event is recorded once, so that later
 * work does not count. */
static bool is_unused(gantry__buffer_t *buffer, uint32_t stream, bool waits) {
    const gantry__point_t point = {&buffer->device->streams[stream],
                                   atomic_load(&buffer->last_use[stream])};
    gantry__event_t **event = &buffer->last_events[stream];
    bool is_past = true;
    if (point.count == 0 || gantry__device_is_lost(buffer->device)) return true;
    if (gantry__point_is_past(point)) return true;
    if (waits) {
        (void)gantry__point_wait(point);
        return true;
    }
    if (!*event && gantry__event_take(point, event) != GANTRY_OK)
        return gantry__device_is_lost(buffer->device); /* it is tried again */
    if (!*event) return true;
    return gantry__event_poll(*event, &is_past) != GANTRY_OK || is_past;
}

static bool is_ended(gantry__buffer_t *buffer, bool waits) {
    const uint32_t before = gantry__failures();
    bool is_ended = true;
    for (uint32_t i = 0; i < GANTRY__STREAMS && buffer->is_region && is_ended; ++i)
        is_ended = is_unused(buffer, i, waits);
    for (const gantry__hold_t *hold = atomic_load(&buffer->holds); hold && is_ended;
         hold = hold->next)
        is_ended = is_over(buffer->device, hold, waits);
    gantry__forget_since(before);
    return is_ended;
}

static void end_buffer(gantry__buffer_t *buffer) {
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        if (buffer->last_events[i]) gantry__event_release(buffer->last_events[i]);
    }
    drop_holds(buffer);
    gantry__buffer_end(buffer);
}

static void push(gantry__buffer_t *buffer) {
    gantry_logical_device_t *device = buffer->device;
    buffer->next = atomic_load(&device->ending);
    while (!atomic_compare_exchange_weak(&device->ending, &buffer->next, buffer)) {
    }
}

bool gantry__sharing_defer(gantry__buffer_t *buffer) {
    if (!buffer->is_region && !atomic_load(&buffer->holds)) return false;
    if (is_ended(buffer, false)) {
        end_buffer(buffer);
    } else {
        push(buffer);
    }
    return true;
}

static void end_those(gantry_logical_device_t *device, bool waits) {
    gantry__buffer_t *buffer = atomic_exchange(&device->ending, NULL);
    while (buffer) {
        gantry__buffer_t *next = buffer->next;
        if (is_ended(buffer, waits)) {
            end_buffer(buffer);
        } else {
            push(buffer);
        }
        buffer = next;
    }
}

void gantry__sharing_collect(gantry_logical_device_t *device) {
    if (atomic_load_explicit(&device->ending, memory_order_relaxed)) end_those(device, false);
}

void gantry__sharing_end(gantry_logical_device_t *device) { end_those(device, true); }
