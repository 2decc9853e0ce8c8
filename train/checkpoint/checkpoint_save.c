/* SPDX-License-Identifier: Apache-2.0 */
/* Saving: all names, types and shapes are checked, variables give their present values, the header
 * is made; only then is the file created. A tensor is read into host memory when it is its turn,
 * so that the largest one needs memory, not all. */
#include <stdio.h>
#include <string.h>

#include <gantry_train/checkpoint.h>
#include "shared/safetensors_types.h"
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/checkpoint/checkpoint_file.h"
#include "train/checkpoint/checkpoint_memory.h"
#include "train/data/element.h"

typedef struct saving_t {
    gantry_scope_t *scope; /* of the tensors of variables; NULL without variables */
    const gantry_checkpoint_entry_t *entries;
    size_t count;
    gantry__safetensors_tensor_t *tensors; /* as they are laid out */
    const gantry_tensor_t **values;        /* of entries that are variables or tensors */
} saving_t;

/* ---- checks ---- */

static bool text_is_valid(const char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        const size_t length = gantry__safetensors_utf8(text, left);
        if (length == 0) return false;
        text += length;
        left -= length;
    }
    return true;
}

static gantry_status_t check_text(const char *what, size_t index, const char *text) {
    if (text && text_is_valid(text)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "gantry_checkpoint_save: the %s %zu is %s; a text in UTF-8 is accepted", what, index,
        text ? "no UTF-8" : "NULL");
}

static gantry_status_t checkpoint_save_check_name(const gantry_checkpoint_entry_t *entry,
                                                  size_t index) {
    GANTRY__TRY(check_text("name of entry", index, entry->name));
    if (entry->name[0] && strcmp(entry->name, "__metadata__") != 0) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_checkpoint_save: the name of entry %zu is '%s'; a name that is not empty and not '__metadata__' is accepted",
        index, entry->name);
}

static gantry_status_t check_source(const saving_t *saving, size_t index) {
    const gantry_checkpoint_entry_t *entry = &saving->entries[index];
    const int given = (entry->variable != NULL) + (entry->tensor != NULL) +
                      (entry->array.dtype != GANTRY_DTYPE_NONE);
    if (given != 1) {
        return gantry__train_refuse(
            NULL,
            "gantry_checkpoint_save: entry '%.200s' has %d of variable, tensor and array; one is accepted",
            entry->name, given);
    }
    if (saving->scope || entry->array.dtype != GANTRY_DTYPE_NONE) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_checkpoint_save: the scope is NULL; a scope is needed to read the %s of entry '%.200s'%s",
        entry->variable ? "variable" : "tensor", entry->name, gantry__train_before().text);
}

static gantry_status_t check_array_data(const gantry_checkpoint_entry_t *entry) {
    const gantry_array_t *array = &entry->array;
    size_t bytes;
    if (!gantry__train_array_bytes(array->dtype, &array->shape, &bytes)) {
        return gantry__train_refuse(
            NULL,
            "gantry_checkpoint_save: the array of entry '%.200s' is %s; a type of gantry_dtype_t, at most %d dimensions, none negative, and a size that fits into memory are accepted",
            entry->name, gantry__train_array_text(array->dtype, &array->shape).text,
            GANTRY_MAX_RANK);
    }
    if (array->data || bytes == 0) return GANTRY_OK;
    return gantry__train_refuse(NULL, "gantry_checkpoint_save: the data of entry '%.200s' is NULL",
                                entry->name);
}

static gantry_status_t check_saved_type(const gantry_checkpoint_entry_t *entry,
                                        gantry_dtype_t dtype) {
    if (gantry__safetensors_type_name(dtype)) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_UNIMPLEMENTED,
        "gantry_checkpoint_save: entry '%.200s' is %s, which has no name in safetensors; every other type is accepted, and gantry_save_npy takes this one, too",
        entry->name, gantry_dtype_name(dtype));
}

/* Sets type and shape of the tensor to be saved, and takes a variable's value. */
static gantry_status_t checkpoint_save_take_entry(saving_t *saving, size_t index) {
    const gantry_checkpoint_entry_t *entry = &saving->entries[index];
    gantry__safetensors_tensor_t *tensor = &saving->tensors[index];
    *tensor = (gantry__safetensors_tensor_t){.name = entry->name, .source = index};
    if (entry->array.dtype != GANTRY_DTYPE_NONE) {
        GANTRY__TRY(check_array_data(entry));
        tensor->dtype = entry->array.dtype;
        tensor->shape = entry->array.shape;
        return check_saved_type(entry, tensor->dtype);
    }
    const gantry_tensor_t *value =
        entry->variable ? gantry_variable_read(saving->scope, entry->variable) : entry->tensor;
    if (!value) return gantry_scope_status(saving->scope);
    saving->values[index] = value;
    tensor->dtype = gantry_tensor_dtype(value);
    tensor->shape = *gantry_tensor_shape(value);
    if (gantry_shape_elements(&tensor->shape) >= 0) return check_saved_type(entry, tensor->dtype);
    return gantry__train_refuse(
        NULL,
        "gantry_checkpoint_save: entry '%.200s' has a size that depends on data, in a function that is traced; a value is accepted",
        entry->name);
}

/* The parser of the format finds duplicate names and keys, and a header that is too long. */
static gantry_status_t check_header(const char *bytes, size_t size, uint64_t data_bytes) {
    gantry__safetensors_t header;
    const size_t front = GANTRY__SAFETENSORS_LENGTH_BYTES;
    const gantry_status_t status = gantry__safetensors_parse(
        &gantry__checkpoint_memory, bytes + front, size - front, data_bytes, &header);
    gantry__safetensors_deinit(&header);
    if (status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED) return status;
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    return gantry__train_refuse(NULL, "gantry_checkpoint_save: %s", text);
}

/* ---- writing ---- */

static gantry_status_t write_value(const saving_t *saving,
                                   const gantry__safetensors_tensor_t *tensor,
                                   gantry_new_file_t *file) {
    const gantry_array_t *array = &saving->entries[tensor->source].array;
    const gantry_tensor_t *value = saving->values[tensor->source];
    const size_t bytes = (size_t)(tensor->end - tensor->begin);
    if (!value) return gantry__train_file_write(file, array->data, bytes);
    void *elements = gantry__alloc(bytes, 1);
    if (!elements) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry_tensor_read(value, elements, bytes);
    if (status == GANTRY_OK) status = gantry__train_file_write(file, elements, bytes);
    gantry__free(elements);
    return status;
}

static gantry_status_t write_file(const saving_t *saving, const char *path, const char *front,
                                  size_t front_bytes) {
    gantry_new_file_t file;
    gantry_status_t status = gantry__train_file_create(path, &file);
    if (status == GANTRY_OK) status = gantry__train_file_write(&file, front, front_bytes);
    for (size_t i = 0; status == GANTRY_OK && i < saving->count; ++i)
        status = write_value(saving, &saving->tensors[i], &file);
    if (status == GANTRY_OK) status = gantry__train_file_commit(&file);
    gantry_file_abandon(&file);
    return status;
}

static gantry_status_t save_with(const saving_t *saving, const char *path,
                                 const gantry__safetensors_text_t *texts, size_t text_count) {
    const size_t count = saving->count;
    char *front;
    size_t front_bytes, capacity;
    GANTRY__TRY(gantry__safetensors_write(&gantry__checkpoint_memory, saving->tensors, count, texts,
                                          text_count, &front, &front_bytes, &capacity));
    gantry_status_t status =
        check_header(front, front_bytes, count > 0 ? saving->tensors[count - 1].end : 0);
    if (status == GANTRY_OK) status = write_file(saving, path, front, front_bytes);
    gantry__free(front);
    return status;
}

static gantry_status_t save_laid_out(const saving_t *saving, const char *path,
                                     const gantry_checkpoint_text_t *texts, size_t text_count) {
    gantry__safetensors_text_t *own = gantry__alloc(text_count, sizeof *own);
    if (!own) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < text_count; ++i)
        own[i] = (gantry__safetensors_text_t){texts[i].key, texts[i].value};
    const gantry_status_t status = save_with(saving, path, own, text_count);
    gantry__free(own);
    return status;
}

static gantry_status_t save_entries(saving_t *saving, const char *path,
                                    const gantry_checkpoint_text_t *texts, size_t text_count) {
    for (size_t i = 0; i < saving->count; ++i) {
        GANTRY__TRY(checkpoint_save_check_name(&saving->entries[i], i));
        GANTRY__TRY(check_source(saving, i));
        GANTRY__TRY(checkpoint_save_take_entry(saving, i));
    }
    for (size_t i = 0; i < text_count; ++i) {
        GANTRY__TRY(check_text("key of text", i, texts[i].key));
        GANTRY__TRY(check_text("value of text", i, texts[i].value));
    }
    gantry__safetensors_lay_out(saving->tensors, saving->count);
    return save_laid_out(saving, path, texts, text_count);
}

/* ---- the public call ---- */

static gantry_status_t save_check(const gantry_checkpoint_entry_t *entries, size_t entry_count,
                                  const gantry_checkpoint_text_t *texts, size_t text_count) {
    GANTRY__TRY(gantry__safetensors_check_machine());
    if (!entries && entry_count > 0)
        return gantry__train_refuse(NULL, "gantry_checkpoint_save: %zu entries are given at NULL",
                                    entry_count);
    if (texts || text_count == 0) return GANTRY_OK;
    return gantry__train_refuse(NULL, "gantry_checkpoint_save: %zu texts are given at NULL",
                                text_count);
}

/* Reads variables in a scope inside the caller's, which drops their values at the end. */
gantry_status_t gantry_checkpoint_save(gantry_scope_t *scope, const char *path,
                                       const gantry_checkpoint_entry_t *entries, size_t entry_count,
                                       const gantry_checkpoint_text_t *texts, size_t text_count) {
    if (scope) GANTRY__TRY(gantry__train_check_scope(scope));
    gantry_status_t status = save_check(entries, entry_count, texts, text_count);
    saving_t saving = {.entries = entries, .count = entry_count};
    if (status == GANTRY_OK) {
        saving.tensors = gantry__alloc(entry_count, sizeof *saving.tensors);
        saving.values = gantry__alloc(entry_count, sizeof *saving.values);
        saving.scope = scope ? gantry_scope_begin_in(scope, NULL) : NULL;
        const bool is_ready = saving.tensors && saving.values && (saving.scope || !scope);
        status =
            is_ready ? save_entries(&saving, path, texts, text_count) : GANTRY_RESOURCE_EXHAUSTED;
    }
    char text[GANTRY__TRAIN_MESSAGE_BYTES] = "";
    if (status != GANTRY_OK) (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    if (saving.scope) (void)gantry_scope_end(saving.scope);
    gantry__free(saving.tensors);
    gantry__free(saving.values);
    if (status == GANTRY_OK) return GANTRY_OK;
    return scope ? gantry_scope_fail(scope, status, text) : gantry_fail(status, text);
}
