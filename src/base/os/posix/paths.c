/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/paths.h"

#include <string.h>

const char gantry__os_list_separator = ':';
const char gantry__os_program_ending[] = "";
#if defined(__APPLE__)
const char gantry__os_library_ending[] = ".dylib";
#else
const char gantry__os_library_ending[] = ".so";
#endif

bool gantry__os_path_is_absolute(const char *path) { return *path == '/'; }

const char *gantry__os_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool gantry__os_path_has_folder(const char *path) { return strchr(path, '/') != NULL; }
