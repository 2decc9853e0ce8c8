/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a logical device that its streams use: losses, and errors that other streams carry.
 * Owner: a plain value, which points to the device; the device must outlive it. Threads:
 * thread-safe. */
#ifndef GANTRY_DEVICE_STREAM_OWNER_H
#define GANTRY_DEVICE_STREAM_OWNER_H

#include "device/logical_device.h"

/* The device's card and functions, for gantry__stream_init. */
gantry__stream_owner_t gantry__stream_owner(gantry_logical_device_t *device);

#endif
