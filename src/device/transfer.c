/* SPDX-License-Identifier: Apache-2.0 */
/* The ways between two buffers, the shortest first:
 *
 *   host-addressable, done at once   one of the two is host memory: a copy from or to it
 *   parts of one card                transfer->copy on the target's stream
 *   cards of one backend             transfer->copy_peer on the target's stream, until it says that
 *                                    it has no way
 *   anything else                    to the host and from there, also between two views of one
 *                                    card: drivers do not know each other's memory. In two blocks
 *                                    of host memory, so that the next one is read while the last
 *                                    one is written, and pinned, because drivers do not overlap
 *                                    copies from and to other memory:
 *
 *                                      block 0   |read 0||write 0      ||read 2|...
 *                                      block 1           |read 1||wait ||write 1   |...
 *
 * A copy on the device's side orders itself only by events:
 *
 *   source:  ... ready                  to_host waits, counts
 *                     \                /
 *   target:  to_device waits    copy ---    the target is ready at the copy's count
 *
 * The source's last use is on its own device's streams. */
#include "device/transfer.h"

#include <stdio.h>
#include <string.h>

#include "backend/slot_failure.h"
#include "device/device_table.h"
#include "device/device_times.h"
#include "device/loss.h"
#include "device/staging.h"

typedef struct gantry_logical_device_t logical_t;

/* Submits a copy from memory that stays valid until the returned point. */
static gantry_status_t submit_to_device(gantry__buffer_t *target, uint64_t offset_bytes,
                                        const void *source, uint64_t size_bytes,
                                        gantry__point_t *out_ready) {
    logical_t *device = target->device;
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_TO_DEVICE];
    gantry_span_t span = {target->span.region, target->span.offset_bytes + offset_bytes,
                          size_bytes};
    gantry__timed_t timed;
    gantry__timed_begin(&timed, device, GANTRY__TIMED_TO_DEVICE, NULL);
    gantry__stream_begin(stream);
    gantry_status_t status;
    GANTRY__CALL_SLOT(status, device->backend->transfer->to_device(stream->handle, &span, source));
    uint64_t count = gantry__stream_end(stream);
    gantry__timed_end(&timed, size_bytes);
    gantry__buffer_mark_use(target, GANTRY_STREAM_TO_DEVICE, count);
    *out_ready = (gantry__point_t){stream, count};
    return gantry__loss_note(device, status);
}

/* Waits for the points that the stream waits for, ignoring failures. Otherwise the driver would
 * wait in the transfer itself, under the stream's lock. */
static void settle_pageable(const logical_t *device, gantry__stream_t *stream) {
    if (!device->waits_for_pageable) return;
    gantry__stream_begin(stream);
    (void)gantry__point_wait((gantry__point_t){stream, gantry__stream_end(stream)});
}

static gantry_status_t copy_and_wait(gantry__buffer_t *target, uint64_t offset_bytes,
                                     const void *source, uint64_t size_bytes,
                                     gantry__point_t *out_ready) {
    settle_pageable(target->device, &target->device->streams[GANTRY_STREAM_TO_DEVICE]);
    GANTRY__TRY(submit_to_device(target, offset_bytes, source, size_bytes, out_ready));
    return gantry__point_wait(*out_ready);
}

/* Counts bytes that cross; returns the frame that counts them, for the copy's time. */
static gantry__profile_frame_t *count_moved(const logical_t *device, uint64_t size_bytes) {
    gantry__profile_frame_t *frame = gantry__device_frame(device->table);
    if (frame) frame->numbers.bytes_moved += size_bytes;
    return frame;
}

gantry_status_t gantry__copy_part_from_host(gantry__buffer_t *target, uint64_t offset_bytes,
                                            const void *source, uint64_t size_bytes,
                                            gantry__point_t *out_ready) {
    logical_t *device = target->device;
    GANTRY__PHASE(count_moved(device, size_bytes), COPY);
    *out_ready = (gantry__point_t){NULL, 0};
    if (size_bytes == 0) return GANTRY_OK;
    GANTRY__TRY(gantry__loss_check(device));
    bool is_small = !device->synchronous && size_bytes <= GANTRY__STAGING_BLOCK_BYTES;
    gantry__staging_block_t *block = is_small ? gantry__staging_acquire(device) : NULL;
    if (!block) return copy_and_wait(target, offset_bytes, source, size_bytes, out_ready);
    memcpy(block->data, source, (size_t)size_bytes);
    gantry_status_t status =
        submit_to_device(target, offset_bytes, block->data, size_bytes, out_ready);
    gantry__staging_return(device, block, *out_ready);
    return status;
}

gantry_status_t gantry__fill_from_host(gantry__buffer_t *target, const void *element,
                                       uint32_t size_bytes, gantry__point_t *out_ready) {
    logical_t *device = target->device;
    GANTRY__PHASE(count_moved(device, size_bytes), COPY);
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_COMPUTE];
    const gantry_span_t span = {target->span.region, target->span.offset_bytes, size_bytes};
    *out_ready = (gantry__point_t){NULL, 0};
    GANTRY__TRY(gantry__loss_check(device));
    gantry__timed_t timed;
    gantry__timed_begin(&timed, device, GANTRY__TIMED_FILL, NULL);
    gantry__stream_begin(stream);
    gantry_status_t status;
    GANTRY__CALL_SLOT(status,
                      device->backend->transfer->fill(stream->handle, &span, element, size_bytes));
    uint64_t count = gantry__stream_end(stream);
    gantry__timed_end(&timed, size_bytes);
    gantry__buffer_mark_use(target, GANTRY_STREAM_COMPUTE, count);
    *out_ready = (gantry__point_t){stream, count};
    return gantry__loss_note(device, status);
}

gantry_status_t gantry__copy_from_host(gantry__buffer_t *target, const void *source,
                                       uint64_t size_bytes, gantry__point_t *out_ready) {
    return gantry__copy_part_from_host(target, 0, source, size_bytes, out_ready);
}

/* The stream for reads may still wait for a copy to another card, and that copy counts on it. */
gantry_status_t gantry__reads_wait_for(logical_t *device, gantry__point_t point) {
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_TO_HOST];
    if (!device->waits_for_pageable) return gantry__stream_wait_for(stream, &point, 1);
    GANTRY__TRY(gantry__point_wait(point));
    (void)gantry__point_wait((gantry__point_t){stream, atomic_load(&stream->submitted)});
    return GANTRY_OK;
}

gantry_status_t gantry__reads_follow(logical_t *device, gantry__point_t point) {
    if (!device->waits_for_pageable)
        return gantry__stream_follow(&device->streams[GANTRY_STREAM_TO_HOST], &point, 1);
    (void)gantry__point_wait(point);
    return gantry__reads_wait_for(device, (gantry__point_t){NULL, 0});
}

/* Submits a copy to host memory, after all that the stream waits for already. */
static gantry_status_t submit_to_host(void *target, gantry__buffer_t *source, uint64_t offset_bytes,
                                      uint64_t size_bytes, gantry__point_t *out_done) {
    logical_t *device = source->device;
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_TO_HOST];
    gantry_span_t span = {source->span.region, source->span.offset_bytes + offset_bytes,
                          size_bytes};
    gantry__timed_t timed;
    gantry__timed_begin(&timed, device, GANTRY__TIMED_TO_HOST, NULL);
    gantry__stream_begin(stream);
    gantry_status_t status;
    GANTRY__CALL_SLOT(status, device->backend->transfer->to_host(stream->handle, target, &span));
    uint64_t count = gantry__stream_end(stream);
    gantry__timed_end(&timed, size_bytes);
    gantry__buffer_mark_use(source, GANTRY_STREAM_TO_HOST, count);
    *out_done = (gantry__point_t){stream, count};
    return gantry__loss_note(device, status);
}

gantry_status_t gantry__copy_to_host(void *target, gantry__buffer_t *source, uint64_t offset_bytes,
                                     uint64_t size_bytes, gantry__point_t ready) {
    if (size_bytes == 0) return GANTRY_OK;
    logical_t *device = source->device;
    gantry__point_t done;
    GANTRY__PHASE(count_moved(device, size_bytes), COPY);
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__TRY(gantry__reads_wait_for(device, ready));
    gantry_status_t status = submit_to_host(target, source, offset_bytes, size_bytes, &done);
    gantry_status_t waited = gantry__point_wait(done);
    if (status == GANTRY_OK && waited == GANTRY_OK) gantry__point_passed(ready);
    return status != GANTRY_OK ? status : waited;
}

gantry_status_t gantry__copy_to_host_later(void *target, gantry__buffer_t *source,
                                           uint64_t offset_bytes, uint64_t size_bytes,
                                           gantry__point_t ready, gantry__point_t *out_done) {
    logical_t *device = source->device;
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_TO_HOST];
    *out_done = (gantry__point_t){NULL, 0};
    GANTRY__PHASE(count_moved(device, size_bytes), COPY);
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__TRY(gantry__stream_wait_for(stream, &ready, 1));
    return submit_to_host(target, source, offset_bytes, size_bytes, out_done);
}

/* The source is host memory already: no bounce. */
static gantry_status_t copy_from_addressable(gantry__buffer_t *target, gantry__buffer_t *source,
                                             uint64_t offset_bytes, uint64_t size_bytes,
                                             gantry__point_t *out_ready) {
    return gantry__copy_from_host(target, (const unsigned char *)source->data + offset_bytes,
                                  size_bytes, out_ready);
}

/* One copy on its way through the host. */
typedef struct bounce_t {
    gantry__buffer_t *target, *source;
    uint64_t from, size_bytes; /* from: in the source */
    uint64_t block_bytes;
    unsigned char *blocks[2];
    gantry__point_t written[2]; /* the block is free when the point has passed */
} bounce_t;

static gantry_status_t move_block(bounce_t *bounce, uint64_t at, uint32_t block,
                                  gantry__point_t ready) {
    uint64_t left = bounce->size_bytes - at,
             bytes = left < bounce->block_bytes ? left : bounce->block_bytes;
    if (bounce->written[block].stream) GANTRY__TRY(gantry__point_wait(bounce->written[block]));
    GANTRY__TRY(gantry__copy_to_host(bounce->blocks[block], bounce->source, bounce->from + at,
                                     bytes, ready));
    GANTRY__TRY(gantry__loss_check(bounce->target->device));
    gantry_status_t status =
        submit_to_device(bounce->target, at, bounce->blocks[block], bytes, &bounce->written[block]);
    gantry__stream_flush(bounce->written[block].stream);
    return status;
}

/* Moves the blocks. Pending work reads them, so they are freed only when it has ended, well or
 * not. */
static gantry_status_t move_blocks(bounce_t *bounce, gantry__point_t ready,
                                   gantry__point_t *out_ready) {
    gantry_status_t status = GANTRY_OK;
    uint32_t block = 0;
    for (uint64_t at = 0; at < bounce->size_bytes && status == GANTRY_OK;
         at += bounce->block_bytes) {
        status = move_block(bounce, at, block, ready);
        block ^= 1;
    }
    char why[GANTRY__MESSAGE_BYTES];
    if (status != GANTRY_OK) (void)snprintf(why, sizeof why, "%s", gantry__message());
    for (int i = 0; i < 2; ++i, block ^= 1) {
        gantry__point_t written = bounce->written[block];
        gantry_status_t waited = written.stream ? gantry__point_wait(written) : GANTRY_OK;
        if (status == GANTRY_OK && (status = waited) != GANTRY_OK)
            (void)snprintf(why, sizeof why, "%s", gantry__message());
        if (written.stream) *out_ready = written; /* the newer block comes last */
    }
    return status == GANTRY_OK ? GANTRY_OK : gantry__fail(status, "%s", why);
}

/* Reads into a block of the target's staging and writes from there, without waiting for the
 * write. */
static gantry_status_t copy_by_staging(gantry__staging_block_t *block, gantry__buffer_t *target,
                                       gantry__buffer_t *source, uint64_t offset_bytes,
                                       uint64_t size_bytes, gantry__point_t ready,
                                       gantry__point_t *out_ready) {
    gantry_status_t status =
        gantry__copy_to_host(block->data, source, offset_bytes, size_bytes, ready);
    if (status == GANTRY_OK) status = gantry__loss_check(target->device);
    if (status == GANTRY_OK)
        status = submit_to_device(target, 0, block->data, size_bytes, out_ready);
    gantry__staging_return(target->device, block, *out_ready);
    return status;
}

/* Uses host memory that is not pinned if another copy has the pair, or there is none. */
static gantry_status_t copy_by_blocks(gantry__buffer_t *target, gantry__buffer_t *source,
                                      uint64_t offset_bytes, uint64_t size_bytes,
                                      gantry__point_t ready, gantry__point_t *out_ready) {
    const gantry__heap_t *heap = source->device->table->heap;
    bool is_short = size_bytes <= GANTRY__STAGING_LARGE_BYTES;
    const size_t block_bytes = is_short ? (size_t)size_bytes : GANTRY__STAGING_LARGE_BYTES;
    const size_t blocks_bytes = is_short ? block_bytes : 2 * block_bytes;
    bool is_worth_pinning = size_bytes > GANTRY__STAGING_BLOCK_BYTES;
    unsigned char *pair = is_worth_pinning ? gantry__staging_take_pair(target->device) : NULL;
    unsigned char *blocks = pair ? pair : gantry__heap_alloc(heap, blocks_bytes);
    if (!blocks) return GANTRY_RESOURCE_EXHAUSTED;
    bounce_t bounce = {.target = target,
                       .source = source,
                       .from = offset_bytes,
                       .size_bytes = size_bytes,
                       .block_bytes = block_bytes,
                       .blocks = {blocks, blocks + (blocks_bytes - block_bytes)}};
    gantry_status_t status = move_blocks(&bounce, ready, out_ready);
    if (pair) {
        gantry__staging_give_pair(target->device);
    } else {
        gantry__heap_free(heap, blocks, blocks_bytes);
    }
    return status;
}

static gantry_status_t copy_by_bounce(gantry__buffer_t *target, gantry__buffer_t *source,
                                      uint64_t offset_bytes, uint64_t size_bytes,
                                      gantry__point_t ready, gantry__point_t *out_ready) {
    bool is_small = size_bytes <= GANTRY__STAGING_BLOCK_BYTES;
    gantry__staging_block_t *block = is_small ? gantry__staging_acquire(target->device) : NULL;
    if (block)
        return copy_by_staging(block, target, source, offset_bytes, size_bytes, ready, out_ready);
    return copy_by_blocks(target, source, offset_bytes, size_bytes, ready, out_ready);
}

/* ---- on the device's side ---- */

static uint64_t peer_bit(const logical_t *source) {
    return UINT64_C(1) << (source->physical->position % 64);
}

static bool has_way_on_device(const logical_t *target, const logical_t *source) {
    if (gantry__logical_device_is_sibling(target, source)) return true;
    const gantry_transfer_ops_t *transfer = target->backend->transfer;
    if (gantry__logical_view(target)->backend != gantry__logical_view(source)->backend)
        return false;
    if (!GANTRY_ABI_HAS(transfer, copy_peer) || !transfer->copy_peer) return false;
    return (atomic_load_explicit(&target->card->no_peer_copy, memory_order_relaxed) &
            peer_bit(source)) == 0;
}

/* Follows the uses of the target: other streams of its own device may still use its memory. */
static gantry_status_t follow_uses(gantry__stream_t *stream, gantry__buffer_t *buffer) {
    gantry__point_t points[GANTRY__STREAMS - 1];
    const uint32_t count = gantry__buffer_other_uses(buffer, stream->index, points);
    return gantry__stream_follow(stream, points, count);
}

/* Submits the copy; *out_peer_missing: the backend has no way between these two cards, and nothing
 * was submitted. */
static gantry_status_t submit_copy(gantry__buffer_t *target, gantry__buffer_t *source,
                                   uint64_t offset_bytes, uint64_t size_bytes,
                                   gantry__point_t *out_ready, bool *out_peer_missing) {
    const gantry_transfer_ops_t *transfer = target->device->backend->transfer;
    gantry__stream_t *stream = &target->device->streams[GANTRY_STREAM_TO_DEVICE];
    gantry_span_t to = {target->span.region, target->span.offset_bytes, size_bytes};
    gantry_span_t from = {source->span.region, source->span.offset_bytes + offset_bytes,
                          size_bytes};
    bool is_peer = !gantry__logical_device_is_sibling(target->device, source->device);
    gantry__timed_t timed;
    gantry__timed_begin(&timed, target->device,
                        is_peer ? GANTRY__TIMED_FROM_CARD : GANTRY__TIMED_ON_DEVICE, NULL);
    gantry__stream_begin(stream);
    gantry_status_t code;
    GANTRY__CALL_SLOT(
        code, is_peer ? transfer->copy_peer(stream->handle, &to, source->device->handle, &from)
                      : transfer->copy(stream->handle, &to, &from));
    uint64_t count = gantry__stream_end(stream);
    gantry__timed_end(&timed, size_bytes);
    gantry__buffer_mark_use(target, GANTRY_STREAM_TO_DEVICE, count);
    *out_ready = (gantry__point_t){stream, count};
    *out_peer_missing = is_peer && code == GANTRY_UNIMPLEMENTED;
    return code;
}

/* Records the copy's end as a use of the source by its own device: the device's stream for reads
 * waits for the copy, and counts. If it cannot wait, the host waits. */
static gantry_status_t hold_source(gantry__buffer_t *source, gantry__point_t copied) {
    gantry__stream_t *stream = &source->device->streams[GANTRY_STREAM_TO_HOST];
    if (copied.stream->synchronous) return GANTRY_OK;
    if (gantry__stream_follow(stream, &copied, 1) != GANTRY_OK) return gantry__point_wait(copied);
    gantry__stream_begin(stream);
    gantry__buffer_mark_use(source, GANTRY_STREAM_TO_HOST, gantry__stream_end(stream));
    return GANTRY_OK;
}

/* The target's stream copies after the source's ready point, without a wait on the host. */
static gantry_status_t copy_on_device(gantry__buffer_t *target, gantry__buffer_t *source,
                                      uint64_t offset_bytes, uint64_t size_bytes,
                                      gantry__point_t ready, gantry__point_t *out_ready,
                                      bool *out_peer_missing) {
    gantry__stream_t *stream = &target->device->streams[GANTRY_STREAM_TO_DEVICE];
    *out_peer_missing = false;
    GANTRY__TRY(gantry__loss_check(source->device));
    GANTRY__TRY(gantry__loss_check(target->device));
    GANTRY__TRY(gantry__stream_wait_for(stream, &ready, 1));
    GANTRY__TRY(follow_uses(stream, target));
    gantry_status_t status =
        submit_copy(target, source, offset_bytes, size_bytes, out_ready, out_peer_missing);
    if (status == GANTRY_OK) return hold_source(source, *out_ready);
    /* a part may have been submitted: the source must stay in use until that is over */
    char why[512];
    if (*out_peer_missing) return status;
    (void)snprintf(why, sizeof why, "%s", gantry__message());
    (void)gantry__stream_synchronize(stream);
    /* of two cards either may be lost: their streams know which */
    if (status == GANTRY_UNAVAILABLE)
        (void)gantry__stream_synchronize(&source->device->streams[GANTRY_STREAM_TO_HOST]);
    GANTRY__TRY(gantry__loss_check(source->device));
    GANTRY__TRY(gantry__loss_check(target->device));
    return gantry__fail(status, "%s", why);
}

static void give_peer_copy_up(const logical_t *target, const logical_t *source) {
    uint64_t bit = peer_bit(source);
    if (atomic_fetch_or(&target->card->no_peer_copy, bit) & bit) return;
    gantry__log(
        target->table->log, GANTRY_LEVEL_INFO,
        "Copies from %s to %s go through the host from now on: the backend has no direct way (%s)",
        source->physical->name, target->physical->name, gantry__message());
}

static gantry_status_t copy_by_shortest_way(gantry__buffer_t *target, gantry__buffer_t *source,
                                            uint64_t offset_bytes, uint64_t size_bytes,
                                            gantry__point_t ready, gantry__point_t *out_ready) {
    *out_ready = (gantry__point_t){NULL, 0};
    if (size_bytes == 0) return GANTRY_OK;
    if (source->device->synchronous && source->data)
        return copy_from_addressable(target, source, offset_bytes, size_bytes, out_ready);
    if (target->device->synchronous && target->data)
        return gantry__copy_to_host(target->data, source, offset_bytes, size_bytes, ready);
    if (has_way_on_device(target->device, source->device)) {
        bool is_peer_missing;
        gantry_status_t status = copy_on_device(target, source, offset_bytes, size_bytes, ready,
                                                out_ready, &is_peer_missing);
        if (!is_peer_missing) {
            (void)count_moved(target->device, size_bytes);
            return status;
        }
        give_peer_copy_up(target->device, source->device);
        *out_ready = (gantry__point_t){NULL, 0};
    }
    return copy_by_bounce(target, source, offset_bytes, size_bytes, ready, out_ready);
}

/* Copies through the host are counted when they reach it. */
gantry_status_t gantry__copy_across(gantry__buffer_t *target, gantry__buffer_t *source,
                                    uint64_t offset_bytes, uint64_t size_bytes,
                                    gantry__point_t ready, gantry__point_t *out_ready) {
    GANTRY__PHASE(gantry__device_frame(target->device->table), COPY);
    const uint32_t failures = gantry__failures();
    gantry_status_t status =
        copy_by_shortest_way(target, source, offset_bytes, size_bytes, ready, out_ready);
    if (status == GANTRY_OK) gantry__forget_since(failures); /* there may be no direct way */
    return status;
}
