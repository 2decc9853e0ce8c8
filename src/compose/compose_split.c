/* SPDX-License-Identifier: Apache-2.0 */
/* Pack, Unpack, Split, SplitV: each part is copied once. */
#include <gantry/ops.h>

#include "op/op_infer.h"
#include "compose/compose.h"
#include "run/tensor_state.h"

typedef const gantry_tensor_t tensor;

/* Concat's list of inputs is shorter by the axis. */
static tensor *concat(gantry_scope_t *scope, tensor *const *values, size_t count, int32_t axis) {
    if (count < GANTRY__MAX_INPUTS) return gantry_concat(scope, values, count, axis);
    size_t half = count / 2;
    tensor *halves[] = {gantry_concat(scope, values, half, axis),
                        gantry_concat(scope, values + half, count - half, axis)};
    return gantry_concat(scope, halves, 2, axis);
}

void gantry__compose_pack(const gantry__compose_t *c) {
    tensor *values[GANTRY__MAX_INPUTS];
    int32_t axis = (int32_t)gantry__infer_attr(c->call, "axis")->i;
    axis += axis < 0 ? c->call->out_shapes[0].rank : 0;
    for (uint32_t i = 0; i < c->call->input_count; ++i) {
        values[i] = gantry_expand_dims(c->scope, c->inputs[i], axis);
    }
    c->outputs[0] = c->call->input_count == 1
                        ? values[0]
                        : concat(c->scope, values, c->call->input_count, axis);
}

/* The outputs are consecutive pieces of value along axis. */
static void compose_split_cut(const gantry__compose_t *c, tensor *value, int32_t axis) {
    int64_t begin[GANTRY_MAX_RANK] = {0};
    if (c->call->output_count == 1) {
        c->outputs[0] = value;
        return;
    }
    for (uint32_t k = 0; k < c->call->output_count; ++k) {
        const int64_t *size = c->call->out_shapes[k].dims;
        c->outputs[k] = gantry_slice(c->scope, value, begin, size);
        begin[axis] += size[axis];
    }
}

/* The dimension along which a piece may be shorter than the whole. If all pieces are as long, they
 * are one, or the dimension has size 0: any such dimension will do. */
static int32_t cut_axis(const gantry__compose_t *c, const gantry_shape_t *whole) {
    for (int32_t axis = 0; axis < whole->rank; ++axis) {
        for (uint32_t k = 0; k < c->call->output_count; ++k) {
            if (c->call->out_shapes[k].dims[axis] != whole->dims[axis]) return axis;
        }
    }
    int32_t axis = 0;
    while (axis + 1 < whole->rank && whole->dims[axis] != 0) ++axis;
    return axis;
}

void gantry__compose_split(const gantry__compose_t *c) {
    compose_split_cut(c, c->inputs[1], cut_axis(c, &c->inputs[1]->shape));
}

void gantry__compose_split_v(const gantry__compose_t *c) {
    compose_split_cut(c, c->inputs[0], cut_axis(c, &c->inputs[0]->shape));
}

void gantry__compose_unpack(const gantry__compose_t *c) {
    tensor *value = c->inputs[0];
    int64_t begin[GANTRY_MAX_RANK] = {0}, size[GANTRY_MAX_RANK];
    int64_t axis = gantry__infer_attr(c->call, "axis")->i;
    axis += axis < 0 ? value->shape.rank : 0;
    for (int32_t i = 0; i < value->shape.rank; ++i) size[i] = i == axis ? 1 : value->shape.dims[i];
    for (uint32_t k = 0; k < c->call->output_count; ++k) {
        begin[axis] = k;
        tensor *piece =
            c->call->output_count == 1 ? value : gantry_slice(c->scope, value, begin, size);
        c->outputs[k] = gantry_reshape(c->scope, piece, c->call->out_shapes[k]);
    }
}
