/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory that the program shares: buffers over its memory, and Gantry's memory that its work
 * reads. Owner: a buffer's references. Thread-safe. */
#ifndef GANTRY_DEVICE_SHARING_H
#define GANTRY_DEVICE_SHARING_H

#include "device/buffer.h"

/* The program's memory, as a call describes it. */
typedef struct gantry__shared_memory_t {
    void *native;
    uint64_t offset_bytes, size_bytes; /* size_bytes > 0 */
    uint64_t element_bytes;            /* the elements begin at a multiple */
    void *ready_event; /* of the driver; NULL: ready, or by earlier work of the adopted queue */
    void *ready_queue; /* of the driver: the elements are there after its work; NULL: none */
} gantry__shared_memory_t;

/* The slots of the device's backend; FailedPrecondition if it has none. call: for the message. */
gantry_status_t gantry__sharing_ops(const gantry_logical_device_t *device, const char *call,
                                    const gantry_interop_ops_t **out_ops);

/* Makes a buffer of the program's device memory on a device that is open; *out_ready is the point
 * from which on the elements are there. On failure foreign->release is not called. */
gantry_status_t gantry__sharing_adopt(gantry_logical_device_t *device,
                                      const gantry__shared_memory_t *memory,
                                      const gantry__foreign_t *foreign,
                                      gantry__buffer_t **out_buffer, gantry__point_t *out_ready);

/* Notes that work of the adopted queue may use the buffer until it is given back. */
void gantry__sharing_expose(gantry__buffer_t *buffer);
/* Keeps the buffer's bytes until an event of the program has completed. */
gantry_status_t gantry__sharing_hold(gantry__buffer_t *buffer, void *native_event);

#endif
