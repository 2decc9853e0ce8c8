/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of a segment. The gates of all steps are computed at once, from the outputs; so is
 * every factor that does not depend on a gradient. A step multiplies the gradient by its factors,
 * and has one product:
 *
 *     gradient of the gates of a step = factors of the step * (dh, or dc of an LSTM)
 *     dh of the step before           = gradient of the gates U + what passes h by
 *
 * The gradients of W, U and the biases are then products over all steps at once. Where the mask is
 * false, the factors are 0 and the gradient of the state passes unchanged. */
#include "cudnn_rnn_body.h"

typedef const gantry_tensor_t tensor;

/* The factors of all steps, [steps, batch, n]; NULL: the mode has none. */
typedef struct factors_t {
    tensor *gates;  /* for the product with U: times dh; an LSTM's i, f and z: times dc */
    tensor *cell;   /* for an LSTM: times dh, it is added to dc */
    tensor *kept;   /* what passes by: f of dc in an LSTM, z of dh in a GRU */
    tensor *inputs; /* like gates, for the product with W, where the two differ */
} factors_t;

typedef struct backward_t {
    rnn_body_t b;
    tensor *y, *cells, *dy, *dh, *dc; /* y, cells and dy: [steps, batch, units] */
    tensor *before;                   /* h before each step, [steps * batch, units] */
    tensor *shut;                     /* [steps, batch, 1]: 1 where the mask is false, else 0 */
    tensor *open;                     /* 1 - shut */
    factors_t f;
} backward_t;

static tensor *by_steps(const backward_t *k, tensor *x) {
    return gantry_reshape(k->b.s, x, GANTRY_SHAPE(k->b.steps, k->b.batch, -1));
}

static tensor *cudnn_rnn_backward_flat(const backward_t *k, tensor *x) {
    return gantry_reshape(k->b.s, x, GANTRY_SHAPE(k->b.steps * k->b.batch, -1));
}

/* all [steps, batch, n] moved by one step: first, then all but the last. */
static tensor *shift(const backward_t *k, tensor *first, tensor *all) {
    gantry_scope_t *s = k->b.s;
    tensor *parts[2] = {gantry_expand_dims(s, first, 0)};
    if (k->b.steps == 1) return parts[0];
    parts[1] = gantry_slice(s, all, (int64_t[]){0, 0, 0}, (int64_t[]){k->b.steps - 1, -1, -1});
    return gantry_concat(s, parts, 2, 0);
}

static tensor *only_open(const backward_t *k, tensor *x) {
    return k->open ? gantry_mul(k->b.s, x, k->open) : x;
}

/* x where the mask is true, else 1. */
static tensor *cudnn_rnn_backward_or_one(const backward_t *k, tensor *x) {
    return k->open ? gantry_add(k->b.s, gantry_mul(k->b.s, x, k->open), k->shut) : x;
}

/* x (1 - x) */
static tensor *sigmoid_slope(const backward_t *k, tensor *x) {
    return gantry_mul(k->b.s, x, rnn_complement(&k->b, x));
}

/* 1 - x x */
static tensor *tanh_slope(const backward_t *k, tensor *x) {
    return rnn_complement(&k->b, gantry_mul(k->b.s, x, x));
}

static void find_simple(backward_t *k) {
    gantry_scope_t *s = k->b.s;
    tensor *slope =
        k->b.form->mode == RNN_TANH
            ? tanh_slope(k, k->y)
            : gantry_cast(s, gantry_greater(s, k->y, gantry_zeros_like(s, k->y)), k->b.form->dtype);
    k->f.gates = only_open(k, slope);
}

static void find_lstm(backward_t *k) {
    gantry_scope_t *s = k->b.s;
    tensor *z[RNN_MOST_GATES], *product = rnn_times_transposed(s, k->before, k->b.u);
    tensor *all = by_steps(k, gantry_add(s, rnn_project(&k->b), product));
    if (gantry_split(s, all, 2, z, 4)) return;
    tensor *i = gantry_sigmoid(s, z[0]), *f = gantry_sigmoid(s, z[1]);
    tensor *g = gantry_tanh(s, z[2]), *o = gantry_sigmoid(s, z[3]);
    tensor *after = gantry_tanh(s, k->cells);
    tensor *parts[4] = {
        gantry_mul(s, g, sigmoid_slope(k, i)),
        gantry_mul(s, shift(k, k->b.c, k->cells), sigmoid_slope(k, f)),
        gantry_mul(s, i, tanh_slope(k, g)),
        gantry_mul(s, after, sigmoid_slope(k, o)),
    };
    k->f.gates = only_open(k, gantry_concat(s, parts, 4, 2));
    k->f.cell = only_open(k, gantry_mul(s, o, tanh_slope(k, after)));
    k->f.kept = cudnn_rnn_backward_or_one(k, f);
}

static void find_gru(backward_t *k) {
    gantry_scope_t *s = k->b.s;
    tensor *from_x[3], *from_h[3];
    tensor *product = gantry_bias_add(s, rnn_times_transposed(s, k->before, k->b.u), k->b.bias_u);
    if (gantry_split(s, by_steps(k, rnn_project(&k->b)), 2, from_x, 3) ||
        gantry_split(s, by_steps(k, product), 2, from_h, 3))
        return;
    tensor *z = gantry_sigmoid(s, gantry_add(s, from_x[0], from_h[0]));
    tensor *r = gantry_sigmoid(s, gantry_add(s, from_x[1], from_h[1]));
    tensor *n = gantry_tanh(s, gantry_add(s, from_x[2], gantry_mul(s, r, from_h[2])));
    tensor *of_n = gantry_mul(s, rnn_complement(&k->b, z), tanh_slope(k, n));
    tensor *change = gantry_sub(s, by_steps(k, k->before), n);
    tensor *parts[3] = {
        gantry_mul(s, change, sigmoid_slope(k, z)),
        gantry_mul(s, of_n, gantry_mul(s, from_h[2], sigmoid_slope(k, r))),
        of_n,
    };
    k->f.inputs = only_open(k, gantry_concat(s, parts, 3, 2));
    parts[2] = gantry_mul(s, of_n, r);
    k->f.gates = only_open(k, gantry_concat(s, parts, 3, 2));
    k->f.kept = cudnn_rnn_backward_or_one(k, z);
}

/* The gradient of the gates of a step, [batch, width]. dc must be an LSTM's, after the step. */
static tensor *multiply_gates(const backward_t *k, tensor *factors, tensor *dh, tensor *dc) {
    const rnn_body_t *b = &k->b;
    const int64_t gates = b->width / b->units;
    if (gates == 1) return gantry_mul(b->s, factors, dh);
    tensor *each[] = {dc, dc, dc, dh};
    tensor *gradient =
        b->form->mode == RNN_LSTM ? gantry_pack(b->s, each, 4, 1) : gantry_expand_dims(b->s, dh, 1);
    tensor *wide = gantry_reshape(b->s, factors, GANTRY_SHAPE(b->batch, gates, b->units));
    return gantry_reshape(b->s, gantry_mul(b->s, wide, gradient), GANTRY_SHAPE(b->batch, b->width));
}

/* The factors of each step. */
typedef struct steps_t {
    tensor *dy[RNN_MOST_STEPS], *gates[RNN_MOST_STEPS];
    tensor *cell[RNN_MOST_STEPS], *kept[RNN_MOST_STEPS], *shut[RNN_MOST_STEPS];
    tensor *dgates[RNN_MOST_STEPS], *dh[RNN_MOST_STEPS]; /* the results */
} steps_t;

static gantry_status_t cudnn_rnn_backward_cut(const backward_t *k, tensor *all, tensor **steps) {
    return all ? gantry_unpack(k->b.s, all, 0, steps, (size_t)k->b.steps) : GANTRY_OK;
}

static gantry_status_t cut_all(const backward_t *k, steps_t *at) {
    (void)cudnn_rnn_backward_cut(k, k->dy, at->dy);
    (void)cudnn_rnn_backward_cut(k, k->f.gates, at->gates);
    (void)cudnn_rnn_backward_cut(k, k->f.cell, at->cell);
    (void)cudnn_rnn_backward_cut(k, k->f.kept, at->kept);
    (void)cudnn_rnn_backward_cut(k, k->shut, at->shut);
    return gantry_scope_status(k->b.s);
}

/* Goes one step back. dh and dc become those before the step. */
static void cudnn_rnn_backward_step_back(backward_t *k, steps_t *at, int64_t i) {
    gantry_scope_t *s = k->b.s;
    const bool is_lstm = k->b.form->mode == RNN_LSTM;
    tensor *dh = at->dh[i] = gantry_add(s, at->dy[i], k->dh);
    if (is_lstm) k->dc = gantry_add(s, k->dc, gantry_mul(s, dh, at->cell[i]));
    at->dgates[i] = multiply_gates(k, at->gates[i], dh, k->dc);
    if (is_lstm) k->dc = gantry_mul(s, k->dc, at->kept[i]);
    k->dh = gantry_matmul(s, at->dgates[i], k->b.u, NULL);
    tensor *passing = k->b.form->mode == RNN_GRU ? at->kept[i] : k->shut ? at->shut[i] : NULL;
    if (passing) k->dh = gantry_add(s, k->dh, gantry_mul(s, dh, passing));
}

static tensor *transposed_times(gantry_scope_t *s, tensor *a, tensor *b) {
    const gantry_matmul_options_t options = {.struct_size = sizeof options, .transpose_a = true};
    return gantry_matmul(s, a, b, &options);
}

/* The gradient of the gates in the product with W, [steps * batch, width]. */
static tensor *inputs_gradient(const backward_t *k, tensor *dgates, const steps_t *at) {
    gantry_scope_t *s = k->b.s;
    if (!k->f.inputs) return dgates;
    tensor *dh = gantry_pack(s, at->dh, (size_t)k->b.steps, 0);
    const int64_t rows = k->b.steps * k->b.batch;
    tensor *wide = gantry_mul(s, gantry_reshape(s, k->f.inputs, GANTRY_SHAPE(rows, 3, k->b.units)),
                              gantry_reshape(s, dh, GANTRY_SHAPE(rows, 1, k->b.units)));
    return gantry_reshape(s, wide, GANTRY_SHAPE(rows, k->b.width));
}

static void cudnn_rnn_backward_finish(const backward_t *k, const steps_t *at, tensor **outputs) {
    gantry_scope_t *s = k->b.s;
    static const int32_t rows = 0;
    const gantry_reduce_options_t over_rows = {
        .struct_size = sizeof over_rows, .axes = &rows, .axis_count = 1};
    tensor *dgates = cudnn_rnn_backward_flat(k, gantry_pack(s, at->dgates, (size_t)k->b.steps, 0));
    tensor *dinputs = inputs_gradient(k, dgates, at);
    tensor *bias = gantry_sum(s, dgates, &over_rows);
    tensor *parts[] = {
        gantry_reshape(s, transposed_times(s, dinputs, k->b.x), GANTRY_SHAPE(-1)),
        gantry_reshape(s, transposed_times(s, dgates, k->before), GANTRY_SHAPE(-1)),
        k->f.inputs ? gantry_sum(s, dinputs, &over_rows) : bias,
        bias,
    };
    outputs[RNN_OUT_DX] = rnn_as_given(&k->b, by_steps(k, gantry_matmul(s, dinputs, k->b.w, NULL)));
    outputs[RNN_OUT_DH] = k->dh;
    outputs[RNN_OUT_DC] = k->dc;
    outputs[RNN_OUT_DPARAMS] = gantry_concat(s, parts, 4, 0);
}

static backward_t begin_backward(gantry_scope_t *s, tensor *const *inputs, const rnn_form_t *form) {
    tensor *const *more = inputs + RNN_INPUTS - !form->has_mask;
    backward_t k = {.b = rnn_body_begin(s, inputs, form), .dh = more[RNN_DH], .dc = more[RNN_DC]};
    k.y = rnn_by_time(&k.b, more[RNN_Y]);
    k.dy = rnn_by_time(&k.b, more[RNN_DY]);
    k.cells = more[RNN_CELLS];
    k.before = cudnn_rnn_backward_flat(&k, shift(&k, k.b.h, k.y));
    if (!k.b.mask) return k;
    k.open = gantry_cast(s, k.b.mask, form->dtype);
    k.shut = rnn_complement(&k.b, k.open);
    k.dy = gantry_mul(s, k.dy, k.open);
    return k;
}

void rnn_trace_backward(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                        void *user) {
    backward_t k = begin_backward(scope, inputs, user);
    const rnn_mode_t mode = k.b.form->mode;
    if (gantry_scope_status(scope)) return;
    (mode == RNN_LSTM ? find_lstm : mode == RNN_GRU ? find_gru : find_simple)(&k);
    steps_t at;
    if (gantry_scope_status(scope) || cut_all(&k, &at)) return;
    for (int64_t i = k.b.steps - 1; i >= 0; --i) cudnn_rnn_backward_step_back(&k, &at, i);
    cudnn_rnn_backward_finish(&k, &at, outputs);
}
