/* SPDX-License-Identifier: Apache-2.0 */
/* How many callbacks of the program, and bodies of branches and loops, run inside each other on a
 * thread. Each needs stack, so that their number has a limit: GANTRY_MAX_NESTING.
 *
 * Owner: each thread has a count of its own, because callbacks may begin scopes of any runtime.
 * Threads: thread-safe. */
#ifndef GANTRY_BASE_NESTING_H
#define GANTRY_BASE_NESTING_H

#include "base/failure.h"

/* Enters one level more. FailedPrecondition if it is one too many; gantry__nesting_leave must then
 * not be called. */
gantry_status_t gantry__nesting_enter(void);
void gantry__nesting_leave(void);

#endif
