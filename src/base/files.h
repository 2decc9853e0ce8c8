/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files and directories, as the npy files and the program cache need them.
 *
 * No streams, no file positions, no change of the working directory. What is read belongs to the
 * caller (heap given by the caller). Every failure names the path and the system's reason; the code
 * is taken from errno (NotFound, PermissionDenied, ResourceExhausted, InvalidArgument,
 * DataLoss...). Thread-safe. */
#ifndef GANTRY_BASE_FILES_H
#define GANTRY_BASE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/status.h>

#include "base/heap.h"

/* Opens a plain file, of *out_size bytes now, to be read from its beginning. InvalidArgument says
 * what else it is: a directory, a device, a pipe, which is not waited for; OutOfRange when it
 * has more than max_bytes. */
gantry_status_t gantry__file_open(const char *path, size_t max_bytes, int *out_file,
                                  uint64_t *out_size);
/* The next bytes; fewer than size only at the end. */
gantry_status_t gantry__file_read_next(int file, const char *path, void *bytes, size_t size,
                                       size_t *out_read);
void gantry__file_close(int file);
/* For those whom others open files for: InvalidArgument when path is there and no plain file. */
gantry_status_t gantry__file_check_plain(const char *path);

/* Reads all of a plain file into heap memory of exactly *out_size bytes; free with
 * gantry__heap_free. Failures are those of gantry__file_open. */
gantry_status_t gantry__file_read(const gantry__heap_t *heap, const char *path, size_t max_bytes,
                                  void **out_bytes, size_t *out_size);

/* A part of what is written; size 0 is allowed. */
typedef struct gantry__file_piece_t {
    const void *bytes;
    size_t size;
} gantry__file_piece_t;

enum {
    /* The content is on the disk before the name appears: for what a user would miss after a
     * power cut. */
    GANTRY__FILE_DURABLE = 1
};

/* Writes the pieces one after another under a temporary name beside path, then renames: a reader
 * sees the old file or the new one, never a part. After a failure the old file is as it was and
 * nothing is left beside it. A path that names something else than a plain file (a terminal, a
 * pipe, /dev/null) is written to directly; a symbolic link stays, what it points to is replaced. */
gantry_status_t gantry__file_write(const char *path, const gantry__file_piece_t *pieces,
                                   size_t piece_count, unsigned flags);

/* Waits until no other holder, of this process or another, has the lock of that name, and takes it;
 * a file of the name is made and stays. A holder that ends gives its lock back, whatever it ends
 * of. DeadlineExceeded after timeout_ns. *out_lock is for gantry__file_unlock. */
gantry_status_t gantry__file_lock(const char *path, uint64_t timeout_ns, int *out_lock);
void gantry__file_unlock(int lock);

/* OK also when there is no such file. */
gantry_status_t gantry__file_remove(const char *path);

/* Bytes of a plain file; InvalidArgument for anything else. */
gantry_status_t gantry__file_size(const char *path, uint64_t *out_bytes);

/* Makes the directory and those above it that are missing, each with mode 0700. OK when it
 * exists already. */
gantry_status_t gantry__directory_make(const char *path);

typedef struct gantry__directory_names_t {
    const gantry__heap_t *heap;
    char **names; /* sorted by byte value; without "." and ".." */
    size_t count;
    size_t capacity;
} gantry__directory_names_t;

gantry_status_t gantry__directory_list(const gantry__heap_t *heap, const char *path,
                                       gantry__directory_names_t *out_names);
void gantry__directory_names_deinit(gantry__directory_names_t *names);

#endif
