/* SPDX-License-Identifier: Apache-2.0 */
/* Putting a model together. */
#include "train/model/model_state.h"

#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/draws.h"
#include "train/model/worker.h"
#include "train/strategy/strategy_state.h"

/* ---- the first error ---- */

gantry_status_t gantry__model_fail(gantry_model_t *model, gantry_status_t status) {
    if (status == GANTRY_OK || model->status != GANTRY_OK) return model->status;
    if (model->net.is_built) return status; /* it has weights that may be worth much */
    model->status = status;
    model->message = gantry__strdup(gantry_last_message());
    return status;
}

gantry_status_t gantry__model_check(const gantry_model_t *model, const char *call) {
    if (!model)
        return gantry__train_fail_null(NULL, call, "model",
                                       "one from gantry_sequential or gantry_functional");
    GANTRY__TRY(gantry__train_check_runtime(model->runtime));
    if (model->status == GANTRY_OK) return GANTRY_OK;
    return gantry__train_fail(model->status, "%s", model->message ? model->message : "");
}

gantry_status_t gantry__model_begin(gantry_model_t *model, const char *call) {
    const bool takes_part = model && gantry__train_check_runtime(model->runtime) == GANTRY_OK;
    const gantry_status_t status = gantry__model_check(model, call);
    if (!takes_part) return status;
    gantry__worker_begin(model->replicas.worker);
    return status == GANTRY_OK ? status : gantry__worker_end(model->replicas.worker, status);
}

/* ---- begin and end ---- */

static gantry_status_t copy_strategy(gantry_model_t *model, const gantry_model_options_t *o) {
    const gantry_communicator_t *communicator = gantry__strategy_communicator(o->strategy);
    if (communicator && !(model->replicas.worker = gantry__worker_create(communicator)))
        return GANTRY_RESOURCE_EXHAUSTED;
    const size_t count = o->strategy ? gantry_strategy_replica_count(o->strategy) : 1;
    model->replicas.devices = gantry__alloc(count, sizeof *model->replicas.devices);
    if (!model->replicas.devices) return GANTRY_RESOURCE_EXHAUSTED;
    model->replicas.count = count;
    model->replicas.has_nccl = o->strategy && o->strategy->has_nccl;
    for (size_t r = 0; r < count; ++r) {
        const char *device = o->strategy ? gantry_strategy_device(o->strategy, r) : o->device;
        if (device && !(model->replicas.devices[r] = gantry__strdup(device)))
            return GANTRY_RESOURCE_EXHAUSTED;
    }
    return GANTRY_OK;
}

static gantry_status_t model_take_options(gantry_model_t *model,
                                          const gantry_model_options_t *options) {
    gantry_model_options_t o;
    GANTRY__TRY(gantry__struct_read(options, sizeof o, &o, sizeof o, "gantry_model_options_t"));
    if (o.device && o.strategy)
        return gantry__train_refuse(
            NULL, "the model has a device, %s, and a strategy; one is accepted", o.device);
    model->dtype = o.dtype ? o.dtype : GANTRY_FLOAT32;
    if (model->dtype != GANTRY_FLOAT32 && model->dtype != GANTRY_FLOAT64)
        return gantry__train_refuse(NULL,
                                    "the model's type is %s; float32 and float64 are accepted",
                                    gantry_dtype_name(model->dtype));
    if (o.batch_size < 0)
        return gantry__train_refuse(
            NULL, "the model's batch_size is %lld; a positive number, or 0 for any, is accepted",
            (long long)o.batch_size);
    model->net.batch_size = o.batch_size;
    model->seed = o.seed;
    model->name = gantry__strdup(o.name                     ? o.name
                                 : model->net.is_sequential ? "sequential"
                                                            : "functional");
    if (!model->name) return GANTRY_RESOURCE_EXHAUSTED;
    return copy_strategy(model, &o);
}

static gantry_model_t *model_begin(gantry_runtime_t *runtime, const gantry_model_options_t *options,
                                   bool is_sequential) {
    if (!runtime) {
        (void)gantry__train_fail_null(NULL,
                                      is_sequential ? "gantry_sequential" : "gantry_functional",
                                      "runtime", "one from gantry_runtime_create");
        return NULL;
    }
    gantry_model_t *model = gantry__alloc(1, sizeof *model);
    if (!model) return NULL;
    model->references = 1;
    model->runtime = runtime;
    model->net.is_sequential = is_sequential;
    model->keeper = gantry_scope_begin(runtime, NULL);
    if (model->keeper && model_take_options(model, options) == GANTRY_OK) return model;
    gantry_model_release(model);
    return NULL;
}

gantry_model_t *gantry_sequential(gantry_runtime_t *runtime,
                                  const gantry_model_options_t *options) {
    return model_begin(runtime, options, true);
}

gantry_model_t *gantry_functional(gantry_runtime_t *runtime,
                                  const gantry_model_options_t *options) {
    return model_begin(runtime, options, false);
}

static void model_release_variables(gantry_model_t *model) {
    for (size_t i = 0; i < model->net.variable_count; ++i)
        gantry__free(model->net.variables[i].name);
    gantry__free(model->net.variables);
}

void gantry_model_release(gantry_model_t *model) {
    if (!model || --model->references > 0) return;
    for (size_t i = 0; i < GANTRY__STEP_MODES; ++i)
        gantry_function_release(model->program.steps[i]);
    gantry__model_set_optimizer(model, NULL);
    gantry__model_release_targets(model);
    model_release_variables(model);
    gantry__model_release_draws(model);
    gantry__model_release_members(model);
    gantry__nested_release(model);
    for (size_t i = 0; i < model->net.value_count; ++i) gantry__free(model->net.values[i].inputs);
    gantry__free(model->net.values);
    for (size_t r = 0; model->replicas.devices && r < model->replicas.count; ++r)
        gantry__free(model->replicas.devices[r]);
    gantry__free((void *)model->replicas.devices);
    gantry__free(model->replicas.weights);
    gantry__worker_release(model->replicas.worker);
    gantry__free(model->message);
    gantry__free(model->program.refusal);
    gantry__free(model->name);
    if (model->keeper) (void)gantry_scope_end(model->keeper);
    gantry__free(model);
}

/* ---- values ---- */

static gantry_status_t add_value(gantry_model_t *model, const gantry__model_value_t *value) {
    if (!gantry__grow(&model->net.values, model->net.value_count, &model->net.value_capacity,
                      sizeof *model->net.values))
        return GANTRY_RESOURCE_EXHAUSTED;
    model->net.values[model->net.value_count++] = *value;
    return GANTRY_OK;
}

static gantry_status_t model_add_input(gantry_model_t *model, gantry_dtype_t dtype,
                                       const gantry_shape_t *sample) {
    if (model->net.input_count != model->net.value_count)
        return gantry__train_fail(GANTRY_FAILED_PRECONDITION, "model %s: inputs come before layers",
                                  model->name);
    if (gantry_dtype_size(dtype) == 0 || sample->rank < 0 || sample->rank >= GANTRY_MAX_RANK)
        return gantry__train_refuse(
            NULL,
            "model %s: an input has type %s and rank %d; a type and ranks from 0 to %d are accepted",
            model->name, gantry_dtype_name(dtype), sample->rank, GANTRY_MAX_RANK - 1);
    gantry__model_value_t value = {.dtype = dtype,
                                   .shape = {.rank = sample->rank + 1, .dims = {-1}}};
    for (int32_t d = 0; d < sample->rank; ++d) {
        if (sample->dims[d] < -1)
            return gantry__train_refuse(
                NULL,
                "model %s: dimension %d of an input is %lld; a size, or -1 for any, is accepted",
                model->name, d, (long long)sample->dims[d]);
        value.shape.dims[d + 1] = sample->dims[d];
    }
    GANTRY__TRY(add_value(model, &value));
    ++model->net.input_count;
    return GANTRY_OK;
}

static gantry_status_t check_values(const gantry_model_t *model, const char *call,
                                    const int32_t *values, size_t count) {
    if (!values)
        return gantry__train_refuse(NULL, "%s: values is NULL; an array of %zu is accepted", call,
                                    count);
    if (count == 0)
        return gantry__train_refuse(NULL, "%s: 0 values; 1 and more are accepted", call);
    for (size_t i = 0; i < count; ++i) {
        if (values[i] < 0 || (size_t)values[i] >= model->net.value_count)
            return gantry__train_refuse(
                NULL, "%s: value %d is none of the model's; 0 to %zu are accepted", call, values[i],
                model->net.value_count - 1);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__model_apply(gantry_model_t *model, const gantry__member_t *member,
                                    const int32_t *values, size_t count) {
    gantry__model_value_t value = {.member = member, .input_count = count};
    GANTRY__TRY(check_values(model, "gantry_model_apply", values, count));
    value.inputs = gantry__alloc(count, sizeof *value.inputs);
    if (!value.inputs) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(value.inputs, values, count * sizeof *values);
    gantry_status_t status = add_value(model, &value);
    if (status != GANTRY_OK) gantry__free(value.inputs);
    for (size_t i = 1; i < gantry__layer_outputs(member->layer) && status == GANTRY_OK; ++i)
        status = add_value(model, &(gantry__model_value_t){.member = member, .part = i});
    return status;
}

gantry_status_t gantry__model_check_open(const gantry_model_t *model, const char *call) {
    GANTRY__TRY(gantry__model_check(model, call));
    if (!model->net.is_built && !model->net.is_block) return GANTRY_OK;
    return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                              "%s: model %s is %s; layers are added before", call, model->name,
                              model->net.is_built ? "built" : "a layer of another model");
}

gantry_status_t gantry_model_add(gantry_model_t *model, gantry_layer_t *layer) {
    gantry_status_t status = gantry__model_check_open(model, "gantry_model_add");
    if (status == GANTRY_OK && !layer) /* the constructor failed */
        status = gantry__train_fail_null(NULL, "gantry_model_add", "layer", "one");
    if (status == GANTRY_OK && !model->net.is_sequential)
        status = gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_model_add: model %s is functional; gantry_model_apply is accepted",
            model->name);
    if (status == GANTRY_OK && gantry__model_member(model, layer))
        status = gantry__train_refuse(
            NULL, "gantry_model_add: layer %s is in model %s; a sequential model has a layer once",
            gantry__member_name(gantry__model_member(model, layer)), model->name);
    if (!model) {
        gantry_layer_release(layer);
        return status;
    }
    gantry__member_t *member;
    if (status == GANTRY_OK)
        status = gantry__model_own_layer(model, layer, &member);
    else
        gantry__model_refuse_layer(model, layer);
    return gantry__model_fail(model, status);
}

int32_t gantry_model_input(gantry_model_t *model, gantry_dtype_t dtype, gantry_shape_t sample) {
    gantry_status_t status = gantry__model_check_open(model, "gantry_model_input");
    if (status == GANTRY_OK) status = model_add_input(model, dtype, &sample);
    if (status == GANTRY_OK) return (int32_t)model->net.value_count - 1;
    if (model) (void)gantry__model_fail(model, status);
    return -1;
}

/* Attention of one value is that of a query that is its own value, as in Keras, also in the
 * summary. */
static gantry_status_t apply_given(gantry_model_t *model, const gantry__member_t *member,
                                   const int32_t *values, size_t count) {
    if (count == 0 || count > 2 || count != member->layer->applied.repeats_first || !values)
        return gantry__model_apply(model, member, values, count);
    const int32_t repeated[] = {values[0], values[0], values[count - 1]};
    return gantry__model_apply(model, member, repeated, count + 1);
}

int32_t gantry_model_apply(gantry_model_t *model, gantry_layer_t *layer, const int32_t *values,
                           size_t count) {
    gantry_status_t status = gantry__model_check_open(model, "gantry_model_apply");
    if (status == GANTRY_OK && !layer)
        status = gantry__train_fail_null(NULL, "gantry_model_apply", "layer", "one");
    if (!model) {
        gantry_layer_release(layer);
        return -1;
    }
    gantry__member_t *member;
    if (status == GANTRY_OK)
        status = gantry__model_own_layer(model, layer, &member);
    else
        gantry__model_refuse_layer(model, layer);
    if (status == GANTRY_OK) status = apply_given(model, member, values, count);
    if (status == GANTRY_OK)
        return (int32_t)(model->net.value_count - gantry__layer_outputs(layer));
    (void)gantry__model_fail(model, status);
    return -1;
}

static gantry_status_t model_set_outputs(gantry_model_t *model, const int32_t *values,
                                         size_t count) {
    GANTRY__TRY(check_values(model, "gantry_model_set_outputs", values, count));
    if (count > GANTRY_MAX_COMPONENTS)
        return gantry__train_refuse(NULL,
                                    "gantry_model_set_outputs: %zu values; 1 to %d are accepted",
                                    count, GANTRY_MAX_COMPONENTS);
    for (size_t i = 0; i < count && count > 1; ++i) {
        if (!model->net.values[values[i]].member)
            return gantry__train_refuse(
                NULL,
                "gantry_model_set_outputs: value %d is an input; results of layers are accepted",
                values[i]);
    }
    memcpy(model->net.outputs, values, count * sizeof *values);
    model->net.output_count = count;
    return GANTRY_OK;
}

gantry_status_t gantry_model_set_outputs(gantry_model_t *model, const int32_t *values,
                                         size_t count) {
    GANTRY__TRY(gantry__model_check_open(model, "gantry_model_set_outputs"));
    return gantry__model_fail(model, model_set_outputs(model, values, count));
}

gantry_status_t gantry_model_set_output(gantry_model_t *model, int32_t value) {
    return gantry_model_set_outputs(model, &value, 1);
}

/* ---- outputs ---- */

const char *gantry__model_output_name(const gantry_model_t *model, size_t output) {
    const gantry__model_value_t *value = &model->net.values[model->net.outputs[output]];
    return value->nested_call ? value->nested_call->nested->name
                              : gantry__member_name(value->member);
}

void gantry__model_choose_output(gantry_model_t *model) {
    const size_t last = model->net.value_count - 1;
    if (model->net.output_count > 0) return;
    model->net.outputs[0] = (int32_t)(last - model->net.values[last].part);
    model->net.output_count = 1;
}

/* ---- a sequential model's chain ---- */

gantry_status_t gantry__model_chain(gantry_model_t *model, gantry_dtype_t dtype,
                                    const gantry_shape_t *sample) {
    GANTRY__TRY(model_add_input(model, dtype, sample));
    for (size_t i = 0; i < model->net.member_count; ++i) {
        const int32_t last = (int32_t)model->net.value_count - 1;
        const size_t outputs = gantry__layer_outputs(model->net.members[i]->layer);
        if (outputs > 1)
            return gantry__train_refuse(
                NULL, "model %s: layer %s has %zu outputs; a sequential model accepts 1",
                model->name, gantry__member_name(model->net.members[i]), outputs);
        GANTRY__TRY(gantry__model_apply(model, model->net.members[i], &last, 1));
    }
    return gantry__nested_note_chain(model);
}

void gantry__model_unchain(gantry_model_t *model) {
    for (size_t i = 0; i < model->net.value_count; ++i) gantry__free(model->net.values[i].inputs);
    gantry__nested_forget_calls(model);
    model->net.value_count = 0;
    model->net.input_count = 0;
    model->net.output_count = 0;
}
