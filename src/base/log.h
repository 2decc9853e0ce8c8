/* SPDX-License-Identifier: Apache-2.0 */
/* The way of information that is not an error: the program's callback with a lowest level, and the
 * file that GANTRY_LOG names. It is silent without both. Owner: the runtime. Threads: thread-safe
 * between open and close. */
#ifndef GANTRY_BASE_LOG_H
#define GANTRY_BASE_LOG_H

#include <stdbool.h>

#include <gantry/runtime.h>

#include "base/failure.h"
#include "base/log_file.h"
#include "base/settings.h"

typedef struct gantry__log_t {
    gantry_log_fn write; /* NULL: no callback */
    void *user;
    gantry_log_level_t level;      /* lowest one for the callback */
    gantry__log_file_t *file;      /* the file of GANTRY_LOG; NULL: none */
    const char *file_name;         /* the settings' */
    gantry_log_level_t file_level; /* lowest one for the file, only from the environment */
} gantry__log_t;

/* Reads the levels and opens what GANTRY_LOG names. InvalidArgument for a malformed value; a file
 * that cannot be written is a warning in the callback, and so is the first line that it loses. The
 * settings must outlive the log. */
gantry_status_t gantry__log_open(gantry__log_t *log, gantry__settings_t *settings);
void gantry__log_close(gantry__log_t *log);

/* Whether a line of this level reaches anybody. */
bool gantry__log_is_read(const gantry__log_t *log, gantry_log_level_t level);

void gantry__log(const gantry__log_t *log, gantry_log_level_t level, const char *format, ...)
    GANTRY__PRINTF(3, 4);
/* Logs a line that a setting requests by itself, such as placements: the lowest level does not drop
 * it. */
void gantry__log_asked(const gantry__log_t *log, gantry_log_level_t level, const char *format, ...)
    GANTRY__PRINTF(3, 4);

#endif
