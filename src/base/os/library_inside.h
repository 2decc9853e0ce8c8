/* SPDX-License-Identifier: Apache-2.0 */
/* What is inside of loaded libraries: texts, versions, whose malloc is called. Only backends over
 * drivers need it. Owner: texts belong to the loader. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_LIBRARY_INSIDE_H
#define GANTRY_BASE_OS_LIBRARY_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the library that has the address has the text, too, with its end, in memory that is only
 * read. */
bool gantry__os_library_has_text(const void *address, const char *text);
/* Whether the library that has the address gives its symbols versions, which no other library's
 * references have. */
bool gantry__os_library_has_versions(const void *address);
/* Whether a library can be opened with GANTRY__OS_LIBRARY_APART. If not, *out_why and *out_whose
 * are the reason, to be put one after the other. */
bool gantry__os_library_can_be_apart(const char **out_why, const char **out_whose);
/* Writes the path of an open library's file without symbolic links; false if it is unknown or too
 * long. */
bool gantry__os_library_path(void *library, char *out_path, size_t path_bytes);

#endif
