/* SPDX-License-Identifier: Apache-2.0 */
/* The set of tensors of `gantry convert`, and how it is written: under a temporary name beside its
 * path, flushed and renamed. A signal that ends the program removes the temporary file. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gantry_convert.h"

/* ---- the set ---- */

static void *allocate(size_t bytes) { return malloc(bytes > 0 ? bytes : 1); }

static char *copy_text(const char *text) {
    char *copy = allocate(strlen(text) + 1);
    if (copy) memcpy(copy, text, strlen(text) + 1);
    return copy;
}

void convert_tensor_deinit(convert_tensor_t *tensor) {
    free(tensor->name);
    free(tensor->problem);
    free(tensor->data);
}

void convert_set_deinit(convert_set_t *self) {
    for (size_t i = 0; i < self->count; ++i) convert_tensor_deinit(&self->tensors[i]);
    for (size_t i = 0; i < self->text_count; ++i) {
        free(self->texts[i].key);
        free(self->texts[i].value);
    }
    free(self->tensors);
    free(self->texts);
    *self = (convert_set_t){.count = 0};
}

static convert_tensor_t *set_append(convert_set_t *self, const char *path,
                                    const convert_tensor_t *made) {
    if (self->count == self->capacity) {
        const size_t wanted = self->capacity ? 2 * self->capacity : 16;
        convert_tensor_t *grown = realloc(self->tensors, wanted * sizeof *grown);
        if (grown) self->tensors = grown;
        if (grown) self->capacity = wanted;
    }
    if (made->name && self->count < self->capacity) {
        self->tensors[self->count] = *made;
        return &self->tensors[self->count++];
    }
    free(made->name);
    free(made->problem);
    (void)gantry_tool_fail("%s: there is no memory for its list of tensors", path);
    return NULL;
}

convert_tensor_t *convert_set_add(convert_set_t *self, const char *path, const char *name,
                                  gantry_dtype_t dtype, const gantry_shape_t *shape) {
    const convert_tensor_t made = {
        .name = copy_text(name),
        .dtype = dtype,
        .shape = *shape,
        .bytes = (size_t)gantry_shape_elements(shape) * gantry_dtype_size(dtype)};
    return set_append(self, path, &made);
}

convert_tensor_t *convert_set_add_problem(convert_set_t *self, const char *path, const char *name,
                                          const char *problem) {
    convert_tensor_t made = {.problem = copy_text(problem)};
    if (made.problem) made.name = copy_text(name);
    return set_append(self, path, &made);
}

static bool fail_errno(const char *what, const char *path, int error) {
    (void)gantry_tool_fail("cannot %s %s: %s", what, path, strerror(error));
    return false;
}

/* ---- writing ---- */

/* "" if there is none; a signal handler reads it. */
static char temporary[PATH_MAX + 32];

static void remove_and_end(int number) {
    if (temporary[0]) (void)unlink(temporary);
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

/* The path without symbolic links, so that a link stays one. */
static bool find_target(const char *path, char target[PATH_MAX]) {
    struct stat info;
    if (strlen(path) >= PATH_MAX) return fail_errno("write", path, ENAMETOOLONG);
    (void)snprintf(target, PATH_MAX, "%s", path);
    if (stat(path, &info) != 0) return errno == ENOENT || fail_errno("write", path, errno);
    if (!S_ISREG(info.st_mode)) {
        (void)gantry_tool_fail("cannot write %s: it is no plain file", path);
        return false;
    }
    return realpath(path, target) || fail_errno("write", path, errno);
}

static bool sink_to_file(void *user, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t done = write(*(const int *)user, at, size);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        at += done;
        size -= (size_t)done;
    }
    return true;
}

static bool write_npy(const convert_tensor_t *tensor, int file) {
    char header[GANTRY_NPY_HEADER_BYTES];
    size_t header_bytes;
    return gantry_format_npy_header(tensor->dtype, &tensor->shape, header, &header_bytes) ==
               GANTRY_OK &&
           sink_to_file(&file, header, header_bytes) &&
           sink_to_file(&file, tensor->data, tensor->bytes);
}

static bool fill(int file, convert_format_t format, const convert_set_t *set) {
    errno = 0;
    const bool good = format == CONVERT_NPY ? write_npy(&set->tensors[0], file)
                                            : convert_zip_write(set, sink_to_file, &file);
    return good && fsync(file) == 0;
}

static bool write_beside(const char *path, const char *target, convert_format_t format,
                         const convert_set_t *set) {
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        const int error = errno;
        temporary[0] = '\0';
        return fail_errno("write", path, error);
    }
    int error = fill(file, format, set) ? 0 : errno ? errno : ENOMEM;
    if (close(file) != 0 && !error) error = errno;
    if (!error && rename(temporary, target) != 0) error = errno;
    if (error) (void)unlink(temporary);
    return error == 0 || fail_errno("write", path, error);
}

#ifdef GANTRY_TOOL_HAS_TRAIN
/* The library writes it in the same way, under the temporary name that its header states. */
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
    char target[PATH_MAX];
    struct stat info;
    if (!find_target(path, target)) return false;
    (void)snprintf(temporary, sizeof temporary, "%s.tmp-%ld", target, (long)getpid());
    if (lstat(temporary, &info) == 0) {
        (void)gantry_tool_fail("cannot write %s: %s is in the way", path, temporary);
        temporary[0] = '\0';
        return false;
    }
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of write */
    set_handlers(true);
    const bool good = format == CONVERT_SAFETENSORS ? write_safetensors(path, set)
                                                    : write_beside(path, target, format, set);
    temporary[0] = '\0';
    set_handlers(false);
    return good;
}
