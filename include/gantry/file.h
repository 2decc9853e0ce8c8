/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Files that are written whole or not at all, as gantry_save_npy writes its own, and parts of files
 * that are read whole or not at all.
 *
 * The content goes to a temporary file in the same folder, which gets the name at the end: a reader
 * sees the old file or the new one, never a part, also after a power cut. A failure keeps the old
 * file and leaves no other file. A file that grows beyond the limit of sizes (ulimit -f) is
 * ResourceExhausted: no signal ends the process. What a killed writer left is removed by the next
 * one of the same path. Different files belong to different threads. */
#ifndef GANTRY_FILE_H
#define GANTRY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/export.h>
#include <gantry/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most bytes of a path, with its final zero. */
#define GANTRY_FILE_PATH_BYTES 4096

/** A file that is being written. The fields are the library's. The struct does not grow. */
typedef struct gantry_new_file_t {
    int32_t file;                           /**< The open file; -1: none. */
    uint32_t flags;                         /**< How it is written. */
    char target[GANTRY_FILE_PATH_BYTES];    /**< The path without symbolic links. */
    char temporary[GANTRY_FILE_PATH_BYTES]; /**< The name until the end; "": there is none. */
} gantry_new_file_t;

/** Begins to write the file at path. A path that is no plain file (a terminal, a pipe, /dev/null)
 * is written to directly; a directory is InvalidArgument. A symbolic link stays, and its target is
 * replaced, or made if there is none. *out_file is ended by gantry_file_end or
 * gantry_file_abandon, also after a failure. */
GANTRY_API gantry_status_t gantry_file_begin(const char *path, gantry_new_file_t *out_file);
/** Writes the next bytes; bytes may be NULL if size is 0. */
GANTRY_API gantry_status_t gantry_file_write(gantry_new_file_t *file, const void *bytes,
                                             size_t size);
/** Writes the content to the disk and gives the file its name. After a failure, abandon it. */
GANTRY_API gantry_status_t gantry_file_end(gantry_new_file_t *file);
/** Removes a file that was not ended; does nothing after the end, or for NULL. */
GANTRY_API void gantry_file_abandon(gantry_new_file_t *file);

/** Adds bytes at the end of the file at path, which is made if there is none. A failure leaves a
 * plain file as it was. Processes that append to one file wait for each other, for two seconds at
 * most: a lock that another process keeps does not stop the program. */
GANTRY_API gantry_status_t gantry_file_append(const char *path, const void *bytes, size_t size);

/** Reads size bytes of an open file from offset on, wherever its position is, which stays. path
 * names the file in messages. DataLoss if it ends before; InvalidArgument for a file below 0,
 * no path, and bytes that is NULL with a size above 0. Thread-safe. */
GANTRY_API gantry_status_t gantry_file_read_at(int file, const char *path, uint64_t offset,
                                               void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif
