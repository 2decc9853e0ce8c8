/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700

#include "train/checkpoint/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/base/fail.h"

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
    return gantry__train_refuse(
        NULL, "cannot %s a checkpoint: the path is %s; the path of a file is accepted", doing,
        path ? "empty" : "NULL");
}

static gantry_status_t checkpoint_file_check_plain(const char *doing, const char *path,
                                                   mode_t mode) {
    if (S_ISREG(mode)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "cannot %s the checkpoint '%s': it is %s; a plain file is accepted", doing, path,
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

static gantry_status_t fail_to_save(gantry_status_t status) {
    char reason[1024];
    if (status == GANTRY_OK) return GANTRY_OK;
    (void)snprintf(reason, sizeof reason, "%s", gantry_last_message());
    return gantry__train_fail(status, "cannot save the checkpoint: %s", reason);
}

gantry_status_t gantry__train_file_create(const char *path, gantry_new_file_t *out) {
    struct stat info;
    out->file = -1;
    out->temporary[0] = '\0';
    GANTRY__TRY(check_path("save", path));
    if (stat(path, &info) == 0)
        GANTRY__TRY(checkpoint_file_check_plain("save", path, info.st_mode));
    return fail_to_save(gantry_file_begin(path, out));
}

gantry_status_t gantry__train_file_write(gantry_new_file_t *file, const void *bytes, size_t size) {
    return fail_to_save(gantry_file_write(file, bytes, size));
}

gantry_status_t gantry__train_file_commit(gantry_new_file_t *file) {
    return fail_to_save(gantry_file_end(file));
}

/* ---- reading ---- */

gantry_status_t gantry__train_file_open(const char *path, int *out_file, uint64_t *out_size) {
    struct stat info;
    *out_file = -1;
    *out_size = 0;
    GANTRY__TRY(check_path("open", path));
    if (stat(path, &info) == 0)
        GANTRY__TRY(checkpoint_file_check_plain("open", path, info.st_mode));
    const int file = file_open(path, O_RDONLY | O_NONBLOCK);
    if (file < 0) return file_fail("open", path, errno);
    const gantry_status_t status = fstat(file, &info) == 0
                                       ? checkpoint_file_check_plain("open", path, info.st_mode)
                                       : file_fail("open", path, errno);
    if (status != GANTRY_OK) {
        gantry__train_file_close(file);
        return status;
    }
    *out_file = file;
    *out_size = (uint64_t)info.st_size;
    return GANTRY_OK;
}

void gantry__train_file_close(int file) {
    if (file >= 0) (void)close(file);
}
