/* SPDX-License-Identifier: Apache-2.0 */
/* Preparation of features in ai.onnx.ml: scales, norms, missing values, numbers for labels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "onnx/lower/lower_trees.h"
#include "onnx/lower/parts.h"

typedef const gantry_tensor_t tensor;

/* ---- one number, or one for each feature ---- */

/* A list of floats as a tensor; *out NULL: it is empty. It must have one number, or as many as the
 * last dimension of x. */
static gantry_status_t feature_numbers(gantry__onnx_call_t *call, const char *name, tensor *x,
                                       tensor **out) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    size_t count;
    const float *numbers = gantry__onnx_attr_floats(call, name, &count);
    const int64_t features = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;
    *out = NULL;
    if (count == 0) return GANTRY_OK;
    if (count != 1 && features >= 0 && (int64_t)count != features)
        return gantry__onnx_invalid(
            call, "%s has %zu numbers for %lld features; one, or one for each, is accepted", name,
            count, (long long)features);
    *out = gantry_constant(call->host, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)count), numbers,
                           count * sizeof *numbers);
    return gantry_scope_status(call->host);
}

gantry_status_t gantry__onnx_lower_scaler(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0), *offset, *scale;
    GANTRY__TRY(feature_numbers(call, "offset", x, &offset));
    GANTRY__TRY(feature_numbers(call, "scale", x, &scale));
    x = gantry__onnx_cast(call, x, GANTRY_FLOAT32);
    if (offset) x = gantry__onnx_op2(call, "Sub", x, offset);
    if (scale) x = gantry__onnx_op2(call, "Mul", x, scale);
    return gantry__onnx_give(call, x);
}

gantry_status_t gantry__onnx_check_normalizer(gantry__onnx_call_t *call) {
    const char *norm = gantry__onnx_attr_text(call, "norm", "MAX");
    if (strcmp(norm, "MAX") == 0 || strcmp(norm, "L1") == 0 || strcmp(norm, "L2") == 0)
        return GANTRY_OK;
    return gantry__onnx_invalid(call, "norm is %s; accepted are MAX, L1 and L2", norm);
}

/* A row whose norm is 0 stays. */
gantry_status_t gantry__onnx_lower_normalizer(gantry__onnx_call_t *call) {
    const char *norm = gantry__onnx_attr_text(call, "norm", "MAX");
    const bool is_max = strcmp(norm, "MAX") == 0, is_l1 = strcmp(norm, "L1") == 0;
    tensor *x = gantry__onnx_input(call, 0);
    const int32_t rank = gantry_tensor_shape(x)->rank;
    if (rank != 1 && rank != 2)
        return gantry__onnx_invalid(call, "X has %d dimensions; 1 and 2 are accepted", (int)rank);
    const int64_t axis = rank - 1;
    x = gantry__onnx_cast(call, x, GANTRY_FLOAT32);
    tensor *size = is_l1 ? gantry__onnx_op1(call, "Abs", x) : x;
    size = gantry__onnx_reduce(call,
                               is_max  ? "Max"
                               : is_l1 ? "Sum"
                                       : "EuclideanNorm",
                               size, &axis, 1, true);
    tensor *is_none = size ? gantry__onnx_op_number(call, "Equal", size, 0) : NULL;
    size =
        gantry__onnx_select(call, is_none, gantry__onnx_make_scalar(call, GANTRY_FLOAT32, 1), size);
    return gantry__onnx_give(call, gantry__onnx_op2(call, "Div", x, size));
}

/* ---- missing values ---- */

static gantry_status_t impute_integers(gantry__onnx_call_t *call, tensor *x, const int64_t *values,
                                       size_t count) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const int64_t features = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;
    if (count != 1 && (int64_t)count != features)
        return gantry__onnx_invalid(call, "%zu imputed values for %lld features", count,
                                    (long long)features);
    const int64_t replaced = gantry__onnx_attr_int(call, "replaced_value_int64", 0);
    tensor *is_missing = gantry__onnx_op2(
        call, "Equal", x,
        gantry__onnx_ints_of(call, gantry_tensor_dtype(x), &replaced, GANTRY_SCALAR));
    tensor *others = gantry__onnx_make_ints(call, gantry_tensor_dtype(x), values, count);
    return gantry__onnx_give(call, gantry__onnx_select(call, is_missing, others, x));
}

gantry_status_t gantry__onnx_lower_imputer(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0), *others;
    size_t float_count, int_count;
    (void)gantry__onnx_attr_floats(call, "imputed_value_floats", &float_count);
    const int64_t *ints = gantry__onnx_attr_ints(call, "imputed_value_int64s", &int_count);
    const bool is_floating = gantry__onnx_is_floating(gantry_tensor_dtype(x));
    if (is_floating ? float_count == 0 : int_count == 0)
        return gantry__onnx_invalid(call, "%s is empty, and X has elements of %s",
                                    is_floating ? "imputed_value_floats" : "imputed_value_int64s",
                                    gantry_dtype_name(gantry_tensor_dtype(x)));
    if (!is_floating) return impute_integers(call, x, ints, int_count);
    const float replaced = gantry__onnx_attr_float(call, "replaced_value_float", 0);
    tensor *is_missing = isnan(replaced)
                             ? gantry__onnx_op1(call, "IsNan", x)
                             : gantry__onnx_op_number(call, "Equal", x, (double)replaced);
    GANTRY__TRY(feature_numbers(call, "imputed_value_floats", x, &others));
    others = gantry__onnx_cast(call, others, gantry_tensor_dtype(x));
    return gantry__onnx_give(call, gantry__onnx_select(call, is_missing, others, x));
}

/* ---- columns ---- */

gantry_status_t gantry__onnx_check_feature_vectorizer(gantry__onnx_call_t *call) {
    const size_t inputs = call->node->input_count;
    size_t count;
    const int64_t *sizes = gantry__onnx_attr_ints(call, "inputdimensions", &count);
    if (count != 0 && count != inputs)
        return gantry__onnx_invalid(call, "inputdimensions has %zu numbers for %zu inputs", count,
                                    inputs);
    for (size_t i = 0; i < count; ++i) {
        if (sizes[i] < 0 || sizes[i] > INT32_MAX)
            return gantry__onnx_invalid(call, "inputdimensions has %lld; 0 to %d are accepted",
                                        (long long)sizes[i], INT32_MAX);
    }
    return GANTRY_OK;
}

/* A matrix with so many columns: further ones are left out, and missing ones are 0. */
static tensor *fit_columns(gantry__onnx_call_t *call, tensor *x, int64_t columns) {
    if (!x) return NULL;
    const int64_t missing = columns - gantry_tensor_shape(x)->dims[1];
    const int64_t paddings[4] = {0, 0, 0, missing};
    if (missing < 0) return gantry__onnx_part(call, x, 1, 0, columns);
    return missing > 0 ? gantry_pad(call->scope, x, paddings, NULL) : x;
}

/* Columns of several tensors. */
gantry_status_t gantry__onnx_lower_feature_vectorizer(gantry__onnx_call_t *call) {
    tensor **parts = gantry__onnx_scratch(call, call->input_count, sizeof *parts);
    size_t count;
    const int64_t *sizes = gantry__onnx_attr_ints(call, "inputdimensions", &count);
    if (!parts) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < call->input_count; ++i) {
        tensor *x = gantry__onnx_input(call, i);
        const gantry_shape_t *shape = x ? gantry_tensor_shape(x) : NULL;
        if (!shape || shape->rank < 1 || shape->rank > 2)
            return gantry__onnx_invalid(call, "input %zu is no vector or matrix", i);
        if (count > 0 && shape->dims[shape->rank - 1] < 0)
            GANTRY__TRY(gantry__onnx_need_shape(call, x));
        if (shape->rank == 1) x = gantry_expand_dims(call->scope, x, 0);
        if (count > 0) x = fit_columns(call, x, sizes[i]);
        parts[i] = gantry__onnx_cast(call, x, GANTRY_FLOAT32);
    }
    return gantry__onnx_give(call, gantry__onnx_concat(call, parts, call->input_count, 1));
}

gantry_status_t gantry__onnx_check_one_hot_encoder(gantry__onnx_call_t *call) {
    size_t count;
    (void)gantry__onnx_attr_ints(call, "cats_int64s", &count);
    if (count == 0)
        return gantry__onnx_unsupported(call, "categories that are texts; cats_int64s is accepted");
    if (gantry__onnx_attr_int(call, "zeros", 1) == 0)
        return gantry__onnx_unsupported(call, "zeros 0, by which an unknown category is an error");
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_one_hot_encoder(gantry__onnx_call_t *call) {
    size_t count;
    const int64_t *categories = gantry__onnx_attr_ints(call, "cats_int64s", &count);
    tensor *x = gantry__onnx_input(call, 0);
    if (x) x = gantry_expand_dims(call->scope, x, -1);
    tensor *is_one =
        gantry__onnx_op2(call, "Equal", gantry__onnx_cast(call, x, GANTRY_INT64),
                         gantry__onnx_make_ints(call, GANTRY_INT64, categories, count));
    /* A NaN has no category, although its cast is 0. */
    is_one = gantry__onnx_op2(call, "LogicalAnd", is_one, gantry__onnx_op2(call, "Equal", x, x));
    return gantry__onnx_give(call, gantry__onnx_cast(call, is_one, GANTRY_FLOAT32));
}

/* ---- LabelEncoder ---- */

/* A key, and its position in the file. */
typedef struct label_key_t {
    int64_t whole;
    double number;
    int64_t place;
} label_key_t;

static int label_compare_keys(const void *a, const void *b) {
    const label_key_t *x = a, *y = b;
    if (x->whole != y->whole) return x->whole < y->whole ? -1 : 1;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Lists, each an attribute of one of three kinds. */
static const char *const label_keys[] = {"keys_tensor", "keys_int64s", "keys_floats"},
                         *const label_values[] = {"values_tensor", "values_int64s",
                                                  "values_floats"};

static bool has_label_list(const gantry__onnx_call_t *call, const char *const names[3]) {
    for (size_t i = 0; i < 3; ++i) {
        const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(call->node, names[i]);
        if (attr && attr->count > 0) return true;
    }
    return false;
}

gantry_status_t gantry__onnx_check_label_encoder(gantry__onnx_call_t *call) {
    if (has_label_list(call, label_keys) && has_label_list(call, label_values)) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "Gantry has no texts");
}

/* A list, which is there. */
static gantry_status_t label_list(gantry__onnx_call_t *call, const char *const names[3],
                                  tensor **out) {
    size_t count;
    GANTRY__TRY(gantry__onnx_attr_tensor(call, names[0], out));
    if (*out) return GANTRY_OK;
    const int64_t *ints = gantry__onnx_attr_ints(call, names[1], &count);
    if (count > 0) {
        *out = gantry__onnx_make_ints(call, GANTRY_INT64, ints, count);
        return gantry_scope_status(call->host);
    }
    const float *floats = gantry__onnx_attr_floats(call, names[2], &count);
    if (count > 0)
        *out = gantry_constant(call->host, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)count), floats,
                               count * sizeof *floats);
    return gantry_scope_status(call->host);
}

static gantry_status_t label_default(gantry__onnx_call_t *call, gantry_dtype_t dtype,
                                     tensor **out) {
    GANTRY__TRY(gantry__onnx_attr_tensor(call, "default_tensor", out));
    if (*out && (gantry_tensor_elements(*out) != 1 || gantry_tensor_dtype(*out) != dtype))
        return gantry__onnx_invalid(call, "default_tensor has %lld elements of %s, not one of %s",
                                    (long long)gantry_tensor_elements(*out),
                                    gantry_dtype_name(gantry_tensor_dtype(*out)),
                                    gantry_dtype_name(dtype));
    if (*out) {
        *out = gantry_reshape(call->host, *out, GANTRY_SCALAR);
    } else if (gantry__onnx_is_floating(dtype)) {
        const float number = gantry__onnx_attr_float(call, "default_float", -0.0f);
        *out = gantry__onnx_make_scalar(call, dtype, (double)number);
    } else {
        const int64_t number = gantry__onnx_attr_int(call, "default_int64", -1);
        *out = gantry__onnx_ints_of(call, dtype, &number, GANTRY_SCALAR);
    }
    return gantry_scope_status(call->host);
}

/* The order of the keys, of equal ones the first, and without NaN, whose place *out_missing is; -1:
 * there is none. */
static gantry_status_t order_keys(gantry__onnx_call_t *call, tensor *keys,
                                  const int64_t **out_order, size_t *out_count,
                                  int64_t *out_missing) {
    const bool is_floating = gantry__onnx_is_floating(gantry_tensor_dtype(keys));
    const size_t count = (size_t)gantry_tensor_elements(keys);
    label_key_t *sorted = gantry__onnx_scratch(call, count + 1, sizeof *sorted);
    int64_t *order = gantry__onnx_scratch(call, count + 1, sizeof *order);
    if (!sorted || !order) return GANTRY_RESOURCE_EXHAUSTED;
    tensor *wide = gantry_cast(call->host, keys, is_floating ? GANTRY_FLOAT64 : GANTRY_INT64);
    if (!wide) return gantry_scope_status(call->host);
    GANTRY__TRY(gantry_tensor_read(wide, order, count * sizeof *order));
    size_t used = 0, kept = 0;
    *out_missing = -1;
    for (size_t i = 0; i < count; ++i) {
        label_key_t key = {0, 0, (int64_t)i};
        if (is_floating) {
            memcpy(&key.number, &order[i], sizeof key.number);
        } else {
            key.whole = order[i];
        }
        if (!isnan(key.number)) {
            sorted[used++] = key;
        } else if (*out_missing < 0) {
            *out_missing = (int64_t)i;
        }
    }
    qsort(sorted, used, sizeof *sorted, label_compare_keys);
    for (size_t i = 0; i < used; ++i) {
        if (i > 0 && sorted[i].whole == sorted[i - 1].whole &&
            sorted[i].number == sorted[i - 1].number)
            continue;
        order[kept++] = sorted[i].place;
    }
    *out_order = order;
    *out_count = kept;
    return GANTRY_OK;
}

/* The values of x, which are found in the sorted keys. */
static gantry_status_t find_labels(gantry__onnx_call_t *call, tensor *keys, tensor *values,
                                   tensor *other, tensor **out) {
    tensor *x = gantry__onnx_input(call, 0);
    const int64_t *order = NULL;
    int64_t missing = -1;
    size_t count = 0;
    GANTRY__TRY(order_keys(call, keys, &order, &count, &missing));
    tensor *result = other;
    if (count > 0) {
        tensor *places = gantry__onnx_make_ints(call, GANTRY_INT64, order, count);
        keys = gantry_gather(call->host, keys, places, 0);
        tensor *row =
            keys ? gantry_reshape(call->host, keys, GANTRY_SHAPE(1, (int64_t)count)) : NULL;
        tensor *wanted = gantry__onnx_reshape(call, x, GANTRY_SHAPE(1, -1));
        tensor *at = row && wanted ? gantry_lower_bound(call->scope, row, wanted) : NULL;
        at = gantry__onnx_op_number(call, "Minimum", at, (double)count - 1);
        at = gantry__onnx_reshape(call, at, *gantry_tensor_shape(x));
        if (!at) return gantry_scope_status(call->scope);
        tensor *is_key =
            gantry__onnx_op2(call, "Equal", gantry_gather(call->scope, keys, at, 0), x);
        tensor *sorted = gantry_gather(call->host, values, places, 0);
        result = gantry__onnx_select(
            call, is_key, sorted ? gantry_gather(call->scope, sorted, at, 0) : NULL, other);
    }
    if (missing >= 0) {
        tensor *place = gantry__onnx_ints_of(call, GANTRY_INT64, &missing, GANTRY_SCALAR);
        result =
            gantry__onnx_select(call, gantry__onnx_op1(call, "IsNan", x),
                                place ? gantry_gather(call->host, values, place, 0) : NULL, result);
    }
    *out = result;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_label_encoder(gantry__onnx_call_t *call) {
    tensor *keys, *values, *other, *out = NULL;
    GANTRY__TRY(label_list(call, label_keys, &keys));
    GANTRY__TRY(label_list(call, label_values, &values));
    tensor *x = gantry__onnx_input(call, 0);
    if (gantry_tensor_shape(keys)->rank != 1 || gantry_tensor_shape(values)->rank != 1 ||
        gantry_tensor_elements(keys) != gantry_tensor_elements(values))
        return gantry__onnx_invalid(call, "%lld keys and %lld values",
                                    (long long)gantry_tensor_elements(keys),
                                    (long long)gantry_tensor_elements(values));
    if (gantry_tensor_dtype(keys) != gantry_tensor_dtype(x))
        return gantry__onnx_invalid(call, "keys of %s for elements of %s",
                                    gantry_dtype_name(gantry_tensor_dtype(keys)),
                                    gantry_dtype_name(gantry_tensor_dtype(x)));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(label_default(call, gantry_tensor_dtype(values), &other));
    GANTRY__TRY(find_labels(call, keys, values, other, &out));
    return gantry__onnx_give(call, out);
}
