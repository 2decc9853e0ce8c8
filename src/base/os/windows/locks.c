/* SPDX-License-Identifier: Apache-2.0 */
/* A lock of this system keeps others from reading and writing what it covers. So the locks are
 * beyond all content: the file's at the end of the numbers, and those of bytes below it. */
#include "base/os/locks.h"

#include <errno.h>
#include <windows.h>

#include "base/os/windows/handles.h"
#include "base/os/windows/wide.h"

#define FILE_LOCK UINT64_C(0x7ffffffffffffff0)
#define BYTE_LOCKS UINT64_C(0x4000000000000000)

static int lock_span(int file, uint64_t begin, uint64_t bytes, DWORD flags) {
    OVERLAPPED at = {.Offset = (DWORD)begin, .OffsetHigh = (DWORD)(begin >> 32)};
    const HANDLE handle = gantry__os_handle(file);
    if (handle == INVALID_HANDLE_VALUE) return EBADF;
    if (LockFileEx(handle, flags | LOCKFILE_FAIL_IMMEDIATELY, 0, (DWORD)bytes, (DWORD)(bytes >> 32),
                   &at))
        return 0;
    const DWORD error = GetLastError();
    return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? EAGAIN : gantry__os_errno();
}

static void unlock_span(int file, uint64_t begin, uint64_t bytes) {
    OVERLAPPED at = {.Offset = (DWORD)begin, .OffsetHigh = (DWORD)(begin >> 32)};
    const HANDLE handle = gantry__os_handle(file);
    if (handle != INVALID_HANDLE_VALUE)
        (void)UnlockFileEx(handle, 0, (DWORD)bytes, (DWORD)(bytes >> 32), &at);
}

int gantry__os_lock(int file, bool is_shared) {
    return lock_span(file, FILE_LOCK, 1, is_shared ? 0 : LOCKFILE_EXCLUSIVE_LOCK);
}

void gantry__os_unlock(int file) { unlock_span(file, FILE_LOCK, 1); }

/* ---- bytes ---- */

int gantry__os_lock_byte(int file, int64_t byte) {
    return lock_span(file, BYTE_LOCKS + (uint64_t)byte, 1, LOCKFILE_EXCLUSIVE_LOCK);
}

void gantry__os_unlock_byte(int file, int64_t byte) {
    unlock_span(file, BYTE_LOCKS + (uint64_t)byte, 1);
}

static bool span_is_free(int file, int64_t from, int64_t end) {
    const uint64_t begin = BYTE_LOCKS + (uint64_t)from, bytes = (uint64_t)(end - from);
    if (lock_span(file, begin, bytes, LOCKFILE_EXCLUSIVE_LOCK) != 0) return false;
    unlock_span(file, begin, bytes);
    return true;
}

/* The system does not say who has a lock: a span that cannot be locked is halved until one byte is
 * left, the first of those that are locked. Locks of this open file count, too. */
bool gantry__os_locked_range(int file, int64_t from, int64_t end, gantry__os_range_t *out_range) {
    if (from >= end || span_is_free(file, from, end)) return false;
    while (end - from > 1) {
        const int64_t middle = from + (end - from) / 2;
        if (span_is_free(file, from, middle)) {
            from = middle;
        } else {
            end = middle;
        }
    }
    *out_range = (gantry__os_range_t){.begin = from, .end = end};
    return true;
}
