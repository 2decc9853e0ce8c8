/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/program_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include "base/os/windows/handles.h"
#include "base/os/windows/wide.h"

int gantry__os_remove_in(int folder, const char *name) {
    char path[GANTRY__OS_PATH_BYTES];
    wchar_t wide[GANTRY__OS_WIDE];
    const HANDLE handle = gantry__os_handle(folder);
    if (handle == INVALID_HANDLE_VALUE) return EBADF;
    const DWORD length = GetFinalPathNameByHandleW(handle, wide, GANTRY__OS_WIDE, 0);
    if (length == 0 || length >= GANTRY__OS_WIDE) return gantry__os_errno();
    if (!gantry__os_narrow_path(wide, path, sizeof path)) return errno;
    const size_t used = strlen(path);
    const int bytes = snprintf(path + used, sizeof path - used, "/%s", name);
    if (bytes < 0 || (size_t)bytes >= sizeof path - used) return ENAMETOOLONG;
    return gantry__os_remove(path);
}

bool gantry__os_temporary_folder(char *out, size_t out_bytes) {
    wchar_t wide[MAX_PATH + 1];
    const DWORD length = GetTempPathW(MAX_PATH + 1, wide);
    if (length == 0 || length > MAX_PATH || !gantry__os_narrow_path(wide, out, out_bytes))
        return false;
    size_t end = strlen(out);
    if (end > 0 && out[end - 1] == '/') out[end - 1] = '\0';
    return true;
}

void gantry__os_absent_library(char *out, size_t out_bytes) {
    gantry__os_windows_text(ERROR_MOD_NOT_FOUND, out, out_bytes);
}
