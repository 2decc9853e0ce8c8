/* SPDX-License-Identifier: Apache-2.0 */
/* A device's part of a timeline: when its streams worked, and how much memory was in use.
 *
 * Owner: the logical device, while it is open. Thread-safe; release is externally synchronised. */
#ifndef GANTRY_DEVICE_DEVICE_TIMES_H
#define GANTRY_DEVICE_DEVICE_TIMES_H

#include "device/device_table.h"
#include "device/logical_device.h"

/* Work between begin and end, on its way to the timeline. */
typedef struct gantry__timed_t {
    gantry__timeline_t *timeline; /* NULL: none is written, and the rest is not set */
    gantry_logical_device_t *device;
    uint32_t stream;
    const char *category, *name;
    gantry_backend_event_t *begin; /* NULL: not needed */
    uint64_t since_ns;
} gantry__timed_t;

typedef enum gantry__timed_kind_t {
    GANTRY__TIMED_OP = 0,
    GANTRY__TIMED_FILL,
    GANTRY__TIMED_TO_DEVICE,
    GANTRY__TIMED_TO_HOST,
    GANTRY__TIMED_ON_DEVICE,
    GANTRY__TIMED_FROM_CARD
} gantry__timed_kind_t;

GANTRY__RECORDING void gantry__timed_begin_slowly(gantry__timed_t *timed,
                                                  gantry_logical_device_t *device,
                                                  gantry__timed_kind_t kind, const char *op);
GANTRY__RECORDING void gantry__timed_end_slowly(const gantry__timed_t *timed, uint64_t bytes);

/* Must be called around the submissions of an op or a copy to one stream, without its lock. It
 * costs one branch while no timeline is written. op: its name, a constant text; else NULL. */
static inline void gantry__timed_begin(gantry__timed_t *timed, gantry_logical_device_t *device,
                                       gantry__timed_kind_t kind, const char *op) {
    timed->timeline = gantry__device_timeline(device->table);
    if (timed->timeline) gantry__timed_begin_slowly(timed, device, kind, op);
}
static inline void gantry__timed_end(const gantry__timed_t *timed, uint64_t bytes) {
    if (timed->timeline) gantry__timed_end_slowly(timed, bytes);
}

/* Writes the bytes in use, if they changed; now_ns is the present time. The device is open. */
void gantry__device_times_level(gantry_logical_device_t *device, gantry__timeline_t *timeline,
                                uint64_t now_ns);
/* Writes what is not written yet, after waiting for it. No timed work begins any more. */
void gantry__device_times_finish(gantry_logical_device_t *device);
/* Releases the device's times. It must be called before the streams are closed. */
void gantry__device_times_release(gantry_logical_device_t *device);

#endif
