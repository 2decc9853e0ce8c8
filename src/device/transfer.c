#include "device/transfer.h"

#include <string.h>

#include "device/loss.h"
#include "device/staging.h"

typedef struct gantry_logical_device_t logical_t;

/* Submits a copy from memory that stays valid until the returned point. */
static gantry_status_t submit_to_device(gantry__buffer_t *target, const void *source, uint64_t size_bytes,
                                        gantry__point_t *out_ready) {
    logical_t *device = target->device;
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_TO_DEVICE];
    gantry_span_t span = target->span;
    span.size_bytes = size_bytes;
    gantry__stream_begin(stream);
    gantry_status_t status = (gantry_status_t)device->backend->transfer->to_device(stream->handle, &span, source);
    uint64_t count = gantry__stream_end(stream);
    gantry__buffer_mark_use(target, GANTRY_STREAM_TO_DEVICE, count);
    *out_ready = (gantry__point_t){stream, count};
    return gantry__loss_note(device, status);
}

static gantry_status_t copy_through_staging(gantry__buffer_t *target, const void *source, uint64_t size_bytes,
                                            gantry__point_t *out_ready) {
    logical_t *device = target->device;
    gantry__staging_block_t *block;
    GANTRY__TRY(gantry__loss_note(device, gantry__staging_acquire(device, &block)));
    memcpy(block->data, source, size_bytes);
    gantry_status_t status = submit_to_device(target, block->data, size_bytes, out_ready);
    gantry__staging_return(device, block, *out_ready);
    return status;
}

gantry_status_t gantry__copy_from_host(gantry__buffer_t *target, const void *source, uint64_t size_bytes,
                                       gantry__point_t *out_ready) {
    *out_ready = (gantry__point_t){NULL, 0};
    if (size_bytes == 0) return GANTRY_OK;
    GANTRY__TRY(gantry__loss_check(target->device));
    if (!target->device->synchronous && size_bytes <= GANTRY__STAGING_BLOCK_BYTES) {
        return copy_through_staging(target, source, size_bytes, out_ready);
    }
    GANTRY__TRY(submit_to_device(target, source, size_bytes, out_ready));
    return gantry__point_wait(*out_ready);
}

gantry_status_t gantry__copy_to_host(void *target, gantry__buffer_t *source, uint64_t offset_bytes, uint64_t size_bytes,
                                     gantry__point_t ready) {
    if (size_bytes == 0) return GANTRY_OK;
    logical_t *device = source->device;
    GANTRY__TRY(gantry__loss_check(device));
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_TO_HOST];
    gantry_span_t span = {source->span.region, source->span.offset_bytes + offset_bytes, size_bytes};
    GANTRY__TRY(gantry__stream_wait_for(stream, &ready, 1));
    gantry__stream_begin(stream);
    gantry_status_t status = (gantry_status_t)device->backend->transfer->to_host(stream->handle, target, &span);
    uint64_t count = gantry__stream_end(stream);
    gantry__buffer_mark_use(source, GANTRY_STREAM_TO_HOST, count);
    status = gantry__loss_note(device, status);
    gantry_status_t waited = gantry__point_wait((gantry__point_t){stream, count});
    if (status == GANTRY_OK && waited == GANTRY_OK) gantry__point_passed(ready);
    return status != GANTRY_OK ? status : waited;
}

/* The source is host memory already: no bounce. */
static gantry_status_t copy_from_addressable(gantry__buffer_t *target, gantry__buffer_t *source, uint64_t offset_bytes,
                                             uint64_t size_bytes, gantry__point_t *out_ready) {
    return gantry__copy_from_host(target, (const unsigned char *)source->data + offset_bytes, size_bytes, out_ready);
}

static gantry_status_t copy_by_bounce(gantry__buffer_t *target, gantry__buffer_t *source, uint64_t offset_bytes,
                                      uint64_t size_bytes, gantry__point_t ready, gantry__point_t *out_ready) {
    const gantry__heap_t *heap = source->device->table->heap;
    void *bounce = gantry__heap_alloc(heap, size_bytes);
    if (!bounce) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry__copy_to_host(bounce, source, offset_bytes, size_bytes, ready);
    if (status == GANTRY_OK) status = gantry__copy_from_host(target, bounce, size_bytes, out_ready);
    gantry__heap_free(heap, bounce, size_bytes);
    return status;
}

gantry_status_t gantry__copy_across(gantry__buffer_t *target, gantry__buffer_t *source, uint64_t offset_bytes,
                                    uint64_t size_bytes, gantry__point_t ready, gantry__point_t *out_ready) {
    *out_ready = (gantry__point_t){NULL, 0};
    if (size_bytes == 0) return GANTRY_OK;
    if (source->device->synchronous && source->data)
        return copy_from_addressable(target, source, offset_bytes, size_bytes, out_ready);
    if (target->device->synchronous && target->data)
        return gantry__copy_to_host(target->data, source, offset_bytes, size_bytes, ready);
    return copy_by_bounce(target, source, offset_bytes, size_bytes, ready, out_ready);
}
