/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/process.h"

#include <stdio.h>
#include <string.h>
#include <windows.h>

#include "base/os/paths.h"
#include "base/os/windows/wide.h"

int64_t gantry__os_process(void) { return GetCurrentProcessId(); }

int64_t gantry__os_user(void) { return -1; }

uint64_t gantry__os_thread(void) { return GetCurrentThreadId(); }

void gantry__os_host_name(char *out, size_t out_bytes) {
    wchar_t wide[256];
    DWORD units = sizeof wide / sizeof *wide;
    out[0] = '\0';
    if (GetComputerNameExW(ComputerNameDnsHostname, wide, &units) &&
        !gantry__os_narrow(wide, out, out_bytes))
        out[0] = '\0';
}

void gantry__os_command_line(char *out, size_t out_bytes) {
    wchar_t wide[GANTRY__OS_WIDE];
    const wchar_t *line = GetCommandLineW();
    size_t units = wcslen(line);
    out[0] = '\0';
    if (units >= GANTRY__OS_WIDE) units = GANTRY__OS_WIDE - 1;
    for (;; units = units * 3 / 4) { /* a sign has at most three bytes for each unit */
        memcpy(wide, line, units * sizeof *wide);
        wide[units] = L'\0';
        if (units == 0 || gantry__os_narrow(wide, out, out_bytes)) return;
        out[0] = '\0';
    }
}

static _Thread_local char program_text[512];

const char *gantry__os_program_name(void) {
    wchar_t wide[GANTRY__OS_WIDE];
    char path[3 * GANTRY__OS_WIDE];
    const DWORD length = GetModuleFileNameW(NULL, wide, GANTRY__OS_WIDE);
    if (length == 0 || length >= GANTRY__OS_WIDE ||
        !gantry__os_narrow_path(wide, path, sizeof path))
        return "";
    (void)snprintf(program_text, sizeof program_text, "%s", gantry__os_path_name(path));
    char *ending = strrchr(program_text, '.');
    if (ending && _stricmp(ending, gantry__os_program_ending) == 0) *ending = '\0';
    return program_text;
}

void gantry__os_system_name(char *out_system, char *out_machine, size_t each_bytes) {
    if (out_system) (void)snprintf(out_system, each_bytes, "Windows");
    if (out_machine)
#if defined(__x86_64__)
        (void)snprintf(out_machine, each_bytes, "x86_64");
#elif defined(__aarch64__)
        (void)snprintf(out_machine, each_bytes, "aarch64");
#else
        (void)snprintf(out_machine, each_bytes, "x86");
#endif
}

uint64_t gantry__os_memory_bytes(void) {
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    return GlobalMemoryStatusEx(&memory) ? memory.ullTotalPhys : 0;
}

bool gantry__os_limit(gantry__os_limit_t limit, uint64_t *out_bytes) {
    (void)limit;
    (void)out_bytes;
    return false;
}

bool gantry__os_limited_use(uint64_t *out_space, uint64_t *out_data) {
    *out_space = *out_data = 0;
    return false;
}
