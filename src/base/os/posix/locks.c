/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "base/os/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

int gantry__os_lock(int file, bool is_shared) {
    int code;
    do {
        code = flock(file, (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
    } while (code != 0 && errno == EINTR);
    return code == 0 ? 0 : errno == EWOULDBLOCK ? EAGAIN : errno;
}

void gantry__os_unlock(int file) { (void)flock(file, LOCK_UN); }

/* ---- bytes ---- */

#if defined(F_OFD_SETLK)
static int byte_lock(int file, int command, struct flock *range) {
    int code;
    do {
        code = fcntl(file, command, range);
    } while (code != 0 && errno == EINTR);
    return code == 0 ? 0 : errno == EACCES ? EAGAIN : errno;
}

int gantry__os_lock_byte(int file, int64_t byte) {
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    return byte_lock(file, F_OFD_SETLK, &range);
}

void gantry__os_unlock_byte(int file, int64_t byte) {
    struct flock range = {
        .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    (void)byte_lock(file, F_OFD_SETLK, &range);
}

bool gantry__os_locked_range(int file, int64_t from, int64_t end, gantry__os_range_t *out_range) {
    struct flock range = {.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)from,
                          .l_len = (off_t)(end - from)};
    if (from >= end || byte_lock(file, F_OFD_GETLK, &range) != 0 || range.l_type == F_UNLCK)
        return false;
    /* anybody may lock any range; of length 0 it has no end */
    const int64_t begin = (int64_t)range.l_start, length = (int64_t)range.l_len;
    out_range->begin = begin > from ? begin : from;
    out_range->end = length > 0 && length < end - begin ? begin + length : end;
    return true;
}
#else
int gantry__os_lock_byte(int file, int64_t byte) {
    (void)file;
    (void)byte;
    return EOPNOTSUPP;
}

void gantry__os_unlock_byte(int file, int64_t byte) {
    (void)file;
    (void)byte;
}

bool gantry__os_locked_range(int file, int64_t from, int64_t end, gantry__os_range_t *out_range) {
    (void)file;
    (void)from;
    (void)end;
    (void)out_range;
    return false;
}
#endif
