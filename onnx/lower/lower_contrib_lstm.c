/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLSTM: an LSTM whose weights are bytes. Each product rounds its left side, which is
 * all inputs or the states of a step, to bytes by its extremes, as DynamicQuantizeLinear does, and
 * is exact in integers. */
#include <gantry/ops.h>

#include "onnx/lower/lower_quantize.h"
#include "onnx/lower/lower_recurrent.h"

/* Where the inputs of scales and zero points begin: of W, then of R. */
#define FIRST_SCALE 8

static const gantry_tensor_t *first_bytes(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                          const gantry_tensor_t *input) {
    (void)call;
    return gantry__onnx_row_of(scope, input, 0);
}

static const gantry_tensor_t *second_bytes(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                           const gantry_tensor_t *input) {
    (void)call;
    return gantry__onnx_row_of(scope, input, 1);
}

/* Checks W and R, [directions, ..., 4 * units], and sets units. */
static gantry_status_t check_quantized_weights(gantry__onnx_recurrent_t *node) {
    gantry__onnx_call_t *call = node->call;
    const gantry_shape_t *r = gantry_tensor_shape(gantry__onnx_input(call, 2));
    const int64_t directions = (int64_t)node->direction_count, units = r->dims[1];
    node->units = units;
    for (size_t i = 1; i < 3; ++i) {
        const gantry_tensor_t *weights = gantry__onnx_input(call, i);
        const gantry_shape_t *shape = gantry_tensor_shape(weights);
        GANTRY__TRY(gantry__onnx_need_shape(call, weights));
        if (shape->rank != 3 || shape->dims[0] != directions || shape->dims[2] != 4 * units)
            return gantry__onnx_invalid(call, "%s is not of the shape [%lld, %s, %lld]",
                                        i == 1 ? "W" : "R", (long long)directions,
                                        i == 1 ? "inputs" : "units", (long long)(4 * units));
    }
    return GANTRY_OK;
}

/* Scales and zero points are known, and have a number, or a row of them, for each direction. */
static gantry_status_t check_weight_scales(gantry__onnx_call_t *call, size_t directions) {
    for (size_t i = FIRST_SCALE; i < FIRST_SCALE + 4; ++i) {
        const gantry_tensor_t *x = gantry__onnx_input(call, i);
        const gantry_shape_t *shape = gantry_tensor_shape(x);
        if (!x) continue;
        if (!gantry__onnx_is_known(call, x))
            return gantry__onnx_unsupported(call, "scales of weights that are not constant");
        if (shape->rank < 1 || shape->rank > 2 || shape->dims[0] != (int64_t)directions)
            return gantry__onnx_invalid(
                call,
                "input %zu of weights of rank %d; a number or a row for each of %zu "
                "directions is accepted",
                i, shape->rank, directions);
    }
    return GANTRY_OK;
}

/* The weights of a direction. which: 0 for W, 1 for R. */
static gantry__onnx_weights_t take_byte_weights(gantry__onnx_call_t *call, size_t which,
                                                size_t direction) {
    const gantry_tensor_t *scale = gantry__onnx_input(call, FIRST_SCALE + 2 * which);
    const gantry_tensor_t *zero = gantry__onnx_input(call, FIRST_SCALE + 2 * which + 1);
    const int64_t row = (int64_t)direction;
    return (gantry__onnx_weights_t){
        .values = gantry__onnx_prepared(call, 1 + which, (uint32_t)direction,
                                        direction ? second_bytes : first_bytes),
        .scale = gantry__onnx_row_of(call->host, scale, row),
        .zero = zero ? gantry__onnx_row_of(call->host, zero, row) : NULL};
}

gantry_status_t gantry__onnx_lower_dynamic_quantize_lstm(gantry__onnx_call_t *call) {
    gantry__onnx_recurrent_t node;
    for (size_t i = FIRST_SCALE; i < FIRST_SCALE + 4; i += 2)
        if (!gantry__onnx_input(call, i))
            return gantry__onnx_invalid(call, "input %zu, a scale of weights, is missing", i);
    GANTRY__TRY(gantry__onnx_read_recurrent(call, GANTRY__ONNX_LSTM, 4, &node));
    GANTRY__TRY(check_weight_scales(call, node.direction_count));
    GANTRY__TRY(check_quantized_weights(&node));
    GANTRY__TRY(gantry__onnx_take_states(&node, 5));
    for (size_t i = 0; i < node.direction_count; ++i) {
        node.directions[i].weights = take_byte_weights(call, 0, i);
        node.directions[i].recurrent = take_byte_weights(call, 1, i);
    }
    GANTRY__TRY(gantry_scope_status(call->host));
    GANTRY__TRY(
        gantry__onnx_take_biases(&node, gantry__onnx_input(call, 3), gantry__onnx_input(call, 7)));
    return gantry__onnx_run_recurrent(&node);
}
