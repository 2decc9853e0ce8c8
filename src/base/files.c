/* SPDX-License-Identifier: Apache-2.0 */
/* Files, in this order: failures with path and reason; reading a whole plain file, even one that
 * grows; locks; directories. */
#include "base/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/os/clock.h"
#include "base/os/error.h"
#include "base/os/locks.h"
#include "shared/errno_status.h"

#define FIRST_READ_BYTES ((size_t)1 << 16)
#define LOCK_PAUSE_NS 2000000

/* ---- failures ---- */

gantry_status_t gantry__file_fail(const char *doing, const char *path, int error) {
    char reason[128];
    gantry__os_error_text(error, reason, sizeof reason);
    return gantry__fail(gantry__status_of_errno(error), "cannot %s '%s': %s", doing, path, reason);
}

gantry_status_t gantry__file_check_path(const char *doing, const char *path) {
    if (path && path[0]) return GANTRY_OK;
    return gantry__refuse("cannot %s: the path is %s", doing, path ? "empty" : "NULL");
}

/* ---- reading ---- */

/* Reads up to size bytes; fewer only at the end. Returns -1 with errno on failure. */
static int64_t read_fully(int fd, char *bytes, size_t size) {
    size_t used = 0;
    while (used < size) {
        const int64_t got = gantry__os_read(fd, bytes + used, size - used);
        if (got == 0) break;
        if (got < 0) return -1;
        used += (size_t)got;
    }
    return (int64_t)used;
}

/* The kind of a file that is not a plain one. */
static const char *kind_of(gantry__os_kind_t kind) {
    switch (kind) {
        case GANTRY__OS_FOLDER: return "a directory";
        case GANTRY__OS_CHARACTERS:
        case GANTRY__OS_DEVICE: return "a device";
        case GANTRY__OS_PIPE: return "a pipe";
        case GANTRY__OS_SOCKET: return "a socket";
        case GANTRY__OS_LINK: return "a symbolic link";
        default: return "no plain file";
    }
}

static gantry_status_t check_plain(const char *doing, const char *path,
                                   const gantry__os_info_t *info) {
    if (info->kind == GANTRY__OS_PLAIN) return GANTRY_OK;
    return gantry__refuse("cannot %s '%s': it is %s; a plain file is accepted", doing, path,
                          kind_of(info->kind));
}

/* Examines an open file, which must be a plain one. */
static gantry_status_t examine_plain(const char *doing, const char *failing, const char *path,
                                     int file, gantry__os_info_t *out_info) {
    const int error = gantry__os_file_info(file, out_info);
    return error ? gantry__file_fail(failing, path, error) : check_plain(doing, path, out_info);
}

gantry_status_t gantry__file_check_kind(const char *path, gantry__os_kind_t kind) {
    return check_plain("open", path, &(const gantry__os_info_t){.kind = kind});
}

gantry_status_t gantry__file_check_plain(const char *path) {
    gantry__os_info_t info;
    if (gantry__os_path_info(path, &info) != 0) return GANTRY_OK; /* opening it gives the reason */
    return check_plain("open", path, &info);
}

/* Checks the file before it opens it, because opening a device may have an effect and opening a
 * pipe would wait for its writer. */
gantry_status_t gantry__file_open(const char *path, size_t max_bytes, int *out_file,
                                  uint64_t *out_size) {
    gantry__os_info_t info;
    *out_file = -1;
    *out_size = 0;
    GANTRY__TRY(gantry__file_check_path("read a file", path));
    GANTRY__TRY(gantry__file_check_plain(path));
    int fd = gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_NO_WAIT, 0);
    if (fd < 0) return gantry__file_fail("open", path, errno);
    gantry_status_t status = examine_plain("open", "read", path, fd, &info);
    if (status == GANTRY_OK && info.size > max_bytes) {
        status = gantry__fail(GANTRY_OUT_OF_RANGE, "'%s' has more than the %zu bytes accepted",
                              path, max_bytes);
    }
    if (status != GANTRY_OK) {
        gantry__file_close(fd);
        return status;
    }
    *out_file = fd;
    *out_size = info.size;
    return GANTRY_OK;
}

gantry_status_t gantry__file_read_next(int file, const char *path, void *bytes, size_t size,
                                       size_t *out_read) {
    const int64_t got = read_fully(file, bytes, size);
    *out_read = got < 0 ? 0 : (size_t)got;
    return got < 0 ? gantry__file_fail("read", path, errno) : GANTRY_OK;
}

/* Leaves out what a read has filled. */
static void skip_parts(gantry__os_part_t **parts, size_t *count, size_t filled) {
    for (; *count > 0 && filled >= (*parts)->size; ++*parts, --*count) filled -= (*parts)->size;
    if (*count == 0) return;
    (*parts)->data = (char *)(*parts)->data + filled;
    (*parts)->size -= filled;
}

gantry_status_t gantry__file_read_parts(int file, const char *path, uint64_t offset,
                                        gantry__os_part_t *parts, size_t count) {
    skip_parts(&parts, &count, 0);
    while (count > 0) {
        const int64_t got = gantry__os_read_parts(file, parts, count, offset);
        if (got < 0) return gantry__file_fail("read", path, errno);
        if (got == 0) {
            size_t left = 0;
            for (size_t i = 0; i < count; ++i) left += parts[i].size;
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
    return gantry__file_read_parts(file, path, offset, &(gantry__os_part_t){bytes, size}, 1);
}

void gantry__file_close(int file) {
    if (file >= 0) (void)gantry__os_close(file);
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
        const int64_t got =
            read_fully(fd, state->bytes + state->size, state->capacity - state->size);
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
    gantry__os_info_t info;
    const int error = gantry__os_file_info(file, &info);
    if (error) return gantry__file_fail("read", path, error);
    gantry_status_t status =
        info.size > max_bytes ? too_large(&state) : read_to_end(file, info.size, &state);
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

/* ---- locks ---- */

static gantry_status_t take_lock(int fd, const char *path, uint64_t timeout_ns) {
    const uint64_t start = gantry__now_ns();
    for (int error; (error = gantry__os_lock(fd, false)) != 0;) {
        if (error != EAGAIN) return gantry__file_fail("lock", path, error);
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
    gantry__os_info_t info;
    GANTRY__TRY(gantry__file_check_path("lock a file", path));
    int fd = gantry__os_open(path,
                             GANTRY__OS_READ | GANTRY__OS_WRITE | GANTRY__OS_CREATE |
                                 GANTRY__OS_NO_LINK | GANTRY__OS_NO_WAIT,
                             0666);
    if (fd < 0) return gantry__file_fail("lock", path, errno);
    gantry_status_t status = examine_plain("lock", "lock", path, fd, &info);
    if (status == GANTRY_OK) status = take_lock(fd, path, timeout_ns);
    if (status == GANTRY_OK) {
        *out_lock = fd;
    } else {
        gantry__file_close(fd);
    }
    return status;
}

/* Another process that has the descriptor would keep the lock if the file were only closed. */
void gantry__file_unlock(int lock) {
    if (lock < 0) return;
    gantry__os_unlock(lock);
    gantry__file_close(lock);
}

/* ---- directories ---- */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct collected_names_t {
    gantry__directory_names_t *names;
    bool is_short; /* of memory */
} collected_names_t;

static bool collect_name(void *user, const char *name) {
    collected_names_t *collected = user;
    gantry__directory_names_t *names = collected->names;
    const bool has_room = gantry__heap_grow(names->heap, &names->names, names->count,
                                            &names->capacity, sizeof names->names[0]);
    char *copy = has_room ? gantry__heap_strdup(names->heap, name) : NULL;
    if (copy) names->names[names->count++] = copy;
    collected->is_short = !copy;
    return copy != NULL;
}

gantry_status_t gantry__directory_list(const gantry__heap_t *heap, const char *path,
                                       gantry__directory_names_t *out_names) {
    collected_names_t collected = {.names = out_names};
    *out_names = (gantry__directory_names_t){.heap = heap};
    GANTRY__TRY(gantry__file_check_path("list a directory", path));
    const int error = gantry__os_list(path, collect_name, &collected);
    gantry_status_t status = error                ? gantry__file_fail("list directory", path, error)
                             : collected.is_short ? GANTRY_RESOURCE_EXHAUSTED
                                                  : GANTRY_OK;
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
