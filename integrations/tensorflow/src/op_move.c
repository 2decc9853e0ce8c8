/* SPDX-License-Identifier: Apache-2.0 */
/* Concat, Pack and Transpose by tensors of few dimensions (op_move.h). */
#include "op_move.h"

#include <string.h>

/* Tensors that become one along an axis. */
typedef struct chain_t {
    const char *op;
    int count;
    int axis;
    bool has_axis; /* whether the tensors have the axis, and may differ in its size */
    TF_Tensor *tensors[GANTRY_MAX_OP_INPUTS];
} chain_t;

/* The dimensions of a transposition; those that stay neighbours are one. */
typedef struct turn_t {
    int rank;
    int64_t sizes[BRIDGE_MOST_DIMS]; /* in the input's order */
    int perm[BRIDGE_MOST_DIMS];      /* the input's dimension for each of the result */
} turn_t;

/* The product of a tensor's dimensions from begin to end. */
static int64_t op_move_product_of(const TF_Tensor *tensor, int begin, int end) {
    int64_t product = 1;
    for (int i = begin; i < end; ++i) product *= TF_Dim(tensor, i);
    return product;
}

/* ---- Concat and Pack ---- */

static void take_tensors(bridge_call_t *call, chain_t *chain, int first) {
    for (int i = 0; i < chain->count && !bridge_has_failed(call); ++i)
        (void)bridge_host_input(call, first + i, &chain->tensors[i]);
}

/* Counts the axis from the front, and fails the call if the tensors do not fit each other. */
static void check_chain(bridge_call_t *call, chain_t *chain, int64_t axis) {
    if (bridge_has_failed(call)) return;
    const TF_Tensor *first = chain->tensors[0];
    const int rank = TF_NumDims(first), axes = rank + !chain->has_axis;
    if (axis < -axes || axis >= axes) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT, "%s: axis = %lld not in [%d, %d)", chain->op,
                    (long long)axis, -axes, axes);
        return;
    }
    chain->axis = (int)(axis < 0 ? axis + axes : axis);
    for (int i = 1; i < chain->count; ++i) {
        const TF_Tensor *other = chain->tensors[i];
        bool fits = TF_NumDims(other) == rank;
        for (int k = 0; fits && k < rank; ++k)
            fits = TF_Dim(other, k) == TF_Dim(first, k) || (chain->has_axis && k == chain->axis);
        if (fits) continue;
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "%s: Shapes of all inputs must match%s: those of inputs 0 and %d do not",
                    chain->op, chain->has_axis ? " but for the axis" : "", i);
        return;
    }
}

/* Joins them; input 0 of the chain is the op's input number `first`. */
static void join_chain(bridge_call_t *call, const chain_t *chain, int first) {
    const gantry_tensor_t *list[GANTRY_MAX_OP_INPUTS];
    int64_t dims[BRIDGE_MOST_DIMS + 1], size = 0;
    if (bridge_has_failed(call)) return;
    for (int i = 0; i < chain->count; ++i) {
        const TF_Tensor *tensor = chain->tensors[i];
        const int64_t step = chain->has_axis ? TF_Dim(tensor, chain->axis) : 1;
        const gantry_shape_t shape = GANTRY_SHAPE(
            op_move_product_of(tensor, 0, chain->axis), step,
            op_move_product_of(tensor, chain->axis + chain->has_axis, TF_NumDims(tensor)));
        list[i] = bridge_input_as(call, first + i, tensor, &shape);
        size += step;
    }
    const TF_Tensor *tensor = chain->tensors[0];
    const int rank = TF_NumDims(tensor) + !chain->has_axis;
    for (int k = 0; k < rank; ++k)
        dims[k] =
            k == chain->axis ? size : TF_Dim(tensor, k - (!chain->has_axis && k > chain->axis));
    if (bridge_has_failed(call)) return;
    bridge_output_as(call, 0, gantry_concat(call->scope, list, (size_t)chain->count, 1), dims,
                     rank);
}

void op_move_concat(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                    size_t attr_count) {
    (void)attrs, (void)attr_count;
    const int first = !strcmp(row->op, "Concat"); /* its axis comes first */
    chain_t chain = {.op = "Concat", .count = TF_NumInputs(call->context) - 1, .has_axis = true};
    TF_Tensor *axis;
    (void)bridge_host_input(call, first ? 0 : chain.count, &axis);
    take_tensors(call, &chain, first);
    if (bridge_has_failed(call)) return;
    if (TF_TensorElementCount(axis) != 1) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "Concat: axis tensor should be a scalar integer, but has %lld elements",
                    (long long)TF_TensorElementCount(axis));
        return;
    }
    check_chain(call, &chain, bridge_host_int(axis, 0));
    join_chain(call, &chain, first);
}

void op_move_pack(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                  size_t attr_count) {
    (void)row;
    int64_t axis = 0;
    for (size_t i = 0; i < attr_count; ++i) {
        if (!strcmp(attrs[i].name, "axis")) axis = attrs[i].i;
    }
    chain_t chain = {.op = "Pack", .count = TF_NumInputs(call->context)};
    take_tensors(call, &chain, 0);
    check_chain(call, &chain, axis);
    join_chain(call, &chain, 0);
}

/* ---- Transpose ---- */

static void read_perm(bridge_call_t *call, const TF_Tensor *tensor, turn_t *turn) {
    TF_Tensor *perm;
    (void)bridge_host_input(call, 1, &perm);
    bool is_seen[BRIDGE_MOST_DIMS] = {false};
    turn->rank = TF_NumDims(tensor);
    if (bridge_has_failed(call)) return;
    if (TF_TensorElementCount(perm) != turn->rank) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "transpose expects a vector of size %d. But input(1) is a vector of size %lld",
                    turn->rank, (long long)TF_TensorElementCount(perm));
        return;
    }
    for (int i = 0; i < turn->rank; ++i) {
        const int64_t dim = bridge_host_int(perm, i), place = dim < 0 ? dim + turn->rank : dim;
        turn->sizes[i] = TF_Dim(tensor, i);
        if (place < 0 || place >= turn->rank || is_seen[place]) {
            bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                        "Transpose: perm[%d] is %lld, which is no dimension of %d, or given twice",
                        i, (long long)dim, turn->rank);
            return;
        }
        is_seen[place] = true;
        turn->perm[i] = (int)place;
    }
}

/* The input's next dimension with a size other than 1; -1: there is none. */
static int next_dim(const turn_t *turn, int dim) {
    while (++dim < turn->rank) {
        if (turn->sizes[dim] != 1) return dim;
    }
    return -1;
}

/* Drops dimensions of size 1, and makes one of those that stay neighbours. */
static void merge_neighbours(turn_t *turn) {
    turn_t merged = {0};
    int first[BRIDGE_MOST_DIMS], last = -1; /* the input's dimension that begins each group */
    int64_t sizes[BRIDGE_MOST_DIMS];
    for (int i = 0; i < turn->rank; ++i) {
        const int dim = turn->perm[i];
        if (turn->sizes[dim] == 1) continue;
        if (merged.rank && next_dim(turn, last) == dim) {
            sizes[merged.rank - 1] *= turn->sizes[dim];
        } else {
            sizes[merged.rank] = turn->sizes[dim];
            first[merged.rank++] = dim;
        }
        last = dim;
    }
    for (int i = 0; i < merged.rank; ++i) {
        for (int k = 0; k < merged.rank; ++k) merged.perm[i] += first[k] < first[i];
        merged.sizes[merged.perm[i]] = sizes[i];
    }
    *turn = merged;
}

/* For more groups than Gantry's dimensions: the result's groups come to the front one by one, the
 * last first. Each time the tensor has three dimensions. */
static const gantry_tensor_t *turn_by_steps(bridge_call_t *call, const turn_t *turn,
                                            const gantry_tensor_t *x) {
    int64_t sizes[BRIDGE_MOST_DIMS]; /* sizes of the groups, in their present order */
    int groups[BRIDGE_MOST_DIMS];
    for (int i = 0; i < turn->rank; ++i) {
        groups[i] = i;
        sizes[i] = turn->sizes[i];
    }
    for (int i = turn->rank - 1; i >= 0; --i) {
        gantry_shape_t shape = GANTRY_SHAPE(1, 1, 1);
        int at = 0;
        for (; groups[at] != turn->perm[i]; ++at) shape.dims[0] *= sizes[at];
        shape.dims[1] = sizes[at];
        for (int k = at + 1; k < turn->rank; ++k) shape.dims[2] *= sizes[k];
        x = gantry_transpose(call->scope, gantry_reshape(call->scope, x, shape),
                             (const int32_t[]){1, 0, 2});
        const int64_t size = sizes[at];
        memmove(groups + 1, groups, (size_t)at * sizeof *groups);
        memmove(sizes + 1, sizes, (size_t)at * sizeof *sizes);
        groups[0] = turn->perm[i];
        sizes[0] = size;
    }
    return x;
}

static const gantry_tensor_t *turn_at_once(bridge_call_t *call, const turn_t *turn,
                                           const gantry_tensor_t *x) {
    gantry_shape_t shape = {.rank = turn->rank};
    int32_t perm[GANTRY_MAX_RANK];
    for (int i = 0; i < turn->rank; ++i) {
        shape.dims[i] = turn->sizes[i];
        perm[i] = turn->perm[i];
    }
    return gantry_transpose(call->scope, gantry_reshape(call->scope, x, shape), perm);
}

void op_move_transpose(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                       size_t attr_count) {
    (void)row, (void)attrs, (void)attr_count;
    turn_t turn = {0};
    int64_t dims[BRIDGE_MOST_DIMS];
    TF_Tensor *tensor;
    (void)bridge_host_input(call, 0, &tensor);
    if (!tensor) return;
    read_perm(call, tensor, &turn);
    if (bridge_has_failed(call)) return;
    const int rank = turn.rank;
    for (int i = 0; i < rank; ++i) dims[i] = turn.sizes[turn.perm[i]];
    const gantry_shape_t list = GANTRY_SHAPE(TF_TensorElementCount(tensor));
    const gantry_tensor_t *x = bridge_input_as(call, 0, tensor, &list);
    merge_neighbours(&turn);
    const gantry_tensor_t *result =
        turn.rank > GANTRY_MAX_RANK ? turn_by_steps(call, &turn, x) : turn_at_once(call, &turn, x);
    bridge_output_as(call, 0, result, dims, rank);
}
