/* SPDX-License-Identifier: Apache-2.0 */
/* How a failure is stated: a status code returned, a text kept for the calling thread.
 *
 * A message names the object, the value it had, and what would have been accepted. Thread-safe:
 * text is per thread. */
#ifndef GANTRY_BASE_FAILURE_H
#define GANTRY_BASE_FAILURE_H

#include <stdint.h>

#include <gantry/status.h>

#if defined(__GNUC__)
#define GANTRY__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define GANTRY__PRINTF(text, first)
#endif

/* A function with a frame of its own, so that its arrays cost those stack only that come here;
 * and one that is seldom called, too. */
#if defined(__GNUC__)
#define GANTRY__NOINLINE __attribute__((noinline))
#define GANTRY__COLD __attribute__((cold, noinline))
#else
#define GANTRY__NOINLINE
#define GANTRY__COLD
#endif

/* Longest message kept, terminator included; longer ones are cut. */
#define GANTRY__MESSAGE_BYTES 2048

/* Keeps the text and returns code, so that a caller can write: return gantry__fail(GANTRY_...,
 * "...", ...). */
gantry_status_t gantry__fail(gantry_status_t code, const char *format, ...) GANTRY__PRINTF(2, 3);

/* Puts text in front of the kept message ("while doing X: ") and returns code unchanged. */
gantry_status_t gantry__fail_prefix(gantry_status_t code, const char *format, ...)
    GANTRY__PRINTF(2, 3);

#if defined(__clang_analyzer__)
/* The analyser looks at one file at a time: it has to see that a failure is returned as such. */
#define gantry__fail(code, ...) (gantry__fail((code), __VA_ARGS__), (code))
#endif

/* The kept message; "" when none. Valid until the next failure on this thread. */
const char *gantry__message(void);

/* Whoever goes on after a failure forgets it, so that what succeeds in the end leaves no text of
 * what it got round:
 *     const uint32_t before = gantry__failures();
 *     ...
 *     if (status == GANTRY_OK) gantry__forget_since(before); */
uint32_t gantry__failures(void); /* so far on this thread, modulo 2^32 */
/* Where the thread's count stands, for whoever looks twice: thread-local variables of a library
 * cost a call each time. */
const uint32_t *gantry__failure_count(void);
void gantry__forget_since(uint32_t before);

#define GANTRY__TRY(expression)                           \
    do {                                                  \
        gantry_status_t try_status_ = (expression);       \
        if (try_status_ != GANTRY_OK) return try_status_; \
    } while (0)

#endif
