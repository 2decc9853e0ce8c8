/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is being written: the one way in which the library, the training library and the
 * programs around them write files. gantry/file.h says what holds.
 *
 * Owner: it owns the open file. Threads: externally synchronised; different files are independent,
 * also those of one path. */
#ifndef GANTRY_BASE_NEW_FILE_H
#define GANTRY_BASE_NEW_FILE_H

#include <gantry/file.h>

#include "base/heap.h"

enum {
    /* writes the content to the disk before the name appears: for files that a user would miss
     * after a power cut */
    GANTRY__FILE_DURABLE = 1 << 0,
    /* a file of the library's own: only its user may read it, and it replaces whatever has the
     * name, but for a directory: a link is not followed, a pipe is not written to */
    GANTRY__FILE_OWN = 1 << 1,
    /* with OWN: every user may read it */
    GANTRY__FILE_SHOWN = 1 << 2
};

/* Begins a file. The caller must abandon it also after a failure. */
gantry_status_t gantry__new_file_begin(const char *path, unsigned flags,
                                       gantry_new_file_t *out_file);
gantry_status_t gantry__new_file_write(gantry_new_file_t *file, const void *bytes, size_t size);
gantry_status_t gantry__new_file_end(gantry_new_file_t *file);
void gantry__new_file_abandon(gantry_new_file_t *file);

/* One of the pieces to be written; size 0 is allowed. */
typedef struct gantry__file_piece_t {
    const void *bytes;
    size_t size;
} gantry__file_piece_t;

/* Writes the pieces one after another as a new file. */
gantry_status_t gantry__file_write(const char *path, const gantry__file_piece_t *pieces,
                                   size_t piece_count, unsigned flags);

/* Removes the temporary files that killed writers left in a folder, of this user and of names that
 * end in ending. For names that no later writer has; others are met by their next writer. */
void gantry__new_file_sweep(const gantry__heap_t *heap, const char *folder, const char *ending);

gantry_status_t gantry__file_append(const char *path, const void *bytes, size_t size);

#endif
