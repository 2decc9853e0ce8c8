/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of Sort, ArgSort, SortByKeys, TopK, InTopK, LowerBound, UpperBound. */
#include <inttypes.h>

#include "op/op_infer.h"
#include "ops/type_rows.h"

/* Checks the attributes `axis` and `order` of a sort of elements of this shape. *out_axis counts
 * from the first one. */
static gantry_status_t read_axis_and_order(const gantry__infer_t *call,
                                           const gantry_shape_t *values, int64_t *out_axis) {
    static const char *const orders[] = {"NUMERIC", "TOTAL"};
    const int64_t axis = call->given == 0 ? -1 : gantry__infer_attr(call, "axis")->i;
    size_t order;
    *out_axis = axis < 0 ? axis + values->rank : axis;
    if (axis < -values->rank || axis >= values->rank) {
        return gantry__refuse("axis %" PRId64 " is out of range [%d, %d) of shape %s", axis,
                              -(int)values->rank, (int)values->rank,
                              gantry__shape_text(values).text);
    }
    if (call->given == 0) return GANTRY_OK; /* the order is the default */
    return gantry__infer_choice(call, "order", orders, 2, &order);
}

gantry_status_t gantry__infer_sort(gantry__infer_t *call) {
    const gantry_shape_t *values = call->shapes[0];
    const char *direction = gantry__infer_attr(call, "direction")->s;
    int64_t axis;
    GANTRY__TRY(read_axis_and_order(call, values, &axis));
    if (strcmp(direction, "ASCENDING") != 0 && strcmp(direction, "DESCENDING") != 0) {
        return gantry__refuse(
            "Argument `direction` should be one of ASCENDING, DESCENDING. Received: direction=%s",
            direction);
    }
    call->out_shapes[0] = *values;
    return GANTRY_OK;
}

/* One number for each key: whether it is descending. */
static gantry_status_t check_directions(const gantry__infer_t *call, int64_t keys) {
    const gantry_attr_t *descending = gantry__infer_attr(call, "descending");
    bool is_right = descending->i == 0 || descending->i == keys;
    for (int64_t i = 0; is_right && i < descending->i; ++i)
        is_right = descending->list[i] == 0 || descending->list[i] == 1;
    if (is_right) return GANTRY_OK;
    return gantry__refuse(
        "attribute 'descending' must have a number, 0 or 1, for each of num_keys = %" PRId64
        " keys, or none",
        keys);
}

gantry_status_t gantry__infer_sort_by_keys(gantry__infer_t *call) {
    const int64_t keys = gantry__infer_attr(call, "num_keys")->i;
    int64_t axis;
    if (keys < 1 || keys > call->input_count) {
        return gantry__refuse("num_keys is %" PRId64
                              "; 1 to %u, the number of operands, is accepted",
                              keys, (unsigned)call->input_count);
    }
    for (uint32_t i = 0; i < call->input_count; ++i) {
        if (i < keys && !GANTRY__TYPE_IS(call->dtypes[i], CONVERTED)) {
            return gantry__refuse("operand %u is a key of type %s; keys are %s", (unsigned)i,
                                  gantry_dtype_name(call->dtypes[i]),
                                  gantry__type_mask_text(GANTRY_MASK_CONVERTED).text);
        }
        call->out_shapes[i] = *call->shapes[keys - 1]; /* the last key is sorted first */
        call->out_dtypes[i] = call->dtypes[i];
        if (gantry__shapes_fit(call->shapes[i], call->shapes[0])) continue;
        return gantry__refuse("operand %u has shape %s, and operand 0 has %s; they must be equal",
                              (unsigned)i, gantry__shape_text(call->shapes[i]).text,
                              gantry__shape_text(call->shapes[0]).text);
    }
    GANTRY__TRY(read_axis_and_order(call, &call->out_shapes[0], &axis));
    return check_directions(call, keys);
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
    int64_t k, at;
    bool is_open;
    GANTRY__TRY(read_k(call, 1, "scalar", &k, &is_open));
    if (k < 0) return gantry__refuse("Need k >= 0, got %" PRId64, k);
    if (input->rank < 1) {
        return gantry__refuse("input must be >= 1-D, got shape %s", gantry__shape_text(input).text);
    }
    GANTRY__TRY(read_axis_and_order(call, input, &at));
    if (input->dims[at] < k && input->dims[at] >= 0) {
        return gantry__refuse("input must have at least k %s. Had %" PRId64 ", needed %" PRId64,
                              at == input->rank - 1 ? "columns" : "elements along the axis",
                              input->dims[at], k);
    }
    GANTRY__TRY(gantry__infer_reach(call, "index_type", input->dims[at] - 1));
    call->out_shapes[0] = *input;
    call->out_shapes[0].dims[at] = is_open ? -1 : k;
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
