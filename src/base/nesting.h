/* SPDX-License-Identifier: Apache-2.0 */
/* How many callbacks of the program, and bodies of branches and loops, run inside each other on a
 * thread. Each needs stack, so that their number has a limit: GANTRY_MAX_NESTING.
 *
 * A count of each thread; callbacks may begin scopes of any runtime. */
#ifndef GANTRY_BASE_NESTING_H
#define GANTRY_BASE_NESTING_H

#include "base/failure.h"

/* One level more, unless it is one too many: FailedPrecondition, and no gantry__nesting_leave. */
gantry_status_t gantry__nesting_enter(void);
void gantry__nesting_leave(void);

#endif
