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
#include "cuda/cuda_folders.h"

#include <stdio.h>
#include <string.h>

#include "base/os/environment.h"
#include "base/os/files.h"
#include "base/os/paths.h"

#define PATTERN_BYTES 1024
#define LIST_BYTES (1 << 15) /* of PATH */
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

/* The visits of a place's folders. */
typedef struct place_visit_t {
    gantry__cuda_folder_visit_fn visit;
    void *self;
    bool is_checked, is_done;
} place_visit_t;

static bool visit_found_folder(void *user, const char *folder) {
    place_visit_t *visits = user;
    visits->is_done = visits->visit(visits->self, folder, visits->is_checked);
    return !visits->is_done;
}

static bool visit_place(const place_t *place, const char *folder,
                        gantry__cuda_folder_visit_fn visit, void *self) {
    char text[PATTERN_BYTES];
    place_visit_t visits = {.visit = visit, .self = self, .is_checked = place->is_checked};
    if (write_pattern(folder, place->pattern, text))
        gantry__os_match(text, visit_found_folder, &visits);
    return visits.is_done;
}

/* The folder that has the bin of the first python3 of PATH. An environment's bin has a link, which
 * is not followed. */
static const char *python_prefix(char out[PATTERN_BYTES]) {
    const char separators[] = {gantry__os_list_separator, '\0'};
    char list[LIST_BYTES], file[PATTERN_BYTES];
    const size_t bytes_of_list = gantry__os_secure_variable(PYTHON, list, sizeof list);
    const char *at = list;
    if (bytes_of_list == 0 || bytes_of_list > sizeof list) return NULL;
    for (size_t length; *at; at += length + (at[length] != '\0')) {
        length = strcspn(at, separators);
        const int bytes = snprintf(file, sizeof file, "%.*s/python3%s", (int)length, at,
                                   gantry__os_program_ending);
        if (!gantry__os_path_is_absolute(at) || bytes < 0 || (size_t)bytes >= sizeof file ||
            gantry__os_may(file, GANTRY__OS_MAY_RUN) != 0)
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
    const size_t bytes = gantry__os_secure_variable(place->variable, out, PATTERN_BYTES);
    const bool is_set = bytes > 1 && bytes <= PATTERN_BYTES;
    return is_set && (!place->is_checked || gantry__os_path_is_absolute(out)) ? out : NULL;
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
