/* SPDX-License-Identifier: Apache-2.0 */
/* What is free and what there is in all, as a driver tells it. Thread-safe. */
#ifndef GANTRY_DEVICE_DRIVER_MEMORY_H
#define GANTRY_DEVICE_DRIVER_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <gantry/device.h>

/* False, and both are 0, when nobody can tell. Where the driver of a host-backed device cannot
 * (PoCL), the CPU backend answers for the machine: the same memory serves both. The device's
 * driver is open. */
bool gantry__driver_memory(const gantry_logical_device_t *device, uint64_t *out_free_bytes,
                           uint64_t *out_total_bytes);

/* What the backends of the card's views know of it without opening it, `except` (may be NULL)
 * left out. False, and both are 0, when none can tell. */
bool gantry__card_memory(const struct gantry_physical_device_t *view,
                         const struct gantry_physical_device_t *except, uint64_t *out_free_bytes,
                         uint64_t *out_total_bytes);

#endif
