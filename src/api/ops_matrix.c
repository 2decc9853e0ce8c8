/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_matrix.h. */
#include <gantry/ops.h>

#include "api/api.h"
#include "run/call_op.h"

typedef const gantry_tensor_t tensor;

uint32_t gantry__add_zero_points(gantry__extras_t *extras, gantry_scope_t *scope,
                                 tensor *inputs[4]) {
    static const uint64_t zero[2] = {0, 0}; /* of any type */
    if (!inputs[3]) return inputs[2] ? 3 : 2;
    if (!inputs[2] && inputs[0]) {
        const gantry_shape_t scalar = {.rank = 0};
        inputs[2] = gantry__add_host(extras, scope, inputs[0]->dtype, scalar, zero);
    }
    return 4;
}

tensor *gantry_matmul_integer(gantry_scope_t *scope, tensor *a, tensor *b, tensor *a_zero_point,
                              tensor *b_zero_point, const gantry_matmul_options_t *options) {
    gantry_matmul_options_t o;
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_matmul_options_t, transpose_b, &o))
        return NULL;
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {a, b, a_zero_point, b_zero_point};
    const uint32_t count = gantry__add_zero_points(&extras, scope, inputs);
    const gantry_attr_value_t attrs[] = {gantry__attr_bool("adj_x", o.transpose_a),
                                         gantry__attr_bool("adj_y", o.transpose_b)};
    return gantry__call_op(scope, GANTRY__OP_ID_MatMulInteger, inputs, count, attrs, 2, &extras);
}

tensor *gantry_matrix_transpose(gantry_scope_t *scope, tensor *x) {
    int32_t perm[GANTRY_MAX_RANK];
    const int32_t rank = x ? x->shape.rank : 0;
    for (int32_t d = 0; d < rank; ++d) perm[d] = d;
    if (x && rank < 2 && scope && scope->status == GANTRY_OK) {
        (void)gantry__scope_fail(
            scope, gantry__refuse("matrix_transpose: x has %d dimensions; at least 2 are accepted",
                                  (int)rank));
    }
    if (rank >= 2) {
        perm[rank - 2] = rank - 1;
        perm[rank - 1] = rank - 2;
    }
    return gantry_transpose(scope, x, perm);
}

tensor *gantry_matrix_band_part(gantry_scope_t *scope, tensor *x, int64_t lower, int64_t upper) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[3] = {x};
    inputs[1] = gantry__add_host_i64(&extras, scope, lower);
    inputs[2] = gantry__add_host_i64(&extras, scope, upper);
    return gantry__call_op(scope, GANTRY__OP_ID_MatrixBandPart, inputs, 3, NULL, 0, &extras);
}

static bool ops_matrix_take_options(gantry_scope_t *scope, const gantry_diagonal_options_t *given,
                                    gantry_diagonal_options_t *out) {
    return GANTRY__TAKE_OPTIONS(scope, given, gantry_diagonal_options_t, align, out);
}

static tensor *add_band(gantry__extras_t *extras, gantry_scope_t *scope,
                        const gantry_diagonal_options_t *options) {
    const int32_t band[] = {options->lower, options->upper};
    return gantry__add_host(extras, scope, GANTRY_INT32, GANTRY_SHAPE(2), band);
}

static tensor *add_side(gantry__extras_t *extras, gantry_scope_t *scope, int32_t size) {
    return gantry__add_host_i32(extras, scope, size != 0 ? size : -1);
}

static gantry_attr_value_t align_attr(const gantry_diagonal_options_t *options) {
    return gantry__attr_text("align", options->align ? options->align : "RIGHT_LEFT");
}

tensor *gantry_matrix_diag(gantry_scope_t *scope, tensor *diagonals,
                           const gantry_diagonal_options_t *options) {
    gantry_diagonal_options_t o;
    if (!ops_matrix_take_options(scope, options, &o)) return NULL;
    const gantry_attr_value_t align = align_attr(&o);
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[5] = {diagonals};
    inputs[1] = add_band(&extras, scope, &o);
    inputs[2] = add_side(&extras, scope, o.rows);
    inputs[3] = add_side(&extras, scope, o.columns);
    inputs[4] = o.padding;
    return gantry__call_op(scope, GANTRY__OP_ID_MatrixDiag, inputs, o.padding ? 5 : 4, &align, 1,
                           &extras);
}

tensor *gantry_matrix_diag_part(gantry_scope_t *scope, tensor *x,
                                const gantry_diagonal_options_t *options) {
    gantry_diagonal_options_t o;
    if (!ops_matrix_take_options(scope, options, &o)) return NULL;
    const gantry_attr_value_t align = align_attr(&o);
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[3] = {x, NULL, o.padding};
    inputs[1] = add_band(&extras, scope, &o);
    return gantry__call_op(scope, GANTRY__OP_ID_MatrixDiagPart, inputs, o.padding ? 3 : 2, &align,
                           1, &extras);
}

tensor *gantry_matrix_set_diag(gantry_scope_t *scope, tensor *x, tensor *diagonals,
                               const gantry_diagonal_options_t *options) {
    gantry_diagonal_options_t o;
    if (!ops_matrix_take_options(scope, options, &o)) return NULL;
    const gantry_attr_value_t align = align_attr(&o);
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[3] = {x, diagonals};
    inputs[2] = add_band(&extras, scope, &o);
    return gantry__call_op(scope, GANTRY__OP_ID_MatrixSetDiag, inputs, 3, &align, 1, &extras);
}
