/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of a card's view. Does its driver build, launch and return what a kernel writes? For
 * cards that several drivers see, before one of them is relied on (device/fail_over.h). And does it
 * compute as others do? For each device that is new.
 *
 * A probe takes 256 bytes of the device and gives them back; leaves nothing open. Thread-safe. */
#ifndef GANTRY_KERNEL_VIEW_PROBE_H
#define GANTRY_KERNEL_VIEW_PROBE_H

#include <gantry/device.h>

#include "device/device_table.h"
#include "kernel/program_cache.h"

typedef struct gantry__view_probe_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    gantry__binary_store_t *store;
    gantry__program_counters_t *counters;
    int mode; /* GANTRY__PROBE_...: GANTRY_DEVICE_PROBE */
} gantry__view_probe_t;

/* AUTO: a new device is tried in a process of its own. INSIDE: in this one. OFF: not at all. */
enum { GANTRY__PROBE_AUTO = 0, GANTRY__PROBE_INSIDE = 1, GANTRY__PROBE_OFF = 2 };

/* A gantry__view_probe_fn; user is a gantry__view_probe_t. The failure names the step. OK, too, for
 * a view of another kind of programs than the core has a text for. */
gantry_status_t gantry__view_probe(void *user, const struct gantry_physical_device_t *view,
                                   gantry_backend_device_t *handle);
/* Adds what was kept to the records' notes. Init-only. */
void gantry__view_recall(const gantry__view_probe_t *self, gantry__device_table_t *table);
/* A gantry__view_vet_fn: before the view is opened. Finds what was kept of it. A new device is
 * tried in a process of its own; Unavailable when that process dies. */
gantry_status_t gantry__view_vet(void *user, const struct gantry_physical_device_t *view,
                                 gantry__view_note_t *out_note);
/* A gantry__view_learn_fn: on the open view, when the note is not known. Never a failure. */
void gantry__view_learn(void *user, const struct gantry_physical_device_t *view,
                        gantry_backend_device_t *handle, gantry__view_note_t *out_note);

#endif
