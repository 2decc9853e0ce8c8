/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shared_folder.h"

#include <errno.h>

#include "base/files.h"

#define STICKY 01000u
#define FOR_ALL (STICKY | 0777u)
#define OTHERS_WRITE 0002u

static int shared_folder_look(const char *path) {
    return gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_IS_FOLDER | GANTRY__OS_NO_LINK, 0);
}

/* Mends the mode of a folder if it is this user's. */
static void mend_mode(int folder) {
    gantry__os_info_t info;
    if (gantry__os_file_info(folder, &info) == 0 && gantry__os_is_mine(&info) &&
        info.mode != FOR_ALL)
        (void)gantry__os_set_mode(folder, FOR_ALL);
}

int gantry__shared_folder_open(const char *path, bool makes, bool mends) {
    int folder = shared_folder_look(path);
    if (folder < 0 && errno == ENOENT && makes) {
        const int error = gantry__os_make_folder(path, 0700);
        if (error != 0 && error != EEXIST) {
            errno = error;
            return -1;
        }
        folder = shared_folder_look(path);
        mends = true;
    }
    if (folder >= 0 && mends) mend_mode(folder);
    return folder;
}

bool gantry__shared_folder_is_open_to_all(const gantry__os_info_t *info) {
    return (info->mode & OTHERS_WRITE) && !(info->mode & STICKY);
}
