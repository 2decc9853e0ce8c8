/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files and directories, for .npy files and the program cache.
 *
 * No streams, no file positions, no change of the working directory. The caller owns the bytes that
 * it reads, from its own heap. Every failure names the path and the system's reason; the code
 * follows from errno (NotFound, PermissionDenied, ResourceExhausted, InvalidArgument, DataLoss...).
 * Thread-safe. */
#ifndef GANTRY_BASE_FILES_H
#define GANTRY_BASE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/status.h>

#include "base/heap.h"
#include "base/os/files.h"

/* InvalidArgument for a path that is NULL or empty: "cannot <doing>: the path is ...". */
gantry_status_t gantry__file_check_path(const char *doing, const char *path);
/* The failure of an errno value: "cannot <doing> '<path>': reason". */
gantry_status_t gantry__file_fail(const char *doing, const char *path, int error);

/* Opens a plain file of *out_size bytes for reading from its beginning. InvalidArgument names any
 * other kind: a directory, a device, a pipe (without waiting for it). OutOfRange when it has more
 * than max_bytes. */
gantry_status_t gantry__file_open(const char *path, size_t max_bytes, int *out_file,
                                  uint64_t *out_size);
/* The next bytes; fewer than size only at the end. */
gantry_status_t gantry__file_read_next(int file, const char *path, void *bytes, size_t size,
                                       size_t *out_read);
/* size bytes from offset on, wherever the file's position is. DataLoss if the file ends before. */
gantry_status_t gantry__file_read_at(int file, const char *path, uint64_t offset, void *bytes,
                                     size_t size);
/* The same into several parts, one after another, which it uses up: at most 1024, and 2^62 bytes
 * together. */
gantry_status_t gantry__file_read_parts(int file, const char *path, uint64_t offset,
                                        gantry__os_part_t *parts, size_t count);
void gantry__file_close(int file);
/* Checks a path that another library will open: InvalidArgument if path exists and is no plain
 * file. */
gantry_status_t gantry__file_check_plain(const char *path);
/* Checks in the same way a file that was examined. */
gantry_status_t gantry__file_check_kind(const char *path, gantry__os_kind_t kind);

/* Reads all of an open file, also one that grows, into heap memory of exactly *out_size bytes; free
 * with gantry__heap_free. OutOfRange when it has more than max_bytes. The caller closes it. */
gantry_status_t gantry__file_read_open(const gantry__heap_t *heap, int file, const char *path,
                                       size_t max_bytes, void **out_bytes, size_t *out_size);

/* Waits until no other holder, in this process or another, has the lock of that name, and takes it.
 * Creates the file, which stays. A holder that dies releases its lock. DeadlineExceeded after
 * timeout_ns. *out_lock is for gantry__file_unlock. */
gantry_status_t gantry__file_lock(const char *path, uint64_t timeout_ns, int *out_lock);
void gantry__file_unlock(int lock);

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
