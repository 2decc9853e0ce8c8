/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a failed build into one error: the program, the device, and the compiler's log from its
 * first error on.
 *
 * Owner: nothing is kept; the log is the caller's. Threads: thread-safe. */
#ifndef GANTRY_DRIVER_BUILD_FAILURE_H
#define GANTRY_DRIVER_BUILD_FAILURE_H

#include <gantry/backend_abi.h>

#define GANTRY__BUILD_OPTIONS_BYTES 1024 /* for a program's options, with their terminator */
#define GANTRY__BUILD_LOG_BYTES 1500     /* the part of a log that is shown */

typedef struct gantry__build_failure_t {
    const char *domain;
    int32_t code;
    int64_t native;
    const char *native_name;
    const char *label;
    const char *options;
    const char *hardware_name;
    const char *log; /* NULL: the compiler left none */
} gantry__build_failure_t;

/* Returns the failure's code, or ResourceExhausted if the log says that the compiler ran out of
 * memory. */
int32_t gantry__build_failed(const gantry_host_t *host, const gantry__build_failure_t *failure);

#endif
