/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "base/os/program_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int gantry__os_remove_in(int folder, const char *name) {
    return unlinkat(folder, name, 0) == 0 ? 0 : errno;
}

bool gantry__os_temporary_folder(char *out, size_t out_bytes) {
    const char *named = getenv("TMPDIR");
    const int length = snprintf(out, out_bytes, "%s", named && *named ? named : "/tmp");
    return length > 0 && (size_t)length < out_bytes;
}

void gantry__os_absent_library(char *out, size_t out_bytes) {
    (void)snprintf(out, out_bytes, "cannot open shared object file: No such file or directory");
}
