/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves out drivers that end the process while a backend opens them.
 *
 * While a backend opens its drivers, a note lies on disk, locked by this process. A note that no
 * process holds tells of a crash. Crashes in a row are counted for each backend and each version of
 * its drivers' files:
 *
 *   0 crashes   the backend is opened
 *   1           a process of its own tries the drivers first
 *   2           the backend is left out, until a file of its drivers changes
 *
 * An opening that ends well clears the count. A process that is killed from outside while it opens
 * a driver counts as a crash, too; the process of its own then clears the count.
 *
 * Without a folder of compiled kernels, or with one that cannot be written, there is no quarantine.
 * Owner: the runtime's set of backends. Init-only; processes may share the folder. */
#ifndef GANTRY_BACKEND_QUARANTINE_H
#define GANTRY_BACKEND_QUARANTINE_H

#include <gantry/backend_abi.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"

typedef struct gantry__quarantine_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    char *folder; /* NULL: there is no quarantine */
} gantry__quarantine_t;

/* One opening of a backend. */
typedef struct gantry__driver_trial_t {
    char note[1024], record[1024]; /* files */
    int lock;                      /* of the note; -1: there is none */
    uint32_t crashes;              /* of earlier openings, in a row */
} gantry__driver_trial_t;

/* InvalidArgument for a bad GANTRY_DRIVER_QUARANTINE; ResourceExhausted when host memory is out. */
gantry_status_t gantry__quarantine_init(gantry__quarantine_t *quarantine,
                                        const gantry__heap_t *heap, const gantry__log_t *log,
                                        gantry__settings_t *settings);
void gantry__quarantine_deinit(gantry__quarantine_t *quarantine);

/* Before a backend is opened. module: its file, or "built in". FailedPrecondition, with the reason,
 * when the backend must be left out; gantry__quarantine_end follows any other answer. */
gantry_status_t gantry__quarantine_begin(const gantry__quarantine_t *quarantine,
                                         const gantry_host_t *host, const gantry_backend_t *table,
                                         const char *module, gantry__driver_trial_t *out_trial);
/* Keeps in the note whose code the backend runs next. */
void gantry__quarantine_enter(const gantry__driver_trial_t *trial, const char *driver);
/* Keeps the thread's message. */
void gantry__quarantine_end(const gantry__quarantine_t *quarantine,
                            const gantry__driver_trial_t *trial);

#endif
