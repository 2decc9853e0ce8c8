/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients that are slices: sums of slices of one row.
 *
 *     indices    5 2 5           sorted    2 5 5        begins    1 1 0
 *     order      1 0 2           segment   0 1 1        values of a segment are added
 *
 * The sort is stable, so that slices of a row are added in their order, as in the dense sum. The
 * number of rows that occur is not known while a function is traced: the result has as many slices
 * as the gradient, and zeros after the last row. */
#include "train/tape/slices.h"

#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"

typedef const gantry_tensor_t tensor;

/* ---- checks ---- */

static bool fits_row(const gantry_gradient_t *gradient) {
    const gantry_shape_t *values = gantry_tensor_shape(gradient->values),
                         *indices = gantry_tensor_shape(gradient->indices);
    bool fits =
        values->rank == gradient->shape.rank && values->rank > 0 && indices->rank == 1 &&
        (values->dims[0] == indices->dims[0] || values->dims[0] < 0 || indices->dims[0] < 0);
    for (int32_t d = 1; fits && d < values->rank; ++d)
        fits = values->dims[d] == gradient->shape.dims[d];
    return fits;
}

static gantry_status_t slices_check(gantry_scope_t *scope, const gantry_gradient_t *gradient,
                                    const char *what) {
    if (!gradient->values || !gradient->indices)
        return gantry__train_refuse(
            scope, "%s has slices whose %s are NULL; values and indices are accepted", what,
            gradient->values ? "indices" : "values");
    const gantry_dtype_t dtype = gantry_tensor_dtype(gradient->indices);
    if (dtype != GANTRY_INT32 && dtype != GANTRY_INT64)
        return gantry__train_refuse(scope,
                                    "%s has indices of type %s; int32 and int64 are accepted", what,
                                    gantry_dtype_name(dtype));
    if (fits_row(gradient)) return GANTRY_OK;
    char values[256], indices[256], shape[256];
    (void)gantry_shape_format(gantry_tensor_shape(gradient->values), values, sizeof values);
    (void)gantry_shape_format(gantry_tensor_shape(gradient->indices), indices, sizeof indices);
    (void)gantry_shape_format(&gradient->shape, shape, sizeof shape);
    return gantry__train_refuse(
        scope,
        "%s has values%s and indices%s for the shape %s; an index for each value, and values of the shape of a row, are accepted",
        what, values, indices, shape);
}

gantry_status_t gantry__slices_check(gantry_scope_t *scope, const gantry_gradient_t *gradient,
                                     const char *what) {
    GANTRY__TRY(gantry__train_check_scope(scope));
    if (!gantry__is_sparse(gradient)) return GANTRY_OK;
    if (gradient->dense)
        return gantry__train_refuse(
            scope, "%s has both a dense tensor and slices; one of both is accepted", what);
    return slices_check(scope, gradient, what);
}

/* ---- sums ---- */

tensor *gantry__slices_add_rows(gantry_scope_t *scope, tensor *values, tensor *indices,
                                const gantry_shape_t *shape) {
    int64_t count = gantry_tensor_shape(indices)->dims[0];
    if (count < 0) count = -1;
    return gantry_scatter_nd(scope, gantry_reshape(scope, indices, GANTRY_SHAPE(count, 1)), values,
                             *shape);
}

/* For sorted numbers [n], int32 [n]: the number of each one's segment. */
static tensor *number_segments(gantry_scope_t *scope, tensor *sorted) {
    static const int32_t axis = 0;
    static const int64_t shift = 1, first = 0, one = 1;
    tensor *before = gantry_roll(scope, sorted, &shift, &axis, 1);
    tensor *begins = gantry_cast(scope, gantry_not_equal(scope, sorted, before), GANTRY_INT32);
    tensor *numbers = gantry_cumsum(scope, begins, 0, NULL);
    /* the first one is compared with the last one */
    return gantry_sub(scope, numbers, gantry_slice(scope, numbers, &first, &one));
}

static tensor *slices_sum_segments(gantry_scope_t *scope, const char *op, tensor *data,
                                   tensor *segments, tensor *count) {
    tensor *const inputs[] = {data, segments, count};
    tensor *sums = NULL;
    size_t outputs = 1;
    (void)gantry_op_call(scope, op, inputs, 3, NULL, 0, &sums, &outputs);
    return sums;
}

static void slices_sum_rows(gantry_scope_t *scope, gantry_gradient_t *gradient) {
    tensor *order = gantry_argsort(scope, gradient->indices, 0, false);
    tensor *sorted = gantry_gather(scope, gradient->indices, order, 0);
    tensor *segments = number_segments(scope, sorted);
    tensor *count = gantry_size(scope, gradient->indices, GANTRY_INT64);
    tensor *rows = slices_sum_segments(scope, "UnsortedSegmentMax", sorted, segments, count);
    tensor *zero =
        gantry_cast(scope, gantry_scalar_i32(scope, 0), gantry_tensor_dtype(gradient->indices));
    gradient->values =
        slices_sum_segments(scope, "UnsortedSegmentSum",
                            gantry_gather(scope, gradient->values, order, 0), segments, count);
    /* a segment without slices has the lowest number */
    gradient->indices = gantry_maximum(scope, rows, zero);
}

/* ---- the public calls ---- */

static gantry_status_t slices_check_call(gantry_scope_t *scope, const gantry_gradient_t *gradient,
                                         const char *call) {
    GANTRY__TRY(gantry__train_check_scope(scope));
    if (!gradient)
        return gantry__train_refuse(scope, "%s: the gradient is NULL; a pointer to one is accepted",
                                    call);
    char what[64];
    (void)snprintf(what, sizeof what, "%s: the gradient", call);
    return gantry__slices_check(scope, gradient, what);
}

tensor *gantry_gradient_to_dense(gantry_scope_t *scope, const gantry_gradient_t *gradient) {
    if (slices_check_call(scope, gradient, "gantry_gradient_to_dense") != GANTRY_OK) return NULL;
    if (!gantry__is_sparse(gradient))
        return gradient->dense ? gantry_identity(scope, gradient->dense) : NULL;
    gantry_scope_t *inner = gantry__train_begin(scope, "gantry_gradient_to_dense");
    if (!inner) return NULL;
    return gantry__train_end(
        scope, inner,
        gantry__slices_add_rows(inner, gradient->values, gradient->indices, &gradient->shape));
}

gantry_status_t gantry_gradient_sum_rows(gantry_scope_t *scope, const gantry_gradient_t *gradient,
                                         gantry_gradient_t *out_gradient) {
    const char *call = "gantry_gradient_sum_rows";
    GANTRY__TRY(slices_check_call(scope, gradient, call));
    if (!out_gradient)
        return gantry__train_refuse(scope, "%s: out_gradient is NULL; a pointer to one is accepted",
                                    call);
    gantry_gradient_t sums = *gradient;
    if (gantry__is_sparse(gradient) && gantry_tensor_elements(gradient->indices) != 0) {
        gantry_scope_t *inner = gantry__train_begin(scope, call);
        if (!inner) return gantry_scope_status(scope);
        slices_sum_rows(inner, &sums);
        sums.indices = gantry_scope_keep(inner, sums.indices);
        sums.values = gantry__train_end(scope, inner, sums.values);
    }
    if (gantry_scope_status(scope) == GANTRY_OK) *out_gradient = sums;
    return gantry_scope_status(scope);
}
