/* SPDX-License-Identifier: Apache-2.0 */
/* The end of buffers. A buffer ends when its last reference goes, usually with work in flight. The
 * next owner of Gantry's own memory waits for that work on its stream. That is not enough in two
 * cases, and in those the buffer goes to a list of its device:
 *
 *   the program's memory            release says that no work uses it any more
 *   held by the program's events    work that Gantry did not submit uses it
 *
 *     release of the last reference ──> list ──> uses passed, events completed ──> end
 *                                        ^ looked at by later calls of the device, none of which
 *                                          waits; the device's closing does
 *
 * The list is a ring without a lock, of which the device has the newest buffer; its next is the
 * oldest. A thread takes all of it, and puts back what is in use. A call that only looks asks the
 * driver about a few buffers, which become the newest: the next call asks about others, and its
 * price does not grow with the list. */
#include "device/buffer.h"

#include "backend/backend_check.h"
#include "base/failure.h"
#include "device/device_table.h"
#include "device/loss.h"

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

bool gantry__buffer_is_held(gantry__buffer_t *buffer) {
    for (const gantry__hold_t *hold = atomic_load_explicit(&buffer->holds, memory_order_acquire);
         hold; hold = hold->next) {
        if (!is_over(buffer->device, hold, false)) return true;
    }
    return false;
}

static void drop_hold(const gantry_logical_device_t *device, gantry__hold_t *hold) {
    device->backend->event->destroy(hold->event);
    gantry__heap_free(device->table->heap, hold, sizeof *hold);
}

static void push_hold(gantry__buffer_t *buffer, gantry__hold_t *hold) {
    hold->next = atomic_load(&buffer->holds);
    while (!atomic_compare_exchange_weak(&buffer->holds, &hold->next, hold)) {
    }
}

/* Drops the holds, all of them or those whose event has completed. The caller's reference keeps
 * the buffer from being taken over meanwhile. */
static void drop_holds(gantry__buffer_t *buffer, bool all) {
    gantry__hold_t *hold = atomic_exchange(&buffer->holds, NULL);
    while (hold) {
        gantry__hold_t *next = hold->next;
        if (all || is_over(buffer->device, hold, false)) {
            drop_hold(buffer->device, hold);
        } else {
            push_hold(buffer, hold);
        }
        hold = next;
    }
}

void gantry__buffer_add_hold(gantry__buffer_t *buffer, gantry__hold_t *hold) {
    drop_holds(buffer, false);
    push_hold(buffer, hold);
}

/* ---- ends ---- */

static void give_back_chunk(gantry__buffer_t *buffer) {
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i)
        buffer->chunk->last_use[i] =
            atomic_load_explicit(&buffer->last_use[i], memory_order_relaxed);
    gantry__allocator_free(&buffer->device->allocator, buffer->chunk);
}

static void give_back_foreign(const gantry__buffer_t *buffer) {
    gantry_logical_device_t *device = buffer->device;
    atomic_fetch_sub_explicit(&device->allocator.foreign_bytes, buffer->span.size_bytes,
                              memory_order_relaxed);
    if (!buffer->is_region) return;
    atomic_fetch_add(&device->freed_regions, 1);
    gantry__backend_interop(device->backend)->region_disown(device->handle, buffer->span.region);
}

static void end_now(gantry__buffer_t *buffer) {
    const gantry__foreign_t foreign = buffer->foreign;
    if (buffer->chunk) {
        give_back_chunk(buffer);
    } else {
        give_back_foreign(buffer);
    }
    gantry__heap_free(buffer->device->table->heap, buffer, sizeof *buffer);
    if (foreign.release) foreign.release(foreign.user);
}

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
    drop_holds(buffer, true);
    end_now(buffer);
}

/* Each is a ring, or NULL. */
static gantry__buffer_t *join_rings(gantry__buffer_t *older, gantry__buffer_t *newer) {
    if (!older || !newer) return older ? older : newer;
    gantry__buffer_t *oldest = older->next;
    older->next = newer->next;
    newer->next = oldest;
    return newer;
}

static gantry__buffer_t *take_oldest(gantry__buffer_t **ring) {
    gantry__buffer_t *oldest = (*ring)->next;
    (*ring)->next = oldest->next;
    if (oldest == *ring) *ring = NULL;
    oldest->next = oldest;
    return oldest;
}

/* Gives the ring to the device, with what others gave meanwhile. */
static void put_back(gantry_logical_device_t *device, gantry__buffer_t *ring) {
    gantry__buffer_t *seen = NULL;
    while (ring && !atomic_compare_exchange_strong(&device->ending, &seen, ring)) {
        ring = join_rings(ring, atomic_exchange(&device->ending, NULL));
        seen = NULL;
    }
}

static void push(gantry__buffer_t *buffer) {
    buffer->next = buffer;
    put_back(buffer->device, join_rings(atomic_exchange(&buffer->device->ending, NULL), buffer));
}

static bool defer(gantry__buffer_t *buffer) {
    if (!buffer->is_region && !atomic_load(&buffer->holds)) return false;
    if (is_ended(buffer, false)) {
        end_buffer(buffer);
    } else {
        push(buffer);
    }
    return true;
}

/* Makes later work of an adopted queue follow all uses of the program's memory: the program may
 * write there from now on, in the order of its queue. */
static void order_adopted_queue(gantry__buffer_t *buffer) {
    const uint32_t before = gantry__failures();
    if (!buffer->is_region || !buffer->device->streams[GANTRY_STREAM_COMPUTE].is_adopted) return;
    const bool follows = gantry__buffer_follow_other_uses(buffer) == GANTRY_OK;
    for (uint32_t i = 0; i < GANTRY__STREAMS && !follows; ++i) (void)is_unused(buffer, i, true);
    gantry__forget_since(before);
}

void gantry__buffer_release(gantry__buffer_t *buffer) {
    if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1)
        return;
    if (buffer->chunk) gantry__buffer_note_exposed(buffer);
    order_adopted_queue(buffer);
    if (!defer(buffer)) end_now(buffer);
}

/* Stops after this many buffers that are in use. */
static void end_those(gantry_logical_device_t *device, bool waits, uint32_t most_in_use) {
    gantry__buffer_t *ring = atomic_exchange(&device->ending, NULL), *in_use = NULL;
    for (uint32_t count = 0; ring && count < most_in_use;) {
        gantry__buffer_t *oldest = take_oldest(&ring);
        if (is_ended(oldest, waits)) {
            end_buffer(oldest);
        } else {
            in_use = join_rings(in_use, oldest);
            ++count;
        }
    }
    put_back(device, join_rings(ring, in_use));
}

void gantry__buffers_look(gantry_logical_device_t *device) {
    enum { MOST_ASKED = 4 };
    if (atomic_load_explicit(&device->ending, memory_order_relaxed))
        end_those(device, false, MOST_ASKED);
}

void gantry__buffers_collect(gantry_logical_device_t *device) {
    end_those(device, false, UINT32_MAX);
}

void gantry__buffers_end(gantry_logical_device_t *device) { end_those(device, true, UINT32_MAX); }
