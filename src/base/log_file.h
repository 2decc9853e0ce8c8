/* SPDX-License-Identifier: Apache-2.0 */
/* The file that GANTRY_LOG names. It gets whole lines: what the system refuses is counted, and the
 * file says how many lines it lacks as soon as it can be written again. Owner: the log that opened
 * it. Threads: thread-safe between open and close. */
#ifndef GANTRY_BASE_LOG_FILE_H
#define GANTRY_BASE_LOG_FILE_H

#include <stddef.h>

#include <gantry/status.h>

#include "base/heap.h"

typedef struct gantry__log_file_t gantry__log_file_t;

/* name: "stderr" or an absolute path. *out_file is NULL for what cannot be written, and *out_why
 * says why. ResourceExhausted: there is no memory. */
gantry_status_t gantry__log_file_open(const gantry__heap_t *heap, const char *name,
                                      gantry__log_file_t **out_file, const char **out_why);
/* Does nothing for NULL. */
void gantry__log_file_close(gantry__log_file_t *file);

/* Writes a line with its end, in one write. Returns the errno of the first line that is lost, and
 * 0 for every other call: one warning suffices. */
int gantry__log_file_put(gantry__log_file_t *file, const char *line, size_t size);

#endif
