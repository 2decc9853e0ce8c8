/* SPDX-License-Identifier: Apache-2.0 */
/* In this order: the toolkit that a variable names, the active Python and conda environments, the
 * toolkits of the system, the newest version first, and the folders that a container and WSL mount
 * with the driver. pip has a folder for each wheel, or one for all of CUDA 13. */
#define _POSIX_C_SOURCE 200809L
#include "cuda/cuda_folders.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_BYTES 1024
#define WHEELS "/lib/python3*/site-packages/nvidia/*/lib"

typedef struct place_t {
    const char *variable; /* names the folder before the pattern; NULL: the root */
    const char *pattern;
} place_t;

static const place_t places[] = {
    {"CUDA_HOME", "/lib64"},
    {"CUDA_HOME", "/lib"},
    {"CUDA_HOME", "/targets/*/lib"},
    {"CUDA_PATH", "/lib64"},
    {"CUDA_PATH", "/lib"},
    {"CUDA_PATH", "/targets/*/lib"},
    {"VIRTUAL_ENV", WHEELS},
    {"CONDA_PREFIX", "/lib"},
    {"CONDA_PREFIX", "/targets/*/lib"},
    {"CONDA_PREFIX", WHEELS},
    {NULL, "/usr/local/cuda/lib64"},
    {NULL, "/usr/local/cuda/lib"},
    {NULL, "/usr/local/cuda/targets/*/lib"},
    {NULL, "/usr/local/cuda-1[23]*/lib64"},
    {NULL, "/usr/local/cuda-1[23]*/lib"},
    {NULL, "/usr/local/cuda-1[23]*/targets/*/lib"},
    {NULL, "/usr/local/nvidia/lib64"},
    {NULL, "/usr/lib/wsl/lib"},
};

/* What the folder's own name has of a pattern's signs stands for itself. */
static bool write_pattern(const char *folder, const char *pattern, char *out) {
    size_t length = 0;
    for (const char *c = folder; *c && length + 2 < PATTERN_BYTES; ++c) {
        if (strchr("*?[\\", *c)) out[length++] = '\\';
        out[length++] = *c;
    }
    int rest = snprintf(out + length, PATTERN_BYTES - length, "%s", pattern);
    return rest >= 0 && length + (size_t)rest < PATTERN_BYTES;
}

static bool visit_place(const char *folder, const char *pattern,
                        bool (*visit)(void *self, const char *folder), void *self) {
    char text[PATTERN_BYTES];
    glob_t found;
    bool is_done = false;
    if (!write_pattern(folder, pattern, text) || glob(text, 0, NULL, &found) != 0) return false;
    for (size_t i = found.gl_pathc; i-- > 0 && !is_done;) is_done = visit(self, found.gl_pathv[i]);
    globfree(&found);
    return is_done;
}

bool gantry__cuda_folders_visit(const char *root, bool (*visit)(void *self, const char *folder),
                                void *self) {
    bool is_done = false;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !is_done; ++i) {
        const place_t *place = &places[i];
        const char *folder = place->variable ? getenv(place->variable) : root;
        if (!folder || (place->variable && folder[0] == '\0')) continue;
        is_done = visit_place(folder, place->pattern, visit, self);
    }
    return is_done;
}
