/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills of host memory. The pool's threads share a large one, because a single core does
 * not reach the memory's bandwidth. */
#include <string.h>

#include "kernels/common/cpu_copy.h"
#include "cpu/cpu_stream.h"

/* copying this many bytes takes about as long as waking a sleeping thread */
#define GRAIN_BYTES (INT64_C(1) << 20)

static char *span_address(const gantry_span_t *span) {
    return (char *)(uintptr_t)(span->region + span->offset_bytes);
}

typedef uint64_t pair_t __attribute__((vector_size(16), aligned(1), may_alias));

void gantry__cpu_copy_lines(void *to, const void *from, size_t bytes) {
    pair_t *target = to;
    const pair_t *source = from;
    for (; bytes >= 4 * sizeof(pair_t); bytes -= 4 * sizeof(pair_t)) {
        const pair_t a = source[0], b = source[1], c = source[2], d = source[3];
        target[0] = a;
        target[1] = b;
        target[2] = c;
        target[3] = d;
        target += 4;
        source += 4;
    }
    memcpy(target, source, bytes);
}

typedef struct copy_t {
    char *target;
    const char *source;
} copy_t;

static void cpu_transfer_copy_part(void *context, int64_t begin, int64_t end) {
    copy_t *copy = context;
    gantry__cpu_copy(copy->target + begin, copy->source + begin, (size_t)(end - begin));
}

static void cpu_transfer_copy_bytes(gantry_backend_stream_t *stream, void *target,
                                    const void *source, uint64_t size_bytes) {
    copy_t copy = {target, source};
    if (target != source) {
        gantry__cpu_parallel_for(stream->device, (int64_t)size_bytes, GRAIN_BYTES,
                                 cpu_transfer_copy_part, &copy);
    }
}

static int32_t cpu_transfer_to_device(gantry_backend_stream_t *stream, const gantry_span_t *target,
                                      const void *source) {
    cpu_transfer_copy_bytes(stream, span_address(target), source, target->size_bytes);
    return GANTRY_OK;
}

static int32_t cpu_transfer_to_host(gantry_backend_stream_t *stream, void *target,
                                    const gantry_span_t *source) {
    cpu_transfer_copy_bytes(stream, target, span_address(source), source->size_bytes);
    return GANTRY_OK;
}

static int32_t copy_span(gantry_backend_stream_t *stream, const gantry_span_t *target,
                         const gantry_span_t *source) {
    cpu_transfer_copy_bytes(stream, span_address(target), span_address(source), target->size_bytes);
    return GANTRY_OK;
}

typedef struct fill_t {
    char *target;
    uint64_t word; /* the pattern, repeated to 8 bytes */
} fill_t;

static void cpu_transfer_fill_part(void *context, int64_t begin, int64_t end) {
    fill_t *fill = context;
    char *at = fill->target + begin;
    int64_t words = (end - begin) / 8;
    for (int64_t i = 0; i < words; ++i) memcpy(at + 8 * i, &fill->word, 8);
    memcpy(at + 8 * words, &fill->word, (size_t)((end - begin) % 8));
}

static void set_part(void *context, int64_t begin, int64_t end) {
    fill_t *fill = context;
    memset(fill->target + begin, (int)(fill->word & 0xff), (size_t)(end - begin));
}

static int32_t fill_span(gantry_backend_stream_t *stream, const gantry_span_t *target,
                         const void *pattern, uint32_t pattern_bytes) {
    fill_t fill = {span_address(target), 0};
    for (uint32_t i = 0; i < 8; i += pattern_bytes)
        memcpy((char *)&fill.word + i, pattern, pattern_bytes);
    uint64_t byte = fill.word & 0xff;
    gantry__cpu_parallel_for(
        stream->device, (int64_t)target->size_bytes, GRAIN_BYTES,
        fill.word == byte * UINT64_C(0x0101010101010101) ? set_part : cpu_transfer_fill_part,
        &fill);
    return GANTRY_OK;
}

const gantry_transfer_ops_t gantry__cpu_transfer_ops = {
    .struct_size = sizeof gantry__cpu_transfer_ops,
    .to_device = cpu_transfer_to_device,
    .to_host = cpu_transfer_to_host,
    .copy = copy_span,
    .fill = fill_span,
    .copy_peer = NULL,
};
