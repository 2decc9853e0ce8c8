/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <windows.h>

#include "base/os/entropy.h"
#include "base/os/files.h"
#include "base/os/windows/handles.h"
#include "base/os/windows/wide.h"

#define SHARE_EVERY (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static int done_or_error(BOOL is_done) { return is_done ? 0 : gantry__os_errno(); }

/* ---- one name ---- */

/* A file has its rights from the folder when it gets its name. */
void gantry__os_make_whole(int folder, const char *name, unsigned mode) {
    (void)folder;
    (void)name;
    (void)mode;
}

/* Windows 10 replaces a file that others have open, if it is asked as other systems do it. */
static bool rename_over(const wchar_t *from, const wchar_t *to) {
    union {
        FILE_RENAME_INFO info;
        unsigned char bytes[sizeof(FILE_RENAME_INFO) + GANTRY__OS_WIDE * sizeof(wchar_t)];
    } rename;
    enum { REPLACE = 1, AS_POSIX = 2, BY_FLAGS = 22 };
    const DWORD flags = REPLACE | AS_POSIX;
    const size_t bytes = wcslen(to) * sizeof *to;
    const HANDLE handle =
        CreateFileW(from, DELETE | SYNCHRONIZE, SHARE_EVERY, NULL, OPEN_EXISTING,
                    FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (handle == INVALID_HANDLE_VALUE) return false;
    memset(&rename, 0, sizeof rename);
    memcpy(&rename.info, &flags, sizeof flags); /* the first member, whose name is newer */
    rename.info.FileNameLength = (DWORD)bytes;
    memcpy(rename.info.FileName, to, bytes);
    const bool is_renamed = SetFileInformationByHandle(handle, (FILE_INFO_BY_HANDLE_CLASS)BY_FLAGS,
                                                       &rename, sizeof rename);
    (void)CloseHandle(handle);
    return is_renamed;
}

/* Older systems keep the name of an open file: the file gets another name, and is then removed. */
static int rename_aside(const wchar_t *from, const wchar_t *to) {
    wchar_t aside[GANTRY__OS_WIDE];
    unsigned char number[4] = {0};
    (void)gantry__os_entropy(number, sizeof number);
    const int length =
        _snwprintf(aside, GANTRY__OS_WIDE, L"%ls.%02x%02x%02x%02x", to, (unsigned)number[0],
                   (unsigned)number[1], (unsigned)number[2], (unsigned)number[3]);
    if (length < 0 || length >= GANTRY__OS_WIDE) return ENAMETOOLONG;
    if (!MoveFileExW(to, aside, 0)) return gantry__os_errno();
    if (!MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING)) {
        const int error = gantry__os_errno();
        (void)MoveFileExW(aside, to, 0);
        return error;
    }
    (void)DeleteFileW(aside);
    return 0;
}

int gantry__os_rename(const char *from, const char *to) {
    wchar_t wide_from[GANTRY__OS_WIDE], wide_to[GANTRY__OS_WIDE];
    if (!gantry__os_wide_path(from, wide_from) || !gantry__os_wide_path(to, wide_to)) return errno;
    if (MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING)) return 0;
    const int error = gantry__os_errno();
    const DWORD there = GetFileAttributesW(wide_to);
    if (error != EACCES || there == INVALID_FILE_ATTRIBUTES || (there & FILE_ATTRIBUTE_DIRECTORY))
        return error;
    return rename_over(wide_from, wide_to) ? 0 : rename_aside(wide_from, wide_to);
}

/* What is marked as only to be read is removed, too, as on other systems. */
int gantry__os_remove(const char *path) {
    wchar_t wide[GANTRY__OS_WIDE];
    if (!gantry__os_wide_path(path, wide)) return errno;
    if (DeleteFileW(wide)) return 0;
    const DWORD error = GetLastError(), attributes = GetFileAttributesW(wide);
    if (error == ERROR_ACCESS_DENIED && attributes != INVALID_FILE_ATTRIBUTES &&
        (attributes & FILE_ATTRIBUTE_READONLY) &&
        SetFileAttributesW(wide, attributes & ~(DWORD)FILE_ATTRIBUTE_READONLY))
        return done_or_error(DeleteFileW(wide));
    SetLastError(error);
    return gantry__os_errno();
}

int gantry__os_remove_folder(const char *path) {
    wchar_t wide[GANTRY__OS_WIDE];
    return gantry__os_wide_path(path, wide) ? done_or_error(RemoveDirectoryW(wide)) : errno;
}

int gantry__os_make_folder(const char *path, unsigned mode) {
    wchar_t wide[GANTRY__OS_WIDE];
    (void)mode; /* the folder hands on its rights */
    return gantry__os_wide_path(path, wide) ? done_or_error(CreateDirectoryW(wide, NULL)) : errno;
}

/* Writes another name in place of XXXXXX; 0 or an errno value. */
static int draw_own_name(char *path) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    enum { SIGNS = 6 };
    unsigned char numbers[SIGNS];
    const size_t length = strlen(path);
    if (length < SIGNS) return EINVAL;
    const int error = gantry__os_entropy(numbers, sizeof numbers);
    for (int k = 0; k < SIGNS && error == 0; ++k)
        path[length - SIGNS + (size_t)k] = letters[numbers[k] % 32];
    return error;
}

#define NAME_ATTEMPTS 100

int gantry__os_make_own_folder(char *path) {
    for (int i = 0; i < NAME_ATTEMPTS; ++i) {
        int error = draw_own_name(path);
        if (error == 0) error = gantry__os_make_folder(path, 0700);
        if (error != EEXIST) return error;
    }
    return EEXIST;
}

int gantry__os_make_own_file(char *path) {
    for (int i = 0; i < NAME_ATTEMPTS; ++i) {
        const int error = draw_own_name(path);
        if (error != 0) errno = error;
        const int file =
            error == 0
                ? gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_WRITE | GANTRY__OS_NEW, 0600)
                : -1;
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

/* A file has the rights that its folder hands on. */
int gantry__os_set_mode(int file, unsigned mode) {
    (void)mode;
    return gantry__os_handle(file) == INVALID_HANDLE_VALUE ? EBADF : 0;
}

int gantry__os_real_path(const char *path, char out_path[GANTRY__OS_PATH_BYTES]) {
    wchar_t wide[GANTRY__OS_WIDE], final[GANTRY__OS_WIDE];
    if (!gantry__os_wide_path(path, wide)) return errno;
    const HANDLE handle = CreateFileW(wide, FILE_READ_ATTRIBUTES, SHARE_EVERY, NULL, OPEN_EXISTING,
                                      FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (handle == INVALID_HANDLE_VALUE) return gantry__os_errno();
    const DWORD length = GetFinalPathNameByHandleW(handle, final, GANTRY__OS_WIDE, 0);
    const int error = length == 0                 ? gantry__os_errno()
                      : length >= GANTRY__OS_WIDE ? ENAMETOOLONG
                                                  : 0;
    (void)CloseHandle(handle);
    if (error != 0) return error;
    return gantry__os_narrow_path(final, out_path, GANTRY__OS_PATH_BYTES) ? 0 : errno;
}

/* A link's target is where the system leads. */
int gantry__os_read_link(const char *path, char out_target[GANTRY__OS_PATH_BYTES]) {
    gantry__os_info_t info;
    const int error = gantry__os_link_info(path, &info);
    if (error != 0) return error;
    return info.kind == GANTRY__OS_LINK ? gantry__os_real_path(path, out_target) : EINVAL;
}

int gantry__os_may(const char *path, unsigned rights) {
    wchar_t wide[GANTRY__OS_WIDE];
    DWORD access = FILE_READ_ATTRIBUTES;
    if (!gantry__os_wide_path(path, wide)) return errno;
    const DWORD attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) return gantry__os_errno();
    if (rights & GANTRY__OS_MAY_READ) access |= FILE_READ_DATA;   /* a folder's list */
    if (rights & GANTRY__OS_MAY_WRITE) access |= FILE_WRITE_DATA; /* a file in a folder */
    if (rights & GANTRY__OS_MAY_RUN) access |= FILE_EXECUTE;
    const HANDLE handle = CreateFileW(wide, access, SHARE_EVERY, NULL, OPEN_EXISTING,
                                      FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (handle == INVALID_HANDLE_VALUE) return gantry__os_errno();
    (void)CloseHandle(handle);
    return 0;
}

/* ---- folders ---- */

int gantry__os_list(const char *path, gantry__os_visit_fn visit, void *user) {
    wchar_t wide[GANTRY__OS_WIDE];
    char name[3 * MAX_PATH];
    WIN32_FIND_DATAW found;
    gantry__os_info_t info;
    const int error = gantry__os_path_info(path, &info);
    if (error != 0) return error;
    if (info.kind != GANTRY__OS_FOLDER) return ENOTDIR;
    if (!gantry__os_wide_path(path, wide)) return errno;
    if (wcslen(wide) + 3 > GANTRY__OS_WIDE) return ENAMETOOLONG;
    (void)wcscat(wide, L"\\*");
    const HANDLE search = FindFirstFileW(wide, &found);
    if (search == INVALID_HANDLE_VALUE) return gantry__os_errno();
    bool goes_on = true;
    do {
        if (wcscmp(found.cFileName, L".") != 0 && wcscmp(found.cFileName, L"..") != 0 &&
            gantry__os_narrow(found.cFileName, name, sizeof name))
            goes_on = visit(user, name);
    } while (goes_on && FindNextFileW(search, &found));
    const DWORD last = goes_on ? GetLastError() : ERROR_NO_MORE_FILES;
    (void)FindClose(search);
    SetLastError(last);
    return last == ERROR_NO_MORE_FILES ? 0 : gantry__os_errno();
}

int gantry__os_room(int file, uint64_t *out_bytes, bool *out_runs) {
    wchar_t path[GANTRY__OS_WIDE];
    ULARGE_INTEGER bytes;
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE) return EBADF;
    const DWORD length = GetFinalPathNameByHandleW(handle, path, GANTRY__OS_WIDE, 0);
    if (length == 0 || length >= GANTRY__OS_WIDE) return gantry__os_errno();
    gantry__os_info_t info;
    if (gantry__os_file_info(file, &info) == 0 && info.kind != GANTRY__OS_FOLDER) {
        wchar_t *last = wcsrchr(path, L'\\');
        if (last) last[1] = L'\0';
    }
    if (!GetDiskFreeSpaceExW(path, &bytes, NULL, NULL)) return gantry__os_errno();
    *out_bytes = bytes.QuadPart;
    *out_runs = true;
    return 0;
}
