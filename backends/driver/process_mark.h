/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers that a driver was used in this process, so that a child of fork gets a clear error. A
 * driver's threads and locks do not survive fork: a child that calls the driver hangs, or fails
 * with a misleading text.
 *
 * A mark must be static in its backend, because a driver stays in the process after all runtimes
 * are released. Uses of the driver without Gantry are not marked. Owner: the page of a mark stays
 * until the process ends, as the driver does. Threads: thread-safe. */
#ifndef GANTRY_DRIVER_PROCESS_MARK_H
#define GANTRY_DRIVER_PROCESS_MARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver/native_error.h"

/* Zero: the driver was not used. */
typedef struct gantry__process_mark_t {
    /* the kernel clears it in a child; NULL if the kernel cannot */
    _Atomic(volatile unsigned char *) page;
    atomic_llong process; /* the last one that used the driver */
    atomic_llong uses;
} gantry__process_mark_t;

/* Must be called before an instance first calls the driver, in a process that did not inherit the
 * mark. */
void gantry__process_mark_set(gantry__process_mark_t *mark);
/* Must be called if this instance found no driver, because its use then does not count. An instance
 * that found a driver must never call it. */
void gantry__process_mark_unset(gantry__process_mark_t *mark);

/* Whether the mark was set before a fork, and this process is the child, or a child of it. */
bool gantry__process_mark_is_inherited(const gantry__process_mark_t *mark);
/* Returns Unavailable in such a child. why must name the parts that do not survive, and continue
 * the text "its parent had CUDA open". */
int32_t gantry__process_mark_check(const gantry__process_mark_t *mark, const gantry_host_t *host,
                                   const gantry__native_errors_t *errors, const char *why);

#endif
