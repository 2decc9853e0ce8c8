/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the search: the toolkit that a variable names, the active Python and conda
 * environments, the environment of the python3 that PATH finds, those that it may start (pyenv,
 * asdf, mise), the user's and the system's packages of Python, the toolkits of the system, the
 * newest version first, and the folders that a container and WSL mount with the driver. pip has a
 * folder for each wheel, or one for all of CUDA 13. In a program with more rights than its caller
 * (set-user-ID), variables have no value.
 *
 * HOME, PYTHONUSERBASE and PATH are set in every process and were not set for Gantry. A place that
 * comes from them must therefore be absolute, and its visitor must check who may write it. */
#define _GNU_SOURCE /* secure_getenv */
#include "cuda/cuda_folders.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATTERN_BYTES 1024
#define WHEELS "/lib/python3*/site-packages/nvidia/*/lib"
#define SYSTEM_WHEELS "/lib/python3*/dist-packages/nvidia/*/lib" /* of Debian and Ubuntu */
/* Of each Python that pyenv, or asdf and mise, installed: the python3 of PATH is then a script in
 * their folder shims, which starts one of these. */
#define SHIM_WHEELS "/versions/*" WHEELS
#define SHIM_INSTALLS "/installs/python/*" WHEELS
#define PYTHON "PATH" /* the folder above that of python3, if it is a variable's name */

typedef struct place_t {
    const char *variable; /* the folder before the pattern; NULL: the root */
    const char *pattern;
    bool is_checked; /* must be absolute; others must not be able to write it */
} place_t;

static const place_t places[] = {
    {"CUDA_HOME", "/lib64", false},
    {"CUDA_HOME", "/lib", false},
    {"CUDA_HOME", "/targets/*/lib", false},
    {"CUDA_PATH", "/lib64", false},
    {"CUDA_PATH", "/lib", false},
    {"CUDA_PATH", "/targets/*/lib", false},
    {"VIRTUAL_ENV", WHEELS, false},
    {"CONDA_PREFIX", "/lib", false},
    {"CONDA_PREFIX", "/targets/*/lib", false},
    {"CONDA_PREFIX", WHEELS, false},
    {PYTHON, WHEELS, true},
    {PYTHON, SHIM_WHEELS, true},
    {PYTHON, SHIM_INSTALLS, true},
    {"PYTHONUSERBASE", WHEELS, true},
    {"HOME", "/.local" WHEELS, true},
    {NULL, "/usr/local" SYSTEM_WHEELS, false},
    {NULL, "/usr/local" WHEELS, false},
    {NULL, "/usr" SYSTEM_WHEELS, false},
    {NULL, "/usr/local/cuda/lib64", false},
    {NULL, "/usr/local/cuda/lib", false},
    {NULL, "/usr/local/cuda/targets/*/lib", false},
    {NULL, "/usr/local/cuda-1[23]*/lib64", false},
    {NULL, "/usr/local/cuda-1[23]*/lib", false},
    {NULL, "/usr/local/cuda-1[23]*/targets/*/lib", false},
    {NULL, "/usr/local/nvidia/lib64", false},
    {NULL, "/usr/lib/wsl/lib", false},
};

/* Writes a pattern in which the signs of the folder's own name have no special meaning. */
static bool write_pattern(const char *folder, const char *pattern, char *out) {
    size_t length = 0;
    for (const char *c = folder; *c && length + 2 < PATTERN_BYTES; ++c) {
        if (strchr("*?[\\", *c)) out[length++] = '\\';
        out[length++] = *c;
    }
    int rest = snprintf(out + length, PATTERN_BYTES - length, "%s", pattern);
    return rest >= 0 && length + (size_t)rest < PATTERN_BYTES;
}

static bool visit_place(const place_t *place, const char *folder,
                        gantry__cuda_folder_visit_fn visit, void *self) {
    char text[PATTERN_BYTES];
    glob_t found;
    bool is_done = false;
    if (!write_pattern(folder, place->pattern, text) || glob(text, 0, NULL, &found) != 0)
        return false;
    for (size_t i = found.gl_pathc; i-- > 0 && !is_done;)
        is_done = visit(self, found.gl_pathv[i], place->is_checked);
    globfree(&found);
    return is_done;
}

/* The folder that has the bin of the first python3 of PATH. An environment's bin has a link, which
 * is not followed. */
static const char *python_prefix(char out[PATTERN_BYTES]) {
    const char *at = secure_getenv(PYTHON);
    char file[PATTERN_BYTES];
    for (size_t length; at && *at; at += length + (at[length] == ':')) {
        length = strcspn(at, ":");
        const int bytes = snprintf(file, sizeof file, "%.*s/python3", (int)length, at);
        if (*at != '/' || bytes < 0 || (size_t)bytes >= sizeof file || access(file, X_OK) != 0)
            continue;
        while (length > 1 && at[length - 1] == '/') --length;
        (void)snprintf(out, PATTERN_BYTES, "%.*s", (int)length, at);
        char *slash = strrchr(out, '/');
        *slash = '\0';
        return out;
    }
    return NULL;
}

/* The folder before the place's pattern; NULL: none. */
static const char *place_folder(const place_t *place, const char *root, char out[PATTERN_BYTES]) {
    if (!place->variable) return root;
    if (strcmp(place->variable, PYTHON) == 0) return python_prefix(out);
    const char *folder = secure_getenv(place->variable);
    return folder && *folder && (!place->is_checked || *folder == '/') ? folder : NULL;
}

bool gantry__cuda_folders_visit(const char *root, gantry__cuda_folder_visit_fn visit, void *self) {
    bool is_done = false;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !is_done; ++i) {
        char prefix[PATTERN_BYTES];
        const char *folder = place_folder(&places[i], root, prefix);
        is_done = folder && visit_place(&places[i], folder, visit, self);
    }
    return is_done;
}
