/* SPDX-License-Identifier: Apache-2.0 */
/* Unique: of elements, and of slices along an axis.
 *
 * Of elements, Gantry's op has the distinct values in the order of their first occurrence, the
 * place of each element among them (`place`) and counts. An element's first occurrence follows from
 * a stable sort of `place`: the elements of value v begin there after those of the values before.
 *
 * Slices are compared in pairs: less[i, j] is decided by the first element in which slices i and j
 * differ. A slice is new if no slice before it equals it, and its rank is the number of new slices
 * that are less. This takes n * n * m elements of memory for n slices of m elements. NaN equals
 * itself here, and is larger than all numbers. */
#include "onnx/lower/move.h"
#include "onnx/lower/parts.h"

typedef const gantry_tensor_t tensor;

/* The outputs of Unique; counts and positions are int64. */
typedef struct unique_t {
    tensor *values, *first, *inverse, *counts;
} unique_t;

static gantry_status_t give_unique(gantry__onnx_call_t *call, const unique_t *unique) {
    tensor *const results[] = {unique->values, unique->first, unique->inverse, unique->counts};
    for (size_t i = 0; i < 4; ++i) {
        if (gantry__onnx_wants(call, i)) GANTRY__TRY(gantry__onnx_set(call, i, results[i]));
    }
    return GANTRY_OK;
}

static tensor *as_int64(gantry__onnx_call_t *call, tensor *x) {
    return gantry__onnx_cast(call, x, GANTRY_INT64);
}

/* ---- of elements ---- */

static gantry_status_t unique_elements(gantry__onnx_call_t *call, bool is_sorted) {
    gantry_scope_t *scope = call->scope;
    tensor *place, *counts;
    tensor *flat = gantry_reshape(scope, gantry__onnx_input(call, 0), GANTRY_SHAPE(-1));
    tensor *values = gantry_unique(scope, flat, &place, &counts);
    if (!values) return gantry_scope_status(scope);
    const gantry_scan_options_t before = {.struct_size = sizeof before, .exclusive = true};
    tensor *begins = gantry_cumsum(scope, counts, 0, &before);
    unique_t unique = {.values = values, .inverse = place, .counts = counts};
    if (gantry__onnx_wants(call, 1))
        unique.first = gantry_gather(scope, gantry_argsort(scope, place, 0, false), begins, 0);
    if (is_sorted) {
        tensor *order = gantry_argsort(scope, values, 0, false);
        unique.values = gantry_gather(scope, values, order, 0);
        unique.counts = gantry_gather(scope, counts, order, 0);
        if (unique.first) unique.first = gantry_gather(scope, unique.first, order, 0);
        unique.inverse = gantry_gather(scope, gantry_invert_permutation(scope, order), place, 0);
    }
    unique.first = as_int64(call, unique.first);
    unique.inverse = as_int64(call, unique.inverse);
    unique.counts = as_int64(call, unique.counts);
    return give_unique(call, &unique);
}

/* ---- of slices ---- */

/* Pairs of slices: n x n matrices of bools. */
typedef struct slice_pairs_t {
    tensor *equal, *less;
} slice_pairs_t;

/* Whether y is NaN and x is not. */
static tensor *is_only_second_nan(gantry_scope_t *scope, tensor *x, tensor *y) {
    return gantry_logical_and(scope, gantry_is_nan(scope, y),
                              gantry_logical_not(scope, gantry_is_nan(scope, x)));
}

static slice_pairs_t compare_slices(gantry__onnx_call_t *call, tensor *rows, int64_t n, int64_t m) {
    gantry_scope_t *scope = call->scope;
    const gantry_shape_t all = GANTRY_SHAPE(n, n, m);
    tensor *of_i = gantry_broadcast_to(scope, gantry_expand_dims(scope, rows, 1), all),
           *of_j = gantry_broadcast_to(scope, gantry_expand_dims(scope, rows, 0), all);
    const bool has_nan = gantry__onnx_is_floating(gantry_tensor_dtype(rows));
    tensor *differs = gantry_not_equal(scope, of_i, of_j);
    if (has_nan)
        differs = gantry_logical_and(
            scope, differs,
            gantry_logical_not(scope, gantry_logical_and(scope, gantry_is_nan(scope, of_i),
                                                         gantry_is_nan(scope, of_j))));
    const gantry_reduce_options_t last = {
        .struct_size = sizeof last, .axes = (const int32_t[]){2}, .axis_count = 1};
    tensor *column = gantry_expand_dims(scope, gantry_argmax(scope, differs, 2), 2);
    tensor *at_i = gantry_gather_elements(scope, of_i, column, 2),
           *at_j = gantry_gather_elements(scope, of_j, column, 2);
    tensor *in_column = gantry_less(scope, at_i, at_j);
    if (has_nan)
        in_column = gantry_logical_or(scope, in_column, is_only_second_nan(scope, at_i, at_j));
    return (slice_pairs_t){.equal = gantry_logical_not(scope, gantry_any(scope, differs, &last)),
                           .less = gantry_reshape(scope, in_column, GANTRY_SHAPE(n, n))};
}

/* How many of the slices that `counted` has, a column, hold in each column of pairs. */
static tensor *count_pairs(gantry__onnx_call_t *call, tensor *pairs, tensor *counted) {
    const gantry_reduce_options_t first = {
        .struct_size = sizeof first, .axes = (const int32_t[]){0}, .axis_count = 1};
    if (counted) pairs = gantry_logical_and(call->scope, pairs, counted);
    return gantry_sum(call->scope, gantry_cast(call->scope, pairs, GANTRY_INT64), &first);
}

static tensor *numbers_to(gantry__onnx_call_t *call, int64_t n) {
    return gantry_range(call->host, gantry_scalar_i64(call->host, 0),
                        gantry_scalar_i64(call->host, n), gantry_scalar_i64(call->host, 1));
}

static unique_t unique_of_pairs(gantry__onnx_call_t *call, const slice_pairs_t *pairs, int64_t n,
                                bool is_sorted) {
    gantry_scope_t *scope = call->scope;
    /* The first slice that equals each one, and whether it is the slice itself. */
    tensor *first = gantry_argmax(scope, pairs->equal, 0);
    tensor *is_new = gantry_equal(scope, first, numbers_to(call, n));
    tensor *new_column = gantry_expand_dims(scope, is_new, 1);
    tensor *before =
        is_sorted ? pairs->less : gantry_less(scope, gantry_expand_dims(scope, first, 1), first);
    tensor *rank = count_pairs(call, before, new_column);
    tensor *found = gantry_reshape(scope, gantry_where(scope, is_new), GANTRY_SHAPE(-1));
    tensor *order = gantry_argsort(scope, gantry_gather(scope, rank, found, 0), 0, false);
    unique_t unique = {.first = gantry_gather(scope, found, order, 0), .inverse = rank};
    unique.counts = gantry_gather(scope, count_pairs(call, pairs->equal, NULL), unique.first, 0);
    return unique;
}

/* The most elements of the pairs of slices. */
#define MOST_PAIRED ((int64_t)1 << 26)

static gantry_status_t unique_slices(gantry__onnx_call_t *call, int64_t axis, bool is_sorted) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    int32_t perm[GANTRY_MAX_RANK] = {0};
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(gantry__onnx_axis(call, axis, (uint32_t)shape->rank, &axis));
    const int64_t count = gantry_tensor_elements(x), n = shape->dims[axis];
    if (count == 0 || n > MOST_PAIRED / count)
        return gantry__onnx_unsupported(call, "an axis with %lld slices of %lld elements together",
                                        (long long)n, (long long)count);
    perm[0] = (int32_t)axis;
    for (int32_t i = 0, to = 1; i < shape->rank; ++i) {
        if (i != axis) perm[to++] = i;
    }
    tensor *rows = gantry__onnx_reshape(call, gantry__onnx_transpose(call, x, perm),
                                        GANTRY_SHAPE(n, count / n));
    if (gantry_tensor_dtype(x) == GANTRY_BOOL) rows = gantry__onnx_cast(call, rows, GANTRY_UINT8);
    const slice_pairs_t pairs = compare_slices(call, rows, n, count / n);
    unique_t unique = unique_of_pairs(call, &pairs, n, is_sorted);
    unique.values = gantry_gather(call->scope, x, unique.first, (int32_t)axis);
    return give_unique(call, &unique);
}

gantry_status_t gantry__onnx_lower_unique(gantry__onnx_call_t *call) {
    const bool is_sorted = gantry__onnx_attr_int(call, "sorted", 1) != 0;
    const int64_t axis = gantry__onnx_attr_int(call, "axis", INT64_MAX);
    return axis == INT64_MAX ? unique_elements(call, is_sorted)
                             : unique_slices(call, axis, is_sorted);
}
