/* SPDX-License-Identifier: Apache-2.0 */
/* A test's own folder of .icd files for OCL_ICD_VENDORS, and the path of PoCL's library. Header
 * only. */
#ifndef TESTS_ICD_FOLDER_H
#define TESTS_ICD_FOLDER_H

#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct icd_folder_t {
    char path[64];
} icd_folder_t;

static inline void icd_folder_make(icd_folder_t *folder) {
    (void)snprintf(folder->path, sizeof folder->path, "/tmp/gantry_icd_XXXXXX");
    assert_non_null(mkdtemp(folder->path));
}

/* A path inside the folder, in a buffer that the next call overwrites. */
static inline const char *icd_folder_file(const icd_folder_t *folder, const char *name) {
    static char path[320];
    (void)snprintf(path, sizeof path, "%s/%.200s", folder->path, name);
    return path;
}

static inline void icd_folder_write(const icd_folder_t *folder, const char *name, const void *bytes,
                                    size_t count) {
    FILE *file = fopen(icd_folder_file(folder, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Writes a .icd file that names the library. */
static inline void icd_folder_add(const icd_folder_t *folder, const char *name,
                                  const char *library) {
    char line[320];
    int length = snprintf(line, sizeof line, "%s\n", library);
    icd_folder_write(folder, name, line, (size_t)length);
}

static inline void icd_folder_remove(const icd_folder_t *folder) {
    DIR *names = opendir(folder->path);
    assert_non_null(names);
    for (const struct dirent *entry; (entry = readdir(names)) != NULL;) {
        if (entry->d_name[0] != '.') (void)unlink(icd_folder_file(folder, entry->d_name));
    }
    (void)closedir(names);
    (void)rmdir(folder->path);
}

/* Runs in a child, since a test opens the library first in its own process. */
static inline void icd_folder_tell_pocl(int pipe_end) {
    char name[256] = "", line[512];
    FILE *file = fopen("/etc/OpenCL/vendors/pocl.icd", "r");
    if (!file || !fgets(name, sizeof name, file)) _exit(1);
    name[strcspn(name, "\n")] = '\0';
    if (!dlopen(name, RTLD_LAZY | RTLD_LOCAL) || !(file = fopen("/proc/self/maps", "r"))) _exit(1);
    while (fgets(line, sizeof line, file)) {
        const char *path = strchr(line, '/');
        if (path && strstr(path, "/libpocl.so"))
            _exit(write(pipe_end, path, strcspn(path, "\n")) > 0 ? 0 : 1);
    }
    _exit(1);
}

/* The library file that the system's pocl.icd names; false if there is none. */
static inline bool icd_folder_find_pocl(char *out_path, size_t bytes) {
    int ends[2], state = -1;
    (void)fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) icd_folder_tell_pocl(ends[1]);
    (void)close(ends[1]);
    ssize_t got = read(ends[0], out_path, bytes - 1);
    (void)close(ends[0]);
    out_path[got > 0 ? got : 0] = '\0';
    return waitpid(child, &state, 0) == child && state == 0 && got > 0;
}

#endif
