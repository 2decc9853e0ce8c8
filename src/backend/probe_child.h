/* SPDX-License-Identifier: Apache-2.0 */
/* Tries a device, or a backend's drivers, in a process of its own, before this process relies on
 * them.
 *
 * The process is the gantry command next to the library, or to the program that it is linked into:
 * `gantry probe ALIAS`. It is not started if others may write it (base/trust.h). A program that
 * brings the library without the command has no such process: nothing else can be started that is
 * known to try a driver and to do nothing else. Keeps nothing.
 * Thread-safe. */
#ifndef GANTRY_BACKEND_PROBE_CHILD_H
#define GANTRY_BACKEND_PROBE_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/heap.h"
#include "base/log.h"

typedef enum gantry__child_end_t {
    GANTRY__CHILD_NONE = 0,   /* no command, no process, or one that was killed: nothing is known */
    GANTRY__CHILD_WELL = 1,   /* the device works, or its driver reported the error */
    GANTRY__CHILD_CRASHED = 2 /* the text has the reason */
} gantry__child_end_t;

typedef struct gantry__child_call_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    const char *alias;  /* "opencl:0"; or "opencl", which opens no device */
    const char *module; /* the backend's file, "" or "built in" */
    const char *cache;  /* the folder in which the child keeps its findings */
} gantry__child_call_t;

/* Whether there is a command that may be started; if not, why. */
bool gantry__probe_child_is_there(const gantry__heap_t *heap, char *why, size_t why_bytes);

gantry__child_end_t gantry__probe_child_run(const gantry__child_call_t *call, char *why,
                                            size_t why_bytes);

#endif
