/* SPDX-License-Identifier: Apache-2.0 */
/* The probe of a card's view: checks that its driver builds and launches, and returns the values
 * that a kernel writes.
 *
 * For cards that several backends see, before the core relies on a view (device/fail_over.h). Takes
 * 256 bytes of the device and gives them back; leaves nothing open. Thread-safe. */
#ifndef GANTRY_KERNEL_VIEW_PROBE_H
#define GANTRY_KERNEL_VIEW_PROBE_H

#include <gantry/device.h>

#include "kernel/program_cache.h"

typedef struct gantry__view_probe_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    gantry__binary_store_t *store;
    gantry__program_counters_t *counters;
} gantry__view_probe_t;

/* A gantry__view_probe_fn; user is a gantry__view_probe_t. The failure names the step. OK also for
 * a view whose kind of programs has no probe text. */
gantry_status_t gantry__view_probe(void *user, const struct gantry_physical_device_t *view,
                                   gantry_backend_device_t *handle);

#endif
