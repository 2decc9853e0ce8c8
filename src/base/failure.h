/* SPDX-License-Identifier: Apache-2.0 */
/* How a failure is reported: the function returns a status code, and the text is kept for the
 * calling thread.
 *
 * A message names the object, its value, and what is accepted. Thread-safe: each thread has its own
 * text. */
#ifndef GANTRY_BASE_FAILURE_H
#define GANTRY_BASE_FAILURE_H

#include <stdint.h>

#include <gantry/status.h>

#if defined(__GNUC__)
#define GANTRY__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define GANTRY__PRINTF(text, first)
#endif

/* Keeps a function out of its callers, so that only calls of it pay for its arrays on the stack.
 * Also for functions that are seldom called. */
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
/* The analyser reads one file at a time. This shows it that a failure is returned. */
#define gantry__fail(code, ...) (gantry__fail((code), __VA_ARGS__), (code))
#endif

/* Refuses an argument: gantry__fail with InvalidArgument. */
#define gantry__refuse(...) gantry__fail(GANTRY_INVALID_ARGUMENT, __VA_ARGS__)

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

#define GANTRY__TRY(expression)                           \
    do {                                                  \
        gantry_status_t try_status_ = (expression);       \
        if (try_status_ != GANTRY_OK) return try_status_; \
    } while (0)

#endif
