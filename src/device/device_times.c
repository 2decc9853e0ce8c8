/* SPDX-License-Identifier: Apache-2.0 */
/* When a device worked. A synchronous device works while its call runs, so its events are on the
 * threads that call. For the others, events of the driver say it:
 *
 *   host     submit A    submit B             wait
 *   stream   |begin? AAAAAAAA end|BBBBBB end|
 *
 * Work is given an event after it. It begins when the work before it on its stream ends, or when it
 * is submitted, whichever is later. A stream that was made to wait for another one begins later
 * than that, so such work is given an event in front of it, too. The times are read once the stream
 * is known to have passed, without a call of the driver; a ring of submissions bounds what is
 * unread.
 *
 * A device's clock is tied to the host's by one event that the host waits for, and again once a
 * second when the device has nothing to do, because clocks drift. A backend without times, or an
 * event without one, leaves the time of the submission on the host. The event's args and the
 * device's head in the file say so.
 *
 * The lock of the times is taken before the lock of a stream. */
#include "device/device_times.h"

#include <string.h>

#include "device/physical_device.h"
#include "base/event_clock.h"

enum { RING = 128 }; /* unread submissions of a stream */
#define RESAMPLE_NS 1000000000

typedef struct submission_t {
    gantry__timed_t timed; /* its begin is NULL if the work before is its begin */
    uint64_t count;        /* after the event */
    uint64_t returned_ns, bytes;
} submission_t;

typedef struct stream_times_t {
    submission_t ring[RING];
    gantry_backend_event_t *ends[RING]; /* after each submission; kept for the next ones */
    uint32_t first, used;
    uint64_t ended_ns; /* the end of the last one written */
    uint64_t waited;   /* changes when the stream is made to wait for another */
} stream_times_t;

typedef struct gantry__device_times_t {
    gantry__mutex_t lock;
    atomic_bool is_ready; /* the timeline has the device's head; set under lock */
    atomic_uint_fast64_t level_bytes;
    /* under lock */
    bool has_times;
    gantry_backend_event_t *base; /* ended at base_ns of the host's clock */
    uint64_t base_ns, sampled_ns;
    stream_times_t streams[GANTRY__STREAMS];
} times_t;

int gantry__device_set_profile(gantry__device_table_t *table, int mode) {
    int seen = atomic_load(&table->profiling);
    while (
        !atomic_compare_exchange_weak(&table->profiling, &seen, mode | (seen & GANTRY__TRACING))) {
    }
    return seen;
}

int gantry__device_set_tracing(gantry__device_table_t *table, bool is_tracing) {
    return is_tracing ? atomic_fetch_or(&table->profiling, GANTRY__TRACING)
                      : atomic_fetch_and(&table->profiling, ~GANTRY__TRACING);
}

/* ---- the driver's events ---- */

static bool can_time(const gantry_logical_device_t *device) {
    const gantry_event_ops_t *ops = device->backend->event;
    return !device->synchronous && GANTRY_ABI_HAS(ops, elapsed) && ops->elapsed;
}

static void time_streams(gantry_logical_device_t *device, int32_t timed) {
    const gantry_stream_ops_t *ops = device->backend->stream;
    if (device->synchronous || !GANTRY_ABI_HAS(ops, set_timed) || !ops->set_timed) return;
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        gantry__stream_t *stream = &device->streams[i];
        /* keeps failures for their points: the slot may forget them */
        (void)gantry__stream_synchronize(stream);
        gantry__stream_begin(stream);
        (void)ops->set_timed(stream->handle, timed);
        (void)gantry__stream_end(stream);
    }
}

static gantry_backend_event_t *make_timed_event(const gantry_logical_device_t *device) {
    const gantry_event_ops_t *ops = device->backend->event;
    gantry_backend_event_t *event = NULL;
    const bool has_slot = GANTRY_ABI_HAS(ops, create_timed) && ops->create_timed;
    const int32_t code =
        has_slot ? ops->create_timed(device->handle, &event) : ops->create(device->handle, &event);
    return code == GANTRY_OK ? event : NULL;
}

/* A number that changes with each wait of the stream for another. The caller must hold the stream's
 * lock. */
static uint64_t waited_of(const gantry__stream_t *stream) {
    uint64_t sum = atomic_load(&stream->waited_for);
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) sum += stream->waited[i];
    return sum;
}

/* *out_count names the record; false: there is none. A record after flushed work is flushed, too,
 * because otherwise its time would be that of the next flush. */
static bool record_timed(gantry__stream_t *stream, gantry_backend_event_t *event,
                         uint64_t *out_count) {
    gantry__stream_begin(stream);
    const bool is_flushed = atomic_load(&stream->flushed) >= atomic_load(&stream->submitted);
    const int32_t code = stream->backend->event->record(event, stream->handle);
    *out_count = gantry__stream_end(stream);
    if (is_flushed) gantry__stream_flush(stream);
    return code == GANTRY_OK;
}

/* The event's time on the host's clock; false if it has none. */
static bool host_time_of(const gantry_logical_device_t *device, const times_t *times,
                         gantry_backend_event_t *event, uint64_t *out_ns) {
    int64_t ns = 0;
    if (device->backend->event->elapsed(times->base, event, &ns) != GANTRY_OK) return false;
    *out_ns = times->base_ns + (uint64_t)ns;
    return true;
}

/* Reads both clocks; false: the device has no times. The second attempt counts, because the first
 * one wakes the device up. */
static bool sample_clock(gantry_logical_device_t *device, times_t *times) {
    if (!times->base) times->base = make_timed_event(device);
    uint64_t count, ns;
    for (int i = 0; i < 2; ++i) {
        const uint64_t before_ns = gantry__now_ns();
        if (!times->base ||
            !record_timed(&device->streams[GANTRY_STREAM_COMPUTE], times->base, &count) ||
            device->backend->event->synchronize(times->base) != GANTRY_OK)
            return false;
        times->sampled_ns = gantry__now_ns();
        times->base_ns = before_ns + (times->sampled_ns - before_ns) / 2;
    }
    return host_time_of(device, times, times->base, &ns);
}

/* ---- the timeline ---- */

static void write_track_name(gantry__timeline_t *timeline, const gantry_logical_device_t *device,
                             const char *what, uint64_t thread, const gantry__timeline_arg_t *args,
                             uint32_t arg_count) {
    gantry__timeline_write(
        timeline, &(gantry__timeline_event_t){.phase = 'M',
                                              .process = GANTRY__TIMELINE_DEVICE + device->position,
                                              .thread = thread,
                                              .name = what,
                                              .args = args,
                                              .arg_count = arg_count});
}

static void write_device_head(gantry__timeline_t *timeline, const gantry_logical_device_t *device,
                              const times_t *times) {
    static const char streams[][12] = {"compute", "to device", "to host"};
    const gantry__timeline_arg_t args[] = {{"name", device->name, 0},
                                           {"alias", device->physical->alias, 0},
                                           {"hardware", device->info.hardware_name, 0},
                                           {"backend", device->backend->name, 0},
                                           {"times",
                                            device->synchronous ? "host"
                                            : times->has_times  ? "device"
                                                                : "launch",
                                            0}};
    write_track_name(timeline, device, "process_name", 1, args, sizeof args / sizeof args[0]);
    for (uint32_t i = 0; !device->synchronous && i < GANTRY__STREAMS; ++i)
        write_track_name(timeline, device, "thread_name", i + 1,
                         &(gantry__timeline_arg_t){"name", streams[i], 0}, 1);
}

/* Writes an event of work. thread 0: the calling one. has_times: begin and end are the device's. */
static void write_work(const gantry__timed_t *timed, uint64_t bytes, uint64_t thread,
                       uint64_t begin_ns, uint64_t end_ns, bool has_times) {
    const gantry__timeline_arg_t args[] = {
        {"times", has_times ? "" : "launch", 0},
        {"bytes", NULL, bytes},
        {"submitted_ns", NULL, timed->device->synchronous ? 0 : timed->since_ns}};
    gantry__timeline_write(
        timed->timeline,
        &(gantry__timeline_event_t){.phase = 'X',
                                    .process = GANTRY__TIMELINE_DEVICE + timed->device->position,
                                    .thread = thread,
                                    .category = timed->category,
                                    .name = timed->name,
                                    .begin_ns = begin_ns,
                                    .end_ns = end_ns,
                                    .args = args,
                                    .arg_count = 3,
                                    .has_constant_texts = true});
}

/* ---- submissions; the caller must hold the lock ---- */

/* Writes a submission; end NULL: the driver has no event for it. */
static void write_submission(times_t *times, submission_t *work, gantry_backend_event_t **end) {
    const gantry__timed_t *timed = &work->timed;
    gantry_logical_device_t *device = timed->device;
    stream_times_t *stream = &times->streams[timed->stream];
    uint64_t begin_ns = timed->since_ns, end_ns = work->returned_ns, begun_ns = 0;
    const bool has_times = end && host_time_of(device, times, *end, &end_ns) &&
                           (!timed->begin || host_time_of(device, times, timed->begin, &begun_ns));
    /* float milliseconds are CUDA's: short distances keep their precision */
    if (has_times && end_ns > times->base_ns + RESAMPLE_NS) {
        gantry_backend_event_t *base = times->base;
        times->base = *end;
        times->base_ns = end_ns;
        *end = base;
    }
    if (timed->begin) device->backend->event->destroy(timed->begin);
    if (begin_ns < begun_ns) begin_ns = begun_ns;
    if (begin_ns < stream->ended_ns) begin_ns = stream->ended_ns;
    if (end_ns < begin_ns) end_ns = begin_ns;
    stream->ended_ns = end_ns;
    write_work(timed, work->bytes, timed->stream + 1, begin_ns, end_ns, has_times);
}

/* Writes the submissions that have ended: those known to have, and those up to the count. */
static void settle_stream(gantry_logical_device_t *device, times_t *times, uint32_t index,
                          uint64_t count) {
    stream_times_t *stream = &times->streams[index];
    const uint64_t completed =
        atomic_load_explicit(&device->streams[index].completed, memory_order_acquire);
    if (count < completed) count = completed;
    while (stream->used > 0 && stream->ring[stream->first].count <= count) {
        write_submission(times, &stream->ring[stream->first], &stream->ends[stream->first]);
        stream->first = (stream->first + 1) % RING;
        --stream->used;
    }
}

/* Waits until at most `left` submissions are unread. */
static void settle_by_wait(gantry_logical_device_t *device, times_t *times, uint32_t index,
                           uint32_t left) {
    stream_times_t *stream = &times->streams[index];
    if (stream->used <= left) return;
    const uint32_t last = (stream->first + stream->used - left - 1) % RING;
    (void)device->backend->event->synchronize(stream->ends[last]);
    settle_stream(device, times, index, stream->ring[last].count);
}

static bool has_unread(const times_t *times) {
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i)
        if (times->streams[i].used > 0) return true;
    return false;
}

static void prepare_times(gantry__timeline_t *timeline, gantry_logical_device_t *device,
                          times_t *times) {
    if (atomic_load(&times->is_ready)) return;
    times->has_times = can_time(device);
    if (times->has_times) {
        time_streams(device, 1);
        times->has_times = sample_clock(device, times);
    }
    atomic_store(&times->level_bytes, UINT64_MAX);
    atomic_store(&times->is_ready, true);
    write_device_head(timeline, device, times);
}

/* The device's times; NULL: there is no memory for them. The caller must hold the lock. */
static times_t *enter_times(gantry__timeline_t *timeline, gantry_logical_device_t *device) {
    times_t *times = atomic_load_explicit(&device->times, memory_order_acquire);
    if (!times) {
        times_t *made = gantry__heap_zalloc(device->table->heap, sizeof *made);
        if (!made) return NULL;
        (void)gantry__mutex_init(&made->lock);
        if (atomic_compare_exchange_strong(&device->times, &times, made)) {
            times = made;
        } else {
            gantry__mutex_deinit(&made->lock);
            gantry__heap_free(device->table->heap, made, sizeof *made);
        }
    }
    gantry__mutex_lock(&times->lock);
    prepare_times(timeline, device, times);
    return times;
}

/* The device's times, without the lock; NULL: no memory for them. */
static times_t *find_times(gantry__timeline_t *timeline, gantry_logical_device_t *device) {
    times_t *times = atomic_load_explicit(&device->times, memory_order_acquire);
    if (times && atomic_load_explicit(&times->is_ready, memory_order_relaxed)) return times;
    times = enter_times(timeline, device);
    if (times) gantry__mutex_unlock(&times->lock);
    return times;
}

/* ---- timed work ---- */

/* The event in front of work on a stream that was made to wait since the last work. */
static gantry_backend_event_t *record_begin(gantry_logical_device_t *device, times_t *times,
                                            uint32_t index) {
    gantry__stream_t *stream = &device->streams[index];
    gantry__mutex_lock(&stream->lock);
    const uint64_t waited = waited_of(stream);
    gantry__mutex_unlock(&stream->lock);
    if (waited == times->streams[index].waited) return NULL;
    times->streams[index].waited = waited;
    gantry_backend_event_t *event = make_timed_event(device);
    uint64_t count;
    if (!event || record_timed(stream, event, &count)) return event;
    device->backend->event->destroy(event);
    return NULL;
}

static void begin_timed_submission(gantry__timed_t *timed, gantry_logical_device_t *device) {
    const uint32_t before = gantry__failures();
    times_t *times = enter_times(timed->timeline, device);
    if (!times) timed->timeline = NULL;
    if (times && times->has_times) {
        for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) settle_stream(device, times, i, 0);
        if (gantry__now_ns() > times->sampled_ns + RESAMPLE_NS && !has_unread(times))
            times->has_times = sample_clock(device, times);
        if (times->has_times) timed->begin = record_begin(device, times, timed->stream);
    }
    if (times) gantry__mutex_unlock(&times->lock);
    gantry__forget_since(before);
}

void gantry__timed_begin_slowly(gantry__timed_t *timed, gantry_logical_device_t *device,
                                gantry__timed_kind_t kind, const char *op) {
    static const struct {
        char name[20];
        unsigned char stream;
    } kinds[] = {{"", GANTRY_STREAM_COMPUTE},
                 {"fill", GANTRY_STREAM_COMPUTE},
                 {"to device", GANTRY_STREAM_TO_DEVICE},
                 {"to host", GANTRY_STREAM_TO_HOST},
                 {"on the device", GANTRY_STREAM_TO_DEVICE},
                 {"from another card", GANTRY_STREAM_TO_DEVICE}};
    timed->device = device;
    timed->stream = kinds[kind].stream;
    timed->category = op ? "kernel" : "copy";
    timed->name = op ? op : kinds[kind].name;
    timed->begin = NULL;
    if (!device->synchronous) {
        begin_timed_submission(timed, device);
    } else if (!find_times(timed->timeline, device)) {
        timed->timeline = NULL;
    }
    timed->since_ns = gantry__event_ns();
}

/* Keeps a submission; false: the driver has no event for it. */
static bool keep_submission(times_t *times, submission_t *work) {
    gantry_logical_device_t *device = work->timed.device;
    const uint32_t index = work->timed.stream;
    stream_times_t *stream = &times->streams[index];
    if (stream->used == RING) settle_by_wait(device, times, index, RING / 2);
    const uint32_t at = (stream->first + stream->used) % RING;
    if (!stream->ends[at]) stream->ends[at] = make_timed_event(device);
    if (!stream->ends[at] || !record_timed(&device->streams[index], stream->ends[at], &work->count))
        return false;
    stream->ring[at] = *work;
    ++stream->used;
    return true;
}

void gantry__timed_end_slowly(const gantry__timed_t *timed, uint64_t bytes) {
    const uint64_t now_ns = gantry__event_ns();
    if (timed->device->synchronous) {
        write_work(timed, bytes, 0, timed->since_ns, now_ns, true);
        return;
    }
    const uint32_t before = gantry__failures();
    submission_t work = {.timed = *timed, .returned_ns = now_ns, .bytes = bytes};
    times_t *times = atomic_load_explicit(&timed->device->times, memory_order_acquire);
    gantry__mutex_lock(&times->lock);
    if (!atomic_load(&times->is_ready) || !times->has_times || !keep_submission(times, &work))
        write_submission(times, &work, NULL);
    gantry__mutex_unlock(&times->lock);
    gantry__forget_since(before);
}

/* ---- the device ---- */

void gantry__device_times_level(gantry_logical_device_t *device, gantry__timeline_t *timeline,
                                uint64_t now_ns) {
    const uint64_t bytes = gantry__allocator_bytes_in_use(&device->allocator);
    times_t *times = find_times(timeline, device);
    if (!times || atomic_exchange(&times->level_bytes, bytes) == bytes) return;
    const gantry__timeline_arg_t args[] = {{"bytes", NULL, bytes}};
    gantry__timeline_write(
        timeline, &(gantry__timeline_event_t){.phase = 'C',
                                              .process = GANTRY__TIMELINE_DEVICE + device->position,
                                              .thread = 1,
                                              .name = "memory in use",
                                              .begin_ns = now_ns,
                                              .end_ns = now_ns,
                                              .args = args,
                                              .arg_count = 1,
                                              .has_constant_texts = true});
}

void gantry__device_times_finish(gantry_logical_device_t *device) {
    times_t *times = atomic_load_explicit(&device->times, memory_order_acquire);
    if (!times) return;
    const uint32_t before = gantry__failures();
    gantry__mutex_lock(&times->lock);
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        settle_by_wait(device, times, i, 0);
        times->streams[i].ended_ns = 0;
    }
    if (atomic_load(&times->is_ready) && times->has_times) time_streams(device, 0);
    atomic_store(&times->is_ready, false);
    gantry__mutex_unlock(&times->lock);
    gantry__forget_since(before);
}

static void destroy_timed(const gantry_logical_device_t *device, gantry_backend_event_t *event) {
    if (event) device->backend->event->destroy(event);
}

void gantry__device_times_release(gantry_logical_device_t *device) {
    gantry__device_times_finish(device);
    times_t *times = atomic_exchange(&device->times, NULL);
    if (!times) return;
    for (uint32_t i = 0; i < GANTRY__STREAMS * RING; ++i)
        destroy_timed(device, times->streams[i / RING].ends[i % RING]);
    destroy_timed(device, times->base);
    gantry__mutex_deinit(&times->lock);
    gantry__heap_free(device->table->heap, times, sizeof *times);
}
