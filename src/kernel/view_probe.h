/* SPDX-License-Identifier: Apache-2.0 */
/* The probe of a card's view: does its driver build, launch and return what a kernel writes?
 *
 * For cards that several backends see, before one of them is relied on (device/fail_over.h). Takes
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

/* A gantry__view_probe_fn; user is a gantry__view_probe_t. The failure names the step. OK, too, for
 * a view of another kind of programs than the core has a text for. */
gantry_status_t gantry__view_probe(void *user, const struct gantry_physical_device_t *view,
                                   gantry_backend_device_t *handle);

#endif
