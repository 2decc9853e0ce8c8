/* SPDX-License-Identifier: Apache-2.0 */
/* Files by POSIX calls, in this order: failures with path and reason; reading a whole plain file,
 * even one that grows; writing; locks; directories.
 *
 * A plain file is written under a temporary name in its directory and then renamed, so that readers
 * see the old file or the new one. A call that a signal interrupts is repeated. A lock is a file
 * locked by flock: it ends with its process. */
#define _XOPEN_SOURCE 700

#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/thread.h"

#define TEMPORARY_ATTEMPTS 64
#define MOST_STEM 200
#define FIRST_READ_BYTES ((size_t)1 << 16)
#define LOCK_PAUSE_NS 2000000
/* one read or write call; Linux ends them at 2 GiB anyway */
#define LONGEST_TRANSFER ((size_t)1 << 30)

/* ---- failures ---- */

static gantry_status_t status_of_errno(int error) {
    switch (error) {
        case ENOENT: return GANTRY_NOT_FOUND;
        case EEXIST: return GANTRY_ALREADY_EXISTS;
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

gantry_status_t gantry__file_fail(const char *doing, const char *path, int error) {
    char reason[128];
    if (strerror_r(error, reason, sizeof reason) != 0)
        (void)snprintf(reason, sizeof reason, "errno %d", error);
    return gantry__fail(status_of_errno(error), "cannot %s '%s': %s", doing, path, reason);
}

static gantry_status_t check_path(const char *doing, const char *path) {
    if (path && path[0]) return GANTRY_OK;
    return gantry__fail(GANTRY_INVALID_ARGUMENT, "cannot %s: the path is %s", doing,
                        path ? "empty" : "NULL");
}

static int open_retrying(const char *path, int flags, mode_t mode) {
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* ---- reading ---- */

/* Up to size bytes; fewer only at the end. -1 with errno on failure. */
static ssize_t read_fully(int fd, char *bytes, size_t size) {
    size_t used = 0;
    while (used < size) {
        size_t want = size - used < LONGEST_TRANSFER ? size - used : LONGEST_TRANSFER;
        ssize_t got = read(fd, bytes + used, want);
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

/* The kind of a file that is not a plain one. */
static const char *kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFDIR: return "a directory";
        case S_IFCHR:
        case S_IFBLK: return "a device";
        case S_IFIFO: return "a pipe";
        case S_IFSOCK: return "a socket";
        case S_IFLNK: return "a symbolic link";
        default: return "no plain file";
    }
}

static gantry_status_t check_plain(const char *doing, const char *path, const struct stat *info) {
    if (S_ISREG(info->st_mode)) return GANTRY_OK;
    return gantry__fail(GANTRY_INVALID_ARGUMENT,
                        "cannot %s '%s': it is %s; a plain file is accepted", doing, path,
                        kind_of(info->st_mode));
}

gantry_status_t gantry__file_check_kind(const char *path, const struct stat *info) {
    return check_plain("open", path, info);
}

gantry_status_t gantry__file_check_plain(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) return GANTRY_OK; /* opening it gives the reason */
    return check_plain("open", path, &info);
}

/* Checks the file before it opens it, because opening a device may have an effect and opening a
 * pipe would wait for its writer. */
gantry_status_t gantry__file_open(const char *path, size_t max_bytes, int *out_file,
                                  uint64_t *out_size) {
    struct stat info;
    *out_file = -1;
    *out_size = 0;
    GANTRY__TRY(check_path("read a file", path));
    GANTRY__TRY(gantry__file_check_plain(path));
    int fd = open_retrying(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) return gantry__file_fail("open", path, errno);
    gantry_status_t status = fstat(fd, &info) == 0 ? check_plain("open", path, &info)
                                                   : gantry__file_fail("read", path, errno);
    if (status == GANTRY_OK && (uintmax_t)info.st_size > max_bytes) {
        status = gantry__fail(GANTRY_OUT_OF_RANGE, "'%s' has more than the %zu bytes accepted",
                              path, max_bytes);
    }
    if (status != GANTRY_OK) {
        (void)close(fd);
        return status;
    }
    *out_file = fd;
    *out_size = (uint64_t)info.st_size;
    return GANTRY_OK;
}

gantry_status_t gantry__file_read_next(int file, const char *path, void *bytes, size_t size,
                                       size_t *out_read) {
    ssize_t got = read_fully(file, bytes, size);
    *out_read = got < 0 ? 0 : (size_t)got;
    return got < 0 ? gantry__file_fail("read", path, errno) : GANTRY_OK;
}

void gantry__file_close(int file) {
    if (file >= 0) (void)close(file);
}

typedef struct growing_read_t {
    const gantry__heap_t *heap;
    const char *path;
    char *bytes;
    size_t capacity; /* bytes allocated from the heap */
    size_t size;
    size_t max_bytes;
} growing_read_t;

static gantry_status_t too_large(const growing_read_t *state) {
    return gantry__fail(GANTRY_OUT_OF_RANGE, "'%s' has more than the %zu bytes accepted",
                        state->path, state->max_bytes);
}

/* The size that stat reports is only a first estimate: it is 0 in /proc, and the file may grow. */
static gantry_status_t read_to_end(int fd, uint64_t told, growing_read_t *state) {
    /* one byte more, so that the first read meets the end */
    state->capacity = told > 0 ? (size_t)told + 1 : FIRST_READ_BYTES;
    state->bytes = gantry__heap_alloc(state->heap, state->capacity);
    if (!state->bytes)
        return gantry__fail_prefix(GANTRY_RESOURCE_EXHAUSTED, "cannot read '%s': ", state->path);
    for (;;) {
        ssize_t got = read_fully(fd, state->bytes + state->size, state->capacity - state->size);
        if (got < 0) return gantry__file_fail("read", state->path, errno);
        state->size += (size_t)got;
        if (state->size > state->max_bytes) return too_large(state);
        if (state->size < state->capacity) return GANTRY_OK;
        size_t wanted = state->capacity > SIZE_MAX / 2 ? SIZE_MAX : state->capacity * 2;
        char *grown = gantry__heap_resize(state->heap, state->bytes, state->capacity, wanted, 1);
        if (!grown)
            return gantry__fail_prefix(GANTRY_RESOURCE_EXHAUSTED,
                                       "cannot read '%s': ", state->path);
        state->bytes = grown;
        state->capacity = wanted;
    }
}

gantry_status_t gantry__file_read_open(const gantry__heap_t *heap, int file, const char *path,
                                       size_t max_bytes, void **out_bytes, size_t *out_size) {
    *out_bytes = NULL;
    *out_size = 0;
    growing_read_t state = {.heap = heap, .path = path, .max_bytes = max_bytes};
    struct stat info;
    gantry_status_t status;
    if (fstat(file, &info) != 0) return gantry__file_fail("read", path, errno);
    status = (uintmax_t)info.st_size > max_bytes
                 ? too_large(&state)
                 : read_to_end(file, (uint64_t)info.st_size, &state);
    if (status != GANTRY_OK) goto fail;
    char *exact = gantry__heap_resize(heap, state.bytes, state.capacity, state.size, 1);
    if (!exact) {
        status = GANTRY_RESOURCE_EXHAUSTED;
        goto fail;
    }
    *out_bytes = exact;
    *out_size = state.size;
    return GANTRY_OK;
fail:
    gantry__heap_free(heap, state.bytes, state.capacity);
    return status;
}

gantry_status_t gantry__file_read(const gantry__heap_t *heap, const char *path, size_t max_bytes,
                                  void **out_bytes, size_t *out_size) {
    int fd;
    uint64_t told;
    *out_bytes = NULL;
    *out_size = 0;
    GANTRY__TRY(gantry__file_open(path, max_bytes, &fd, &told));
    const gantry_status_t status =
        gantry__file_read_open(heap, fd, path, max_bytes, out_bytes, out_size);
    gantry__file_close(fd);
    return status;
}

/* ---- writing ---- */

static bool is_pending(int number) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
}

ssize_t gantry__file_put(int file, const void *bytes, size_t size, int64_t place) {
    const struct timespec now = {0, 0};
    sigset_t beyond, before;
    (void)sigemptyset(&beyond);
    (void)sigaddset(&beyond, SIGXFSZ);
    bool is_blocked = pthread_sigmask(SIG_BLOCK, &beyond, &before) == 0;
    bool was_pending = is_pending(SIGXFSZ);
    ssize_t done = place == GANTRY__FILE_NEXT ? write(file, bytes, size)
                                              : pwrite(file, bytes, size, (off_t)place);
    const int error = errno;
    /* the system sends the signal to the thread that writes */
    if (done < 0 && error == EFBIG && is_blocked && !was_pending)
        (void)sigtimedwait(&beyond, NULL, &now);
    if (is_blocked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return done;
}

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

/* Writes and closes fd. Returns 0 or errno. */
static int fill_and_close(int fd, const gantry__file_piece_t *pieces, size_t piece_count,
                          bool sync) {
    int error = 0;
    for (size_t i = 0; i < piece_count && !error; ++i) {
        if (!write_fully(fd, pieces[i].bytes, pieces[i].size)) error = errno;
    }
    if (!error && sync && fsync(fd) != 0) error = errno;
    if (close(fd) != 0 && !error && errno != EINTR) error = errno;
    return error;
}

/* Bytes of the path that a temporary name begins with: a file name of 255 bytes, the most, leaves
 * no room for an ending. */
static int temporary_stem(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t bytes = strlen(name);
    return (int)((size_t)(name - path) + (bytes < MOST_STEM ? bytes : MOST_STEM));
}

/* Creates path.NUMBER.tmp with a free number; the user's file mode mask applies. -1 with errno. */
static int open_temporary(const char *path, mode_t mode, char *out_name, size_t name_bytes) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t number =
        (uint64_t)now.tv_nsec ^ ((uint64_t)getpid() << 32) ^ (uint64_t)(uintptr_t)out_name;
    for (int attempt = 0; attempt < TEMPORARY_ATTEMPTS; ++attempt) {
        number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int length = snprintf(out_name, name_bytes, "%.*s.%08" PRIx32 ".tmp", temporary_stem(path),
                              path, (uint32_t)(number >> 32));
        if (length < 0 || (size_t)length >= name_bytes) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open_retrying(out_name, O_WRONLY | O_CREAT | O_EXCL, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static gantry_status_t write_in_place(const char *path, const gantry__file_piece_t *pieces,
                                      size_t piece_count) {
    int fd = open_retrying(path, O_WRONLY | O_NOCTTY, 0);
    if (fd < 0) return gantry__file_fail("open", path, errno);
    int error = fill_and_close(fd, pieces, piece_count, false);
    return error ? gantry__file_fail("write", path, error) : GANTRY_OK;
}

static gantry_status_t write_and_rename(const char *path, const char *target,
                                        const gantry__file_piece_t *pieces, size_t piece_count,
                                        unsigned flags) {
    char temporary[PATH_MAX];
    const mode_t mode = flags & GANTRY__FILE_OWN ? 0600 : 0666;
    int fd = open_temporary(target, mode, temporary, sizeof temporary);
    if (fd < 0) return gantry__file_fail("write", path, errno);
    int error = fill_and_close(fd, pieces, piece_count, (flags & GANTRY__FILE_DURABLE) != 0);
    if (!error && rename(temporary, target) != 0) error = errno;
    if (!error) return GANTRY_OK;
    (void)unlink(temporary);
    return gantry__file_fail("write", path, error);
}

gantry_status_t gantry__file_write(const char *path, const gantry__file_piece_t *pieces,
                                   size_t piece_count, unsigned flags) {
    GANTRY__TRY(check_path("write a file", path));
    if (flags & GANTRY__FILE_OWN) return write_and_rename(path, path, pieces, piece_count, flags);
    struct stat info;
    char resolved[PATH_MAX];
    const char *target = path;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return gantry__file_fail("write", path, EISDIR);
        if (!S_ISREG(info.st_mode)) return write_in_place(path, pieces, piece_count);
        target = realpath(path, resolved);
        if (!target) return gantry__file_fail("write", path, errno);
    } else if (errno != ENOENT) {
        return gantry__file_fail("write", path, errno);
    }
    return write_and_rename(path, target, pieces, piece_count, flags);
}

/* ---- locks ---- */

/* Locks by flock, which belongs to the open file: two threads exclude each other as two processes
 * do. */
static gantry_status_t take_lock(int fd, const char *path, uint64_t timeout_ns) {
    const uint64_t start = gantry__now_ns();
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return gantry__file_fail("lock", path, errno);
        if (gantry__now_ns() - start >= timeout_ns) {
            return gantry__fail(GANTRY_DEADLINE_EXCEEDED,
                                "cannot lock '%s': another holder has kept it for more than %g s",
                                path, (double)timeout_ns * 1e-9);
        }
        (void)nanosleep(&pause, NULL);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__file_lock(const char *path, uint64_t timeout_ns, int *out_lock) {
    *out_lock = -1;
    GANTRY__TRY(check_path("lock a file", path));
    struct stat info;
    int fd = open_retrying(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd < 0) return gantry__file_fail("lock", path, errno);
    gantry_status_t status = fstat(fd, &info) == 0 ? check_plain("lock", path, &info)
                                                   : gantry__file_fail("lock", path, errno);
    if (status == GANTRY_OK) status = take_lock(fd, path, timeout_ns);
    if (status == GANTRY_OK) {
        *out_lock = fd;
    } else {
        (void)close(fd);
    }
    return status;
}

/* A child of fork has the descriptor, too: closing would leave it the lock. */
void gantry__file_unlock(int lock) {
    if (lock < 0) return;
    (void)flock(lock, LOCK_UN);
    (void)close(lock);
}

gantry_status_t gantry__file_remove(const char *path) {
    GANTRY__TRY(check_path("remove a file", path));
    if (unlink(path) == 0 || errno == ENOENT) return GANTRY_OK;
    return gantry__file_fail("remove", path, errno);
}

gantry_status_t gantry__file_size(const char *path, uint64_t *out_bytes) {
    *out_bytes = 0;
    GANTRY__TRY(check_path("measure a file", path));
    struct stat info;
    if (stat(path, &info) != 0) return gantry__file_fail("measure", path, errno);
    if (!S_ISREG(info.st_mode)) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "cannot measure '%s': not a plain file", path);
    }
    *out_bytes = (uint64_t)info.st_size;
    return GANTRY_OK;
}

/* ---- directories ---- */

static int make_one(const char *path) {
    if (mkdir(path, 0700) == 0) return 0;
    int error = errno;
    struct stat info;
    /* Another process may have made it just now, and some systems report EROFS or EACCES for a
     * directory that exists. */
    if (stat(path, &info) == 0) return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    return error;
}

gantry_status_t gantry__directory_make(const char *path) {
    GANTRY__TRY(check_path("make a directory", path));
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof part) return gantry__file_fail("make directory", path, ENAMETOOLONG);
    for (size_t i = 1; i <= length; ++i) {
        bool ends_a_name = (path[i] == '/' || path[i] == '\0') && path[i - 1] != '/';
        if (!ends_a_name) continue;
        memcpy(part, path, i);
        part[i] = '\0';
        int error = make_one(part);
        if (error) return gantry__file_fail("make directory", part, error);
    }
    return GANTRY_OK;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static gantry_status_t collect_names(DIR *directory, const char *path,
                                     gantry__directory_names_t *names) {
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry && errno) return gantry__file_fail("list directory", path, errno);
        if (!entry) return GANTRY_OK;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (!gantry__heap_grow(names->heap, &names->names, names->count, &names->capacity,
                               sizeof names->names[0])) {
            return GANTRY_RESOURCE_EXHAUSTED;
        }
        char *name = gantry__heap_strdup(names->heap, entry->d_name);
        if (!name) return GANTRY_RESOURCE_EXHAUSTED;
        names->names[names->count++] = name;
    }
}

gantry_status_t gantry__directory_list(const gantry__heap_t *heap, const char *path,
                                       gantry__directory_names_t *out_names) {
    *out_names = (gantry__directory_names_t){.heap = heap};
    GANTRY__TRY(check_path("list a directory", path));
    DIR *directory = opendir(path);
    if (!directory) return gantry__file_fail("list directory", path, errno);
    gantry_status_t status = collect_names(directory, path, out_names);
    (void)closedir(directory);
    if (status != GANTRY_OK) {
        gantry__directory_names_deinit(out_names);
    } else if (out_names->count > 1) {
        qsort(out_names->names, out_names->count, sizeof out_names->names[0], compare_names);
    }
    return status;
}

void gantry__directory_names_deinit(gantry__directory_names_t *names) {
    for (size_t i = 0; i < names->count; ++i) gantry__heap_free_text(names->heap, names->names[i]);
    gantry__heap_free(names->heap, names->names, names->capacity * sizeof names->names[0]);
    *names = (gantry__directory_names_t){.heap = names->heap};
}
