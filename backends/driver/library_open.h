/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries opened at run time: the first file that can be opened, and a table of its functions.
 *
 * Nothing links a vendor's library, so that a missing one costs only what it does, with the reason.
 * Owner: a library stays loaded to the end of the process; the table is the caller's. Threads:
 * thread-safe on tables of the caller's own. */
#ifndef GANTRY_DRIVER_LIBRARY_OPEN_H
#define GANTRY_DRIVER_LIBRARY_OPEN_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct gantry__library_symbol_t {
    const char *name;
    size_t offset; /* of the slot in its table */
} gantry__library_symbol_t;

/* Opens the file that the option names, else the first candidate that can be opened; NULL with each
 * one's reason. Candidates begin with the versioned name: the bare one belongs to development
 * packages. */
void *gantry__library_open(const gantry_host_t *host, const char *option,
                           const char *const *candidates, size_t count, char *out_name,
                           size_t name_bytes, char *out_reasons, size_t reasons_bytes);
/* Whether a file named by its path ends before its content does. The loader maps such a library
 * without a look at the file's end, and the process dies when it reads there; what else may be
 * wrong the loader says itself. gantry__library_open refuses one. 0 for a name without a folder,
 * which only the loader can find. */
bool gantry__library_is_cut(const char *path);
/* Fills the table's slots; returns the first function that the library does not have, NULL when
 * it has all. */
const char *gantry__library_resolve(void *library, const gantry__library_symbol_t *symbols,
                                    size_t count, void *table);
/* For the slot libraries: appends, after before, "FOUND found" or "NAME missing (REASON)" where
 * found is NULL. What has no room is cut. */
void gantry__library_line_add(char *line, size_t line_bytes, const char *before, const char *name,
                              const char *found, const char *reason);

#endif
