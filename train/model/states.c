/* SPDX-License-Identifier: Apache-2.0 */
/* States that recurrent layers keep from batch to batch. They are variables of the layer, not of
 * the model: no optimizer, checkpoint or summary has them, as in Keras. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/model_state.h"

/* ---- making ---- */

static gantry_status_t check_stateful(const gantry_model_t *model, const gantry__member_t *member) {
    const gantry_layer_t *layer = member->layer;
    const int64_t rows =
        layer->states.variables ? gantry_variable_shape(layer->states.variables[0])->dims[0] : 0;
    if (model->replicas.count > 1 || model->replicas.worker)
        return gantry__train_fail(
            GANTRY_UNIMPLEMENTED,
            "layer %s is stateful, and model %s has a strategy of %s; one device is accepted",
            gantry__member_name(member), model->name,
            model->replicas.worker ? "several processes" : "several devices");
    if (layer->states.variables && model->net.batch_size != rows)
        return gantry__train_refuse(
            NULL,
            "layer %s is stateful, and has the states of batches of %lld; model %s has a batch_size of %lld",
            gantry__member_name(member), (long long)rows, model->name,
            (long long)model->net.batch_size);
    if (model->net.batch_size > 0) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "layer %s is stateful, and model %s takes batches of any size; a batch_size in gantry_model_options_t is accepted",
        gantry__member_name(member), model->name);
}

static gantry_status_t make_states(const gantry_model_t *model, gantry_layer_t *layer) {
    layer->states.variables = gantry__alloc(layer->states.count, sizeof *layer->states.variables);
    if (!layer->states.variables) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_scope_t *scope = gantry__model_scope(model, NULL, 0);
    if (!scope) return gantry__train_no_scope(model->runtime);
    const gantry_tensor_t *zeros =
        gantry_zeros(scope, model->dtype, GANTRY_SHAPE(model->net.batch_size, layer->states.width));
    for (size_t i = 0; i < layer->states.count && zeros; ++i)
        layer->states.variables[i] = gantry_variable_create(scope, zeros, "rnn_state");
    return gantry_scope_end(scope);
}

gantry_status_t gantry__model_make_states(gantry_model_t *model) {
    for (size_t i = 0; i < model->net.member_count; ++i) {
        gantry_layer_t *layer = model->net.members[i]->layer;
        if (layer->states.count == 0) continue;
        GANTRY__TRY(check_stateful(model, model->net.members[i]));
        if (layer->states.variables) continue; /* another model made them */
        const gantry_status_t status = make_states(model, layer);
        if (status != GANTRY_OK) gantry__layer_release_states(layer);
        GANTRY__TRY(status);
    }
    return GANTRY_OK;
}

gantry_status_t gantry_model_reset_states(gantry_model_t *model) {
    GANTRY__TRY(gantry__model_check(model, "gantry_model_reset_states"));
    for (size_t i = 0; i < model->net.member_count; ++i)
        GANTRY__TRY(gantry_layer_reset_states(model->net.members[i]->layer));
    return GANTRY_OK;
}
