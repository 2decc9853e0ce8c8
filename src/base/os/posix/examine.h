/* SPDX-License-Identifier: Apache-2.0 */
/* What files of this folder share. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_POSIX_EXAMINE_H
#define GANTRY_BASE_OS_POSIX_EXAMINE_H

#include "base/os/files.h"

struct stat;
/* Writes what the system says of a file. */
void gantry__os_examine(const struct stat *from, gantry__os_info_t *out_info);

#endif
