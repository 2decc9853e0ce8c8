/* SPDX-License-Identifier: Apache-2.0 */
/* Folders in which every user makes files of his own, as in /tmp: mode 1777. Whoever comes first
 * makes the folder and owns it, so nothing that is written in it is believed.
 *
 * Not here: folders that only one user may write (trust.h). Owner: the caller must close the
 * descriptor. Thread-safe. */
#ifndef GANTRY_BASE_SHARED_FOLDER_H
#define GANTRY_BASE_SHARED_FOLDER_H

#include <stdbool.h>

#include "base/os/files.h"

/* Opens the folder, which may be no symbolic link; -1 with errno. makes: a missing one is made,
 * with mode 1777. mends: one of this user gets that mode again, in case who made it was killed. */
int gantry__shared_folder_open(const char *path, bool makes, bool mends);

/* Whether every user may replace another's file in it: writable by all, without sticky bit. */
bool gantry__shared_folder_is_open_to_all(const gantry__os_info_t *info);

#endif
