/* SPDX-License-Identifier: Apache-2.0 */
/* What the recurrent layers SimpleRNN, LSTM, GRU and Bidirectional share. recurrent_step.c has one
 * step of each cell, recurrent_run.c a run over a sequence, recurrent_loop.c a loop over its
 * segments, layer_rnn.c the layers.
 *
 * Owner: the layer owns its gantry__recurrent_t; a gantry__recurrence_t is on the stack of one run,
 * and its tensors belong to the call's scope. Threads: externally synchronised, as the layer's
 * model. */
#ifndef GANTRY_TRAIN_RECURRENT_H
#define GANTRY_TRAIN_RECURRENT_H

#include "train/layer/layer_state.h"

enum {
    GANTRY__RNN_MOST_PARTS = 60, /* of one op; GANTRY_MAX_OP_INPUTS bounds it */
    GANTRY__RNN_MOST_STEPS = GANTRY__RNN_MOST_PARTS * GANTRY__RNN_MOST_PARTS,
    GANTRY__RNN_MOST_GATES = 4,
    GANTRY__RNN_MOST_STATES = 2,  /* h, and c of an LSTM */
    GANTRY__RNN_UNROLLED = 256,   /* longer sequences run as loops */
    GANTRY__RNN_MOST_SEGMENT = 16 /* steps of a loop's body */
};

/* Forms of a loop. */
enum {
    GANTRY__LOOP_HAS_MASK = 1,
    GANTRY__LOOP_HAS_DROPS = 2,
    GANTRY__LOOP_INJECTS = 4, /* the backward pass: gradients reach the kept states, too */
    GANTRY__LOOP_FORMS = 8
};

typedef struct gantry__recurrence_t gantry__recurrence_t;

/* The user of a recurrent layer. */
typedef struct gantry__recurrent_t {
    int64_t units, gates;
    gantry_activation_t activation, gate_activation;
    gantry_initializer_t kernel, recurrent, bias;
    double dropout, recurrent_dropout;
    bool has_bias, returns_sequences, returns_state, goes_backwards, forgets_little, resets_before;
    bool is_stateful;
    gantry_choice_t unroll;
    /* Each form has a byte here. The user of a loop's bodies points to it, because that pointer
     * must live as long as the layer and must say the form. */
    unsigned char forms[GANTRY__LOOP_FORMS];
    void (*step)(gantry__recurrence_t *r, const gantry_tensor_t *x); /* changes the state */
} gantry__recurrent_t;

/* A product of a step. */
typedef struct gantry__rnn_product_t {
    const gantry_tensor_t *state, *weight, *product;
} gantry__rnn_product_t;

/* One run over a sequence. */
struct gantry__recurrence_t {
    const gantry__recurrent_t *kind;
    const gantry_layer_call_t *call;
    gantry_scope_t *scope;
    const gantry_tensor_t *const *weights;                    /* kernel, recurrent kernel, bias */
    const gantry_tensor_t *recurrent;                         /* the recurrent kernel */
    const gantry_tensor_t *recurrent_bias;                    /* no bias: NULL */
    const gantry_tensor_t *kernel_gates, *kernel_candidate;   /* of a GRU that resets before */
    const gantry_tensor_t *drops[GANTRY__RNN_MOST_GATES];     /* of the state; NULL: none */
    const gantry_tensor_t *kernel_of[GANTRY__RNN_MOST_GATES]; /* with drops: recurrent, by gate */
    const gantry_tensor_t *h, *c;                             /* the state; c: LSTM */
    gantry__rnn_product_t *products; /* gets those of the steps; NULL: none are noted */
    size_t product_count;
};

/* The states of a cell. */
size_t gantry__rnn_states(const gantry__recurrent_t *k);
bool gantry__rnn_has_two_biases(const gantry__recurrent_t *k);

void gantry__rnn_simple_step(gantry__recurrence_t *r, const gantry_tensor_t *x);
void gantry__rnn_lstm_step(gantry__recurrence_t *r, const gantry_tensor_t *x);
void gantry__rnn_gru_step(gantry__recurrence_t *r, const gantry_tensor_t *x);
void gantry__rnn_gru_step_reset_before(gantry__recurrence_t *r, const gantry_tensor_t *x);

/* Where a run begins. */
typedef struct gantry__rnn_start_t {
    const gantry_tensor_t *const *states; /* the first ones of the call, which reads no mask then;
                                             NULL: the kept ones, or zeros */
    size_t first_kept;                    /* of a stateful layer: the first of its kept states */
} gantry__rnn_start_t;

/* Runs over the first input of a call. It writes to `out` the output, then the last states, and
 * returns false after a failure, which the scope keeps. */
bool gantry__rnn_run(const gantry_layer_call_t *call, const gantry__recurrent_t *k,
                     const gantry_tensor_t *const *weights, const gantry__rnn_start_t *start,
                     const gantry_tensor_t *out[1 + GANTRY__RNN_MOST_STATES]);

/* Runs the steps of a segment of a loop, x [steps, batch, n] and mask [steps, batch, 1] or NULL;
 * where the mask is false, the state stays. `outputs` gets the output of each step, in the order of
 * the run, and must have room for all steps. */
gantry_status_t gantry__rnn_segment(gantry__recurrence_t *r, const gantry_tensor_t *x,
                                    const gantry_tensor_t *mask, const gantry_tensor_t **outputs);
/* Runs the steps of x, [segments, steps, batch, n], from the present state, which becomes the last
 * one. mask must be [segments, steps, batch, 1] or NULL. Returns the outputs in the order of the
 * run, of x's form, if the kind returns sequences; else NULL. */
const gantry_tensor_t *gantry__rnn_loop(gantry__recurrence_t *r, const gantry_tensor_t *x,
                                        const gantry_tensor_t *mask);

/* Checks the inputs of a layer that runs `directions` times: the sequence, and its first states. */
gantry_status_t gantry__rnn_check_inputs(const char *kind, const gantry__recurrent_t *k,
                                         const gantry_shape_t *inputs, size_t input_count,
                                         size_t directions);
/* Adds the weights of one direction, whose names begin with prefix. */
gantry_status_t gantry__rnn_add_weights(gantry_layer_t *layer, const gantry__recurrent_t *k,
                                        int64_t features, const char *prefix);
/* Adds the states that a layer of a stateful kind keeps. */
void gantry__rnn_add_states(gantry_layer_t *layer, const gantry__recurrent_t *k);
bool gantry__is_bidirectional(const gantry_layer_t *layer);
/* Returns the recurrent layer's user; NULL if the layer is not recurrent. */
const gantry__recurrent_t *gantry__rnn_of(const gantry_layer_t *layer);

#endif
