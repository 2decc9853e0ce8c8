/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a tensor by slices (op_many_split.h); the errors are those of Gantry's ops. */
#include "op_many_split.h"

#include <stdio.h>

/* A tensor that is cut along an axis. For Gantry it has three dimensions: those before the axis,
 * the axis, and those after it. So it may have any number of them. */
typedef struct cut_t {
    bridge_call_t *call;
    int input; /* number of the tensor */
    TF_Tensor *tensor;
    int axis;
    int count;        /* the number of outputs */
    bool is_unpacked; /* whether the outputs lack the dimension */
    int64_t size;     /* the dimension's */
    int64_t rest;     /* only SplitV: the size that -1 means */
    TF_Tensor *sizes; /* only SplitV, on the host; NULL: equal parts */
} cut_t;

/* ---- inputs ---- */

/* Sets the tensor. Returns false after an error. */
static bool take_tensor(cut_t *cut, int input) {
    cut->input = input;
    (void)bridge_host_input(cut->call, input, &cut->tensor);
    return cut->tensor;
}

/* Sets the axis, counted from the front, and the dimension's size. Returns false if it is out of
 * range. */
static bool set_axis(cut_t *cut, int64_t axis) {
    const int rank = TF_NumDims(cut->tensor);
    if (axis < -rank || axis >= rank) return false;
    cut->axis = (int)(axis + (axis < 0 ? rank : 0));
    cut->size = TF_Dim(cut->tensor, cut->axis);
    return true;
}

/* Reads the axis from an input on the host. Returns false after an error. */
static bool take_split_dim(cut_t *cut, const char *op, int input) {
    TF_Tensor *tensor = NULL;
    const int32_t *axis = bridge_host_input(cut->call, input, &tensor);
    if (bridge_has_failed(cut->call)) return false;
    if (!axis || TF_TensorElementCount(tensor) != 1) {
        bridge_fail(cut->call, GANTRY_INVALID_ARGUMENT,
                    "%s: split_dim must be a scalar but has rank %d", op, TF_NumDims(tensor));
        return false;
    }
    if (set_axis(cut, *axis)) return true;
    const int rank = TF_NumDims(cut->tensor);
    bridge_fail(cut->call, GANTRY_INVALID_ARGUMENT,
                "%s: -input rank(-%d) <= split_dim < input rank (%d), but got %d", op, rank, rank,
                (int)*axis);
    return false;
}

/* ---- sizes ---- */

static int64_t op_many_split_size_of(const cut_t *cut, int i) {
    if (!cut->sizes) return cut->size / cut->count;
    const int64_t size = bridge_host_int(cut->sizes, i);
    return size == -1 ? cut->rest : size;
}

/* Reads the sizes' input. Returns false after an error. */
static bool take_sizes(cut_t *cut, int input) {
    (void)bridge_host_input(cut->call, input, &cut->sizes);
    if (bridge_has_failed(cut->call)) return false;
    const int64_t count = TF_TensorElementCount(cut->sizes);
    if (TF_NumDims(cut->sizes) == 1 && count == cut->count) return true;
    bridge_fail(cut->call, GANTRY_INVALID_ARGUMENT,
                "SplitV: size of the split_tensor must be 1-D and have the same elements as "
                "outputs got %d -D and %lld elements",
                TF_NumDims(cut->sizes), (long long)count);
    return false;
}

/* Adds up the sizes, of which there must be at most one more than the dimension has, and counts
 * those that are -1. Returns false after an error. */
static bool sum_sizes(const cut_t *cut, int64_t *out_sum, int *out_rests) {
    *out_sum = *out_rests = 0;
    for (int i = 0; i < cut->count; ++i) {
        const int64_t size = bridge_host_int(cut->sizes, i);
        if (size < -1) {
            bridge_fail(cut->call, GANTRY_INVALID_ARGUMENT,
                        "SplitV: Split size at index %d must be >= 0. Got: %lld", i,
                        (long long)size);
            return false;
        }
        *out_rests += size == -1;
        if (size > 0) *out_sum += size <= cut->size - *out_sum ? size : cut->size + 1 - *out_sum;
    }
    if (*out_rests < 2) return true;
    bridge_fail(cut->call, GANTRY_INVALID_ARGUMENT,
                "SplitV: There can only be one -1 in the input.");
    return false;
}

/* Whether the sizes fit the dimension. Sets the rest. Returns false after an error. */
static bool op_many_split_check_sizes(cut_t *cut) {
    int64_t sum;
    int rests;
    if (!sum_sizes(cut, &sum, &rests)) return false;
    cut->rest = cut->size - sum;
    if (rests ? cut->rest >= 0 : !cut->rest) return true;
    const bool is_more = cut->rest < 0;
    bridge_fail(cut->call, GANTRY_INVALID_ARGUMENT,
                "SplitV: Determined shape must either match input shape along split_dim exactly "
                "if fully specified, or be less than the size of the input along split_dim if "
                "not fully specified.  Got: %s%lld",
                is_more ? "more than " : "", (long long)(is_more ? cut->size : sum));
    return false;
}

/* ---- outputs ---- */

/* The shape of the whole tensor as Gantry's three dimensions. */
static gantry_shape_t three_dims(const cut_t *cut) {
    gantry_shape_t shape = GANTRY_SHAPE(1, cut->size, 1);
    for (int i = 0; i < TF_NumDims(cut->tensor); ++i) {
        if (i != cut->axis) shape.dims[i < cut->axis ? 0 : 2] *= TF_Dim(cut->tensor, i);
    }
    return shape;
}

static void set_outputs(const cut_t *cut) {
    bridge_call_t *call = cut->call;
    int64_t dims[BRIDGE_MOST_DIMS], begin[3] = {0};
    gantry_shape_t part = three_dims(cut);
    const gantry_tensor_t *x = bridge_input_as(call, cut->input, cut->tensor, &part);
    int rank = 0, at = 0;
    for (int i = 0; i < TF_NumDims(cut->tensor); ++i) {
        if (i == cut->axis) at = rank;
        if (i != cut->axis || !cut->is_unpacked) dims[rank++] = TF_Dim(cut->tensor, i);
    }
    for (int i = 0; i < cut->count && !bridge_has_failed(call); ++i) {
        part.dims[1] = op_many_split_size_of(cut, i);
        if (!cut->is_unpacked) dims[at] = part.dims[1];
        bridge_output_as(call, i, gantry_slice(call->scope, x, begin, part.dims), dims, rank);
        begin[1] += part.dims[1];
    }
}

/* Writes the dimensions as text, "[2,3]". */
static void write_dims(const TF_Tensor *tensor, char *out, size_t bytes) {
    size_t used = 0;
    for (int i = 0; i < TF_NumDims(tensor) && used < bytes; ++i)
        used += (size_t)snprintf(out + used, bytes - used, "%s%lld", i ? "," : "[",
                                 (long long)TF_Dim(tensor, i));
    if (used < bytes) (void)snprintf(out + used, bytes - used, "]");
}

void op_many_unpack(bridge_call_t *call, int64_t axis, int count) {
    cut_t cut = {.call = call, .count = count, .is_unpacked = true};
    if (!take_tensor(&cut, 0)) return;
    if (!set_axis(&cut, axis)) {
        const int rank = TF_NumDims(cut.tensor);
        bridge_fail(call, GANTRY_INVALID_ARGUMENT, "Unpack: axis = %lld not in [%d, %d)",
                    (long long)axis, -rank, rank);
        return;
    }
    if (cut.size != count) {
        char text[256];
        write_dims(cut.tensor, text, sizeof text);
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "Unpack: Input shape axis %d must equal %d, got shape %s", cut.axis, count,
                    text);
        return;
    }
    set_outputs(&cut);
}

void op_many_split(bridge_call_t *call, int count) {
    cut_t cut = {.call = call, .count = count};
    if (!take_tensor(&cut, 1) || !take_split_dim(&cut, "Split", 0)) return;
    if (cut.size % count) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "Split: Number of ways to split should evenly divide the split dimension, but "
                    "got split_dim %d (size = %lld) and num_split %d",
                    cut.axis, (long long)cut.size, count);
        return;
    }
    set_outputs(&cut);
}

void op_many_split_v(bridge_call_t *call, int count) {
    cut_t cut = {.call = call, .count = count};
    if (!take_tensor(&cut, 0) || !take_sizes(&cut, 1) || !take_split_dim(&cut, "SplitV", 2)) return;
    if (op_many_split_check_sizes(&cut)) set_outputs(&cut);
}
