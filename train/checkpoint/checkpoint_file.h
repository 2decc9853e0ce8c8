/* SPDX-License-Identifier: Apache-2.0 */
/* The files of checkpoints, which are written whole or not at all, and are opened for
 * gantry_file_read_at. A failure names the path and the system's reason.
 *
 * Owner: the caller has an open file, and must close, commit or abandon it. Threads: externally
 * synchronised. */
#ifndef GANTRY_TRAIN_CHECKPOINT_FILE_H
#define GANTRY_TRAIN_CHECKPOINT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/file.h>
#include <gantry_train/checkpoint.h>

/* Creates a plain file, by gantry/file.h. The caller must call gantry_file_abandon after a failure,
 * too. */
gantry_status_t gantry__train_file_create(const char *path, gantry_new_file_t *out);
gantry_status_t gantry__train_file_write(gantry_new_file_t *file, const void *bytes, size_t size);
gantry_status_t gantry__train_file_commit(gantry_new_file_t *file);

/* Opens a plain file; a device is not opened, because that may have an effect. */
gantry_status_t gantry__train_file_open(const char *path, int *out_file, uint64_t *out_size);
void gantry__train_file_close(int file);

/* ---- checkpoint.c ---- */

/* Refuses entries that gantry_checkpoint_restore refuses. */
gantry_status_t gantry__checkpoint_check(const gantry_checkpoint_t *checkpoint,
                                         const gantry_checkpoint_entry_t *entries, size_t count);

#endif
