/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of claims and the files in it. Every user of the machine may write there, so nothing
 * in it is trusted: no symbolic link is followed, and only plain files with one name are opened.
 *
 * Owner: the caller must close the folder and the files. Threads: thread-safe. */
#ifndef GANTRY_CLAIM_CLAIM_FOLDER_H
#define GANTRY_CLAIM_CLAIM_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include <gantry/status.h>

#define GANTRY__CLAIM_PATH_BYTES 512

typedef struct gantry__claim_folder_t {
    int directory; /* locked in common with other claimants, so that no cleaner empties it; -1 */
    char path[GANTRY__CLAIM_PATH_BYTES];
} gantry__claim_folder_t;

/* path NULL or "": /run/lock/gantry if every user may write to /run/lock, else /tmp/gantry-claims.
 * is_made: a missing folder is made, with mode 1777. Otherwise a missing folder is no error, and
 * directory is -1. */
gantry_status_t gantry__claim_folder_open(const char *path, bool is_made,
                                          gantry__claim_folder_t *out_folder);
void gantry__claim_folder_close(gantry__claim_folder_t *folder);

/* Opens a file for reading and writing; makes it, with mode 0666, if it is missing. Its descriptor
 * is above those that shell scripts use. */
gantry_status_t gantry__claim_file_open(const gantry__claim_folder_t *folder, const char *name,
                                        int *out_file);
/* Opens an existing file for reading; false if it is missing or no claim can be in it. */
bool gantry__claim_file_look(const gantry__claim_folder_t *folder, const char *name, int *out_file);
/* Whether the open file is still the one of that name. */
bool gantry__claim_file_is_current(const gantry__claim_folder_t *folder, const char *name,
                                   int file);

/* Fails with "cannot <doing> '<folder>/<name>': <reason of errno>". */
gantry_status_t gantry__claim_fail(const gantry__claim_folder_t *folder, const char *name,
                                   const char *doing, int error);

#endif
