/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN: what the rows read of a node, and the cells that the steps call. The product
 * of all steps' inputs with the weights is computed at once; a step adds that of the state.
 *
 * Weights are numbers, or bytes with scales: then each product rounds its left side to bytes, too.
 *
 * Owner: scopes of the call have all tensors. Threads: a call belongs to one thread. */
#ifndef GANTRY_ONNX_LOWER_RECURRENT_H
#define GANTRY_ONNX_LOWER_RECURRENT_H

#include "onnx/lower/lower.h"

/* Kinds of cells. */
typedef enum gantry__onnx_cell_kind_t {
    GANTRY__ONNX_RNN = 0,
    GANTRY__ONNX_GRU = 1,
    GANTRY__ONNX_LSTM = 2
} gantry__onnx_cell_kind_t;

struct gantry__onnx_activation_row_t;

/* An activation of a cell with its numbers. */
typedef struct gantry__onnx_activation_t {
    const struct gantry__onnx_activation_row_t *row;
    double alpha, beta;
} gantry__onnx_activation_t;

/* The right side of a product, [lines, gates * units]. */
typedef struct gantry__onnx_weights_t {
    const gantry_tensor_t *values;
    const gantry_tensor_t *scale; /* Of bytes: one, or [gates * units]; NULL: values are numbers. */
    const gantry_tensor_t *zero;  /* Of bytes, as scale; NULL: 0. */
} gantry__onnx_weights_t;

/* A direction. */
typedef struct gantry__onnx_direction_t {
    bool reversed;
    gantry__onnx_weights_t weights;      /* Of the inputs. */
    gantry__onnx_weights_t recurrent;    /* Of the state. */
    const gantry_tensor_t *bias;         /* [gates * units]; NULL: 0. */
    const gantry_tensor_t *reset_bias;   /* GRU, linear before the reset: [units]; NULL: 0. */
    const gantry_tensor_t *peepholes;    /* LSTM: [3 * units], input, output, forget; NULL: none. */
    const gantry_tensor_t *state, *cell; /* [batch, units]; NULL: 0. */
    gantry__onnx_activation_t activations[3];
} gantry__onnx_direction_t;

/* A node. */
typedef struct gantry__onnx_recurrent_t {
    gantry__onnx_call_t *call;
    gantry__onnx_cell_kind_t kind;
    gantry_dtype_t dtype;
    int64_t steps, batch, units;
    bool batch_first; /* layout 1. */
    bool linear_before_reset, couples_gates;
    double clip;                    /* 0: none. */
    const gantry_tensor_t *x;       /* [steps, batch, inputs] */
    const gantry_tensor_t *lengths; /* [batch]; NULL: all steps. */
    size_t direction_count;
    gantry__onnx_direction_t directions[2];
} gantry__onnx_recurrent_t;

/* Reads direction, activations, clip and sizes, and the inputs X and sequence_lens (input lengths).
 * The caller sets the weights and the units. */
gantry_status_t gantry__onnx_read_recurrent(gantry__onnx_call_t *call,
                                            gantry__onnx_cell_kind_t kind, size_t lengths,
                                            gantry__onnx_recurrent_t *node);
/* Takes initial_h (input initial) and an LSTM's initial_c, the next one, once the units are set. */
gantry_status_t gantry__onnx_take_states(gantry__onnx_recurrent_t *node, size_t initial);
/* Takes bias and peepholes, [directions, ...], apart. They may be NULL. */
gantry_status_t gantry__onnx_take_biases(gantry__onnx_recurrent_t *node,
                                         const gantry_tensor_t *bias,
                                         const gantry_tensor_t *peepholes);
/* Runs all steps and sets Y, Y_h and Y_c. */
gantry_status_t gantry__onnx_run_recurrent(gantry__onnx_recurrent_t *node);
/* The number of gates of a cell. */
int64_t gantry__onnx_gate_count(gantry__onnx_cell_kind_t kind);
/* The product of rows with weights, in the node's type. */
const gantry_tensor_t *gantry__onnx_multiply_weights(gantry__onnx_call_t *call,
                                                     gantry_scope_t *scope,
                                                     const gantry_tensor_t *rows,
                                                     const gantry__onnx_weights_t *weights);
/* Row `row` of a tensor without its first dimension. */
const gantry_tensor_t *gantry__onnx_row_of(gantry_scope_t *scope, const gantry_tensor_t *x,
                                           int64_t row);

/* One step: of the product of the step's input [batch, gates * units] and of the state and the cell
 * before, the state and, of an LSTM, the cell after it. NULL is a state of 0. */
void gantry__onnx_run_cell(const gantry__onnx_recurrent_t *node,
                           const gantry__onnx_direction_t *direction, gantry_scope_t *scope,
                           const gantry_tensor_t *product, const gantry_tensor_t **state,
                           const gantry_tensor_t **cell);
/* The activation of a name, in any case; false: there is none. */
bool gantry__onnx_find_activation(gantry__onnx_bytes_t name, gantry__onnx_activation_t *out);
/* Whether it takes alpha, and beta. */
bool gantry__onnx_takes_alpha(const gantry__onnx_activation_t *activation);
bool gantry__onnx_takes_beta(const gantry__onnx_activation_t *activation);
/* Calls it. */
const gantry_tensor_t *gantry__onnx_activate(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                             const gantry__onnx_activation_t *activation,
                                             const gantry_tensor_t *x);

#endif
