/* SPDX-License-Identifier: Apache-2.0 */
/* SimpleRNN, LSTM and GRU: their weights, inputs and options. */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/layer/recurrent.h"

typedef const gantry_tensor_t tensor;
typedef gantry__recurrent_t recurrent_t;

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

static gantry_status_t add_bias(gantry_layer_t *layer, const recurrent_t *k, const char *name) {
    const int64_t width = k->gates * k->units;
    const gantry_shape_t shape =
        gantry__rnn_has_two_biases(k) ? GANTRY_SHAPE(2, width) : GANTRY_SHAPE(width);
    GANTRY__TRAIN_TRY(gantry_layer_add_weight(layer, name, shape, &k->bias, true));
    if (k->gates == 4 && !k->forgets_little)
        layer->weights[layer->weight_count - 1].make = make_lstm_bias;
    return GANTRY_OK;
}

gantry_status_t gantry__rnn_add_weights(gantry_layer_t *layer, const recurrent_t *k,
                                        int64_t features, const char *prefix) {
    const int64_t width = k->gates * k->units;
    char kernel[64], recurrent[64], bias[64];
    (void)snprintf(kernel, sizeof kernel, "%skernel", prefix);
    (void)snprintf(recurrent, sizeof recurrent, "%srecurrent_kernel", prefix);
    (void)snprintf(bias, sizeof bias, "%sbias", prefix);
    GANTRY__TRAIN_TRY(
        gantry_layer_add_weight(layer, kernel, GANTRY_SHAPE(features, width), &k->kernel, true));
    /* Keras makes a SimpleRNN's generator before its initialisers, and others' after them. */
    if (k->gates == 1) layer->weights[layer->weight_count - 1].seeds_before = 1;
    GANTRY__TRAIN_TRY(gantry_layer_add_weight(layer, recurrent, GANTRY_SHAPE(k->units, width),
                                              &k->recurrent, true));
    return k->has_bias ? add_bias(layer, k, bias) : GANTRY_OK;
}

/* ---- inputs ---- */

static gantry_status_t check_state(const char *kind, const recurrent_t *k,
                                   const gantry_shape_t *state, size_t index) {
    char text[256];
    if (state->rank == 2 && state->dims[1] == k->units) return GANTRY_OK;
    (void)gantry_shape_format(state, text, sizeof text);
    return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                              "layer %s: first state %zu has shape %s; [batch, %lld] is accepted",
                              kind, index, text, (long long)k->units);
}

gantry_status_t gantry__rnn_check_inputs(const char *kind, const recurrent_t *k,
                                         const gantry_shape_t *inputs, size_t input_count,
                                         size_t directions) {
    const size_t states = directions * gantry__rnn_states(k);
    if (input_count != 1 && input_count != 1 + states)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer %s has %zu inputs; 1, or %zu with the first states, are accepted", kind,
            input_count, 1 + states);
    GANTRY__TRAIN_TRY(gantry__layer_check_rank(kind, inputs, 1, 3, 3));
    if (inputs[0].dims[1] < 0 && k->unroll == GANTRY_ON)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer %s: the number of time steps is not known; one that is known is accepted if they are unrolled",
            kind);
    if (inputs[0].dims[1] == 0)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer %s: the input has %lld time steps; 1 and more are accepted", kind,
            (long long)inputs[0].dims[1]);
    if (k->unroll == GANTRY_ON && inputs[0].dims[1] > GANTRY__RNN_MOST_STEPS)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer %s: the input has %lld time steps; 1 to %d are accepted if they are unrolled",
            kind, (long long)inputs[0].dims[1], GANTRY__RNN_MOST_STEPS);
    for (size_t i = 1; i < input_count; ++i)
        GANTRY__TRAIN_TRY(check_state(kind, k, &inputs[i], i - 1));
    return GANTRY_OK;
}

void gantry__rnn_add_states(gantry_layer_t *layer, const recurrent_t *k) {
    if (!k->is_stateful) return;
    layer->states.count += gantry__rnn_states(k);
    layer->states.width = k->units;
}

static gantry_status_t rnn_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                 size_t input_count, void *user) {
    const char *kind = layer->kind.name;
    GANTRY__TRAIN_TRY(gantry__rnn_check_inputs(kind, user, inputs, input_count, 1));
    gantry__rnn_add_states(layer, user);
    return gantry__rnn_add_weights(layer, user, inputs[0].dims[2], "");
}

static tensor *rnn_call(const gantry_layer_call_t *call, void *user) {
    const recurrent_t *k = user;
    tensor *out[1 + GANTRY__RNN_MOST_STATES];
    const gantry__rnn_start_t start = {.states = call->input_count > 1 ? call->inputs + 1 : NULL};
    if (!gantry__rnn_run(call, k, call->weights, &start, out)) return NULL;
    *call->mask = k->returns_sequences ? call->masks[0] : NULL;
    for (size_t i = 0; k->returns_state && i < gantry__rnn_states(k); ++i)
        call->more_outputs[i] = out[1 + i];
    return out[0];
}

const recurrent_t *gantry__rnn_of(const gantry_layer_t *layer) {
    return layer->kind.call == rnn_call ? layer->user : NULL;
}

/* ---- constructors ---- */

static bool take_activation(const char *kind, const gantry_activation_t *given,
                            gantry_activation_t otherwise, gantry_activation_t *out) {
    *out = given ? *given : otherwise;
    return gantry__layer_check_activation(kind, *out);
}

static bool take_rate(const char *kind, const char *what, double rate, double *out) {
    *out = rate;
    if (rate >= 0 && rate < 1) return true;
    (void)gantry__train_fail(GANTRY_INVALID_ARGUMENT, "layer %s: %s is %g; [0, 1) is accepted",
                             kind, what, rate);
    return false;
}

static bool take_unroll(const char *kind, gantry_choice_t unroll) {
    if ((unsigned)unroll <= GANTRY_ON) return true;
    (void)gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "layer %s: unroll is %d; GANTRY_DEFAULT, GANTRY_OFF and GANTRY_ON are accepted", kind,
        (int)unroll);
    return false;
}

static bool rnn_take_options(const char *kind, const gantry_recurrent_options_t *options,
                             recurrent_t *k, const char **out_name) {
    gantry_recurrent_options_t o;
    if (gantry__train_options(options, sizeof o, &o, sizeof o, "gantry_recurrent_options_t") !=
        GANTRY_OK)
        return false;
    *out_name = o.name;
    k->has_bias = !o.no_bias;
    k->returns_sequences = o.return_sequences;
    k->returns_state = o.return_state;
    k->goes_backwards = o.go_backwards;
    k->forgets_little = o.no_unit_forget_bias;
    k->resets_before = k->gates == 3 && o.reset_before;
    k->is_stateful = o.stateful;
    k->unroll = o.unroll;
    for (unsigned char i = 0; i < GANTRY__LOOP_FORMS; ++i) k->forms[i] = i;
    return take_unroll(kind, o.unroll) && take_rate(kind, "dropout", o.dropout, &k->dropout) &&
           take_rate(kind, "recurrent_dropout", o.recurrent_dropout, &k->recurrent_dropout) &&
           take_activation(kind, o.activation, GANTRY_TANH, &k->activation) &&
           take_activation(kind, o.recurrent_activation, GANTRY_SIGMOID, &k->gate_activation) &&
           gantry__layer_initializer(o.kernel_initializer, GANTRY_INIT_GLOROT_UNIFORM,
                                     &k->kernel) &&
           gantry__layer_initializer(o.recurrent_initializer, GANTRY_INIT_ORTHOGONAL,
                                     &k->recurrent) &&
           gantry__layer_initializer(o.bias_initializer, GANTRY_INIT_ZEROS, &k->bias);
}

static gantry_layer_t *make_rnn(const char *name, recurrent_t k,
                                const gantry_recurrent_options_t *options) {
    gantry_layer_kind_t kind = GANTRY__LAYER_KIND_OF(name, rnn_build, rnn_call, false);
    const char *layer_name;
    if (k.units <= 0) {
        (void)gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                 "layer %s: units is %lld; a positive number is accepted", name,
                                 (long long)k.units);
        return NULL;
    }
    if (!rnn_take_options(name, options, &k, &layer_name)) return NULL;
    if (k.resets_before) k.step = gantry__rnn_gru_step_reset_before;
    if (k.returns_state) kind.output_count = 1 + gantry__rnn_states(&k);
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof k, layer_name);
    if (!layer) return NULL;
    *(recurrent_t *)layer->user = k;
    layer->seeds_after = k.gates > 1 ? 1 : 0;
    return layer;
}

gantry_layer_t *gantry_simple_rnn(int64_t units, const gantry_recurrent_options_t *options) {
    return make_rnn("SimpleRNN",
                    (recurrent_t){.units = units, .gates = 1, .step = gantry__rnn_simple_step},
                    options);
}

gantry_layer_t *gantry_lstm(int64_t units, const gantry_recurrent_options_t *options) {
    return make_rnn(
        "LSTM", (recurrent_t){.units = units, .gates = 4, .step = gantry__rnn_lstm_step}, options);
}

gantry_layer_t *gantry_gru(int64_t units, const gantry_recurrent_options_t *options) {
    return make_rnn("GRU", (recurrent_t){.units = units, .gates = 3, .step = gantry__rnn_gru_step},
                    options);
}
