/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of ops that use indices: GatherNd, ScatterNd, the TensorScatter ops, segments,
 * Bincount. */
#include <inttypes.h>

#include "op/op_infer.h"
#include "ops/type_rows.h"

/* ---- rows of indices ---- */

static gantry_status_t check_policy(const gantry__infer_t *call) {
    static const char *const accepted[] = {"", "DEFAULT", "ERROR", "IGNORE"};
    if (call->given == 0) return GANTRY_OK; /* the default */
    const char *policy = gantry__infer_attr(call, "bad_indices_policy")->s;
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; ++i) {
        if (strcmp(policy, accepted[i]) == 0) return GANTRY_OK;
    }
    return gantry__refuse(
        "Bad indices policy '%s' is unknown; DEFAULT, ERROR and IGNORE are accepted", policy);
}

/* The first dimensions, which params and indices share; they become those of the result. */
static gantry_status_t read_shared_dims(const gantry__infer_t *call, int64_t *out_batch) {
    const gantry_shape_t *params = call->shapes[0], *indices = call->shapes[1];
    const int64_t batch = gantry__infer_attr(call, "batch_dims")->i;
    const int32_t least = params->rank < indices->rank ? params->rank : indices->rank;
    if (batch < 0 || batch >= least) {
        return gantry__refuse("batch_dims is %" PRId64 "; 0 to %d are accepted", batch,
                              (int)least - 1);
    }
    bool fits = true;
    for (int64_t d = 0; d < batch; ++d)
        fits = fits && gantry__sizes_fit(params->dims[d], indices->dims[d]);
    *out_batch = batch;
    if (fits) return GANTRY_OK;
    return gantry__refuse("the first %" PRId64
                          " dimensions of params[shape=%s] and indices[shape=%s] must be equal",
                          batch, gantry__shape_text(params).text, gantry__shape_text(indices).text);
}

gantry_status_t gantry__infer_gather_nd(gantry__infer_t *call) {
    const gantry_shape_t *params = call->shapes[0], *indices = call->shapes[1];
    gantry_shape_t *out = &call->out_shapes[0];
    int64_t batch = 0;
    GANTRY__TRY(check_policy(call));
    if (params->rank < 1) return gantry__refuse("params must be at least a vector");
    if (indices->rank < 1) return gantry__refuse("indices must be at least a vector");
    if (call->given != 0) GANTRY__TRY(read_shared_dims(call, &batch));
    int64_t depth = indices->dims[indices->rank - 1];
    if (depth < 0) return gantry__fail_open_rank(call, 1);
    depth += batch;
    if (depth > params->rank) {
        return gantry__refuse(
            "index innermost dimension length must be <= params rank; saw: %" PRId64
            " vs. %" PRId64,
            depth - batch, params->rank - batch);
    }
    GANTRY__TRY(gantry__infer_rank_fits((int64_t)indices->rank - 1 + params->rank - depth));
    out->rank = 0;
    for (int32_t d = 0; d < indices->rank - 1; ++d) {
        const int64_t of_params = d < batch ? params->dims[d] : -1;
        out->dims[out->rank++] = indices->dims[d] >= 0 ? indices->dims[d] : of_params;
    }
    const bool has_rows = gantry_shape_elements(out) > 0;
    if (has_rows && gantry_shape_elements(params) == 0) {
        return gantry__refuse(
            "Requested more than 0 entries, but params is empty.  Params shape: %s",
            gantry__shape_text(params).text);
    }
    for (int64_t d = depth; d < params->rank; ++d) out->dims[out->rank++] = params->dims[d];
    return GANTRY_OK;
}

/* updates = indices[:-1] + output[depth:], which gives open sizes of the output */
static gantry_status_t check_updates(const gantry_shape_t *indices, const gantry_shape_t *updates,
                                     gantry_shape_t *output) {
    const int32_t outer = indices->rank - 1;
    const int64_t depth = indices->dims[outer], inner = output->rank - depth;
    bool fits = updates->rank >= outer;
    for (int32_t d = 0; fits && d < outer; ++d)
        fits = gantry__sizes_fit(indices->dims[d], updates->dims[d]);
    if (!fits) {
        return gantry__refuse(
            "Dimensions [0,%d) of indices[shape=%s] must match dimensions [0,%d) of updates[shape=%s]",
            (int)outer, gantry__shape_text(indices).text, (int)outer,
            gantry__shape_text(updates).text);
    }
    if (depth < 0) return GANTRY_OK;
    fits = inner >= 0 && updates->rank == outer + inner;
    for (int32_t d = 0; fits && d < inner; ++d)
        fits = gantry__merge_sizes(&output->dims[depth + d], updates->dims[outer + d]);
    if (fits) return GANTRY_OK;
    return gantry__refuse(
        "Dimensions [%" PRId64
        ",%d) of output[shape=%s] must match dimensions [%d,%d) of updates[shape=%s]",
        depth, (int)output->rank, gantry__shape_text(output).text, (int)outer, (int)updates->rank,
        gantry__shape_text(updates).text);
}

static gantry_status_t check_scatter(gantry__infer_t *call, const gantry_shape_t *indices,
                                     const gantry_shape_t *updates) {
    gantry_shape_t *output = &call->out_shapes[0];
    GANTRY__TRY(check_policy(call));
    if (indices->rank < 1) {
        return gantry__refuse("Indices shape must have rank at least one. Found:%s",
                              gantry__shape_text(indices).text);
    }
    const bool has_indices = gantry_shape_elements(indices) > 0,
               has_updates = gantry_shape_elements(updates) > 0,
               lacks_indices = gantry_shape_elements(indices) == 0;
    if ((has_indices || has_updates) &&
        (gantry_shape_elements(output) == 0 || (has_updates && lacks_indices))) {
        return gantry__refuse("Indices and updates specified for empty output.  indices shape: %s",
                              gantry__shape_text(indices).text);
    }
    return check_updates(indices, updates, output);
}

static gantry_status_t check_scatter_reduction(const gantry__infer_t *call) {
    static const char *const words[] = {"ADD", "NONE", "MUL", "MAX", "MIN"};
    size_t place;
    if (call->given == 0) return GANTRY_OK;
    return gantry__infer_choice(call, "reduction", words, 5, &place);
}

gantry_status_t gantry__infer_scatter_nd(gantry__infer_t *call) {
    GANTRY__TRY(check_scatter_reduction(call));
    if (call->shapes[2]->rank != 1) return gantry__refuse("Shape must be a vector");
    GANTRY__TRY(gantry__infer_dims(call, 2, false, &call->out_shapes[0]));
    return check_scatter(call, call->shapes[0], call->shapes[1]);
}

gantry_status_t gantry__infer_tensor_scatter(gantry__infer_t *call) {
    call->out_shapes[0] = *call->shapes[0];
    return check_scatter(call, call->shapes[1], call->shapes[2]);
}

/* ---- indices of elements ---- */

static gantry_status_t check_elements(const gantry__infer_t *call) {
    const gantry_shape_t *data = call->shapes[0], *indices = call->shapes[1];
    const int64_t axis = gantry__infer_attr(call, "axis")->i;
    GANTRY__TRY(check_policy(call));
    if (axis < -data->rank || axis >= data->rank) {
        return gantry__refuse("axis %" PRId64 " is out of range [%d, %d) of data's shape %s", axis,
                              -(int)data->rank, (int)data->rank, gantry__shape_text(data).text);
    }
    bool fits = indices->rank == data->rank;
    for (int32_t d = 0; fits && d < data->rank; ++d) {
        fits = d == axis || d == axis + data->rank || data->dims[d] < 0 ||
               indices->dims[d] <= data->dims[d];
    }
    if (!fits) {
        return gantry__refuse("indices must have data's rank, and along other axes than %" PRId64
                              " at most data's sizes; data has shape %s, indices have shape %s",
                              axis, gantry__shape_text(data).text,
                              gantry__shape_text(indices).text);
    }
    if (gantry_shape_elements(data) == 0 && gantry_shape_elements(indices) > 0) {
        return gantry__refuse("data of shape %s has no elements for indices of shape %s",
                              gantry__shape_text(data).text, gantry__shape_text(indices).text);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_gather_elements(gantry__infer_t *call) {
    call->out_shapes[0] = *call->shapes[1];
    return check_elements(call);
}

gantry_status_t gantry__infer_scatter_elements(gantry__infer_t *call) {
    const bool joins = strcmp(gantry__infer_attr(call, "reduction")->s, "NONE") != 0;
    call->out_shapes[0] = *call->shapes[0];
    GANTRY__TRY(check_scatter_reduction(call));
    GANTRY__TRY(check_elements(call));
    if (!gantry__shapes_fit(call->shapes[1], call->shapes[2])) {
        return gantry__refuse("updates of shape %s must have the shape of indices, %s",
                              gantry__shape_text(call->shapes[2]).text,
                              gantry__shape_text(call->shapes[1]).text);
    }
    if (joins && !GANTRY__TYPE_IS(call->dtypes[0], NUMERIC_BOOL)) {
        return gantry__refuse("reduction %s takes no %s; NONE takes every type",
                              gantry__infer_attr(call, "reduction")->s,
                              gantry_dtype_name(call->dtypes[0]));
    }
    return GANTRY_OK;
}

/* ---- segments ---- */

gantry_status_t gantry__infer_segment(gantry__infer_t *call) {
    const gantry_shape_t *data = call->shapes[0], *ids = call->shapes[1];
    if (data->rank < 1) return gantry__refuse("input must be at least rank 1");
    if (ids->rank != 1) return gantry__refuse("segment_ids should be a vector.");
    if (!gantry__sizes_fit(ids->dims[0], data->dims[0])) {
        return gantry__refuse(
            "segment_ids should be the same size as dimension 0 of input. Got %" PRId64
            " and %" PRId64,
            ids->dims[0], data->dims[0]);
    }
    call->out_shapes[0] = *data;
    call->out_shapes[0].dims[0] = -1;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_unsorted_segment(gantry__infer_t *call) {
    const gantry_shape_t *data = call->shapes[0], *ids = call->shapes[1];
    gantry_shape_t *out = &call->out_shapes[0];
    int64_t segments;
    bool fits = data->rank >= ids->rank, is_open;
    if (call->shapes[2]->rank != 0) {
        return gantry__refuse("num_segments should be a scalar, not shape %s",
                              gantry__shape_text(call->shapes[2]).text);
    }
    for (int32_t d = 0; fits && d < ids->rank; ++d)
        fits = gantry__sizes_fit(data->dims[d], ids->dims[d]);
    if (!fits) {
        return gantry__refuse("data.shape = %s does not start with segment_ids.shape = %s",
                              gantry__shape_text(data).text, gantry__shape_text(ids).text);
    }
    GANTRY__TRY(gantry__infer_int_or_open(call, 2, &segments, &is_open));
    if (segments < 0) {
        return gantry__refuse("Input num_segments == %" PRId64 " must not be negative.", segments);
    }
    GANTRY__TRY(gantry__infer_rank_fits((int64_t)data->rank - ids->rank + 1));
    out->rank = 1;
    out->dims[0] = is_open ? -1 : segments;
    for (int32_t d = ids->rank; d < data->rank; ++d) out->dims[out->rank++] = data->dims[d];
    return GANTRY_OK;
}

/* ---- Bincount ---- */

static gantry_status_t infer_index_read_size(gantry__infer_t *call, int64_t *out_size) {
    if (call->shapes[1]->rank != 0) {
        return gantry__refuse("Shape must be rank 0 but is rank %d for `size` argument",
                              (int)call->shapes[1]->rank);
    }
    bool is_open;
    GANTRY__TRY(gantry__infer_int_or_open(call, 1, out_size, &is_open));
    if (is_open) *out_size = -1;
    if (is_open || *out_size >= 0) return GANTRY_OK;
    return gantry__refuse("size (%" PRId64 ") must be non-negative", *out_size);
}

gantry_status_t gantry__infer_bincount(gantry__infer_t *call) {
    const int64_t weights = gantry_shape_elements(call->shapes[2]);
    gantry_shape_t *out = &call->out_shapes[0];
    out->rank = 1;
    GANTRY__TRY(infer_index_read_size(call, &out->dims[0]));
    if (weights == 0 || gantry__sizes_fit(weights, gantry_shape_elements(call->shapes[0])))
        return GANTRY_OK;
    return gantry__refuse("Input indices and weights must have the same size.");
}

gantry_status_t gantry__infer_dense_bincount(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0], *weights = call->shapes[2];
    gantry_shape_t *out = &call->out_shapes[0];
    if (input->rank > 2) {
        return gantry__refuse("Shape must be at most rank 2 but is rank %d", (int)input->rank);
    }
    if (gantry_shape_elements(weights) > 0 && !gantry__shapes_fit(weights, input)) {
        return gantry__refuse(
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights equal to 1. Received %s",
            gantry__shape_text(weights).text);
    }
    out->rank = input->rank == 2 ? 2 : 1;
    out->dims[0] = input->rank == 2 ? input->dims[0] : 0;
    return infer_index_read_size(call, &out->dims[out->rank - 1]);
}

/* ---- results as long as the data says ---- */

gantry_status_t gantry__infer_where(gantry__infer_t *call) {
    if (call->shapes[0]->rank < 1) {
        return gantry__refuse("WhereOp : Unhandled input dimensions: 0");
    }
    call->out_shapes[0] = (gantry_shape_t){.rank = 2, .dims = {-1, call->shapes[0]->rank}};
    return GANTRY_OK;
}

gantry_status_t gantry__infer_unique(gantry__infer_t *call) {
    if (call->shapes[0]->rank != 1) return gantry__refuse("unique expects a 1D vector.");
    /* as a count it reaches the number of all elements */
    GANTRY__TRY(gantry__infer_reach(call, "out_idx", call->shapes[0]->dims[0]));
    for (uint32_t i = 0; i < call->output_count; ++i) {
        call->out_shapes[i] = i == 1 ? *call->shapes[0] : (gantry_shape_t){.rank = 1, .dims = {-1}};
    }
    return GANTRY_OK;
}
