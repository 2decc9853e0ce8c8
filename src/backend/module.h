/* SPDX-License-Identifier: Apache-2.0 */
/* Backend modules as files: where they may be, and querying one for its table.
 *
 * A module is a shared library named libgantry_backend_<name>.so (.dylib, .dll). Opened modules are
 * never closed, because the driver that one opened may have threads. Owner: nobody; a module stays
 * until the process ends. Threads: the functions must only be called while a runtime is created or
 * initialised. */
#ifndef GANTRY_BACKEND_MODULE_H
#define GANTRY_BACKEND_MODULE_H

#include <stdbool.h>

#include <gantry/backend_abi.h>

#include "base/heap.h"
#include "base/log.h"

/* Calls visit for each candidate file of path (folders or files, ':'-separated; "" and NULL are
 * empty), in order, files of a folder by name. A file named directly is visited even if it does not
 * exist. Stops at the first status that is not OK. */
typedef gantry_status_t (*gantry__module_visit_fn)(void *user, const char *file);
gantry_status_t gantry__module_search(const gantry__heap_t *heap, const char *path,
                                      gantry__module_visit_fn visit, void *user);

/* The same for one folder; a folder that is NULL, missing or unreadable has no modules. */
gantry_status_t gantry__module_search_folder(const gantry__heap_t *heap, const char *folder,
                                             gantry__module_visit_fn visit, void *user);

/* The folder of modules that belongs to this library's file, "<folder of libgantry>/gantry", as
 * heap text; NULL if unknown. */
gantry_status_t gantry__module_own_folder(const gantry__heap_t *heap, char **out_folder);

/* Checks the library's own folder of modules: FailedPrecondition if others may write it
 * (base/trust.h), who may not write the library itself. */
gantry_status_t gantry__module_check_own_folder(const char *folder);

/* Whether the file's name, without its folder, is the one of a backend's module. */
bool gantry__module_is_of(const char *file, const char *backend);

/* Opens the file and queries its table. Unavailable carries the loader's own text;
 * FailedPrecondition: of another ABI. */
gantry_status_t gantry__module_query(const char *file, const gantry_backend_t **out_table);

#endif
