/* SPDX-License-Identifier: Apache-2.0 */
/* The files of checkpoints: written whole or not at all, and opened for gantry_file_read_at. A
 * failure names the path and the system's reason. Owns the open file. Externally synchronised. */
#ifndef GANTRY_TRAIN_CHECKPOINT_FILE_H
#define GANTRY_TRAIN_CHECKPOINT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/file.h>

/* A plain file, by gantry/file.h. Abandon also after a failure: gantry_file_abandon. */
gantry_status_t gantry__train_file_create(const char *path, gantry_new_file_t *out);
gantry_status_t gantry__train_file_write(gantry_new_file_t *file, const void *bytes, size_t size);
gantry_status_t gantry__train_file_commit(gantry_new_file_t *file);

/* Opens a plain file; a device is not opened, because that may have an effect. */
gantry_status_t gantry__train_file_open(const char *path, int *out_file, uint64_t *out_size);
void gantry__train_file_close(int file);

#endif
