/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are made of numbers. */
#include <math.h>
#include <string.h>

#include "onnx/lower/parts.h"

static const gantry_tensor_t *constant_of_list(gantry__onnx_call_t *call, gantry_dtype_t dtype,
                                               const void *data, size_t count) {
    const size_t bytes = count * gantry_dtype_size(dtype);
    return gantry_constant(call->host, dtype, GANTRY_SHAPE((int64_t)count), data, bytes);
}

/* A constant that is an attribute of numbers. */
static const gantry_tensor_t *constant_of_numbers(gantry__onnx_call_t *call, const char *name) {
    size_t count = 0;
    if (strcmp(name, "value_float") == 0)
        return gantry_scalar_f32(call->host, gantry__onnx_attr_float(call, name, 0));
    if (strcmp(name, "value_int") == 0)
        return gantry_scalar_i64(call->host, gantry__onnx_attr_int(call, name, 0));
    if (strcmp(name, "value_floats") == 0) {
        const float *floats = gantry__onnx_attr_floats(call, name, &count);
        return constant_of_list(call, GANTRY_FLOAT32, floats, count);
    }
    const int64_t *ints = gantry__onnx_attr_ints(call, name, &count);
    return constant_of_list(call, GANTRY_INT64, ints, count);
}

gantry_status_t gantry__onnx_lower_constant(gantry__onnx_call_t *call) {
    if (call->node->attr_count != 1)
        return gantry__onnx_invalid(call, "it has %zu values; a constant has one",
                                    call->node->attr_count);
    const char *name = call->node->attrs[0].name;
    if (strncmp(name, "value_string", strlen("value_string")) == 0)
        return gantry__onnx_unsupported(call, "Gantry has no texts");
    const gantry_tensor_t *value = NULL;
    if (strcmp(name, "value") == 0 || strcmp(name, "sparse_value") == 0)
        GANTRY__TRY(gantry__onnx_attr_tensor(call, name, &value));
    else
        value = constant_of_numbers(call, name);
    return gantry__onnx_give(call, value);
}

gantry_status_t gantry__onnx_lower_constant_of_shape(gantry__onnx_call_t *call) {
    const gantry_tensor_t *value;
    const int64_t *sizes;
    size_t rank;
    gantry_shape_t shape = GANTRY_SCALAR;
    GANTRY__TRY(gantry__onnx_get_ints(call, 0, "the shape", &sizes, &rank));
    if (rank > GANTRY_MAX_RANK)
        return gantry__onnx_unsupported(call, "a shape of %zu dimensions; Gantry has %d at most",
                                        rank, GANTRY_MAX_RANK);
    for (size_t i = 0; i < rank; ++i) {
        if (sizes[i] < 0)
            return gantry__onnx_invalid(call, "size %zu of the shape is %lld", i,
                                        (long long)sizes[i]);
        shape.dims[i] = sizes[i];
    }
    shape.rank = (int32_t)rank;
    GANTRY__TRY(gantry__onnx_attr_tensor(call, "value", &value));
    if (!value) value = gantry_scalar_f32(call->host, 0);
    if (value && gantry_tensor_elements(value) != 1)
        return gantry__onnx_invalid(call, "value has %lld elements; it must have one",
                                    (long long)gantry_tensor_elements(value));
    value = gantry__onnx_reshape(call, value, GANTRY_SCALAR);
    return gantry__onnx_give(call, value ? gantry_fill(call->scope, shape, value) : NULL);
}

/* Below operator set 27 there are no halves. stash_type says in which type theirs are computed. */
gantry_status_t gantry__onnx_lower_range(gantry__onnx_call_t *call) {
    static const char *const names[] = {"start", "limit", "delta"};
    const gantry_dtype_t dtype = gantry_tensor_dtype(gantry__onnx_input(call, 0));
    const gantry_tensor_t *in[3];
    gantry_dtype_t work = dtype;
    double values[3] = {0};
    if (gantry__onnx_is_half(dtype))
        GANTRY__TRY(gantry__onnx_attr_dtype(call, "stash_type", GANTRY_FLOAT32, &work));
    if (work != dtype && !gantry__onnx_is_floating(work))
        return gantry__onnx_invalid(call, "stash_type is %s; it is a type of floats",
                                    gantry_dtype_name(work));
    for (size_t i = 0; i < 3; ++i) {
        GANTRY__TRY(gantry__onnx_get_double(call, i, names[i], 0, &values[i]));
        GANTRY__TRY(gantry__onnx_scalar_input(call, i, names[i], &in[i]));
        in[i] = gantry__onnx_cast(call, in[i], work);
    }
    if (values[2] == 0) return gantry__onnx_invalid(call, "delta is 0");
    /* A range that goes the other way is empty, which Gantry refuses. */
    if (values[2] > 0 ? values[1] < values[0] : values[1] > values[0]) in[1] = in[0];
    const gantry_tensor_t *range = NULL;
    if (in[0] && in[1] && in[2]) range = gantry_range(call->scope, in[0], in[1], in[2]);
    return gantry__onnx_give(call, gantry__onnx_cast(call, range, dtype));
}

/* Row i has its 1 at i + k: OneHot of these places, which gives no 1 for a place outside. */
gantry_status_t gantry__onnx_lower_eye_like(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    gantry_dtype_t dtype;
    int64_t k = gantry__onnx_attr_int(call, "k", 0);
    GANTRY__TRY(gantry__onnx_attr_dtype(call, "dtype", gantry_tensor_dtype(x), &dtype));
    if (shape->rank != 2)
        return gantry__onnx_invalid(call, "the input has %d dimensions; it must have 2",
                                    (int)shape->rank);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const int64_t rows = shape->dims[0], columns = shape->dims[1];
    if (columns > INT32_MAX)
        return gantry__onnx_unsupported(call, "a matrix of %lld columns", (long long)columns);
    k = k < -rows ? -rows : k > columns ? columns : k;
    gantry_scope_t *host = call->host;
    const gantry_tensor_t *places =
        gantry_range(host, gantry_scalar_i64(host, k), gantry_scalar_i64(host, k + rows),
                     gantry_scalar_i64(host, 1));
    const gantry_tensor_t *one = gantry__onnx_make_scalar(call, dtype, 1),
                          *zero = gantry__onnx_make_scalar(call, dtype, 0);
    if (!places || !one || !zero) return gantry__onnx_give(call, NULL);
    return gantry__onnx_give(call,
                             gantry_one_hot(call->scope, places, (int32_t)columns, one, zero, -1));
}
