/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* preadv, sigtimedwait, AT_SYMLINK_NOFOLLOW */
#include "base/os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/os/posix/examine.h"

#if defined(__APPLE__)
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

/* one call; systems end a longer one, or refuse it */
#define LONGEST_CALL ((size_t)1 << 30)

_Static_assert(sizeof(gantry__os_part_t) == sizeof(struct iovec) &&
                   offsetof(gantry__os_part_t, data) == offsetof(struct iovec, iov_base) &&
                   offsetof(gantry__os_part_t, size) == offsetof(struct iovec, iov_len),
               "a part is the system's");

static size_t one_call(size_t size) { return size < LONGEST_CALL ? size : LONGEST_CALL; }

/* ---- what a file is ---- */

static gantry__os_kind_t kind_of_mode(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFREG: return GANTRY__OS_PLAIN;
        case S_IFDIR: return GANTRY__OS_FOLDER;
        case S_IFLNK: return GANTRY__OS_LINK;
        case S_IFIFO: return GANTRY__OS_PIPE;
        case S_IFSOCK: return GANTRY__OS_SOCKET;
        case S_IFBLK: return GANTRY__OS_DEVICE;
        case S_IFCHR: return GANTRY__OS_CHARACTERS;
        default: return GANTRY__OS_OTHER;
    }
}

void gantry__os_examine(const struct stat *from, gantry__os_info_t *out_info) {
    *out_info = (gantry__os_info_t){.kind = kind_of_mode(from->st_mode),
                                    .mode = (unsigned)(from->st_mode & 07777),
                                    .size = (uint64_t)from->st_size,
                                    .volume = (uint64_t)from->st_dev,
                                    .number = (uint64_t)from->st_ino,
                                    .names = (uint64_t)from->st_nlink,
                                    .user = from->st_uid,
                                    .group = from->st_gid,
                                    .modified_s = from->st_mtim.tv_sec,
                                    .changed_s = from->st_ctim.tv_sec,
                                    .modified_ns = (int32_t)from->st_mtim.tv_nsec,
                                    .changed_ns = (int32_t)from->st_ctim.tv_nsec};
}

static int examined(int code, const struct stat *info, gantry__os_info_t *out_info) {
    if (code != 0) return errno;
    gantry__os_examine(info, out_info);
    return 0;
}

int gantry__os_file_info(int file, gantry__os_info_t *out_info) {
    struct stat info;
    return examined(fstat(file, &info), &info, out_info);
}

int gantry__os_path_info(const char *path, gantry__os_info_t *out_info) {
    struct stat info;
    return examined(stat(path, &info), &info, out_info);
}

int gantry__os_link_info(const char *path, gantry__os_info_t *out_info) {
    struct stat info;
    return examined(lstat(path, &info), &info, out_info);
}

int gantry__os_info_in(int folder, const char *name, gantry__os_info_t *out_info) {
    struct stat info;
    return examined(fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW), &info, out_info);
}

bool gantry__os_is_mine(const gantry__os_info_t *info) { return info->user == geteuid(); }

/* ---- opening ---- */

static int open_flags(unsigned flags) {
    int how = O_CLOEXEC | O_NOCTTY;
    how |= !(flags & (GANTRY__OS_WRITE | GANTRY__OS_APPEND)) ? O_RDONLY
           : flags & GANTRY__OS_READ                         ? O_RDWR
                                                             : O_WRONLY;
    if (flags & GANTRY__OS_APPEND) how |= O_APPEND;
    if (flags & (GANTRY__OS_CREATE | GANTRY__OS_NEW)) how |= O_CREAT;
    if (flags & GANTRY__OS_NEW) how |= O_EXCL;
    if (flags & GANTRY__OS_NO_LINK) how |= O_NOFOLLOW;
    if (flags & GANTRY__OS_NO_WAIT) how |= O_NONBLOCK;
    if (flags & GANTRY__OS_IS_FOLDER) how |= O_DIRECTORY;
    return how;
}

int gantry__os_open_in(int folder, const char *name, unsigned flags, unsigned mode) {
    int file;
    do {
        file = openat(folder, name, open_flags(flags), (mode_t)mode);
    } while (file < 0 && errno == EINTR);
    return file;
}

int gantry__os_open(const char *path, unsigned flags, unsigned mode) {
    return gantry__os_open_in(AT_FDCWD, path, flags, mode);
}

int gantry__os_wait_again(int file) {
    const int flags = fcntl(file, F_GETFL);
    return flags >= 0 && fcntl(file, F_SETFL, flags & ~O_NONBLOCK) == 0 ? 0 : errno;
}

int gantry__os_hand_on(int file) {
    const int flags = fcntl(file, F_GETFD);
    return flags >= 0 && fcntl(file, F_SETFD, flags & ~FD_CLOEXEC) == 0 ? 0 : errno;
}

int gantry__os_copy(int file, int least) { return fcntl(file, F_DUPFD_CLOEXEC, least); }

int gantry__os_settle(int file) {
    const int copy = gantry__os_copy(file, STDERR_FILENO + 1);
    return copy < 0 ? errno : gantry__os_close(copy);
}

int gantry__os_close(int file) { return close(file) == 0 || errno == EINTR ? 0 : errno; }

/* ---- content ---- */

int64_t gantry__os_read(int file, void *bytes, size_t size) {
    ssize_t got;
    do {
        got = read(file, bytes, one_call(size));
    } while (got < 0 && errno == EINTR);
    return got;
}

int64_t gantry__os_read_at(int file, void *bytes, size_t size, uint64_t place) {
    ssize_t got;
    do {
        got = pread(file, bytes, one_call(size), (off_t)place);
    } while (got < 0 && errno == EINTR);
    return got;
}

int64_t gantry__os_read_parts(int file, const gantry__os_part_t *parts, size_t count,
                              uint64_t place) {
    ssize_t got;
    do {
        got = preadv(file, (const struct iovec *)(const void *)parts, (int)count, (off_t)place);
    } while (got < 0 && errno == EINTR);
    return got;
}

static bool is_pending(int number) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
}

/* Takes the signal of a failed write, which the system sends to the thread that writes. */
static void take_write_signal(const sigset_t *beyond) {
#if defined(__APPLE__)
    int number;
    if (is_pending(SIGXFSZ) || is_pending(SIGPIPE)) (void)sigwait(beyond, &number);
#else
    (void)sigtimedwait(beyond, NULL, &(const struct timespec){0, 0});
#endif
}

int64_t gantry__os_write(int file, const void *bytes, size_t size, int64_t place) {
    sigset_t beyond, before;
    (void)sigemptyset(&beyond);
    (void)sigaddset(&beyond, SIGXFSZ);
    (void)sigaddset(&beyond, SIGPIPE);
    const bool is_blocked = pthread_sigmask(SIG_BLOCK, &beyond, &before) == 0;
    const bool was_pending = is_pending(SIGXFSZ) || is_pending(SIGPIPE);
    const ssize_t done = place == GANTRY__OS_NEXT
                             ? write(file, bytes, one_call(size))
                             : pwrite(file, bytes, one_call(size), (off_t)place);
    const int error = errno;
    if (done < 0 && (error == EFBIG || error == EPIPE) && is_blocked && !was_pending)
        take_write_signal(&beyond);
    if (is_blocked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return done;
}

int64_t gantry__os_position(int file) { return lseek(file, 0, SEEK_CUR); }

int gantry__os_truncate(int file, uint64_t size) {
    return ftruncate(file, (off_t)size) == 0 ? 0 : errno;
}

int gantry__os_flush(int file) { return fsync(file) == 0 ? 0 : errno; }
