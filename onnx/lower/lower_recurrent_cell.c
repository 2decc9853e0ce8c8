/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of LSTM, GRU and RNN, and their activations. The order of gates: LSTM input, output,
 * forget, cell; GRU update, reset, hidden. */
#include "onnx/lower/lower_recurrent.h"

#include <gantry/ops.h>

#include "onnx/lower/lower_quantize.h"

#include <string.h>

/* ---- activations ---- */

/* Calls an activation. */
typedef const gantry_tensor_t *(*activation_fn)(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *x, double alpha,
                                                double beta);

typedef struct gantry__onnx_activation_row_t {
    const char *name;
    activation_fn call;
    bool takes_alpha, takes_beta;
    double alpha, beta; /* Where the node gives none. */
} gantry__onnx_activation_row_t;

static const gantry_tensor_t *cell_scalar(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                          double value) {
    return gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), value);
}

/* alpha x + beta */
static const gantry_tensor_t *cell_affine(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                          const gantry_tensor_t *x, double alpha, double beta) {
    const gantry_tensor_t *y = gantry_mul(scope, x, cell_scalar(call, x, alpha));
    return gantry_add(scope, y, cell_scalar(call, x, beta));
}

static const gantry_tensor_t *cell_leaky(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                         const gantry_tensor_t *x, double alpha, double beta) {
    (void)beta;
    const gantry_tensor_t *falls = gantry_less(scope, x, cell_scalar(call, x, 0));
    return gantry_select(scope, falls, gantry_mul(scope, x, cell_scalar(call, x, alpha)), x);
}

static const gantry_tensor_t *cell_thresholded(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                               const gantry_tensor_t *x, double alpha,
                                               double beta) {
    (void)beta;
    const gantry_tensor_t *passes = gantry_greater_equal(scope, x, cell_scalar(call, x, alpha));
    return gantry_select(scope, passes, x, gantry_zeros_like(scope, x));
}

static const gantry_tensor_t *cell_scaled_tanh(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                               const gantry_tensor_t *x, double alpha,
                                               double beta) {
    const gantry_tensor_t *y = gantry_tanh(scope, gantry_mul(scope, x, cell_scalar(call, x, beta)));
    return gantry_mul(scope, y, cell_scalar(call, x, alpha));
}

static const gantry_tensor_t *cell_hard_sigmoid(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *x, double alpha,
                                                double beta) {
    return gantry_clip_by_value(scope, cell_affine(call, scope, x, alpha, beta),
                                cell_scalar(call, x, 0), cell_scalar(call, x, 1));
}

static const gantry_tensor_t *cell_elu(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                       const gantry_tensor_t *x, double alpha, double beta) {
    (void)beta;
    const gantry_tensor_t *falls = gantry_less(scope, x, cell_scalar(call, x, 0));
    const gantry_tensor_t *curve =
        gantry_mul(scope, gantry_expm1(scope, x), cell_scalar(call, x, alpha));
    return gantry_select(scope, falls, curve, x);
}

#define PLAIN_ACTIVATION(name, op)                                                              \
    static const gantry_tensor_t *cell_##name(gantry__onnx_call_t *call, gantry_scope_t *scope, \
                                              const gantry_tensor_t *x, double alpha,           \
                                              double beta) {                                    \
        (void)call, (void)alpha, (void)beta;                                                    \
        return op(scope, x);                                                                    \
    }
PLAIN_ACTIVATION(relu, gantry_relu)
PLAIN_ACTIVATION(tanh, gantry_tanh)
PLAIN_ACTIVATION(sigmoid, gantry_sigmoid)
PLAIN_ACTIVATION(softsign, gantry_softsign)
PLAIN_ACTIVATION(softplus, gantry_softplus)

static const gantry__onnx_activation_row_t activation_rows[] = {
    {"Sigmoid", cell_sigmoid, false, false, 0, 0},
    {"Tanh", cell_tanh, false, false, 0, 0},
    {"Relu", cell_relu, false, false, 0, 0},
    {"Affine", cell_affine, true, true, 1, 0},
    {"LeakyRelu", cell_leaky, true, false, (double)0.01f, 0},
    {"ThresholdedRelu", cell_thresholded, true, false, 1, 0},
    {"ScaledTanh", cell_scaled_tanh, true, true, 1, 1},
    {"HardSigmoid", cell_hard_sigmoid, true, true, (double)0.2f, 0.5},
    {"Elu", cell_elu, true, false, 1, 0},
    {"Softsign", cell_softsign, false, false, 0, 0},
    {"Softplus", cell_softplus, false, false, 0, 0},
};

/* Whether a name is a text, in any case of its letters. */
static bool is_activation_name(gantry__onnx_bytes_t name, const char *text) {
    if (name.size != strlen(text)) return false;
    for (size_t i = 0; i < name.size; ++i)
        if ((name.data[i] | 0x20) != (text[i] | 0x20)) return false;
    return true;
}

bool gantry__onnx_find_activation(gantry__onnx_bytes_t name, gantry__onnx_activation_t *out) {
    const size_t count = sizeof activation_rows / sizeof *activation_rows;
    for (size_t i = 0; i < count; ++i) {
        const gantry__onnx_activation_row_t *row = &activation_rows[i];
        if (!is_activation_name(name, row->name)) continue;
        *out = (gantry__onnx_activation_t){row, row->alpha, row->beta};
        return true;
    }
    return false;
}

bool gantry__onnx_takes_alpha(const gantry__onnx_activation_t *activation) {
    return activation->row->takes_alpha;
}

bool gantry__onnx_takes_beta(const gantry__onnx_activation_t *activation) {
    return activation->row->takes_beta;
}

const gantry_tensor_t *gantry__onnx_activate(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                             const gantry__onnx_activation_t *activation,
                                             const gantry_tensor_t *x) {
    return activation->row->call(call, scope, x, activation->alpha, activation->beta);
}

/* ---- cells ---- */

/* What a cell computes with. */
typedef struct cell_t {
    const gantry__onnx_recurrent_t *node;
    const gantry__onnx_direction_t *direction;
    gantry_scope_t *scope;
} cell_t;

/* Activation `which` of a gate, whose input is clipped. */
static const gantry_tensor_t *activate_gate(const cell_t *cell, size_t which,
                                            const gantry_tensor_t *x) {
    gantry__onnx_call_t *call = cell->node->call;
    const double clip = cell->node->clip;
    if (clip > 0)
        x = gantry_clip_by_value(cell->scope, x, cell_scalar(call, x, -clip),
                                 cell_scalar(call, x, clip));
    return gantry__onnx_activate(call, cell->scope, &cell->direction->activations[which], x);
}

/* Columns of gates first to first + count - 1. */
static const gantry_tensor_t *take_gates(const cell_t *cell, const gantry_tensor_t *x,
                                         int64_t first, int64_t count) {
    const int64_t units = cell->node->units;
    if (!x) return NULL;
    const int64_t begin[2] = {0, first * units};
    const int64_t size[2] = {cell->node->batch, count * units};
    if (gantry_tensor_shape(x)->rank == 1) return gantry_slice(cell->scope, x, begin + 1, size + 1);
    return gantry_slice(cell->scope, x, begin, size);
}

/* x + y, where NULL is 0. */
static const gantry_tensor_t *cell_add(gantry_scope_t *scope, const gantry_tensor_t *x,
                                       const gantry_tensor_t *y) {
    return !x ? y : !y ? x : gantry_add(scope, x, y);
}

static const gantry_tensor_t *cell_mul(gantry_scope_t *scope, const gantry_tensor_t *x,
                                       const gantry_tensor_t *y) {
    return x && y ? gantry_mul(scope, x, y) : NULL;
}

const gantry_tensor_t *gantry__onnx_multiply_weights(gantry__onnx_call_t *call,
                                                     gantry_scope_t *scope,
                                                     const gantry_tensor_t *rows,
                                                     const gantry__onnx_weights_t *weights) {
    if (!weights->scale) return gantry_matmul(scope, rows, weights->values, NULL);
    const gantry_tensor_t *parts[3];
    gantry__onnx_quantize_dynamic(call, scope, rows, parts);
    const gantry_tensor_t *sum =
        gantry_matmul_integer(scope, parts[0], weights->values, parts[2], weights->zero, NULL);
    return gantry_mul(scope, gantry_cast(scope, sum, GANTRY_FLOAT32),
                      gantry_mul(scope, parts[1], weights->scale));
}

/* The product of a state with the recurrent weights. */
static const gantry_tensor_t *cell_product(const cell_t *cell, const gantry_tensor_t *state) {
    return state ? gantry__onnx_multiply_weights(cell->node->call, cell->scope, state,
                                                 &cell->direction->recurrent)
                 : NULL;
}

/* 1 - x */
static const gantry_tensor_t *one_less(const cell_t *cell, const gantry_tensor_t *x) {
    return gantry_sub(cell->scope, cell_scalar(cell->node->call, x, 1), x);
}

/* A gate of an LSTM: its columns and the peephole of a cell's state. */
static const gantry_tensor_t *lstm_gate(const cell_t *cell, const gantry_tensor_t *gates,
                                        int64_t gate, const gantry_tensor_t *memory) {
    const gantry_tensor_t *x = take_gates(cell, gates, gate, 1);
    const gantry_tensor_t *peephole = take_gates(cell, cell->direction->peepholes, gate, 1);
    x = cell_add(cell->scope, x, cell_mul(cell->scope, memory, peephole));
    return activate_gate(cell, 0, x);
}

static void run_lstm(const cell_t *cell, const gantry_tensor_t *product,
                     const gantry_tensor_t **state, const gantry_tensor_t **memory) {
    gantry_scope_t *scope = cell->scope;
    const gantry_tensor_t *gates = cell_add(scope, product, cell_product(cell, *state));
    const gantry_tensor_t *in = lstm_gate(cell, gates, 0, *memory);
    const gantry_tensor_t *forget = NULL;
    if (*memory)
        forget =
            cell->node->couples_gates ? one_less(cell, in) : lstm_gate(cell, gates, 2, *memory);
    const gantry_tensor_t *candidate = activate_gate(cell, 1, take_gates(cell, gates, 3, 1));
    *memory = cell_add(scope, cell_mul(scope, forget, *memory), gantry_mul(scope, in, candidate));
    const gantry_tensor_t *out = lstm_gate(cell, gates, 1, *memory);
    /* ONNX Runtime clips the gates, and not the cell. */
    const gantry_tensor_t *shown =
        gantry__onnx_activate(cell->node->call, scope, &cell->direction->activations[2], *memory);
    *state = gantry_mul(scope, out, shown);
}

/* The first, or the last, gates' columns of a GRU's recurrent weights. */
static const gantry_tensor_t *gru_weights(const cell_t *cell, int64_t first, int64_t count) {
    const int64_t units = cell->node->units;
    const int64_t begin[2] = {0, first * units}, size[2] = {units, count * units};
    return gantry_slice(cell->scope, cell->direction->recurrent.values, begin, size);
}

/* The hidden gate of a GRU. all is the product of the state with all weights, if the linear part is
 * before the reset. */
static const gantry_tensor_t *gru_hidden(const cell_t *cell, const gantry_tensor_t *product,
                                         const gantry_tensor_t *state, const gantry_tensor_t *reset,
                                         const gantry_tensor_t *all) {
    gantry_scope_t *scope = cell->scope;
    const gantry_tensor_t *x = take_gates(cell, product, 2, 1), *inner = NULL;
    if (cell->node->linear_before_reset)
        inner = cell_mul(scope, reset,
                         cell_add(scope, take_gates(cell, all, 2, 1), cell->direction->reset_bias));
    else if (state)
        inner =
            gantry_matmul(scope, gantry_mul(scope, reset, state), gru_weights(cell, 2, 1), NULL);
    return activate_gate(cell, 1, cell_add(scope, x, inner));
}

static void run_gru(const cell_t *cell, const gantry_tensor_t *product,
                    const gantry_tensor_t **state) {
    gantry_scope_t *scope = cell->scope;
    const gantry_tensor_t *gates = take_gates(cell, product, 0, 2), *all = NULL;
    if (cell->node->linear_before_reset) {
        all = cell_product(cell, *state);
        gates = cell_add(scope, gates, take_gates(cell, all, 0, 2));
    } else if (*state) {
        gates =
            gantry_add(scope, gates, gantry_matmul(scope, *state, gru_weights(cell, 0, 2), NULL));
    }
    gates = activate_gate(cell, 0, gates);
    const gantry_tensor_t *update = take_gates(cell, gates, 0, 1);
    const gantry_tensor_t *reset = take_gates(cell, gates, 1, 1);
    const gantry_tensor_t *hidden = gru_hidden(cell, product, *state, reset, all);
    const gantry_tensor_t *fresh = gantry_mul(scope, one_less(cell, update), hidden);
    *state = cell_add(scope, fresh, cell_mul(scope, update, *state));
}

void gantry__onnx_run_cell(const gantry__onnx_recurrent_t *node,
                           const gantry__onnx_direction_t *direction, gantry_scope_t *scope,
                           const gantry_tensor_t *product, const gantry_tensor_t **state,
                           const gantry_tensor_t **cell) {
    const cell_t what = {node, direction, scope};
    if (node->kind == GANTRY__ONNX_LSTM) {
        run_lstm(&what, product, state, cell);
    } else if (node->kind == GANTRY__ONNX_GRU) {
        run_gru(&what, product, state);
    } else {
        const gantry_tensor_t *sum = cell_add(scope, product, cell_product(&what, *state));
        *state = activate_gate(&what, 0, sum);
    }
}
