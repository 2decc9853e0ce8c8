/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/paths.h"

#include <string.h>

const char gantry__os_list_separator = ';';
const char gantry__os_program_ending[] = ".exe";
const char gantry__os_library_ending[] = ".dll";

static bool has_volume(const char *path) {
    const char letter = (char)(path[0] | 0x20);
    return letter >= 'a' && letter <= 'z' && path[1] == ':';
}

static bool is_separator(char sign) { return sign == '/' || sign == '\\'; }

/* A volume and the folder at its root, or a share. */
bool gantry__os_path_is_absolute(const char *path) {
    if (has_volume(path)) return is_separator(path[2]);
    return is_separator(path[0]) && is_separator(path[1]);
}

const char *gantry__os_path_name(const char *path) {
    const char *name = has_volume(path) ? path + 2 : path;
    for (const char *at = name; *at; ++at)
        if (is_separator(*at)) name = at + 1;
    return name;
}

bool gantry__os_path_has_folder(const char *path) { return gantry__os_path_name(path) != path; }
