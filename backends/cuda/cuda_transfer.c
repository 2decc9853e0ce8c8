/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers: all are submitted and none is waited for, except by the driver itself where host
 * memory is not pinned.
 *
 * The driver fills with 1, 2 and 4 bytes. A pattern of 8 is written once, as two halves, and then
 * doubled by copies within the span: n elements take log2(n) copies and twice the memory traffic,
 * and no kernel is needed.
 *
 *     hl.............   hlhl...........   hlhlhlhl.......   hlhlhlhlhlhlhl */
#include "cuda/cuda_backend.h"

#include <stdio.h>
#include <string.h>

static int32_t cuda_transfer_check(gantry_backend_stream_t *stream, gantry__cu_result_t native,
                                   const char *what, const gantry_span_t *span) {
    return gantry__driver_check_span(stream->device->host, native, what, span,
                                     stream->device->record->hardware_name);
}

static int32_t cuda_transfer_to_device(gantry_backend_stream_t *stream, const gantry_span_t *target,
                                       const void *source) {
    GANTRY__TRY(gantry__cuda_stream_check(stream));
    GANTRY__TRY(gantry__cuda_capture_check(stream, source, target->size_bytes));
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(
        stream->device, native,
        stream->device->cu->cuMemcpyHtoDAsync_v2(gantry__cuda_address(target), source,
                                                 (size_t)target->size_bytes, stream->handle));
    return cuda_transfer_check(stream, native, "writing", target);
}

static int32_t cuda_transfer_to_host(gantry_backend_stream_t *stream, void *target,
                                     const gantry_span_t *source) {
    GANTRY__TRY(gantry__cuda_stream_check(stream));
    GANTRY__TRY(gantry__cuda_capture_check(stream, target, source->size_bytes));
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(
        stream->device, native,
        stream->device->cu->cuMemcpyDtoHAsync_v2(target, gantry__cuda_address(source),
                                                 (size_t)source->size_bytes, stream->handle));
    return cuda_transfer_check(stream, native, "reading", source);
}

static int32_t cuda_transfer_copy(gantry_backend_stream_t *stream, const gantry_span_t *target,
                                  const gantry_span_t *source) {
    gantry__cu_result_t native;
    GANTRY__TRY(gantry__cuda_stream_check(stream));
    GANTRY__CUDA_CALL(stream->device, native,
                      stream->device->cu->cuMemcpyDtoDAsync_v2(
                          gantry__cuda_address(target), gantry__cuda_address(source),
                          (size_t)target->size_bytes, stream->handle));
    return cuda_transfer_check(stream, native, "copying", target);
}

/* ---- fill ---- */

static gantry__cu_result_t fill_8(const gantry__cuda_symbols_t *cu, gantry__cu_stream_t stream,
                                  gantry__cu_address_t at, const uint32_t halves[2], size_t bytes) {
    if (halves[0] == halves[1]) return cu->cuMemsetD32Async(at, halves[0], bytes / 4, stream);
    gantry__cu_result_t native = cu->cuMemsetD32Async(at, halves[0], 1, stream);
    if (native == GANTRY__CU_SUCCESS) native = cu->cuMemsetD32Async(at + 4, halves[1], 1, stream);
    for (size_t done = 8; done < bytes && native == GANTRY__CU_SUCCESS; done *= 2) {
        native = cu->cuMemcpyDtoDAsync_v2(at + done, at, done < bytes - done ? done : bytes - done,
                                          stream);
    }
    return native;
}

static gantry__cu_result_t fill_any(const gantry__cuda_symbols_t *cu, gantry__cu_stream_t stream,
                                    gantry__cu_address_t at, size_t bytes, const void *pattern,
                                    uint32_t pattern_bytes) {
    uint32_t halves[2] = {0, 0};
    memcpy(halves, pattern, pattern_bytes);
    uint16_t two = 0;
    memcpy(&two, pattern, pattern_bytes >= 2 ? 2 : 1);
    switch (pattern_bytes) {
        case 1: return cu->cuMemsetD8Async(at, *(const unsigned char *)pattern, bytes, stream);
        case 2: return cu->cuMemsetD16Async(at, two, bytes / 2, stream);
        case 4: return cu->cuMemsetD32Async(at, halves[0], bytes / 4, stream);
        default: return fill_8(cu, stream, at, halves, bytes);
    }
}

static int32_t cuda_transfer_fill(gantry_backend_stream_t *stream, const gantry_span_t *target,
                                  const void *pattern, uint32_t pattern_bytes) {
    gantry__cu_result_t native;
    GANTRY__TRY(gantry__cuda_stream_check(stream));
    GANTRY__CUDA_CALL(stream->device, native,
                      fill_any(stream->device->cu, stream->handle, gantry__cuda_address(target),
                               (size_t)target->size_bytes, pattern, pattern_bytes));
    return cuda_transfer_check(stream, native, "filling", target);
}

/* ---- between cards ---- */

/* Logs once per pair that the direct way is not available; the driver then finds another one, which
 * it does not report. */
static void tell_no_access(const gantry_backend_device_t *device,
                           const gantry_backend_device_t *peer, const char *why) {
    gantry__host_log(device->host, GANTRY_LEVEL_INFO,
                     "%s (\"%.100s\") has no direct access to the memory of %s (\"%.100s\"): %s",
                     device->record->texts.pci_address, device->record->hardware_name,
                     peer->record->texts.pci_address, peer->record->hardware_name, why);
}

/* Requests the direct way, once per pair. A refusal is no failure: the driver then chooses the way.
 * The context of the target must be current. */
static void reach_peer(gantry_backend_device_t *device, gantry_backend_device_t *peer) {
    unsigned long long bit = gantry__cuda_peer_bit(peer);
    char why[96] = "the cards do not reach each other's memory";
    if (bit == 0 || (atomic_fetch_or(&device->peers_tried, bit) & bit) != 0) return;
    int can = 0;
    gantry__cu_result_t native =
        device->cu->cuDeviceCanAccessPeer(&can, device->record->device, peer->record->device);
    if (native == GANTRY__CU_SUCCESS && can != 0)
        native = device->cu->cuCtxEnablePeerAccess(peer->context, 0);
    if (native == GANTRY__CU_PEER_ACCESS_ALREADY_ENABLED ||
        (native == GANTRY__CU_SUCCESS && can != 0)) {
        return;
    }
    if (native != GANTRY__CU_SUCCESS)
        (void)snprintf(why, sizeof why, "%s (%u)", gantry__driver_error_name(native), native);
    tell_no_access(device, peer, why);
}

static gantry__cu_result_t copy_between(gantry_backend_stream_t *stream,
                                        const gantry_span_t *target, gantry_backend_device_t *peer,
                                        const gantry_span_t *source) {
    gantry_backend_device_t *device = stream->device;
    if (peer->context != device->context) reach_peer(device, peer);
    return device->cu->cuMemcpyPeerAsync(gantry__cuda_address(target), device->context,
                                         gantry__cuda_address(source), peer->context,
                                         (size_t)target->size_bytes, stream->handle);
}

static int32_t copy_peer(gantry_backend_stream_t *stream, const gantry_span_t *target,
                         gantry_backend_device_t *source_device, const gantry_span_t *source) {
    gantry__cu_result_t native;
    GANTRY__TRY(gantry__cuda_stream_check(stream));
    GANTRY__CUDA_CALL(stream->device, native, copy_between(stream, target, source_device, source));
    return cuda_transfer_check(stream, native, "copying from another card", target);
}

const gantry_transfer_ops_t gantry__cuda_transfer_ops = {
    .struct_size = sizeof gantry__cuda_transfer_ops,
    .to_device = cuda_transfer_to_device,
    .to_host = cuda_transfer_to_host,
    .copy = cuda_transfer_copy,
    .fill = cuda_transfer_fill,
    .copy_peer = copy_peer,
};
