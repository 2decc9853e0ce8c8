/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of rows: arrays in memory, and .npy files, which are loaded into tensors that are read in
 * place. */
#include <gantry/interop.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/data/stage.h"

typedef struct arrays_t {
    gantry_dataset_t base;
    gantry__train_rows_t content;
    /* memory of the data set's own, or empty */
    gantry__train_buffer_t owned[GANTRY_MAX_COMPONENTS];
    const gantry_tensor_t *mapped[GANTRY_MAX_COMPONENTS]; /* of files, or NULL */
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
    for (size_t i = 0; i < GANTRY_MAX_COMPONENTS; ++i) {
        gantry__train_buffer_deinit(&self->owned[i]);
        if (self->mapped[i]) (void)gantry_tensor_unmap(self->mapped[i]);
    }
}

static const gantry__train_kind_t arrays_kind = {.name = "from_arrays",
                                                 .stage_bytes = sizeof(arrays_stage_t),
                                                 .gives_rows = true,
                                                 .next = arrays_next,
                                                 .deinit = arrays_deinit};

/* ---- checks ---- */

static gantry_status_t dataset_arrays_check_count(const char *call, const void *list,
                                                  const char *things, size_t count) {
    if (count == 0 || count > GANTRY_MAX_COMPONENTS) {
        return gantry__train_refuse(NULL, "%s: %zu %s are given; 1 to %d are accepted", call, count,
                                    things, GANTRY_MAX_COMPONENTS);
    }
    if (list) return GANTRY_OK;
    return gantry__train_refuse(NULL, "%s: %zu %s are given at NULL", call, count, things);
}

static gantry_status_t check_array(const char *call, const gantry_array_t *array, size_t index,
                                   size_t *out_bytes) {
    if (!gantry__train_array_bytes(array->dtype, &array->shape, out_bytes)) {
        return gantry__train_refuse(
            NULL,
            "%s: array %zu is %s; a type of gantry_dtype_t, at most %d dimensions, none negative, and a size that fits into memory are accepted",
            call, index, gantry__train_array_text(array->dtype, &array->shape).text,
            GANTRY_MAX_RANK);
    }
    if (array->shape.rank == 0) {
        return gantry__train_refuse(
            NULL,
            "%s: array %zu is a scalar; arrays with a first dimension are accepted, whose rows are the elements",
            call, index);
    }
    if (array->data || *out_bytes == 0) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "%s: the data of array %zu is NULL; the address of %zu bytes is accepted", call,
        index, *out_bytes);
}

static gantry_status_t check_rows(const char *call, const gantry_array_t *arrays, size_t index) {
    if (arrays[index].shape.dims[0] == arrays[0].shape.dims[0]) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "%s: array %zu has %lld rows, and array 0 has %lld; arrays with the same first dimension are accepted",
        call, index, (long long)arrays[index].shape.dims[0], (long long)arrays[0].shape.dims[0]);
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
    GANTRY__TRY(gantry__train_buffer_reserve(&self->owned[index], bytes, 0));
    if (bytes > 0) memcpy(self->owned[index].bytes, self->content.arrays[index].data, bytes);
    self->content.arrays[index].data = self->owned[index].bytes;
    return GANTRY_OK;
}

/* Takes over the arrays whose memory `self` holds already. */
static gantry_status_t arrays_fill(arrays_t *self, const gantry_array_t *arrays, size_t count,
                                   bool copy) {
    static const char call[] = "gantry_dataset_from_arrays";
    for (size_t i = 0; i < count; ++i) {
        size_t bytes;
        GANTRY__TRY(check_array(call, &arrays[i], i, &bytes));
        GANTRY__TRY(check_rows(call, arrays, i));
        set_row(&self->content, i, &arrays[i], bytes);
        if (copy) GANTRY__TRY(copy_array(self, i, bytes));
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
    if (dataset_arrays_check_count("gantry_dataset_from_arrays", arrays, "arrays", count) !=
        GANTRY_OK)
        return NULL;
    arrays_t *self = arrays_make();
    if (!self) return NULL;
    if (arrays_fill(self, arrays, count, copy) == GANTRY_OK) return &self->base;
    gantry_dataset_release(&self->base);
    return NULL;
}

/* ---- splitting ---- */

/* `rows` rows of an array from `first` on. */
static gantry_array_t part_of(const gantry_array_t *array, size_t bytes, int64_t first,
                              int64_t rows) {
    gantry_array_t part = *array;
    const size_t row_bytes = bytes > 0 ? bytes / (size_t)array->shape.dims[0] : 0;
    part.shape.dims[0] = rows;
    if (bytes > 0) part.data = (const unsigned char *)array->data + (size_t)first * row_bytes;
    return part;
}

/* Splits by Keras's rule: the last part of the rows is the validation's. */
static gantry_status_t dataset_arrays_find_split(double validation_split, int64_t rows,
                                                 int64_t *out_first) {
    static const char call[] = "gantry_arrays_split";
    if (!(validation_split > 0 && validation_split < 1))
        return gantry__train_refuse(
            NULL, "%s: validation_split is %g; a number between 0 and 1 is accepted", call,
            validation_split);
    *out_first = (int64_t)floor((double)rows * (1 - validation_split));
    if (*out_first > 0 && *out_first < rows) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "%s: validation_split %g of %lld rows leaves %lld to train; 1 row and more in each part are accepted",
        call, validation_split, (long long)rows, (long long)*out_first);
}

gantry_status_t gantry_arrays_split(const gantry_array_t *arrays, size_t count,
                                    double validation_split, gantry_array_t *out_train,
                                    gantry_array_t *out_validation) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    static const char call[] = "gantry_arrays_split";
    gantry_array_t train[GANTRY_MAX_COMPONENTS], validation[GANTRY_MAX_COMPONENTS];
    GANTRY__TRY(dataset_arrays_check_count(call, arrays, "arrays", count));
    if (!out_train || !out_validation)
        return gantry__train_refuse(NULL, "%s: %s is NULL; room for %zu arrays is accepted", call,
                                    out_train ? "out_validation" : "out_train", count);
    for (size_t i = 0; i < count; ++i) {
        size_t bytes;
        GANTRY__TRY(check_array(call, &arrays[i], i, &bytes));
        GANTRY__TRY(check_rows(call, arrays, i));
        const int64_t rows = arrays[i].shape.dims[0];
        int64_t first = 0;
        GANTRY__TRY(dataset_arrays_find_split(validation_split, rows, &first));
        train[i] = part_of(&arrays[i], bytes, 0, first);
        validation[i] = part_of(&arrays[i], bytes, first, rows - first);
    }
    memcpy(out_train, train, count * sizeof *train);
    memcpy(out_validation, validation, count * sizeof *validation);
    return GANTRY_OK;
}

/* ---- .npy files ---- */

static gantry_status_t load_file(gantry_scope_t *scope, const char *path,
                                 const gantry_tensor_t **out_mapped, gantry_array_t *out) {
    const gantry_tensor_t *tensor = gantry_load_npy(scope, path);
    if (!tensor) return gantry_scope_status(scope);
    *out = (gantry_array_t){gantry_tensor_dtype(tensor), *gantry_tensor_shape(tensor), NULL};
    GANTRY__TRY(gantry_tensor_map(tensor, &out->data));
    *out_mapped = tensor;
    return GANTRY_OK;
}

static gantry_status_t load_files(gantry_scope_t *scope, const char *const *paths, size_t count,
                                  arrays_t *self) {
    gantry_array_t arrays[GANTRY_MAX_COMPONENTS];
    for (size_t i = 0; i < count; ++i)
        GANTRY__TRY(load_file(scope, paths[i], &self->mapped[i], &arrays[i]));
    return arrays_fill(self, arrays, count, false);
}

/* Loads on the CPU, whichever device the scope requests. */
static gantry_status_t load_on_cpu(gantry_scope_t *scope, const char *const *paths, size_t count,
                                   arrays_t *self) {
    GANTRY__TRY(gantry__train_check_scope(scope));
    gantry_scope_t *inner = gantry_scope_begin_in(scope, "/CPU:0");
    if (!inner) return gantry__train_no_scope(gantry_scope_runtime(scope));
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
        (void)gantry__train_fail_null(NULL, "gantry_dataset_from_npy", "scope",
                                      "one from gantry_scope_begin");
        return NULL;
    }
    arrays_t *self = NULL;
    gantry_status_t status =
        dataset_arrays_check_count("gantry_dataset_from_npy", paths, "paths", count);
    if (status == GANTRY_OK) {
        self = arrays_make();
        status = self ? load_on_cpu(scope, paths, count, self) : GANTRY_RESOURCE_EXHAUSTED;
    }
    if (status == GANTRY_OK) return &self->base;
    if (self) gantry_dataset_release(&self->base);
    (void)gantry__train_hand_on(scope, status);
    return NULL;
}
