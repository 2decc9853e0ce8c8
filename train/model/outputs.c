/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of a model, and their components of a batch:
 *
 *     inputs | labels of each output with a loss or metrics | weights: none, one, or one each */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/model/model_state.h"

const char *gantry__model_output_name(const gantry_model_t *model, size_t output) {
    const char *block = gantry__nested_name(model, (size_t)model->outputs[output]);
    return block ? block : gantry__member_name(model->values[model->outputs[output]].member);
}

void gantry__model_choose_output(gantry_model_t *model) {
    const size_t last = model->value_count - 1;
    if (model->output_count > 0) return;
    model->outputs[0] = (int32_t)(last - model->values[last].part);
    model->output_count = 1;
}

gantry_status_t gantry__model_check_compiled(const gantry_model_t *model, const char *call) {
    if (model->refusal) return gantry__train_fail(model->refusal_status, "%s", model->refusal);
    if (!model->is_compiled)
        return gantry__train_fail(GANTRY_FAILED_PRECONDITION, "%s: model %s is not compiled", call,
                                  model->name);
    if (model->output_count == 0 || model->output_count == model->target_count) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_FAILED_PRECONDITION,
        "%s: model %s is compiled for %zu outputs, and has %zu; gantry_model_set_outputs comes before gantry_model_compile",
        call, model->name, model->target_count, model->output_count);
}

/* Counts the components after the labels that are weights of samples; further ones are ignored. */
static size_t count_weights(const gantry_model_t *model, size_t count) {
    const size_t plain = model->input_count + model->label_count;
    if (count <= plain) return 0;
    return count - plain > model->label_count ? model->label_count : count - plain;
}

size_t gantry__model_weight_count(const gantry_model_t *model, gantry__step_mode_t step,
                                  size_t count) {
    return step == GANTRY__STEP_PREDICT ? 0 : count_weights(model, count);
}

gantry_status_t gantry__model_check_count(const gantry_model_t *model, gantry__step_mode_t step,
                                          size_t count) {
    const size_t labels = step == GANTRY__STEP_PREDICT ? 0 : model->label_count;
    const size_t weights = gantry__model_weight_count(model, step, count);
    char text[64] = "";
    if (labels > 1) (void)snprintf(text, sizeof text, ", and labels of %zu outputs,", labels);
    if (count < model->input_count + labels)
        return gantry__train_fail(GANTRY_INVALID_ARGUMENT,
                                  "model %s: a batch has %zu components; %zu inputs%s are accepted",
                                  model->name, count, model->input_count,
                                  labels == 1 ? ", and labels," : text);
    const size_t most = model->input_count + labels + weights;
    if (step != GANTRY__STEP_PREDICT && count > most)
        return gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "model %s: a batch has %zu components; at most %zu are accepted: inputs, labels, weights of samples",
            model->name, count, most);
    if (weights <= 1 || weights == labels) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "model %s: a batch has %zu components, %zu of them weights of samples; none, 1 for all outputs, or 1 for each of %zu are accepted",
        model->name, count, weights, labels);
}

size_t gantry__model_used_components(const gantry_model_t *model, gantry__step_mode_t step,
                                     size_t count) {
    if (step == GANTRY__STEP_PREDICT) return model->input_count;
    return model->input_count + model->label_count + count_weights(model, count);
}

size_t gantry__model_weights_of(const gantry_model_t *model, size_t target, size_t weight_count) {
    if (weight_count == 0) return 0;
    const size_t first = model->input_count + model->label_count;
    return weight_count == 1 ? first : first + model->targets[target].label;
}

size_t gantry__model_output_of(const gantry_model_t *model, size_t component) {
    const size_t behind = component - model->input_count;
    const size_t place = behind < model->label_count ? behind : behind - model->label_count;
    for (size_t t = 0; t < model->target_count; ++t) {
        if (model->targets[t].has_labels && model->targets[t].label == place) return t;
    }
    return 0;
}
