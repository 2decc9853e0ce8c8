/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, dates as texts, and sleep. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_CLOCK_H
#define GANTRY_BASE_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define GANTRY__OS_DATE_BYTES 32

/* Nanoseconds of a clock that only goes forward. */
uint64_t gantry__now_ns(void);
/* The same in seconds. */
double gantry__now_seconds(void);
/* Whether gantry__now_ns reads the processor's time-stamp counter, which the calling thread may
 * read, too. */
bool gantry__os_clock_is_counter(void);
/* Nanoseconds since the machine was started, sleep included; where the system has no such clock,
 * those of gantry__now_ns. */
uint64_t gantry__os_boot_ns(void);
/* Nanoseconds of processor time that the process, and the calling thread, have used. */
uint64_t gantry__os_process_ns(void);
uint64_t gantry__os_thread_ns(void);

/* Sleeps for so long, or until a signal comes. */
void gantry__os_sleep_ns(uint64_t ns);

/* Writes a time of the calendar, in seconds since 1970, as "2026-01-31T12:00:00Z"; nothing where
 * the year cannot be written. */
void gantry__os_utc_text(int64_t seconds, char out_text[GANTRY__OS_DATE_BYTES]);
/* Writes the time of day at this place, as "12:00:00". */
void gantry__os_local_text(int64_t seconds, char out_text[GANTRY__OS_DATE_BYTES]);

#endif
