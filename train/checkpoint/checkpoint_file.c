/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700

#include "train/checkpoint/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/base/fail.h"

_Static_assert(PATH_MAX <= GANTRY__TRAIN_PATH_BYTES, "realpath writes as much");

#define MOST_TEMPORARIES 64 /* names to try: two threads may save at the same time */
#define MOST_STEM 200
/* one read or write call; Linux ends them at 2 GiB anyway */
#define LONGEST_TRANSFER ((size_t)1 << 30)

/* ---- failures ---- */

static gantry_status_t file_status(int error) {
    switch (error) {
        case ENOENT: return GANTRY_NOT_FOUND;
        case EACCES:
        case EPERM:
        case EROFS: return GANTRY_PERMISSION_DENIED;
        case ENOMEM:
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
        case EMFILE:
        case ENFILE: return GANTRY_RESOURCE_EXHAUSTED;
        case ENOTDIR:
        case EISDIR:
        case ENAMETOOLONG:
        case ELOOP:
        case EINVAL: return GANTRY_INVALID_ARGUMENT;
        case EIO: return GANTRY_DATA_LOSS;
        default: return GANTRY_UNKNOWN;
    }
}

static gantry_status_t file_fail(const char *doing, const char *path, int error) {
    char reason[128];
    if (strerror_r(error, reason, sizeof reason) != 0)
        (void)snprintf(reason, sizeof reason, "errno %d", error);
    return gantry__train_fail(file_status(error), "cannot %s the checkpoint '%s': %s", doing, path,
                              reason);
}

static gantry_status_t check_path(const char *doing, const char *path) {
    if (path && path[0]) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "cannot %s a checkpoint: the path is %s; the path of a file is accepted", doing,
        path ? "empty" : "NULL");
}

static gantry_status_t check_plain(const char *doing, const char *path, mode_t mode) {
    if (S_ISREG(mode)) return GANTRY_OK;
    return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                              "cannot %s the checkpoint '%s': it is %s; a plain file is accepted",
                              doing, path,
                              S_ISDIR(mode)    ? "a directory"
                              : S_ISFIFO(mode) ? "a pipe"
                              : S_ISSOCK(mode) ? "a socket"
                                               : "a device");
}

static int file_open(const char *path, int flags) {
    int file;
    do {
        file = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
    } while (file < 0 && errno == EINTR);
    return file;
}

/* ---- writing ---- */

/* Finds the file that the path leads to. A path that leads nowhere yet is its own target. */
static gantry_status_t find_target(gantry__train_new_file_t *file) {
    struct stat info;
    if (stat(file->path, &info) == 0) {
        GANTRY__TRAIN_TRY(check_plain("save", file->path, info.st_mode));
        if (!realpath(file->path, file->target)) return file_fail("save", file->path, errno);
        return GANTRY_OK;
    }
    if (errno != ENOENT) return file_fail("save", file->path, errno);
    const int length = snprintf(file->target, sizeof file->target, "%s", file->path);
    if (length >= 0 && (size_t)length < sizeof file->target) return GANTRY_OK;
    return file_fail("save", file->path, ENAMETOOLONG);
}

/* Bytes of the path that a temporary name begins with: a file name of 255 bytes, the most, leaves
 * no room for an ending. */
static int temporary_stem(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t bytes = strlen(name);
    return (int)((size_t)(name - path) + (bytes < MOST_STEM ? bytes : MOST_STEM));
}

gantry_status_t gantry__train_file_create(const char *path, gantry__train_new_file_t *out) {
    *out = (gantry__train_new_file_t){.path = path, .file = -1};
    GANTRY__TRAIN_TRY(check_path("save", path));
    GANTRY__TRAIN_TRY(find_target(out));
    int error = EEXIST;
    for (int i = 0; i < MOST_TEMPORARIES && error == EEXIST; ++i) {
        char name[GANTRY__TRAIN_PATH_BYTES], number[16] = "";
        if (i > 0) (void)snprintf(number, sizeof number, "-%d", i);
        const int length =
            snprintf(name, sizeof name, "%.*s.tmp-%ld%s", temporary_stem(out->target), out->target,
                     (long)getpid(), number);
        if (length < 0 || (size_t)length >= sizeof name)
            return file_fail("save", path, ENAMETOOLONG);
        out->file = file_open(name, O_WRONLY | O_CREAT | O_EXCL);
        error = out->file < 0 ? errno : 0;
        if (error == 0) memcpy(out->temporary, name, sizeof name);
    }
    return error == 0 ? GANTRY_OK : file_fail("save", path, error);
}

gantry_status_t gantry__train_file_write(gantry__train_new_file_t *file, const void *bytes,
                                         size_t size) {
    const char *at = bytes;
    while (size > 0) {
        const ssize_t done =
            write(file->file, at, size < LONGEST_TRANSFER ? size : LONGEST_TRANSFER);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return file_fail("save", file->path, errno);
        at += done;
        size -= (size_t)done;
    }
    return GANTRY_OK;
}

/* Flushes the new name of the file, too; a file system that cannot do that does no harm. */
static void flush_directory(char *target) {
    char *slash = strrchr(target, '/');
    if (slash) *(slash == target ? slash + 1 : slash) = '\0';
    const int directory = file_open(slash ? target : ".", O_RDONLY | O_DIRECTORY);
    if (directory < 0) return;
    (void)fsync(directory);
    (void)close(directory);
}

gantry_status_t gantry__train_file_commit(gantry__train_new_file_t *file) {
    int error = fsync(file->file) == 0 ? 0 : errno;
    if (close(file->file) != 0 && error == 0 && errno != EINTR) error = errno;
    file->file = -1;
    if (error == 0 && rename(file->temporary, file->target) != 0) error = errno;
    if (error != 0) return file_fail("save", file->path, error);
    file->temporary[0] = '\0';
    flush_directory(file->target);
    return GANTRY_OK;
}

void gantry__train_file_abandon(gantry__train_new_file_t *file) {
    gantry__train_file_close(file->file);
    if (file->temporary[0]) (void)unlink(file->temporary);
    file->file = -1;
    file->temporary[0] = '\0';
}

/* ---- reading ---- */

gantry_status_t gantry__train_file_open(const char *path, int *out_file, uint64_t *out_size) {
    struct stat info;
    *out_file = -1;
    *out_size = 0;
    GANTRY__TRAIN_TRY(check_path("open", path));
    if (stat(path, &info) == 0) GANTRY__TRAIN_TRY(check_plain("open", path, info.st_mode));
    const int file = file_open(path, O_RDONLY | O_NONBLOCK);
    if (file < 0) return file_fail("open", path, errno);
    const gantry_status_t status = fstat(file, &info) == 0 ? check_plain("open", path, info.st_mode)
                                                           : file_fail("open", path, errno);
    if (status != GANTRY_OK) {
        gantry__train_file_close(file);
        return status;
    }
    *out_file = file;
    *out_size = (uint64_t)info.st_size;
    return GANTRY_OK;
}

gantry_status_t gantry__train_file_read_at(int file, const char *path, uint64_t offset, void *bytes,
                                           size_t size) {
    char *at = bytes;
    for (size_t left = size; left > 0;) {
        const ssize_t got =
            pread(file, at, left < LONGEST_TRANSFER ? left : LONGEST_TRANSFER, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_fail("read", path, errno);
        if (got == 0) {
            return gantry__train_fail(GANTRY_DATA_LOSS,
                                      "cannot read the checkpoint '%s': it ends at byte %" PRIu64
                                      ", %zu bytes too early",
                                      path, offset, left);
        }
        at += got;
        offset += (uint64_t)got;
        left -= (size_t)got;
    }
    return GANTRY_OK;
}

void gantry__train_file_close(int file) {
    if (file >= 0) (void)close(file);
}
