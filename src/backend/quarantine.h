/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves out drivers that end the process while a backend opens them.
 *
 * While a backend opens its drivers, a note is on disk, locked by this process. A note that no
 * process holds raises a suspicion and proves nothing: its process crashed, was killed, or the
 * machine went down. The next process lets a process of its own try the drivers first:
 *
 *   nothing is known           the backend is opened
 *   a note that nobody holds   a process of its own tries the drivers first
 *   ... which crashes          a record is written, and the backend is left out with a warning
 *   a record                   the same for a day, until a file of the drivers changes; then a
 *                              process of its own tries them again
 *
 * A crash is a signal of the process's own making, an exit, or no answer for a minute. A signal
 * that others send, such as those of Ctrl-C, kill and the kernel's want of memory, is none. An
 * opening that ends well removes the record.
 *
 * Without a folder of compiled kernels, with one that cannot be written or that others may write
 * (base/trust.h), and without the gantry command there is no quarantine: drivers are opened without
 * a trial, and gantry_backend_status says why. Owner: the runtime's set of backends. Threads: the
 * functions must only be called while the runtime is initialised; processes of one user may share
 * the folder. */
#ifndef GANTRY_BACKEND_QUARANTINE_H
#define GANTRY_BACKEND_QUARANTINE_H

#include <gantry/backend_abi.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"

typedef struct gantry__quarantine_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    char *folder;      /* NULL: there is no quarantine */
    char untried[704]; /* why drivers are opened without a trial; "" if they are not */
} gantry__quarantine_t;

/* One opening of a backend. */
typedef struct gantry__driver_trial_t {
    char note[1024], record[1024]; /* files */
    int lock;                      /* the lock of the note; -1: there is none */
} gantry__driver_trial_t;

/* InvalidArgument for a bad GANTRY_DRIVER_QUARANTINE; ResourceExhausted when host memory is out. */
gantry_status_t gantry__quarantine_init(gantry__quarantine_t *quarantine,
                                        const gantry__heap_t *heap, const gantry__log_t *log,
                                        gantry__settings_t *settings);
void gantry__quarantine_deinit(gantry__quarantine_t *quarantine);

/* Must be called before a backend is opened. module: its file, or "built in". FailedPrecondition,
 * with the reason, when the backend must be left out; after any other answer, the caller must call
 * gantry__quarantine_end. */
gantry_status_t gantry__quarantine_begin(gantry__quarantine_t *quarantine,
                                         const gantry_host_t *host, const gantry_backend_t *table,
                                         const char *module, gantry__driver_trial_t *out_trial);
/* Keeps in the note whose code the backend runs next. */
void gantry__quarantine_enter(const gantry__driver_trial_t *trial, const char *driver);
/* Keeps the thread's message. */
void gantry__quarantine_end(const gantry__quarantine_t *quarantine,
                            const gantry__driver_trial_t *trial);

#endif
