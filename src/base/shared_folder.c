/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "base/shared_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"

#define EVERYONE (S_IRWXU | S_IRWXG | S_IRWXO)

static int shared_folder_look(const char *path) {
    return gantry__file_open_retrying(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* Mends the mode of a folder if it is this user's. */
static void mend_mode(int folder) {
    struct stat info;
    if (fstat(folder, &info) == 0 && info.st_uid == geteuid() &&
        (info.st_mode & 07777) != (S_ISVTX | EVERYONE))
        (void)fchmod(folder, S_ISVTX | EVERYONE);
}

int gantry__shared_folder_open(const char *path, bool makes, bool mends) {
    int folder = shared_folder_look(path);
    if (folder < 0 && errno == ENOENT && makes) {
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return -1;
        folder = shared_folder_look(path);
        mends = true;
    }
    if (folder >= 0 && mends) mend_mode(folder);
    return folder;
}

bool gantry__shared_folder_is_open_to_all(const struct stat *info) {
    return (info->st_mode & S_IWOTH) && !(info->st_mode & S_ISVTX);
}
