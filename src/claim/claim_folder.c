/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of claims. In this order: failures, the folder, its files.
 *
 * Kernels refuse open(O_CREAT) of another user's file in a folder with the sticky bit
 * (fs.protected_regular), so an existing file is opened without O_CREAT, and a new one is made with
 * O_EXCL. systemd-tmpfiles removes old files of /tmp, but keeps a folder while someone holds a lock
 * of it (flock). */
#include "claim/claim_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/os/clock.h"
#include "base/os/locks.h"
#include "base/shared_folder.h"

#define OPEN_ATTEMPTS 50 /* until another user's new file has its mode */
#define STANDARD_ERROR 2
#define FOR_ALL 0666u        /* the mode of a claim's file */
#define FIRST_DESCRIPTOR 100 /* scripts number their own files from 3 */

/* ---- failures ---- */

static gantry_status_t claim_status_of(int error) {
    switch (error) {
        case EACCES:
        case EPERM:
        case EROFS: return GANTRY_PERMISSION_DENIED;
#if defined(EDQUOT)
        case EDQUOT:
#endif
        case ENOSPC:
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
    int high = gantry__os_copy(file, FIRST_DESCRIPTOR);
    if (high < 0 && file <= STANDARD_ERROR) high = gantry__os_copy(file, STANDARD_ERROR + 1);
    if (high < 0) return file;
    gantry__file_close(file);
    return high;
}

/* ---- the folder ---- */

static const char *default_folder(void) {
    gantry__os_info_t info;
    const bool is_shared = gantry__os_link_info("/run/lock", &info) == 0 &&
                           info.kind == GANTRY__OS_FOLDER && (info.mode & 01002) == 01002;
    return is_shared ? "/run/lock/gantry" : "/tmp/gantry-claims";
}

/* A folder where everyone may replace a file by another cannot keep claims. */
static gantry_status_t claim_check_folder(const gantry__claim_folder_t *folder) {
    gantry__os_info_t info;
    const int error = gantry__os_file_info(folder->directory, &info);
    if (error) return gantry__claim_fail(folder, "", "examine", error);
    if (gantry__shared_folder_is_open_to_all(&info))
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "the folder of claims '%s' has mode %04o: every user may remove another's claim; mode 1777 is accepted (chmod 1777)",
            folder->path, info.mode);
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
    if (status == GANTRY_OK && is_made) (void)gantry__os_lock(out_folder->directory, true);
    return status;
}

void gantry__claim_folder_close(gantry__claim_folder_t *folder) {
    gantry__file_close(folder->directory);
    folder->directory = -1;
}

/* ---- files ---- */

static int open_or_make(int directory, const char *name) {
    const unsigned flags =
        GANTRY__OS_READ | GANTRY__OS_WRITE | GANTRY__OS_NO_LINK | GANTRY__OS_NO_WAIT;
    int file = gantry__os_open_in(directory, name, flags, 0);
    if (file >= 0 || errno != ENOENT) return file;
    /* who is killed meanwhile leaves nothing, where the file system can do that */
    gantry__os_make_whole(directory, name, FOR_ALL);
    file = gantry__os_open_in(directory, name, flags, 0); /* so that /proc shows the name */
    if (file >= 0 || errno != ENOENT) return file;
    file = gantry__os_open_in(directory, name, flags | GANTRY__OS_NEW, 0600);
    if (file >= 0) (void)gantry__os_set_mode(file, FOR_ALL); /* whatever the process's mask is */
    return file;
}

static int claim_open_retrying(int directory, const char *name) {
    int file = -1;
    for (int attempt = 0; attempt < OPEN_ATTEMPTS; ++attempt) {
        file = open_or_make(directory, name);
        if (file >= 0) return file;
        if (errno == EACCES) gantry__os_sleep_ns(1000000);
        if (errno != EACCES && errno != EEXIST) break;
    }
    return file;
}

static bool is_plain_file(int file) {
    gantry__os_info_t info;
    return gantry__os_file_info(file, &info) == 0 && info.kind == GANTRY__OS_PLAIN &&
           info.names <= 1;
}

gantry_status_t gantry__claim_file_open(const gantry__claim_folder_t *folder, const char *name,
                                        int *out_file) {
    *out_file = -1;
    int file = claim_open_retrying(folder->directory, name);
    if (file < 0) return gantry__claim_fail(folder, name, "open", errno);
    if (!is_plain_file(file)) {
        gantry__file_close(file);
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
    const int file = gantry__os_open_in(
        folder->directory, name, GANTRY__OS_READ | GANTRY__OS_NO_LINK | GANTRY__OS_NO_WAIT, 0);
    if (file < 0) return false;
    if (is_plain_file(file)) {
        *out_file = file;
    } else {
        gantry__file_close(file);
    }
    return *out_file >= 0;
}

bool gantry__claim_file_is_current(const gantry__claim_folder_t *folder, const char *name,
                                   int file) {
    gantry__os_info_t open_one, named;
    return gantry__os_file_info(file, &open_one) == 0 &&
           gantry__os_info_in(folder->directory, name, &named) == 0 &&
           gantry__os_is_same(&open_one, &named);
}
