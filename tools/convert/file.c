/* SPDX-License-Identifier: Apache-2.0 */
/* The set of tensors of `gantry convert`, and how it is written: whole or not at all
 * (gantry/file.h). A signal that ends the program removes the temporary file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/requests.h"
#include "convert/convert.h"

/* ---- the set ---- */

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
        .name = gantry_tool_copy(name),
        .dtype = dtype,
        .shape = *shape,
        .bytes = (size_t)gantry_shape_elements(shape) * gantry_dtype_size(dtype)};
    return set_append(self, path, &made);
}

convert_tensor_t *convert_set_add_problem(convert_set_t *self, const char *path, const char *name,
                                          const char *problem) {
    convert_tensor_t made = {.problem = gantry_tool_copy(problem)};
    if (made.problem) made.name = gantry_tool_copy(name);
    return set_append(self, path, &made);
}

static bool fail_errno(const char *what, const char *path, int error) {
    (void)gantry_tool_fail("cannot %s %s: %s", what, path, strerror(error));
    return false;
}

/* ---- writing ---- */

/* A request that ends the program reads its temporary name. */
static gantry_new_file_t written;

static bool is_plain_or_new(const char *path) {
    gantry__os_info_t info;
    const int error = gantry__os_path_info(path, &info);
    if (error) return error == ENOENT || fail_errno("write", path, error);
    if (info.kind == GANTRY__OS_PLAIN) return true;
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

/* Writes next to the path. The name may be removed only once the file is this program's own. */
static bool write_beside(const char *path, convert_format_t format, const convert_set_t *set) {
    (void)gantry_fail(GANTRY_OK, "");
    bool good = gantry_file_begin(path, &written) == GANTRY_OK;
    if (good) {
        gantry__os_remove_when_ended(written.temporary);
        good = format == CONVERT_NPY ? write_npy(&set->tensors[0], &written)
                                     : convert_zip_write(set, sink_to_file, &written);
    }
    if (good) good = gantry_file_end(&written) == GANTRY_OK;
    gantry_file_abandon(&written);
    gantry__os_remove_when_ended(NULL);
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
    return convert_refuse_safetensors(path);
}
#endif

bool convert_write(const char *path, convert_format_t format, const convert_set_t *set) {
    if (!is_plain_or_new(path)) return false;
    return format == CONVERT_SAFETENSORS ? write_safetensors(path, set)
                                         : write_beside(path, format, set);
}
