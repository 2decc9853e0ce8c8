/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a segment: h U is the only product in a step, because x W is one product for all. */
#include "cudnn_rnn_body.h"

typedef const gantry_tensor_t tensor;

/* x must be the step's projected input. Changes the state. */
static void step_simple(rnn_body_t *b, tensor *x, tensor *product) {
    b->h = rnn_activate(b, gantry_add(b->s, x, product));
}

/* c = f c + i tanh(z), h = o tanh(c) */
static void step_lstm(rnn_body_t *b, tensor *x, tensor *product) {
    gantry_scope_t *s = b->s;
    tensor *z[RNN_MOST_GATES];
    if (gantry_split(s, gantry_add(s, x, product), 1, z, 4)) return;
    tensor *kept = gantry_mul(s, gantry_sigmoid(s, z[1]), b->c);
    b->c = gantry_add(s, kept, gantry_mul(s, gantry_sigmoid(s, z[0]), gantry_tanh(s, z[2])));
    b->h = gantry_mul(s, gantry_sigmoid(s, z[3]), gantry_tanh(s, b->c));
}

/* h = z h + (1 - z) n, n = tanh(x + r (h U)) */
static void step_gru(rnn_body_t *b, tensor *x, tensor *product) {
    gantry_scope_t *s = b->s;
    tensor *from_x[3], *from_h[3];
    if (gantry_split(s, x, 1, from_x, 3) ||
        gantry_split(s, gantry_bias_add(s, product, b->bias_u), 1, from_h, 3))
        return;
    tensor *z = gantry_sigmoid(s, gantry_add(s, from_x[0], from_h[0]));
    tensor *r = gantry_sigmoid(s, gantry_add(s, from_x[1], from_h[1]));
    tensor *n = gantry_tanh(s, gantry_add(s, from_x[2], gantry_mul(s, r, from_h[2])));
    b->h = gantry_add(s, gantry_mul(s, z, b->h), gantry_mul(s, rnn_complement(b, z), n));
}

static void cudnn_rnn_forward_advance(rnn_body_t *b, tensor *x, tensor *u) {
    tensor *product = gantry_matmul(b->s, b->h, u, NULL);
    if (b->form->mode == RNN_LSTM)
        step_lstm(b, x, product);
    else if (b->form->mode == RNN_GRU)
        step_gru(b, x, product);
    else
        step_simple(b, x, product);
}

/* Where the mask is false, the state is kept and the output is 0. Returns the output. */
static tensor *keep_masked(rnn_body_t *b, tensor *mask, tensor *h, tensor *c) {
    tensor *y = gantry_select(b->s, mask, b->h, gantry_zeros_like(b->s, b->h));
    b->h = gantry_select(b->s, mask, b->h, h);
    if (b->form->mode == RNN_LSTM) b->c = gantry_select(b->s, mask, b->c, c);
    return y;
}

void rnn_trace_forward(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    rnn_body_t b = rnn_body_begin(scope, inputs, user);
    const size_t steps = (size_t)b.steps;
    tensor *x[RNN_MOST_STEPS], *masks[RNN_MOST_STEPS], *y[RNN_MOST_STEPS], *cells[RNN_MOST_STEPS];
    tensor *all = gantry_reshape(scope, rnn_project(&b), GANTRY_SHAPE(b.steps, b.batch, b.width));
    tensor *u = gantry_transpose(scope, b.u, NULL);
    if (gantry_unpack(scope, all, 0, x, steps)) return;
    if (b.mask && gantry_unpack(scope, b.mask, 0, masks, steps)) return;
    for (size_t i = 0; i < steps; ++i) {
        tensor *h = b.h, *c = b.c;
        cudnn_rnn_forward_advance(&b, x[i], u);
        y[i] = b.mask ? keep_masked(&b, masks[i], h, c) : b.h;
        cells[i] = b.c;
    }
    const bool has_cells = b.form->mode == RNN_LSTM;
    outputs[RNN_OUT_Y] = gantry_pack(scope, y, steps, !b.form->is_time_major);
    outputs[RNN_OUT_H] = b.h;
    outputs[RNN_OUT_C] = b.c;
    outputs[RNN_OUT_CELLS] = has_cells ? gantry_pack(scope, cells, steps, 0) : b.c;
}
