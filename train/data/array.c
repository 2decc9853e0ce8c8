/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in host memory: to and from tensors, and as the rows of one vector. */
#include <inttypes.h>

#include <gantry_train/dataset.h>

#include "train/base/fail.h"
#include "train/data/element.h"

const gantry_tensor_t *gantry_tensor_from_array(gantry_scope_t *scope,
                                                const gantry_array_t *array) {
    size_t bytes;
    if (!scope) {
        (void)gantry__train_fail_null(NULL, "gantry_tensor_from_array", "scope",
                                      "one from gantry_scope_begin");
        return NULL;
    }
    if (!array)
        return gantry__train_refuse_pointer(scope, "gantry_tensor_from_array: the array is NULL");
    (void)gantry__train_array_bytes(array->dtype, &array->shape, &bytes);
    return gantry_constant(scope, array->dtype, array->shape, array->data, bytes);
}

gantry_status_t gantry_tensor_to_array(const gantry_tensor_t *tensor, void *out, size_t bytes,
                                       gantry_array_t *out_array) {
    if (!out_array) return gantry__train_refuse(NULL, "gantry_tensor_to_array: out_array is NULL");
    *out_array = (gantry_array_t){.dtype = GANTRY_DTYPE_NONE};
    GANTRY__TRY(gantry_tensor_read(tensor, out, bytes));
    *out_array = (gantry_array_t){gantry_tensor_dtype(tensor), *gantry_tensor_shape(tensor), out};
    return GANTRY_OK;
}

/* ---- rows of one vector ---- */

static gantry_status_t check_vector(const gantry_array_t *array, const char *what) {
    size_t bytes;
    if (!array)
        return gantry__train_refuse(NULL, "gantry_sequences_from_row_splits: %s is NULL", what);
    if (array->shape.rank != 1 || !gantry__train_array_bytes(array->dtype, &array->shape, &bytes)) {
        return gantry__train_refuse(
            NULL, "gantry_sequences_from_row_splits: %s is %s; a vector is accepted", what,
            gantry__train_array_text(array->dtype, &array->shape).text);
    }
    if (array->data || bytes == 0) return GANTRY_OK;
    return gantry__train_refuse(NULL, "gantry_sequences_from_row_splits: the data of %s is NULL",
                                what);
}

static gantry_status_t check_splits(const gantry_array_t *splits, size_t count) {
    GANTRY__TRY(check_vector(splits, "row_splits"));
    const bool is_integer = splits->dtype == GANTRY_INT32 || splits->dtype == GANTRY_INT64;
    const int64_t splits_count = splits->shape.dims[0];
    if (is_integer && splits_count > 0 && (uint64_t)splits_count - 1 == count) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_sequences_from_row_splits: row_splits is %s; int32 or int64 of the number of sequences, %zu, and one more are accepted",
        gantry__train_array_text(splits->dtype, &splits->shape).text, count);
}

static int64_t get_split(const gantry_array_t *splits, size_t i) {
    return splits->dtype == GANTRY_INT32 ? ((const int32_t *)splits->data)[i]
                                         : ((const int64_t *)splits->data)[i];
}

gantry_status_t gantry_sequences_from_row_splits(const gantry_array_t *values,
                                                 const gantry_array_t *row_splits,
                                                 gantry_array_t *out_sequences, size_t count) {
    if (!out_sequences && count > 0)
        return gantry__train_refuse(
            NULL, "gantry_sequences_from_row_splits: out_sequences is NULL, but count is %zu",
            count);
    GANTRY__TRY(check_vector(values, "values"));
    GANTRY__TRY(check_splits(row_splits, count));
    const int64_t all = values->shape.dims[0];
    int64_t before = 0;
    for (size_t i = 0; i <= count; ++i) {
        const int64_t split = get_split(row_splits, i), least = i < count ? before : all,
                      most = i > 0 ? all : 0;
        if (split < least || split > most) {
            return gantry__train_refuse(
                NULL,
                "gantry_sequences_from_row_splits: row_splits[%zu] is %" PRId64 "; %" PRId64
                " to %" PRId64 " is accepted",
                i, split, least, most);
        }
        if (i > 0)
            out_sequences[i - 1] = (gantry_array_t){
                values->dtype,
                {.rank = 1, .dims = {split - before}},
                all > 0
                    ? (const char *)values->data + (size_t)before * gantry_dtype_size(values->dtype)
                    : NULL};
        before = split;
    }
    return GANTRY_OK;
}
