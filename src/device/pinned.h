/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that transfers reach without a further copy: the backend's pinned memory, or the
 * heap's where it has none.
 *
 * All of it together, staging and what programs asked for, is bounded by the policy's
 * pinned_limit_bytes. Memory of programs is listed, so that a pointer alone gives it back, and what
 * is left ends with the table. It is the host's: no device's limit is charged here.
 * Owner: whoever took it. Thread-safe; no lock is held while the driver makes or frees. */
#ifndef GANTRY_DEVICE_PINNED_H
#define GANTRY_DEVICE_PINNED_H

#include <stdint.h>

#include <gantry/device.h>

#include "base/failure.h"

struct gantry__device_table_t;

/* NULL beyond the bound or when there is none to be had. The device's driver is open. */
void *gantry__pinned_take(gantry_logical_device_t *device, uint64_t bytes);
void gantry__pinned_give(gantry_logical_device_t *device, void *data, uint64_t bytes);

/* For programs: listed. call names the public call in messages. */
gantry_status_t gantry__pinned_alloc(gantry_logical_device_t *device, uint64_t bytes,
                                     const char *call, void **out_data);
gantry_status_t gantry__pinned_free(struct gantry__device_table_t *table, void *data,
                                    const char *call);
/* What programs did not give back. The devices are still open. */
void gantry__pinned_forget(struct gantry__device_table_t *table);

#endif
