/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry_train/checkpoint.h>

#include <gantry/io.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/checkpoint/checkpoint_file.h"
#include "train/checkpoint/checkpoint_memory.h"

#define LISTED_NAMES 8  /* of a message */
#define FRONT_BYTES 512 /* that show what a file is */

struct gantry_checkpoint_t {
    gantry__safetensors_t header;
    uint64_t data_offset; /* of the file */
    int file;
    char *path;
};

/* ---- opening ---- */

/* Names the files that downloads leave in place of checkpoints: pages of errors, pointers of Git
 * LFS. */
static gantry_status_t check_kind(const gantry_checkpoint_t *checkpoint, uint64_t file_bytes) {
    unsigned char front[FRONT_BYTES];
    const size_t bytes = file_bytes < sizeof front ? (size_t)file_bytes : sizeof front;
    GANTRY__TRY(gantry_file_read_at(checkpoint->file, checkpoint->path, 0, front, bytes));
    const char *kind = gantry_recognize_file(front, bytes);
    if (!kind) return GANTRY_OK;
    return gantry__train_refuse(NULL, "it is no safetensors file: %s", kind);
}

static gantry_status_t checkpoint_read_header(gantry_checkpoint_t *checkpoint,
                                              uint64_t file_bytes) {
    unsigned char length_bytes[GANTRY__SAFETENSORS_LENGTH_BYTES];
    uint64_t length;
    GANTRY__TRY(check_kind(checkpoint, file_bytes));
    if (file_bytes < sizeof length_bytes) {
        return gantry__train_refuse(
            NULL, "it is no safetensors file: it has %" PRIu64 " bytes; at least 8 are accepted",
            file_bytes);
    }
    GANTRY__TRY(gantry_file_read_at(checkpoint->file, checkpoint->path, 0, length_bytes,
                                    sizeof length_bytes));
    GANTRY__TRY(gantry__safetensors_length(length_bytes, file_bytes, &length));
    checkpoint->data_offset = sizeof length_bytes + length;
    char *text = gantry__alloc((size_t)length, 1);
    if (!text) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry_file_read_at(checkpoint->file, checkpoint->path,
                                                 sizeof length_bytes, text, (size_t)length);
    if (status == GANTRY_OK)
        status =
            gantry__safetensors_parse(&gantry__checkpoint_memory, text, (size_t)length,
                                      file_bytes - checkpoint->data_offset, &checkpoint->header);
    gantry__free(text);
    return status;
}

/* Puts the path in front of the message. */
static gantry_status_t fail_with_path(const char *doing, const char *path, gantry_status_t status) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    if (status == GANTRY_OK || strstr(gantry_last_message(), path)) return status;
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    return gantry__train_fail(status, "cannot %s the checkpoint '%s': %s", doing, path, text);
}

gantry_status_t gantry_checkpoint_open(const char *path, gantry_checkpoint_t **out_checkpoint) {
    if (!out_checkpoint)
        return gantry__train_refuse(NULL, "gantry_checkpoint_open: out_checkpoint is NULL");
    *out_checkpoint = NULL;
    int file;
    uint64_t size;
    GANTRY__TRY(gantry__safetensors_check_machine());
    GANTRY__TRY(gantry__train_file_open(path, &file, &size));
    gantry_checkpoint_t *checkpoint = gantry__alloc(1, sizeof *checkpoint);
    if (!checkpoint) {
        gantry__train_file_close(file);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    checkpoint->file = file;
    checkpoint->path = gantry__strdup(path);
    gantry_status_t status = checkpoint->path ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK)
        status = fail_with_path("open", path, checkpoint_read_header(checkpoint, size));
    if (status != GANTRY_OK) {
        gantry_checkpoint_release(checkpoint);
        return status;
    }
    *out_checkpoint = checkpoint;
    return GANTRY_OK;
}

void gantry_checkpoint_release(gantry_checkpoint_t *checkpoint) {
    if (!checkpoint) return;
    gantry__safetensors_deinit(&checkpoint->header);
    gantry__train_file_close(checkpoint->file);
    gantry__free(checkpoint->path);
    gantry__free(checkpoint);
}

/* ---- listing ---- */

size_t gantry_checkpoint_count(const gantry_checkpoint_t *checkpoint) {
    return checkpoint ? checkpoint->header.count : 0;
}

const char *gantry_checkpoint_name(const gantry_checkpoint_t *checkpoint, size_t index) {
    return index < gantry_checkpoint_count(checkpoint) ? checkpoint->header.tensors[index].name
                                                       : NULL;
}

const char *gantry_checkpoint_key(const gantry_checkpoint_t *checkpoint, size_t index) {
    return checkpoint && index < checkpoint->header.text_count ? checkpoint->header.texts[index].key
                                                               : NULL;
}

const char *gantry_checkpoint_text(const gantry_checkpoint_t *checkpoint, const char *key) {
    for (size_t i = 0; checkpoint && key && i < checkpoint->header.text_count; ++i) {
        if (strcmp(checkpoint->header.texts[i].key, key) == 0)
            return checkpoint->header.texts[i].value;
    }
    return NULL;
}

static gantry_status_t fail_name(const gantry_checkpoint_t *checkpoint, const char *name) {
    char list[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < checkpoint->header.count && i < LISTED_NAMES; ++i) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%.48s'", i > 0 ? ", " : "",
                                 checkpoint->header.tensors[i].name);
    }
    return gantry__train_fail(GANTRY_NOT_FOUND,
                              "the checkpoint '%s' has no tensor '%.200s'; it has %zu: %s%s",
                              checkpoint->path, name, checkpoint->header.count, list,
                              checkpoint->header.count > LISTED_NAMES ? ", ..." : "");
}

static gantry_status_t find_tensor(const char *call, const gantry_checkpoint_t *checkpoint,
                                   const char *name, const gantry__safetensors_tensor_t **out) {
    if (!checkpoint)
        return gantry__train_fail_null(NULL, call, "checkpoint", "one from gantry_checkpoint_open");
    if (!name) return gantry__train_refuse(NULL, "%s: the name is NULL", call);
    *out = gantry__safetensors_find(&checkpoint->header, name);
    if (!*out) return fail_name(checkpoint, name);
    return fail_with_path("read", checkpoint->path, gantry__safetensors_check_readable(*out));
}

gantry_status_t gantry_checkpoint_find(const gantry_checkpoint_t *checkpoint, const char *name,
                                       gantry_dtype_t *out_dtype, gantry_shape_t *out_shape) {
    const gantry__safetensors_tensor_t *tensor = NULL;
    if (!out_dtype || !out_shape)
        return gantry__train_refuse(NULL, "gantry_checkpoint_find: %s is NULL",
                                    out_dtype ? "out_shape" : "out_dtype");
    *out_dtype = GANTRY_DTYPE_NONE;
    *out_shape = GANTRY_SCALAR;
    GANTRY__TRY(find_tensor("gantry_checkpoint_find", checkpoint, name, &tensor));
    *out_dtype = tensor->dtype;
    *out_shape = tensor->shape;
    return GANTRY_OK;
}

/* ---- reading ---- */

static gantry_status_t check_like(const gantry_checkpoint_t *checkpoint,
                                  const gantry__safetensors_tensor_t *tensor, gantry_dtype_t dtype,
                                  const gantry_shape_t *shape) {
    char stored[GANTRY_MAX_RANK * 24], wanted[GANTRY_MAX_RANK * 24];
    if (tensor->dtype == dtype && gantry_shape_equal(&tensor->shape, shape)) return GANTRY_OK;
    (void)gantry_shape_format(&tensor->shape, stored, sizeof stored);
    (void)gantry_shape_format(shape, wanted, sizeof wanted);
    return gantry__train_refuse(
        NULL, "tensor '%.200s' of the checkpoint '%s' is %s %s; %s %s is accepted here",
        tensor->name, checkpoint->path, gantry_dtype_name(tensor->dtype), stored,
        gantry_dtype_name(dtype), wanted);
}

static gantry_status_t read_elements(const gantry_checkpoint_t *checkpoint,
                                     const gantry__safetensors_tensor_t *tensor,
                                     unsigned char *out) {
    const size_t bytes = (size_t)(tensor->end - tensor->begin);
    GANTRY__TRY(gantry_file_read_at(checkpoint->file, checkpoint->path,
                                    checkpoint->data_offset + tensor->begin, out, bytes));
    if (tensor->dtype != GANTRY_BOOL) return GANTRY_OK;
    for (size_t i = 0; i < bytes; ++i) out[i] = out[i] != 0;
    return GANTRY_OK;
}

gantry_status_t gantry_checkpoint_read(const gantry_checkpoint_t *checkpoint, const char *name,
                                       gantry_dtype_t dtype, const gantry_shape_t *shape, void *out,
                                       size_t out_bytes) {
    const gantry__safetensors_tensor_t *tensor = NULL;
    GANTRY__TRY(find_tensor("gantry_checkpoint_read", checkpoint, name, &tensor));
    if (!shape) return gantry__train_refuse(NULL, "gantry_checkpoint_read: the shape is NULL");
    GANTRY__TRY(check_like(checkpoint, tensor, dtype, shape));
    if (out_bytes != tensor->end - tensor->begin) {
        return gantry__train_refuse(
            NULL,
            "gantry_checkpoint_read: out_bytes is %zu; tensor '%.200s' has %" PRIu64
            " bytes, which are accepted",
            out_bytes, name, tensor->end - tensor->begin);
    }
    if (!out && out_bytes > 0)
        return gantry__train_refuse(NULL, "gantry_checkpoint_read: out is NULL");
    return read_elements(checkpoint, tensor, out);
}

/* gantry_load_elements or gantry_map_elements. */
typedef const gantry_tensor_t *(*elements_fn)(gantry_scope_t *scope, int file, const char *path,
                                              int64_t offset, gantry_dtype_t dtype,
                                              gantry_shape_t shape);

static const gantry_tensor_t *tensor_by(elements_fn make, gantry_scope_t *scope,
                                        const gantry_checkpoint_t *checkpoint,
                                        const gantry__safetensors_tensor_t *tensor) {
    return make(scope, checkpoint->file, checkpoint->path,
                (int64_t)(checkpoint->data_offset + tensor->begin), tensor->dtype, tensor->shape);
}

static gantry_status_t check_scope(const char *call, gantry_scope_t *scope) {
    if (scope) return gantry_scope_status(scope);
    return gantry__train_fail_null(NULL, call, "scope", "one from gantry_scope_begin");
}

static const gantry_tensor_t *named_by(elements_fn make, const char *call, gantry_scope_t *scope,
                                       const gantry_checkpoint_t *checkpoint, const char *name) {
    const gantry__safetensors_tensor_t *tensor = NULL;
    if (check_scope(call, scope) != GANTRY_OK) return NULL;
    const gantry_status_t status = find_tensor(call, checkpoint, name, &tensor);
    if (status == GANTRY_OK) return tensor_by(make, scope, checkpoint, tensor);
    (void)gantry__train_hand_on(scope, status);
    return NULL;
}

const gantry_tensor_t *gantry_checkpoint_load(gantry_scope_t *scope,
                                              const gantry_checkpoint_t *checkpoint,
                                              const char *name) {
    return named_by(gantry_load_elements, "gantry_checkpoint_load", scope, checkpoint, name);
}

const gantry_tensor_t *gantry_checkpoint_map(gantry_scope_t *scope,
                                             const gantry_checkpoint_t *checkpoint,
                                             const char *name) {
    return named_by(gantry_map_elements, "gantry_checkpoint_map", scope, checkpoint, name);
}

/* ---- restoring variables ---- */

gantry_status_t gantry__checkpoint_check(const gantry_checkpoint_t *checkpoint,
                                         const gantry_checkpoint_entry_t *entries, size_t count) {
    if (!entries && count > 0)
        return gantry__train_refuse(
            NULL, "gantry_checkpoint_restore: %zu entries are given at NULL", count);
    for (size_t i = 0; i < count; ++i) {
        const gantry__safetensors_tensor_t *tensor = NULL;
        GANTRY__TRY(find_tensor("gantry_checkpoint_restore", checkpoint, entries[i].name, &tensor));
        if (!entries[i].variable)
            return gantry__train_refuse(
                NULL,
                "gantry_checkpoint_restore: the variable of entry %zu, '%.200s', is NULL; one is accepted%s",
                i, entries[i].name, gantry__train_before().text);
        GANTRY__TRY(check_like(checkpoint, tensor, gantry_variable_dtype(entries[i].variable),
                               gantry_variable_shape(entries[i].variable)));
    }
    return GANTRY_OK;
}

/* Loads a tensor onto the variable's device, whichever device the scope requests. The scope owns
 * the tensor. */
static const gantry_tensor_t *load_for(gantry_scope_t *scope, const gantry_checkpoint_t *checkpoint,
                                       const gantry_checkpoint_entry_t *entry) {
    gantry_scope_t *there = gantry_scope_begin_in(
        scope, gantry_logical_device_name(gantry_variable_device(entry->variable)));
    if (!there) return NULL;
    const gantry_tensor_t *tensor =
        tensor_by(gantry_load_elements, there, checkpoint,
                  gantry__safetensors_find(&checkpoint->header, entry->name));
    const gantry_tensor_t *kept = tensor ? gantry_scope_keep(there, tensor) : NULL;
    const gantry_status_t status = gantry_scope_status(there);
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s", gantry_scope_message(there));
    (void)gantry_scope_end(there);
    if (status != GANTRY_OK) (void)gantry_scope_fail(scope, status, text);
    return kept;
}

/* Loads in `scope`, which ends with its tensors. */
static gantry_status_t restore_in(gantry_scope_t *scope, const gantry_checkpoint_t *checkpoint,
                                  const gantry_checkpoint_entry_t *entries, size_t count,
                                  const gantry_tensor_t **tensors) {
    for (size_t i = 0; i < count; ++i) {
        tensors[i] = load_for(scope, checkpoint, &entries[i]);
        if (!tensors[i]) {
            const gantry_status_t status = gantry_scope_status(scope);
            return status == GANTRY_OK ? GANTRY_RESOURCE_EXHAUSTED : status;
        }
        GANTRY__TRY(gantry_tensor_wait(tensors[i]));
    }
    for (size_t i = 0; i < count; ++i)
        GANTRY__TRY(gantry_variable_assign(scope, entries[i].variable, tensors[i]));
    return GANTRY_OK;
}

gantry_status_t gantry_checkpoint_restore(gantry_scope_t *scope,
                                          const gantry_checkpoint_t *checkpoint,
                                          const gantry_checkpoint_entry_t *entries,
                                          size_t entry_count) {
    GANTRY__TRY(check_scope("gantry_checkpoint_restore", scope));
    if (!checkpoint)
        return gantry__train_fail_null(scope, "gantry_checkpoint_restore", "checkpoint",
                                       "one from gantry_checkpoint_open");
    gantry_status_t status = gantry__checkpoint_check(checkpoint, entries, entry_count);
    if (status != GANTRY_OK) return gantry__train_hand_on(scope, status);
    const gantry_tensor_t **tensors = gantry__alloc(entry_count, sizeof *tensors);
    gantry_scope_t *inner = tensors ? gantry_scope_begin_in(scope, NULL) : NULL;
    char text[GANTRY__TRAIN_MESSAGE_BYTES] = "";
    status = inner ? restore_in(inner, checkpoint, entries, entry_count, tensors)
                   : GANTRY_RESOURCE_EXHAUSTED;
    if (status != GANTRY_OK) (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    if (inner) (void)gantry_scope_end(inner);
    gantry__free(tensors);
    return status == GANTRY_OK ? GANTRY_OK : gantry_scope_fail(scope, status, text);
}
