/* SPDX-License-Identifier: Apache-2.0 */
/* src/kernel/binary_store.c says how a file is laid out. A file of the cache has a name of 32 hex
 * digits and ".bin"; a temporary one has 8 more digits and ".tmp" after it. All other entries of
 * the folder are another's, whatever they hold: they are counted, and must never be opened or
 * removed.
 *
 * Every access must be relative to the open folder and must follow no symbolic link. */
#define _POSIX_C_SOURCE 200809L
#include "cache/cache.h"
#include "shared/printable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#include <xxhash.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#define KEY_DIGITS 32
#define MOST_LABEL_BYTES 1024u
#define MOST_FILE_BYTES ((uint64_t)256 << 20)

typedef struct head_t {
    char magic[8];
    uint64_t size, checksum, key_low, key_high, label_size;
} head_t;

_Static_assert(sizeof(head_t) == 48, "the head is read as it is");

/* ---- names ---- */

static size_t hex_digits(const char *text) { return strspn(text, "0123456789abcdef"); }

/* Whether the cache itself makes files of this name. */
static bool is_cache_name(const char *name, cache_kind_t *out_kind) {
    if (hex_digits(name) != KEY_DIGITS || strncmp(name + KEY_DIGITS, ".bin", 4) != 0) return false;
    const char *rest = name + KEY_DIGITS + 4;
    *out_kind = *rest ? CACHE_UNFINISHED : CACHE_PROGRAM;
    return !*rest || (*rest == '.' && hex_digits(rest + 1) == 8 && strcmp(rest + 9, ".tmp") == 0);
}

char *cache_user_name(uid_t user, char *out, size_t out_bytes) {
    const struct passwd *entry = getpwuid(user);
    if (entry) (void)snprintf(out, out_bytes, "%s (%lu)", entry->pw_name, (unsigned long)user);
    if (!entry) (void)snprintf(out, out_bytes, "%lu", (unsigned long)user);
    return out;
}

/* ---- the label ---- */

/* Copies up to the line feed, fit for a terminal. Returns what follows. */
static const char *take_line(const char *at, const char *end, char *out, size_t out_bytes) {
    size_t used = 0;
    for (; at < end && *at != '\n'; ++at) {
        if (used + 1 < out_bytes) out[used++] = *at ? *at : '?';
    }
    out[used] = '\0';
    gantry__make_printable(out, '\n');
    return at < end ? at + 1 : end;
}

static void take_label(cache_file_t *file, const char *label, size_t size) {
    const char *end = label + size;
    label = take_line(label, end, file->backend, sizeof file->backend);
    label = take_line(label, end, file->hardware, sizeof file->hardware);
    label = take_line(label, end, file->driver, sizeof file->driver);
    (void)take_line(label, end, file->program, sizeof file->program);
}

static void damage(cache_file_t *file, const char *why) {
    file->is_damaged = true;
    (void)snprintf(file->why, sizeof file->why, "%s", why);
}

/* Checks what the head shows, without the rest of the file. */
static bool check_head(cache_file_t *file, const head_t *head, size_t got) {
    char key[KEY_DIGITS + 1];
    if (got >= sizeof head->magic && memcmp(head->magic, "GANTRYK1", 8) == 0) {
        file->kind = CACHE_OLD;
        return false;
    }
    if (got < sizeof *head) {
        (void)snprintf(file->why, sizeof file->why,
                       "it has %" PRIu64 " bytes, and its head has %zu", file->size_bytes,
                       sizeof *head);
        file->is_damaged = true;
        return false;
    }
    (void)snprintf(key, sizeof key, "%016" PRIx64 "%016" PRIx64, head->key_high, head->key_low);
    if (memcmp(head->magic, "GANTRYK2", 8) != 0)
        damage(file, "it does not begin with \"GANTRYK2\"");
    else if (strncmp(key, file->name, KEY_DIGITS) != 0)
        damage(file, "its name is not its key");
    else if (head->label_size > MOST_LABEL_BYTES ||
             head->size != file->size_bytes - sizeof *head - head->label_size)
        damage(file, "its length is not the one in its head");
    return !file->is_damaged;
}

static int cache_files_open_file(const cache_folder_t *self, cache_file_t *file) {
    int handle = openat(self->handle, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (handle < 0)
        (void)snprintf(file->why, sizeof file->why, "it cannot be opened: %s", strerror(errno));
    return handle;
}

static void cache_files_read_head(const cache_folder_t *self, cache_file_t *file) {
    union {
        head_t head;
        char bytes[sizeof(head_t) + MOST_LABEL_BYTES];
    } begin;
    int handle = cache_files_open_file(self, file);
    if (handle < 0) return;
    ssize_t got = read(handle, begin.bytes, sizeof begin.bytes);
    (void)close(handle);
    if (got < 0) {
        (void)snprintf(file->why, sizeof file->why, "it cannot be read: %s", strerror(errno));
        return;
    }
    file->is_read = true;
    if (check_head(file, &begin.head, (size_t)got) &&
        sizeof begin.head + begin.head.label_size <= (size_t)got)
        take_label(file, begin.bytes + sizeof begin.head, (size_t)begin.head.label_size);
}

/* ---- the whole file ---- */

static bool read_all(int handle, unsigned char *bytes, size_t size) {
    while (size > 0) {
        ssize_t got = read(handle, bytes, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

static bool checksum_is_right(const unsigned char *bytes) {
    head_t head;
    memcpy(&head, bytes, sizeof head);
    const unsigned char *label = bytes + sizeof head;
    uint64_t seed = XXH3_64bits_withSeed(label, (size_t)head.label_size, 0);
    return XXH3_64bits_withSeed(label + head.label_size, (size_t)head.size, seed) == head.checksum;
}

void cache_file_verify(const cache_folder_t *self, cache_file_t *file) {
    if (file->kind != CACHE_PROGRAM || !file->is_read || file->is_damaged) return;
    if (file->size_bytes > MOST_FILE_BYTES) {
        damage(file, "it has more than the 256 MiB that a program binary may have");
        return;
    }
    unsigned char *bytes = malloc((size_t)file->size_bytes);
    int handle = cache_files_open_file(self, file);
    if (handle < 0 || !bytes) {
        file->is_read = false;
        if (!bytes) (void)snprintf(file->why, sizeof file->why, "there is no memory to read it");
    } else if (!read_all(handle, bytes, (size_t)file->size_bytes)) {
        damage(file, "it became shorter, or the disk fails");
    } else {
        /* it may have been replaced since the list was made */
        head_t head;
        memcpy(&head, bytes, sizeof head);
        if (check_head(file, &head, sizeof head) && !checksum_is_right(bytes))
            damage(file, "its checksum is wrong");
    }
    if (handle >= 0) (void)close(handle);
    free(bytes);
}

bool cache_file_remove(const cache_folder_t *self, cache_file_t *file) {
    struct stat info;
    if (fstatat(self->handle, file->name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT; /* another process removed it */
    if (!S_ISREG(info.st_mode)) {
        (void)snprintf(file->why, sizeof file->why, "it is no plain file");
        return false;
    }
    if (unlinkat(self->handle, file->name, 0) == 0 || errno == ENOENT) return true;
    (void)snprintf(file->why, sizeof file->why, "%s", strerror(errno));
    return false;
}

/* ---- the folder ---- */

bool cache_folder_is_writable(cache_folder_t *self) {
    struct stat info;
    char owner[128];
    if (self->handle < 0 || faccessat(self->handle, ".", W_OK | X_OK, AT_EACCESS) == 0) return true;
    const int error = errno;
    if (error == EROFS) {
        (void)snprintf(self->why, sizeof self->why, "it is on a read-only file system");
    } else if (error == EACCES && fstat(self->handle, &info) == 0 && info.st_uid != geteuid()) {
        (void)snprintf(self->why, sizeof self->why,
                       "it belongs to user %s, and only this user may remove its files",
                       cache_user_name(info.st_uid, owner, sizeof owner));
    } else {
        (void)snprintf(self->why, sizeof self->why, "%s", strerror(error));
    }
    return false;
}

static bool cache_files_add_file(cache_folder_t *self, const char *name, cache_kind_t kind,
                                 const struct stat *info) {
    if (self->count == self->capacity) {
        size_t wanted = self->capacity ? 2 * self->capacity : 64;
        cache_file_t *grown = realloc(self->files, wanted * sizeof *grown);
        if (!grown) return false;
        self->files = grown;
        self->capacity = wanted;
    }
    cache_file_t *file = &self->files[self->count++];
    *file = (cache_file_t){.kind = kind,
                           .size_bytes = (uint64_t)info->st_size,
                           .written = (int64_t)info->st_mtime,
                           .owner = info->st_uid};
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    if (kind == CACHE_PROGRAM) cache_files_read_head(self, file);
    return true;
}

static int newest_first(const void *left, const void *right) {
    const cache_file_t *a = left, *b = right;
    if (a->written != b->written) return a->written < b->written ? 1 : -1;
    return strcmp(a->name, b->name);
}

static bool cache_files_fail(cache_folder_t *self, int error) {
    (void)snprintf(self->why, sizeof self->why, "%s", strerror(error));
    return false;
}

static bool collect(cache_folder_t *self, DIR *directory) {
    for (;;) {
        struct stat info;
        cache_kind_t kind;
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry) return errno ? cache_files_fail(self, errno) : true;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (!is_cache_name(entry->d_name, &kind) ||
            fstatat(self->handle, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode)) {
            ++self->foreign;
        } else if (!cache_files_add_file(self, entry->d_name, kind, &info)) {
            return cache_files_fail(self, ENOMEM);
        }
    }
}

bool cache_folder_open(cache_folder_t *self, const char *path) {
    *self = (cache_folder_t){.handle = -1};
    if (strlen(path) >= sizeof self->path) return cache_files_fail(self, ENAMETOOLONG);
    (void)snprintf(self->path, sizeof self->path, "%s", path);
    self->handle = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->handle < 0) return errno == ENOENT ? true : cache_files_fail(self, errno);
    int again = openat(self->handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = again < 0 ? NULL : fdopendir(again);
    if (!directory) {
        int error = errno;
        if (again >= 0) (void)close(again);
        return cache_files_fail(self, error);
    }
    bool good = collect(self, directory);
    (void)closedir(directory);
    if (self->count > 1) qsort(self->files, self->count, sizeof self->files[0], newest_first);
    return good;
}

void cache_folder_close(cache_folder_t *self) {
    if (self->handle >= 0) (void)close(self->handle);
    free(self->files);
    *self = (cache_folder_t){.handle = -1};
}
