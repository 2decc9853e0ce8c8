/* SPDX-License-Identifier: Apache-2.0 */
/* A small file that shows other processes the memory of this runtime's devices: GANTRY_STATUS.
 *
 * `gantry top` reads the files. A file is written at most once a second, by the thread whose call
 * changed the memory; there is no thread for it. It is replaced by a rename, so that a reader sees
 * a whole file, and removed with the runtime. A process that dies leaves its file; readers compare
 * the pid and the time. What it left half written is removed by the next runtime with that folder.
 * Owner: the device table. Thread-safe. */
#ifndef GANTRY_DEVICE_STATUS_FILE_H
#define GANTRY_DEVICE_STATUS_FILE_H

#include <gantry/status.h>

struct gantry__device_table_t;
typedef struct gantry__status_file_t gantry__status_file_t;

/* *out_file is NULL unless GANTRY_STATUS asks for a file. InvalidArgument for a value that is
 * neither an on-off word nor an absolute path. A folder that cannot be made, or that others may
 * write (but for the sticky bit), is logged, and there is no file. */
gantry_status_t gantry__status_file_open(struct gantry__device_table_t *table,
                                         gantry__status_file_t **out_file);
/* Removes the file. NULL does no harm. */
void gantry__status_file_close(struct gantry__device_table_t *table, gantry__status_file_t *file);
/* Writes the file if its time has come. It does not change the thread's message. */
void gantry__status_file_note(struct gantry__device_table_t *table, gantry__status_file_t *file);

#endif
