/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* mkdtemp, O_TMPFILE */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/files.h"

_Static_assert(GANTRY__OS_PATH_BYTES >= PATH_MAX, "realpath may write that much");
_Static_assert(GANTRY__OS_NAME_BYTES > NAME_MAX, "a name of the system has room");
_Static_assert(GANTRY__OS_MAY_RUN == X_OK && GANTRY__OS_MAY_WRITE == W_OK &&
                   GANTRY__OS_MAY_READ == R_OK,
               "the rights are the system's");

static int names_error(int code) { return code == 0 ? 0 : errno; }

void gantry__os_make_whole(int folder, const char *name, unsigned mode) {
#if defined(O_TMPFILE)
    char own[64];
    const int file = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return;
    (void)snprintf(own, sizeof own, "/proc/self/fd/%d", file);
    if (fchmod(file, (mode_t)mode) == 0)
        (void)!linkat(AT_FDCWD, own, folder, name, AT_SYMLINK_FOLLOW);
    (void)close(file);
#else
    (void)folder;
    (void)name;
    (void)mode;
#endif
}

int gantry__os_rename(const char *from, const char *to) { return names_error(rename(from, to)); }

int gantry__os_remove(const char *path) { return names_error(unlink(path)); }

int gantry__os_remove_folder(const char *path) { return names_error(rmdir(path)); }

int gantry__os_make_folder(const char *path, unsigned mode) {
    return names_error(mkdir(path, (mode_t)mode));
}

int gantry__os_make_own_folder(char *path) { return mkdtemp(path) ? 0 : errno; }

int gantry__os_set_mode(int file, unsigned mode) { return names_error(fchmod(file, (mode_t)mode)); }

int gantry__os_real_path(const char *path, char out_path[GANTRY__OS_PATH_BYTES]) {
    return realpath(path, out_path) ? 0 : errno;
}

int gantry__os_read_link(const char *path, char out_target[GANTRY__OS_PATH_BYTES]) {
    const ssize_t length = readlink(path, out_target, GANTRY__OS_PATH_BYTES - 1);
    if (length < 0) return errno;
    out_target[length] = '\0';
    return 0;
}

int gantry__os_may(const char *path, unsigned rights) {
    return names_error(access(path, (int)rights));
}

int gantry__os_list(const char *path, gantry__os_visit_fn visit, void *user) {
    DIR *folder = opendir(path);
    const struct dirent *entry;
    int error = 0;
    if (!folder) return errno;
    for (;;) {
        errno = 0;
        entry = readdir(folder);
        error = errno;
        if (!entry) break;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !visit(user, entry->d_name))
            break;
    }
    (void)closedir(folder);
    return entry ? 0 : error;
}
