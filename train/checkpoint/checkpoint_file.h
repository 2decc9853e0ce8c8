/* SPDX-License-Identifier: Apache-2.0 */
/* The files of checkpoints, by POSIX calls: written beside their path and renamed, and read at any
 * offset. Failures name the path and the system's reason. Owns the open file. Externally
 * synchronised, but for gantry__train_file_read_at, which is thread-safe. */
#ifndef GANTRY_TRAIN_CHECKPOINT_FILE_H
#define GANTRY_TRAIN_CHECKPOINT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/status.h>

#define GANTRY__TRAIN_PATH_BYTES 4096

/* A file that is being written under a temporary name. */
typedef struct gantry__train_new_file_t {
    const char *path;                         /* the caller's */
    int file;                                 /* -1: closed */
    char target[GANTRY__TRAIN_PATH_BYTES];    /* path without symbolic links */
    char temporary[GANTRY__TRAIN_PATH_BYTES]; /* "" when there is none */
} gantry__train_new_file_t;

/* Abandon also after a failure. */
gantry_status_t gantry__train_file_create(const char *path, gantry__train_new_file_t *out);
gantry_status_t gantry__train_file_write(gantry__train_new_file_t *file, const void *bytes,
                                         size_t size);
/* Flushes the content to the disk and gives the file its name. */
gantry_status_t gantry__train_file_commit(gantry__train_new_file_t *file);
/* Removes a file that was not committed. */
void gantry__train_file_abandon(gantry__train_new_file_t *file);

/* Opens a plain file; a device is not opened, because that may have an effect. */
gantry_status_t gantry__train_file_open(const char *path, int *out_file, uint64_t *out_size);
/* Reads exactly size bytes; DataLoss if the file ends before. */
gantry_status_t gantry__train_file_read_at(int file, const char *path, uint64_t offset, void *bytes,
                                           size_t size);
void gantry__train_file_close(int file);

#endif
