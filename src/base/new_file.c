/* SPDX-License-Identifier: Apache-2.0 */
/* A new file is PATH.N.tmp until its end, with the first free number N. Its writer holds its lock,
 * which ends with the process, so that a file that can be locked has no writer: the next
 * writer of the path meets it by its number, and removes it.
 *
 *     writer A          writer B                        what holds
 *     make N            N exists: open it
 *     lock N            cannot lock it: takes N + 1     A's file stays
 *
 *     make N            N exists: open and lock it
 *     cannot lock N     removes N                       A takes another
 *
 *     make N            ... removes N, unlocks
 *     lock N            N is another file, or gone      A takes another
 *
 * On a file system without locks nothing is removed. The lock is held until the file has its name,
 * so close cannot report the last errors; therefore a copy of the descriptor is closed before. */
#include "base/new_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/os/clock.h"
#include "base/os/locks.h"
#include "base/os/paths.h"
#include "base/os/process.h"

#define TEMPORARY_ATTEMPTS 1000
#define MOST_STEM 200
#define MOST_LINKS 40

/* ---- temporary names ---- */

/* Bytes of the path that a temporary name begins with: a file name of 255 bytes, the most, leaves
 * no room for an ending. */
static int temporary_stem(const char *path) {
    const char *name = gantry__os_path_name(path);
    const size_t bytes = strlen(name);
    return (int)((size_t)(name - path) + (bytes < MOST_STEM ? bytes : MOST_STEM));
}

static bool has_name(int fd, const char *name) {
    gantry__os_info_t open_one, named;
    return gantry__os_file_info(fd, &open_one) == 0 && gantry__os_link_info(name, &named) == 0 &&
           named.kind == GANTRY__OS_PLAIN && gantry__os_is_same(&open_one, &named);
}

/* Removes the file if no process writes it. */
static void remove_stale(const char *name) {
    const int fd =
        gantry__os_open(name, GANTRY__OS_WRITE | GANTRY__OS_NO_LINK | GANTRY__OS_NO_WAIT, 0);
    if (fd < 0) return;
    if (gantry__os_lock(fd, false) == 0 && has_name(fd, name)) (void)gantry__os_remove(name);
    gantry__file_close(fd);
}

/* Locks a new file; false: another writer took it for one that was left. */
static bool lock_new(int fd, const char *name) {
    const int error = gantry__os_lock(fd, false);
    return error == 0 ? has_name(fd, name) : error != EAGAIN; /* there are no locks here */
}

/* The user's file mode mask applies. -1 with errno. */
static int make_temporary(const char *name, unsigned mode) {
    const int fd = gantry__os_open(name, GANTRY__OS_WRITE | GANTRY__OS_NEW, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
    remove_stale(name);
    return gantry__os_open(name, GANTRY__OS_WRITE | GANTRY__OS_NEW, mode);
}

static int open_temporary(gantry_new_file_t *file) {
    const bool is_own = file->flags & GANTRY__FILE_OWN;
    const unsigned mode = !is_own ? 0666 : file->flags & GANTRY__FILE_SHOWN ? 0644 : 0600;
    for (unsigned i = 0; i < TEMPORARY_ATTEMPTS; ++i) {
        const int length = snprintf(file->temporary, sizeof file->temporary, "%.*s.%08x.tmp",
                                    temporary_stem(file->target), file->target, i);
        if (length < 0 || (size_t)length >= sizeof file->temporary) return ENAMETOOLONG;
        const int fd = make_temporary(file->temporary, mode);
        if (fd < 0 && errno != EEXIST) return errno;
        if (fd < 0) continue;
        file->file = fd;
        if (lock_new(fd, file->temporary)) return 0;
        gantry__file_close(fd);
        file->file = -1;
    }
    return EEXIST;
}

/* ---- begin ---- */

/* A pipe without a reader, or a socket, is refused (ENXIO): it would be waited for. */
static gantry_status_t begin_directly(gantry_new_file_t *file) {
    file->file = gantry__os_open(file->target, GANTRY__OS_WRITE | GANTRY__OS_NO_WAIT, 0);
    const int error = file->file >= 0 ? gantry__os_wait_again(file->file) : errno;
    return error == 0 ? GANTRY_OK : gantry__file_fail("open", file->target, error);
}

static gantry_status_t copy_path(const char *path, gantry_new_file_t *file) {
    const int length = snprintf(file->target, sizeof file->target, "%s", path);
    return length >= 0 && (size_t)length < sizeof file->target
               ? GANTRY_OK
               : gantry__file_fail("write", path, ENAMETOOLONG);
}

/* The end of a link that names no file yet: a file is made there, as by open. */
static gantry_status_t copy_link(const char *path, gantry_new_file_t *file) {
    char target[GANTRY__OS_PATH_BYTES], next[2 * GANTRY__OS_PATH_BYTES];
    GANTRY__TRY(copy_path(path, file));
    for (int links = 0; links < MOST_LINKS; ++links) {
        if (gantry__os_read_link(file->target, target) != 0) return GANTRY_OK;
        const size_t folder = gantry__os_path_is_absolute(target)
                                  ? 0
                                  : (size_t)(gantry__os_path_name(file->target) - file->target);
        (void)snprintf(next, sizeof next, "%.*s%s", (int)folder, file->target, target);
        GANTRY__TRY(copy_path(next, file));
    }
    return gantry__file_fail("write", path, ELOOP);
}

/* Finds the file to write; *out_directly: the path is no plain file. */
static gantry_status_t find_target(const char *path, gantry_new_file_t *file, bool *out_directly) {
    const bool is_own = file->flags & GANTRY__FILE_OWN;
    gantry__os_info_t info;
    *out_directly = false;
    int error = is_own ? gantry__os_link_info(path, &info) : gantry__os_path_info(path, &info);
    if (error == ENOENT) return is_own ? copy_path(path, file) : copy_link(path, file);
    if (error == 0 && info.kind == GANTRY__OS_FOLDER) error = EISDIR;
    if (error != 0) return gantry__file_fail("write", path, error);
    *out_directly = !is_own && info.kind != GANTRY__OS_PLAIN;
    if (*out_directly || is_own) return copy_path(path, file);
    char resolved[GANTRY__OS_PATH_BYTES];
    error = gantry__os_real_path(path, resolved);
    return error ? gantry__file_fail("write", path, error) : copy_path(resolved, file);
}

gantry_status_t gantry__new_file_begin(const char *path, unsigned flags,
                                       gantry_new_file_t *out_file) {
    bool directly;
    out_file->file = -1;
    out_file->flags = flags;
    out_file->target[0] = out_file->temporary[0] = '\0';
    GANTRY__TRY(gantry__file_check_path("write a file", path));
    GANTRY__TRY(find_target(path, out_file, &directly));
    if (directly) return begin_directly(out_file);
    const int error = open_temporary(out_file);
    if (error == 0) return GANTRY_OK;
    out_file->temporary[0] = '\0';
    return gantry__file_fail("write", path, error);
}

/* ---- content ---- */

static bool write_fully(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        const int64_t done = gantry__os_write(fd, bytes, size, GANTRY__OS_NEXT);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

gantry_status_t gantry__new_file_write(gantry_new_file_t *file, const void *bytes, size_t size) {
    if (write_fully(file->file, bytes, size)) return GANTRY_OK;
    return gantry__file_fail("write", file->target, errno);
}

/* ---- end ---- */

/* Flushes the new name of the file, too; a file system that cannot do that does no harm. */
static void flush_directory(char *target) {
    char *name = target + (gantry__os_path_name(target) - target);
    *name = '\0';
    const int directory =
        gantry__os_open(name > target ? target : ".", GANTRY__OS_READ | GANTRY__OS_IS_FOLDER, 0);
    if (directory < 0) return;
    (void)gantry__os_flush(directory);
    gantry__file_close(directory);
}

gantry_status_t gantry__new_file_end(gantry_new_file_t *file) {
    const bool is_beside = file->temporary[0] != '\0';
    const bool is_durable = is_beside && (file->flags & GANTRY__FILE_DURABLE);
    int error = is_durable ? gantry__os_flush(file->file) : 0;
    if (error == 0) error = gantry__os_settle(file->file);
    if (error == 0 && is_beside) error = gantry__os_rename(file->temporary, file->target);
    if (error != 0) return gantry__file_fail("write", file->target, error);
    file->temporary[0] = '\0';
    gantry__new_file_abandon(file);
    if (is_durable) flush_directory(file->target);
    return GANTRY_OK;
}

/* Removes the file while its lock is held. */
void gantry__new_file_abandon(gantry_new_file_t *file) {
    if (file->file >= 0 && file->temporary[0]) (void)gantry__os_remove(file->temporary);
    gantry__file_close(file->file);
    file->file = -1;
    file->temporary[0] = '\0';
}

gantry_status_t gantry__file_write(const char *path, const gantry__file_piece_t *pieces,
                                   size_t piece_count, unsigned flags) {
    gantry_new_file_t file;
    gantry_status_t status = gantry__new_file_begin(path, flags, &file);
    for (size_t i = 0; i < piece_count && status == GANTRY_OK; ++i)
        status = gantry__new_file_write(&file, pieces[i].bytes, pieces[i].size);
    if (status == GANTRY_OK) status = gantry__new_file_end(&file);
    gantry__new_file_abandon(&file);
    return status;
}

/* ---- what killed writers left ---- */

/* Whether the name is NAME.N.tmp, where NAME has this ending. */
static bool is_temporary(const char *name, const char *ending) {
    static const char end[] = ".00000000.tmp";
    const size_t length = strlen(name), of_end = sizeof end - 1, of_ending = strlen(ending);
    if (length < of_end + of_ending) return false;
    const char *at = name + length - of_end;
    return *at == '.' && strspn(at + 1, "0123456789abcdef") == 8 && strcmp(at + 9, ".tmp") == 0 &&
           strncmp(at - of_ending, ending, of_ending) == 0;
}

void gantry__new_file_sweep(const gantry__heap_t *heap, const char *folder, const char *ending) {
    const uint32_t before = gantry__failures();
    gantry__directory_names_t names;
    char path[GANTRY__OS_PATH_BYTES];
    gantry__os_info_t info;
    if (gantry__directory_list(heap, folder, &names) == GANTRY_OK) {
        for (size_t i = 0; i < names.count; ++i) {
            if (!is_temporary(names.names[i], ending)) continue;
            const int length = snprintf(path, sizeof path, "%s/%s", folder, names.names[i]);
            if (length > 0 && (size_t)length < sizeof path &&
                gantry__os_link_info(path, &info) == 0 && gantry__os_is_mine(&info))
                remove_stale(path);
        }
        gantry__directory_names_deinit(&names);
    }
    gantry__forget_since(before);
}

/* ---- appending ---- */

/* Locks the file. Anybody who may read the file can lock it; therefore it is written without the
 * lock after two seconds. */
static bool lock_for_append(int fd) {
    for (int i = 0; i < 200; ++i) {
        const int error = gantry__os_lock(fd, false);
        if (error != EAGAIN) return error == 0;
        gantry__os_sleep_ns(10000000);
    }
    return false;
}

static gantry_status_t append(int fd, const char *path, const void *bytes, size_t size) {
    gantry__os_info_t info;
    const bool is_locked = lock_for_append(fd);
    const bool is_plain = gantry__os_file_info(fd, &info) == 0 && info.kind == GANTRY__OS_PLAIN;
    if (write_fully(fd, bytes, size)) return GANTRY_OK;
    const int error = errno;
    if (is_plain && is_locked) (void)gantry__os_truncate(fd, info.size);
    return gantry__file_fail("write", path, error);
}

gantry_status_t gantry__file_append(const char *path, const void *bytes, size_t size) {
    GANTRY__TRY(gantry__file_check_path("write a file", path));
    const int fd =
        gantry__os_open(path, GANTRY__OS_APPEND | GANTRY__OS_CREATE | GANTRY__OS_NO_WAIT, 0666);
    int error = fd >= 0 ? gantry__os_wait_again(fd) : errno;
    if (error != 0) {
        gantry__file_close(fd);
        return gantry__file_fail("open", path, error);
    }
    gantry_status_t status = append(fd, path, bytes, size);
    error = gantry__os_close(fd);
    return error == 0 || status != GANTRY_OK ? status : gantry__file_fail("write", path, error);
}
