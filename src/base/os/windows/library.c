/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/library.h"

#include <string.h>
#include <windows.h>

#include <psapi.h>

#include "base/os/windows/wide.h"

/* Texts of the calling thread, which the callers use at once. */
static _Thread_local char error_text[300], file_text[GANTRY__OS_WIDE];

/* The system's window about a missing library must not stop a program. */
static void *load_quietly(const wchar_t *name, DWORD flags) {
    DWORD mode = 0;
    const BOOL is_set = SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX, &mode);
    const HMODULE library = LoadLibraryExW(name, NULL, flags);
    const DWORD error = GetLastError();
    if (is_set) (void)SetThreadErrorMode(mode, NULL);
    SetLastError(error);
    return library;
}

/* A library with a path finds those that it needs in its own folder. */
void *gantry__os_library_open(const char *name, unsigned flags) {
    wchar_t wide[GANTRY__OS_WIDE], full[GANTRY__OS_WIDE];
    if (!gantry__os_wide(name, wide)) {
        SetLastError(ERROR_INVALID_NAME);
        return NULL;
    }
    if (flags & GANTRY__OS_LIBRARY_LOADED) {
        HMODULE loaded = NULL;
        return GetModuleHandleExW(0, wide, &loaded) ? (void *)loaded : NULL;
    }
    if (!strpbrk(name, "/\\")) return load_quietly(wide, 0);
    const DWORD length = GetFullPathNameW(wide, GANTRY__OS_WIDE, full, NULL);
    if (length == 0 || length >= GANTRY__OS_WIDE) return NULL;
    return load_quietly(full, LOAD_WITH_ALTERED_SEARCH_PATH);
}

const char *gantry__os_library_error(void) {
    gantry__os_windows_text(GetLastError(), error_text, sizeof error_text);
    return error_text;
}

void gantry__os_library_close(void *library) { (void)FreeLibrary((HMODULE)library); }

static void *function_of(HMODULE library, const char *name) {
    const FARPROC function = GetProcAddress(library, name);
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

void *gantry__os_library_find(void *library, const char *name) {
    HMODULE all[512];
    DWORD bytes = 0;
    void *found = NULL;
    if (library) return function_of((HMODULE)library, name);
    if (!EnumProcessModules(GetCurrentProcess(), all, sizeof all, &bytes)) return NULL;
    if (bytes > sizeof all) bytes = sizeof all;
    for (DWORD i = 0; i < bytes / sizeof *all && !found; ++i) found = function_of(all[i], name);
    return found;
}

bool gantry__os_library_function(void *library, const char *name, void *out_function) {
    void *address = gantry__os_library_find(library, name);
    memcpy(out_function, &address, sizeof address);
    return address != NULL;
}

/* This system's loader checks a file's length itself. */
bool gantry__os_library_is_cut(const char *path) {
    (void)path;
    return false;
}

const char *gantry__os_library_file_of(const void *address) {
    HMODULE library = NULL;
    wchar_t wide[GANTRY__OS_WIDE];
    if (!address || !GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                            GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                                        (LPCWSTR)address, &library))
        return NULL;
    const DWORD length = GetModuleFileNameW(library, wide, GANTRY__OS_WIDE);
    if (length == 0 || length >= GANTRY__OS_WIDE) return NULL;
    return gantry__os_narrow_path(wide, file_text, sizeof file_text) ? file_text : NULL;
}

const char *gantry__os_library_own_file(const void *address) {
    return gantry__os_library_file_of(address);
}
