/* SPDX-License-Identifier: Apache-2.0 */
/* A capture: kernel calls submit their work to a stream of its own, and a graph of the device keeps
 * the work for later launches.
 *
 * The device's own streams take work of other threads meanwhile, and none of it gets into the
 * graph. Scratch that the calls request stays until the capture's end of life, because every launch
 * uses it again; calls of a graph run one after the other, and graphs of one capture on one stream,
 * so that they all share it. Owner: a frame. Externally synchronised. */
#ifndef GANTRY_KERNEL_CAPTURE_H
#define GANTRY_KERNEL_CAPTURE_H

#include "device/buffer.h"

typedef struct gantry__capture_scratch_t {
    gantry__buffer_t *buffer;
    bool is_taken; /* the call that is captured uses it */
} gantry__capture_scratch_t;

typedef struct gantry__capture_t {
    gantry_logical_device_t *device;
    const gantry__heap_t *heap;
    gantry_backend_stream_t *stream; /* NULL: nothing is captured now */
    gantry__capture_scratch_t *scratch;
    size_t scratch_count, scratch_capacity;
    uint64_t launches; /* since begin */
} gantry__capture_t;

/* Whether the device's backend makes graphs. */
bool gantry__capture_is_possible(const gantry_logical_device_t *device);

void gantry__capture_init(gantry__capture_t *capture, gantry_logical_device_t *device);
/* Ends the capture. No graph of it may be launched after that. */
void gantry__capture_deinit(gantry__capture_t *capture);

gantry_status_t gantry__capture_begin(gantry__capture_t *capture);
/* Ends the capturing: whatever it returns, nothing is captured any more. *out_graph: NULL after a
 * failure. */
gantry_status_t gantry__capture_end(gantry__capture_t *capture, gantry_backend_graph_t **out_graph);

/* Takes scratch for the call that is captured; it belongs to the capture. */
gantry_status_t gantry__capture_take_scratch(gantry__capture_t *capture,
                                             const gantry__allocation_t *request,
                                             gantry__buffer_t **out_buffer);
/* The call has ended: the next one may use its scratch. */
void gantry__capture_end_call(gantry__capture_t *capture);
/* A launch of a graph uses all scratch up to this point. */
void gantry__capture_mark_use(const gantry__capture_t *capture, gantry__point_t point);

#endif
