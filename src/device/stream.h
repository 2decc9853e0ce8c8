/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: in-order queues of one logical device, with a count of submissions.
 *
 * The count is the currency of ordering: a point in time is (stream, count), a piece of memory
 * remembers the count of its last use on each stream, a tensor the point at which it is ready.
 * Events are recorded only when a point must be waited for. On a synchronous device
 * (GANTRY_DEVICE_SYNCHRONOUS) every point has passed already, and the functions here take no lock.
 * Owner: the logical device. Thread-safe: begin/end hold the stream's lock, the only one held while
 * a driver is called. */
#ifndef GANTRY_DEVICE_STREAM_H
#define GANTRY_DEVICE_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>

#include <gantry/backend_abi.h>

#include "base/failure.h"
#include "base/heap.h"
#include "device/point.h"
#include "base/os/thread.h"

/* Failures that a stream keeps apart; beyond that the two nearest are merged. */
#define GANTRY__FAILED_RANGES 8

struct gantry__card_t;

/* Submissions that failed while they ran, from and to included. */
typedef struct gantry__failed_range_t {
    uint64_t from, to;
    gantry_status_t status;
    char text[384];
} gantry__failed_range_t;

/* Functions whose work a stream remembers. */
#define GANTRY__STREAM_USES 4

/* Calls of a function that follow each other. */
typedef struct gantry__stream_use_t {
    uint64_t to;   /* covers their submissions */
    char name[48]; /* cut */
} gantry__stream_use_t;

/* A recorded event: covers all of stream's submissions up to count. Counted. */
typedef struct gantry__event_t {
    atomic_uint references;
    gantry__stream_t *stream;
    gantry_backend_event_t *handle;
    uint64_t count;
    struct gantry__event_t *next; /* the next one in the list of spare events */
} gantry__event_t;

/* The part of its device that a stream needs; device/stream_owner.h fills it. */
typedef struct gantry__stream_owner_t {
    void *device;      /* streams of one device are siblings */
    uint32_t position; /* the device's position in the table */
    const struct gantry__card_t
        /* the card whose loss is the stream's; NULL: a stream by itself, without the fields
         * below */
        *card;
    /* passes on the result of a slot of the device; marks a loss */
    gantry_status_t (*note)(void *device, gantry_status_t status);
    /* prints which functions' work of the device may have failed: "", or "; not known to have
     * ended: function f" */
    void (*print_uses)(void *device, char *out, size_t out_bytes);
    /* makes the other streams that may carry the failure which `but` met keep and forget it */
    void (*clear)(void *device, const gantry__stream_t *but);
} gantry__stream_owner_t;

struct gantry__stream_t {
    const gantry_backend_t *backend;
    gantry_backend_device_t *device;
    gantry__stream_owner_t owner;
    gantry_backend_stream_t *handle;
    const gantry__heap_t *heap;
    uint32_t index; /* the number in its device: GANTRY_STREAM_... */
    bool synchronous, has_priority;
    bool is_adopted;  /* the queue is the program's, which submits to it, too */
    int32_t priority; /* if it has one */
    gantry__mutex_t lock;
    atomic_uint_fast64_t submitted;
    atomic_uint_fast64_t completed; /* known to have ended */
    atomic_uint_fast64_t flushed;   /* certainly handed to the device */
    uint32_t unflushed;             /* submissions of calls since then; under lock */
    /* for each of the device's own streams, its count that this one already waits for; raised under
     * lock */
    atomic_uint_fast64_t waited[GANTRY__STREAMS];
    /* bit (position % 64) of each other device whose events it has waited for */
    atomic_uint_fast64_t waited_for;
    atomic_bool waits;           /* it has waited for another stream since it was synchronised */
    gantry__event_t *last_event; /* the newest; under lock */
    gantry__event_t *spare;      /* under lock */
    /* Work that failed while it ran: every point of the range keeps the failure, for every later
     * query. */
    atomic_bool has_failed;
    uint32_t failed_count;                                /* under lock */
    gantry__failed_range_t failed[GANTRY__FAILED_RANGES]; /* ascending, apart; under lock */
    /* the newest calls; number n is at n % GANTRY__STREAM_USES; under lock */
    gantry__stream_use_t uses[GANTRY__STREAM_USES];
    uint64_t use_count;
};

/* owner is copied. priority NULL: the device's default; else in its range, and without effect if
 * the backend has no such slot. */
gantry_status_t gantry__stream_init(gantry__stream_t *stream, const gantry__heap_t *heap,
                                    const gantry_backend_t *backend,
                                    gantry_backend_device_t *device,
                                    const gantry__stream_owner_t *owner, uint32_t index,
                                    const int32_t *priority, bool synchronous);
/* The same over a queue of the program, with its slots' table. */
gantry_status_t gantry__stream_init_over(gantry__stream_t *stream, const gantry__heap_t *heap,
                                         const gantry_backend_t *backend,
                                         gantry_backend_device_t *device,
                                         const gantry__stream_owner_t *owner, uint32_t index,
                                         void *native_queue);
/* Makes another stream of the driver, without a record of its own, for the same purpose and with
 * the same priority: for work that has no place in the order of this one. */
gantry_status_t gantry__stream_make_twin(const gantry__stream_t *stream,
                                         gantry_backend_stream_t **out_handle);
/* Waits for pending work. */
void gantry__stream_deinit(gantry__stream_t *stream);

/* Whether the point has passed and no work of the stream ever failed, as far as is known without a
 * driver call. */
bool gantry__point_is_past(gantry__point_t point);

/* Whether work up to the point is known to have failed; stream NULL: no. */
bool gantry__point_has_failed(gantry__point_t point);

/* ---- a point that a caller polls ---- */

/* Returns an event after the point, which the caller must release; NULL: the point has passed. */
gantry_status_t gantry__event_take(gantry__point_t point, gantry__event_t **out_event);
void gantry__event_release(gantry__event_t *event);
/* Queries the driver whether the event has passed, without a wait. The error is that of the work
 * before it, which is over then. */
gantry_status_t gantry__event_poll(const gantry__event_t *event, bool *out_is_past);

/* Whether later work of the stream is after the point as it is, and no work before it ever failed,
 * as far as is known without a driver call. */
bool gantry__stream_is_after(gantry__stream_t *stream, gantry__point_t point);

/* Makes stream's later work wait for the points; between backends the calling thread waits instead.
 * It must not be called between begin and end. */
gantry_status_t gantry__stream_wait_for(gantry__stream_t *stream, const gantry__point_t *points,
                                        size_t count);

/* The same only for the order: points whose work failed count as passed, without an error. */
gantry_status_t gantry__stream_follow(gantry__stream_t *stream, const gantry__point_t *points,
                                      size_t count);

/* Submissions must be made between begin and end; end returns the count that names them. */
void gantry__stream_begin(gantry__stream_t *stream);
uint64_t gantry__stream_end(gantry__stream_t *stream);

/* Counts work that this thread has submitted since its last begin, if any; returns the count that
 * covers all of it. */
uint64_t gantry__stream_count(gantry__stream_t *stream);

/* ---- whose work it is, for the text of a failure ---- */

/* The submissions after `before`, if any, are those of a function's call, among those of others in
 * the meantime. */
void gantry__stream_note_use(gantry__stream_t *stream, uint64_t before, const char *name);
/* Prints functions whose work is not known to have ended, the oldest first: "f, g"; "": none. */
void gantry__stream_print_uses(gantry__stream_t *stream, char *out, size_t out_bytes);

/* Blocks until the point has passed; returns the error of the work before it, or the loss of its
 * device. */
gantry_status_t gantry__point_wait(gantry__point_t point);
/* Notes that the point has passed, because work that had to wait for it has ended well. */
void gantry__point_passed(gantry__point_t point);
/* Makes submitted work begin without a wait for it; does nothing if it was flushed already. An
 * error shows at the wait. */
void gantry__stream_flush(gantry__stream_t *stream);
/* Ends a submission that no thread waits for: flushes if the device has no other work, as far as is
 * known, and at every 16th submission. */
void gantry__stream_end_busy(gantry__stream_t *stream);
/* Whether all submitted work is known to have ended, and the stream has waited for no other since
 * it was synchronised: then a wait would report nothing but the loss of a device. Failures that
 * were met before are kept for their points. */
bool gantry__stream_is_idle(gantry__stream_t *stream);
/* Blocks until all submitted work has ended. */
gantry_status_t gantry__stream_synchronize(gantry__stream_t *stream);
/* Does the same for an owner's clear: it keeps a failure of the stream for the points that it may
 * concern, and makes the driver forget it. It reports nothing. */
void gantry__stream_clear(gantry__stream_t *stream);

#endif
