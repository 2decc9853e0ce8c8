/* SPDX-License-Identifier: Apache-2.0 */
/* Free and total memory according to a driver. Owner: nothing. Threads: thread-safe. */
#ifndef GANTRY_DEVICE_DRIVER_MEMORY_H
#define GANTRY_DEVICE_DRIVER_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <gantry/device.h>

/* Reads the driver's figures; false, and both are 0, if no figures are known. If the driver of a
 * host-backed device has none (PoCL), the CPU backend reports the machine's, because both use the
 * same memory. The device's driver must be open. */
bool gantry__driver_memory(const gantry_logical_device_t *device, uint64_t *out_free_bytes,
                           uint64_t *out_total_bytes);

/* The figures that the backends of the card's views know without opening it, except those of
 * `except` (may be NULL). False, and both are 0, if there are none. */
bool gantry__card_memory(const struct gantry_physical_device_t *view,
                         const struct gantry_physical_device_t *except, uint64_t *out_free_bytes,
                         uint64_t *out_total_bytes);

#endif
