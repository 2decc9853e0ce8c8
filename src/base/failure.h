/* SPDX-License-Identifier: Apache-2.0 */
/* The kept message of the calling thread, and how code goes on after a failure. shared/fail.h has
 * gantry__fail. Thread-safe: each thread has its own text. */
#ifndef GANTRY_BASE_FAILURE_H
#define GANTRY_BASE_FAILURE_H

#include <stdint.h>

#include "shared/fail.h"

/* Keeps a function out of its callers, so that only calls of it pay for its arrays on the stack.
 * Also for functions that are seldom called. */
#if defined(__GNUC__)
#define GANTRY__NOINLINE __attribute__((noinline))
#define GANTRY__COLD __attribute__((cold, noinline))
#else
#define GANTRY__NOINLINE
#define GANTRY__COLD
#endif

/* Puts text in front of the kept message ("while doing X: ") and returns code unchanged. */
gantry_status_t gantry__fail_prefix(gantry_status_t code, const char *format, ...)
    GANTRY__PRINTF(2, 3);

/* The kept message; "" when none. Valid until the next failure on this thread. */
const char *gantry__message(void);

/* Code that goes on after a failure must forget it, so that a call that succeeds leaves no text of
 * a problem that it solved:
 *     const uint32_t before = gantry__failures();
 *     ...
 *     if (status == GANTRY_OK) gantry__forget_since(before); */
uint32_t gantry__failures(void); /* so far on this thread, modulo 2^32 */
/* The address of the thread's count, for code that reads it twice: a thread-local variable of a
 * library costs a call per access. */
const uint32_t *gantry__failure_count(void);
void gantry__forget_since(uint32_t before);
/* For work that no caller requested: it undoes the record of its failures. text: a copy of the
 * message that the thread had when gantry__failures returned before. */
void gantry__failure_restore(uint32_t before, const char *text);

#endif
