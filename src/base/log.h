/* SPDX-License-Identifier: Apache-2.0 */
/* The way of information that is not an error: one callback with a lowest level. Silent without a
 * callback. Thread-safe. */
#ifndef GANTRY_BASE_LOG_H
#define GANTRY_BASE_LOG_H

#include <gantry/runtime.h>

#include "base/failure.h"

typedef struct gantry__log_t {
    gantry_log_fn write; /* NULL: silent */
    void *user;
    gantry_log_level_t level;
} gantry__log_t;

void gantry__log(const gantry__log_t *log, gantry_log_level_t level, const char *format, ...)
    GANTRY__PRINTF(3, 4);

#endif
