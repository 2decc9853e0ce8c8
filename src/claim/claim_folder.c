/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of claims. In this order: failures, the folder, its files, locks.
 *
 * Kernels refuse open(O_CREAT) of another user's file in a folder with the sticky bit
 * (fs.protected_regular), so an existing file is opened without O_CREAT, and a new one is made with
 * O_EXCL. systemd-tmpfiles removes old files of /tmp, but keeps a folder while someone holds a lock
 * of it (flock). */
#define _GNU_SOURCE
#include "claim/claim_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/os/clock.h"
#include "base/shared_folder.h"

#define OPEN_ATTEMPTS 50     /* until another user's new file has its mode */
#define FIRST_DESCRIPTOR 100 /* scripts number their own files from 3 */

/* ---- failures ---- */

static gantry_status_t claim_status_of(int error) {
    switch (error) {
        case EACCES:
        case EPERM:
        case EROFS: return GANTRY_PERMISSION_DENIED;
        case ENOSPC:
        case EDQUOT:
        case EMFILE:
        case ENFILE:
        case ENOLCK:
        case ENOMEM: return GANTRY_RESOURCE_EXHAUSTED;
        case EINVAL:
        case EOPNOTSUPP: return GANTRY_UNIMPLEMENTED;
        default: return GANTRY_FAILED_PRECONDITION;
    }
}

gantry_status_t gantry__claim_fail(const gantry__claim_folder_t *folder, const char *name,
                                   const char *doing, int error) {
    return gantry__fail(claim_status_of(error),
                        "cannot %s '%s%s%s': %s; GANTRY_CLAIMS_DIR names another folder", doing,
                        folder->path, *name ? "/" : "", name,
                        error == ELOOP ? "it is a symbolic link" : strerror(error));
}

/* Moves the descriptor out of the way of a program that inherits it. */
static int move_up(int file) {
    int high = fcntl(file, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (high < 0 && file <= STDERR_FILENO) high = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (high < 0) return file;
    (void)close(file);
    return high;
}

/* ---- the folder ---- */

static const char *default_folder(void) {
    struct stat info;
    bool is_shared = lstat("/run/lock", &info) == 0 && S_ISDIR(info.st_mode) &&
                     (info.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
    return is_shared ? "/run/lock/gantry" : "/tmp/gantry-claims";
}

/* A folder where everyone may replace a file by another cannot keep claims. */
static gantry_status_t claim_check_folder(const gantry__claim_folder_t *folder) {
    struct stat info;
    if (fstat(folder->directory, &info) != 0)
        return gantry__claim_fail(folder, "", "examine", errno);
    if (gantry__shared_folder_is_open_to_all(&info))
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "the folder of claims '%s' has mode %04o: every user may remove another's claim; mode 1777 is accepted (chmod 1777)",
            folder->path, (unsigned)(info.st_mode & 07777));
    return GANTRY_OK;
}

gantry_status_t gantry__claim_folder_open(const char *path, bool is_made,
                                          gantry__claim_folder_t *out_folder) {
    out_folder->directory = -1;
    const bool is_default = !path || !*path;
    if (is_default) path = default_folder();
    int length = snprintf(out_folder->path, sizeof out_folder->path, "%s", path);
    if (length < 0 || (size_t)length >= sizeof out_folder->path)
        return gantry__claim_fail(out_folder, "", "open", ENAMETOOLONG);
    int directory = gantry__shared_folder_open(path, is_made, is_default);
    if (directory < 0 && errno == ENOENT && !is_made) return GANTRY_OK;
    if (directory < 0)
        return gantry__claim_fail(out_folder, "", is_made ? "open or make" : "open", errno);
    out_folder->directory = move_up(directory);
    gantry_status_t status = claim_check_folder(out_folder);
    if (status != GANTRY_OK) gantry__claim_folder_close(out_folder);
    /* refused while a cleaner works there: its next visit finds the lock */
    if (status == GANTRY_OK && is_made) (void)flock(out_folder->directory, LOCK_SH | LOCK_NB);
    return status;
}

void gantry__claim_folder_close(gantry__claim_folder_t *folder) {
    if (folder->directory >= 0) (void)close(folder->directory);
    folder->directory = -1;
}

/* ---- files ---- */

/* Makes a file with its mode, then gives it its name: who is killed between leaves nothing. Does
 * nothing if the file system cannot do that. */
static void make_whole(int directory, const char *name) {
#if defined(O_TMPFILE)
    char own[64];
    int file = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return;
    (void)snprintf(own, sizeof own, "/proc/self/fd/%d", file);
    const bool is_made =
        fchmod(file, 0666) == 0 && linkat(AT_FDCWD, own, directory, name, AT_SYMLINK_FOLLOW) == 0;
    (void)is_made; /* the caller looks */
    (void)close(file);
#else
    (void)directory;
    (void)name;
#endif
}

static int open_or_make(int directory, const char *name) {
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int file = openat(directory, name, flags);
    if (file >= 0 || errno != ENOENT) return file;
    make_whole(directory, name);
    file = openat(directory, name, flags); /* opened by name, so that /proc shows the name */
    if (file >= 0 || errno != ENOENT) return file;
    file = openat(directory, name, flags | O_CREAT | O_EXCL, 0600);
    if (file >= 0) (void)fchmod(file, 0666); /* whatever the mask of the process is */
    return file;
}

static int claim_open_retrying(int directory, const char *name) {
    int file = -1;
    for (int attempt = 0; attempt < OPEN_ATTEMPTS; ++attempt) {
        file = open_or_make(directory, name);
        if (file >= 0) return file;
        if (errno == EACCES) gantry__os_sleep_ns(1000000);
        if (errno != EACCES && errno != EEXIST && errno != EINTR) break;
    }
    return file;
}

static bool is_plain_file(int file) {
    struct stat info;
    return fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink <= 1;
}

gantry_status_t gantry__claim_file_open(const gantry__claim_folder_t *folder, const char *name,
                                        int *out_file) {
    *out_file = -1;
    int file = claim_open_retrying(folder->directory, name);
    if (file < 0) return gantry__claim_fail(folder, name, "open", errno);
    if (!is_plain_file(file)) {
        (void)close(file);
        return gantry__fail(GANTRY_FAILED_PRECONDITION,
                            "'%s/%s' is no plain file with one name; remove it", folder->path,
                            name);
    }
    *out_file = move_up(file);
    return GANTRY_OK;
}

bool gantry__claim_file_look(const gantry__claim_folder_t *folder, const char *name,
                             int *out_file) {
    *out_file = -1;
    if (folder->directory < 0) return false;
    int file =
        openat(folder->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return false;
    if (is_plain_file(file)) {
        *out_file = file;
    } else {
        (void)close(file);
    }
    return *out_file >= 0;
}

bool gantry__claim_file_is_current(const gantry__claim_folder_t *folder, const char *name,
                                   int file) {
    struct stat open_one, named;
    return fstat(file, &open_one) == 0 &&
           fstatat(folder->directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* ---- locks ---- */

#if defined(F_OFD_SETLK)
static int claim_fcntl(int file, int command, struct flock *range) {
    int code;
    do {
        code = fcntl(file, command, range);
    } while (code != 0 && errno == EINTR);
    return code == 0 ? 0 : errno;
}

int gantry__claim_lock(int file, int64_t byte) {
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    int error = claim_fcntl(file, F_OFD_SETLK, &range);
    return error == EACCES ? EAGAIN : error;
}

void gantry__claim_unlock(int file, int64_t byte) {
    struct flock range = {
        .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    (void)claim_fcntl(file, F_OFD_SETLK, &range);
}

bool gantry__claim_locked(int file, int64_t from, int64_t end, gantry__claim_range_t *out_range) {
    struct flock range = {.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)from,
                          .l_len = (off_t)(end - from)};
    if (from >= end || claim_fcntl(file, F_OFD_GETLK, &range) != 0 || range.l_type == F_UNLCK)
        return false;
    /* anybody may lock any range; of length 0 it has no end */
    const int64_t begin = (int64_t)range.l_start, length = (int64_t)range.l_len;
    out_range->begin = begin > from ? begin : from;
    out_range->end = length > 0 && length < end - begin ? begin + length : end;
    return true;
}
#else
int gantry__claim_lock(int file, int64_t byte) {
    (void)file;
    (void)byte;
    return EOPNOTSUPP;
}

void gantry__claim_unlock(int file, int64_t byte) {
    (void)file;
    (void)byte;
}

bool gantry__claim_locked(int file, int64_t from, int64_t end, gantry__claim_range_t *out_range) {
    (void)file;
    (void)from;
    (void)end;
    (void)out_range;
    return false;
}
#endif
