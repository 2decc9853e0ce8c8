/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers that a driver was used in this process, so that a child of fork can be told: drivers'
 * threads and locks do not survive fork, and a child that calls the driver hangs or fails with a
 * text about something else.
 *
 * A mark is a static of its backend: a driver stays in a process when all runtimes are gone, and so
 * must this. What used the driver without Gantry is not known. Owner: the page of a mark stays
 * to the end of the process, as the driver does. Thread-safe. */
#ifndef GANTRY_DRIVER_PROCESS_MARK_H
#define GANTRY_DRIVER_PROCESS_MARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver/native_error.h"

/* Zero: the driver was not used. */
typedef struct gantry__process_mark_t {
    /* the kernel clears it in a child; NULL where the kernel does not */
    _Atomic(volatile unsigned char *) page;
    atomic_llong process; /* that used the driver last */
    atomic_llong uses;
} gantry__process_mark_t;

/* Before an instance calls the driver first, in a process that did not inherit the mark. */
void gantry__process_mark_set(gantry__process_mark_t *mark);
/* This instance found no driver after all: its use does not count. One that found one never
 * takes it back. */
void gantry__process_mark_unset(gantry__process_mark_t *mark);

/* 1 in a child of fork, or a child's child, when the mark was set before the fork. */
bool gantry__process_mark_is_inherited(const gantry__process_mark_t *mark);
/* Unavailable in such a child. why continues "its parent had CUDA open": what does not survive. */
int32_t gantry__process_mark_check(const gantry__process_mark_t *mark, const gantry_host_t *host,
                                   const gantry__native_errors_t *errors, const char *why);

#endif
