/* SPDX-License-Identifier: Apache-2.0 */
/* What only programs do with files, in addition to files.h. Owner: the caller's buffers. Threads:
 * thread-safe while no other code changes the environment. */
#ifndef GANTRY_BASE_OS_PROGRAM_FILES_H
#define GANTRY_BASE_OS_PROGRAM_FILES_H

#include "base/os/files.h"

/* Removes a file with this name in an open folder; of a symbolic link the link, not what it names.
 * Returns 0 or an errno value. */
int gantry__os_remove_in(int folder, const char *name);
/* Writes a folder for files that are removed again; false if its path is too long. */
bool gantry__os_temporary_folder(char *out, size_t out_bytes);
/* Writes what base/os/library.h says of a library that no folder has, after its name. */
void gantry__os_absent_library(char *out, size_t out_bytes);

#endif
