/* SPDX-License-Identifier: Apache-2.0 */
/* The backends of one runtime: found, queried, opened, or refused with a reason.
 *
 * The only place that opens modules and reads unchecked backend tables. Built-in backends come
 * first, then modules from the option's path, GANTRY_BACKEND_PATH and the folder "gantry" next to
 * the library. The first module of a name wins, and later ones are refused. Backends that the build
 * knows but the search did not find come last, with the reason. Modules stay loaded to the end of
 * the process. Owner: the runtime. Init-only; reading is thread-safe. */
#ifndef GANTRY_BACKEND_BACKEND_SET_H
#define GANTRY_BACKEND_BACKEND_SET_H

#include <gantry/backend_abi.h>
#include <gantry/runtime.h>

#include "backend/quarantine.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/tuning_store.h"

typedef struct gantry__backend_t {
    gantry_backend_state_t state;
    const gantry_backend_t *table;       /* NULL if it was not, or could not be, queried */
    gantry_backend_instance_t *instance; /* NULL unless usable */
    char *name;                          /* the table's, or the file's */
    char *path;                          /* "built in", the file, or "none" */
    char *reason;                        /* "" when usable */
    uint32_t device_count;
} gantry__backend_t;

typedef struct gantry__backend_set_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    gantry__settings_t *settings;
    gantry__tuning_store_t tuning; /* read when a backend first needs a record */
    gantry__quarantine_t quarantine;
    const gantry__driver_trial_t *trial; /* while a backend is opened, else NULL */
    gantry_host_t host;
    gantry__backend_t *items;
    size_t count, capacity;
} gantry__backend_set_t;

/* Opens every usable backend. Fails only if host memory is out or a setting is malformed. settings
 * and log must outlive the set. */
gantry_status_t gantry__backend_set_init(gantry__backend_set_t *set, const gantry__heap_t *heap,
                                         const gantry__log_t *log, gantry__settings_t *settings,
                                         const char *path, const char *only);
void gantry__backend_set_deinit(gantry__backend_set_t *set);

/* The reason why the backend's drivers are opened without a trial (backend/quarantine.h), or "". */
const char *gantry__backend_untried(const gantry__backend_set_t *set,
                                    const gantry__backend_t *item);

#endif
