/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that the caller does not wait for:
 *
 *     compute    ... ready
 *     to host          \ copy | event
 *     host       begin . . . . . poll: not yet . . . poll: the event has passed, faults are settled
 *
 * The event is recorded directly after the copy, so that later reads delay no answer. Some drivers
 * copy to memory that is not pinned while the caller waits. There the copy goes to a staging block,
 * and the poll or wait that finds its end copies from the block; a larger one is made at once. */
#include <gantry/tensor.h>

#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "device/logical_device.h"
#include "device/pinned.h"
#include "device/staging.h"
#include "device/transfer.h"
#include "run/tensor_state.h"

struct gantry_read_t {
    gantry_tensor_t *tensor; /* held, and so are its memory and its runtime */
    void *out;
    gantry__point_t point;
    gantry__event_t *event;         /* after the point; NULL: the read has ended */
    gantry__staging_block_t *block; /* where the driver writes; NULL: to out */
    const char *note;
    gantry_status_t status; /* once it has ended */
    char message[512];      /* the text of a failure, cut to fit */
};

static const char at_once_on_host[] =
    "the elements are in the host's memory: they are copied at once";
static const char at_once_in_driver[] =
    "the driver waits for copies to memory that is not pinned, and a staging block does not have the room; gantry_pinned_alloc gives memory without that wait";

/* ---- the end ---- */

/* Kernels may have met bad data: their faults show once they have run. */
static gantry_status_t take_elements(const gantry_read_t *read) {
    GANTRY__TRY(gantry__tensor_settle(read->tensor));
    if (read->block) memcpy(read->out, read->block->data, read->tensor->size_bytes);
    return GANTRY_OK;
}

/* Ends a read; status is that of the copy, which must be over. */
static gantry_status_t end_read(gantry_read_t *read, gantry_status_t status) {
    const gantry_tensor_t *tensor = read->tensor;
    if (status == GANTRY_OK) status = take_elements(read);
    read->status = status;
    if (status != GANTRY_OK)
        (void)snprintf(read->message, sizeof read->message, "%s", gantry__message());
    else
        gantry__point_passed(tensor->ready);
    if (read->block)
        gantry__staging_return(tensor->device, read->block, (gantry__point_t){NULL, 0});
    if (read->event) gantry__event_release(read->event);
    read->block = NULL;
    read->event = NULL;
    return status;
}

/* The result of a read that has ended. */
static gantry_status_t result_of(const gantry_read_t *read) {
    return read->status == GANTRY_OK ? GANTRY_OK : gantry__fail(read->status, "%s", read->message);
}

/* ---- the beginning ---- */

/* The memory to which the driver writes without a wait for it; NULL: nowhere. */
static void *place_of_copy(gantry_read_t *read) {
    gantry_logical_device_t *device = read->tensor->device;
    const size_t bytes = read->tensor->size_bytes;
    if (!device->waits_for_pageable || gantry__pinned_has(device, read->out, bytes))
        return read->out;
    if (bytes > GANTRY__STAGING_BLOCK_BYTES) return NULL;
    read->block = gantry__staging_acquire(device);
    return read->block ? read->block->data : NULL;
}

static gantry_status_t read_at_once(gantry_read_t *read, const char *note) {
    read->note = note;
    return gantry_tensor_read(read->tensor, read->out, read->tensor->size_bytes);
}

/* Submits the copy. Without an event, it is over on return. */
static gantry_status_t submit_read(gantry_read_t *read, void *place) {
    gantry_tensor_t *tensor = read->tensor;
    gantry_status_t status =
        gantry__copy_to_host_later(place, tensor->buffer, tensor->offset_bytes, tensor->size_bytes,
                                   tensor->ready, &read->point);
    if (!read->point.stream) return status;
    if (status == GANTRY_OK) (void)gantry__event_take(read->point, &read->event);
    if (read->event) {
        gantry__stream_flush(read->point.stream);
        return GANTRY_OK;
    }
    const gantry_status_t waited = gantry__point_wait(read->point);
    return status != GANTRY_OK ? status : waited;
}

static gantry_status_t begin_read(gantry_read_t *read) {
    const gantry_tensor_t *tensor = read->tensor;
    if (!tensor->buffer || tensor->device->synchronous) return read_at_once(read, at_once_on_host);
    void *place = place_of_copy(read);
    if (!place) return read_at_once(read, at_once_in_driver);
    gantry_status_t status = submit_read(read, place);
    return status == GANTRY_OK && read->event ? GANTRY_OK : end_read(read, status);
}

static void free_read(gantry_read_t *read) {
    const gantry__heap_t *heap = &read->tensor->runtime->heap;
    gantry_tensor_t *tensor = read->tensor;
    gantry__heap_free(heap, read, sizeof *read);
    gantry_tensor_release(tensor);
}

gantry_status_t gantry_tensor_read_async(const gantry_tensor_t *tensor, void *out, size_t bytes,
                                         gantry_read_t **out_read) {
    GANTRY__OWN_FP_MODE(fp);
    if (!out_read) return gantry__refuse("gantry_tensor_read_async: out_read is NULL");
    *out_read = NULL;
    GANTRY__TRY(gantry__tensor_check_read(tensor, out, bytes));
    GANTRY__RECORD(recorded, tensor->runtime, GANTRY__PROFILE_READ, tensor->device);
    const uint32_t before = gantry__failures();
    gantry_read_t *read = gantry__heap_zalloc(&tensor->runtime->heap, sizeof *read);
    if (!read) return GANTRY_RESOURCE_EXHAUSTED;
    read->tensor = gantry_tensor_retain(tensor);
    read->out = out;
    read->note = "";
    gantry_status_t status = begin_read(read);
    if (status != GANTRY_OK) {
        free_read(read);
        return status;
    }
    gantry__forget_since(before); /* without an event or a staging block there is another way */
    *out_read = read;
    return GANTRY_OK;
}

/* ---- asking ---- */

static gantry_status_t check_read(const gantry_read_t *read) {
    if (!read)
        return gantry__refuse("the read is NULL; one from gantry_tensor_read_async is accepted");
    return gantry__runtime_check_well(read->tensor->runtime);
}

static gantry_status_t finish_read(gantry_read_t *read) {
    return read->event ? end_read(read, gantry__point_wait(read->point)) : result_of(read);
}

/* The event may come after later work: the point shows whether the read itself failed. */
gantry_status_t gantry_read_poll(gantry_read_t *read, bool *out_has_ended) {
    GANTRY__OWN_FP_MODE(fp);
    if (out_has_ended) *out_has_ended = false;
    GANTRY__TRY(check_read(read));
    if (!out_has_ended) return gantry__refuse("gantry_read_poll: out_has_ended is NULL");
    bool is_past = true;
    gantry_status_t status = read->event ? gantry__event_poll(read->event, &is_past) : GANTRY_OK;
    *out_has_ended = is_past;
    if (!is_past) return GANTRY_OK;
    return status != GANTRY_OK ? end_read(read, status) : finish_read(read);
}

gantry_status_t gantry_read_wait(gantry_read_t *read) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(check_read(read));
    GANTRY__RECORD(recorded, read->tensor->runtime, GANTRY__PROFILE_WAITED, read->tensor->device);
    return finish_read(read);
}

const char *gantry_read_note(const gantry_read_t *read) { return read ? read->note : ""; }

void gantry_read_release(gantry_read_t *read) {
    GANTRY__OWN_FP_MODE(fp);
    if (!read || !gantry__runtime_is_ours(read->tensor->runtime)) return;
    const uint32_t before = gantry__failures();
    if (read->event) (void)finish_read(read);
    gantry__forget_since(before);
    free_read(read);
}
