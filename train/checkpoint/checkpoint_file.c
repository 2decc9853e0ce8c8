/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/checkpoint_file.h"

#include <errno.h>
#include <stdio.h>

#include "base/os/error.h"
#include "base/os/files.h"
#include "shared/errno_status.h"
#include "train/base/fail.h"

/* ---- failures ---- */

static gantry_status_t file_fail(const char *doing, const char *path, int error) {
    char reason[128];
    gantry__os_error_text(error, reason, sizeof reason);
    return gantry__train_fail(gantry__status_of_errno(error), "cannot %s the checkpoint '%s': %s",
                              doing, path, reason);
}

static gantry_status_t check_path(const char *doing, const char *path) {
    if (path && path[0]) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "cannot %s a checkpoint: the path is %s; the path of a file is accepted", doing,
        path ? "empty" : "NULL");
}

static gantry_status_t checkpoint_file_check_plain(const char *doing, const char *path,
                                                   gantry__os_kind_t kind) {
    if (kind == GANTRY__OS_PLAIN) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "cannot %s the checkpoint '%s': it is %s; a plain file is accepted", doing, path,
        kind == GANTRY__OS_FOLDER   ? "a directory"
        : kind == GANTRY__OS_PIPE   ? "a pipe"
        : kind == GANTRY__OS_SOCKET ? "a socket"
                                    : "a device");
}

/* ---- writing ---- */

static gantry_status_t fail_to_save(gantry_status_t status) {
    char reason[1024];
    if (status == GANTRY_OK) return GANTRY_OK;
    (void)snprintf(reason, sizeof reason, "%s", gantry_last_message());
    return gantry__train_fail(status, "cannot save the checkpoint: %s", reason);
}

gantry_status_t gantry__train_file_create(const char *path, gantry_new_file_t *out) {
    gantry__os_info_t info;
    out->file = -1;
    out->temporary[0] = '\0';
    GANTRY__TRY(check_path("save", path));
    if (gantry__os_path_info(path, &info) == 0)
        GANTRY__TRY(checkpoint_file_check_plain("save", path, info.kind));
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
    gantry__os_info_t info;
    *out_file = -1;
    *out_size = 0;
    GANTRY__TRY(check_path("open", path));
    if (gantry__os_path_info(path, &info) == 0)
        GANTRY__TRY(checkpoint_file_check_plain("open", path, info.kind));
    const int file = gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_NO_WAIT, 0);
    if (file < 0) return file_fail("open", path, errno);
    const int error = gantry__os_file_info(file, &info);
    const gantry_status_t status = error ? file_fail("open", path, error)
                                         : checkpoint_file_check_plain("open", path, info.kind);
    if (status != GANTRY_OK) {
        gantry__train_file_close(file);
        return status;
    }
    *out_file = file;
    *out_size = info.size;
    return GANTRY_OK;
}

void gantry__train_file_close(int file) {
    if (file >= 0) (void)gantry__os_close(file);
}
