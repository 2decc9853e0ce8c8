/* SPDX-License-Identifier: Apache-2.0 */
/* Bidirectional: two runs over a sequence, from both ends, with weights of their own. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/layer/recurrent.h"

typedef const gantry_tensor_t tensor;
typedef gantry__recurrent_t recurrent_t;

typedef struct bidirectional_t {
    recurrent_t forward, backward;
    gantry_merge_t merge;
} bidirectional_t;

/* ---- weights ---- */

/* Seeds that Keras chooses when it makes a recurrent layer: its weights', and its generator's. */
static uint8_t seeds_of_one(const gantry_layer_t *layer, size_t weights) {
    uint8_t seeds = 1;
    for (size_t i = 0; i < weights; ++i)
        seeds = (uint8_t)(seeds + gantry__layer_takes_seed(&layer->weights[i]));
    return seeds;
}

/* Keras makes the layer that is given, then a copy for each direction. */
static void count_seeds(gantry_layer_t *layer, size_t each, const recurrent_t *k) {
    layer->weights[0].seeds_before =
        (uint8_t)(layer->weights[0].seeds_before + seeds_of_one(layer, each));
    if (k->gates == 1) return; /* its generator comes first: gantry__rnn_add_weights counts it */
    layer->weights[each].seeds_before = 1;
    layer->seeds_after = 1;
}

static gantry_status_t both_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                  size_t input_count, void *user) {
    const bidirectional_t *b = user;
    GANTRY__TRY(gantry__rnn_check_inputs(layer->kind.name, &b->forward, inputs, input_count, 2));
    GANTRY__TRY(gantry__rnn_add_weights(layer, &b->forward, inputs[0].dims[2], "forward/"));
    const size_t each = layer->weight_count;
    gantry__rnn_add_states(layer, &b->forward);
    gantry__rnn_add_states(layer, &b->backward);
    GANTRY__TRY(gantry__rnn_add_weights(layer, &b->backward, inputs[0].dims[2], "backward/"));
    count_seeds(layer, each, &b->forward);
    return GANTRY_OK;
}

/* ---- a call ---- */

static tensor *merge(gantry_scope_t *s, gantry_merge_t how, tensor *a, tensor *b) {
    tensor *both[] = {a, b};
    if (how == GANTRY_MERGE_CONCAT) return gantry_concat(s, both, 2, -1);
    if (how == GANTRY_MERGE_MUL) return gantry_mul(s, a, b);
    tensor *sum = gantry_add(s, a, b);
    if (how == GANTRY_MERGE_SUM || !sum) return sum;
    return gantry_mul(s, sum, gantry__train_constant(s, gantry_tensor_dtype(sum), 0.5));
}

/* Sets the outputs of masked steps to zeros, if no first states were given. */
static tensor *clear_masked(const gantry_layer_call_t *call, tensor *y) {
    gantry_scope_t *s = call->scope;
    if (!call->masks[0] || call->input_count > 1 || !y) return y;
    return gantry_select(s, gantry_expand_dims(s, call->masks[0], -1), y,
                         gantry__train_constant(s, gantry_tensor_dtype(y), 0));
}

static tensor *both_call(const gantry_layer_call_t *call, void *user) {
    static const int32_t steps = 1;
    const bidirectional_t *b = user;
    const size_t each = call->weight_count / 2, states = gantry__rnn_states(&b->forward);
    tensor *const *first = call->input_count > 1 ? call->inputs + 1 : NULL;
    tensor *one[1 + GANTRY__RNN_MOST_STATES], *other[1 + GANTRY__RNN_MOST_STATES];
    const gantry__rnn_start_t start = {.states = first},
                              other_start = {.states = first ? first + states : NULL,
                                             .first_kept = states};
    if (!gantry__rnn_run(call, &b->forward, call->weights, &start, one) ||
        !gantry__rnn_run(call, &b->backward, call->weights + each, &other_start, other))
        return NULL;
    for (size_t i = 0; b->forward.returns_state && i < states; ++i) {
        call->more_outputs[i] = one[1 + i];
        call->more_outputs[states + i] = other[1 + i];
    }
    if (!b->forward.returns_sequences) return merge(call->scope, b->merge, one[0], other[0]);
    *call->mask = call->masks[0];
    other[0] = gantry_reverse(call->scope, other[0], &steps, 1);
    return clear_masked(call, merge(call->scope, b->merge, one[0], other[0]));
}

/* ---- the constructor ---- */

static bool check_given(const gantry_layer_t *layer, gantry_merge_t how) {
    if (!layer) return false; /* its constructor left a text */
    if (!gantry__rnn_of(layer))
        (void)gantry__train_refuse(
            NULL,
            "gantry_bidirectional: the layer is a %s; SimpleRNN, LSTM and GRU "
            "are accepted",
            layer->kind.name);
    else if (gantry__rnn_of(layer)->goes_backwards)
        (void)gantry__train_refuse(
            NULL,
            "gantry_bidirectional: the layer has go_backwards; one that reads "
            "forwards is accepted");
    else if ((unsigned)how > GANTRY_MERGE_AVE)
        (void)gantry__train_refuse(
            NULL,
            "gantry_bidirectional: merge is %d; GANTRY_MERGE_CONCAT to GANTRY_MERGE_AVE are accepted",
            (int)how);
    else if (gantry__regularizes(&layer->activity))
        (void)gantry__train_refuse(
            NULL,
            "gantry_bidirectional: the layer has an activity regularizer; a Bidirectional takes one by gantry_layer_set_activity_regularizer");
    else
        return true;
    return false;
}

/* Both directions have the regularizers and constraints of the layer. */
static gantry_layer_t *with_rules(gantry_layer_t *made, const gantry_layer_t *layer) {
    if (!made) return NULL;
    gantry_status_t status = gantry__layer_copy_rules(made, layer, "forward/");
    if (status == GANTRY_OK) status = gantry__layer_copy_rules(made, layer, "backward/");
    if (status == GANTRY_OK) return made;
    gantry_layer_release(made);
    return NULL;
}

gantry_layer_t *gantry_bidirectional(gantry_layer_t *layer, gantry_merge_t how, const char *name) {
    gantry_layer_kind_t kind = GANTRY__LAYER_KIND("Bidirectional", both_build, both_call);
    gantry_layer_t *made = NULL;
    if (check_given(layer, how)) {
        bidirectional_t b = {.forward = *gantry__rnn_of(layer), .merge = how};
        b.backward = b.forward;
        b.backward.goes_backwards = true;
        if (b.forward.returns_state) kind.output_count = 1 + 2 * gantry__rnn_states(&b.forward);
        made = gantry__layer_make(&kind, sizeof b, name);
        if (made) *(bidirectional_t *)made->user = b;
        made = with_rules(made, layer);
    }
    if (!made) {
        gantry_layer_release(layer);
        return NULL;
    }
    if (layer->is_taken) ++layer->references; /* of a model, which keeps its own */
    made->inner = layer;
    return made;
}

bool gantry__is_bidirectional(const gantry_layer_t *layer) { return layer->kind.call == both_call; }
