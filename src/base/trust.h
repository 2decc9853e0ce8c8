/* SPDX-License-Identifier: Apache-2.0 */
/* Who may write a file or folder. What the library runs, or believes without a proof, must be
 * writable only by root and by this process's user: the file itself, its folder, and every folder
 * and symbolic link on the way to it.
 *
 * A file is opened by the same descriptors that were examined, so that nobody exchanges it between
 * the check and its use. Only gantry__trust_make_folder makes anything. Owner: the caller closes
 * the descriptors. Thread-safe. */
#ifndef GANTRY_BASE_TRUST_H
#define GANTRY_BASE_TRUST_H

#include <stdbool.h>

#include <gantry/status.h>

#include "base/os/trust.h"

/* Opens a folder (for gantry__trust_open_entry), or a plain file for reading. others may be NULL.
 * out_path (may be NULL): the path without symbolic links. FailedPrecondition names what others may
 * write; InvalidArgument for another kind of file; else the failures of gantry__file_fail. */
gantry_status_t gantry__trust_open_folder(const char *path, const gantry__os_writers_t *others,
                                          int *out_folder);
gantry_status_t gantry__trust_open_file(const char *path, const gantry__os_writers_t *others,
                                        char out_path[GANTRY__OS_PATH_BYTES], int *out_file);
/* Opens a folder, and makes it and its missing parents with mode 0700, each only in a folder that
 * passed. out_folder may be NULL: then the folder may have the sticky bit, as /tmp has it. */
gantry_status_t gantry__trust_make_folder(const char *path, int *out_folder);
/* Opens a plain file of an open folder whose path is for messages. Follows no symbolic link. */
gantry_status_t gantry__trust_open_entry(int folder, const char *path, const char *name,
                                         int *out_file);

/* Checks a path: OK for a file or folder that others may not write, and for a path that does not
 * exist and whose folders pass. */
gantry_status_t gantry__trust_check(const char *path);

/* Finds those who may write this library's file, or the program that it is linked into, as others
 * to be trusted; its path without symbolic links. False if it is unknown. */
bool gantry__trust_of_library(gantry__os_writers_t *out_others,
                              char out_path[GANTRY__OS_PATH_BYTES]);

#endif
