/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of events. Owner: nothing is kept for the caller. Threads: thread-safe. */
#ifndef GANTRY_BASE_EVENT_CLOCK_H
#define GANTRY_BASE_EVENT_CLOCK_H

#include <stdint.h>

/* Reads the time of gantry__now_ns for events, at half the cost where the processor has such a
 * clock: a reading is up to 50 ns late. */
uint64_t gantry__event_ns(void);

#endif
