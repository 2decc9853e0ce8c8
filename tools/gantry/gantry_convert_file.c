/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the files of `gantry convert`. A file is written whole or not at all
 * (gantry/file.h); a signal that ends the program removes the temporary one. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gantry_convert.h"

#define MAPPED_FROM ((size_t)64 << 20)

/* ---- the set ---- */

static void *allocate(size_t bytes) { return malloc(bytes > 0 ? bytes : 1); }

static char *copy_text(const char *text) {
    char *copy = allocate(strlen(text) + 1);
    if (copy) memcpy(copy, text, strlen(text) + 1);
    return copy;
}

void convert_set_deinit(convert_set_t *self) {
    for (size_t i = 0; i < self->count; ++i) {
        free(self->tensors[i].name);
        free(self->tensors[i].data);
    }
    for (size_t i = 0; i < self->text_count; ++i) {
        free(self->texts[i].key);
        free(self->texts[i].value);
    }
    free(self->tensors);
    free(self->texts);
    *self = (convert_set_t){.count = 0};
}

convert_tensor_t *convert_set_add(convert_set_t *self, const char *path, const char *name,
                                  gantry_dtype_t dtype, const gantry_shape_t *shape) {
    if (self->count == self->capacity) {
        const size_t wanted = self->capacity ? 2 * self->capacity : 16;
        convert_tensor_t *grown = realloc(self->tensors, wanted * sizeof *grown);
        if (grown) self->tensors = grown;
        if (grown) self->capacity = wanted;
    }
    const size_t bytes = (size_t)gantry_shape_elements(shape) * gantry_dtype_size(dtype);
    convert_tensor_t made = {
        .name = copy_text(name), .dtype = dtype, .shape = *shape, .bytes = bytes};
    made.data = made.name && self->count < self->capacity ? allocate(bytes) : NULL;
    if (!made.data) {
        free(made.name);
        (void)gantry_tool_fail("%s: there is no memory for the %zu bytes of \"%.200s\"", path,
                               bytes, name);
        return NULL;
    }
    self->tensors[self->count] = made;
    return &self->tensors[self->count++];
}

/* ---- reading ---- */

static bool fail_errno(const char *what, const char *path, int error) {
    (void)gantry_tool_fail("cannot %s %s: %s", what, path, strerror(error));
    return false;
}

/* Opens a plain file; a pipe or a device is not opened, because that may wait. */
static int open_plain(const char *path, size_t *out_size) {
    struct stat info;
    if (stat(path, &info) != 0) {
        (void)fail_errno("read", path, errno);
        return -1;
    }
    if (!S_ISREG(info.st_mode)) {
        (void)gantry_tool_fail("cannot read %s: it is no plain file", path);
        return -1;
    }
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) (void)fail_errno("read", path, errno);
    *out_size = (size_t)info.st_size;
    return file;
}

/* Fewer bytes only at the end; -1 with errno. */
static ssize_t read_fully(int file, unsigned char *bytes, size_t size) {
    size_t used = 0;
    while (used < size) {
        ssize_t got = read(file, bytes + used, size - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

bool convert_detect(const char *path, convert_format_t *out) {
    unsigned char first[8] = {0};
    size_t size;
    int file = open_plain(path, &size);
    if (file < 0) return false;
    const ssize_t got = read_fully(file, first, sizeof first);
    const int error = errno;
    (void)close(file);
    if (got < 0) return fail_errno("read", path, error);
    const bool is_zip = memcmp(first, "PK\3\4", 4) == 0 || memcmp(first, "PK\5\6", 4) == 0;
    *out = memcmp(first, "\x93NUMPY", 6) == 0 ? CONVERT_NPY
           : is_zip                           ? CONVERT_NPZ
                                              : CONVERT_SAFETENSORS;
    return true;
}

static unsigned char *read_small_file(const char *path, int file, size_t size) {
    unsigned char *bytes = allocate(size);
    if (!bytes) (void)gantry_tool_fail("%s: there is no memory for its %zu bytes", path, size);
    const ssize_t got = bytes ? read_fully(file, bytes, size) : 0;
    if (bytes && got < 0) (void)fail_errno("read", path, errno);
    if (bytes && got >= 0 && (size_t)got < size)
        (void)gantry_tool_fail("%s: it became shorter while it was read", path);
    if (bytes && got >= 0 && (size_t)got == size) return bytes;
    free(bytes);
    return NULL;
}

/* A large file is mapped, so that it does not take memory beside its tensors. Who cuts it meanwhile
 * ends this program by SIGBUS; no output is there yet. */
static unsigned char *map_file(const char *path, int file, size_t size) {
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) return bytes;
    (void)fail_errno("map", path, errno);
    return NULL;
}

/* The whole file, for close_file. NULL after a failure. */
static unsigned char *open_file(const char *path, size_t *out_size) {
    int file = open_plain(path, out_size);
    if (file < 0) return NULL;
    unsigned char *bytes = *out_size < MAPPED_FROM ? read_small_file(path, file, *out_size)
                                                   : map_file(path, file, *out_size);
    (void)close(file);
    return bytes;
}

static void close_file(unsigned char *bytes, size_t size) {
    if (size < MAPPED_FROM) {
        free(bytes);
    } else {
        (void)munmap(bytes, size);
    }
}

static bool read_npy(const char *path, const unsigned char *bytes, size_t size,
                     convert_set_t *out) {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    if (gantry_parse_npy(bytes, size, &dtype, &shape, NULL, 0) != GANTRY_OK) {
        (void)gantry_tool_fail("%s: %s", path, gantry_last_message());
        return false;
    }
    convert_tensor_t *tensor = convert_set_add(out, path, "", dtype, &shape);
    return tensor &&
           gantry_parse_npy(bytes, size, &dtype, &shape, tensor->data, tensor->bytes) == GANTRY_OK;
}

#ifdef GANTRY_TOOL_HAS_TRAIN
static bool read_texts(const gantry_checkpoint_t *checkpoint, convert_set_t *out) {
    const char *key;
    size_t count = 0;
    while (gantry_checkpoint_key(checkpoint, count)) ++count;
    out->texts = calloc(count + 1, sizeof *out->texts);
    for (size_t i = 0; out->texts && (key = gantry_checkpoint_key(checkpoint, i)); ++i) {
        convert_text_t *text = &out->texts[out->text_count++];
        text->key = copy_text(key);
        text->value = copy_text(gantry_checkpoint_text(checkpoint, key));
        if (!text->key || !text->value) return false;
    }
    return out->texts != NULL;
}

static bool read_checkpoint(const char *path, const gantry_checkpoint_t *checkpoint,
                            convert_set_t *out) {
    for (size_t i = 0; i < gantry_checkpoint_count(checkpoint); ++i) {
        const char *name = gantry_checkpoint_name(checkpoint, i);
        gantry_dtype_t dtype;
        gantry_shape_t shape;
        if (gantry_checkpoint_find(checkpoint, name, &dtype, &shape) != GANTRY_OK) return false;
        convert_tensor_t *tensor = convert_set_add(out, path, name, dtype, &shape);
        if (!tensor) return false;
        if (gantry_checkpoint_read(checkpoint, name, dtype, &shape, tensor->data, tensor->bytes) !=
            GANTRY_OK) {
            (void)gantry_tool_fail_last();
            return false;
        }
    }
    if (read_texts(checkpoint, out)) return true;
    (void)gantry_tool_fail("%s: there is no memory for its texts", path);
    return false;
}

static bool read_safetensors(const char *path, convert_set_t *out) {
    gantry_checkpoint_t *checkpoint;
    if (gantry_checkpoint_open(path, &checkpoint) != GANTRY_OK) {
        (void)gantry_tool_fail_last();
        return false;
    }
    const bool good = read_checkpoint(path, checkpoint, out);
    gantry_checkpoint_release(checkpoint);
    return good;
}
#else
static bool has_no_safetensors(const char *path) {
    (void)gantry_tool_fail(
        "%s: this gantry command was built without libgantry_train, which reads and writes safetensors; build with GANTRY_TRAIN=ON",
        path);
    return false;
}

static bool read_safetensors(const char *path, convert_set_t *out) {
    (void)out;
    return has_no_safetensors(path);
}
#endif

bool convert_read(const char *path, convert_format_t format, convert_set_t *out) {
    size_t size;
    if (format == CONVERT_SAFETENSORS) return read_safetensors(path, out);
    unsigned char *bytes = open_file(path, &size);
    if (!bytes) return false;
    const bool good = format == CONVERT_NPY ? read_npy(path, bytes, size, out)
                                            : convert_zip_read(path, bytes, size, out);
    close_file(bytes, size);
    return good;
}

/* ---- writing ---- */

/* A signal handler reads its temporary name. */
static gantry_new_file_t written;

static void remove_and_end(int number) {
    if (written.temporary[0]) (void)unlink(written.temporary);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void set_handlers(bool removes) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = removes ? remove_and_end : SIG_DFL}, before;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

static bool is_plain_or_new(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) return errno == ENOENT || fail_errno("write", path, errno);
    if (S_ISREG(info.st_mode)) return true;
    (void)gantry_tool_fail("cannot write %s: it is no plain file", path);
    return false;
}

static bool sink_to_file(void *user, const void *bytes, size_t size) {
    return gantry_file_write(user, bytes, size) == GANTRY_OK;
}

static bool write_npy(const convert_tensor_t *tensor, gantry_new_file_t *file) {
    char header[GANTRY_NPY_HEADER_BYTES];
    size_t header_bytes;
    return gantry_format_npy_header(tensor->dtype, &tensor->shape, header, &header_bytes) ==
               GANTRY_OK &&
           sink_to_file(file, header, header_bytes) &&
           sink_to_file(file, tensor->data, tensor->bytes);
}

/* The name is the handlers' once the file is this program's own. */
static bool write_beside(const char *path, convert_format_t format, const convert_set_t *set) {
    (void)gantry_fail(GANTRY_OK, "");
    bool good = gantry_file_begin(path, &written) == GANTRY_OK;
    set_handlers(good);
    if (good)
        good = format == CONVERT_NPY ? write_npy(&set->tensors[0], &written)
                                     : convert_zip_write(set, sink_to_file, &written);
    if (good) good = gantry_file_end(&written) == GANTRY_OK;
    gantry_file_abandon(&written);
    set_handlers(false);
    if (!good && *gantry_last_message())
        (void)gantry_tool_fail_last();
    else if (!good)
        (void)fail_errno("write", path, ENOMEM);
    return good;
}

#ifdef GANTRY_TOOL_HAS_TRAIN
/* The library writes it in the same way. A signal leaves a temporary file, which the next write to
 * the path removes. */
static bool write_safetensors(const char *path, const convert_set_t *set) {
    gantry_checkpoint_entry_t *entries = calloc(set->count + 1, sizeof *entries);
    gantry_checkpoint_text_t *texts = calloc(set->text_count + 1, sizeof *texts);
    bool good = entries && texts;
    if (!good) (void)gantry_tool_fail("%s: there is no memory for the list of tensors", path);
    for (size_t i = 0; good && i < set->count; ++i) {
        const convert_tensor_t *tensor = &set->tensors[i];
        entries[i] = (gantry_checkpoint_entry_t){
            .name = tensor->name, .array = {tensor->dtype, tensor->shape, tensor->data}};
    }
    for (size_t i = 0; good && i < set->text_count; ++i)
        texts[i] = (gantry_checkpoint_text_t){set->texts[i].key, set->texts[i].value};
    if (good && gantry_checkpoint_save(NULL, path, entries, set->count, texts, set->text_count) !=
                    GANTRY_OK) {
        good = false;
        (void)gantry_tool_fail_last();
    }
    free(entries);
    free(texts);
    return good;
}
#else
static bool write_safetensors(const char *path, const convert_set_t *set) {
    (void)set;
    return has_no_safetensors(path);
}
#endif

bool convert_write(const char *path, convert_format_t format, const convert_set_t *set) {
    if (!is_plain_or_new(path)) return false;
    return format == CONVERT_SAFETENSORS ? write_safetensors(path, set)
                                         : write_beside(path, format, set);
}
