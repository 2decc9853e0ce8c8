/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN's recurrent ops over Gantry's functions. Keras uses CudnnRNNV3 as soon as TensorFlow lists
 * a GPU, so LSTM and GRU need it.
 *
 * cudnn_rnn.c has the kernels, cudnn_rnn_run.c a run over a sequence by segments,
 * cudnn_rnn_forward.c and cudnn_rnn_backward.c the bodies of the traced functions.
 *
 * A segment has at most RNN_MOST_STEPS steps, because Pack and Unpack take no more tensors. A
 * function is traced once for each size of segment; longer sequences call it several times.
 *
 * The parameters are one vector, g gates of u units over f features:
 *
 *     W [g u, f] | U [g u, u] | bias of W [g u] | bias of U [g u]
 *
 * Gates of an LSTM are input, forget, cell, output. Those of a GRU are update, reset, new, as Keras
 * packs them where TensorFlow was built without CUDA; cuDNN's own order is reset, update, new.
 *
 * The way back computes the gates of all steps again, with one product for all of them: the states
 * that this needs are the op's output. The reserve space therefore holds only the cell states.
 *
 * Owner: the caller's scope owns the tensors. Threads: a run belongs to the scope's thread; runs on
 * several threads share the traced functions. */
#ifndef GANTRY_TENSORFLOW_CUDNN_RNN_H
#define GANTRY_TENSORFLOW_CUDNN_RNN_H

#include <gantry/gantry.h>

enum { RNN_MOST_STEPS = 60, RNN_MOST_GATES = 4 };

typedef enum rnn_mode_t { RNN_RELU, RNN_TANH, RNN_LSTM, RNN_GRU, RNN_MODES } rnn_mode_t;

/* What makes one function differ from another; sizes are left to the traces. */
typedef struct rnn_form_t {
    rnn_mode_t mode;
    gantry_dtype_t dtype;
    bool is_time_major; /* x is [steps, batch, features]; else [batch, steps, features] */
    bool has_mask;
} rnn_form_t;

/* The inputs of a segment's functions, and of a run. mask must be bool [steps, batch, 1]: whether
 * the step belongs to the row's sequence. */
enum {
    RNN_X,
    RNN_H, /* [batch, units] */
    RNN_C, /* like h; any tensor where the mode has none */
    RNN_PARAMS,
    RNN_MASK, /* only if the form has one */
    RNN_INPUTS
};
/* Further inputs of the way back, after those of the form. */
enum {
    RNN_Y,     /* the outputs of all steps, laid out as x */
    RNN_CELLS, /* [steps, batch, units] */
    RNN_DY,
    RNN_DH,
    RNN_DC,
    RNN_BACK_INPUTS
};
/* The outputs of the way there: y, the last h and c, the cells. */
enum { RNN_OUT_Y, RNN_OUT_H, RNN_OUT_C, RNN_OUT_CELLS, RNN_OUTPUTS };
/* The outputs of the way back: the gradients of x, h, c, params. */
enum { RNN_OUT_DX, RNN_OUT_DH, RNN_OUT_DC, RNN_OUT_DPARAMS, RNN_BACK_OUTPUTS };

typedef struct rnn_inputs_t {
    const gantry_tensor_t *at[RNN_INPUTS]; /* mask NULL: there is none */
    const gantry_tensor_t *back[RNN_BACK_INPUTS];
} rnn_inputs_t;

/* The gates of a mode. */
int64_t rnn_gates(rnn_mode_t mode);
/* The number of parameters of one layer. */
int64_t rnn_params(rnn_mode_t mode, int64_t units, int64_t features);

/* Run over a sequence. They return the scope's status. */
gantry_status_t rnn_run_forward(gantry_scope_t *scope, const rnn_form_t *form,
                                const rnn_inputs_t *in, const gantry_tensor_t *out[RNN_OUTPUTS]);
gantry_status_t rnn_run_backward(gantry_scope_t *scope, const rnn_form_t *form,
                                 const rnn_inputs_t *in,
                                 const gantry_tensor_t *out[RNN_BACK_OUTPUTS]);

/* The bodies of the functions; user must be a rnn_form_t. */
void rnn_trace_forward(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user);
void rnn_trace_backward(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user);

#endif
