/* SPDX-License-Identifier: Apache-2.0 */
/* SimpleRNN, LSTM and GRU. The input product of all time steps is one matrix product before the
 * first step, so that a step has one small product and elementwise work. Steps are unrolled: their
 * number is known when a model is traced. States begin as zeros.
 *
 * Sequences are cut into steps, and steps joined, in two levels of at most MOST_PARTS: an op has at
 * most GANTRY_MAX_OP_INPUTS inputs. A slice for each step would make the gradient of one step as
 * long as the sequence. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/base/memory.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

enum { MOST_PARTS = 60, MOST_STEPS = MOST_PARTS * MOST_PARTS };

typedef struct recurrent_t recurrent_t;

/* One run over a sequence. */
typedef struct recurrence_t {
    const recurrent_t *kind;
    gantry_scope_t *scope;
    tensor *recurrent_kernel, *recurrent_bias; /* no bias: NULL */
    tensor *kernel_gates, *kernel_candidate;   /* parts of the kernel; GRU that resets before */
    tensor *h, *c;                             /* the state; c: LSTM */
} recurrence_t;

struct recurrent_t {
    int64_t units, gates;
    gantry_activation_t activation, gate_activation;
    gantry_initializer_t kernel, recurrent, bias;
    bool has_bias, returns_sequences, goes_backwards, forgets_little, resets_before;
    void (*step)(recurrence_t *r, tensor *x); /* changes the state */
};

/* ---- steps ---- */

static tensor *activate(const recurrence_t *r, tensor *x) {
    return gantry_activate(r->scope, r->kind->activation, x);
}

static tensor *open_gate(const recurrence_t *r, tensor *x) {
    return gantry_activate(r->scope, r->kind->gate_activation, x);
}

static tensor *recur(const recurrence_t *r, tensor *h) {
    return gantry_matmul(r->scope, h, r->recurrent_kernel, NULL);
}

static void simple_step(recurrence_t *r, tensor *x) {
    r->h = activate(r, gantry_add(r->scope, x, recur(r, r->h)));
}

/* c = f c + i tanh(z), h = o tanh(c) */
static void lstm_step(recurrence_t *r, tensor *x) {
    gantry_scope_t *s = r->scope;
    tensor *z[4];
    if (gantry_split(s, gantry_add(s, x, recur(r, r->h)), 1, z, 4) != GANTRY_OK) return;
    tensor *kept = gantry_mul(s, open_gate(r, z[1]), r->c);
    r->c = gantry_add(s, kept, gantry_mul(s, open_gate(r, z[0]), activate(r, z[2])));
    r->h = gantry_mul(s, open_gate(r, z[3]), activate(r, r->c));
}

/* h = z h + (1 - z) candidate */
static void gru_mix(recurrence_t *r, tensor *z, tensor *candidate) {
    gantry_scope_t *s = r->scope;
    tensor *one = gantry__train_constant(s, gantry_tensor_dtype(z), 1);
    r->h = gantry_add(s, gantry_mul(s, z, r->h), gantry_mul(s, gantry_sub(s, one, z), candidate));
}

static void gru_step(recurrence_t *r, tensor *x) {
    gantry_scope_t *s = r->scope;
    tensor *from_x[3], *from_h[3], *inner = recur(r, r->h);
    if (r->recurrent_bias) inner = gantry_bias_add(s, inner, r->recurrent_bias);
    if (gantry_split(s, x, 1, from_x, 3) != GANTRY_OK ||
        gantry_split(s, inner, 1, from_h, 3) != GANTRY_OK)
        return;
    tensor *z = open_gate(r, gantry_add(s, from_x[0], from_h[0]));
    tensor *reset = open_gate(r, gantry_add(s, from_x[1], from_h[1]));
    gru_mix(r, z, activate(r, gantry_add(s, from_x[2], gantry_mul(s, reset, from_h[2]))));
}

static void gru_step_reset_before(recurrence_t *r, tensor *x) {
    gantry_scope_t *s = r->scope;
    tensor *from_x[3], *from_h[2], *inner = gantry_matmul(s, r->h, r->kernel_gates, NULL);
    if (gantry_split(s, x, 1, from_x, 3) != GANTRY_OK ||
        gantry_split(s, inner, 1, from_h, 2) != GANTRY_OK)
        return;
    tensor *z = open_gate(r, gantry_add(s, from_x[0], from_h[0]));
    tensor *reset = open_gate(r, gantry_add(s, from_x[1], from_h[1]));
    tensor *kept = gantry_matmul(s, gantry_mul(s, reset, r->h), r->kernel_candidate, NULL);
    gru_mix(r, z, activate(r, gantry_add(s, from_x[2], kept)));
}

/* ---- sequences ---- */

static size_t count_chunks(size_t steps) { return (steps + MOST_PARTS - 1) / MOST_PARTS; }

static size_t chunk_size(size_t steps, size_t chunk) {
    const size_t left = steps - chunk * MOST_PARTS;
    return left < MOST_PARTS ? left : MOST_PARTS;
}

/* [batch, steps, n] to [batch, n], steps times. */
static gantry_status_t cut_steps(gantry_scope_t *s, tensor *x, tensor **parts, size_t steps) {
    const size_t chunks = count_chunks(steps);
    int64_t sizes[MOST_PARTS];
    tensor *pieces[MOST_PARTS] = {x};
    for (size_t i = 0; i < chunks; ++i) sizes[i] = (int64_t)chunk_size(steps, i);
    if (chunks > 1) GANTRY__TRAIN_TRY(gantry_split_v(s, x, sizes, 1, pieces, chunks));
    for (size_t i = 0; i < chunks; ++i)
        GANTRY__TRAIN_TRY(
            gantry_unpack(s, pieces[i], 1, parts + i * MOST_PARTS, chunk_size(steps, i)));
    return GANTRY_OK;
}

static tensor *join_steps(gantry_scope_t *s, tensor *const *parts, size_t steps) {
    const size_t chunks = count_chunks(steps);
    tensor *pieces[MOST_PARTS];
    for (size_t i = 0; i < chunks; ++i)
        pieces[i] = gantry_pack(s, parts + i * MOST_PARTS, chunk_size(steps, i), 1);
    return chunks > 1 ? gantry_concat(s, pieces, chunks, 1) : pieces[0];
}

/* ---- weights ---- */

/* Bias of the forget gate 1, so that an LSTM remembers at first; that of the others by the
 * initialiser, which gives the candidate's and the output gate's together. */
static tensor *make_lstm_bias(gantry_scope_t *s, const gantry_initializer_t *initializer,
                              gantry_dtype_t dtype, const gantry_shape_t *shape) {
    const int64_t units = shape->dims[0] / 4;
    const gantry_initializer_t ones = {.struct_size = sizeof ones, .kind = GANTRY_INIT_ONES};
    tensor *parts[] = {gantry_initialize(s, initializer, dtype, GANTRY_SHAPE(units)),
                       gantry_initialize(s, &ones, dtype, GANTRY_SHAPE(units)),
                       gantry_initialize(s, initializer, dtype, GANTRY_SHAPE(2 * units))};
    return gantry_concat(s, parts, 3, 0);
}

static bool has_two_biases(const recurrent_t *k) { return k->gates == 3 && !k->resets_before; }

static gantry_status_t add_bias(gantry_layer_t *layer, const recurrent_t *k) {
    const int64_t width = k->gates * k->units;
    const gantry_shape_t shape = has_two_biases(k) ? GANTRY_SHAPE(2, width) : GANTRY_SHAPE(width);
    GANTRY__TRAIN_TRY(gantry_layer_add_weight(layer, "bias", shape, &k->bias, true));
    if (k->gates == 4 && !k->forgets_little)
        layer->weights[layer->weight_count - 1].make = make_lstm_bias;
    return GANTRY_OK;
}

static gantry_status_t rnn_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                 size_t input_count, void *user) {
    const recurrent_t *k = user;
    const int64_t width = k->gates * k->units;
    GANTRY__TRAIN_TRY(gantry__layer_check_rank(layer->kind.name, inputs, input_count, 3, 3));
    if (inputs[0].dims[1] <= 0 || inputs[0].dims[1] > MOST_STEPS)
        return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                  "layer %s: the input has %lld time steps; 1 to %d are accepted",
                                  layer->kind.name, (long long)inputs[0].dims[1], MOST_STEPS);
    GANTRY__TRAIN_TRY(gantry_layer_add_weight(
        layer, "kernel", GANTRY_SHAPE(inputs[0].dims[2], width), &k->kernel, true));
    /* Keras makes a SimpleRNN's generator before its initialisers, and others' after them. */
    if (k->gates == 1) layer->weights[layer->weight_count - 1].seeds_before = 1;
    GANTRY__TRAIN_TRY(gantry_layer_add_weight(layer, "recurrent_kernel",
                                              GANTRY_SHAPE(k->units, width), &k->recurrent, true));
    return k->has_bias ? add_bias(layer, k) : GANTRY_OK;
}

/* ---- a call ---- */

static tensor *bias_row(gantry_scope_t *s, const recurrent_t *k, tensor *bias, int64_t row) {
    const int64_t width = k->gates * k->units;
    return gantry_reshape(s, gantry_slice(s, bias, (int64_t[]){row, 0}, (int64_t[]){1, width}),
                          GANTRY_SHAPE(width));
}

/* x kernel + bias of all steps. */
static tensor *project_input(const gantry_layer_call_t *call, const recurrent_t *k) {
    gantry_scope_t *s = call->scope;
    const gantry_shape_t *shape = gantry_tensor_shape(call->inputs[0]);
    tensor *rows = gantry_reshape(s, call->inputs[0], GANTRY_SHAPE(-1, shape->dims[2]));
    tensor *y = gantry_matmul(s, rows, call->weights[0], NULL);
    if (k->has_bias)
        y = gantry_bias_add(
            s, y, has_two_biases(k) ? bias_row(s, k, call->weights[2], 0) : call->weights[2]);
    return gantry_reshape(s, y, GANTRY_SHAPE(-1, shape->dims[1], k->gates * k->units));
}

static tensor *zero_state(gantry_scope_t *s, tensor *x, int64_t units) {
    return gantry_zeros_like(s, gantry_slice(s, x, (int64_t[]){0, 0}, (int64_t[]){-1, units}));
}

static void begin(recurrence_t *r, const gantry_layer_call_t *call, tensor *first) {
    gantry_scope_t *s = r->scope;
    const recurrent_t *k = r->kind;
    tensor *kernel = r->recurrent_kernel = call->weights[1];
    if (k->has_bias && has_two_biases(k)) r->recurrent_bias = bias_row(s, k, call->weights[2], 1);
    if (k->resets_before) {
        r->kernel_gates =
            gantry_slice(s, kernel, (int64_t[]){0, 0}, (int64_t[]){k->units, 2 * k->units});
        r->kernel_candidate =
            gantry_slice(s, kernel, (int64_t[]){0, 2 * k->units}, (int64_t[]){k->units, k->units});
    }
    r->h = r->c = zero_state(s, first, k->units);
}

static tensor *run_steps(const gantry_layer_call_t *call, const recurrent_t *k, tensor **parts,
                         size_t steps) {
    recurrence_t r = {.kind = k, .scope = call->scope};
    if (cut_steps(r.scope, project_input(call, k), parts, steps) != GANTRY_OK) return NULL;
    begin(&r, call, parts[0]);
    for (size_t i = 0; i < steps && gantry_scope_status(r.scope) == GANTRY_OK; ++i) {
        k->step(&r, parts[k->goes_backwards ? steps - 1 - i : i]);
        parts[steps + i] = r.h;
    }
    return k->returns_sequences ? join_steps(r.scope, parts + steps, steps) : r.h;
}

static tensor *rnn_call(const gantry_layer_call_t *call, void *user) {
    const size_t steps = (size_t)gantry_tensor_shape(call->inputs[0])->dims[1];
    tensor **parts = gantry__train_alloc(2 * steps, sizeof *parts); /* inputs, outputs */
    if (!parts) {
        (void)gantry__train_hand_on(call->scope, GANTRY_RESOURCE_EXHAUSTED);
        return NULL;
    }
    tensor *output = run_steps(call, user, parts, steps);
    gantry__train_free((void *)parts);
    return gantry_scope_status(call->scope) == GANTRY_OK ? output : NULL;
}

/* ---- constructors ---- */

static bool take_activation(const char *kind, const gantry_activation_t *given,
                            gantry_activation_t otherwise, gantry_activation_t *out) {
    *out = given ? *given : otherwise;
    return gantry__layer_check_activation(kind, *out);
}

static bool take_options(const char *kind, const gantry_recurrent_options_t *options,
                         recurrent_t *k, const char **out_name) {
    gantry_recurrent_options_t o;
    if (gantry__train_options(options, sizeof o, &o, sizeof o, "gantry_recurrent_options_t") !=
        GANTRY_OK)
        return false;
    *out_name = o.name;
    k->has_bias = !o.no_bias;
    k->returns_sequences = o.return_sequences;
    k->goes_backwards = o.go_backwards;
    k->forgets_little = o.no_unit_forget_bias;
    k->resets_before = k->gates == 3 && o.reset_before;
    return take_activation(kind, o.activation, GANTRY_TANH, &k->activation) &&
           take_activation(kind, o.recurrent_activation, GANTRY_SIGMOID, &k->gate_activation) &&
           gantry__layer_initializer(o.kernel_initializer, GANTRY_INIT_GLOROT_UNIFORM,
                                     &k->kernel) &&
           gantry__layer_initializer(o.recurrent_initializer, GANTRY_INIT_ORTHOGONAL,
                                     &k->recurrent) &&
           gantry__layer_initializer(o.bias_initializer, GANTRY_INIT_ZEROS, &k->bias);
}

static gantry_layer_t *make_rnn(const char *name, recurrent_t k,
                                const gantry_recurrent_options_t *options) {
    const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                      .name = name,
                                      .build = rnn_build,
                                      .call = rnn_call,
                                      .release = gantry__layer_free_user};
    const char *layer_name;
    if (k.units <= 0) {
        (void)gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                 "layer %s: units is %lld; a positive number is accepted", name,
                                 (long long)k.units);
        return NULL;
    }
    if (!take_options(name, options, &k, &layer_name)) return NULL;
    if (k.resets_before) k.step = gru_step_reset_before;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof k, layer_name);
    if (!layer) return NULL;
    *(recurrent_t *)layer->user = k;
    layer->seeds_after = k.gates > 1 ? 1 : 0;
    return layer;
}

gantry_layer_t *gantry_simple_rnn(int64_t units, const gantry_recurrent_options_t *options) {
    return make_rnn("SimpleRNN", (recurrent_t){.units = units, .gates = 1, .step = simple_step},
                    options);
}

gantry_layer_t *gantry_lstm(int64_t units, const gantry_recurrent_options_t *options) {
    return make_rnn("LSTM", (recurrent_t){.units = units, .gates = 4, .step = lstm_step}, options);
}

gantry_layer_t *gantry_gru(int64_t units, const gantry_recurrent_options_t *options) {
    return make_rnn("GRU", (recurrent_t){.units = units, .gates = 3, .step = gru_step}, options);
}
