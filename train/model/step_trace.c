/* SPDX-License-Identifier: Apache-2.0 */
/* Tracing the function of a step for the first batch and for one that differs, and calling it for
 * each one. */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/model/batch.h"
#include "train/model/step.h"
#include "train/model/worker.h"

typedef const gantry_tensor_t tensor;

static size_t output_count(const gantry_model_t *model, gantry__step_mode_t step) {
    if (step == GANTRY__STEP_PREDICT) return model->net.output_count;
    return step == GANTRY__STEP_TRAIN && model->replicas.worker ? 1 : 0;
}

/* Rows are open, and what is open in the model: of labels and weights, sizes of their output. */
static gantry_input_spec_t step_spec_of(const gantry_model_t *model, const gantry_array_t *array,
                                        size_t component) {
    const gantry__network_t *net = &model->net;
    const size_t v = component < net->input_count
                         ? component
                         : (size_t)net->outputs[gantry__model_output_of(model, component)];
    const gantry__model_value_t *value = &net->values[v];
    gantry_input_spec_t spec = {
        .dtype = gantry__model_component_type(model, component, array->dtype),
        .shape = array->shape};
    spec.shape.dims[0] = -1;
    for (int32_t d = 1; d < spec.shape.rank && d < value->shape.rank; ++d) {
        if (value->shape.dims[d] < 0) spec.shape.dims[d] = -1;
    }
    return spec;
}

static gantry_status_t trace_step(gantry_model_t *model, gantry__step_mode_t step,
                                  const gantry_array_t *batch, size_t count) {
    static const char *const names[] = {"train_step", "test_step", "predict_step"};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = model->program.runs_eagerly};
    gantry__step_body_t *body = &model->program.bodies[step];
    *body = (gantry__step_body_t){.model = model,
                                  .step = step,
                                  .weight_count = gantry__model_weight_count(model, step, count),
                                  .rows = batch[0].shape.dims[0]};
    body->spec_count = count;
    for (size_t i = 0; i < count; ++i) body->specs[i] = step_spec_of(model, &batch[i], i);
    if (model->replicas.worker && step != GANTRY__STEP_PREDICT)
        body->specs[count++] = (gantry_input_spec_t){.name = "share", .dtype = model->dtype};
    return gantry_function_trace(model->runtime, names[step], gantry__step_body, body, body->specs,
                                 count, output_count(model, step), &options,
                                 &model->program.steps[step]);
}

/* The step's inputs, whose number becomes *count: arrays, then this process's share. */
static void step_make_inputs(const gantry_model_t *model, gantry_scope_t *scope,
                             const gantry_array_t *batch, const double *share, size_t *count,
                             tensor **out_inputs) {
    for (size_t i = 0; i < *count; ++i)
        out_inputs[i] = gantry__model_make_component(model, scope, &batch[i], i);
    if (share) out_inputs[(*count)++] = gantry__train_constant(scope, model->dtype, *share);
}

/* Forgets a step, because a first batch that does not fit says nothing about the next one. */
static void forget_step(gantry_model_t *model, gantry__step_mode_t step) {
    gantry_function_release(model->program.steps[step]);
    model->program.steps[step] = NULL;
}

/* Whether the step was traced for batches like this one: with weights of samples or without them,
 * of these types and shapes. */
static bool is_traced_for(const gantry_model_t *model, gantry__step_mode_t step,
                          const gantry_array_t *batch, size_t count) {
    const gantry__step_body_t *body = &model->program.bodies[step];
    bool fits = model->program.steps[step] && body->spec_count == count;
    for (size_t i = 0; i < count && fits; ++i)
        fits = gantry__model_component_type(model, i, batch[i].dtype) == body->specs[i].dtype &&
               gantry__batch_fits_spec(&body->specs[i], &batch[i].shape);
    return fits;
}

/* The shapes in an error of a trace are those of this process's rows. */
static void say_rows(gantry_scope_t *scope, int64_t rows, int64_t all) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    const gantry_status_t status = gantry_scope_status(scope);
    if (status != GANTRY_INVALID_ARGUMENT || rows == all) return;
    (void)snprintf(text, sizeof text, "%s (this process has %lld of the batch's %lld rows)",
                   gantry_scope_message(scope), (long long)rows, (long long)all);
    gantry_scope_clear(scope);
    (void)gantry_scope_fail(scope, status, text);
}

gantry_status_t gantry__model_step(gantry_model_t *model, gantry__step_mode_t step,
                                   gantry_scope_t *scope, const gantry_array_t *batch, size_t count,
                                   const gantry_tensor_t **out_results) {
    tensor *inputs[GANTRY_MAX_COMPONENTS + 1];
    gantry_array_t part[GANTRY_MAX_COMPONENTS];
    const bool is_shared = model->replicas.worker && step != GANTRY__STEP_PREDICT;
    const int64_t all = batch[0].shape.dims[0];
    double share;
    if (is_shared) {
        if (gantry__worker_take_rows(model->replicas.worker, batch, count, part, &share) == 0)
            return GANTRY_OK;
        batch = part;
    }
    const bool is_new = !is_traced_for(model, step, batch, count);
    if (is_new) {
        forget_step(model, step);
        GANTRY__TRY(trace_step(model, step, batch, count));
    }
    step_make_inputs(model, scope, batch, is_shared ? &share : NULL, &count, inputs);
    const gantry_status_t status = gantry_function_call(
        scope, model->program.steps[step], inputs, count, out_results, output_count(model, step));
    if (status != GANTRY_OK && is_new) {
        forget_step(model, step);
        say_rows(scope, batch[0].shape.dims[0], all);
    }
    return status;
}
