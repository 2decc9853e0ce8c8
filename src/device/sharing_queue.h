/* SPDX-License-Identifier: Apache-2.0 */
/* Order with a queue of another library or of the program that no runtime adopted: its work before
 * Gantry's, and after it. No call waits on the host but where it says so.
 *
 * Owner: who opened a queue closes it; the queue itself stays its maker's, and must be valid until
 * then. Thread-safe. */
#ifndef GANTRY_DEVICE_SHARING_QUEUE_H
#define GANTRY_DEVICE_SHARING_QUEUE_H

#include "device/buffer.h"

/* Makes the compute stream of an open device wait for the present work of the queue. */
gantry_status_t gantry__queue_follow(gantry_logical_device_t *device, void *native_queue);

/* Makes later work of the queue wait for the point; *out_queue is for gantry__queue_close. */
gantry_status_t gantry__queue_lead(gantry_logical_device_t *device, void *native_queue,
                                   gantry__point_t point, gantry_backend_stream_t **out_queue);

/* Keeps the buffer's bytes until the present work of the queue has ended; where that cannot be
 * kept, waits for it. NULL: no buffer, and no work of the queue uses it. */
void gantry__queue_close(gantry_logical_device_t *device, gantry_backend_stream_t *queue,
                         gantry__buffer_t *buffer);

#endif
