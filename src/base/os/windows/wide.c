/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/windows/wide.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

/* From this length on, a path needs the prefix; a folder must leave room for a short name. */
#define LONG_PATH 240

static const wchar_t long_prefix[] = L"\\\\?\\", share_prefix[] = L"\\\\?\\UNC\\";

bool gantry__os_wide(const char *text, wchar_t out_wide[GANTRY__OS_WIDE]) {
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out_wide, GANTRY__OS_WIDE) > 0)
        return true;
    errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : EILSEQ;
    return false;
}

bool gantry__os_wide_path(const char *path, wchar_t out_wide[GANTRY__OS_WIDE]) {
    wchar_t full[GANTRY__OS_WIDE];
    if (!gantry__os_wide(path, out_wide)) return false;
    if (wcslen(out_wide) < LONG_PATH || wcsncmp(out_wide, long_prefix, 4) == 0) return true;
    const DWORD length = GetFullPathNameW(out_wide, GANTRY__OS_WIDE, full, NULL);
    const bool is_share = full[0] == L'\\' && full[1] == L'\\';
    if (length == 0 || length + 8 >= GANTRY__OS_WIDE) {
        errno = ENAMETOOLONG;
        return false;
    }
    (void)wcscpy(out_wide, is_share ? share_prefix : long_prefix);
    (void)wcscat(out_wide, full + (is_share ? 2 : 0));
    return true;
}

bool gantry__os_narrow(const wchar_t *wide, char *out_text, size_t text_bytes) {
    if (text_bytes > 0 && text_bytes <= 1u << 30 &&
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, out_text, (int)text_bytes, NULL, NULL) > 0)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

bool gantry__os_narrow_path(const wchar_t *wide, char *out_path, size_t path_bytes) {
    wchar_t share[GANTRY__OS_WIDE];
    if (wcsncmp(wide, share_prefix, 8) == 0) {
        (void)snprintf(out_path, path_bytes, "%s", "");
        if (wcslen(wide) >= GANTRY__OS_WIDE) {
            errno = ENAMETOOLONG;
            return false;
        }
        share[0] = L'\\';
        (void)wcscpy(share + 1, wide + 7);
        wide = share;
    } else if (wcsncmp(wide, long_prefix, 4) == 0) {
        wide += 4;
    }
    if (!gantry__os_narrow(wide, out_path, path_bytes)) return false;
    for (char *at = out_path; *at; ++at)
        if (*at == '\\') *at = '/';
    return true;
}

void gantry__os_windows_text(unsigned long error, char *out_text, size_t text_bytes) {
    wchar_t wide[300];
    const DWORD length = FormatMessageW(
        FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK,
        NULL, error, MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US), wide, sizeof wide / sizeof *wide,
        NULL);
    if (length == 0 || !gantry__os_narrow(wide, out_text, text_bytes)) {
        (void)snprintf(out_text, text_bytes, "error %lu of Windows", error);
        return;
    }
    size_t end = strlen(out_text);
    while (end > 0 && strchr(" .\r\n", out_text[end - 1])) out_text[--end] = '\0';
}

int gantry__os_errno(void) {
    static const struct {
        DWORD error;
        int code;
    } codes[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},
        {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_DRIVE, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},
        {ERROR_BAD_PATHNAME, ENOENT},
        {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EACCES},
        {ERROR_WRITE_PROTECT, EROFS},
        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
        {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_COMMITMENT_LIMIT, ENOMEM},
        {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
        {ERROR_INVALID_HANDLE, EBADF},
        {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
        {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_INVALID_PARAMETER, EINVAL},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_BROKEN_PIPE, EPIPE},
        {ERROR_NO_DATA, EPIPE},
        {ERROR_NOT_SAME_DEVICE, EXDEV},
        {ERROR_NOT_SUPPORTED, ENOSYS},
        {ERROR_PRIVILEGE_NOT_HELD, EPERM},
    };
    const DWORD error = GetLastError();
    for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i)
        if (codes[i].error == error) return codes[i].code;
    return EIO;
}
