/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of rows: arrays in memory, and .npy files, which are loaded into memory. */
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/memory.h"
#include "train/data/stage.h"

typedef struct arrays_t {
    gantry_dataset_t base;
    gantry__train_rows_t content;
    /* memory of the data set's own, or empty */
    gantry__train_buffer_t owned[GANTRY_MAX_COMPONENTS];
} arrays_t;

typedef struct arrays_stage_t {
    gantry__train_stage_t base;
    int64_t row;
} arrays_stage_t;

static gantry_status_t arrays_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                   bool *out_end) {
    arrays_stage_t *self = (arrays_stage_t *)stage;
    *out_end = self->row == stage->dataset->cardinality;
    if (!*out_end) item->row = self->row++;
    return GANTRY_OK;
}

static void arrays_deinit(gantry_dataset_t *dataset) {
    arrays_t *self = (arrays_t *)dataset;
    for (size_t i = 0; i < GANTRY_MAX_COMPONENTS; ++i) gantry__train_buffer_deinit(&self->owned[i]);
}

static const gantry__train_kind_t arrays_kind = {.name = "from_arrays",
                                                 .stage_bytes = sizeof(arrays_stage_t),
                                                 .gives_rows = true,
                                                 .next = arrays_next,
                                                 .deinit = arrays_deinit};

/* ---- checks ---- */

static gantry_status_t check_count(const char *call, const void *list, const char *things,
                                   size_t count) {
    if (count == 0 || count > GANTRY_MAX_COMPONENTS) {
        return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                  "%s: %zu %s are given; 1 to %d are accepted", call, count, things,
                                  GANTRY_MAX_COMPONENTS);
    }
    if (list) return GANTRY_OK;
    return gantry__train_fail(GANTRY_INVALID_ARGUMENT, "%s: %zu %s are given at NULL", call, count,
                              things);
}

static gantry_status_t check_array(const gantry_array_t *array, size_t index, size_t *out_bytes) {
    if (!gantry__train_array_bytes(array->dtype, &array->shape, out_bytes)) {
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_dataset_from_arrays: array %zu is %s; a type of gantry_dtype_t, at most %d dimensions, none negative, and a size that fits into memory are accepted",
            index, gantry__train_array_text(array->dtype, &array->shape).text, GANTRY_MAX_RANK);
    }
    if (array->shape.rank == 0) {
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_dataset_from_arrays: array %zu is a scalar; arrays with a first dimension are accepted, whose rows are the elements",
            index);
    }
    if (array->data || *out_bytes == 0) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "gantry_dataset_from_arrays: the data of array %zu is NULL; the address of %zu bytes is accepted",
        index, *out_bytes);
}

static gantry_status_t check_rows(const gantry_array_t *arrays, size_t index) {
    if (arrays[index].shape.dims[0] == arrays[0].shape.dims[0]) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "gantry_dataset_from_arrays: array %zu has %lld rows, and array 0 has %lld; arrays with the same first dimension are accepted",
        index, (long long)arrays[index].shape.dims[0], (long long)arrays[0].shape.dims[0]);
}

/* ---- making ---- */

static void set_row(gantry__train_rows_t *rows, size_t index, const gantry_array_t *array,
                    size_t bytes) {
    gantry_shape_t *shape = &rows->row_shapes[index];
    shape->rank = array->shape.rank - 1;
    memcpy(shape->dims, array->shape.dims + 1, (size_t)shape->rank * sizeof shape->dims[0]);
    rows->arrays[index] = *array;
    rows->row_bytes[index] = bytes > 0 ? bytes / (size_t)array->shape.dims[0] : 0;
}

static gantry_status_t copy_array(arrays_t *self, size_t index, size_t bytes) {
    GANTRY__TRAIN_TRY(gantry__train_buffer_reserve(&self->owned[index], bytes, 0));
    if (bytes > 0) memcpy(self->owned[index].bytes, self->content.arrays[index].data, bytes);
    self->content.arrays[index].data = self->owned[index].bytes;
    return GANTRY_OK;
}

/* Takes over the arrays whose memory `self` owns already. */
static gantry_status_t arrays_fill(arrays_t *self, const gantry_array_t *arrays, size_t count,
                                   bool copy) {
    for (size_t i = 0; i < count; ++i) {
        size_t bytes;
        GANTRY__TRAIN_TRY(check_array(&arrays[i], i, &bytes));
        GANTRY__TRAIN_TRY(check_rows(arrays, i));
        set_row(&self->content, i, &arrays[i], bytes);
        if (copy) GANTRY__TRAIN_TRY(copy_array(self, i, bytes));
    }
    self->content.count = count;
    self->base.cardinality = arrays[0].shape.dims[0];
    return GANTRY_OK;
}

static arrays_t *arrays_make(void) {
    arrays_t *self = gantry__train_dataset_make(&arrays_kind, sizeof *self, NULL, 0);
    if (self) self->base.rows = &self->content;
    return self;
}

gantry_dataset_t *gantry_dataset_from_arrays(const gantry_array_t *arrays, size_t count,
                                             bool copy) {
    if (check_count("gantry_dataset_from_arrays", arrays, "arrays", count) != GANTRY_OK)
        return NULL;
    arrays_t *self = arrays_make();
    if (!self) return NULL;
    if (arrays_fill(self, arrays, count, copy) == GANTRY_OK) return &self->base;
    gantry_dataset_release(&self->base);
    return NULL;
}

/* ---- .npy files ---- */

static gantry_status_t load_file(gantry_scope_t *scope, const char *path,
                                 gantry__train_buffer_t *buffer, gantry_array_t *out) {
    const gantry_tensor_t *tensor = gantry_load_npy(scope, path);
    if (!tensor) return gantry_scope_status(scope);
    const size_t bytes = gantry_tensor_bytes(tensor);
    gantry_status_t status = gantry__train_buffer_reserve(buffer, bytes, 0);
    if (status == GANTRY_OK) status = gantry_tensor_read(tensor, buffer->bytes, bytes);
    *out =
        (gantry_array_t){gantry_tensor_dtype(tensor), *gantry_tensor_shape(tensor), buffer->bytes};
    gantry_tensor_drop(scope, tensor);
    return status;
}

static gantry_status_t load_files(gantry_scope_t *scope, const char *const *paths, size_t count,
                                  arrays_t *self) {
    gantry_array_t arrays[GANTRY_MAX_COMPONENTS];
    for (size_t i = 0; i < count; ++i)
        GANTRY__TRAIN_TRY(load_file(scope, paths[i], &self->owned[i], &arrays[i]));
    return arrays_fill(self, arrays, count, false);
}

/* Loads on the CPU, whatever the scope asks for. */
static gantry_status_t load_on_cpu(gantry_scope_t *scope, const char *const *paths, size_t count,
                                   arrays_t *self) {
    GANTRY__TRAIN_TRY(gantry_scope_status(scope));
    gantry_scope_t *inner = gantry_scope_begin_in(scope, "/CPU:0");
    if (!inner) return gantry__train_fail(GANTRY_RESOURCE_EXHAUSTED, "%s", gantry_last_message());
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    const gantry_status_t status = load_files(inner, paths, count, self);
    (void)snprintf(text, sizeof text, "%s",
                   gantry_scope_status(inner) == GANTRY_OK ? gantry_last_message()
                                                           : gantry_scope_message(inner));
    (void)gantry_scope_end(inner);
    return status == GANTRY_OK ? GANTRY_OK : gantry_fail(status, text);
}

gantry_dataset_t *gantry_dataset_from_npy(gantry_scope_t *scope, const char *const *paths,
                                          size_t count) {
    if (!scope) {
        (void)gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                 "gantry_dataset_from_npy: the scope is NULL");
        return NULL;
    }
    arrays_t *self = NULL;
    gantry_status_t status = check_count("gantry_dataset_from_npy", paths, "paths", count);
    if (status == GANTRY_OK) {
        self = arrays_make();
        status = self ? load_on_cpu(scope, paths, count, self) : GANTRY_RESOURCE_EXHAUSTED;
    }
    if (status == GANTRY_OK) return &self->base;
    if (self) gantry_dataset_release(&self->base);
    (void)gantry__train_hand_on(scope, status);
    return NULL;
}
