/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/os/windows/wide.h"

size_t gantry__os_variable(const char *name, char *out, size_t out_bytes) {
    wchar_t wide[GANTRY__OS_WIDE];
    if (!gantry__os_wide(name, wide)) return 0;
    SetLastError(0);
    const DWORD units = GetEnvironmentVariableW(wide, NULL, 0);
    if (units == 0) return 0;
    wchar_t *value = malloc((units + 1) * sizeof *value);
    if (!value) return 0;
    value[0] = L'\0';
    (void)GetEnvironmentVariableW(wide, value, units);
    const int bytes = WideCharToMultiByte(CP_UTF8, 0, value, -1, NULL, 0, NULL, NULL);
    if (bytes > 0 && (size_t)bytes <= out_bytes)
        (void)WideCharToMultiByte(CP_UTF8, 0, value, -1, out, bytes, NULL, NULL);
    free(value);
    return bytes > 0 ? (size_t)bytes : 0;
}

/* No program here has more rights than its caller because of its file. */
size_t gantry__os_secure_variable(const char *name, char *out, size_t out_bytes) {
    return gantry__os_variable(name, out, out_bytes);
}

/* The C runtime has a copy of the environment, which other libraries read. */
int gantry__os_set_variable(const char *name, const char *value) {
    wchar_t wide_name[GANTRY__OS_WIDE], wide_value[GANTRY__OS_WIDE] = L"";
    if (!gantry__os_wide(name, wide_name) || (value && !gantry__os_wide(value, wide_value)))
        return errno;
    const errno_t error = _wputenv_s(wide_name, wide_value);
    if (error != 0) return error;
    return SetEnvironmentVariableW(wide_name, value ? wide_value : NULL) || !value
               ? 0
               : gantry__os_errno();
}

/* The variables of drives begin with "=". */
void gantry__os_variables_visit(bool (*visit)(void *user, const char *assignment), void *user) {
    wchar_t *all = GetEnvironmentStringsW();
    bool goes_on = true;
    for (const wchar_t *at = all; at && *at && goes_on; at += wcslen(at) + 1) {
        const int bytes = WideCharToMultiByte(CP_UTF8, 0, at, -1, NULL, 0, NULL, NULL);
        char *text = *at != L'=' && bytes > 0 ? malloc((size_t)bytes) : NULL;
        if (!text) continue;
        (void)WideCharToMultiByte(CP_UTF8, 0, at, -1, text, bytes, NULL, NULL);
        goes_on = visit(user, text);
        free(text);
    }
    if (all) (void)FreeEnvironmentStringsW(all);
}
