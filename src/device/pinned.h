/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that transfers access without another copy: the backend's pinned memory, or the
 * heap's if it has none.
 *
 * The policy's pinned_limit_bytes limits all of it together, staging and memory of programs. Memory
 * of programs is listed, so that its pointer suffices to free it, and the rest ends with the table.
 * It is the host's: no device's limit is charged here. Owner: the caller that took it. Thread-safe;
 * no lock is held while the driver allocates or frees. */
#ifndef GANTRY_DEVICE_PINNED_H
#define GANTRY_DEVICE_PINNED_H

#include <stdint.h>

#include <gantry/device.h>

#include "base/failure.h"

struct gantry__device_table_t;

/* Allocates pinned memory; NULL beyond the limit, or if there is no memory. The device's driver
 * must be open. */
void *gantry__pinned_take(gantry_logical_device_t *device, uint64_t bytes);
void gantry__pinned_give(gantry_logical_device_t *device, void *data, uint64_t bytes);

/* Allocates for programs, and lists the memory. call is the public call's name in messages. */
gantry_status_t gantry__pinned_alloc(gantry_logical_device_t *device, uint64_t bytes,
                                     const char *call, void **out_data);
gantry_status_t gantry__pinned_free(struct gantry__device_table_t *table, void *data,
                                    const char *call);
/* Whether the bytes are in memory that a program took on this card. */
bool gantry__pinned_has(const gantry_logical_device_t *device, const void *data, uint64_t bytes);
/* Frees the memory that programs did not free. The devices are still open. */
void gantry__pinned_forget(struct gantry__device_table_t *table);

#endif
