/* SPDX-License-Identifier: Apache-2.0 */
/* src/kernel/binary_store.c says how a file is laid out. A file of the cache has a name of 32 hex
 * digits and ".bin"; a temporary one has 8 more digits and ".tmp" after it. All other entries of
 * the folder are another's, whatever they hold: they are counted, and must never be opened or
 * removed.
 *
 * Every access to a file must be relative to the open folder and must follow no symbolic link. */
#include "cache/cache.h"
#include "shared/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/program_files.h"
#include "base/os/users.h"

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

char *cache_user_name(uint64_t user, char *out, size_t out_bytes) {
    char name[128];
    if (gantry__os_user_name(user, name, sizeof name))
        (void)snprintf(out, out_bytes, "%s (%" PRIu64 ")", name, user);
    else
        (void)snprintf(out, out_bytes, "%" PRIu64, user);
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
    int handle = gantry__os_open_in(self->handle, file->name,
                                    GANTRY__OS_READ | GANTRY__OS_NO_LINK | GANTRY__OS_NO_WAIT, 0);
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
    const int64_t got = gantry__os_read(handle, begin.bytes, sizeof begin.bytes);
    (void)gantry__os_close(handle);
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
        const int64_t got = gantry__os_read(handle, bytes, size);
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
    if (handle >= 0) (void)gantry__os_close(handle);
    free(bytes);
}

bool cache_file_remove(const cache_folder_t *self, cache_file_t *file) {
    gantry__os_info_t info;
    const int examined = gantry__os_info_in(self->handle, file->name, &info);
    if (examined) return examined == ENOENT; /* another process removed it */
    if (info.kind != GANTRY__OS_PLAIN) {
        (void)snprintf(file->why, sizeof file->why, "it is no plain file");
        return false;
    }
    const int error = gantry__os_remove_in(self->handle, file->name);
    if (error == 0 || error == ENOENT) return true;
    (void)snprintf(file->why, sizeof file->why, "%s", strerror(error));
    return false;
}

/* ---- the folder ---- */

bool cache_folder_is_writable(cache_folder_t *self) {
    gantry__os_info_t info;
    char owner[160];
    const int64_t user = gantry__os_acting_user();
    const int error = self->handle < 0
                          ? 0
                          : gantry__os_may(self->path, GANTRY__OS_MAY_WRITE | GANTRY__OS_MAY_RUN);
    if (error == 0) return true;
    if (error == EROFS) {
        (void)snprintf(self->why, sizeof self->why, "it is on a read-only file system");
    } else if (error == EACCES && user >= 0 && gantry__os_file_info(self->handle, &info) == 0 &&
               info.user != (uint64_t)user) {
        (void)snprintf(self->why, sizeof self->why,
                       "it belongs to user %s, and only this user may remove its files",
                       cache_user_name(info.user, owner, sizeof owner));
    } else {
        (void)snprintf(self->why, sizeof self->why, "%s", strerror(error));
    }
    return false;
}

static bool cache_files_add_file(cache_folder_t *self, const char *name, cache_kind_t kind,
                                 const gantry__os_info_t *info) {
    if (self->count == self->capacity) {
        size_t wanted = self->capacity ? 2 * self->capacity : 64;
        cache_file_t *grown = realloc(self->files, wanted * sizeof *grown);
        if (!grown) return false;
        self->files = grown;
        self->capacity = wanted;
    }
    cache_file_t *file = &self->files[self->count++];
    *file = (cache_file_t){
        .kind = kind, .size_bytes = info->size, .written = info->modified_s, .owner = info->user};
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

static bool collect(void *user, const char *name) {
    cache_folder_t *self = user;
    gantry__os_info_t info;
    cache_kind_t kind;
    if (!is_cache_name(name, &kind) || gantry__os_info_in(self->handle, name, &info) != 0 ||
        info.kind != GANTRY__OS_PLAIN) {
        ++self->foreign;
        return true;
    }
    return cache_files_add_file(self, name, kind, &info) || cache_files_fail(self, ENOMEM);
}

bool cache_folder_open(cache_folder_t *self, const char *path) {
    *self = (cache_folder_t){.handle = -1};
    if (strlen(path) >= sizeof self->path) return cache_files_fail(self, ENAMETOOLONG);
    (void)snprintf(self->path, sizeof self->path, "%s", path);
    self->handle = gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_IS_FOLDER, 0);
    if (self->handle < 0) return errno == ENOENT ? true : cache_files_fail(self, errno);
    const int error = gantry__os_list(path, collect, self);
    if (error) (void)cache_files_fail(self, error);
    if (self->count > 1) qsort(self->files, self->count, sizeof self->files[0], newest_first);
    return !*self->why;
}

void cache_folder_close(cache_folder_t *self) {
    if (self->handle >= 0) (void)gantry__os_close(self->handle);
    free(self->files);
    *self = (cache_folder_t){.handle = -1};
}
