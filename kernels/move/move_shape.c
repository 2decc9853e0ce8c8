/* SPDX-License-Identifier: Apache-2.0 */
/* Plans each move op as a copy between strided arrays (move_shape.h). */
#include "kernels/move/move_shape.h"

static void dense_strides(int64_t *strides, int32_t rank, const int64_t *dims) {
    gantry__k_broadcast_strides(strides, rank, rank, dims);
}

/* Begins a plan over the dimensions of arg, without broadcasting. */
static void move_shape_begin(gantry__move_copy_t *copy, const gantry_arg_t *arg) {
    copy->plan.rank = arg->rank;
    copy->plan.operands = 2;
    copy->from = 0;
    copy->to = 0;
    copy->count = arg->element_count;
    for (int32_t d = 0; d < arg->rank; ++d) copy->plan.dims[d] = arg->dims[d];
}

static void plan_transpose(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    const gantry_arg_t *x = call->inputs[0];
    int64_t strides[GANTRY_MAX_RANK];
    move_shape_begin(out, call->outputs[0]);
    dense_strides(strides, x->rank, x->dims);
    dense_strides(out->plan.strides[1], x->rank, call->outputs[0]->dims);
    for (int32_t d = 0; d < x->rank; ++d) {
        out->plan.strides[0][d] =
            strides[gantry__k_from_end(gantry__k_host_int(call->inputs[1], d), x->rank)];
    }
    gantry__k_plan_collapse(&out->plan);
}

static void plan_broadcast(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    const gantry_arg_t *x = call->inputs[0];
    const gantry_arg_t *result = call->outputs[0];
    move_shape_begin(out, result);
    gantry__k_broadcast_strides(out->plan.strides[0], result->rank, x->rank, x->dims);
    dense_strides(out->plan.strides[1], result->rank, result->dims);
    gantry__k_plan_collapse(&out->plan);
}

static void plan_slice(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    const gantry_arg_t *x = call->inputs[0];
    move_shape_begin(out, call->outputs[0]);
    dense_strides(out->plan.strides[0], x->rank, x->dims);
    dense_strides(out->plan.strides[1], x->rank, call->outputs[0]->dims);
    for (int32_t d = 0; d < x->rank; ++d)
        out->from += gantry__k_host_int(call->inputs[1], d) * out->plan.strides[0][d];
    gantry__k_plan_collapse(&out->plan);
}

/* Returns the first index of entry `entry` of a slice. is_open: the slice begins at the end of the
 * axis from which the stride comes. */
static int64_t first_index(const gantry_op_call_t *call, int64_t entry, bool is_open,
                           int64_t stride, int64_t size) {
    if (is_open) return stride > 0 ? 0 : size - 1;
    const int64_t most = stride > 0 ? size : size - 1;
    int64_t index = gantry__k_host_int(call->inputs[1], entry);
    index += index < 0 ? size : 0;
    return index < 0 ? 0 : index > most ? most : index;
}

/* Shape inference has checked the entries (src/op/op_infer_strided_slice.c): the result's
 * dimensions are known, and none of them is 0. */
static void plan_strided_slice(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    const gantry_arg_t *x = call->inputs[0], *result = call->outputs[0];
    const int64_t entries = call->inputs[1]->element_count;
    const int64_t ellipsis = gantry__k_attr_int(call, "ellipsis_mask", 0);
    const int64_t open = gantry__k_attr_int(call, "begin_mask", 0);
    const int64_t added = gantry__k_attr_int(call, "new_axis_mask", 0);
    const int64_t shrunk = gantry__k_attr_int(call, "shrink_axis_mask", 0);
    int64_t strides[GANTRY_MAX_RANK], covered = x->rank;
    int32_t axis = 0, to = 0;
    move_shape_begin(out, result);
    dense_strides(strides, x->rank, x->dims);
    dense_strides(out->plan.strides[1], result->rank, result->dims);
    for (int64_t i = 0; i < entries; ++i) covered -= !((ellipsis | added) >> i & 1);
    for (int64_t i = 0; i < entries; ++i) {
        if (ellipsis >> i & 1) {
            while (covered-- > 0) out->plan.strides[0][to++] = strides[axis++];
        } else if (added >> i & 1) {
            out->plan.strides[0][to++] = 0;
        } else {
            const bool is_kept = !(shrunk >> i & 1);
            const int64_t stride = gantry__k_host_int(call->inputs[3], i);
            out->from += first_index(call, i, is_kept && (open >> i & 1), stride, x->dims[axis]) *
                         strides[axis];
            /* a stride beyond the axis could overflow here; it gives one element */
            if (is_kept) {
                out->plan.strides[0][to] = result->dims[to] > 1 ? stride * strides[axis] : 0;
                ++to;
            }
            ++axis;
        }
    }
    while (axis < x->rank) out->plan.strides[0][to++] = strides[axis++];
    gantry__k_plan_collapse(&out->plan);
}

static void plan_reverse(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    const gantry_arg_t *x = call->inputs[0];
    move_shape_begin(out, call->outputs[0]);
    dense_strides(out->plan.strides[0], x->rank, x->dims);
    dense_strides(out->plan.strides[1], x->rank, x->dims);
    for (int64_t i = 0; x->rank > 0 && i < call->inputs[1]->element_count; ++i) {
        const int64_t axis = gantry__k_from_end(gantry__k_host_int(call->inputs[1], i), x->rank);
        out->from += (x->dims[axis] - 1) * out->plan.strides[0][axis];
        out->plan.strides[0][axis] *= -1;
    }
    gantry__k_plan_collapse(&out->plan);
}

/* Copies between images (`space`, operand `operand` of the plan) and the same images with squares
 * of block x block pixels as channels (`depth`):
 *
 *     NHWC   space [n, h, row, w, column, c]   depth [n, h, w, row, column, c]
 *     NCHW   space [n, c, h, row, w, column]   depth [n, row, column, c, h, w] */
static void move_shape_plan_blocks(const gantry_op_call_t *call, const gantry_arg_t *space,
                                   int operand, gantry__move_copy_t *out) {
    const int64_t block = gantry__k_attr_int(call, "block_size", 0);
    const bool is_nchw = strcmp(gantry__k_attr_text(call, "data_format", "NHWC"), "NCHW") == 0;
    const int64_t *dims = space->dims, n = dims[0], c = dims[is_nchw ? 1 : 3];
    const int64_t height = dims[is_nchw ? 2 : 1], width = dims[is_nchw ? 3 : 2], h = height / block,
                  w = width / block;
    const int64_t pixel = is_nchw ? 1 : c, line = width * pixel,
                  channel = is_nchw ? height * line : 1;
    const int64_t nhwc_dims[] = {n, h, w, block, block, c},
                  nchw_dims[] = {n, block, block, c, h, w};
    const int64_t nhwc[] = {height * line, block * line, block * pixel, line, pixel, channel};
    const int64_t nchw[] = {c * channel, line, pixel, channel, block * line, block * pixel};
    move_shape_begin(out, call->outputs[0]);
    out->plan.rank = 6;
    memcpy(out->plan.dims, is_nchw ? nchw_dims : nhwc_dims, sizeof nhwc_dims);
    memcpy(out->plan.strides[operand], is_nchw ? nchw : nhwc, sizeof nhwc);
    dense_strides(out->plan.strides[1 - operand], 6, out->plan.dims);
    gantry__k_plan_collapse(&out->plan);
}

static void plan_space_to_depth(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    move_shape_plan_blocks(call, call->inputs[0], 0, out);
}

static void plan_depth_to_space(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    move_shape_plan_blocks(call, call->outputs[0], 1, out);
}

#define DEFINE_OP(name, ...) const gantry__move_op_t gantry__move_##name = {plan_##name};
GANTRY_MOVE_OPS(DEFINE_OP)

void gantry__move_concat(const gantry_op_call_t *call, uint32_t index, gantry__move_copy_t *out) {
    const gantry_arg_t *part = call->inputs[index];
    int32_t axis = (int32_t)gantry__k_from_end(
        gantry__k_host_int(call->inputs[call->input_count - 1], 0), part->rank);
    int64_t before = 0;
    for (uint32_t i = 0; i < index; ++i) before += call->inputs[i]->dims[axis];
    move_shape_begin(out, part);
    dense_strides(out->plan.strides[0], part->rank, part->dims);
    dense_strides(out->plan.strides[1], part->rank, call->outputs[0]->dims);
    out->to = before * out->plan.strides[1][axis];
    gantry__k_plan_collapse(&out->plan);
}

/* The dimension with stride 1 in the operand, or -1. */
static int32_t fastest_dimension(const gantry__k_plan_t *plan, int32_t operand) {
    for (int32_t d = plan->rank - 1; d >= 0; --d)
        if (plan->strides[operand][d] == 1) return d;
    return -1;
}

static void move_shape_cut(gantry__move_tiles_t *tiles, int64_t side) {
    int64_t rows = tiles->rows < side ? tiles->rows : side;
    int64_t columns = tiles->columns < side ? tiles->columns : side;
    if (columns < side) rows = side * side / columns;
    if (rows < side) columns = side * side / rows;
    tiles->tile_rows = rows;
    tiles->tile_columns = columns;
    tiles->across = (tiles->columns + columns - 1) / columns;
    tiles->down = (tiles->rows + rows - 1) / rows;
    tiles->tiles = tiles->across * tiles->down * tiles->batches;
}

bool gantry__move_tiles(const gantry__move_copy_t *copy, int64_t side, gantry__move_tiles_t *out) {
    const gantry__k_plan_t *plan = &copy->plan;
    int32_t row = fastest_dimension(plan, 1), column = fastest_dimension(plan, 0);
    if (row < 0 || column < 0 || row == column || plan->strides[0][row] == 0) return false;
    out->rows = plan->dims[row];
    out->columns = plan->dims[column];
    out->row_stride = plan->strides[0][row];
    out->column_stride = plan->strides[1][column];
    out->batches = 1;
    out->batch.rank = 0;
    out->batch.operands = 2;
    for (int32_t d = 0; d < plan->rank; ++d) {
        if (d == row || d == column) continue;
        int32_t to = out->batch.rank++;
        out->batch.dims[to] = plan->dims[d];
        out->batch.strides[0][to] = plan->strides[0][d];
        out->batch.strides[1][to] = plan->strides[1][d];
        out->batches *= plan->dims[d];
    }
    move_shape_cut(out, side);
    return true;
}
