/* SPDX-License-Identifier: Apache-2.0 */
/* Points and events.
 *
 *   submissions of T:   1   2   3   4   5      event e recorded after 4
 *   S needs (T, 3):     T.completed >= 3       nothing to do
 *                       S.waited[T] >= 3       nothing to do, S is after an earlier event already
 *                       T.last_event.count 4   S waits for e, S.waited[T] = 4
 *                       else                   T records an event now, after all its work
 *
 * Failures. A driver reports failed work to every call that waits for something after it, until the
 * stream is synchronised; an error also travels with an event to the streams that waited for it. So
 * a thread that meets one keeps it here, for the points that it may concern. It then synchronises
 * all streams of the device, and of the devices whose events it waited for, which clears their
 * drivers' memory: work that is submitted later ends well again.
 *
 *   known good | may have failed, up to what was submitted when it was met | later
 *   1        4   5                                                       9   10
 *
 * A device is lost if its stream reports Unavailable once more after that: an error that came with
 * another device's event is reported once.
 *
 * No thread ever holds two streams' locks: the event is taken from T, counted, and T's lock
 * released, before S is locked. */
#include "device/stream.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend_check.h"
#include "backend/slot_failure.h"
#include "base/profile_frame.h"
#include "device/card.h"

static gantry_status_t create_handle(const gantry_backend_t *backend,
                                     gantry_backend_device_t *device, uint32_t index,
                                     const int32_t *priority,
                                     gantry_backend_stream_t **out_handle) {
    const gantry_stream_ops_t *ops = backend->stream;
    gantry_status_t status;
    if (priority && GANTRY_ABI_HAS(ops, create_with_priority) && ops->create_with_priority)
        GANTRY__CALL_SLOT(status,
                          ops->create_with_priority(device, (int32_t)index, *priority, out_handle));
    else
        GANTRY__CALL_SLOT(status, ops->create(device, (int32_t)index, out_handle));
    return status;
}

/* Initialises all but the handle. */
static gantry_status_t init_stream(gantry__stream_t *stream, const gantry__stream_t *content) {
    *stream = *content;
    if (gantry__mutex_init(&stream->lock) == 0) return GANTRY_OK;
    stream->backend = NULL;
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
}

/* status: of making the handle */
static gantry_status_t end_init(gantry__stream_t *stream, gantry_status_t status) {
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry__mutex_deinit(&stream->lock);
    stream->backend = NULL;
    return status;
}

gantry_status_t gantry__stream_init(gantry__stream_t *stream, const gantry__heap_t *heap,
                                    const gantry_backend_t *backend,
                                    gantry_backend_device_t *device,
                                    const gantry__stream_owner_t *owner, uint32_t index,
                                    const int32_t *priority, bool synchronous) {
    GANTRY__TRY(init_stream(stream, &(gantry__stream_t){.backend = backend,
                                                        .device = device,
                                                        .owner = *owner,
                                                        .heap = heap,
                                                        .index = index,
                                                        .synchronous = synchronous,
                                                        .has_priority = priority,
                                                        .priority = priority ? *priority : 0}));
    return end_init(stream, create_handle(backend, device, index, priority, &stream->handle));
}

gantry_status_t gantry__stream_init_over(gantry__stream_t *stream, const gantry__heap_t *heap,
                                         const gantry_backend_t *backend,
                                         gantry_backend_device_t *device,
                                         const gantry__stream_owner_t *owner, uint32_t index,
                                         void *native_queue) {
    GANTRY__TRY(init_stream(stream, &(gantry__stream_t){.backend = backend,
                                                        .device = device,
                                                        .owner = *owner,
                                                        .heap = heap,
                                                        .index = index,
                                                        .is_adopted = true}));
    gantry_status_t status;
    GANTRY__CALL_SLOT(status, gantry__backend_interop(backend)->stream_adopt(device, native_queue,
                                                                             &stream->handle));
    return end_init(stream, status);
}

gantry_status_t gantry__stream_make_twin(const gantry__stream_t *stream,
                                         gantry_backend_stream_t **out_handle) {
    return create_handle(stream->backend, stream->device, stream->index,
                         stream->has_priority ? &stream->priority : NULL, out_handle);
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
    return is_completed(point) &&
           !atomic_load_explicit(&point.stream->has_failed, memory_order_acquire);
}

/* ---- failures ---- */

static bool is_lost(const gantry__stream_t *stream) {
    return stream->owner.card && gantry__card_is_lost(stream->owner.card);
}

/* Merges the two ranges with the smallest gap, with the cause of the first. */
static void merge_nearest(gantry__stream_t *stream) {
    gantry__failed_range_t *failed = stream->failed;
    uint32_t nearest = 0;
    for (uint32_t i = 1; i + 1 < stream->failed_count; ++i) {
        if (failed[i + 1].from - failed[i].to < failed[nearest + 1].from - failed[nearest].to)
            nearest = i;
    }
    failed[nearest].to = failed[nearest + 1].to;
    uint32_t behind = stream->failed_count - nearest - 2;
    memmove(&failed[nearest + 1], &failed[nearest + 2], behind * sizeof *failed);
    --stream->failed_count;
}

static void add_range(gantry__stream_t *stream, uint64_t from, uint64_t to, gantry_status_t status,
                      const char *text) {
    gantry__failed_range_t *last =
        stream->failed_count ? &stream->failed[stream->failed_count - 1] : NULL;
    if (last && from <= last->to) { /* met by two threads, or twice by one */
        if (last->to < to) last->to = to;
        return;
    }
    if (stream->failed_count == GANTRY__FAILED_RANGES) merge_nearest(stream);
    gantry__failed_range_t *range = &stream->failed[stream->failed_count++];
    *range = (gantry__failed_range_t){.from = from, .to = to, .status = status};
    (void)snprintf(range->text, sizeof range->text, "%s", text);
}

/* Everything after the work known to be good has failed, up to the work submitted by now: later
 * work may have read the results of the failed one. Returns that count. */
static uint64_t keep_failure(gantry__stream_t *stream, gantry_status_t status, const char *text) {
    gantry__mutex_lock(&stream->lock);
    uint64_t completed = atomic_load(&stream->completed);
    uint64_t submitted = atomic_load(&stream->submitted);
    add_range(stream, completed < submitted ? completed + 1 : submitted, submitted, status, text);
    atomic_store_explicit(&stream->has_failed, true, memory_order_release);
    gantry__mutex_unlock(&stream->lock);
    return submitted;
}

/* The failure that has the point in its range, if any. */
static gantry_status_t failure_of(gantry__point_t point) {
    gantry__stream_t *stream = point.stream;
    if (!atomic_load_explicit(&stream->has_failed, memory_order_acquire)) return GANTRY_OK;
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&stream->lock);
    for (uint32_t i = 0; i < stream->failed_count && status == GANTRY_OK; ++i) {
        const gantry__failed_range_t *range = &stream->failed[i];
        if (point.count >= range->from && point.count <= range->to)
            status = gantry__fail(range->status, "%s", range->text);
    }
    gantry__mutex_unlock(&stream->lock);
    return status;
}

bool gantry__point_has_failed(gantry__point_t point) {
    if (!point.stream) return false;
    const uint32_t before = gantry__failures();
    const bool has_failed = failure_of(point) != GANTRY_OK;
    gantry__forget_since(before);
    return has_failed;
}

static gantry_status_t ask_driver_to_wait(const gantry__stream_t *stream) {
    GANTRY__PHASE(gantry__profile_current(), WAIT);
    gantry_status_t status;
    GANTRY__CALL_SLOT(status, stream->backend->stream->synchronize(stream->handle));
    return status;
}

/* Passes on the result of a slot, and marks the device as lost if it says so; the stream's lock is
 * not held. */
static gantry_status_t note_refusal(gantry__stream_t *stream, gantry_status_t status) {
    const gantry__stream_owner_t *owner = &stream->owner;
    if (status == GANTRY_OK || !owner->card) return status;
    return owner->note(owner->device, status);
}

/* Keeps the failure whose text is the thread's last message, and makes the driver forget it. All
 * work of the stream is over on return; true if its device is lost. */
static bool keep_and_clear(gantry__stream_t *stream, gantry_status_t status) {
    char text[sizeof stream->failed[0].text];
    (void)snprintf(text, sizeof text, "%s", gantry__message());
    uint64_t count = keep_failure(stream, status, text);
    bool is_told_again = ask_driver_to_wait(stream) == GANTRY_UNAVAILABLE &&
                         status == GANTRY_UNAVAILABLE &&
                         ask_driver_to_wait(stream) == GANTRY_UNAVAILABLE;
    raise_to(&stream->completed, count);
    (void)gantry__fail(status, "%s", text);
    if (is_told_again) (void)note_refusal(stream, status);
    return is_told_again;
}

/* Adds the functions whose work it may be to the message of the failure. */
static void tell_uses(const gantry__stream_t *stream, gantry_status_t status) {
    char uses[256], text[GANTRY__MESSAGE_BYTES];
    if (!stream->owner.card) return;
    stream->owner.print_uses(stream->owner.device, uses, sizeof uses);
    if (!*uses) return;
    (void)snprintf(text, sizeof text, "%.1700s%s", gantry__message(), uses);
    (void)gantry__fail(status, "%s", text);
}

void gantry__stream_clear(gantry__stream_t *stream) {
    uint64_t count = atomic_load(&stream->submitted);
    gantry_status_t status = ask_driver_to_wait(stream);
    if (status != GANTRY_OK) {
        tell_uses(stream, status);
        (void)keep_and_clear(stream, status);
    }
    raise_to(&stream->completed, count);
}

/* A wait on the stream found the failure of the thread's last message. All its work is over on
 * return. */
static gantry_status_t meet_failure(gantry__stream_t *stream, gantry_status_t status) {
    char text[GANTRY__MESSAGE_BYTES];
    tell_uses(stream, status);
    (void)snprintf(text, sizeof text, "%s", gantry__message());
    bool is_lost_now = keep_and_clear(stream, status);
    if (!stream->owner.card) return gantry__fail(status, "%s", text);
    if (is_lost_now) return note_refusal(stream, status);
    stream->owner.clear(stream->owner.device, stream);
    return gantry__fail(status, "%s", text);
}

/* The failure of everything on a lost device; its work is over once its driver has reported the
 * loss. */
static gantry_status_t lost_failure(gantry__stream_t *stream) {
    uint64_t count = atomic_load(&stream->submitted);
    if (atomic_load(&stream->completed) < count) {
        (void)ask_driver_to_wait(stream);
        raise_to(&stream->completed, count);
    }
    return note_refusal(stream, GANTRY_UNAVAILABLE);
}

/* ---- events ---- */

static gantry__event_t *retain_event(gantry__event_t *event) {
    atomic_fetch_add_explicit(&event->references, 1, memory_order_relaxed);
    return event;
}

/* The caller must hold the stream's lock. */
static void drop_event_locked(gantry__event_t *event) {
    if (atomic_fetch_sub(&event->references, 1) != 1) return;
    event->next = event->stream->spare;
    event->stream->spare = event;
}

void gantry__event_release(gantry__event_t *event) {
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
        gantry_status_t status;
        GANTRY__CALL_SLOT(status, stream->backend->event->create(stream->device, &event->handle));
        if (status != GANTRY_OK) {
            gantry__heap_free(stream->heap, event, sizeof *event);
            return status;
        }
    }
    atomic_store_explicit(&event->references, 1, memory_order_relaxed);
    *out_event = event;
    return GANTRY_OK;
}

/* Makes last_event cover everything submitted. The caller must hold the lock. */
static gantry_status_t record_event(gantry__stream_t *stream) {
    gantry__event_t *event;
    GANTRY__TRY(take_spare_event(stream, &event));
    const uint64_t count = atomic_load(&stream->submitted);
    gantry_status_t status =
        (gantry_status_t)stream->backend->event->record(event->handle, stream->handle);
    if (status != GANTRY_OK) {
        drop_event_locked(event);
        return status;
    }
    event->count = count;
    if (stream->last_event) drop_event_locked(stream->last_event);
    stream->last_event = event;
    return GANTRY_OK;
}

/* An event at or after the point, counted for the caller; *out_event is NULL if the point has
 * passed. A caller without an event waits for the whole stream instead: work in flight may be about
 * to write the caller's memory. */
gantry_status_t gantry__event_take(gantry__point_t point, gantry__event_t **out_event) {
    gantry__stream_t *stream = point.stream;
    *out_event = NULL;
    if (is_completed(point)) return GANTRY_OK;
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&stream->lock);
    if (!stream->last_event || stream->last_event->count < point.count)
        status = record_event(stream);
    if (status == GANTRY_OK) *out_event = retain_event(stream->last_event);
    gantry__mutex_unlock(&stream->lock);
    return note_refusal(stream, status);
}

gantry_status_t gantry__event_poll(const gantry__event_t *event, bool *out_is_past) {
    gantry__stream_t *stream = event->stream;
    const gantry__point_t point = {stream, event->count};
    int32_t done = 0;
    *out_is_past = true;
    if (is_lost(stream)) return lost_failure(stream);
    if (gantry__point_is_past(point)) return GANTRY_OK;
    GANTRY__TRY(failure_of(point));
    gantry_status_t status = (gantry_status_t)stream->backend->event->query(event->handle, &done);
    if (status != GANTRY_OK) return meet_failure(stream, status);
    if (done) raise_to(&stream->completed, event->count);
    *out_is_past = done;
    return GANTRY_OK;
}

static gantry_status_t ask_driver_for_event(const gantry__event_t *event) {
    GANTRY__PHASE(gantry__profile_current(), WAIT);
    return (gantry_status_t)event->stream->backend->event->synchronize(event->handle);
}

static gantry_status_t wait_on_host(gantry__event_t *event) {
    gantry__stream_t *stream = event->stream;
    gantry_status_t status = ask_driver_for_event(event);
    if (status != GANTRY_OK) return meet_failure(stream, status);
    raise_to(&stream->completed, event->count);
    return GANTRY_OK;
}

static bool is_sibling(const gantry__stream_t *a, const gantry__stream_t *b) {
    return a->owner.device == b->owner.device;
}

/* Whether the stream already waits for the point, or for a later one. It needs no lock, because the
 * count is raised after the driver has the wait, so that whoever sees it submits after that
 * wait. */
static bool follows_already(gantry__stream_t *stream, gantry__point_t point) {
    return !stream->synchronous && is_sibling(stream, point.stream) &&
           atomic_load_explicit(&stream->waited[point.stream->index], memory_order_acquire) >=
               point.count;
}

bool gantry__stream_is_after(gantry__stream_t *stream, gantry__point_t point) {
    if (!point.stream || point.stream->synchronous) return true;
    if (atomic_load_explicit(&point.stream->has_failed, memory_order_acquire)) return false;
    return is_completed(point) ||
           (!is_lost(point.stream) && (point.stream == stream || follows_already(stream, point)));
}

/* Makes one stream wait for an event of another, on the device if possible. */
static gantry_status_t wait_on_device(gantry__stream_t *stream, gantry__point_t point,
                                      gantry__event_t *event) {
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&stream->lock);
    atomic_uint_fast64_t *known =
        is_sibling(stream, point.stream) ? &stream->waited[point.stream->index] : NULL;
    if (!known)
        (void)atomic_fetch_or(&stream->waited_for, UINT64_C(1)
                                                       << (point.stream->owner.position % 64));
    if (!known || atomic_load_explicit(known, memory_order_relaxed) < point.count) {
        status =
            (gantry_status_t)stream->backend->stream->wait_event(stream->handle, event->handle);
        /* after the wait: a thread that synchronises meanwhile covers it, or leaves this */
        atomic_store_explicit(&stream->waits, true, memory_order_release);
        if (status == GANTRY_OK && known)
            atomic_store_explicit(known, event->count, memory_order_release);
    }
    gantry__mutex_unlock(&stream->lock);
    return status;
}

/* The wait was Unavailable, so one of the two devices is lost. If it is not the one that was
 * waited for, that one's work ends here and the order holds; the other's next submission reports
 * the loss. */
static gantry_status_t settle_refused_wait(gantry__stream_t *stream, gantry__point_t point,
                                           bool order_only) {
    if (is_sibling(stream, point.stream)) return note_refusal(stream, GANTRY_UNAVAILABLE);
    gantry_status_t status = gantry__stream_synchronize(point.stream);
    return order_only ? GANTRY_OK : status;
}

/* Waits for one point; order_only: ignores failures of the work before the point. */
static gantry_status_t wait_for_one(gantry__stream_t *stream, gantry__point_t point,
                                    bool order_only) {
    gantry_status_t status = GANTRY_OK;
    if (point.stream && is_lost(point.stream)) {
        status = lost_failure(point.stream);
        return order_only ? GANTRY_OK : status;
    }
    if (gantry__point_is_past(point)) return GANTRY_OK;
    status = failure_of(point);
    /* it is over: the thread that found the failure waited for the stream */
    if (status != GANTRY_OK) return order_only ? GANTRY_OK : status;
    if (point.stream == stream || follows_already(stream, point)) return GANTRY_OK;
    gantry__event_t *event;
    if (gantry__event_take(point, &event) != GANTRY_OK) {
        status = gantry__stream_synchronize(point.stream);
        return order_only ? GANTRY_OK : status;
    }
    if (!event) return GANTRY_OK;
    if (stream->synchronous || stream->backend != point.stream->backend) {
        status = wait_on_host(event);
        if (order_only) status = GANTRY_OK;
    } else {
        status = wait_on_device(stream, point, event);
        if (status == GANTRY_UNAVAILABLE) status = settle_refused_wait(stream, point, order_only);
    }
    gantry__event_release(event);
    return status;
}

gantry_status_t gantry__stream_wait_for(gantry__stream_t *stream, const gantry__point_t *points,
                                        size_t count) {
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(wait_for_one(stream, points[i], false));
    return GANTRY_OK;
}

gantry_status_t gantry__stream_follow(gantry__stream_t *stream, const gantry__point_t *points,
                                      size_t count) {
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

/* It needs no lock, because whoever records an event reads the count before, so that an event with
 * this count is after this thread's work. */
uint64_t gantry__stream_count(gantry__stream_t *stream) {
    return stream->synchronous ? 0 : atomic_fetch_add(&stream->submitted, 1) + 1;
}

gantry_status_t gantry__point_wait(gantry__point_t point) {
    if (point.stream && is_lost(point.stream)) return lost_failure(point.stream);
    if (gantry__point_is_past(point)) return GANTRY_OK;
    GANTRY__TRY(failure_of(point));
    gantry__event_t *event;
    if (gantry__event_take(point, &event) != GANTRY_OK)
        return gantry__stream_synchronize(point.stream);
    if (!event) return GANTRY_OK;
    gantry_status_t status = wait_on_host(event);
    gantry__event_release(event);
    return status;
}

void gantry__point_passed(gantry__point_t point) {
    if (point.stream) raise_to(&point.stream->completed, point.count);
}

void gantry__stream_flush(gantry__stream_t *stream) {
    if (!stream->backend || stream->synchronous) return;
    const gantry_stream_ops_t *ops = stream->backend->stream;
    uint64_t count = atomic_load(&stream->submitted);
    if (!GANTRY_ABI_HAS(ops, flush) || !ops->flush || atomic_load(&stream->flushed) >= count)
        return;
    if (is_lost(stream)) return;
    gantry_status_t status = (gantry_status_t)ops->flush(stream->handle);
    if (note_refusal(stream, status) == GANTRY_OK) raise_to(&stream->flushed, count);
}

/* Some drivers delay commands until a flush, and the device idles meanwhile. For most drivers a
 * flush is a system call, so that one flush per command would cost more than the command. */
void gantry__stream_end_busy(gantry__stream_t *stream) {
    enum { MOST_UNFLUSHED = 16 };
    if (stream->synchronous) return;
    uint64_t flushed = atomic_load_explicit(&stream->flushed, memory_order_relaxed);
    uint64_t completed = atomic_load_explicit(&stream->completed, memory_order_relaxed);
    bool is_due = ++stream->unflushed >= MOST_UNFLUSHED || flushed <= completed;
    if (is_due) stream->unflushed = 0;
    (void)gantry__stream_end(stream);
    if (is_due) gantry__stream_flush(stream);
}

bool gantry__stream_is_idle(gantry__stream_t *stream) {
    if (!stream->backend || stream->synchronous) return true;
    const gantry__point_t last = {stream, atomic_load(&stream->submitted)};
    return !is_lost(stream) && is_completed(last) &&
           !atomic_load_explicit(&stream->waits, memory_order_acquire);
}

gantry_status_t gantry__stream_synchronize(gantry__stream_t *stream) {
    if (!stream->backend || stream->synchronous) return GANTRY_OK;
    if (is_lost(stream)) return lost_failure(stream);
    uint64_t count = atomic_load(&stream->submitted);
    atomic_store(&stream->waits, false);
    gantry_status_t status = ask_driver_to_wait(stream);
    if (status != GANTRY_OK) return meet_failure(stream, status);
    raise_to(&stream->completed, count);
    return GANTRY_OK;
}
