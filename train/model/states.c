/* SPDX-License-Identifier: Apache-2.0 */
/* States that recurrent layers keep from batch to batch. They are variables of the layer, not of
 * the model: no optimizer, checkpoint or summary has them, as in Keras. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/base/memory.h"
#include "train/model/model_state.h"

/* ---- making ---- */

static gantry_status_t check_stateful(const gantry_model_t *model, const gantry__member_t *member) {
    const gantry_layer_t *layer = member->layer;
    const int64_t rows = layer->states ? gantry_variable_shape(layer->states[0])->dims[0] : 0;
    if (model->replica_count > 1 || model->worker)
        return gantry__train_fail(
            GANTRY_UNIMPLEMENTED,
            "layer %s is stateful, and model %s has a strategy of %s; one device is accepted",
            gantry__member_name(member), model->name,
            model->worker ? "several processes" : "several devices");
    if (layer->states && model->batch_size != rows)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "layer %s is stateful, and has the states of batches of %lld; model %s has a batch_size of %lld",
            gantry__member_name(member), (long long)rows, model->name,
            (long long)model->batch_size);
    if (model->batch_size > 0) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "layer %s is stateful, and model %s takes batches of any size; a batch_size in gantry_model_options_t is accepted",
        gantry__member_name(member), model->name);
}

static gantry_status_t make_states(const gantry_model_t *model, gantry_layer_t *layer) {
    layer->states = gantry__train_alloc(layer->state_count, sizeof *layer->states);
    if (!layer->states) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    const gantry_tensor_t *zeros =
        gantry_zeros(scope, model->dtype, GANTRY_SHAPE(model->batch_size, layer->state_width));
    for (size_t i = 0; i < layer->state_count && zeros; ++i)
        layer->states[i] = gantry_variable_create(scope, zeros, "rnn_state");
    return gantry_scope_end(scope);
}

gantry_status_t gantry__model_make_states(gantry_model_t *model) {
    for (size_t i = 0; i < model->member_count; ++i) {
        gantry_layer_t *layer = model->members[i]->layer;
        if (layer->state_count == 0) continue;
        GANTRY__TRY(check_stateful(model, model->members[i]));
        if (layer->states) continue; /* another model made them */
        const gantry_status_t status = make_states(model, layer);
        if (status != GANTRY_OK) gantry__layer_release_states(layer);
        GANTRY__TRY(status);
    }
    return GANTRY_OK;
}

void gantry__layer_release_states(gantry_layer_t *layer) {
    for (size_t i = 0; layer->states && i < layer->state_count; ++i)
        gantry_variable_release(layer->states[i]);
    gantry__train_free((void *)layer->states);
    layer->states = NULL;
}

/* ---- use ---- */

gantry_variable_t *const *gantry__layer_states(const gantry_layer_call_t *call) {
    const gantry__model_run_t *run = call->run;
    return run && !run->builds ? run->model->values[run->value].member->layer->states : NULL;
}

gantry_observer_t *gantry__layer_observer(const gantry_layer_call_t *call, gantry_observer_t *out) {
    const gantry__model_run_t *run = call->run;
    return run && !run->builds ? gantry__numerics_observer(run->model->numerics, out) : NULL;
}

static gantry_status_t reset_states(const gantry_layer_t *layer) {
    gantry_scope_t *scope = gantry_scope_begin(layer->runtime, NULL);
    if (!scope) return gantry__train_no_scope(layer->runtime);
    for (size_t i = 0; i < layer->state_count; ++i) {
        gantry_variable_t *state = layer->states[i];
        (void)gantry_variable_assign(
            scope, state,
            gantry_zeros(scope, gantry_variable_dtype(state), *gantry_variable_shape(state)));
    }
    return gantry_scope_end(scope);
}

gantry_status_t gantry_layer_reset_states(gantry_layer_t *layer) {
    if (!layer) return gantry__train_fail_null(NULL, "gantry_layer_reset_states", "layer", "one");
    return layer->states ? reset_states(layer) : GANTRY_OK;
}

gantry_status_t gantry_model_reset_states(gantry_model_t *model) {
    GANTRY__TRY(gantry__model_check(model, "gantry_model_reset_states"));
    for (size_t i = 0; i < model->member_count; ++i)
        GANTRY__TRY(gantry_layer_reset_states(model->members[i]->layer));
    return GANTRY_OK;
}
