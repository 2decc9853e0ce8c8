/* SPDX-License-Identifier: Apache-2.0 */
/* Files as handles of the system, each inside of a descriptor of the C runtime. All are opened so
 * that others may read, write, rename and remove them, as on other systems. */
#include "base/os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <string.h>
#include <windows.h>

#include "base/os/windows/handles.h"
#include "base/os/windows/wide.h"

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

HANDLE gantry__os_handle(int file) {
    const HANDLE handle = file >= 0 ? (HANDLE)_get_osfhandle(file) : INVALID_HANDLE_VALUE;
    if (handle == INVALID_HANDLE_VALUE) errno = EBADF;
    return handle;
}

/* errno of the system's last error, for functions that return -1. */
static int last_failed(void) {
    errno = gantry__os_errno();
    return -1;
}

static DWORD call_bytes(size_t size) { return size < 1u << 30 ? (DWORD)size : 1u << 30; }

/* ---- what a file is ---- */

/* Begins at 1601 and counts 100 ns. */
static void write_time(const LARGE_INTEGER *time, int64_t *out_s, int32_t *out_ns) {
    const int64_t since_1601 = time->QuadPart, second = 10000000;
    *out_s = since_1601 / second - INT64_C(11644473600);
    *out_ns = (int32_t)(since_1601 % second * 100);
}

static bool handle_is_link(HANDLE handle, DWORD attributes) {
    FILE_ATTRIBUTE_TAG_INFO tag;
    return (attributes & FILE_ATTRIBUTE_REPARSE_POINT) &&
           GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag) &&
           (tag.ReparseTag == IO_REPARSE_TAG_SYMLINK ||
            tag.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT);
}

/* The owner has all rights, but for what is marked as only to be read. */
static unsigned mode_of(DWORD attributes) {
    const unsigned write = attributes & FILE_ATTRIBUTE_READONLY ? 0 : 0200;
    return attributes & FILE_ATTRIBUTE_DIRECTORY ? 0700 : 0500 | write;
}

static int examine_handle(HANDLE handle, gantry__os_info_t *out_info) {
    BY_HANDLE_FILE_INFORMATION info;
    FILE_BASIC_INFO times;
    const DWORD type = GetFileType(handle);
    *out_info = (gantry__os_info_t){.kind = type == FILE_TYPE_PIPE   ? GANTRY__OS_PIPE
                                            : type == FILE_TYPE_CHAR ? GANTRY__OS_CHARACTERS
                                                                     : GANTRY__OS_OTHER,
                                    .mode = 0600};
    if (type != FILE_TYPE_DISK) return 0;
    if (!GetFileInformationByHandle(handle, &info) ||
        !GetFileInformationByHandleEx(handle, FileBasicInfo, &times, sizeof times))
        return gantry__os_errno();
    const DWORD attributes = info.dwFileAttributes;
    out_info->kind = handle_is_link(handle, attributes)      ? GANTRY__OS_LINK
                     : attributes & FILE_ATTRIBUTE_DIRECTORY ? GANTRY__OS_FOLDER
                                                             : GANTRY__OS_PLAIN;
    out_info->mode = mode_of(attributes);
    if (out_info->kind == GANTRY__OS_PLAIN)
        out_info->size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    out_info->volume = info.dwVolumeSerialNumber;
    out_info->number = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    out_info->names = info.nNumberOfLinks;
    write_time(&times.LastWriteTime, &out_info->modified_s, &out_info->modified_ns);
    write_time(&times.ChangeTime, &out_info->changed_s, &out_info->changed_ns);
    return 0;
}

int gantry__os_file_info(int file, gantry__os_info_t *out_info) {
    const HANDLE handle = gantry__os_handle(file);
    return handle == INVALID_HANDLE_VALUE ? EBADF : examine_handle(handle, out_info);
}

static int wide_info(const wchar_t *path, DWORD flags, gantry__os_info_t *out_info) {
    const HANDLE handle = CreateFileW(path, FILE_READ_ATTRIBUTES, SHARE_ALL, NULL, OPEN_EXISTING,
                                      FILE_FLAG_BACKUP_SEMANTICS | flags, NULL);
    if (handle == INVALID_HANDLE_VALUE) return gantry__os_errno();
    const int error = examine_handle(handle, out_info);
    (void)CloseHandle(handle);
    return error;
}

int gantry__os_path_info(const char *path, gantry__os_info_t *out_info) {
    wchar_t wide[GANTRY__OS_WIDE];
    return gantry__os_wide_path(path, wide) ? wide_info(wide, 0, out_info) : errno;
}

int gantry__os_link_info(const char *path, gantry__os_info_t *out_info) {
    wchar_t wide[GANTRY__OS_WIDE];
    return gantry__os_wide_path(path, wide)
               ? wide_info(wide, FILE_FLAG_OPEN_REPARSE_POINT, out_info)
               : errno;
}

/* Writes the path of a name in an open folder; false with errno. */
static bool path_in(int folder, const char *name, wchar_t out_path[GANTRY__OS_WIDE]) {
    wchar_t wide[GANTRY__OS_WIDE];
    const HANDLE handle = gantry__os_handle(folder);
    if (handle == INVALID_HANDLE_VALUE || !gantry__os_wide(name, wide)) return false;
    const DWORD length = GetFinalPathNameByHandleW(handle, out_path, GANTRY__OS_WIDE, 0);
    if (length == 0 || length + wcslen(wide) + 2 > GANTRY__OS_WIDE) {
        errno = length == 0 ? gantry__os_errno() : ENAMETOOLONG;
        return false;
    }
    if (strcmp(name, ".") == 0) return true;
    for (wchar_t *at = wide; *at; ++at)
        if (*at == L'/') *at = L'\\';
    (void)wcscat(out_path, L"\\");
    (void)wcscat(out_path, wide);
    return true;
}

int gantry__os_info_in(int folder, const char *name, gantry__os_info_t *out_info) {
    wchar_t path[GANTRY__OS_WIDE];
    return path_in(folder, name, path) ? wide_info(path, FILE_FLAG_OPEN_REPARSE_POINT, out_info)
                                       : errno;
}

/* Numbers of users do not exist here. */
bool gantry__os_is_mine(const gantry__os_info_t *info) {
    (void)info;
    return true;
}

/* ---- opening ---- */

static DWORD access_of(unsigned flags) {
    DWORD access = FILE_READ_ATTRIBUTES | SYNCHRONIZE;
    if ((flags & GANTRY__OS_READ) || !(flags & (GANTRY__OS_WRITE | GANTRY__OS_APPEND)))
        access |= GENERIC_READ;
    if (flags & GANTRY__OS_APPEND) return access | FILE_APPEND_DATA | FILE_WRITE_ATTRIBUTES;
    return flags & GANTRY__OS_WRITE ? access | GENERIC_WRITE : access;
}

/* What the flags refuse of a file that the system has opened. */
static int check_opened(HANDLE handle, unsigned flags) {
    gantry__os_info_t info;
    const int error = examine_handle(handle, &info);
    if (error != 0) return error;
    if (info.kind == GANTRY__OS_LINK && (flags & GANTRY__OS_NO_LINK)) return ELOOP;
    if ((flags & GANTRY__OS_IS_FOLDER) && info.kind != GANTRY__OS_FOLDER) return ENOTDIR;
    if (info.kind == GANTRY__OS_FOLDER && (flags & (GANTRY__OS_WRITE | GANTRY__OS_APPEND)))
        return EISDIR;
    return 0;
}

int gantry__os_descriptor(HANDLE handle, int flags) {
    const int file = _open_osfhandle((intptr_t)handle, flags | _O_BINARY | _O_NOINHERIT);
    if (file < 0) {
        (void)CloseHandle(handle);
        errno = EMFILE;
    }
    return file;
}

static int open_wide_path(const wchar_t *path, unsigned flags) {
    const DWORD how = flags & GANTRY__OS_NEW      ? CREATE_NEW
                      : flags & GANTRY__OS_CREATE ? OPEN_ALWAYS
                                                  : OPEN_EXISTING;
    const DWORD link = flags & GANTRY__OS_NO_LINK ? FILE_FLAG_OPEN_REPARSE_POINT : 0;
    const HANDLE handle = CreateFileW(path, access_of(flags), SHARE_ALL, NULL, how,
                                      FILE_FLAG_BACKUP_SEMANTICS | link, NULL);
    if (handle == INVALID_HANDLE_VALUE) return last_failed();
    const int error = check_opened(handle, flags);
    if (error != 0) {
        (void)CloseHandle(handle);
        errno = error;
        return -1;
    }
    return gantry__os_descriptor(handle, flags & GANTRY__OS_APPEND ? _O_APPEND : 0);
}

int gantry__os_open(const char *path, unsigned flags, unsigned mode) {
    wchar_t wide[GANTRY__OS_WIDE];
    (void)mode;
    return gantry__os_wide_path(path, wide) ? open_wide_path(wide, flags) : -1;
}

int gantry__os_open_in(int folder, const char *name, unsigned flags, unsigned mode) {
    wchar_t path[GANTRY__OS_WIDE];
    (void)mode;
    return path_in(folder, name, path) ? open_wide_path(path, flags) : -1;
}

/* No file here waits for less than pipes do. */
int gantry__os_wait_again(int file) {
    DWORD mode = PIPE_READMODE_BYTE | PIPE_WAIT;
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE) return EBADF;
    if (GetFileType(handle) != FILE_TYPE_PIPE) return 0;
    return SetNamedPipeHandleState(handle, &mode, NULL, NULL) ? 0 : gantry__os_errno();
}

/* A handle reaches a child by the runtime's block, which base/os/windows/foreground.c makes. */
int gantry__os_hand_on(int file) {
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE) return EBADF;
    return SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT)
               ? 0
               : gantry__os_errno();
}

int gantry__os_copy(int file, int least) {
    enum { MOST = 256 };
    int below[MOST], count = 0, copy = -1;
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE) return -1;
    while (count < MOST) {
        HANDLE other;
        if (!DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &other, 0, FALSE,
                             DUPLICATE_SAME_ACCESS)) {
            copy = last_failed();
            break;
        }
        copy = gantry__os_descriptor(other, 0);
        if (copy < 0 || copy >= least) break;
        below[count++] = copy;
        copy = -1;
    }
    while (count > 0) (void)_close(below[--count]);
    return copy;
}

FILE *gantry__os_stream(int file) { return _fdopen(file, "rb"); }

/* Closing reports nothing here. */
int gantry__os_settle(int file) {
    (void)file;
    return 0;
}

int gantry__os_close(int file) { return _close(file) == 0 ? 0 : errno; }

/* ---- content ---- */

/* A read or write at a place moves the position to after it, so it is set back. Files whose threads
 * read at places are not read at the position at the same time. */
static int64_t at_place(HANDLE handle, void *bytes, size_t size, uint64_t place, bool is_write) {
    OVERLAPPED at = {.Offset = (DWORD)place, .OffsetHigh = (DWORD)(place >> 32)};
    LARGE_INTEGER position, none = {.QuadPart = 0};
    DWORD done = 0;
    if (!SetFilePointerEx(handle, none, &position, FILE_CURRENT)) {
        errno = ESPIPE;
        return -1;
    }
    const BOOL is_done = is_write ? WriteFile(handle, bytes, call_bytes(size), &done, &at)
                                  : ReadFile(handle, bytes, call_bytes(size), &done, &at);
    const DWORD error = is_done ? 0 : GetLastError();
    (void)SetFilePointerEx(handle, position, NULL, FILE_BEGIN);
    if (is_done) return done;
    if (error == ERROR_HANDLE_EOF) return 0;
    SetLastError(error);
    return last_failed();
}

int64_t gantry__os_read(int file, void *bytes, size_t size) {
    DWORD done = 0;
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE) return -1;
    if (ReadFile(handle, bytes, call_bytes(size), &done, NULL)) return done;
    const DWORD error = GetLastError();
    if (error == ERROR_HANDLE_EOF || error == ERROR_BROKEN_PIPE) return 0;
    if (error == ERROR_NO_DATA) {
        errno = EAGAIN;
        return -1;
    }
    return last_failed();
}

int64_t gantry__os_read_at(int file, void *bytes, size_t size, uint64_t place) {
    const HANDLE handle = gantry__os_handle(file);
    return handle == INVALID_HANDLE_VALUE ? -1 : at_place(handle, bytes, size, place, false);
}

int64_t gantry__os_read_parts(int file, const gantry__os_part_t *parts, size_t count,
                              uint64_t place) {
    int64_t all = 0;
    for (size_t i = 0; i < count; ++i) {
        if (parts[i].size == 0) continue;
        const int64_t got =
            gantry__os_read_at(file, parts[i].data, parts[i].size, place + (uint64_t)all);
        if (got < 0) return all > 0 ? all : got;
        all += got;
        if ((size_t)got < parts[i].size) break;
    }
    return all;
}

int64_t gantry__os_write(int file, const void *bytes, size_t size, int64_t place) {
    DWORD done = 0;
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE) return -1;
    if (place != GANTRY__OS_NEXT)
        return at_place(handle, (void *)(uintptr_t)bytes, size, (uint64_t)place, true);
    return WriteFile(handle, bytes, call_bytes(size), &done, NULL) ? (int64_t)done : last_failed();
}

int64_t gantry__os_position(int file) {
    LARGE_INTEGER position, none = {.QuadPart = 0};
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE || GetFileType(handle) != FILE_TYPE_DISK ||
        !SetFilePointerEx(handle, none, &position, FILE_CURRENT)) {
        errno = ESPIPE;
        return -1;
    }
    return position.QuadPart;
}

int gantry__os_truncate(int file, uint64_t size) {
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = (int64_t)size};
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE) return EBADF;
    return SetFileInformationByHandle(handle, FileEndOfFileInfo, &end, sizeof end)
               ? 0
               : gantry__os_errno();
}

int gantry__os_flush(int file) {
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE) return EBADF;
    return FlushFileBuffers(handle) ? 0 : gantry__os_errno();
}
