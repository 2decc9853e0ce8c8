/* SPDX-License-Identifier: Apache-2.0 */
/* The rows LSTM, GRU and RNN: their weights, which are made once for a model. */
#include "onnx/lower/lower_recurrent.h"

#include <gantry/ops.h>

/* The weights of a direction, [gates * units, inputs], as the right side of a product. */
static const gantry_tensor_t *turn_weights(gantry_scope_t *scope, const gantry_tensor_t *input,
                                           int64_t direction) {
    const gantry_tensor_t *row = gantry__onnx_row_of(scope, input, direction);
    return row ? gantry_matrix_transpose(scope, row) : NULL;
}

static const gantry_tensor_t *first_weights(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                            const gantry_tensor_t *input) {
    (void)call;
    return turn_weights(scope, input, 0);
}

static const gantry_tensor_t *second_weights(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                             const gantry_tensor_t *input) {
    (void)call;
    return turn_weights(scope, input, 1);
}

/* Checks W and R, [directions, gates * units, ...], and sets units. */
static gantry_status_t check_cell_weights(gantry__onnx_recurrent_t *node) {
    gantry__onnx_call_t *call = node->call;
    const gantry_shape_t *w = gantry_tensor_shape(gantry__onnx_input(call, 1));
    const gantry_shape_t *r = gantry_tensor_shape(gantry__onnx_input(call, 2));
    const int64_t gates = gantry__onnx_gate_count(node->kind);
    const int64_t directions = (int64_t)node->direction_count;
    GANTRY__TRY(gantry__onnx_need_shape(call, gantry__onnx_input(call, 1)));
    GANTRY__TRY(gantry__onnx_need_shape(call, gantry__onnx_input(call, 2)));
    node->units = r->dims[2];
    const int64_t given = gantry__onnx_attr_int(call, "hidden_size", node->units);
    if (given != node->units)
        return gantry__onnx_invalid(call, "hidden_size is %lld, R has %lld units", (long long)given,
                                    (long long)node->units);
    if (w->rank != 3 || w->dims[0] != directions || w->dims[1] != gates * node->units)
        return gantry__onnx_invalid(call, "W is not of the shape [%lld, %lld, inputs]",
                                    (long long)directions, (long long)(gates * node->units));
    if (r->dims[0] != directions || r->dims[1] != gates * node->units)
        return gantry__onnx_invalid(call, "R is not of the shape [%lld, %lld, %lld]",
                                    (long long)directions, (long long)(gates * node->units),
                                    (long long)node->units);
    return GANTRY_OK;
}

static gantry_status_t lower_recurrent(gantry__onnx_call_t *call, gantry__onnx_cell_kind_t kind) {
    gantry__onnx_recurrent_t node;
    GANTRY__TRY(gantry__onnx_read_recurrent(call, kind, 4, &node));
    GANTRY__TRY(check_cell_weights(&node));
    GANTRY__TRY(gantry__onnx_take_states(&node, 5));
    for (size_t i = 0; i < node.direction_count; ++i) {
        const gantry__onnx_make_fn make = i ? second_weights : first_weights;
        node.directions[i].weights.values = gantry__onnx_prepared(call, 1, (uint32_t)i, make);
        node.directions[i].recurrent.values = gantry__onnx_prepared(call, 2, (uint32_t)i, make);
    }
    GANTRY__TRY(
        gantry__onnx_take_biases(&node, gantry__onnx_input(call, 3),
                                 kind == GANTRY__ONNX_LSTM ? gantry__onnx_input(call, 7) : NULL));
    return gantry__onnx_run_recurrent(&node);
}

gantry_status_t gantry__onnx_lower_lstm(gantry__onnx_call_t *call) {
    return lower_recurrent(call, GANTRY__ONNX_LSTM);
}

gantry_status_t gantry__onnx_lower_gru(gantry__onnx_call_t *call) {
    return lower_recurrent(call, GANTRY__ONNX_GRU);
}

gantry_status_t gantry__onnx_lower_rnn(gantry__onnx_call_t *call) {
    return lower_recurrent(call, GANTRY__ONNX_RNN);
}
