/* Points and events.
 *
 *   submissions of T:   1   2   3   4   5      event e recorded after 4
 *   S needs (T, 3):     T.completed >= 3       nothing to do
 *                       S.waited[T] >= 3       nothing to do, S is behind an earlier event already
 *                       T.last_event.count 4   S waits for e, S.waited[T] = 4
 *                       else                   an event is recorded on T now, covering all that T was given
 *
 * No thread ever holds two streams' locks: the event is taken from T, counted, and T's lock released, before S is locked. */
#include "device/stream.h"

#include <stdio.h>

static gantry_status_t create_handle(const gantry_backend_t *backend, gantry_backend_device_t *device, uint32_t index,
                                     const int32_t *priority, gantry_backend_stream_t **out_handle) {
    const gantry_stream_ops_t *ops = backend->stream;
    if (priority && GANTRY_ABI_HAS(ops, create_with_priority) && ops->create_with_priority)
        return (gantry_status_t)ops->create_with_priority(device, (int32_t)index, *priority, out_handle);
    return (gantry_status_t)ops->create(device, (int32_t)index, out_handle);
}

gantry_status_t gantry__stream_init(gantry__stream_t *stream, const gantry__heap_t *heap,
                                    const gantry_backend_t *backend, gantry_backend_device_t *device, const void *owner,
                                    uint32_t index, const int32_t *priority, bool synchronous) {
    *stream = (gantry__stream_t){
        .backend = backend, .device = device, .owner = owner, .heap = heap, .index = index, .synchronous = synchronous};
    if (gantry__mutex_init(&stream->lock) != 0) return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    gantry_status_t status = create_handle(backend, device, index, priority, &stream->handle);
    if (status != GANTRY_OK) {
        gantry__mutex_deinit(&stream->lock);
        stream->backend = NULL;
    }
    return status;
}

static void destroy_event(gantry__event_t *event) {
    event->stream->backend->event->destroy(event->handle);
    gantry__heap_free(event->stream->heap, event, sizeof *event);
}

void gantry__stream_deinit(gantry__stream_t *stream) {
    if (!stream->backend) return;
    (void)stream->backend->stream->synchronize(stream->handle);
    if (stream->last_event) destroy_event(stream->last_event);
    while (stream->spare) {
        gantry__event_t *event = stream->spare;
        stream->spare = event->next;
        destroy_event(event);
    }
    stream->backend->stream->destroy(stream->handle);
    gantry__mutex_deinit(&stream->lock);
    stream->backend = NULL;
}

static void raise_to(atomic_uint_fast64_t *value, uint64_t wanted) {
    uint_fast64_t seen = atomic_load_explicit(value, memory_order_relaxed);
    while (seen < wanted && !atomic_compare_exchange_weak(value, &seen, wanted)) {
    }
}

static bool is_completed(gantry__point_t point) {
    return atomic_load_explicit(&point.stream->completed, memory_order_acquire) >= point.count;
}

bool gantry__point_is_past(gantry__point_t point) {
    if (!point.stream || point.stream->synchronous) return true;
    return is_completed(point) && !atomic_load_explicit(&point.stream->has_failed, memory_order_acquire);
}

/* ---- failures ---- */

/* Everything after what is known to be good has failed with the thread's last message, up to what has been submitted by now: later work
 * than the one that failed may have read its results. Returns that count. */
static uint64_t keep_failure(gantry__stream_t *stream, gantry_status_t status) {
    gantry__mutex_lock(&stream->lock);
    uint64_t completed = atomic_load(&stream->completed);
    uint64_t submitted = atomic_load(&stream->submitted);
    if (!atomic_load(&stream->has_failed)) {
        stream->failed_from = completed < submitted ? completed + 1 : submitted;
        stream->failed_status = status;
        (void)snprintf(stream->failed_text, sizeof stream->failed_text, "%s", gantry__message());
    }
    stream->failed_to = submitted;
    atomic_store_explicit(&stream->has_failed, true, memory_order_release);
    gantry__mutex_unlock(&stream->lock);
    return submitted;
}

/* The failure that the point lies in, if any. */
static gantry_status_t failure_of(gantry__point_t point) {
    gantry__stream_t *stream = point.stream;
    if (!atomic_load_explicit(&stream->has_failed, memory_order_acquire)) return GANTRY_OK;
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&stream->lock);
    if (point.count >= stream->failed_from && point.count <= stream->failed_to) {
        status = gantry__fail(stream->failed_status, "%s", stream->failed_text);
    }
    gantry__mutex_unlock(&stream->lock);
    return status;
}

static gantry__event_t *retain_event(gantry__event_t *event) {
    atomic_fetch_add_explicit(&event->references, 1, memory_order_relaxed);
    return event;
}

/* The stream's lock is held. */
static void drop_event_locked(gantry__event_t *event) {
    if (atomic_fetch_sub(&event->references, 1) != 1) return;
    event->next = event->stream->spare;
    event->stream->spare = event;
}

static void release_event(gantry__event_t *event) {
    gantry__stream_t *stream = event->stream;
    gantry__mutex_lock(&stream->lock);
    drop_event_locked(event);
    gantry__mutex_unlock(&stream->lock);
}

static gantry_status_t take_spare_event(gantry__stream_t *stream, gantry__event_t **out_event) {
    gantry__event_t *event = stream->spare;
    if (event) {
        stream->spare = event->next;
    } else {
        event = gantry__heap_zalloc(stream->heap, sizeof *event);
        if (!event) return GANTRY_RESOURCE_EXHAUSTED;
        event->stream = stream;
        gantry_status_t status = (gantry_status_t)stream->backend->event->create(stream->device, &event->handle);
        if (status != GANTRY_OK) {
            gantry__heap_free(stream->heap, event, sizeof *event);
            return status;
        }
    }
    atomic_store_explicit(&event->references, 1, memory_order_relaxed);
    *out_event = event;
    return GANTRY_OK;
}

/* Makes last_event cover everything submitted; the lock is held. */
static gantry_status_t record_event(gantry__stream_t *stream) {
    gantry__event_t *event;
    GANTRY__TRY(take_spare_event(stream, &event));
    gantry_status_t status = (gantry_status_t)stream->backend->event->record(event->handle, stream->handle);
    if (status != GANTRY_OK) {
        drop_event_locked(event);
        return status;
    }
    event->count = atomic_load(&stream->submitted);
    if (stream->last_event) drop_event_locked(stream->last_event);
    stream->last_event = event;
    return GANTRY_OK;
}

/* An event at or after the point, counted for the caller; *out_event is NULL when the point has passed. Who gets none waits for the whole
 * stream instead: work in flight may be about to write memory of the caller. */
static gantry_status_t event_for(gantry__point_t point, gantry__event_t **out_event) {
    gantry__stream_t *stream = point.stream;
    *out_event = NULL;
    if (is_completed(point)) return GANTRY_OK;
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&stream->lock);
    if (!stream->last_event || stream->last_event->count < point.count) status = record_event(stream);
    if (status == GANTRY_OK) *out_event = retain_event(stream->last_event);
    gantry__mutex_unlock(&stream->lock);
    return status;
}

static gantry_status_t wait_on_host(gantry__event_t *event) {
    gantry__stream_t *stream = event->stream;
    gantry_status_t status = (gantry_status_t)stream->backend->event->synchronize(event->handle);
    uint64_t count = event->count;
    if (status != GANTRY_OK) {
        count = keep_failure(stream, status);
        (void)stream->backend->stream->synchronize(
            stream->handle); /* so that later events do not carry this error again */
        (void)gantry__fail(status, "%s", stream->failed_text);
    }
    raise_to(&stream->completed, count);
    return status;
}

static bool is_sibling(const gantry__stream_t *a, const gantry__stream_t *b) { return a->owner == b->owner; }

/* One stream behind an event of another, on the device where that goes. */
static gantry_status_t wait_on_device(gantry__stream_t *stream, gantry__point_t point, gantry__event_t *event) {
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&stream->lock);
    uint64_t *known = is_sibling(stream, point.stream) ? &stream->waited[point.stream->index] : NULL;
    if (!known || *known < point.count) {
        status = (gantry_status_t)stream->backend->stream->wait_event(stream->handle, event->handle);
        if (status == GANTRY_OK && known) *known = event->count;
    }
    gantry__mutex_unlock(&stream->lock);
    return status;
}

/* order_only: it does not matter how the work before the point ended. */
static gantry_status_t wait_for_one(gantry__stream_t *stream, gantry__point_t point, bool order_only) {
    if (gantry__point_is_past(point)) return GANTRY_OK;
    gantry_status_t status = failure_of(point);
    if (status != GANTRY_OK)
        return order_only ? GANTRY_OK : status; /* it is over: whoever found the failure waited for the stream */
    if (point.stream == stream) return GANTRY_OK;
    gantry__event_t *event;
    if (event_for(point, &event) != GANTRY_OK) {
        status = gantry__stream_synchronize(point.stream);
        return order_only ? GANTRY_OK : status;
    }
    if (!event) return GANTRY_OK;
    if (stream->synchronous || stream->backend != point.stream->backend) {
        status = wait_on_host(event);
        if (order_only) status = GANTRY_OK;
    } else {
        status = wait_on_device(stream, point, event);
    }
    release_event(event);
    return status;
}

gantry_status_t gantry__stream_wait_for(gantry__stream_t *stream, const gantry__point_t *points, size_t count) {
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(wait_for_one(stream, points[i], false));
    return GANTRY_OK;
}

gantry_status_t gantry__stream_follow(gantry__stream_t *stream, const gantry__point_t *points, size_t count) {
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(wait_for_one(stream, points[i], true));
    return GANTRY_OK;
}

void gantry__stream_begin(gantry__stream_t *stream) {
    if (!stream->synchronous) gantry__mutex_lock(&stream->lock);
}

uint64_t gantry__stream_end(gantry__stream_t *stream) {
    if (stream->synchronous) return 0;
    uint64_t count = atomic_fetch_add(&stream->submitted, 1) + 1;
    gantry__mutex_unlock(&stream->lock);
    return count;
}

gantry_status_t gantry__point_wait(gantry__point_t point) {
    if (gantry__point_is_past(point)) return GANTRY_OK;
    GANTRY__TRY(failure_of(point));
    gantry__event_t *event;
    if (event_for(point, &event) != GANTRY_OK) return gantry__stream_synchronize(point.stream);
    if (!event) return GANTRY_OK;
    gantry_status_t status = wait_on_host(event);
    release_event(event);
    return status;
}

void gantry__point_passed(gantry__point_t point) {
    if (point.stream) raise_to(&point.stream->completed, point.count);
}

void gantry__stream_flush(gantry__stream_t *stream) {
    if (!stream->backend || stream->synchronous) return;
    const gantry_stream_ops_t *ops = stream->backend->stream;
    uint64_t count = atomic_load(&stream->submitted);
    if (!GANTRY_ABI_HAS(ops, flush) || !ops->flush || atomic_load(&stream->flushed) >= count) return;
    if (ops->flush(stream->handle) == GANTRY_OK) raise_to(&stream->flushed, count);
}

gantry_status_t gantry__stream_synchronize(gantry__stream_t *stream) {
    if (!stream->backend || stream->synchronous) return GANTRY_OK;
    uint64_t count = atomic_load(&stream->submitted);
    gantry_status_t status = (gantry_status_t)stream->backend->stream->synchronize(stream->handle);
    if (status != GANTRY_OK) (void)keep_failure(stream, status);
    raise_to(&stream->completed, count);
    return status;
}
