/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the layers of a model in a scope: to compute, to record, or to build. */
#include <stdio.h>
#include <string.h>

#include <gantry_train/tape.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/batch.h"
#include "train/model/run.h"

gantry_scope_t *gantry__model_scope(const gantry_model_t *model, gantry_scope_t *parent,
                                    size_t replica) {
    const char *device = model->replicas.devices[replica];
    return parent ? gantry__train_begin_on(parent, device)
                  : gantry_scope_begin(model->runtime, device);
}

gantry_status_t gantry__run_init(gantry__model_run_t *run, gantry_model_t *model) {
    const size_t variables = model->net.variable_count, values = model->net.value_count;
    size_t widest = 1;
    *run = (gantry__model_run_t){
        .model = model, .of_layer = {.dtype = model->dtype, .generator = gantry__run_generator}};
    (void)gantry__numerics_observer(model->state.numerics, &run->of_layer.observer);
    for (size_t i = 0; i < values; ++i) {
        if (model->net.values[i].input_count > widest) widest = model->net.values[i].input_count;
    }
    run->weights = gantry__alloc(2 * (variables + values + widest), sizeof *run->weights);
    if (!run->weights) return GANTRY_RESOURCE_EXHAUSTED;
    run->updates = run->weights + variables;
    run->values = run->updates + variables;
    run->masks = run->values + values;
    run->layer_inputs = run->masks + values;
    run->layer_masks = run->layer_inputs + widest;
    return GANTRY_OK;
}

void gantry__run_deinit(gantry__model_run_t *run) { gantry__free((void *)run->weights); }

void gantry__run_read_weights(gantry__model_run_t *run) {
    for (size_t i = 0; i < run->model->net.variable_count; ++i)
        run->weights[i] =
            gantry_variable_read(run->scope, run->model->net.variables[i].copies[run->replica]);
}

/* ---- one value ---- */

/* By Keras's rule, the batch is the first dimension of an output. */
static void regularize_outputs(gantry__model_run_t *run, size_t v) {
    const gantry_layer_t *layer = run->model->net.values[v].member->layer;
    gantry_scope_t *scope = run->scope;
    if (!gantry__regularizes(&layer->activity)) return;
    for (size_t i = 0; i < gantry__layer_outputs(layer); ++i) {
        const gantry_tensor_t *output = run->values[v + i], *loss;
        if (!output || !(loss = gantry_regularizer_loss(scope, &layer->activity, output))) return;
        if (gantry_tensor_shape(output)->rank > 0)
            loss = gantry_div(scope, loss,
                              gantry__train_constant(scope, gantry_tensor_dtype(loss),
                                                     (double)gantry_tensor_shape(output)->dims[0]));
        run->activity_loss =
            run->activity_loss ? gantry_add(scope, run->activity_loss, loss) : loss;
    }
}

/* Fills the values and the mask of a call's outputs. A layer that is applied again has the weights
 * that the call before left. */
static void call_layer(gantry__model_run_t *run, size_t v, const gantry_tensor_t **weights,
                       const gantry_tensor_t **updates) {
    const gantry__model_value_t *value = &run->model->net.values[v];
    const gantry_layer_t *layer = value->member->layer;
    const gantry_layer_call_t call = {.scope = run->scope,
                                      .inputs = run->layer_inputs,
                                      .input_count = value->input_count,
                                      .weights = weights,
                                      .weight_count = layer->weight_count,
                                      .training = run->training,
                                      .updates = updates,
                                      .run = &run->of_layer,
                                      .is_frozen = value->member->is_frozen,
                                      .masks = run->layer_masks,
                                      .mask = &run->masks[v],
                                      .more_outputs = &run->values[v] + 1};
    run->of_layer.states = run->builds ? NULL : layer->states.variables;
    if (layer->kind.passes_masks) run->masks[v] = run->layer_masks[0];
    run->values[v] = gantry__layer_call(layer, &call);
    if (run->regularizes || run->builds) regularize_outputs(run, v);
    for (size_t i = 0; i < layer->weight_count; ++i) {
        if (updates[i]) weights[i] = gantry_stop_gradient(run->scope, updates[i]);
    }
    for (size_t i = 0; i < value->input_count && layer->applied.ends_masks; ++i)
        run->masks[value->inputs[i]] = NULL;
}

/* ---- building ---- */

/* A build runs with a batch of 2; shapes are shown with -1. So are sizes that differ from those of
 * the twin: they follow from an open size. */
static gantry_shape_t as_open(const gantry_tensor_t *tensor, const gantry_tensor_t *twin) {
    gantry_shape_t shape = *gantry_tensor_shape(tensor);
    if (shape.rank > 0) shape.dims[0] = -1;
    for (int32_t d = 1; twin && d < shape.rank && d < gantry_tensor_shape(twin)->rank; ++d) {
        if (gantry_tensor_shape(twin)->dims[d] != shape.dims[d]) shape.dims[d] = -1;
    }
    return shape;
}

static gantry_status_t build_layer(gantry__model_run_t *run, const gantry__model_value_t *value) {
    gantry_layer_t *layer = value->member->layer;
    if (layer->is_built || !layer->kind.build) return GANTRY_OK;
    gantry_shape_t *shapes = gantry__alloc(value->input_count, sizeof *shapes);
    if (!shapes) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < value->input_count; ++i)
        shapes[i] = run->model->net.values[value->inputs[i]].shape;
    gantry__train_expect_text();
    gantry_status_t status;
    {
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        status = layer->kind.build(layer, shapes, value->input_count, layer->user);
    }
    gantry__free(shapes);
    return gantry__train_told(status, "build");
}

/* Zeros for each weight; the caller frees the arrays. */
static gantry_status_t run_make_zeros(gantry__model_run_t *run, gantry_layer_t *layer,
                                      const gantry_tensor_t ***out_weights) {
    *out_weights = gantry__alloc(2 * layer->weight_count + 1, sizeof **out_weights);
    if (!*out_weights) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < layer->weight_count; ++i)
        (*out_weights)[i] = gantry_zeros(run->scope, run->model->dtype, layer->weights[i].shape);
    return GANTRY_OK;
}

static void build_value(gantry__model_run_t *run, size_t v) {
    gantry__model_value_t *value = &run->model->net.values[v];
    gantry_layer_t *layer = value->member->layer;
    const gantry_tensor_t **weights = NULL;
    gantry_status_t status = build_layer(run, value);
    if (status == GANTRY_OK) status = gantry__layer_check_rules(layer);
    if (status == GANTRY_OK) status = run_make_zeros(run, layer, &weights);
    if (status == GANTRY_OK) call_layer(run, v, weights, weights + layer->weight_count);
    if (run->twin && run->values[v]) {
        call_layer(run->twin, v, weights, weights + layer->weight_count);
        if (!run->twin->values[v]) run->values[v] = NULL;
    }
    for (size_t i = 0; i < gantry__layer_outputs(layer); ++i) {
        if (run->values[v + i])
            value[i].shape =
                as_open(run->values[v + i], run->twin ? run->twin->values[v + i] : NULL);
    }
    gantry__free((void *)weights);
    layer->is_built = true;
    if (status != GANTRY_OK) (void)gantry__train_hand_on(run->scope, status);
}

/* ---- all values ---- */

/* Texts of ops have the sizes of a build, which the program does not know, or numbers of elements
 * that follow from them; a layer's own text says that a size is not known. */
static void say_sizes(const gantry__model_run_t *run, const char *text, char *out, size_t room) {
    *out = '\0';
    if (strstr(text, "not known")) return;
    for (size_t i = 0; run->twin && i < run->model->net.input_count; ++i) {
        const gantry_shape_t *shape = &run->model->net.values[i].shape;
        for (int32_t d = 1; d < shape->rank; ++d) {
            if (shape->dims[d] >= 0) continue;
            (void)snprintf(out, room, " (%lld and %lld stand for sizes that are not known)",
                           (long long)gantry_tensor_shape(run->inputs[i])->dims[d],
                           (long long)gantry_tensor_shape(run->twin->inputs[i])->dims[d]);
            return;
        }
    }
}

static void say_layer(gantry__model_run_t *run, const gantry__model_value_t *value) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES], sizes[128];
    const gantry_status_t status = gantry_scope_status(run->scope);
    if (status == GANTRY_OK) {
        (void)gantry__train_refuse(run->scope, "layer %s returns no tensor",
                                   gantry__member_name(value->member));
        return;
    }
    say_sizes(run, gantry_scope_message(run->scope), sizes, sizeof sizes);
    (void)snprintf(text, sizeof text, "layer %s: %s%s", gantry__member_name(value->member),
                   gantry_scope_message(run->scope), sizes);
    gantry_scope_clear(run->scope);
    (void)gantry_scope_fail(run->scope, status, text);
}

static void run_take_inputs(gantry__model_run_t *run, size_t v) {
    const gantry__model_value_t *value = &run->model->net.values[v];
    run->value = v;
    for (size_t i = 0; i < value->input_count; ++i) {
        run->layer_inputs[i] = run->values[value->inputs[i]];
        run->layer_masks[i] = run->masks[value->inputs[i]];
    }
}

static void run_value(gantry__model_run_t *run, size_t v) {
    const gantry__model_value_t *value = &run->model->net.values[v];
    run_take_inputs(run, v);
    if (run->twin) run_take_inputs(run->twin, v);
    if (run->builds)
        build_value(run, v);
    else
        call_layer(run, v, run->weights + value->member->first_variable,
                   run->updates + value->member->first_variable);
}

bool gantry__run_value(gantry__model_run_t *run, size_t v) {
    const gantry__model_value_t *value = &run->model->net.values[v];
    gantry__numerics_set_layer(run->model->state.numerics, gantry__member_name(value->member));
    if (value->part == 0) run_value(run, v);
    if (run->values[v] && gantry_scope_status(run->scope) == GANTRY_OK) return true;
    say_layer(run, value);
    return false;
}

const gantry_tensor_t *gantry__run_layers(gantry__model_run_t *run) {
    gantry_model_t *model = run->model;
    if (gantry_scope_status(run->scope) != GANTRY_OK) return NULL; /* inputs may be NULL */
    for (size_t v = 0; v < model->net.value_count; ++v) {
        if (model->net.values[v].member) {
            if (!gantry__run_value(run, v)) return NULL;
            continue;
        }
        run->values[v] = run->inputs[v];
        if (run->twin) run->twin->values[v] = run->twin->inputs[v];
    }
    gantry__numerics_set_layer(model->state.numerics, NULL);
    return run->values[model->net.outputs[0]];
}

/* ---- the public call ---- */

static gantry_status_t run_check_input(const gantry_model_t *model, gantry_scope_t *scope, size_t i,
                                       const gantry_shape_t *given) {
    char text[256], wanted[256];
    if (gantry__model_takes_shape(model, i, given)) return GANTRY_OK;
    (void)gantry_shape_format(given, text, sizeof text);
    (void)gantry_shape_format(&model->net.values[i].shape, wanted, sizeof wanted);
    return gantry__train_refuse(scope, "model %s: input %zu has shape %s; %s is accepted",
                                model->name, i, text, wanted);
}

static gantry_status_t run_check_inputs(const gantry_model_t *model, gantry_scope_t *scope,
                                        const gantry_tensor_t *const *inputs, size_t count) {
    if (!inputs)
        return gantry__train_refuse(scope, "model %s: the inputs are NULL; %zu are accepted",
                                    model->name, model->net.input_count);
    if (count != model->net.input_count)
        return gantry__train_refuse(scope, "model %s is called with %zu inputs; %zu are accepted",
                                    model->name, count, model->net.input_count);
    for (size_t i = 0; i < count; ++i) {
        if (!inputs[i])
            return gantry__train_refuse(scope,
                                        "model %s: input %zu is NULL; a tensor is accepted%s",
                                        model->name, i, gantry__train_before().text);
        GANTRY__TRY(run_check_input(model, scope, i, gantry_tensor_shape(inputs[i])));
    }
    return gantry_scope_status(scope);
}

static void assign_updates(gantry__model_run_t *run) {
    for (size_t i = 0; i < run->model->net.variable_count; ++i) {
        if (run->updates[i])
            (void)gantry_variable_assign(
                run->scope, run->model->net.variables[i].copies[run->replica], run->updates[i]);
    }
}

/* Runs the layers, and takes the outputs; returns the scope's status. */
static gantry_status_t run_model_call(gantry_model_t *model, gantry_scope_t *scope,
                                      const gantry_tensor_t *const *inputs, bool training,
                                      const gantry_tensor_t **out_outputs) {
    gantry__model_run_t run;
    const gantry_tensor_t **converted = gantry__alloc(model->net.input_count, sizeof *converted);
    gantry_status_t status = gantry__run_init(&run, model);
    if (!converted) status = GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < model->net.input_count && converted; ++i) {
        const gantry_dtype_t dtype = gantry_tensor_dtype(inputs[i]);
        converted[i] =
            gantry__train_cast(scope, inputs[i], gantry__model_component_type(model, i, dtype));
    }
    if (gantry__train_hand_on(scope, status) == GANTRY_OK) {
        run.scope = scope;
        run.inputs = converted;
        run.training = training;
        gantry__run_read_weights(&run);
        const bool is_done = gantry__run_layers(&run) != NULL;
        assign_updates(&run);
        for (size_t i = 0; i < model->net.output_count && is_done; ++i)
            out_outputs[i] = run.values[model->net.outputs[i]];
    }
    gantry__free((void *)converted);
    gantry__run_deinit(&run);
    return gantry_scope_status(scope);
}

static gantry_status_t run_check_call(const gantry_model_t *model, gantry_scope_t *scope,
                                      const char *call, const gantry_tensor_t *const *inputs,
                                      size_t input_count) {
    gantry_status_t status = gantry__model_check(model, call);
    if (status == GANTRY_OK && !model->net.is_built)
        status = gantry__train_fail(GANTRY_FAILED_PRECONDITION, "%s: model %s is not built", call,
                                    model->name);
    GANTRY__TRY(gantry__train_hand_on(scope, status));
    return run_check_inputs(model, scope, inputs, input_count);
}

const gantry_tensor_t *gantry_model_call(gantry_model_t *model, gantry_scope_t *scope,
                                         const gantry_tensor_t *const *inputs, size_t input_count,
                                         bool training) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const gantry_tensor_t *outputs[GANTRY_MAX_COMPONENTS] = {NULL};
    if (gantry__train_check_scope(scope) != GANTRY_OK ||
        run_check_call(model, scope, "gantry_model_call", inputs, input_count) != GANTRY_OK)
        return NULL;
    (void)run_model_call(model, scope, inputs, training, outputs);
    return outputs[0];
}

gantry_status_t gantry_model_call_outputs(gantry_model_t *model, gantry_scope_t *scope,
                                          const gantry_tensor_t *const *inputs, size_t input_count,
                                          bool training, const gantry_tensor_t **out_outputs,
                                          size_t output_count) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    static const char call[] = "gantry_model_call_outputs";
    for (size_t i = 0; i < output_count && out_outputs; ++i) out_outputs[i] = NULL;
    GANTRY__TRY(gantry__train_check_scope(scope));
    if (!out_outputs || output_count == 0)
        return gantry__train_refuse(scope,
                                    "%s: out_outputs is %s; room for each output is accepted", call,
                                    out_outputs ? "empty" : "NULL");
    GANTRY__TRY(run_check_call(model, scope, call, inputs, input_count));
    if (output_count != model->net.output_count)
        return gantry__train_refuse(scope, "%s: room for %zu outputs; model %s has %zu", call,
                                    output_count, model->name, model->net.output_count);
    return run_model_call(model, scope, inputs, training, out_outputs);
}
