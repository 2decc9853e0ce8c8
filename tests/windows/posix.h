/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of POSIX that tests call and MinGW lacks. On Windows the build includes this file
 * before each test; it includes no windows.h, whose short names tests use, too. Owner: the callers.
 * Threads: main's only. */
#ifndef GANTRY_TESTS_WINDOWS_POSIX_H
#define GANTRY_TESTS_WINDOWS_POSIX_H

#include <dirent.h>
#include <direct.h>
#include <errno.h>
#include <io.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

__declspec(dllimport) int __stdcall SetEnvironmentVariableA(const char *name, const char *value);

/* The C runtime takes away a variable with an empty value; the system keeps it. */
static inline int setenv(const char *name, const char *value, int replaces) {
    if (!replaces && getenv(name)) return 0;
    return _putenv_s(name, value) == 0 && SetEnvironmentVariableA(name, value) ? 0 : -1;
}

static inline int unsetenv(const char *name) {
    (void)_putenv_s(name, "");
    (void)SetEnvironmentVariableA(name, NULL);
    return 0;
}

static inline int posix_mkdir(const char *path, unsigned mode) {
    (void)mode;
    return _mkdir(path);
}
#define mkdir posix_mkdir

static inline char *mkdtemp(char *path) {
    static unsigned number;
    char *end = path + strlen(path) - 6;
    for (int tries = 0; tries < 1000; ++tries) {
        (void)snprintf(end, 7, "%06x", ((unsigned)getpid() * 997u + number++) & 0xFFFFFFu);
        if (_mkdir(path) == 0) return path;
        if (errno != EEXIST) return NULL;
    }
    return NULL;
}

/* The blocks of aligned_alloc, which free takes back. */
static struct { void *aligned, *whole; } posix_blocks[512];

static inline void *posix_aligned_alloc(size_t alignment, size_t bytes) {
    char *whole = malloc(bytes + alignment);
    for (size_t i = 0; whole && i < sizeof posix_blocks / sizeof *posix_blocks; ++i) {
        if (posix_blocks[i].aligned) continue;
        posix_blocks[i].whole = whole;
        return posix_blocks[i].aligned = whole + alignment - (size_t)(uintptr_t)whole % alignment;
    }
    free(whole);
    return NULL;
}
#define aligned_alloc posix_aligned_alloc

static inline void posix_free(void *block) {
    for (size_t i = 0; block && i < sizeof posix_blocks / sizeof *posix_blocks; ++i) {
        if (posix_blocks[i].aligned != block) continue;
        block = posix_blocks[i].whole;
        posix_blocks[i].aligned = NULL;
    }
    free(block);
}
#define free posix_free

static inline int alphasort(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Not more than 4096 names. */
static inline int scandir(const char *path, struct dirent ***out_entries,
                          int (*is_wanted)(const struct dirent *),
                          int (*compare)(const struct dirent **, const struct dirent **)) {
    enum { MOST = 4096 };
    int count = 0;
    DIR *folder = opendir(path);
    if (!folder) return -1;
    struct dirent **entries = malloc(MOST * sizeof *entries);
    for (const struct dirent *entry; entries && count < MOST && (entry = readdir(folder));) {
        if (is_wanted && !is_wanted(entry)) continue;
        entries[count] = malloc(sizeof **entries);
        if (!entries[count]) break;
        *entries[count++] = *entry;
    }
    (void)closedir(folder);
    if (!entries) return -1;
    qsort(entries, (size_t)count, sizeof *entries, (int (*)(const void *, const void *))compare);
    *out_entries = entries;
    return count;
}

#endif
