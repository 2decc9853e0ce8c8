/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that indices name. Indices of ONNX may count from the end. */
#include <string.h>

#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

/* ---- gathers ---- */

static gantry_status_t index_axis(gantry__onnx_call_t *call, int64_t fallback, int32_t *out_axis) {
    int64_t axis;
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", fallback),
                                  (uint32_t)gantry_tensor_shape(gantry__onnx_input(call, 0))->rank,
                                  &axis));
    *out_axis = (int32_t)axis;
    return GANTRY_OK;
}

typedef tensor *(*gather_fn)(gantry_scope_t *scope, tensor *data, tensor *indices, int32_t axis);

static gantry_status_t gather_along(gantry__onnx_call_t *call, gather_fn gather) {
    tensor *data = gantry__onnx_input(call, 0);
    int32_t axis;
    GANTRY__TRY(index_axis(call, 0, &axis));
    tensor *indices = gantry__onnx_count_from_begin(call, 1, data, axis, 1);
    return gantry__onnx_give(call, gather(call->scope, data, indices, axis));
}

gantry_status_t gantry__onnx_lower_gather(gantry__onnx_call_t *call) {
    return gather_along(call, gantry_gather);
}

gantry_status_t gantry__onnx_lower_gather_elements(gantry__onnx_call_t *call) {
    return gather_along(call, gantry_gather_elements);
}

/* How many dimensions of data a row of indices names; the last size of indices. */
static gantry_status_t index_columns(gantry__onnx_call_t *call, int32_t batch_count,
                                     int32_t *out_count) {
    const gantry_shape_t *data = gantry_tensor_shape(gantry__onnx_input(call, 0)),
                         *indices = gantry_tensor_shape(gantry__onnx_input(call, 1));
    const int64_t columns = indices->rank > 0 ? indices->dims[indices->rank - 1] : 0;
    if (columns < 0) return gantry__onnx_need_shape(call, gantry__onnx_input(call, 1));
    if (indices->rank <= batch_count || batch_count < 0 || columns + batch_count > data->rank)
        return gantry__onnx_invalid(
            call,
            "indices of %d dimensions, whose rows have %lld numbers, with batch_dims %d, "
            "for data of %d dimensions",
            (int)indices->rank, (long long)columns, (int)batch_count, (int)data->rank);
    *out_count = (int32_t)columns;
    return GANTRY_OK;
}

/* The places in the batch as columns in front of the indices. */
static tensor *add_batch_columns(gantry__onnx_call_t *call, tensor *indices, int32_t batch_count) {
    const gantry_shape_t *shape = gantry_tensor_shape(indices);
    gantry_shape_t grid = {.rank = shape->rank}, all = *shape;
    for (int32_t i = 0; i < grid.rank; ++i) grid.dims[i] = i < batch_count ? shape->dims[i] : 1;
    grid.dims[grid.rank - 1] = all.dims[all.rank - 1] = batch_count;
    const int64_t count = gantry_shape_elements(&grid);
    int64_t *numbers = gantry__onnx_scratch(call, (size_t)count, sizeof *numbers);
    if (!numbers) return NULL;
    for (int64_t i = 0; i < count; ++i) {
        int64_t place = i / batch_count;
        for (int32_t k = batch_count - 1; k > i % batch_count; --k) place /= grid.dims[k];
        numbers[i] = place % grid.dims[i % batch_count];
    }
    tensor *const parts[] = {
        gantry__onnx_broadcast(
            call, gantry__onnx_ints_of(call, gantry_tensor_dtype(indices), numbers, grid), all),
        indices};
    return gantry_concat(call->scope, parts, 2, shape->rank - 1);
}

gantry_status_t gantry__onnx_lower_gather_nd(gantry__onnx_call_t *call) {
    tensor *data = gantry__onnx_input(call, 0);
    const int64_t given = gantry__onnx_attr_int(call, "batch_dims", 0);
    const int32_t batch_count = given < 0 || given > GANTRY_MAX_RANK ? -1 : (int32_t)given;
    int32_t columns;
    GANTRY__TRY(index_columns(call, batch_count, &columns));
    tensor *indices = gantry__onnx_count_from_begin(call, 1, data, batch_count, columns);
    if (batch_count > 0) {
        GANTRY__TRY(gantry__onnx_need_shape(call, gantry__onnx_input(call, 1)));
        if (gantry_tensor_elements(gantry__onnx_input(call, 1)) > 0 && indices)
            indices = add_batch_columns(call, indices, batch_count);
    }
    return gantry__onnx_give(call, gantry_gather_nd(call->scope, data, indices));
}

/* ---- scatters ---- */

/* ONNX's reductions with Gantry's. */
typedef struct scatter_kind_t {
    const char *name, *elements, *slices;
} scatter_kind_t;

static const scatter_kind_t scatter_kinds[] = {{"none", "NONE", "TensorScatterUpdate"},
                                               {"add", "ADD", "TensorScatterAdd"},
                                               {"mul", "MUL", "TensorScatterMul"},
                                               {"max", "MAX", "TensorScatterMax"},
                                               {"min", "MIN", "TensorScatterMin"}};

static gantry_status_t scatter_kind(gantry__onnx_call_t *call, const scatter_kind_t **out_kind) {
    const char *name = gantry__onnx_attr_text(call, "reduction", "none");
    for (size_t i = 0; i < sizeof scatter_kinds / sizeof *scatter_kinds; ++i) {
        if (strcmp(name, scatter_kinds[i].name) != 0) continue;
        *out_kind = &scatter_kinds[i];
        return GANTRY_OK;
    }
    return gantry__onnx_invalid(call, "reduction '%s'; reductions are none, add, mul, max and min",
                                name);
}

gantry_status_t gantry__onnx_lower_scatter_elements(gantry__onnx_call_t *call) {
    tensor *data = gantry__onnx_input(call, 0);
    const scatter_kind_t *kind;
    int32_t axis;
    GANTRY__TRY(scatter_kind(call, &kind));
    GANTRY__TRY(index_axis(call, 0, &axis));
    return gantry__onnx_give(
        call, gantry_scatter_elements(call->scope, data,
                                      gantry__onnx_count_from_begin(call, 1, data, axis, 1),
                                      gantry__onnx_input(call, 2), axis, kind->elements));
}

gantry_status_t gantry__onnx_lower_scatter_nd(gantry__onnx_call_t *call) {
    tensor *data = gantry__onnx_input(call, 0);
    const scatter_kind_t *kind;
    int32_t columns;
    GANTRY__TRY(scatter_kind(call, &kind));
    GANTRY__TRY(index_columns(call, 0, &columns));
    tensor *const inputs[] = {data, gantry__onnx_count_from_begin(call, 1, data, 0, columns),
                              gantry__onnx_input(call, 2)};
    return gantry__onnx_give(call, gantry__onnx_op(call, kind->slices, inputs, 3, NULL, 0));
}

/* Where the updates of each sample begin, in the form of updates but for sizes of 1. */
static tensor *write_begins(gantry__onnx_call_t *call, const gantry_shape_t *updates) {
    tensor *given = gantry__onnx_input(call, 2);
    gantry_shape_t form = {.rank = updates->rank, .dims = {updates->dims[0]}};
    for (int32_t i = 1; i < form.rank; ++i) form.dims[i] = 1;
    if (!given) return gantry_zeros(call->host, GANTRY_INT64, form);
    return gantry__onnx_reshape(call, gantry__onnx_cast(call, given, GANTRY_INT64), form);
}

/* An update has the sizes of the cache, but along the axis, and a place for each row. */
static gantry_status_t check_cache_update(gantry__onnx_call_t *call, int32_t axis) {
    const gantry_shape_t *shape = gantry_tensor_shape(gantry__onnx_input(call, 0)),
                         *written = gantry_tensor_shape(gantry__onnx_input(call, 1));
    tensor *begins = gantry__onnx_input(call, 2);
    if (axis == 0 || written->rank != shape->rank)
        return gantry__onnx_invalid(call, "axis %d of %d dimensions, and an update of %d",
                                    (int)axis, (int)shape->rank, (int)written->rank);
    for (int32_t i = 0; i < shape->rank; ++i) {
        const int64_t size = written->dims[i], most = shape->dims[i];
        if (i == axis ? size > most : size != most)
            return gantry__onnx_invalid(call, "an update of %lld in dimension %d of %lld",
                                        (long long)size, (int)i, (long long)most);
    }
    const gantry_shape_t wanted = GANTRY_SHAPE(shape->dims[0]);
    if (begins && !gantry_shape_equal(gantry_tensor_shape(begins), &wanted))
        return gantry__onnx_invalid(call, "write_indices is not of the shape [%lld]",
                                    (long long)wanted.dims[0]);
    return GANTRY_OK;
}

/* Writes updates along an axis of a cache: element s of sample b to write_indices[b] + s. */
gantry_status_t gantry__onnx_lower_tensor_scatter(gantry__onnx_call_t *call) {
    tensor *data = gantry__onnx_input(call, 0), *updates = gantry__onnx_input(call, 1);
    const gantry_shape_t *shape = gantry_tensor_shape(data),
                         *written = gantry_tensor_shape(updates);
    const char *mode = gantry__onnx_attr_text(call, "mode", "linear");
    const bool is_circular = strcmp(mode, "circular") == 0;
    int32_t axis;
    GANTRY__TRY(index_axis(call, -2, &axis));
    GANTRY__TRY(gantry__onnx_need_shape(call, data));
    GANTRY__TRY(gantry__onnx_need_shape(call, updates));
    if (!is_circular && strcmp(mode, "linear") != 0)
        return gantry__onnx_invalid(call, "mode '%s'; modes are linear and circular", mode);
    GANTRY__TRY(check_cache_update(call, axis));
    gantry_shape_t row = {.rank = written->rank};
    for (int32_t i = 0; i < row.rank; ++i) row.dims[i] = i == axis ? written->dims[axis] : 1;
    int64_t *steps = gantry__onnx_scratch(call, (size_t)row.dims[axis], sizeof *steps);
    if (!steps) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < row.dims[axis]; ++i) steps[i] = i;
    tensor *places = gantry_add(call->scope, write_begins(call, written),
                                gantry__onnx_ints_of(call, GANTRY_INT64, steps, row));
    if (is_circular)
        places =
            gantry_floor_mod(call->scope, places, gantry_scalar_i64(call->host, shape->dims[axis]));
    return gantry__onnx_give(
        call,
        gantry_scatter_elements(call->scope, data, gantry__onnx_broadcast(call, places, *written),
                                updates, axis, NULL));
}
