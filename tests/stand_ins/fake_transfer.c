/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers: the stream runs memcpy and writes patterns.
 *
 * Host memory belongs to a transfer from its submission to its end: a changed source is a
 * violation, and submission overwrites the target with garbage, so that no early read returns the
 * result. */
#include "fake_internal.h"

#include <string.h>

#define SPOILT_BYTE 0xdb

/* FNV-1a of words of 8 bytes, since conformance copies many megabytes; of bytes at the end */
static uint64_t sum_of(const void *bytes, uint64_t size) {
    const unsigned char *at = bytes;
    uint64_t sum = UINT64_C(14695981039346656037), word, i = 0;
    for (; i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, at + i, sizeof word);
        sum = (sum ^ word) * UINT64_C(1099511628211);
    }
    for (; i < size; ++i) sum = (sum ^ at[i]) * UINT64_C(1099511628211);
    return sum;
}

void gantry__fake_take_host_memory(fake_call_t *call, fake_work_t *work) {
    uint64_t bytes = work->operand_count > 0 ? work->operands[0].size_bytes : 0;
    const void *memory = work->host_target ? work->host_target : work->host_source;
    if (work->is_captured && memory && !gantry__fake_is_pinned(memory, bytes)) {
        gantry__fake_violate(call, "%s in a graph: the host memory is not of host_alloc",
                             work->what);
        return;
    }
    if (work->host_source) work->host_sum = sum_of(work->host_source, bytes);
    if (work->host_target) memset(work->host_target, SPOILT_BYTE, (size_t)bytes);
}

static int32_t run_to_device(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    if (sum_of(work->host_source, work->operands[0].size_bytes) != work->host_sum) {
        gantry__fake_lock();
        gantry__fake_violate(NULL,
                             "to_device: the source was written to before the stream had passed");
        gantry__fake_unlock();
    }
    memcpy(work->operands[0].bytes, work->host_source, (size_t)work->operands[0].size_bytes);
    return GANTRY_OK;
}

static int32_t run_to_host(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    memcpy(work->host_target, work->operands[0].bytes, (size_t)work->operands[0].size_bytes);
    return GANTRY_OK;
}

static int32_t run_copy(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    memmove(work->operands[0].bytes, work->operands[1].bytes, (size_t)work->operands[0].size_bytes);
    return GANTRY_OK;
}

static int32_t run_fill(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    unsigned char *bytes = work->operands[0].bytes;
    for (uint64_t i = 0; i < work->operands[0].size_bytes; i += work->pattern_bytes) {
        memcpy(bytes + i, work->pattern, work->pattern_bytes);
    }
    return GANTRY_OK;
}

static void check_bytes(fake_call_t *call, const gantry_span_t *span) {
    if (span->size_bytes == 0) gantry__fake_violate(call, "a transfer of 0 bytes");
}

static int32_t to_device(gantry_backend_stream_t *handle, const gantry_span_t *target,
                         const void *source) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_to_device);
    check_bytes(&call, target);
    if (!source) gantry__fake_violate(&call, "the source is NULL");
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    fake_work_t *work =
        stream ? gantry__fake_work_create(&call, stream, "to_device", run_to_device, 1, 0) : NULL;
    if (work) {
        work->host_source = source;
        gantry__fake_work_operand(&call, work, 0, stream->device, target, target->size_bytes, true);
    }
    gantry__fake_submit(&call, stream, work);
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

static int32_t to_host(gantry_backend_stream_t *handle, void *target, const gantry_span_t *source) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_to_host);
    check_bytes(&call, source);
    if (!target) gantry__fake_violate(&call, "the target is NULL");
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    fake_work_t *work =
        stream ? gantry__fake_work_create(&call, stream, "to_host", run_to_host, 1, 0) : NULL;
    if (work) {
        work->host_target = target;
        gantry__fake_work_operand(&call, work, 0, stream->device, source, source->size_bytes,
                                  false);
    }
    gantry__fake_submit(&call, stream, work);
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

static void check_copy(fake_call_t *call, const gantry_span_t *target,
                       const gantry_span_t *source) {
    check_bytes(call, target);
    if (target->size_bytes != source->size_bytes)
        gantry__fake_violate(call, "source and target differ in size");
    bool apart = target->region != source->region ||
                 target->offset_bytes >= source->offset_bytes + source->size_bytes ||
                 source->offset_bytes >= target->offset_bytes + target->size_bytes;
    if (!apart) gantry__fake_violate(call, "source and target overlap");
}

static void submit_copy(fake_call_t *call, fake_stream_t *stream, const gantry_span_t *target,
                        const fake_device_t *source_device, const gantry_span_t *source) {
    fake_work_t *work = gantry__fake_work_create(call, stream, "copy", run_copy, 2, 0);
    gantry__fake_work_operand(call, work, 0, stream->device, target, target->size_bytes, true);
    gantry__fake_work_operand(call, work, 1, source_device, source, source->size_bytes, false);
    gantry__fake_submit(call, stream, work);
}

#ifndef GANTRY_FAKE_WITHOUT_COPY
static int32_t copy(gantry_backend_stream_t *handle, const gantry_span_t *target,
                    const gantry_span_t *source) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_copy);
    check_copy(&call, target, source);
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    if (stream) submit_copy(&call, stream, target, stream->device, source);
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}
#endif

static int32_t copy_peer(gantry_backend_stream_t *handle, const gantry_span_t *target,
                         gantry_backend_device_t *source_device, const gantry_span_t *source) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_copy_peer);
    gantry__fake_check_layout(&call);
    check_copy(&call, target, source);
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    const fake_device_t *peer = gantry__fake_find_device(&call, source_device);
    if (stream && peer) submit_copy(&call, stream, target, peer, source);
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

static void check_fill(fake_call_t *call, const gantry_span_t *target, uint32_t pattern_bytes) {
    check_bytes(call, target);
    if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4 && pattern_bytes != 8) {
        gantry__fake_violate(call, "a pattern of %u bytes", pattern_bytes);
    } else if (target->offset_bytes % pattern_bytes != 0 ||
               target->size_bytes % pattern_bytes != 0) {
        gantry__fake_violate(
            call, "a pattern of %u bytes does not divide offset %llu and size %llu", pattern_bytes,
            (unsigned long long)target->offset_bytes, (unsigned long long)target->size_bytes);
    }
}

static int32_t fill(gantry_backend_stream_t *handle, const gantry_span_t *target,
                    const void *pattern, uint32_t pattern_bytes) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_fill);
    check_fill(&call, target, pattern_bytes);
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    fake_work_t *work =
        stream ? gantry__fake_work_create(&call, stream, "fill", run_fill, 1, 0) : NULL;
    if (work) {
        memcpy(work->pattern, pattern, pattern_bytes);
        work->pattern_bytes = pattern_bytes;
        gantry__fake_work_operand(&call, work, 0, stream->device, target, target->size_bytes, true);
    }
    gantry__fake_submit(&call, stream, work);
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

const gantry_transfer_ops_t gantry__fake_transfer_ops = {
#ifdef GANTRY_FAKE_OLD_LAYOUT
    .struct_size = offsetof(gantry_transfer_ops_t, copy_peer),
#else
    .struct_size = sizeof gantry__fake_transfer_ops,
#endif
    .to_device = to_device,
    .to_host = to_host,
#ifndef GANTRY_FAKE_WITHOUT_COPY
    .copy = copy,
#endif
    .fill = fill,
    .copy_peer = copy_peer,
};
