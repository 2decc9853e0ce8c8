/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* fdopen, mkostemp */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/os/files.h"

int gantry__os_make_own_file(char *path) { return mkostemp(path, O_CLOEXEC); }

FILE *gantry__os_stream(int file) { return fdopen(file, "r"); }

void gantry__os_match(const char *pattern, gantry__os_visit_fn visit, void *user) {
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = found.gl_pathc; i-- > 0 && visit(user, found.gl_pathv[i]);) {
    }
    globfree(&found);
}

int gantry__os_room(int file, uint64_t *out_bytes, bool *out_runs) {
    struct statvfs room;
    if (fstatvfs(file, &room) != 0) return errno;
    *out_bytes = (uint64_t)room.f_bavail * room.f_frsize;
#if defined(ST_NOEXEC)
    *out_runs = (room.f_flag & ST_NOEXEC) == 0;
#else
    *out_runs = true;
#endif
    return 0;
}
