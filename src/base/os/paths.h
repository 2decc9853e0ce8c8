/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of paths. All of Gantry's paths are UTF-8 and use "/"; a system that has "\" takes it
 * as "/" in what users give. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_PATHS_H
#define GANTRY_BASE_OS_PATHS_H

#include <stdbool.h>

/* What separates the paths of a list, as of PATH: ':' or ';'. */
extern const char gantry__os_list_separator;
/* What a file of a program and of a library ends in: "" or ".exe"; ".so", ".dylib" or ".dll". */
extern const char gantry__os_program_ending[];
extern const char gantry__os_library_ending[];

/* Whether a path is absolute: it needs neither a folder nor a volume of this process. */
bool gantry__os_path_is_absolute(const char *path);
/* The last name of a path: what follows its last separator. */
const char *gantry__os_path_name(const char *path);
/* Whether a path has more than a name. */
bool gantry__os_path_has_folder(const char *path);
#endif
