/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/move.h"

/* Of an op's inputs, of which Concat's axis is one. */
#define MOST_JOINED (GANTRY_MAX_OP_INPUTS - 1)

int64_t gantry__onnx_product(const gantry_shape_t *shape, int32_t begin, int32_t end) {
    int64_t product = 1;
    for (int32_t i = begin; i < end; ++i) {
        if (shape->dims[i] < 0) return -1;
        product *= shape->dims[i];
    }
    return product;
}

const gantry_tensor_t *gantry__onnx_reshape(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                            gantry_shape_t shape) {
    if (!x || gantry_shape_equal(gantry_tensor_shape(x), &shape)) return x;
    return gantry_reshape(call->scope, x, shape);
}

/* Whether the dimensions that are not 1 stay in their order, and at most one is open. */
static bool moves_only_ones(const gantry_shape_t *shape, const int32_t *perm) {
    int32_t last = -1, open_count = 0;
    for (int32_t i = 0; i < shape->rank; ++i) {
        if (perm[i] < 0 || perm[i] >= shape->rank) return false;
        open_count += shape->dims[perm[i]] < 0;
        if (shape->dims[perm[i]] == 1) continue;
        if (perm[i] <= last) return false;
        last = perm[i];
    }
    return open_count < 2;
}

const gantry_tensor_t *gantry__onnx_transpose(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                              const int32_t *perm) {
    if (!x) return NULL;
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    gantry_shape_t moved = *shape;
    if (!moves_only_ones(shape, perm)) return gantry_transpose(call->scope, x, perm);
    for (int32_t i = 0; i < shape->rank; ++i) moved.dims[i] = shape->dims[perm[i]];
    return gantry__onnx_reshape(call, x, moved);
}

const gantry_tensor_t *gantry__onnx_concat(gantry__onnx_call_t *call,
                                           const gantry_tensor_t *const *values, size_t count,
                                           int32_t axis) {
    if (count == 1) return values[0];
    if (count <= MOST_JOINED) return gantry_concat(call->scope, values, count, axis);
    const size_t joined_count = (count + MOST_JOINED - 1) / MOST_JOINED;
    const gantry_tensor_t **joined = gantry__onnx_scratch(call, joined_count, sizeof *joined);
    if (!joined) return NULL;
    for (size_t i = 0; i < joined_count; ++i) {
        const size_t begin = i * MOST_JOINED;
        const size_t size = count - begin < MOST_JOINED ? count - begin : MOST_JOINED;
        joined[i] = gantry__onnx_concat(call, values + begin, size, axis);
    }
    return gantry__onnx_concat(call, joined, joined_count, axis);
}

const gantry_tensor_t *gantry__onnx_part(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         int32_t axis, int64_t begin, int64_t count) {
    int64_t begins[GANTRY_MAX_RANK] = {0}, sizes[GANTRY_MAX_RANK];
    for (int32_t i = 0; i < GANTRY_MAX_RANK; ++i) sizes[i] = -1;
    begins[axis] = begin;
    sizes[axis] = count;
    return gantry_slice(call->scope, x, begins, sizes);
}

const gantry_tensor_t *gantry__onnx_broadcast(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                              gantry_shape_t shape) {
    if (!x || gantry_shape_equal(gantry_tensor_shape(x), &shape)) return x;
    return gantry_broadcast_to(call->scope, x, shape);
}

const gantry_tensor_t *gantry__onnx_cast(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         gantry_dtype_t dtype) {
    if (!x || gantry_tensor_dtype(x) == dtype) return x;
    return gantry_cast(call->scope, x, dtype);
}

const gantry_tensor_t *gantry__onnx_ints_of(gantry__onnx_call_t *call, gantry_dtype_t dtype,
                                            const int64_t *values, gantry_shape_t shape) {
    const int64_t count = gantry_shape_elements(&shape);
    const gantry_tensor_t *ints =
        gantry__onnx_make_ints(call, dtype, values, count < 0 ? 0 : (size_t)count);
    if (!ints || gantry_shape_equal(gantry_tensor_shape(ints), &shape)) return ints;
    return gantry_reshape(call->host, ints, shape);
}

/* ---- indices from the end ---- */

static const gantry_tensor_t *count_known_from_begin(gantry__onnx_call_t *call, size_t i,
                                                     const gantry_shape_t *data, int32_t first,
                                                     size_t columns) {
    const gantry_tensor_t *indices = gantry__onnx_input(call, i);
    const int64_t *given;
    size_t count;
    bool has_negative = false;
    if (gantry__onnx_get_all_ints(call, i, "indices", &given, &count)) return NULL;
    int64_t *counted = gantry__onnx_scratch(call, count, sizeof *counted);
    if (!counted) return count == 0 ? indices : NULL;
    for (size_t k = 0; k < count; ++k) {
        const int64_t size = data->dims[(size_t)first + k % columns];
        counted[k] = given[k] < 0 ? given[k] + size : given[k];
        if (counted[k] < 0 || counted[k] >= size) {
            const gantry_status_t status =
                gantry__onnx_invalid(call, "index %lld of a dimension of %lld elements",
                                     (long long)given[k], (long long)size);
            (void)gantry_scope_fail(call->scope, status, gantry_last_message());
            return NULL;
        }
        has_negative = has_negative || given[k] < 0;
    }
    if (!has_negative) return indices;
    return gantry__onnx_ints_of(call, gantry_tensor_dtype(indices), counted,
                                *gantry_tensor_shape(indices));
}

/* The sizes as a tensor: a scalar for one column. */
static const gantry_tensor_t *sizes_of_columns(gantry__onnx_call_t *call,
                                               const gantry_tensor_t *data, int32_t first,
                                               int32_t count, gantry_dtype_t dtype) {
    const gantry_shape_t *shape = gantry_tensor_shape(data);
    const gantry_shape_t form = count == 1 ? GANTRY_SCALAR : GANTRY_SHAPE(count);
    if (gantry__onnx_product(shape, first, first + count) >= 0)
        return gantry__onnx_ints_of(call, dtype, shape->dims + first, form);
    return gantry__onnx_reshape(call,
                                gantry_slice(call->scope, gantry_shape(call->scope, data, dtype),
                                             (int64_t[]){first}, (int64_t[]){count}),
                                form);
}

const gantry_tensor_t *gantry__onnx_count_from_begin(gantry__onnx_call_t *call, size_t i,
                                                     const gantry_tensor_t *data, int32_t first,
                                                     int32_t count) {
    const gantry_tensor_t *indices = gantry__onnx_input(call, i);
    const gantry_shape_t *shape = gantry_tensor_shape(data);
    const bool has_sizes = gantry__onnx_product(shape, first, first + count) >= 0;
    if (count == 0) return indices;
    if (has_sizes && gantry__onnx_is_known(call, indices))
        return count_known_from_begin(call, i, shape, first, (size_t)count);
    const gantry_dtype_t dtype = gantry_tensor_dtype(indices);
    const gantry_tensor_t *zero = gantry__onnx_make_scalar(call, dtype, 0),
                          *sizes = sizes_of_columns(call, data, first, count, dtype);
    return gantry_select(call->scope, gantry_less(call->scope, indices, zero),
                         gantry_add(call->scope, indices, sizes), indices);
}
