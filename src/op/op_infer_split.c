/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of ops that stack and cut tensors: Pack, Unpack, Split, SplitV. */
#include "op/op_infer.h"

/* ---- Pack, Unpack ---- */

/* The attribute axis, counted from the front, among rank dimensions. */
static gantry_status_t read_axis(const gantry__infer_t *call, int32_t rank, int32_t *out_axis) {
    int64_t axis = gantry__infer_attr(call, "axis")->i;
    if (axis < -rank || axis >= rank) {
        return gantry__refuse("axis = %lld not in [%d, %d)", (long long)axis, -(int)rank,
                              (int)rank);
    }
    *out_axis = (int32_t)axis + (axis < 0 ? rank : 0);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_pack(gantry__infer_t *call) {
    const gantry_shape_t *first = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0], each = *first;
    int32_t axis = 0;
    for (uint32_t i = 1; i < call->input_count; ++i) {
        if (gantry__merge_shapes(&each, call->shapes[i])) continue;
        return gantry__refuse(
            "Shapes of all inputs must match: values[0].shape = %s != values[%u].shape = %s",
            gantry__shape_text(first).text, (unsigned)i, gantry__shape_text(call->shapes[i]).text);
    }
    GANTRY__TRY(read_axis(call, first->rank + 1, &axis));
    GANTRY__TRY(gantry__infer_rank_fits((int64_t)first->rank + 1));
    out->rank = first->rank + 1;
    for (int32_t i = 0; i < out->rank; ++i) {
        out->dims[i] = i < axis    ? each.dims[i]
                       : i == axis ? (int64_t)call->input_count
                                   : each.dims[i - 1];
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_unpack(gantry__infer_t *call) {
    const gantry_shape_t *value = call->shapes[0];
    int32_t axis = 0;
    GANTRY__TRY(read_axis(call, value->rank, &axis));
    if (!gantry__sizes_fit(value->dims[axis], call->output_count)) {
        return gantry__refuse("Input shape axis %d must equal %u, got shape %s", (int)axis,
                              (unsigned)call->output_count, gantry__shape_text(value).text);
    }
    for (uint32_t k = 0; k < call->output_count; ++k) {
        gantry_shape_t *out = &call->out_shapes[k];
        out->rank = 0;
        for (int32_t i = 0; i < value->rank; ++i) {
            if (i != axis) out->dims[out->rank++] = value->dims[i];
        }
    }
    return GANTRY_OK;
}

/* ---- Split, SplitV ---- */

/* The host input split_dim, counted from the front; -1: it is not known. */
static gantry_status_t read_split_dim(gantry__infer_t *call, uint32_t input,
                                      const gantry_shape_t *value, int32_t *out_dim) {
    int64_t dim = 0;
    bool is_open;
    GANTRY__TRY(gantry__infer_int_or_open(call, input, &dim, &is_open));
    *out_dim = -1;
    if (is_open) return GANTRY_OK;
    if (dim < -value->rank || dim >= value->rank) {
        return gantry__refuse("-input rank(-%d) <= split_dim < input rank (%d), but got %lld",
                              (int)value->rank, (int)value->rank, (long long)dim);
    }
    *out_dim = (int32_t)dim + (dim < 0 ? value->rank : 0);
    return GANTRY_OK;
}

/* Results of a split along a dimension that is not known. */
static gantry_status_t split_unknown(gantry__infer_t *call, const gantry_shape_t *value) {
    for (uint32_t k = 0; k < call->output_count; ++k)
        call->out_shapes[k] = gantry__shape_open(value->rank);
    return GANTRY_OK;
}

static gantry_status_t check_any_output(const gantry__infer_t *call) {
    if (call->output_count > 0) return GANTRY_OK;
    return gantry__refuse("Value for attr 'num_split' of 0 must be at least minimum 1");
}

gantry_status_t gantry__infer_split(gantry__infer_t *call) {
    const gantry_shape_t *value = call->shapes[1];
    int32_t dim = 0;
    GANTRY__TRY(check_any_output(call));
    if (call->shapes[0]->rank != 0) {
        return gantry__refuse("split_dim must be a scalar but has rank %d",
                              (int)call->shapes[0]->rank);
    }
    GANTRY__TRY(read_split_dim(call, 0, value, &dim));
    if (dim < 0) return split_unknown(call, value);
    if (value->dims[dim] >= 0 && value->dims[dim] % (int64_t)call->output_count != 0) {
        return gantry__refuse(
            "Number of ways to split should evenly divide the split dimension, but got split_dim %d (size = %lld) and num_split %u",
            (int)dim, (long long)value->dims[dim], (unsigned)call->output_count);
    }
    for (uint32_t k = 0; k < call->output_count; ++k) {
        call->out_shapes[k] = *value;
        call->out_shapes[k].dims[dim] =
            gantry__size_divide(value->dims[dim], (int64_t)call->output_count);
    }
    return GANTRY_OK;
}

/* The index of -1, or output_count if there is none; *out_sum is the sum of the other sizes, at
 * most INT64_MAX + 1. */
static gantry_status_t read_sizes(const gantry__infer_t *call, const gantry__host_ints_t *sizes,
                                  uint32_t *out_rest, uint64_t *out_sum) {
    *out_rest = call->output_count;
    *out_sum = 0;
    for (uint32_t k = 0; k < call->output_count; ++k) {
        int64_t size = gantry__host_int(sizes, k);
        if (size == -1 && *out_rest < call->output_count) {
            return gantry__refuse("There can only be one -1 in the input.");
        }
        if (size < -1) {
            return gantry__refuse("Split size at index %u must be >= 0. Got: %lld", (unsigned)k,
                                  (long long)size);
        }
        if (size == -1) {
            *out_rest = k;
        } else {
            const uint64_t left = (uint64_t)INT64_MAX + 1 - *out_sum;
            *out_sum += (uint64_t)size < left ? (uint64_t)size : left;
        }
    }
    return GANTRY_OK;
}

static gantry_status_t check_sizes_shape(const gantry__infer_t *call) {
    const gantry_shape_t *sizes = call->shapes[1];
    int64_t count = gantry_shape_elements(sizes);
    if (sizes->rank == 1 && gantry__sizes_fit(count, call->output_count)) return GANTRY_OK;
    return gantry__refuse(
        "size of the split_tensor must be 1-D and have the same elements as outputs got %d -D and %lld elements",
        (int)sizes->rank, (long long)count);
}

static gantry_status_t check_sum(const gantry__infer_t *call, const gantry__host_ints_t *sizes,
                                 int64_t whole, bool has_rest, uint64_t sum) {
    if (call->output_count == 1 && gantry__host_int(sizes, 0) != whole) {
        return gantry__refuse(
            "If there is only one output, it must have the same size as the input. Input size: %lld output size: %lld",
            (long long)whole, (long long)gantry__host_int(sizes, 0));
    }
    if (has_rest ? sum <= (uint64_t)whole : sum == (uint64_t)whole) return GANTRY_OK;
    const bool is_more = sum > INT64_MAX;
    return gantry__refuse(
        "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than the size of the input along split_dim if not fully specified.  Got: %s%lld",
        is_more ? "more than " : "", is_more ? (long long)INT64_MAX : (long long)sum);
}

gantry_status_t gantry__infer_split_v(gantry__infer_t *call) {
    const gantry_shape_t *value = call->shapes[0];
    gantry__host_ints_t sizes;
    int32_t dim = 0;
    uint32_t rest;
    uint64_t sum;
    GANTRY__TRY(check_any_output(call));
    GANTRY__TRY(check_sizes_shape(call));
    GANTRY__TRY(read_split_dim(call, 2, value, &dim));
    const bool is_open = gantry__infer_is_open(call, 1);
    if (dim < 0) return split_unknown(call, value);
    for (uint32_t k = 0; k < call->output_count; ++k) {
        call->out_shapes[k] = *value;
        call->out_shapes[k].dims[dim] = -1;
    }
    if (is_open) return GANTRY_OK;
    GANTRY__TRY(gantry__infer_ints(call, 1, &sizes));
    const int64_t whole = value->dims[dim];
    GANTRY__TRY(read_sizes(call, &sizes, &rest, &sum));
    if (whole >= 0) GANTRY__TRY(check_sum(call, &sizes, whole, rest < call->output_count, sum));
    for (uint32_t k = 0; k < call->output_count; ++k)
        call->out_shapes[k].dims[dim] = k != rest   ? gantry__host_int(&sizes, k)
                                        : whole < 0 ? -1
                                                    : whole - (int64_t)sum;
    return GANTRY_OK;
}
