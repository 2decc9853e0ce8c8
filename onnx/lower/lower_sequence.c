/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals, as lists that are known while the model is lowered. */
#include <string.h>

#include "onnx/lower/list.h"
#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

/* ---- making ---- */

gantry_status_t gantry__onnx_lower_sequence_construct(gantry__onnx_call_t *call) {
    for (size_t i = 0; i < call->input_count; ++i) {
        if (!call->inputs[i])
            return gantry__onnx_unsupported(call, "a sequence of sequences, or of nothing");
    }
    return gantry__onnx_set_list(call, 0, call->inputs, call->input_count, false);
}

gantry_status_t gantry__onnx_lower_sequence_empty(gantry__onnx_call_t *call) {
    return gantry__onnx_set_list(call, 0, NULL, 0, false);
}

/* The sizes of a SplitToSequence's parts. */
static gantry_status_t sequence_parts(gantry__onnx_call_t *call, int64_t size,
                                      const int64_t **out_parts, size_t *out_count) {
    const int64_t *given;
    size_t given_count;
    GANTRY__TRY(gantry__onnx_get_ints(call, 1, "split", &given, &given_count));
    *out_parts = given;
    *out_count = given_count;
    if (given && gantry_tensor_shape(gantry__onnx_input(call, 1))->rank > 0) return GANTRY_OK;
    int64_t part = given && given_count > 0 ? given[0] : 1;
    if (part < 1 || size < 0)
        return gantry__onnx_invalid(call, "parts of %lld of %lld elements", (long long)part,
                                    (long long)size);
    if (part > size) part = size > 0 ? size : 1;
    *out_count = (size_t)((size + part - 1) / part);
    int64_t *parts = gantry__onnx_scratch(call, *out_count, sizeof *parts);
    if (!parts) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < *out_count; ++i)
        parts[i] = i + 1 < *out_count ? part : size - (int64_t)i * part;
    *out_parts = parts;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_split_to_sequence(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const bool squeezes =
        !gantry__onnx_input(call, 1) && gantry__onnx_attr_int(call, "keepdims", 1) == 0;
    const int64_t *parts;
    size_t count;
    int64_t axis, begin[GANTRY_MAX_RANK] = {0}, size[GANTRY_MAX_RANK], sum = 0;
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", 0),
                                  (uint32_t)shape->rank, &axis));
    if (shape->dims[axis] < 0) GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(sequence_parts(call, shape->dims[axis], &parts, &count));
    tensor **items = gantry__onnx_scratch(call, count, sizeof *items);
    if (!items) return GANTRY_RESOURCE_EXHAUSTED;
    for (int32_t i = 0; i < shape->rank; ++i) size[i] = -1;
    for (size_t i = 0; i < count; ++i) {
        if (parts[i] < 0 || parts[i] > shape->dims[axis] - sum)
            return gantry__onnx_invalid(call, "a part of %lld elements, of which %lld are left",
                                        (long long)parts[i], (long long)(shape->dims[axis] - sum));
        begin[axis] = sum;
        size[axis] = parts[i];
        sum += parts[i];
        items[i] = gantry_slice(call->scope, x, begin, size);
        if (squeezes)
            items[i] = gantry_squeeze(call->scope, items[i], (const int32_t[]){(int32_t)axis}, 1);
    }
    if (sum != shape->dims[axis])
        return gantry__onnx_invalid(call, "parts of %lld elements together, of a size of %lld",
                                    (long long)sum, (long long)shape->dims[axis]);
    return gantry__onnx_set_list(call, 0, items, count, false);
}

/* ---- taking and changing ---- */

/* A position in a list of `count` items, which may count from the end. */
static gantry_status_t list_position(gantry__onnx_call_t *call, size_t input, size_t count,
                                     int64_t fallback, size_t *out_position) {
    int64_t position;
    GANTRY__TRY(gantry__onnx_get_int(call, input, "position", fallback, &position));
    if (position < -(int64_t)count || position >= (int64_t)count)
        return gantry__onnx_invalid(call, "position %lld of %zu", (long long)position, count);
    *out_position = (size_t)(position < 0 ? position + (int64_t)count : position);
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_sequence_at(gantry__onnx_call_t *call) {
    const gantry__onnx_list_t *list;
    size_t position;
    GANTRY__TRY(gantry__onnx_need_list(call, 0, &list));
    GANTRY__TRY(list_position(call, 1, list->count, 0, &position));
    return gantry__onnx_give(call, list->items[position]);
}

gantry_status_t gantry__onnx_lower_sequence_length(gantry__onnx_call_t *call) {
    const gantry__onnx_list_t *list;
    GANTRY__TRY(gantry__onnx_need_list(call, 0, &list));
    return gantry__onnx_give(call,
                             gantry__onnx_make_scalar(call, GANTRY_INT64, (double)list->count));
}

gantry_status_t gantry__onnx_lower_sequence_insert(gantry__onnx_call_t *call) {
    const gantry__onnx_list_t *list;
    tensor *x = gantry__onnx_input(call, 1);
    size_t position;
    GANTRY__TRY(gantry__onnx_need_list(call, 0, &list));
    int64_t given;
    GANTRY__TRY(gantry__onnx_get_int(call, 2, "position", (int64_t)list->count, &given));
    if (given < -(int64_t)list->count || given > (int64_t)list->count || !x)
        return gantry__onnx_invalid(call, "position %lld of %zu", (long long)given, list->count);
    position = (size_t)(given < 0 ? given + (int64_t)list->count : given);
    tensor **items = gantry__onnx_scratch(call, list->count + 1, sizeof *items);
    if (!items) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i <= list->count; ++i)
        items[i] = i == position ? x : list->items[i > position ? i - 1 : i];
    return gantry__onnx_set_list(call, 0, items, list->count + 1, false);
}

gantry_status_t gantry__onnx_lower_sequence_erase(gantry__onnx_call_t *call) {
    const gantry__onnx_list_t *list;
    size_t position;
    GANTRY__TRY(gantry__onnx_need_list(call, 0, &list));
    GANTRY__TRY(list_position(call, 1, list->count, -1, &position));
    tensor **items = gantry__onnx_scratch(call, list->count, sizeof *items);
    if (!items) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i + 1 < list->count; ++i) items[i] = list->items[i < position ? i : i + 1];
    return gantry__onnx_set_list(call, 0, items, list->count - 1, false);
}

gantry_status_t gantry__onnx_lower_concat_from_sequence(gantry__onnx_call_t *call) {
    const gantry__onnx_list_t *list;
    const bool is_new = gantry__onnx_attr_int(call, "new_axis", 0) != 0;
    int64_t axis;
    GANTRY__TRY(gantry__onnx_need_list(call, 0, &list));
    if (list->count == 0) return gantry__onnx_invalid(call, "a sequence without tensors");
    const int32_t rank = gantry_tensor_shape(list->items[0])->rank + (is_new ? 1 : 0);
    GANTRY__TRY(
        gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", 0), (uint32_t)rank, &axis));
    tensor **items = gantry__onnx_scratch(call, list->count, sizeof *items);
    if (!items) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < list->count; ++i)
        items[i] = is_new ? gantry_expand_dims(call->scope, list->items[i], (int32_t)axis)
                          : list->items[i];
    return gantry__onnx_give(call, gantry__onnx_concat(call, items, list->count, (int32_t)axis));
}

/* ---- SequenceMap ---- */

/* The inputs of the body for item k: an item of each sequence, and each tensor as it is. */
static gantry_status_t map_inputs(gantry__onnx_call_t *call, size_t k, size_t count,
                                  tensor **inputs) {
    for (size_t i = 0; i < call->input_count; ++i) {
        const gantry__onnx_list_t *list = gantry__onnx_input_list(call, i);
        if (list && list->count != count)
            return gantry__onnx_invalid(call, "sequences of %zu and of %zu tensors", count,
                                        list->count);
        inputs[i] = list ? list->items[k] : call->inputs[i];
    }
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_sequence_map(gantry__onnx_call_t *call) {
    const gantry__onnx_graph_t *body = gantry__onnx_attr_graph(call, "body");
    const gantry__onnx_list_t *list;
    GANTRY__TRY(gantry__onnx_need_list(call, 0, &list));
    if (!body || body->input_count != call->input_count || body->output_count != call->output_count)
        return gantry__onnx_invalid(call, "a body with other inputs and outputs than the node's");
    const size_t count = list->count, outputs = call->output_count;
    tensor **inputs = gantry__onnx_scratch(call, call->input_count, sizeof *inputs);
    tensor **results = gantry__onnx_scratch(call, outputs, sizeof *results);
    tensor **items = gantry__onnx_scratch(call, outputs * count, sizeof *items);
    if (!inputs || !results || !items) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < count; ++k) {
        GANTRY__TRY(map_inputs(call, k, count, inputs));
        GANTRY__TRY(gantry__onnx_lower_subgraph(call, call->scope, body, inputs, results));
        for (size_t i = 0; i < outputs; ++i) items[i * count + k] = results[i];
    }
    for (size_t i = 0; i < outputs; ++i)
        GANTRY__TRY(gantry__onnx_set_list(call, i, items + i * count, count, false));
    return GANTRY_OK;
}

/* ---- optionals: a list of its tensors, or of nothing ---- */

gantry_status_t gantry__onnx_lower_optional(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry__onnx_list_t *list = gantry__onnx_input_list(call, 0);
    if (x) return gantry__onnx_give(call, x);
    return gantry__onnx_set_list(call, 0, list ? list->items : NULL, list ? list->count : 0, !list);
}

gantry_status_t gantry__onnx_lower_optional_has_element(gantry__onnx_call_t *call) {
    const gantry__onnx_list_t *list = gantry__onnx_input_list(call, 0);
    const bool has = gantry__onnx_input(call, 0) || (list && !list->is_absent);
    return gantry__onnx_give(call, gantry__onnx_make_scalar(call, GANTRY_BOOL, has ? 1 : 0));
}

gantry_status_t gantry__onnx_lower_optional_get_element(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry__onnx_list_t *list;
    if (x) return gantry__onnx_give(call, x);
    GANTRY__TRY(gantry__onnx_need_list(call, 0, &list));
    if (list->is_absent) return gantry__onnx_invalid(call, "the optional has no value");
    return gantry__onnx_set_list(call, 0, list->items, list->count, false);
}
