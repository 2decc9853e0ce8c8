/* SPDX-License-Identifier: Apache-2.0 */
/* A compiler's refusal of a program as one error: what was built, for what, and the compiler's own
 * words from their first error on.
 *
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_DRIVER_BUILD_FAILURE_H
#define GANTRY_DRIVER_BUILD_FAILURE_H

#include <gantry/backend_abi.h>

#define GANTRY__BUILD_OPTIONS_BYTES 1024 /* of all options of one program, with their end */
#define GANTRY__BUILD_LOG_BYTES 1500     /* of a log that are shown */

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

/* Returns the failure's code; ResourceExhausted when the log says that the compiler had no
 * memory. */
int32_t gantry__build_failed(const gantry_host_t *host, const gantry__build_failure_t *failure);

#endif
