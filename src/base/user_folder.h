/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of files that Gantry keeps for a user. It creates nothing. Owner: the caller must free
 * the path. Threads: thread-safe. */
#ifndef GANTRY_BASE_USER_FOLDER_H
#define GANTRY_BASE_USER_FOLDER_H

#include "base/heap.h"
#include "base/settings.h"

/* $XDG_CACHE_HOME/gantry/NAME or ~/.cache/gantry/NAME; NULL if neither variable is an absolute
 * path, or memory is out. Free it by gantry__heap_free_text. */
char *gantry__user_folder(const gantry__heap_t *heap, gantry__settings_t *settings,
                          const char *name);

#endif
