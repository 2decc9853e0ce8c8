/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that return shapes or axes (Shape, Size, Rank, BroadcastArgs, BroadcastGradientArgs: made on
 * the host, no tensor is read), Eye, EmbeddingLookup, BooleanMask. */
#include <gantry/ops.h>

#include "op/op_infer.h"
#include "run/call_op.h"
#include "compose/compose.h"

/* ---- shapes ---- */

/* Gives a result that is inferred as a scalar, or a list, of `count` integers, on the host. */
static void give_integers(const gantry__compose_t *c, uint32_t output, int32_t count,
                          const int64_t *values) {
    int32_t narrow[GANTRY_MAX_RANK] = {0};
    const gantry_dtype_t dtype = c->call->out_dtypes[output];
    for (int32_t i = 0; i < count; ++i) narrow[i] = (int32_t)values[i];
    c->outputs[output] =
        gantry__compose_host(c, dtype, &c->call->out_shapes[output],
                             dtype == GANTRY_INT32 ? (const void *)narrow : values);
}

void gantry__compose_shape(const gantry__compose_t *c) {
    const gantry_shape_t *shape = &c->inputs[0]->shape;
    give_integers(c, 0, shape->rank, shape->dims);
}

void gantry__compose_size(const gantry__compose_t *c) {
    give_integers(c, 0, 1, &c->inputs[0]->elements);
}

void gantry__compose_rank(const gantry__compose_t *c) {
    const int64_t rank = c->inputs[0]->shape.rank;
    give_integers(c, 0, 1, &rank);
}

void gantry__compose_broadcast_args(const gantry__compose_t *c) {
    gantry_shape_t both;
    gantry_status_t status = gantry__broadcast_args(c->call, &both);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(c->scope, status);
        return;
    }
    give_integers(c, 0, both.rank, both.dims);
}

void gantry__compose_broadcast_gradient_args(const gantry__compose_t *c) {
    gantry_shape_t axes[2];
    gantry_status_t status = gantry__broadcast_gradient_args(c->call, axes);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(c->scope, status);
        return;
    }
    for (uint32_t i = 0; i < 2; ++i) give_integers(c, i, axes[i].rank, axes[i].dims);
}

/* ---- Eye ---- */

void gantry__compose_eye(const gantry__compose_t *c) {
    gantry__extras_t extras = {.count = 0};
    const gantry_shape_t out = c->call->out_shapes[0];
    const gantry_dtype_t dtype = c->call->out_dtypes[0];
    const int64_t rows = out.dims[out.rank - 2], columns = out.dims[out.rank - 1];
    const int32_t depth = (int32_t)columns;
    const gantry_tensor_t *inputs[] = {
        gantry__compose_range(c, 0, rows, 1), gantry__add_host_i32(&extras, c->scope, depth),
        gantry_ones(c->scope, dtype, GANTRY_SCALAR), gantry_zeros(c->scope, dtype, GANTRY_SCALAR)};
    const gantry_tensor_t *matrix =
        gantry__call_op(c->scope, GANTRY__OP_ID_OneHot, inputs, 4, NULL, 0, &extras);
    c->outputs[0] = out.rank == 2 ? matrix : gantry_broadcast_to(c->scope, matrix, out);
}

/* ---- EmbeddingLookup ---- */

void gantry__compose_embedding_lookup(const gantry__compose_t *c) {
    c->outputs[0] = gantry_gather(c->scope, c->inputs[0], c->inputs[1], 0);
}

/* ---- BooleanMask ---- */

/* Flattens the mask, and the dimensions that it covers; Where counts the true elements and waits
 * for them. */
void gantry__compose_boolean_mask(const gantry__compose_t *c) {
    gantry_scope_t *scope = c->scope;
    const gantry_tensor_t *tensor = c->inputs[0], *mask = c->inputs[1];
    const gantry_shape_t *shape = &tensor->shape;
    const int64_t given = gantry__infer_attr(c->call, "axis")->i;
    const int32_t axis = (int32_t)(given < 0 ? given + shape->rank : given);
    gantry_shape_t rows = {.rank = 0};
    for (int32_t i = 0; i < axis; ++i) rows.dims[rows.rank++] = shape->dims[i];
    rows.dims[rows.rank++] = mask->elements;
    for (int32_t i = axis + mask->shape.rank; i < shape->rank; ++i)
        rows.dims[rows.rank++] = shape->dims[i];
    const gantry_tensor_t *flat = gantry_reshape(scope, mask, GANTRY_SHAPE(mask->elements));
    const gantry_tensor_t *where =
        gantry__call_op(scope, GANTRY__OP_ID_Where, &flat, 1, NULL, 0, NULL);
    const gantry_tensor_t *indices =
        gantry_reshape(scope, where, GANTRY_SHAPE(where ? where->elements : 0));
    c->outputs[0] = gantry_gather(scope, gantry_reshape(scope, tensor, rows), indices, axis);
}
