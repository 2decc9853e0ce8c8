/* SPDX-License-Identifier: Apache-2.0 */
#include "device/buffer.h"

#include <inttypes.h>

#include "device/device_table.h"
#include "device/loss.h"

static gantry_status_t wait_for_former_uses(gantry_logical_device_t *device,
                                            const gantry__bfc_chunk_t *chunk,
                                            uint32_t first_stream) {
    if (device->synchronous) return GANTRY_OK;
    gantry__point_t points[GANTRY__STREAMS];
    size_t count = 0;
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        if (i != first_stream && chunk->last_use[i] > 0)
            points[count++] = (gantry__point_t){&device->streams[i], chunk->last_use[i]};
    }
    return gantry__stream_follow(&device->streams[first_stream], points, count);
}

/* The work known to have ended, without a driver call: chunks that only it used need no wait. */
static void note_completed(const gantry_logical_device_t *device, uint32_t first_stream,
                           uint64_t out_completed[GANTRY__BFC_STREAMS]) {
    for (uint32_t i = 0; i < GANTRY__BFC_STREAMS; ++i) out_completed[i] = UINT64_MAX;
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        if (i != first_stream)
            out_completed[i] =
                atomic_load_explicit(&device->streams[i].completed, memory_order_relaxed);
    }
}

/* Explains a failure to allocate: no pool, however empty, has a region for more than the device's
 * largest allocation, so the error begins with that fact. */
static gantry_status_t buffer_explain(gantry_status_t status, const gantry_logical_device_t *device,
                                      uint64_t size_bytes) {
    uint64_t largest = device->info.largest_allocation_bytes;
    if (status != GANTRY_RESOURCE_EXHAUSTED || largest == 0 || size_bytes <= largest) return status;
    return gantry__fail_prefix(
        status, "%" PRIu64 " bytes are more than the largest allocation of %s, %" PRIu64 " bytes: ",
        size_bytes, device->name, largest);
}

static void buffer_count_allocation(gantry__profile_frame_t *frame, uint64_t bytes) {
    if (!frame) return;
    ++frame->numbers.allocations;
    frame->numbers.allocated_bytes += bytes;
}

gantry_status_t gantry__buffer_allocate(gantry_logical_device_t *device,
                                        const gantry__allocation_t *request, uint32_t first_stream,
                                        gantry__buffer_t **out_buffer) {
    gantry__profile_frame_t *frame = gantry__device_frame(device->table);
    GANTRY__PHASE(frame, ALLOCATION);
    *out_buffer = NULL;
    if (!device->synchronous) gantry__buffers_look(device);
    gantry__buffer_t *buffer = gantry__heap_zalloc(device->table->heap, sizeof *buffer);
    if (!buffer) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__bfc_chunk_t *chunk;
    gantry__allocation_t wanted = *request;
    uint64_t completed[GANTRY__BFC_STREAMS];
    if (!device->synchronous) {
        note_completed(device, first_stream, completed);
        wanted.completed = completed;
    }
    gantry_status_t status = gantry__allocator_allocate(&device->allocator, &wanted, &chunk);
    if (status != GANTRY_OK) {
        status = buffer_explain(gantry__loss_note(device, status), device, request->bytes);
        goto fail_buffer;
    }
    status = wait_for_former_uses(device, chunk, first_stream);
    if (status != GANTRY_OK) goto fail_chunk;
    atomic_init(&buffer->references, 1);
    buffer->device = device;
    buffer->chunk = chunk;
    buffer->foreign = (gantry__foreign_t){NULL, NULL, true};
    buffer->span = (gantry_span_t){chunk->region->handle, chunk->offset, request->bytes};
    buffer->data = device->host_addressable
                       ? (unsigned char *)(uintptr_t)chunk->region->handle + chunk->offset
                       : NULL;
    /* former uses stay recorded: this buffer may be freed before its first stream has waited for
     * them on the device */
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i)
        atomic_init(&buffer->last_use[i], chunk->last_use[i]);
    buffer_count_allocation(frame, request->bytes);
    *out_buffer = buffer;
    return GANTRY_OK;
fail_chunk:
    gantry__allocator_free(&device->allocator, chunk);
fail_buffer:
    gantry__heap_free(device->table->heap, buffer, sizeof *buffer);
    return status;
}

gantry_status_t gantry__buffer_create(gantry_logical_device_t *device, uint64_t size_bytes,
                                      uint32_t first_stream, const char *owner,
                                      gantry__buffer_t **out_buffer) {
    return gantry__buffer_allocate(device,
                                   &(gantry__allocation_t){.bytes = size_bytes, .owner = owner},
                                   first_stream, out_buffer);
}

gantry_status_t gantry__buffer_over(gantry_logical_device_t *device, const gantry_span_t *span,
                                    const gantry__foreign_t *foreign,
                                    gantry__buffer_t **out_buffer) {
    gantry__buffer_t *buffer = gantry__heap_zalloc(device->table->heap, sizeof *buffer);
    *out_buffer = buffer;
    if (!buffer) return GANTRY_RESOURCE_EXHAUSTED;
    atomic_init(&buffer->references, 1);
    buffer->device = device;
    buffer->foreign = *foreign;
    buffer->span = *span;
    atomic_fetch_add_explicit(&device->allocator.foreign_bytes, span->size_bytes,
                              memory_order_relaxed);
    return GANTRY_OK;
}

gantry_status_t gantry__buffer_adopt(gantry_logical_device_t *device, void *data, uint64_t bytes,
                                     const gantry__foreign_t *foreign,
                                     gantry__buffer_t **out_buffer) {
    const gantry_span_t span = {(uint64_t)(uintptr_t)data, 0, bytes};
    GANTRY__TRY(gantry__buffer_over(device, &span, foreign, out_buffer));
    (*out_buffer)->data = data;
    return GANTRY_OK;
}

gantry__buffer_t *gantry__buffer_retain(gantry__buffer_t *buffer) {
    atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}

void gantry__buffer_note_exposed(gantry__buffer_t *buffer) {
    if (!atomic_load_explicit(&buffer->is_exposed, memory_order_acquire)) return;
    gantry__stream_t *stream = &buffer->device->streams[GANTRY_STREAM_COMPUTE];
    gantry__buffer_mark_use(buffer, GANTRY_STREAM_COMPUTE, gantry__stream_count(stream));
}

uint32_t gantry__buffer_other_uses(gantry__buffer_t *buffer, uint32_t stream,
                                   gantry__point_t out_points[GANTRY__STREAMS - 1]) {
    uint32_t count = 0;
    if (stream != GANTRY_STREAM_COMPUTE) gantry__buffer_note_exposed(buffer);
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        uint64_t use = atomic_load_explicit(&buffer->last_use[i], memory_order_acquire);
        if (i != stream && use > 0)
            out_points[count++] = (gantry__point_t){&buffer->device->streams[i], use};
    }
    return count;
}

gantry_status_t gantry__buffer_follow_other_uses(gantry__buffer_t *buffer) {
    gantry__point_t points[GANTRY__STREAMS - 1];
    gantry_logical_device_t *device = buffer->device;
    if (device->synchronous) return GANTRY_OK;
    const uint32_t count = gantry__buffer_other_uses(buffer, GANTRY_STREAM_COMPUTE, points);
    return gantry__stream_follow(&device->streams[GANTRY_STREAM_COMPUTE], points, count);
}

bool gantry__buffer_is_aligned(const gantry__buffer_t *buffer, uint64_t offset_bytes) {
    const uint64_t line = 64, base = buffer->device->info.base_alignment_bytes;
    /* a region begins aligned, the program's too; its number need not be an address */
    const uint64_t begin = buffer->data && !buffer->chunk ? buffer->span.region : 0;
    return (begin + buffer->span.offset_bytes + offset_bytes) % (base > line ? base : line) == 0;
}

void gantry__buffer_mark_use(gantry__buffer_t *buffer, uint32_t stream, uint64_t count) {
    uint_fast64_t seen = atomic_load_explicit(&buffer->last_use[stream], memory_order_relaxed);
    while (seen < count &&
           !atomic_compare_exchange_weak_explicit(&buffer->last_use[stream], &seen, count,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
    }
}
