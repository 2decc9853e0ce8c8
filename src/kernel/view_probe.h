/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of a card's view. One checks that its driver builds and launches, and returns the
 * values that a kernel writes: for cards that several drivers see, before the core relies on a view
 * (device/fail_over.h). The other checks that a new device computes as others do.
 *
 * Owner: a probe takes 256 bytes of the device and gives them back; it leaves nothing open.
 * Threads: thread-safe. */
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

/* AUTO: a process of its own probes a new device. INSIDE: this process does. OFF: no probe. */
enum { GANTRY__PROBE_AUTO = 0, GANTRY__PROBE_INSIDE = 1, GANTRY__PROBE_OFF = 2 };

/* A gantry__view_probe_fn; user is a gantry__view_probe_t. The failure names the step. OK also for
 * a view whose kind of programs has no probe text. */
gantry_status_t gantry__view_probe(void *user, const struct gantry_physical_device_t *view,
                                   gantry_backend_device_t *handle);
/* Adds the kept notes to the records' notes. Init-only. */
void gantry__view_recall(const gantry__view_probe_t *self, gantry__device_table_t *table);
/* A gantry__view_vet_fn, called before the view is opened. Finds the kept note. Tries a new device
 * in a process of its own; Unavailable if that process dies. */
gantry_status_t gantry__view_vet(void *user, const struct gantry_physical_device_t *view,
                                 gantry__view_note_t *out_note);
/* A gantry__view_learn_fn, called on the open view if the note is unknown. Never fails. */
void gantry__view_learn(void *user, const struct gantry_physical_device_t *view,
                        gantry_backend_device_t *handle, gantry__view_note_t *out_note);

#endif
