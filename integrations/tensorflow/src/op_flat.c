/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the groups of dimensions that are one dimension for Gantry, and calls Gantry with them
 * (op_flat.h). */
#include "op_flat.h"

/* The result's dimensions, and their groups: neighbouring dimensions for which the same inputs have
 * a size other than 1. */
typedef struct flat_t {
    int rank;
    int64_t dims[BRIDGE_MOST_DIMS];
    gantry_shape_t groups;
    uint64_t inputs_of[GANTRY_MAX_RANK]; /* bit i: input i has the group, and does not repeat */
} flat_t;

/* ---- groups ---- */

/* The size of a dimension of the result; dimensions align at the last one. */
static int64_t flat_size(const TF_Tensor *tensor, const flat_t *flat, int dim) {
    const int at = dim - (flat->rank - TF_NumDims(tensor));
    return at < 0 ? 1 : TF_Dim(tensor, at);
}

/* Adds a dimension to the last group, or begins one. */
static void add_dim(bridge_call_t *call, flat_t *flat, int64_t size, uint64_t inputs) {
    gantry_shape_t *groups = &flat->groups;
    if (groups->rank && flat->inputs_of[groups->rank - 1] == inputs) {
        groups->dims[groups->rank - 1] *= size;
    } else if (groups->rank < GANTRY_MAX_RANK) {
        flat->inputs_of[groups->rank] = inputs;
        groups->dims[groups->rank++] = size;
    } else {
        bridge_fail(call, GANTRY_UNIMPLEMENTED,
                    "broadcasting over %d dimensions that alternate; accepted are %d", flat->rank,
                    GANTRY_MAX_RANK);
    }
}

static void op_flat_find_groups(bridge_call_t *call, TF_Tensor *const *tensors, int count,
                                flat_t *flat) {
    for (int i = 0; i < count; ++i) {
        if (TF_NumDims(tensors[i]) > flat->rank) flat->rank = TF_NumDims(tensors[i]);
    }
    for (int dim = 0; dim < flat->rank && !bridge_has_failed(call); ++dim) {
        int64_t size = 1;
        uint64_t inputs = 0;
        for (int i = 0; i < count; ++i) {
            const int64_t other = flat_size(tensors[i], flat, dim);
            if (other == 1) continue;
            if (inputs && other != size)
                bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                            "Incompatible shapes: dimension %d of the result is %lld and %lld", dim,
                            (long long)size, (long long)other);
            size = other;
            inputs |= UINT64_C(1) << i;
        }
        flat->dims[dim] = size;
        if (inputs) add_dim(call, flat, size, inputs);
    }
}

/* ---- the ops ---- */

void op_flat_compute(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                     size_t attr_count) {
    TF_Tensor *tensors[GANTRY_MAX_OP_INPUTS];
    const gantry_tensor_t *inputs[GANTRY_MAX_OP_INPUTS], *output = NULL;
    const int count = TF_NumInputs(call->context);
    flat_t flat = {0};
    for (int i = 0; i < count; ++i) {
        (void)bridge_host_input(call, i, &tensors[i]);
        if (!tensors[i]) return;
    }
    op_flat_find_groups(call, tensors, count, &flat);
    for (int i = 0; i < count; ++i) {
        gantry_shape_t shape = flat.groups;
        for (int32_t k = 0; k < shape.rank; ++k) {
            if (!(flat.inputs_of[k] >> i & 1)) shape.dims[k] = 1;
        }
        inputs[i] = bridge_input_as(call, i, tensors[i], &shape);
    }
    size_t outputs = 1;
    (void)gantry_op_call(call->scope, row->gantry, inputs, (size_t)count, attrs, attr_count,
                         &output, &outputs);
    bridge_output_as(call, 0, output, flat.dims, flat.rank);
}

void op_flat_fill(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                  size_t attr_count) {
    (void)row, (void)attrs, (void)attr_count;
    TF_Tensor *list;
    if (!bridge_host_input(call, 0, &list)) return;
    const int rank = (int)TF_TensorElementCount(list);
    if (rank > BRIDGE_MOST_DIMS) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT, "dims has %d numbers; accepted are %d", rank,
                    BRIDGE_MOST_DIMS);
        return;
    }
    int64_t dims[BRIDGE_MOST_DIMS], count = 1;
    for (int i = 0; i < rank; ++i) {
        dims[i] = bridge_host_int(list, i);
        if (dims[i] < 0)
            bridge_fail(call, GANTRY_INVALID_ARGUMENT, "Dimension %lld must be >= 0",
                        (long long)dims[i]);
        if (__builtin_mul_overflow(count, dims[i], &count))
            bridge_fail(call, GANTRY_INVALID_ARGUMENT, "the shape has too many elements");
    }
    bridge_output_as(call, 0, gantry_fill(call->scope, GANTRY_SHAPE(count), bridge_input(call, 1)),
                     dims, rank);
}
