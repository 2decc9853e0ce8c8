#include "portable/move_shape.h"

static void dense_strides(int64_t *strides, int32_t rank, const int64_t *dims) {
    gantry_k_broadcast_strides(strides, rank, rank, dims);
}

/* A plan over the dimensions of arg, nothing broadcast yet. */
static void begin(gantry__move_copy_t *copy, const gantry_arg_t *arg) {
    copy->plan.rank = arg->rank;
    copy->plan.operands = 2;
    copy->from = 0;
    copy->to = 0;
    copy->count = arg->element_count;
    for (int32_t d = 0; d < arg->rank; ++d) copy->plan.dims[d] = arg->dims[d];
}

static int64_t from_end(int64_t axis, int32_t rank) { return axis < 0 ? axis + rank : axis; }

void gantry__move_transpose(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    const gantry_arg_t *x = call->inputs[0];
    int64_t strides[GANTRY_K_MAX_RANK];
    begin(out, call->outputs[0]);
    dense_strides(strides, x->rank, x->dims);
    dense_strides(out->plan.strides[1], x->rank, call->outputs[0]->dims);
    for (int32_t d = 0; d < x->rank; ++d) {
        out->plan.strides[0][d] = strides[from_end(gantry_k_host_int(call->inputs[1], d), x->rank)];
    }
    gantry_k_plan_collapse(&out->plan);
}

void gantry__move_broadcast(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    const gantry_arg_t *x = call->inputs[0];
    const gantry_arg_t *result = call->outputs[0];
    begin(out, result);
    gantry_k_broadcast_strides(out->plan.strides[0], result->rank, x->rank, x->dims);
    dense_strides(out->plan.strides[1], result->rank, result->dims);
    gantry_k_plan_collapse(&out->plan);
}

void gantry__move_slice(const gantry_op_call_t *call, gantry__move_copy_t *out) {
    const gantry_arg_t *x = call->inputs[0];
    begin(out, call->outputs[0]);
    dense_strides(out->plan.strides[0], x->rank, x->dims);
    dense_strides(out->plan.strides[1], x->rank, call->outputs[0]->dims);
    for (int32_t d = 0; d < x->rank; ++d) {
        out->from += gantry_k_host_int(call->inputs[1], d) * out->plan.strides[0][d];
    }
    gantry_k_plan_collapse(&out->plan);
}

void gantry__move_concat(const gantry_op_call_t *call, uint32_t index, gantry__move_copy_t *out) {
    const gantry_arg_t *part = call->inputs[index];
    int32_t axis = (int32_t)from_end(gantry_k_host_int(call->inputs[call->input_count - 1], 0), part->rank);
    int64_t before = 0;
    for (uint32_t i = 0; i < index; ++i) before += call->inputs[i]->dims[axis];
    begin(out, part);
    dense_strides(out->plan.strides[0], part->rank, part->dims);
    dense_strides(out->plan.strides[1], part->rank, call->outputs[0]->dims);
    out->to = before * out->plan.strides[1][axis];
    gantry_k_plan_collapse(&out->plan);
}

/* The dimension with stride 1 for the operand, -1 when none has. */
static int32_t fastest(const gantry_k_plan_t *plan, int32_t operand) {
    for (int32_t d = plan->rank - 1; d >= 0; --d) {
        if (plan->strides[operand][d] == 1) return d;
    }
    return -1;
}

static void cut(gantry__move_tiles_t *tiles, int64_t side) {
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

int gantry__move_tiles(const gantry__move_copy_t *copy, int64_t side, gantry__move_tiles_t *out) {
    const gantry_k_plan_t *plan = &copy->plan;
    int32_t row = fastest(plan, 1), column = fastest(plan, 0);
    if (row < 0 || column < 0 || row == column || plan->strides[0][row] == 0) return 0;
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
    cut(out, side);
    return 1;
}

static int64_t product(const int64_t *dims, int64_t first, int64_t end) {
    int64_t result = 1;
    for (int64_t d = first; d < end; ++d) result *= dims[d];
    return result;
}

void gantry__move_gather(const gantry_op_call_t *call, gantry__move_gather_t *out) {
    const gantry_arg_t *params = call->inputs[0];
    const gantry_arg_t *indices = call->inputs[1];
    int64_t axis = from_end(gantry_k_host_int(call->inputs[2], 0), params->rank);
    int64_t batch_dims = from_end(gantry_k_attr_int(call, "batch_dims", 0), indices->rank);
    out->batch = product(indices->dims, 0, batch_dims);
    out->outer = product(params->dims, batch_dims, axis);
    out->limit = params->dims[axis];
    out->picks = product(indices->dims, batch_dims, indices->rank);
    out->inner = product(params->dims, axis + 1, params->rank);
}

void gantry__move_one_hot(const gantry_op_call_t *call, gantry__move_one_hot_t *out) {
    const gantry_arg_t *indices = call->inputs[0];
    int64_t axis = gantry_k_attr_int(call, "axis", -1);
    if (axis < 0) axis += indices->rank + 1;
    out->prefix = product(indices->dims, 0, axis);
    out->depth = call->outputs[0]->dims[axis];
    out->suffix = product(indices->dims, axis, indices->rank);
}
