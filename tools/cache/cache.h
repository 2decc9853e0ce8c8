/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry cache`. The files of the kernel cache are read, checked and removed without
 * the library, so that a broken driver cannot get in the way. The tuning file is the library's.
 *
 * No file is trusted, because another user may have written it. Owner: a folder owns its list of
 * files, and must be closed. Threads: externally synchronised. */
#ifndef GANTRY_TOOLS_CACHE_H
#define GANTRY_TOOLS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os/files.h"
#include "common/tool.h"

#define CACHE_WHY_BYTES 1024

typedef enum cache_kind_t {
    CACHE_PROGRAM,   /* a program binary, or the note of a probe */
    CACHE_OLD,       /* of an older Gantry, which no program of this version reads */
    CACHE_UNFINISHED /* a temporary file: of a process that writes, or that was killed */
} cache_kind_t;

typedef struct cache_file_t {
    char name[64];
    cache_kind_t kind;
    bool is_read;    /* its head was read; else why has the reason */
    bool is_damaged; /* why has the reason */
    uint64_t size_bytes;
    int64_t written; /* seconds since 1970 */
    uint64_t owner;
    char backend[64], hardware[256], driver[256], program[256]; /* "" if unknown */
    char why[CACHE_WHY_BYTES];
} cache_file_t;

typedef struct cache_folder_t {
    char path[GANTRY__OS_PATH_BYTES];
    int handle;          /* -1: there is no such folder */
    cache_file_t *files; /* the newest first */
    size_t count, capacity;
    size_t foreign;            /* entries of the folder that are no files of the cache */
    char why[CACHE_WHY_BYTES]; /* why it cannot be read, or "" */
} cache_folder_t;

/* Lists the files of a folder with their labels. If it cannot be read, the call returns false, and
 * `why` has the reason. A missing folder is empty. The caller must close the folder after a
 * failure, too. */
bool cache_folder_open(cache_folder_t *self, const char *path);
void cache_folder_close(cache_folder_t *self);

/* Reads the whole file, and sets is_damaged and why. */
void cache_file_verify(const cache_folder_t *self, cache_file_t *file);
/* Removes the file, which must still be a plain file. If it returns false, `why` has the reason. */
bool cache_file_remove(const cache_folder_t *self, cache_file_t *file);
/* Returns whether files can be removed from the folder. If not, `why` names the folder and the
 * cure. */
bool cache_folder_is_writable(cache_folder_t *self);

/* "bob (1001)", or "1001". Returns out. */
char *cache_user_name(uint64_t user, char *out, size_t out_bytes);

/* ---- tuning.c ---- */

/* Each prints to standard output, or into json, and adds to *out_problems what is damaged, cannot
 * be read or cannot be removed. The runtime needs only the CPU's backend. */
typedef struct cache_choice_t {
    double older_seconds;
    const char *text;                /* a part of the device's name, or NULL */
    char backend[64], hardware[256]; /* of a device that was spelled; "" */
    char spelled[64];                /* "opencl:0", or "" */
    bool is_dry_run;
} cache_choice_t;

void cache_tuning_list(gantry_runtime_t *runtime, const cache_choice_t *choice, gantry_json_t *json,
                       size_t *out_problems);
void cache_tuning_verify(gantry_runtime_t *runtime, gantry_json_t *json, size_t *out_problems);
void cache_tuning_clear(gantry_runtime_t *runtime, const cache_choice_t *choice,
                        gantry_json_t *json, size_t *out_problems);

#endif
