/* SPDX-License-Identifier: Apache-2.0 */
/* How busy the machine's processors are. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_LOAD_H
#define GANTRY_BASE_OS_LOAD_H

#include <stdbool.h>

/* Gets the seconds that all cores together have worked, and those that they could have worked,
 * since the machine was started. False: the system does not count them. */
bool gantry__os_load(double *out_busy, double *out_all);

#endif
