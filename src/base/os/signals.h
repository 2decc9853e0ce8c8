/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that wait until a part of a thread's work is done. Owner: the caller must end on the same
 * thread what it began. Threads: thread-safe, because only the calling thread is changed. */
#ifndef GANTRY_BASE_OS_SIGNALS_H
#define GANTRY_BASE_OS_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gantry__os_signals_t {
    uint64_t before[16]; /* the system's set of signals */
    bool is_deferred;
} gantry__os_signals_t;

/* From here to the end, no handler of a signal runs on this thread, but for signals that its own
 * instructions cause, which cannot wait. */
gantry__os_signals_t gantry__os_signals_defer(void);
void gantry__os_signals_end(const gantry__os_signals_t *signals);

#endif
