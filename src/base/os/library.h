/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that a process opens while it runs.
 *
 * A handle is a plain pointer, which NULL is no value of. Owner: whoever has opened a library may
 * close it; a driver must stay open until the process ends. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_LIBRARY_H
#define GANTRY_BASE_OS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

enum {
    /* binds a function when it is first called, not at once */
    GANTRY__OS_LIBRARY_LAZY = 1 << 0,
    /* only returns a library that the process has loaded already */
    GANTRY__OS_LIBRARY_LOADED = 1 << 1,
    /* the library prefers its own symbols to those of the process; it needs
     * gantry__os_library_can_be_apart */
    GANTRY__OS_LIBRARY_APART = 1 << 2
};

/* Opens a library, whose symbols no other library sees. name: a path, or a name that the system
 * searches for. Returns NULL after a failure; then gantry__os_library_error says why, if the same
 * thread calls it before any other function of this header. */
void *gantry__os_library_open(const char *name, unsigned flags);
/* Returns the system's text, never NULL. */
const char *gantry__os_library_error(void);
void gantry__os_library_close(void *library);

/* Returns the address of a symbol; NULL if there is none. library NULL: of the whole process. */
void *gantry__os_library_find(void *library, const char *name);
/* Writes the address of a function to the pointer at out_function, which must be one to a function;
 * NULL and false if there is none. */
bool gantry__os_library_function(void *library, const char *name, void *out_function);

/* Whether a file, named by its path, is truncated. A loader maps such a file without an error, and
 * the process dies when it reads beyond the end; the loader reports all other faults itself. False
 * for a name without a folder, which only the loader can find. */
bool gantry__os_library_is_cut(const char *path);

/* Returns the file that an address was loaded from, as the loader names it; NULL if it is unknown.
 * The text belongs to the loader. */
const char *gantry__os_library_file_of(const void *address);
/* The same for an address of the caller's own library. For the program itself the loader has only
 * its first argument, which anybody can choose; the result then is another name of its file. */
const char *gantry__os_library_own_file(const void *address);

#endif
