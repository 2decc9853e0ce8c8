/* SPDX-License-Identifier: Apache-2.0 */
/* A logical device at work: opened on first use, waited for, closed with the table. The device owns
 * the open objects. Thread-safe; close is externally synchronised. */
#ifndef GANTRY_DEVICE_DEVICE_OPEN_H
#define GANTRY_DEVICE_DEVICE_OPEN_H

#include "device/logical_device.h"

/* Opens driver context, allocator and streams on first use. A failure leaves the device closed, and
 * the next use tries again. */
gantry_status_t gantry__logical_device_open_slowly(gantry_logical_device_t *device);
static inline gantry_status_t gantry__logical_device_open(gantry_logical_device_t *device) {
    if (atomic_load_explicit(&device->is_open, memory_order_acquire)) return GANTRY_OK;
    return gantry__logical_device_open_slowly(device);
}
void gantry__logical_device_close(gantry_logical_device_t *device);
gantry_status_t gantry__logical_device_synchronize(gantry_logical_device_t *device);
/* Hands submitted work to the device. */
void gantry__logical_device_flush(gantry_logical_device_t *device);

#endif
