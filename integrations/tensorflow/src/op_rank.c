/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces tensors of many dimensions, the last ones first (op_rank.h). */
#include "op_rank.h"

#include <string.h>

/* The shape of input 0, and which of its dimensions are reduced. */
typedef struct reduction_t {
    const op_row_t *row;
    bool keeps_dims;
    int rank;
    int64_t dims[BRIDGE_MOST_DIMS];
    bool is_reduced[BRIDGE_MOST_DIMS];
} reduction_t;

bool op_rank_is_reduction(const op_row_t *row) {
    return row->host_args[0] &&
           (!strcmp(row->host_args[0], "reduction_indices") ||
            (row->host_args[1] && !strcmp(row->host_args[1], "reduction_indices")));
}

/* ---- arguments ---- */

static void op_rank_read_axes(bridge_call_t *call, reduction_t *reduction) {
    TF_Tensor *tensor;
    if (!bridge_host_input(call, 1, &tensor)) return; /* there is no axis, or an error */
    for (int64_t i = 0; i < TF_TensorElementCount(tensor); ++i) {
        const int64_t axis = bridge_host_int(tensor, i);
        const int64_t place = axis < 0 ? axis + reduction->rank : axis;
        if (place < 0 || place >= reduction->rank) {
            bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                        "Invalid reduction dimension (%lld for input with %d dimension(s)",
                        (long long)axis, reduction->rank);
            return;
        }
        if (reduction->is_reduced[place]) {
            bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                        "Invalid reduction arguments: Axes contains duplicate dimension: %lld",
                        (long long)place);
            return;
        }
        reduction->is_reduced[place] = true;
    }
}

/* Makes one dimension of neighbours that are reduced alike; those of size 1 join any. */
static void merge_dims(reduction_t *reduction) {
    int groups = 0;
    for (int i = 0; i < reduction->rank; ++i) {
        if (reduction->dims[i] == 1) continue;
        if (groups && reduction->is_reduced[groups - 1] == reduction->is_reduced[i]) {
            reduction->dims[groups - 1] *= reduction->dims[i];
            continue;
        }
        reduction->dims[groups] = reduction->dims[i];
        reduction->is_reduced[groups++] = reduction->is_reduced[i];
    }
    reduction->rank = groups;
}

/* ---- the reduction ---- */

/* Reduces as many of the last dimensions as Gantry takes. All dimensions before them are one. */
static const gantry_tensor_t *reduce_last(bridge_call_t *call, reduction_t *reduction,
                                          const gantry_tensor_t *tensor) {
    const int first =
        reduction->rank > GANTRY_MAX_RANK ? reduction->rank - (GANTRY_MAX_RANK - 1) : 0;
    gantry_shape_t shape = {.rank = first ? 1 : 0, .dims = {1}};
    int32_t axes[GANTRY_MAX_RANK], count = 0;
    for (int i = 0; i < first; ++i) shape.dims[0] *= reduction->dims[i];
    for (int i = first; i < reduction->rank; ++i) {
        if (reduction->is_reduced[i]) axes[count++] = shape.rank;
        shape.dims[shape.rank++] = reduction->dims[i];
        if (reduction->is_reduced[i]) reduction->dims[i] = 1;
    }
    merge_dims(reduction);
    const gantry_tensor_t *inputs[] = {
        gantry_reshape(call->scope, tensor, shape),
        gantry_constant(call->scope, GANTRY_INT32, GANTRY_SHAPE(count), axes,
                        (size_t)count * sizeof *axes)};
    const gantry_tensor_t *output = NULL;
    size_t outputs = 1;
    (void)gantry_op_call(call->scope, reduction->row->gantry, inputs, 2, NULL, 0, &output,
                         &outputs);
    return output;
}

/* Writes the result's dimensions in TensorFlow; returns their number. */
static int result_dims(const reduction_t *reduction, int64_t *out_dims) {
    int rank = 0;
    for (int i = 0; i < reduction->rank; ++i) {
        if (!reduction->is_reduced[i]) {
            out_dims[rank++] = reduction->dims[i];
        } else if (reduction->keeps_dims) {
            out_dims[rank++] = 1;
        }
    }
    return rank;
}

static bool has_reduced(const reduction_t *reduction) {
    for (int i = 0; i < reduction->rank; ++i) {
        if (reduction->is_reduced[i]) return true;
    }
    return false;
}

static void op_rank_reduce(bridge_call_t *call, reduction_t *reduction, const TF_Tensor *tensor) {
    int64_t dims[BRIDGE_MOST_DIMS];
    const int rank = result_dims(reduction, dims);
    const gantry_shape_t row = GANTRY_SHAPE(TF_TensorElementCount(tensor));
    const gantry_tensor_t *result = bridge_input_as(call, 0, tensor, &row);
    merge_dims(reduction);
    if (reduction->rank > GANTRY_MAX_RANK && !strcmp(reduction->row->gantry, "Mean")) {
        bridge_fail(call, GANTRY_UNIMPLEMENTED,
                    "a mean over %d dimensions that are no neighbours; accepted are %d",
                    reduction->rank, GANTRY_MAX_RANK);
        return;
    }
    do {
        result = reduce_last(call, reduction, result);
    } while (has_reduced(reduction) && !bridge_has_failed(call));
    bridge_output_as(call, 0, result, dims, rank);
}

void op_rank_compute(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                     size_t attr_count) {
    reduction_t reduction = {.row = row};
    TF_Tensor *tensor;
    (void)bridge_host_input(call, 0, &tensor);
    if (!tensor) return;
    reduction.rank = TF_NumDims(tensor);
    for (int i = 0; i < reduction.rank; ++i) reduction.dims[i] = TF_Dim(tensor, i);
    for (size_t i = 0; i < attr_count; ++i) {
        if (!strcmp(attrs[i].name, "keep_dims")) reduction.keeps_dims = attrs[i].i;
    }
    op_rank_read_axes(call, &reduction);
    if (!bridge_has_failed(call)) op_rank_reduce(call, &reduction, tensor);
}
