/* SPDX-License-Identifier: Apache-2.0 */
/* Copies: host to device, device to host, device to device. Every path that has no shorter way goes
 * through the host.
 *
 * A small copy passes through staging and is not waited for; a large one is direct and waited for.
 * Owner: buffers are the caller's. Threads: thread-safe. */
#ifndef GANTRY_DEVICE_TRANSFER_H
#define GANTRY_DEVICE_TRANSFER_H

#include "device/buffer.h"

/* Copies to the buffer's first size_bytes; source may be reused on return. *out_ready: the point
 * after which later work may read the buffer. */
gantry_status_t gantry__copy_from_host(gantry__buffer_t *target, const void *source,
                                       uint64_t size_bytes, gantry__point_t *out_ready);

/* Copies to the bytes from offset_bytes on. A buffer that is copied in parts is ready when the last
 * part is. */
gantry_status_t gantry__copy_part_from_host(gantry__buffer_t *target, uint64_t offset_bytes,
                                            const void *source, uint64_t size_bytes,
                                            gantry__point_t *out_ready);

/* The same for one element of 1, 2, 4 or 8 bytes, on the compute stream: no staging, and later ops
 * wait for no other stream. The buffer's first stream is the compute stream. */
gantry_status_t gantry__fill_from_host(gantry__buffer_t *target, const void *element,
                                       uint32_t size_bytes, gantry__point_t *out_ready);

/* Copies size_bytes at offset_bytes of the buffer, once ready has passed, and waits. */
gantry_status_t gantry__copy_to_host(void *target, gantry__buffer_t *source, uint64_t offset_bytes,
                                     uint64_t size_bytes, gantry__point_t ready);

/* The same for at least 1 byte, without a wait: the target must not be used before *out_done. If
 * the driver waits for copies of pageable memory, the target must be pinned. After a failure, too,
 * the driver may write the target until *out_done. */
gantry_status_t gantry__copy_to_host_later(void *target, gantry__buffer_t *source,
                                           uint64_t offset_bytes, uint64_t size_bytes,
                                           gantry__point_t ready, gantry__point_t *out_done);

/* Makes the stream for reads wait for a point, whose failure the caller gets. If the driver waits
 * for copies of pageable memory, this thread waits instead: no read waits under the lock. */
gantry_status_t gantry__reads_wait_for(gantry_logical_device_t *device, gantry__point_t point);
/* The same only for the order: a point whose work failed counts as passed, without an error. */
gantry_status_t gantry__reads_follow(gantry_logical_device_t *device, gantry__point_t point);

/* Copies to another device's buffer; as copy_from_host for *out_ready. */
gantry_status_t gantry__copy_across(gantry__buffer_t *target, gantry__buffer_t *source,
                                    uint64_t offset_bytes, uint64_t size_bytes,
                                    gantry__point_t ready, gantry__point_t *out_ready);

#endif
