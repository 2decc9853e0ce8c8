/* SPDX-License-Identifier: Apache-2.0 */
/* Translates a driver's error numbers to Gantry's codes and texts.
 *
 * Every driver's success must be 0. Not here: the list of numbers, which each backend has. Owner:
 * nothing is kept; lists must be constant. Threads: thread-safe. */
#ifndef GANTRY_DRIVER_NATIVE_ERROR_H
#define GANTRY_DRIVER_NATIVE_ERROR_H

#include "base/os/thread.h"
#include "driver/host_call.h"

typedef struct gantry__native_error_t {
    int64_t native;
    int32_t code;
    const char *name;
} gantry__native_error_t;

typedef struct gantry__native_errors_t {
    const char *domain;       /* "CUDA" */
    const char *unknown_name; /* for a number that is not in the list; its code is Unknown */
    const gantry__native_error_t *list;
    size_t count;
} gantry__native_errors_t;

const char *gantry__native_name(const gantry__native_errors_t *errors, int64_t native);
int32_t gantry__native_code(const gantry__native_errors_t *errors, int64_t native);

/* Gives the text unchanged to the host; returns code. */
int32_t gantry__native_fail(const gantry_host_t *host, const gantry__native_errors_t *errors,
                            int32_t code, int64_t native, const char *format, ...)
    GANTRY__HOST_PRINTF(5, 6);
/* Returns 0 if native is 0. Otherwise returns its code and states the text, followed by ": NAME
 * (number)". */
int32_t gantry__native_check(const gantry_host_t *host, const gantry__native_errors_t *errors,
                             int64_t native, const char *format, ...) GANTRY__HOST_PRINTF(4, 5);
/* The result of a transfer, whose text is "WHAT N bytes at offset N on HARDWARE". */
int32_t gantry__native_check_span(const gantry_host_t *host, const gantry__native_errors_t *errors,
                                  int64_t native, const char *what, const gantry_span_t *span,
                                  const char *hardware_name);
/* Calls gantry__mutex_init; states ResourceExhausted "no mutex for TEXT" if that fails. */
int32_t gantry__native_mutex_init(const gantry_host_t *host, const gantry__native_errors_t *errors,
                                  gantry__mutex_t *mutex, const char *format, ...)
    GANTRY__HOST_PRINTF(4, 5);

#endif
