/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of matrix products: [n, k] x [k, m] = [n, m], either side transposed; BatchMatMul and
 * MatMulInteger broadcast leading ones. */
#include <inttypes.h>

#include "op/op_infer.h"
#include "ops/type_rows.h"

/* Multiplies the last two dimensions, and compares the sizes of the inner one. */
static gantry_status_t infer_matmul_multiply(gantry__infer_t *call, bool transpose_a,
                                             bool transpose_b) {
    const gantry_shape_t *a = call->shapes[0], *b = call->shapes[1];
    gantry_shape_t *out = &call->out_shapes[0];
    int64_t a_inner = a->dims[a->rank - (transpose_a ? 2 : 1)];
    int64_t b_inner = b->dims[b->rank - (transpose_b ? 1 : 2)];
    if (!gantry__sizes_fit(a_inner, b_inner)) {
        return gantry__refuse("Matrix size-incompatible: In[0]: %s, In[1]: %s%s%s",
                              gantry__shape_text(a).text, gantry__shape_text(b).text,
                              transpose_a ? ", In[0] transposed" : "",
                              transpose_b ? ", In[1] transposed" : "");
    }
    out->dims[out->rank - 2] = a->dims[a->rank - (transpose_a ? 1 : 2)];
    out->dims[out->rank - 1] = b->dims[b->rank - (transpose_b ? 2 : 1)];
    return GANTRY_OK;
}

gantry_status_t gantry__infer_mat_mul(gantry__infer_t *call) {
    const gantry_shape_t *a = call->shapes[0], *b = call->shapes[1];
    if (a->rank != b->rank) {
        return gantry__refuse(
            "In[0] and In[1] has different ndims: %s vs. %s; both must be matrices",
            gantry__shape_text(a).text, gantry__shape_text(b).text);
    }
    if (a->rank != 2) {
        return gantry__refuse("In[0] and In[1] ndims must be == 2: %d", (int)a->rank);
    }
    call->out_shapes[0].rank = 2;
    return infer_matmul_multiply(call, gantry__infer_attr(call, "transpose_a")->i != 0,
                                 gantry__infer_attr(call, "transpose_b")->i != 0);
}

gantry_status_t gantry__infer_grouped_mat_mul(gantry__infer_t *call) {
    const gantry_shape_t *x = call->shapes[0], *w = call->shapes[1];
    if (x->rank != 3 || w->rank != 3 || !gantry__sizes_fit(x->dims[1], w->dims[1]) ||
        !gantry__sizes_fit(x->dims[2], w->dims[0])) {
        return gantry__refuse(
            "x must be [rows, groups, depth] and w [depth, groups, columns]: %s, %s",
            gantry__shape_text(x).text, gantry__shape_text(w).text);
    }
    call->out_shapes[0] = gantry__infer_attr(call, "interleaved")->i
                              ? GANTRY_SHAPE(x->dims[0], w->dims[2], w->dims[1])
                              : GANTRY_SHAPE(x->dims[0], w->dims[1], w->dims[2]);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_batch_mat_mul(gantry__infer_t *call) {
    gantry_shape_t *out = &call->out_shapes[0];
    gantry_shape_t batch[2];
    for (int i = 0; i < 2; ++i) {
        batch[i] = *call->shapes[i];
        if (batch[i].rank < 2) {
            return gantry__refuse("In[%d] ndims must be >= 2: %d", i, (int)batch[i].rank);
        }
        batch[i].rank -= 2;
    }
    if (!gantry__broadcast_shapes(&batch[0], &batch[1], out)) {
        return gantry__refuse("In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                              gantry__shape_text(call->shapes[0]).text,
                              gantry__shape_text(call->shapes[1]).text);
    }
    out->rank += 2;
    return infer_matmul_multiply(call, gantry__infer_attr(call, "adj_x")->i != 0,
                                 gantry__infer_attr(call, "adj_y")->i != 0);
}

/* ---- products of small integers ---- */

static bool are_bytes(gantry_dtype_t dtype) {
    return dtype == GANTRY_INT8 || dtype == GANTRY_UINT8;
}

gantry_status_t gantry__infer_small_types(const gantry__infer_t *call) {
    const gantry_dtype_t a = call->dtypes[0], b = call->dtypes[1];
    if (a != b && !(are_bytes(a) && are_bytes(b))) {
        return gantry__refuse(
            "In[0] is %s and In[1] %s: types that pair are int8 or uint8 with int8 or uint8, "
            "int16 with int16, and bool with bool",
            gantry_dtype_name(a), gantry_dtype_name(b));
    }
    if (call->out_dtypes[0] == GANTRY_BOOL && a != GANTRY_BOOL) {
        return gantry__refuse(
            "Tout is bool and the inputs are %s and %s: only products of bool are bool",
            gantry_dtype_name(a), gantry_dtype_name(b));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_zero_point(const gantry__infer_t *call, uint32_t input, int64_t lines,
                                         const gantry_shape_t *each) {
    if (input >= call->input_count) return GANTRY_OK;
    const gantry_shape_t *zero = call->shapes[input];
    const bool is_vector = zero->rank == 1 && gantry__sizes_fit(zero->dims[0], lines);
    if (call->dtypes[input] == GANTRY_BOOL)
        return gantry__refuse("%s is bool: bool has no zero point", call->op->inputs[input].name);
    if (zero->rank == 0 || is_vector || (zero->rank == 1 && zero->dims[0] == 1) ||
        (each && gantry__shapes_fit(zero, each)))
        return GANTRY_OK;
    if (!each) {
        return gantry__refuse(
            "%s has shape %s; it must be a scalar%s", call->op->inputs[input].name,
            gantry__shape_text(zero).text,
            lines == 1 ? "" : ", or a vector of as many elements as there are outputs");
    }
    return gantry__refuse("%s has shape %s; it must be a scalar, a vector of %" PRId64 " or %s",
                          call->op->inputs[input].name, gantry__shape_text(zero).text, lines,
                          gantry__shape_text(each).text);
}

gantry_status_t gantry__infer_mat_mul_integer(gantry__infer_t *call) {
    const gantry_shape_t *out = &call->out_shapes[0];
    GANTRY__TRY(gantry__infer_small_types(call));
    GANTRY__TRY(gantry__infer_batch_mat_mul(call));
    gantry_shape_t rows = *call->shapes[0], columns = *call->shapes[1];
    rows.dims[rows.rank - 2] = out->dims[out->rank - 2];
    rows.dims[rows.rank - 1] = 1;
    columns.dims[columns.rank - 2] = 1;
    columns.dims[columns.rank - 1] = out->dims[out->rank - 1];
    GANTRY__TRY(gantry__infer_zero_point(call, 2, rows.dims[rows.rank - 2], &rows));
    return gantry__infer_zero_point(call, 3, columns.dims[columns.rank - 1], &columns);
}
