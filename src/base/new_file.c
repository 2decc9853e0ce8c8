/* SPDX-License-Identifier: Apache-2.0 */
/* A new file is PATH.N.tmp until its end, with the first free number N. Its writer holds its lock
 * (flock), which ends with the process, so that a file that can be locked has no writer: the next
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
#define _XOPEN_SOURCE 700

#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/os/clock.h"

#define TEMPORARY_ATTEMPTS 1000
#define MOST_STEM 200
#define MOST_LINKS 40
/* one write call; Linux ends it at 2 GiB anyway */
#define LONGEST_TRANSFER ((size_t)1 << 30)

/* ---- temporary names ---- */

/* Bytes of the path that a temporary name begins with: a file name of 255 bytes, the most, leaves
 * no room for an ending. */
static int temporary_stem(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t bytes = strlen(name);
    return (int)((size_t)(name - path) + (bytes < MOST_STEM ? bytes : MOST_STEM));
}

static bool has_name(int fd, const char *name) {
    struct stat open_one, named;
    return fstat(fd, &open_one) == 0 && lstat(name, &named) == 0 && S_ISREG(named.st_mode) &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* Removes the file if no process writes it. */
static void remove_stale(const char *name) {
    const int fd =
        gantry__file_open_retrying(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, name)) (void)unlink(name);
    (void)close(fd);
}

/* Locks a new file; false: another writer took it for one that was left. */
static bool lock_new(int fd, const char *name) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return has_name(fd, name);
    return errno != EWOULDBLOCK; /* there are no locks here */
}

/* The user's file mode mask applies. -1 with errno. */
static int make_temporary(const char *name, mode_t mode) {
    const int flags = O_WRONLY | O_CREAT | O_EXCL;
    int fd = gantry__file_open_retrying(name, flags, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
    remove_stale(name);
    return gantry__file_open_retrying(name, flags, mode);
}

static int open_temporary(gantry_new_file_t *file) {
    const bool is_own = file->flags & GANTRY__FILE_OWN;
    const mode_t mode = !is_own ? 0666 : file->flags & GANTRY__FILE_SHOWN ? 0644 : 0600;
    for (unsigned i = 0; i < TEMPORARY_ATTEMPTS; ++i) {
        const int length = snprintf(file->temporary, sizeof file->temporary, "%.*s.%08x.tmp",
                                    temporary_stem(file->target), file->target, i);
        if (length < 0 || (size_t)length >= sizeof file->temporary) return ENAMETOOLONG;
        const int fd = make_temporary(file->temporary, mode);
        if (fd < 0 && errno != EEXIST) return errno;
        if (fd < 0) continue;
        file->file = fd;
        if (lock_new(fd, file->temporary)) return 0;
        (void)close(fd);
        file->file = -1;
    }
    return EEXIST;
}

/* ---- begin ---- */

/* A pipe without a reader, or a socket, is refused (ENXIO): it would be waited for. */
static gantry_status_t begin_directly(gantry_new_file_t *file) {
    file->file = gantry__file_open_retrying(file->target, O_WRONLY | O_NOCTTY | O_NONBLOCK, 0);
    const int flags = file->file >= 0 ? fcntl(file->file, F_GETFL) : -1;
    if (flags >= 0 && fcntl(file->file, F_SETFL, flags & ~O_NONBLOCK) == 0) return GANTRY_OK;
    return gantry__file_fail("open", file->target, errno);
}

static gantry_status_t copy_path(const char *path, gantry_new_file_t *file) {
    const int length = snprintf(file->target, sizeof file->target, "%s", path);
    return length >= 0 && (size_t)length < sizeof file->target
               ? GANTRY_OK
               : gantry__file_fail("write", path, ENAMETOOLONG);
}

/* The end of a link that names no file yet: a file is made there, as by open. */
static gantry_status_t copy_link(const char *path, gantry_new_file_t *file) {
    char target[PATH_MAX], next[2 * PATH_MAX];
    GANTRY__TRY(copy_path(path, file));
    for (int links = 0; links < MOST_LINKS; ++links) {
        const ssize_t length = readlink(file->target, target, sizeof target - 1);
        if (length < 0) return GANTRY_OK;
        target[length] = '\0';
        const char *slash = strrchr(file->target, '/');
        const size_t folder = *target == '/' || !slash ? 0 : (size_t)(slash + 1 - file->target);
        (void)snprintf(next, sizeof next, "%.*s%s", (int)folder, file->target, target);
        GANTRY__TRY(copy_path(next, file));
    }
    return gantry__file_fail("write", path, ELOOP);
}

/* Finds the file to write; *out_directly: the path is no plain file. */
static gantry_status_t find_target(const char *path, gantry_new_file_t *file, bool *out_directly) {
    const bool is_own = file->flags & GANTRY__FILE_OWN;
    struct stat info;
    *out_directly = false;
    if ((is_own ? lstat(path, &info) : stat(path, &info)) != 0) {
        if (errno != ENOENT) return gantry__file_fail("write", path, errno);
        return is_own ? copy_path(path, file) : copy_link(path, file);
    }
    if (S_ISDIR(info.st_mode)) return gantry__file_fail("write", path, EISDIR);
    *out_directly = !is_own && !S_ISREG(info.st_mode);
    if (*out_directly || is_own) return copy_path(path, file);
    char resolved[PATH_MAX];
    if (!realpath(path, resolved)) return gantry__file_fail("write", path, errno);
    return copy_path(resolved, file);
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
        ssize_t done = gantry__file_put(
            fd, bytes, size < LONGEST_TRANSFER ? size : LONGEST_TRANSFER, GANTRY__FILE_NEXT);
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

/* Reports what close would report: 0 or errno. */
static int settle(int fd) {
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) return errno;
    return close(copy) == 0 || errno == EINTR ? 0 : errno;
}

/* Flushes the new name of the file, too; a file system that cannot do that does no harm. */
static void flush_directory(char *target) {
    char *slash = strrchr(target, '/');
    if (slash) *(slash == target ? slash + 1 : slash) = '\0';
    const int directory =
        gantry__file_open_retrying(slash ? target : ".", O_RDONLY | O_DIRECTORY, 0);
    if (directory < 0) return;
    (void)fsync(directory);
    (void)close(directory);
}

gantry_status_t gantry__new_file_end(gantry_new_file_t *file) {
    const bool is_beside = file->temporary[0] != '\0';
    const bool is_durable = is_beside && (file->flags & GANTRY__FILE_DURABLE);
    int error = is_durable && fsync(file->file) != 0 ? errno : 0;
    if (error == 0) error = settle(file->file);
    if (error == 0 && is_beside && rename(file->temporary, file->target) != 0) error = errno;
    if (error != 0) return gantry__file_fail("write", file->target, error);
    file->temporary[0] = '\0';
    gantry__new_file_abandon(file);
    if (is_durable) flush_directory(file->target);
    return GANTRY_OK;
}

/* Removes the file while its lock is held. */
void gantry__new_file_abandon(gantry_new_file_t *file) {
    if (file->file >= 0 && file->temporary[0]) (void)unlink(file->temporary);
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
    char path[PATH_MAX];
    struct stat info;
    if (gantry__directory_list(heap, folder, &names) == GANTRY_OK) {
        for (size_t i = 0; i < names.count; ++i) {
            if (!is_temporary(names.names[i], ending)) continue;
            const int length = snprintf(path, sizeof path, "%s/%s", folder, names.names[i]);
            if (length > 0 && (size_t)length < sizeof path && lstat(path, &info) == 0 &&
                info.st_uid == geteuid())
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
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        gantry__os_sleep_ns(10000000);
    }
    return false;
}

static gantry_status_t append(int fd, const char *path, const void *bytes, size_t size) {
    struct stat info = {0};
    const bool is_locked = lock_for_append(fd);
    const bool is_plain = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    if (write_fully(fd, bytes, size)) return GANTRY_OK;
    const int error = errno;
    if (is_plain && is_locked) (void)!ftruncate(fd, info.st_size);
    return gantry__file_fail("write", path, error);
}

gantry_status_t gantry__file_append(const char *path, const void *bytes, size_t size) {
    GANTRY__TRY(gantry__file_check_path("write a file", path));
    const int fd = gantry__file_open_retrying(
        path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0666);
    const int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) {
        const int error = errno;
        gantry__file_close(fd);
        return gantry__file_fail("open", path, error);
    }
    gantry_status_t status = append(fd, path, bytes, size);
    if (close(fd) == 0 || errno == EINTR || status != GANTRY_OK) return status;
    return gantry__file_fail("write", path, errno);
}
