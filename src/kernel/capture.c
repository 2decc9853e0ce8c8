/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/capture.h"

#include "device/device_table.h"
#include "device/loss.h"

static const gantry_graph_ops_t *graph_ops(const gantry_logical_device_t *device) {
    return GANTRY_ABI_HAS(device->backend, graph) ? device->backend->graph : NULL;
}

bool gantry__capture_is_possible(const gantry_logical_device_t *device) {
    return !device->synchronous && graph_ops(device);
}

void gantry__capture_init(gantry__capture_t *capture, gantry_logical_device_t *device) {
    *capture = (gantry__capture_t){.device = device, .heap = device->table->heap};
}

void gantry__capture_deinit(gantry__capture_t *capture) {
    for (size_t i = 0; i < capture->scratch_count; ++i)
        gantry__buffer_release(capture->scratch[i].buffer);
    gantry__heap_free(capture->heap, capture->scratch,
                      capture->scratch_capacity * sizeof *capture->scratch);
}

/* ---- begin and end ---- */

static gantry_status_t capture_note(const gantry__capture_t *capture, int32_t code) {
    return gantry__loss_note(capture->device, (gantry_status_t)code);
}

static void drop_stream(gantry__capture_t *capture) {
    capture->device->backend->stream->destroy(capture->stream);
    capture->stream = NULL;
}

gantry_status_t gantry__capture_begin(gantry__capture_t *capture) {
    const gantry_logical_device_t *device = capture->device;
    capture->launches = 0;
    GANTRY__TRY(
        capture_note(capture, (int32_t)gantry__stream_make_twin(
                                  &device->streams[GANTRY_STREAM_COMPUTE], &capture->stream)));
    gantry_status_t status =
        capture_note(capture, graph_ops(device)->begin_capture(capture->stream));
    if (status != GANTRY_OK) drop_stream(capture);
    return status;
}

gantry_status_t gantry__capture_end(gantry__capture_t *capture,
                                    gantry_backend_graph_t **out_graph) {
    *out_graph = NULL;
    gantry_status_t status =
        capture_note(capture, graph_ops(capture->device)->end_capture(capture->stream, out_graph));
    drop_stream(capture);
    return status;
}

/* ---- scratch ---- */

static gantry__capture_scratch_t *find_scratch(const gantry__capture_t *capture, uint64_t bytes) {
    gantry__capture_scratch_t *best = NULL;
    for (size_t i = 0; i < capture->scratch_count; ++i) {
        gantry__capture_scratch_t *at = &capture->scratch[i];
        const uint64_t size = at->buffer->span.size_bytes;
        if (!at->is_taken && size >= bytes && (!best || size < best->buffer->span.size_bytes))
            best = at;
    }
    return best;
}

static gantry_status_t add_scratch(gantry__capture_t *capture, const gantry__allocation_t *request,
                                   gantry__capture_scratch_t **out_scratch) {
    gantry__allocation_t kept = *request;
    gantry__buffer_t *buffer;
    kept.temporary = false;
    if (!gantry__heap_grow(capture->heap, &capture->scratch, capture->scratch_count,
                           &capture->scratch_capacity, sizeof *capture->scratch))
        return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(gantry__buffer_allocate(capture->device, &kept, GANTRY_STREAM_COMPUTE, &buffer));
    *out_scratch = &capture->scratch[capture->scratch_count++];
    (*out_scratch)->buffer = buffer;
    return GANTRY_OK;
}

gantry_status_t gantry__capture_take_scratch(gantry__capture_t *capture,
                                             const gantry__allocation_t *request,
                                             gantry__buffer_t **out_buffer) {
    gantry__capture_scratch_t *scratch = find_scratch(capture, request->bytes);
    if (!scratch) GANTRY__TRY(add_scratch(capture, request, &scratch));
    scratch->is_taken = true;
    *out_buffer = scratch->buffer;
    return GANTRY_OK;
}

void gantry__capture_end_call(gantry__capture_t *capture) {
    for (size_t i = 0; i < capture->scratch_count; ++i) capture->scratch[i].is_taken = false;
}

void gantry__capture_mark_use(const gantry__capture_t *capture, gantry__point_t point) {
    for (size_t i = 0; i < capture->scratch_count; ++i)
        gantry__buffer_mark_use(capture->scratch[i].buffer, GANTRY_STREAM_COMPUTE, point.count);
}
