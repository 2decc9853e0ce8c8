/* SPDX-License-Identifier: Apache-2.0 */
/* The files of checkpoints: written whole or not at all, and read at any offset. Failures name the
 * path and the system's reason. Owns the open file. Externally synchronised, but for
 * gantry__train_file_read_at, which is thread-safe. */
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
/* Reads exactly size bytes; DataLoss if the file ends before. */
gantry_status_t gantry__train_file_read_at(int file, const char *path, uint64_t offset, void *bytes,
                                           size_t size);
void gantry__train_file_close(int file);

#endif
