/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a library at run time, from the first file that works, and fills a table of its functions.
 *
 * Gantry links no vendor's library. If one is missing, only its features are missing, and the
 * reason is known. Owner: a library stays loaded until the process ends; the table belongs to the
 * caller. Threads: thread-safe, if each caller has its own table. */
#ifndef GANTRY_DRIVER_LIBRARY_OPEN_H
#define GANTRY_DRIVER_LIBRARY_OPEN_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct gantry__library_symbol_t {
    const char *name;
    size_t offset; /* the slot's offset in its table */
} gantry__library_symbol_t;

/* A list of files, which is written to a caller's memory as snprintf writes. */
typedef struct gantry__library_files_t {
    char *text;
    uint64_t capacity, length; /* length: the whole list's */
} gantry__library_files_t;

/* Whether the path names a pipe, a folder or a device. A loader must not open such a path, because
 * it would wait for a pipe's writer. */
bool gantry__library_is_no_file(const char *path);

/* Opens a text for reading. Returns NULL with errno; EINVAL if it is no plain file, because a
 * device may never end, and a pipe waits for its writer. */
FILE *gantry__library_text_open(const char *path);

/* Opens the file that the option names, or else the first candidate that can be opened. Returns
 * NULL and the reason for each file if none can. The versioned name must be first among the
 * candidates, because the bare name belongs to development packages. */
void *gantry__library_open(const gantry_host_t *host, const char *option,
                           const char *const *candidates, size_t count, char *out_name,
                           size_t name_bytes, char *out_reasons, size_t reasons_bytes);
/* Adds a line to the result of the slot `driver_files`. */
void gantry__library_file_add(gantry__library_files_t *files, const char *name);
/* Fills the table's slots. Returns the name of the first function that the library lacks, or
 * NULL. */
const char *gantry__library_resolve(void *library, const gantry__library_symbol_t *symbols,
                                    size_t count, void *table);
/* Adds to the result of the slot `libraries`: appends `before`, and then "FOUND found", or "NAME
 * missing (REASON)" if found is NULL. A text that does not fit is cut. */
void gantry__library_line_add(char *line, size_t line_bytes, const char *before, const char *name,
                              const char *found, const char *reason);

#endif
