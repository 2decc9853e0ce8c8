/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are chosen by their values: largest ones, those that are not 0 or true, and one-hot
 * rows. */
#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

/* ---- OneHot ---- */

static tensor *one_value(gantry__onnx_call_t *call, tensor *values, int64_t place) {
    return gantry_reshape(call->scope,
                          gantry_slice(call->scope, values, &place, (const int64_t[]){1}),
                          GANTRY_SCALAR);
}

gantry_status_t gantry__onnx_lower_one_hot(gantry__onnx_call_t *call) {
    tensor *indices = gantry__onnx_input(call, 0), *values = gantry__onnx_input(call, 2);
    const int32_t rank = gantry_tensor_shape(indices)->rank;
    const double *depths;
    size_t depth_count;
    int64_t axis;
    GANTRY__TRY(gantry__onnx_get_doubles(call, 1, "depth", &depths, &depth_count));
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", -1), (uint32_t)rank + 1,
                                  &axis));
    if (depth_count != 1 || !(depths[0] >= 0 && depths[0] <= INT32_MAX))
        return gantry__onnx_invalid(call, "depth has %zu numbers, the first of which is %g",
                                    depth_count, depth_count > 0 ? depths[0] : 0);
    const gantry_shape_t *pair = gantry_tensor_shape(values);
    if (pair->rank != 1 || pair->dims[0] != 2)
        return gantry__onnx_invalid(call, "values of %d dimensions; they are the off and the on",
                                    (int)pair->rank);
    const int32_t depth = (int32_t)depths[0];
    tensor *places = gantry__onnx_cast(call, indices, GANTRY_INT64);
    tensor *counted = gantry_select(
        call->scope, gantry_less(call->scope, places, gantry_scalar_i64(call->host, 0)),
        gantry_add(call->scope, places, gantry_scalar_i64(call->host, depth)), places);
    return gantry__onnx_give(
        call, gantry_one_hot(call->scope, counted, depth, one_value(call, values, 1),
                             one_value(call, values, 0), axis == rank ? -1 : (int32_t)axis));
}

/* ---- by conditions ---- */

/* A scalar has one index, as in ONNX Runtime. */
gantry_status_t gantry__onnx_lower_non_zero(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    if (gantry_tensor_shape(x)->rank == 0) x = gantry__onnx_reshape(call, x, GANTRY_SHAPE(1));
    return gantry__onnx_give(call,
                             gantry_transpose(call->scope, gantry_where(call->scope, x), NULL));
}

gantry_status_t gantry__onnx_lower_compress(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0), *mask = gantry__onnx_input(call, 1);
    const gantry_shape_t *masked = gantry_tensor_shape(mask);
    int64_t axis = gantry__onnx_attr_int(call, "axis", INT64_MAX);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(gantry__onnx_need_shape(call, mask));
    if (masked->rank != 1)
        return gantry__onnx_invalid(call, "a condition of %d dimensions; it has 1",
                                    (int)masked->rank);
    if (axis == INT64_MAX) {
        x = gantry__onnx_reshape(call, x, GANTRY_SHAPE(gantry_tensor_elements(x)));
        if (!x) return gantry_scope_status(call->scope);
        axis = 0;
    }
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    int64_t begin[GANTRY_MAX_RANK] = {0};
    gantry_shape_t part = *shape;
    GANTRY__TRY(gantry__onnx_axis(call, axis, (uint32_t)shape->rank, &axis));
    /* A shorter condition says nothing about the elements after it: they are left out. */
    if (masked->dims[0] < shape->dims[axis]) {
        part.dims[axis] = masked->dims[0];
        x = gantry_slice(call->scope, x, begin, part.dims);
    } else if (masked->dims[0] > shape->dims[axis]) {
        mask = gantry_slice(call->scope, mask, begin, &shape->dims[axis]);
    }
    return gantry__onnx_give(call, gantry_boolean_mask(call->scope, x, mask, (int32_t)axis));
}

/* ---- TopK ---- */

gantry_status_t gantry__onnx_lower_top_k(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0), *results[2] = {NULL};
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    int64_t axis, k = gantry__onnx_attr_int(call, "k", 0);
    size_t count = 2;
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", -1),
                                  (uint32_t)shape->rank, &axis));
    if (gantry__onnx_version(call) >= 10) GANTRY__TRY(gantry__onnx_get_int(call, 1, "K", 0, &k));
    if (k < 0 || (shape->dims[axis] >= 0 && k > shape->dims[axis]))
        return gantry__onnx_invalid(call, "K is %lld for %lld elements", (long long)k,
                                    (long long)shape->dims[axis]);
    const gantry_attr_value_t attrs[] = {
        GANTRY__ONNX_TYPE_OF("index_type", GANTRY_INT64),
        GANTRY__ONNX_BOOL_OF("largest", gantry__onnx_attr_int(call, "largest", 1) != 0),
        GANTRY__ONNX_INT_OF("axis", axis)};
    tensor *const inputs[] = {x, gantry_scalar_i64(call->host, k)};
    GANTRY__TRY(gantry_op_call(call->scope, "TopK", inputs, 2, attrs, 3, results, &count));
    GANTRY__TRY(gantry__onnx_set(call, 0, results[0]));
    return gantry__onnx_wants(call, 1) ? gantry__onnx_set(call, 1, results[1]) : GANTRY_OK;
}
