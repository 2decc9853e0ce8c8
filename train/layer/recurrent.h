/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers inside: what SimpleRNN, LSTM, GRU and Bidirectional share. recurrent_step.c has
 * one step of each cell, recurrent_run.c a run over a sequence, layer_rnn.c the layers. */
#ifndef GANTRY_TRAIN_RECURRENT_H
#define GANTRY_TRAIN_RECURRENT_H

#include "train/layer/layer_state.h"

enum {
    GANTRY__RNN_MOST_PARTS = 60, /* of one op; GANTRY_MAX_OP_INPUTS bounds it */
    GANTRY__RNN_MOST_STEPS = GANTRY__RNN_MOST_PARTS * GANTRY__RNN_MOST_PARTS,
    GANTRY__RNN_MOST_GATES = 4,
    GANTRY__RNN_MOST_STATES = 2 /* h, and c of an LSTM */
};

typedef struct gantry__recurrence_t gantry__recurrence_t;

/* The user of a recurrent layer. */
typedef struct gantry__recurrent_t {
    int64_t units, gates;
    gantry_activation_t activation, gate_activation;
    gantry_initializer_t kernel, recurrent, bias;
    double dropout, recurrent_dropout;
    bool has_bias, returns_sequences, returns_state, goes_backwards, forgets_little, resets_before;
    void (*step)(gantry__recurrence_t *r, const gantry_tensor_t *x); /* changes the state */
} gantry__recurrent_t;

/* One run over a sequence. */
struct gantry__recurrence_t {
    const gantry__recurrent_t *kind;
    const gantry_layer_call_t *call;
    gantry_scope_t *scope;
    const gantry_tensor_t *const *weights;                    /* kernel, recurrent kernel, bias */
    const gantry_tensor_t *recurrent_bias;                    /* no bias: NULL */
    const gantry_tensor_t *kernel_gates, *kernel_candidate;   /* of a GRU that resets before */
    const gantry_tensor_t *drops[GANTRY__RNN_MOST_GATES];     /* of the state; NULL: none */
    const gantry_tensor_t *kernel_of[GANTRY__RNN_MOST_GATES]; /* with drops: recurrent, by gate */
    const gantry_tensor_t *h, *c;                             /* the state; c: LSTM */
};

/* The states of a cell. */
size_t gantry__rnn_states(const gantry__recurrent_t *k);
bool gantry__rnn_has_two_biases(const gantry__recurrent_t *k);

void gantry__rnn_simple_step(gantry__recurrence_t *r, const gantry_tensor_t *x);
void gantry__rnn_lstm_step(gantry__recurrence_t *r, const gantry_tensor_t *x);
void gantry__rnn_gru_step(gantry__recurrence_t *r, const gantry_tensor_t *x);
void gantry__rnn_gru_step_reset_before(gantry__recurrence_t *r, const gantry_tensor_t *x);

/* Runs over the first input of a call. states: the first ones, NULL: zeros, and then the first
 * mask of the call is read. out: the output, then the last states. Returns false after a failure,
 * which the scope keeps. */
bool gantry__rnn_run(const gantry_layer_call_t *call, const gantry__recurrent_t *k,
                     const gantry_tensor_t *const *weights, const gantry_tensor_t *const *states,
                     const gantry_tensor_t *out[1 + GANTRY__RNN_MOST_STATES]);

/* Checks the inputs of a layer that runs `directions` times: the sequence, and its first states. */
gantry_status_t gantry__rnn_check_inputs(const char *kind, const gantry__recurrent_t *k,
                                         const gantry_shape_t *inputs, size_t input_count,
                                         size_t directions);
/* Adds the weights of one direction. Their names begin with prefix. */
gantry_status_t gantry__rnn_add_weights(gantry_layer_t *layer, const gantry__recurrent_t *k,
                                        int64_t features, const char *prefix);
/* The recurrent layer's user; NULL: the layer is none. */
const gantry__recurrent_t *gantry__rnn_of(const gantry_layer_t *layer);

#endif
