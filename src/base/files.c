/* SPDX-License-Identifier: Apache-2.0 */
/* Files by POSIX calls, in this order: failures with path and reason; reading a whole plain file,
 * even one that grows; writing; locks; directories.
 *
 * A call that a signal interrupts is repeated. A lock is a file locked by flock: it ends with its
 * process. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE /* preadv */

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
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/os/thread.h"

#define FIRST_READ_BYTES ((size_t)1 << 16)
#define LOCK_PAUSE_NS 2000000
/* one read call; Linux ends it at 2 GiB anyway */
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

gantry_status_t gantry__file_check_path(const char *doing, const char *path) {
    if (path && path[0]) return GANTRY_OK;
    return gantry__refuse("cannot %s: the path is %s", doing, path ? "empty" : "NULL");
}

int gantry__file_open_retrying(const char *path, int flags, mode_t mode) {
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* ---- reading ---- */

/* Reads up to size bytes; fewer only at the end. Returns -1 with errno on failure. */
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
    return gantry__refuse("cannot %s '%s': it is %s; a plain file is accepted", doing, path,
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
    GANTRY__TRY(gantry__file_check_path("read a file", path));
    GANTRY__TRY(gantry__file_check_plain(path));
    int fd = gantry__file_open_retrying(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
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

/* Leaves out what a read has filled. */
static void skip_parts(struct iovec **parts, size_t *count, size_t filled) {
    for (; *count > 0 && filled >= (*parts)->iov_len; ++*parts, --*count)
        filled -= (*parts)->iov_len;
    if (*count == 0) return;
    (*parts)->iov_base = (char *)(*parts)->iov_base + filled;
    (*parts)->iov_len -= filled;
}

gantry_status_t gantry__file_read_parts(int file, const char *path, uint64_t offset,
                                        struct iovec *parts, size_t count) {
    skip_parts(&parts, &count, 0);
    while (count > 0) {
        const ssize_t got = preadv(file, parts, (int)count, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return gantry__file_fail("read", path, errno);
        if (got == 0) {
            size_t left = 0;
            for (size_t i = 0; i < count; ++i) left += parts[i].iov_len;
            return gantry__fail(GANTRY_DATA_LOSS,
                                "cannot read '%s': it ends at byte %" PRIu64
                                ", %zu bytes too early",
                                path, offset, left);
        }
        offset += (uint64_t)got;
        skip_parts(&parts, &count, (size_t)got);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__file_read_at(int file, const char *path, uint64_t offset, void *bytes,
                                     size_t size) {
    return gantry__file_read_parts(file, path, offset, &(struct iovec){bytes, size}, 1);
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
    (void)sigaddset(&beyond, SIGPIPE);
    bool is_blocked = pthread_sigmask(SIG_BLOCK, &beyond, &before) == 0;
    bool was_pending = is_pending(SIGXFSZ) || is_pending(SIGPIPE);
    ssize_t done = place == GANTRY__FILE_NEXT ? write(file, bytes, size)
                                              : pwrite(file, bytes, size, (off_t)place);
    const int error = errno;
    /* the system sends the signal to the thread that writes */
    if (done < 0 && (error == EFBIG || error == EPIPE) && is_blocked && !was_pending)
        (void)sigtimedwait(&beyond, NULL, &now);
    if (is_blocked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return done;
}

/* ---- locks ---- */

/* Locks by flock, which belongs to the open file: two threads exclude each other as two processes
 * do. */
static gantry_status_t take_lock(int fd, const char *path, uint64_t timeout_ns) {
    const uint64_t start = gantry__now_ns();
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return gantry__file_fail("lock", path, errno);
        if (gantry__now_ns() - start >= timeout_ns) {
            return gantry__fail(GANTRY_DEADLINE_EXCEEDED,
                                "cannot lock '%s': another holder has kept it for more than %g s",
                                path, (double)timeout_ns * 1e-9);
        }
        gantry__os_sleep_ns(LOCK_PAUSE_NS);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__file_lock(const char *path, uint64_t timeout_ns, int *out_lock) {
    *out_lock = -1;
    struct stat info;
    GANTRY__TRY(gantry__file_check_path("lock a file", path));
    int fd = gantry__file_open_retrying(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                                        0666);
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

/* ---- directories ---- */

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
    GANTRY__TRY(gantry__file_check_path("list a directory", path));
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
