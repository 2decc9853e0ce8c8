/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: counted pieces of one logical device's memory that remember their last uses.
 *
 * A buffer is (region, offset, bytes). Releasing the last reference frees it at once, with work in
 * flight: the next owner of the bytes waits, on its stream, for the last use on every other stream.
 * Thread-safe. */
#ifndef GANTRY_DEVICE_BUFFER_H
#define GANTRY_DEVICE_BUFFER_H

#include <stdatomic.h>

#include <gantry/backend_abi.h>
#include <gantry/device.h>

#include "base/failure.h"
#include "device/point.h"
#include "memory/allocator.h"

/* Memory of the program. */
typedef struct gantry__foreign_t {
    void (*release)(void *user); /* called when the buffer ends; may be NULL */
    void *user;
    bool is_writable;
} gantry__foreign_t;

/* An event of the program for which a buffer waits. */
typedef struct gantry__hold_t {
    struct gantry__hold_t *next;
    gantry_backend_event_t *event;
} gantry__hold_t;

typedef struct gantry__buffer_t {
    atomic_uint references;
    gantry_logical_device_t *device;
    gantry__bfc_chunk_t *chunk; /* NULL: the memory is the program's */
    gantry__foreign_t foreign;
    gantry_span_t span; /* the span of the requested bytes */
    void *data;         /* the bytes on a host-addressable device, else NULL */
    atomic_uint_fast64_t last_use[GANTRY__STREAMS];
    /* device/sharing.h */
    bool is_region;                         /* the region is the program's, by region_adopt */
    atomic_bool is_exposed;                 /* the newest work of the compute stream may use it */
    _Atomic(struct gantry__hold_t *) holds; /* events of the program */
    struct gantry__buffer_t *next;          /* in the device's ring of ending ones */
    struct gantry__event_t *last_events[GANTRY__STREAMS]; /* of an ending one; NULL: none */
} gantry__buffer_t;

/* request->bytes > 0; request->completed is ignored. first_stream (GANTRY_STREAM_...) is the stream
 * whose work writes it first; that stream waits for former uses. The device is open. */
gantry_status_t gantry__buffer_allocate(gantry_logical_device_t *device,
                                        const gantry__allocation_t *request, uint32_t first_stream,
                                        gantry__buffer_t **out_buffer);
/* The same for memory without a long-lived tag. owner: constant text for reports. */
gantry_status_t gantry__buffer_create(gantry_logical_device_t *device, uint64_t size_bytes,
                                      uint32_t first_stream, const char *owner,
                                      gantry__buffer_t **out_buffer);
/* Makes a buffer of the program's memory on a device that is open, synchronous and
 * host-addressable, so that no work is in flight when the last reference goes. bytes > 0. */
gantry_status_t gantry__buffer_adopt(gantry_logical_device_t *device, void *data, uint64_t bytes,
                                     const gantry__foreign_t *foreign,
                                     gantry__buffer_t **out_buffer);
/* Makes a buffer over a span that is the program's. */
gantry_status_t gantry__buffer_over(gantry_logical_device_t *device, const gantry_span_t *span,
                                    const gantry__foreign_t *foreign,
                                    gantry__buffer_t **out_buffer);
gantry__buffer_t *gantry__buffer_retain(gantry__buffer_t *buffer);
void gantry__buffer_release(gantry__buffer_t *buffer); /* NULL is allowed */
/* The uses on other streams, for which a writer on `stream` must wait. Returns the number of
 * points. */
uint32_t gantry__buffer_other_uses(gantry__buffer_t *buffer, uint32_t stream,
                                   gantry__point_t out_points[GANTRY__STREAMS - 1]);
/* Makes later work of the device's compute stream wait for the other streams' uses. */
gantry_status_t gantry__buffer_follow_other_uses(gantry__buffer_t *buffer);
/* Whether a result may begin at this byte of the buffer: at the device's alignment, and at a cache
 * line, because kernels write whole lines. */
bool gantry__buffer_is_aligned(const gantry__buffer_t *buffer, uint64_t offset_bytes);
/* Keeps the bytes until the hold's event has completed; takes the hold over. */
void gantry__buffer_add_hold(gantry__buffer_t *buffer, gantry__hold_t *hold);
/* Whether the event of a hold may be pending. */
bool gantry__buffer_is_held(gantry__buffer_t *buffer);
/* Marks the newest work of the compute stream as a use, if the program's may be among it. */
void gantry__buffer_note_exposed(gantry__buffer_t *buffer);
/* Ends buffers of the device without references whose last use has passed, without a wait. */
void gantry__buffers_collect(gantry_logical_device_t *device);
/* The same for a few of them, in turn: its price does not grow with their number. */
void gantry__buffers_look(gantry_logical_device_t *device);
/* Waits for the last uses and ends all of them. */
void gantry__buffers_end(gantry_logical_device_t *device);
/* Marks that work with this count on the stream uses the buffer. */
void gantry__buffer_mark_use(gantry__buffer_t *buffer, uint32_t stream, uint64_t count);

#endif
