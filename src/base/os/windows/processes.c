/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/processes.h"

#include <stdio.h>
#include <windows.h>

#include "base/os/clock.h"
#include "base/os/paths.h"
#include "base/os/windows/wide.h"

static HANDLE open_process(int64_t process) {
    if (process <= 0 || process > UINT32_MAX) return NULL;
    return OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)process);
}

void gantry__os_process_describe(int64_t process, char *out_name, size_t name_bytes, char *out_user,
                                 size_t user_bytes) {
    wchar_t wide[GANTRY__OS_WIDE];
    char path[3 * GANTRY__OS_WIDE];
    DWORD units = GANTRY__OS_WIDE;
    (void)user_bytes;
    out_name[0] = out_user[0] = '\0';
    const HANDLE handle = open_process(process);
    if (!handle) return;
    if (QueryFullProcessImageNameW(handle, 0, wide, &units) &&
        gantry__os_narrow_path(wide, path, sizeof path))
        (void)snprintf(out_name, name_bytes, "%s", gantry__os_path_name(path));
    (void)CloseHandle(handle);
}

double gantry__os_process_start(int64_t process, uint64_t user) {
    FILETIME began, ended, kernel, of_user, now;
    ULARGE_INTEGER a, b;
    DWORD code = 0;
    (void)user;
    const HANDLE handle = open_process(process);
    const bool is_known = handle && GetExitCodeProcess(handle, &code) && code == STILL_ACTIVE &&
                          GetProcessTimes(handle, &began, &ended, &kernel, &of_user);
    if (handle) (void)CloseHandle(handle);
    if (!is_known) return -1.0;
    GetSystemTimeAsFileTime(&now);
    a = (ULARGE_INTEGER){.LowPart = began.dwLowDateTime, .HighPart = began.dwHighDateTime};
    b = (ULARGE_INTEGER){.LowPart = now.dwLowDateTime, .HighPart = now.dwHighDateTime};
    return 1e-9 * (double)gantry__os_boot_ns() - 1e-7 * (double)(b.QuadPart - a.QuadPart);
}

bool gantry__os_processes_with(const char *path_end, int64_t *out_processes, size_t most,
                               size_t *out_count) {
    (void)path_end;
    (void)out_processes;
    (void)most;
    *out_count = 0;
    return false;
}
