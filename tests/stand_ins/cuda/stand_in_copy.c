/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills, as host work in a stream. The call checks the ranges; pageable host memory
 * makes a copy wait, as on a card. */
#include <string.h>

#include "stand_in_graph.h"

typedef struct copy_t {
    void *target;
    const void *source;
    size_t bytes;
} copy_t;

static void run_copy(void *arguments) {
    const copy_t *copy = arguments;

    memmove(copy->target, copy->source, copy->bytes);
}

static int is_of(int kind, uint64_t address, size_t bytes) {
    return stand_in__memory_at(address, bytes, kind) != NULL;
}

/* A captured copy is checked again when it runs. Real drivers may capture pageable memory; the
 * stand-in does not. */
static int keep_sides(stand_in_stream_t *stream, uint64_t target, int target_side, uint64_t source,
                      int source_side, size_t bytes, int is_waited) {
    int code = is_waited ? stand_in__spoil(stream, CUDA_CAPTURE_UNSUPPORTED) : CUDA_OK;

    if (code == CUDA_OK) code = stand_in__keep_memory(stream, target, bytes, target_side);
    if (code == CUDA_OK) code = stand_in__keep_memory(stream, source, bytes, source_side);
    return code;
}

/* Copies in a stream; sides: the required kind of each address, STAND_IN_MEMORY or
 * STAND_IN_HOST_MEMORY (any memory of the host). */
static int copy(void *stream_handle, uint64_t target, int target_side, uint64_t source,
                int source_side, size_t bytes, int is_waited) {
    const copy_t work = {(void *)(uintptr_t)target, (const void *)(uintptr_t)source, bytes};
    const uint64_t host = target_side == STAND_IN_HOST_MEMORY ? target : source;
    stand_in_stream_t *stream;
    int code = stand_in__stream_of(stream_handle, &stream);

    if (code != CUDA_OK) return code;
    if (bytes == 0) return CUDA_OK;
    if (target == 0 || source == 0) return CUDA_INVALID_VALUE;
    if (is_of(STAND_IN_MEMORY, target, bytes) != (target_side == STAND_IN_MEMORY) ||
        is_of(STAND_IN_MEMORY, source, bytes) != (source_side == STAND_IN_MEMORY)) {
        return CUDA_INVALID_VALUE;
    }
    if ((target_side == STAND_IN_HOST_MEMORY || source_side == STAND_IN_HOST_MEMORY) &&
        !is_of(STAND_IN_HOST_MEMORY, host, bytes)) {
        is_waited = 1;
    }
    if (stand_in__is_captured(stream)) {
        code = keep_sides(stream, target, target_side, source, source_side, bytes, is_waited);
        if (code != CUDA_OK) return code;
    }
    code = stand_in__enqueue(stream, run_copy, &work, sizeof work);
    if (code == CUDA_OK && is_waited) {
        stand_in__pocl()->clFinish(stream->queue);
    }
    return code;
}

STAND_IN_API int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes,
                                      void *stream);
int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes, void *stream) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return copy(stream, target, STAND_IN_MEMORY, (uint64_t)(uintptr_t)source, STAND_IN_HOST_MEMORY,
                bytes, 0);
}

STAND_IN_API int cuMemcpyDtoHAsync_v2(void *target, uint64_t source, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *target, uint64_t source, size_t bytes, void *stream) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return copy(stream, (uint64_t)(uintptr_t)target, STAND_IN_HOST_MEMORY, source, STAND_IN_MEMORY,
                bytes, 0);
}

STAND_IN_API int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, void *stream) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return copy(stream, target, STAND_IN_MEMORY, source, STAND_IN_MEMORY, bytes, 0);
}

STAND_IN_API int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);
int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return copy(NULL, target, STAND_IN_MEMORY, (uint64_t)(uintptr_t)source, STAND_IN_HOST_MEMORY,
                bytes, 1);
}

STAND_IN_API int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t bytes);
int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t bytes) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return copy(NULL, (uint64_t)(uintptr_t)target, STAND_IN_HOST_MEMORY, source, STAND_IN_MEMORY,
                bytes, 1);
}

STAND_IN_API int cuMemcpyPeerAsync(uint64_t target, stand_in_context_t *target_context,
                                   uint64_t source, stand_in_context_t *source_context,
                                   size_t bytes, void *stream);
int cuMemcpyPeerAsync(uint64_t target, stand_in_context_t *target_context, uint64_t source,
                      stand_in_context_t *source_context, size_t bytes, void *stream) {
    const stand_in_memory_t *from;
    const stand_in_memory_t *to;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (stand_in__find(target_context, STAND_IN_CONTEXTS) == NULL ||
        stand_in__find(source_context, STAND_IN_CONTEXTS) == NULL) {
        return CUDA_INVALID_CONTEXT;
    }
    if (source_context->device->lost != 0) return source_context->device->lost;
    if (target_context->device->lost != 0) return target_context->device->lost;
    from = stand_in__memory_at(source, bytes, STAND_IN_MEMORY);
    to = stand_in__memory_at(target, bytes, STAND_IN_MEMORY);
    if (bytes > 0 && (from == NULL || to == NULL || from->device != source_context->device ||
                      to->device != target_context->device)) {
        return CUDA_INVALID_VALUE;
    }
    return copy(stream, target, STAND_IN_MEMORY, source, STAND_IN_MEMORY, bytes, 0);
}

/* ---- fills ---- */

typedef struct fill_t {
    uint8_t *target;
    size_t count;
    uint32_t value;
    uint32_t bytes; /* of one */
} fill_t;

static void run_fill(void *arguments) {
    const fill_t *fill = arguments;

    for (size_t i = 0; i < fill->count; ++i) {
        memcpy(fill->target + i * fill->bytes, &fill->value, fill->bytes);
    }
}

static int fill(void *stream_handle, uint64_t target, uint32_t value, uint32_t bytes,
                size_t count) {
    const fill_t work = {(uint8_t *)(uintptr_t)target, count, value, bytes};
    stand_in_stream_t *stream;
    int code = stand_in__stream_of(stream_handle, &stream);

    if (code != CUDA_OK) return code;
    if (count == 0) return CUDA_OK;
    if (target % bytes != 0 || count > SIZE_MAX / bytes ||
        !is_of(STAND_IN_MEMORY, target, count * bytes))
        return CUDA_INVALID_VALUE;
    if (stand_in__is_captured(stream)) {
        code = stand_in__keep_memory(stream, target, count * bytes, STAND_IN_MEMORY);
        if (code != CUDA_OK) return code;
    }
    return stand_in__enqueue(stream, run_fill, &work, sizeof work);
}

STAND_IN_API int cuMemsetD8Async(uint64_t target, unsigned char value, size_t count, void *stream);
int cuMemsetD8Async(uint64_t target, unsigned char value, size_t count, void *stream) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return fill(stream, target, value, 1, count);
}

STAND_IN_API int cuMemsetD16Async(uint64_t target, unsigned short value, size_t count,
                                  void *stream);
int cuMemsetD16Async(uint64_t target, unsigned short value, size_t count, void *stream) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return fill(stream, target, value, 2, count);
}

STAND_IN_API int cuMemsetD32Async(uint64_t target, unsigned value, size_t count, void *stream);
int cuMemsetD32Async(uint64_t target, unsigned value, size_t count, void *stream) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return fill(stream, target, value, 4, count);
}
