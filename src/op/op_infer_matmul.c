/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of matrix products: [n, k] x [k, m] = [n, m], either side transposed; BatchMatMul
 * broadcasts leading ones. */
#include "op/op_infer.h"

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
