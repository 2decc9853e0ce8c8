/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of Sort, ArgSort, TopK, InTopK, LowerBound, UpperBound. */
#include <inttypes.h>

#include "op/op_infer.h"

gantry_status_t gantry__infer_sort(gantry__infer_t *call) {
    const gantry_shape_t *values = call->shapes[0];
    const int64_t axis = gantry__infer_attr(call, "axis")->i;
    const char *direction = gantry__infer_attr(call, "direction")->s;
    if (axis < -values->rank || axis >= values->rank) {
        return gantry__refuse("axis %" PRId64 " is out of range [%d, %d) of shape %s", axis,
                              -(int)values->rank, (int)values->rank,
                              gantry__shape_text(values).text);
    }
    if (strcmp(direction, "ASCENDING") != 0 && strcmp(direction, "DESCENDING") != 0) {
        return gantry__refuse(
            "Argument `direction` should be one of ASCENDING, DESCENDING. Received: direction=%s",
            direction);
    }
    call->out_shapes[0] = *values;
    return GANTRY_OK;
}

/* Reads k from a scalar. */
static gantry_status_t read_k(gantry__infer_t *call, uint32_t input, const char *rank_text,
                              int64_t *out_k, bool *out_is_open) {
    if (call->shapes[input]->rank != 0) {
        return gantry__refuse("k must be %s, got shape %s", rank_text,
                              gantry__shape_text(call->shapes[input]).text);
    }
    return gantry__infer_int_or_open(call, input, out_k, out_is_open);
}

gantry_status_t gantry__infer_top_k(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    int64_t k;
    bool is_open;
    GANTRY__TRY(read_k(call, 1, "scalar", &k, &is_open));
    if (k < 0) return gantry__refuse("Need k >= 0, got %" PRId64, k);
    if (input->rank < 1) {
        return gantry__refuse("input must be >= 1-D, got shape %s", gantry__shape_text(input).text);
    }
    if (input->dims[input->rank - 1] < k && input->dims[input->rank - 1] >= 0) {
        return gantry__refuse("input must have at least k columns. Had %" PRId64
                              ", needed %" PRId64,
                              input->dims[input->rank - 1], k);
    }
    GANTRY__TRY(gantry__infer_reach(call, "index_type", input->dims[input->rank - 1] - 1));
    call->out_shapes[0] = *input;
    call->out_shapes[0].dims[input->rank - 1] = is_open ? -1 : k;
    call->out_shapes[1] = call->out_shapes[0];
    return GANTRY_OK;
}

gantry_status_t gantry__infer_in_top_k(gantry__infer_t *call) {
    const gantry_shape_t *predictions = call->shapes[0], *targets = call->shapes[1];
    int64_t k;
    bool is_open;
    if (predictions->rank != 2) return gantry__refuse("predictions must be 2-dimensional");
    if (targets->rank != 1) return gantry__refuse("targets must be 1-dimensional");
    call->out_shapes[0] = *targets;
    if (!gantry__merge_sizes(&call->out_shapes[0].dims[0], predictions->dims[0])) {
        return gantry__refuse("First dimension of predictions %" PRId64
                              " must match length of targets %" PRId64,
                              predictions->dims[0], targets->dims[0]);
    }
    return read_k(call, 2, "0-D", &k, &is_open);
}

gantry_status_t gantry__infer_bound(gantry__infer_t *call) {
    for (uint32_t i = 0; i < 2; ++i) {
        if (call->shapes[i]->rank == 2) continue;
        return gantry__refuse("Shape must be rank 2 but is rank %d for `%s` argument",
                              (int)call->shapes[i]->rank, call->op->inputs[i].name);
    }
    call->out_shapes[0] = *call->shapes[1];
    if (!gantry__merge_sizes(&call->out_shapes[0].dims[0], call->shapes[0]->dims[0])) {
        return gantry__refuse("Leading dim_size of both tensors must match.");
    }
    /* the position after the last, too */
    return gantry__infer_reach(call, "out_type", call->shapes[0]->dims[1]);
}
