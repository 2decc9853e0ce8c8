/* SPDX-License-Identifier: Apache-2.0 */
/* How a failure is reported: the function returns a status code, and the text is kept for the
 * calling thread by gantry_fail of libgantry, which every library and the command call.
 *
 * A message names the object, its value, and what is accepted. Owner: a message belongs to its
 * thread. Threads: thread-safe. */
#ifndef GANTRY_SHARED_FAIL_H
#define GANTRY_SHARED_FAIL_H

#include <gantry/status.h>

#include "host/try.h"

#if defined(__GNUC__)
#define GANTRY__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define GANTRY__PRINTF(text, first)
#endif

/* Longest message kept, terminator included; longer ones are cut. */
#define GANTRY__MESSAGE_BYTES 2048

/* Keeps the text and returns code, so that a caller can write: return gantry__fail(GANTRY_...,
 * "...", ...). */
gantry_status_t gantry__fail(gantry_status_t code, const char *format, ...) GANTRY__PRINTF(2, 3);

#if defined(__clang_analyzer__)
/* The analyser reads one file at a time. This shows it that a failure is returned. */
#define gantry__fail(code, ...) (gantry__fail((code), __VA_ARGS__), (code))
#endif

/* Refuses an argument: gantry__fail with InvalidArgument. */
#define gantry__refuse(...) gantry__fail(GANTRY_INVALID_ARGUMENT, __VA_ARGS__)

#endif
