/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a timeline, in this order: the file, the writer, the buffers, life.
 *
 * The file is one JSON array, and valid after each write: a block of events ends with the array's
 * bracket, and the next block begins on top of it.
 *
 *     [ {head}              ]
 *     [ {head}, {..}, {..}  ]          one pwrite, at the place of the bracket
 *     [ {head}, {..}, {..}, {..} ]
 *
 * So a process that ends early loses its buffers (a second of events, at most), not the file. A
 * block that the disk does not take is cut off again, and nothing follows it.
 *
 * A slot keeps events as they are. A thread of the timeline's makes their lines:
 *
 *     calls -> | event, args | event, args, texts | ...      slot->events, with the slot's lock
 *     writer:  | event, args | event, args | ...             slot->full, with the file's lock
 *                -> | ,\n{..},\n{..},\n{..}                  the lines -> the file
 *
 * So a call pays for a copy of a hundred bytes. Memory is bounded: a call that fills a buffer
 * before the writer has come to the other one writes that itself. So do all calls where no thread
 * can be made. The events of a slot stay in order.
 *
 * The lock of a slot is taken before those of the queue and of the file. The log gets its lines
 * without any of them, because its function may run ops. */
#include "base/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gantry/version.h>

#include "base/files.h"
#include "base/os/locks.h"
#include "base/os/process.h"
#include "base/timeline_line.h"

enum { EVENTS_BYTES = GANTRY__TIMELINE_SLOT_BYTES / 2 };
#define LONGEST_STAY_NS UINT64_C(1000000000)

typedef struct kept_event_t {
    size_t bytes; /* with its args, and copies of texts that are not constant */
    gantry__timeline_event_t event;
    gantry__timeline_arg_t args[];
} kept_event_t;

/* of a copied text: as many as a line takes, and the rest of the last character */
#define COPY_BYTES (GANTRY__TIMELINE_TEXT_BYTES + 8)
#define MOST_EVENT_BYTES                                \
    (sizeof(kept_event_t) + COPY_BYTES + /* the name */ \
     GANTRY__TIMELINE_ARGS * (sizeof(gantry__timeline_arg_t) + COPY_BYTES))

static const char closing[] = "\n]\n";
enum { CLOSING_BYTES = sizeof closing - 1 };

typedef struct timeline_slot_t {
    gantry__mutex_t lock;
    char *memory; /* GANTRY__TIMELINE_SLOT_BYTES for both buffers; NULL until the first event */
    char *events;
    char *full;               /* to be written while full_bytes is not 0 */
    size_t used;              /* the used bytes of events */
    uint64_t first_ns;        /* the time of the oldest event */
    atomic_size_t full_bytes; /* set with the slot's lock, to 0 with that of the file */
} timeline_slot_t;

struct gantry__timeline_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    atomic_bool is_on;   /* events are taken */
    atomic_bool is_mute; /* the log knows of the failure, or there is none */
    timeline_slot_t slots[GANTRY__TIMELINE_SLOTS];
    gantry__mutex_t queue;
    gantry__condition_t changed; /* a buffer is full, or the writer ends */
    /* under the queue's lock */
    bool has_writer, writer_ends;
    gantry__thread_t writer;
    gantry__mutex_t stop; /* held by the thread that stops the timeline */
    gantry__mutex_t lock;
    /* under lock */
    gantry__timeline_kept_t *kept;
    char *lines; /* GANTRY__TIMELINE_LINES_BYTES bytes */
    bool is_started;
    int file;     /* -1: not open */
    uint64_t end; /* the end of the last event in the file */
    gantry_status_t status;
    char failure[GANTRY__TIMELINE_PATH_BYTES + 256];
    char path[GANTRY__TIMELINE_PATH_BYTES];
};

/* ---- the file; the caller must hold timeline->lock ---- */

static bool write_at(int file, const char *bytes, size_t size, uint64_t at) {
    while (size > 0) {
        const int64_t done = gantry__os_write(file, bytes, size, (int64_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        bytes += done;
        at += (uint64_t)done;
        size -= (size_t)done;
    }
    return true;
}

/* Keeps the failure that is the thread's last message; the first one counts. */
static gantry_status_t keep_timeline_failure(gantry__timeline_t *timeline, gantry_status_t status) {
    atomic_store(&timeline->is_on, false);
    if (timeline->status != GANTRY_OK) return status;
    timeline->status = status;
    (void)snprintf(timeline->failure, sizeof timeline->failure, "%s", gantry__message());
    atomic_store(&timeline->is_mute, false);
    return status;
}

/* Writes a block. bytes must have room for the closing after size. */
static gantry_status_t write_block(gantry__timeline_t *timeline, char *bytes, size_t size) {
    memcpy(bytes + size, closing, CLOSING_BYTES);
    if (write_at(timeline->file, bytes, size + CLOSING_BYTES, timeline->end)) {
        timeline->end += size;
        return GANTRY_OK;
    }
    const gantry_status_t status = gantry__file_fail("write", timeline->path, errno);
    if (gantry__os_truncate(timeline->file, timeline->end) == 0 && timeline->end > 0)
        (void)write_at(timeline->file, closing, CLOSING_BYTES, timeline->end);
    return keep_timeline_failure(timeline, status);
}

/* Empties the file, which no other runtime writes. */
static gantry_status_t take_file(const gantry__timeline_t *timeline, int file) {
    if (gantry__os_lock(file, false) == EAGAIN)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "cannot write a timeline to '%s': another runtime writes it; in a name with %%p each process has its own file",
            timeline->path);
    /* ext4 writes a file to the disk at its close if it was ever truncated, even when empty */
    gantry__os_info_t info;
    if (gantry__os_file_info(file, &info) == 0 && info.size == 0) return GANTRY_OK;
    const int error = gantry__os_truncate(file, 0);
    return error == 0 ? GANTRY_OK : gantry__file_fail("empty", timeline->path, error);
}

static gantry_status_t write_head(gantry__timeline_t *timeline) {
    char bytes[4 * GANTRY__TIMELINE_TEXT_BYTES];
    char name[2 * GANTRY__TIMELINE_TEXT_BYTES];
    *gantry__timeline_put_text(name, gantry__os_program_name()) = '\0';
    const int size = snprintf(
        bytes, sizeof bytes,
        "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":%s,\"version\":\"%s\",\"clock\":\"CLOCK_MONOTONIC\",\"process\":%ld}}",
        name, GANTRY_VERSION, (long)gantry__os_process());
    return write_block(timeline, bytes, (size_t)size);
}

/* Does nothing if the file is open, or cannot be opened. */
static gantry_status_t open_timeline(gantry__timeline_t *timeline) {
    if (timeline->file >= 0 || timeline->status != GANTRY_OK) return timeline->status;
    if (gantry__file_check_plain(timeline->path) != GANTRY_OK)
        return keep_timeline_failure(timeline, GANTRY_INVALID_ARGUMENT);
    const int file = gantry__os_open(
        timeline->path, GANTRY__OS_WRITE | GANTRY__OS_CREATE | GANTRY__OS_NO_WAIT, 0666);
    gantry_status_t status =
        file >= 0 ? take_file(timeline, file) : gantry__file_fail("open", timeline->path, errno);
    if (status != GANTRY_OK) {
        gantry__file_close(file);
        return keep_timeline_failure(timeline, status);
    }
    timeline->file = file;
    timeline->end = 0;
    status = write_head(timeline);
    if (status == GANTRY_OK) return GANTRY_OK;
    timeline->file = -1;
    gantry__file_close(file);
    return status;
}

static void write_events(gantry__timeline_t *timeline, const char *events, size_t size) {
    const char *const most = timeline->lines + GANTRY__TIMELINE_LINES_BYTES -
                             GANTRY__TIMELINE_LINE_BYTES - CLOSING_BYTES;
    char *at = timeline->lines;
    for (size_t i = 0; i < size;) {
        const kept_event_t *kept = (const void *)(events + i);
        at = gantry__timeline_put_line(at, &kept->event, timeline->kept);
        i += kept->bytes;
        if (i < size && at <= most) continue;
        if (open_timeline(timeline) != GANTRY_OK ||
            write_block(timeline, timeline->lines, (size_t)(at - timeline->lines)) != GANTRY_OK)
            return;
        at = timeline->lines;
    }
}

/* ---- the writer ---- */

/* Writes the slot's full buffer, if it is not written yet. */
static void write_full(gantry__timeline_t *timeline, timeline_slot_t *slot) {
    const uint32_t before = gantry__failures();
    gantry__mutex_lock(&timeline->lock);
    const size_t bytes = atomic_load(&slot->full_bytes);
    if (bytes > 0) write_events(timeline, slot->full, bytes);
    atomic_store(&slot->full_bytes, 0);
    gantry__mutex_unlock(&timeline->lock);
    gantry__forget_since(before);
}

/* Waits for a full buffer; NULL: there will be none. */
static timeline_slot_t *wait_for_full(gantry__timeline_t *timeline) {
    timeline_slot_t *found = NULL;
    gantry__mutex_lock(&timeline->queue);
    for (;;) {
        for (int i = 0; i < GANTRY__TIMELINE_SLOTS && !found; ++i)
            if (atomic_load(&timeline->slots[i].full_bytes) > 0) found = &timeline->slots[i];
        if (found || timeline->writer_ends) break;
        gantry__condition_wait(&timeline->changed, &timeline->queue, UINT64_MAX);
    }
    gantry__mutex_unlock(&timeline->queue);
    return found;
}

static void *write_queue(void *argument) {
    gantry__timeline_t *timeline = argument;
    for (timeline_slot_t *slot; (slot = wait_for_full(timeline)) != NULL;)
        write_full(timeline, slot);
    return NULL;
}

static void start_writer(gantry__timeline_t *timeline) {
    gantry__mutex_lock(&timeline->queue);
    if (!timeline->has_writer)
        timeline->has_writer =
            gantry__thread_start(&timeline->writer, 0, write_queue, timeline) == 0;
    gantry__mutex_unlock(&timeline->queue);
}

static void end_writer(gantry__timeline_t *timeline) {
    gantry__mutex_lock(&timeline->queue);
    const bool has_writer = timeline->has_writer;
    timeline->has_writer = false;
    timeline->writer_ends = true;
    gantry__condition_wake_all(&timeline->changed);
    gantry__mutex_unlock(&timeline->queue);
    if (has_writer) gantry__thread_join(timeline->writer);
    gantry__mutex_lock(&timeline->queue);
    timeline->writer_ends = false;
    gantry__mutex_unlock(&timeline->queue);
}

/* ---- buffers; the caller must hold the slot's lock ---- */

/* Wakes the writer; false: there is none. */
static bool wake_writer(gantry__timeline_t *timeline) {
    gantry__mutex_lock(&timeline->queue);
    const bool has_writer = timeline->has_writer;
    gantry__condition_wake_all(&timeline->changed);
    gantry__mutex_unlock(&timeline->queue);
    return has_writer;
}

/* The first events open the file, before there is a writer: the call that follows reports a
 * failure. */
static void flush_slot(gantry__timeline_t *timeline, timeline_slot_t *slot) {
    if (slot->used == 0) return;
    if (atomic_load(&slot->full_bytes) > 0) write_full(timeline, slot); /* the writer is late */
    char *const events = slot->events;
    slot->events = slot->full;
    slot->full = events;
    atomic_store(&slot->full_bytes, slot->used);
    slot->used = 0;
    if (wake_writer(timeline)) return;
    write_full(timeline, slot);
    if (atomic_load(&timeline->is_on)) start_writer(timeline);
}

/* Makes the slot's buffer; false: there is no memory. */
static bool open_slot(const gantry__timeline_t *timeline, timeline_slot_t *slot) {
    const uint32_t before = gantry__failures();
    slot->memory = gantry__heap_alloc(timeline->heap, GANTRY__TIMELINE_SLOT_BYTES);
    gantry__forget_since(before);
    if (!slot->memory) return false;
    slot->events = slot->memory;
    slot->full = slot->memory + EVENTS_BYTES;
    return true;
}

/* Copies a text to `at`, cut, and moves `at` to after it. */
static const char *copy_text(char **at, const char *text) {
    char *const copy = *at;
    const char *end = memchr(text, '\0', COPY_BYTES - 1);
    const size_t bytes = end ? (size_t)(end - text) : COPY_BYTES - 1;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    *at += bytes + 1;
    return copy;
}

/* Puts the event's texts, which may change, after it; returns their end. */
static char *copy_texts(kept_event_t *kept, char *at) {
    kept->event.name = copy_text(&at, kept->event.name);
    for (uint32_t i = 0; i < kept->event.arg_count; ++i)
        if (kept->args[i].text) kept->args[i].text = copy_text(&at, kept->args[i].text);
    return at + (-(uintptr_t)at & (sizeof(void *) - 1));
}

static inline void keep_event(gantry__timeline_t *timeline, timeline_slot_t *slot,
                              const gantry__timeline_event_t *event, uint64_t caller) {
    if (!slot->memory && !open_slot(timeline, slot)) return; /* the event is lost */
    if (slot->used + MOST_EVENT_BYTES > EVENTS_BYTES ||
        (slot->used > 0 && event->end_ns > slot->first_ns + LONGEST_STAY_NS))
        flush_slot(timeline, slot);
    if (slot->used == 0) slot->first_ns = event->end_ns;
    kept_event_t *kept = (void *)(slot->events + slot->used);
    kept->event = *event;
    if (event->thread == 0) kept->event.thread = caller;
    kept->event.args = kept->args;
    if (event->arg_count > GANTRY__TIMELINE_ARGS) kept->event.arg_count = GANTRY__TIMELINE_ARGS;
    for (uint32_t i = 0; i < kept->event.arg_count; ++i) kept->args[i] = event->args[i];
    char *end = (char *)&kept->args[kept->event.arg_count];
    if (!event->has_constant_texts) end = copy_texts(kept, end);
    kept->bytes = (size_t)(end - (char *)kept);
    slot->used += kept->bytes;
}

/* A number of the calling thread that other living threads do not have. */
static uint64_t this_thread(void) {
    static _Thread_local uint64_t number;
    if (number == 0) number = gantry__os_thread();
    return number;
}

void gantry__timeline_tell(gantry__timeline_t *timeline) {
    if (atomic_load_explicit(&timeline->is_mute, memory_order_relaxed) ||
        atomic_exchange(&timeline->is_mute, true))
        return;
    gantry__log(timeline->log, GANTRY_LEVEL_WARNING, "The timeline ends here: %s",
                timeline->failure);
}

void gantry__timeline_write(gantry__timeline_t *timeline, const gantry__timeline_event_t *event) {
    const uint64_t caller = this_thread();
    timeline_slot_t *slot = &timeline->slots[caller % GANTRY__TIMELINE_SLOTS];
    gantry__mutex_lock(&slot->lock);
    if (atomic_load_explicit(&timeline->is_on, memory_order_acquire))
        keep_event(timeline, slot, event, caller);
    gantry__mutex_unlock(&slot->lock);
}

/* ---- life ---- */

static void free_timeline(gantry__timeline_t *timeline) {
    const gantry__heap_t *heap = timeline->heap;
    for (int i = 0; i < GANTRY__TIMELINE_SLOTS; ++i) {
        timeline_slot_t *slot = &timeline->slots[i];
        if (slot->memory) gantry__heap_free(heap, slot->memory, GANTRY__TIMELINE_SLOT_BYTES);
        gantry__mutex_deinit(&slot->lock);
    }
    if (timeline->lines) gantry__heap_free(heap, timeline->lines, GANTRY__TIMELINE_LINES_BYTES);
    if (timeline->kept) gantry__heap_free(heap, timeline->kept, gantry__timeline_kept_bytes);
    gantry__condition_deinit(&timeline->changed);
    gantry__mutex_deinit(&timeline->queue);
    gantry__mutex_deinit(&timeline->stop);
    gantry__mutex_deinit(&timeline->lock);
    gantry__heap_free(heap, timeline, sizeof *timeline);
}

gantry_status_t gantry__timeline_create(const gantry__heap_t *heap, const gantry__log_t *log,
                                        gantry__timeline_t **out_timeline) {
    gantry__timeline_t *timeline = gantry__heap_zalloc(heap, sizeof *timeline);
    *out_timeline = timeline;
    if (!timeline) return GANTRY_RESOURCE_EXHAUSTED;
    timeline->heap = heap;
    timeline->log = log;
    timeline->file = -1;
    atomic_init(&timeline->is_mute, true);
    /* as everywhere on Linux, making a mutex or a condition of this kind cannot fail */
    (void)gantry__mutex_init(&timeline->lock);
    (void)gantry__mutex_init(&timeline->stop);
    (void)gantry__mutex_init(&timeline->queue);
    (void)gantry__condition_init(&timeline->changed);
    for (int i = 0; i < GANTRY__TIMELINE_SLOTS; ++i)
        (void)gantry__mutex_init(&timeline->slots[i].lock);
    timeline->kept = gantry__heap_zalloc(heap, gantry__timeline_kept_bytes);
    timeline->lines = gantry__heap_alloc(heap, GANTRY__TIMELINE_LINES_BYTES);
    if (timeline->kept && timeline->lines) return GANTRY_OK;
    free_timeline(timeline);
    *out_timeline = NULL;
    return GANTRY_RESOURCE_EXHAUSTED;
}

void gantry__timeline_destroy(gantry__timeline_t *timeline) {
    if (!timeline) return;
    const uint32_t before = gantry__failures();
    (void)gantry__timeline_stop(timeline);
    gantry__forget_since(before);
    free_timeline(timeline);
}

/* Copies path, with the process's number for each "%p". */
static gantry_status_t set_path(gantry__timeline_t *timeline, const char *path) {
    const size_t most = sizeof timeline->path - 1;
    size_t length = 0;
    for (const char *at = path; *at && length < most; ++at) {
        if (at[0] == '%' && at[1] == 'p') {
            (void)snprintf(timeline->path + length, most - length + 1, "%ld",
                           (long)gantry__os_process());
            length += strlen(timeline->path + length);
            ++at;
        } else {
            timeline->path[length++] = *at;
        }
    }
    timeline->path[length] = '\0';
    if (length > 0 && length < most) return GANTRY_OK;
    return gantry__refuse("the path of the timeline has %zu bytes; 1 to %zu are accepted",
                          strlen(path), most - 1);
}

gantry_status_t gantry__timeline_start(gantry__timeline_t *timeline, const char *path,
                                       bool is_lazy) {
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&timeline->lock);
    if (timeline->is_started)
        status = gantry__fail(GANTRY_FAILED_PRECONDITION,
                              "a timeline is being written to '%s'; gantry_trace_stop ends it",
                              timeline->path);
    if (status == GANTRY_OK) status = set_path(timeline, path);
    if (status == GANTRY_OK) {
        timeline->status = GANTRY_OK;
        if (!is_lazy) status = open_timeline(timeline);
        timeline->is_started = status == GANTRY_OK;
        atomic_store(&timeline->is_mute, true);
        atomic_store_explicit(&timeline->is_on, timeline->is_started, memory_order_release);
    }
    gantry__mutex_unlock(&timeline->lock);
    return status;
}

static gantry_status_t fail_unstarted(void) {
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "no timeline is being written; gantry_trace_start, the option trace or GANTRY_TRACE=FILE begins one");
}

/* Events are no longer taken. */
static void write_all(gantry__timeline_t *timeline) {
    gantry__mutex_lock(&timeline->stop);
    for (int i = 0; i < GANTRY__TIMELINE_SLOTS; ++i) {
        gantry__mutex_lock(&timeline->slots[i].lock);
        flush_slot(timeline, &timeline->slots[i]);
        gantry__mutex_unlock(&timeline->slots[i].lock);
    }
    end_writer(timeline);
    gantry__mutex_unlock(&timeline->stop);
}

gantry_status_t gantry__timeline_stop(gantry__timeline_t *timeline) {
    if (!timeline) return fail_unstarted();
    atomic_store(&timeline->is_on, false);
    write_all(timeline);
    gantry__mutex_lock(&timeline->lock);
    const int error = timeline->file >= 0 ? gantry__os_close(timeline->file) : 0;
    if (error != 0)
        (void)keep_timeline_failure(timeline, gantry__file_fail("close", timeline->path, error));
    gantry_status_t status = timeline->status;
    if (status != GANTRY_OK) (void)gantry__fail(status, "%s", timeline->failure);
    if (!timeline->is_started) status = fail_unstarted();
    timeline->file = -1;
    timeline->is_started = false;
    gantry__mutex_unlock(&timeline->lock);
    gantry__timeline_tell(timeline);
    return status;
}
