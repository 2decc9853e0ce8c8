/* SPDX-License-Identifier: Apache-2.0 */
/* A model as a layer of another one, a block. The other model has the block's layers, too, and each
 * application adds their values there, so that building, training, masks, states and files know of
 * no blocks:
 *
 *     block     input ── one ── two               its layers are block/one, block/two
 *     model     x ──── block/one ── block/two ──── y ── dense
 *
 * Names, the summary and the names of outputs say which values belong together. The block stays a
 * model, which may be built, compiled and trained by itself, with the same variables. It must get
 * no more layers, because both must have the same. */
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/model/model_state.h"

/* ---- end ---- */

void gantry__nested_forget_calls(gantry_model_t *model) {
    for (size_t i = 0; i < model->net.nested_call_count; ++i)
        gantry__free(model->net.nested_calls[i]);
    model->net.nested_call_count = 0;
}

void gantry__nested_release(gantry_model_t *model) {
    for (size_t i = 0; i < model->net.nested_count; ++i) {
        gantry_model_release(model->net.nested[i]->model);
        gantry__free(model->net.nested[i]);
    }
    gantry__nested_forget_calls(model);
    gantry__free((void *)model->net.nested);
    gantry__free((void *)model->net.nested_calls);
}

/* ---- taking a block in ---- */

static gantry_status_t check_block(const gantry_model_t *model, const gantry_model_t *block,
                                   const char *call) {
    if (block == model) /* one that has this model as a block is none: this one is closed */
        return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                                  "%s: the block is model %s itself; another one is accepted", call,
                                  block->name);
    GANTRY__TRY(gantry__model_check(block, call));
    if (block->net.member_count > 0) return GANTRY_OK;
    return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                              "%s: block %s has no layers; a model with layers is accepted", call,
                              block->name);
}

static void name_block(const gantry_model_t *model, const char *stem, char *out) {
    (void)snprintf(out, GANTRY__NETWORK_NAME_BYTES, "%s", stem);
    for (size_t i = 1; gantry__model_is_name_taken(model, out); ++i)
        (void)snprintf(out, GANTRY__NETWORK_NAME_BYTES, "%.200s_%zu", stem, i);
}

/* A layer that the model has already is the same one, with its name; a chain has each once. */
static gantry_status_t take_layers(gantry_model_t *model, const gantry__nested_t *nested) {
    const gantry_model_t *block = nested->model;
    for (size_t i = 0; i < block->net.member_count; ++i) {
        gantry_layer_t *layer = block->net.members[i]->layer;
        const gantry__member_t *member = gantry__model_member(model, layer);
        if (member && model->net.is_sequential)
            return gantry__train_refuse(
                NULL,
                "gantry_model_add_model: layer %s of block %s is in model %s; a sequential model has a layer once",
                gantry__member_name(member), block->name, model->name);
        if (!member)
            GANTRY__TRY(gantry__model_take_layer(model, layer, nested,
                                                 gantry__member_name(block->net.members[i])));
    }
    return GANTRY_OK;
}

/* Keras builds a sequential model when it gets a second layer after a block that is built. */
static bool nested_is_built(const gantry_model_t *block) {
    const gantry__network_t *net = &block->net;
    const gantry__nested_t *first = net->members[0]->nested;
    if (net->is_built || !net->is_sequential) return true;
    return first && first->was_built && net->members[net->member_count - 1]->nested != first;
}

static gantry_status_t nested_take_block(gantry_model_t *model, gantry_model_t *block,
                                         const char *call) {
    GANTRY__TRY(check_block(model, block, call));
    if (!gantry__grow(&model->net.nested, model->net.nested_count, &model->net.nested_capacity,
                      sizeof *model->net.nested))
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry__nested_t *nested = gantry__alloc(1, sizeof *nested);
    if (!nested) return GANTRY_RESOURCE_EXHAUSTED;
    nested->model = block;
    nested->was_built = nested_is_built(block);
    name_block(model, block->name, nested->name);
    ++block->references;
    block->net.is_block = true;
    model->net.nested[model->net.nested_count++] = nested;
    return take_layers(model, nested);
}

/* ---- applying ---- */

static gantry_status_t apply_chain(gantry_model_t *model, const gantry_model_t *block,
                                   int32_t value, int32_t *out_value) {
    for (size_t i = 0; i < block->net.member_count; ++i) {
        const gantry__member_t *member = gantry__model_member(model, block->net.members[i]->layer);
        if (gantry__layer_outputs(member->layer) > 1)
            return gantry__train_refuse(
                NULL, "model %s: layer %s has %zu outputs; a sequential model accepts 1",
                model->name, gantry__member_name(member), gantry__layer_outputs(member->layer));
        GANTRY__TRY(gantry__model_apply(model, member, &value, 1));
        value = (int32_t)model->net.value_count - 1;
    }
    *out_value = value;
    return GANTRY_OK;
}

/* map has the model's value for each value of the block. */
static gantry_status_t apply_value(gantry_model_t *model, const gantry_model_t *block, size_t v,
                                   int32_t *map, int32_t *inputs) {
    const gantry__model_value_t *value = &block->net.values[v];
    if (value->part > 0) return GANTRY_OK;
    for (size_t i = 0; i < value->input_count; ++i) inputs[i] = map[value->inputs[i]];
    const gantry_layer_t *layer = value->member->layer;
    GANTRY__TRY(
        gantry__model_apply(model, gantry__model_member(model, layer), inputs, value->input_count));
    const size_t parts = gantry__layer_outputs(layer);
    for (size_t i = 0; i < parts; ++i) map[v + i] = (int32_t)(model->net.value_count - parts + i);
    return GANTRY_OK;
}

static size_t widest_value(const gantry_model_t *block) {
    size_t widest = 1;
    for (size_t v = 0; v < block->net.value_count; ++v) {
        if (block->net.values[v].input_count > widest) widest = block->net.values[v].input_count;
    }
    return widest;
}

static gantry_status_t apply_graph(gantry_model_t *model, const gantry_model_t *block,
                                   const int32_t *values, int32_t *out_values) {
    int32_t *map = gantry__alloc(block->net.value_count + widest_value(block), sizeof *map);
    if (!map) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = GANTRY_OK;
    memcpy(map, values, block->net.input_count * sizeof *map);
    for (size_t v = block->net.input_count; v < block->net.value_count && status == GANTRY_OK; ++v)
        status = apply_value(model, block, v, map, map + block->net.value_count);
    for (size_t i = 0; i < block->net.output_count; ++i) out_values[i] = map[block->net.outputs[i]];
    gantry__free(map);
    return status;
}

/* ---- noting an application ---- */

static gantry_status_t note_call(gantry_model_t *model, const gantry__nested_t *nested,
                                 const int32_t *inputs, size_t input_count, const int32_t *outputs,
                                 size_t output_count, size_t first) {
    gantry__network_t *net = &model->net;
    if (!gantry__grow(&net->nested_calls, net->nested_call_count, &net->nested_call_capacity,
                      sizeof *net->nested_calls))
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry__nested_call_t *call =
        gantry__alloc(1, sizeof *call + (input_count + output_count) * sizeof call->inputs[0]);
    if (!call) return GANTRY_RESOURCE_EXHAUSTED;
    call->nested = nested;
    call->input_count = input_count;
    call->output_count = output_count;
    memcpy(call->inputs, inputs, input_count * sizeof *inputs);
    memcpy(call->inputs + input_count, outputs, output_count * sizeof *outputs);
    net->nested_calls[net->nested_call_count++] = call;
    for (size_t v = first; v < net->value_count; ++v) net->values[v].nested_call = call;
    return GANTRY_OK;
}

/* The chain of a block's layers ends where another block, or none, begins. */
gantry_status_t gantry__nested_note_chain(gantry_model_t *model) {
    gantry__network_t *net = &model->net;
    const size_t count = net->value_count;
    for (size_t v = 1; v < count;) {
        const size_t first = v;
        const gantry__nested_t *nested = net->values[v].member->nested;
        while (v < count && net->values[v].member->nested == nested) ++v;
        if (!nested) continue;
        const int32_t input = (int32_t)first - 1, output = (int32_t)v - 1;
        net->value_count = v; /* the values so far */
        gantry_status_t status = note_call(model, nested, &input, 1, &output, 1, first);
        net->value_count = count;
        GANTRY__TRY(status);
    }
    return GANTRY_OK;
}

/* ---- the public calls ---- */

/* Returns a block of the model; NULL if the model does not have it. */
static const gantry__nested_t *find_nested(const gantry_model_t *model,
                                           const gantry_model_t *block) {
    for (size_t i = 0; i < model->net.nested_count; ++i)
        if (model->net.nested[i]->model == block) return model->net.nested[i];
    return NULL;
}

static gantry_status_t begin_block(gantry_model_t *model, gantry_model_t *block, const char *call,
                                   bool is_again) {
    GANTRY__TRY(gantry__model_check(model, call));
    if (!block) return gantry__train_fail_null(NULL, call, "block", "one");
    GANTRY__TRY(gantry__model_check_open(model, call));
    if (is_again && find_nested(model, block)) return GANTRY_OK;
    return nested_take_block(model, block, call);
}

/* Refuses arrays of values that are NULL. */
static gantry_status_t nested_check_given(const int32_t *values, const int32_t *out_values) {
    if (values && out_values) return GANTRY_OK;
    return gantry__train_refuse(NULL, "gantry_model_apply_model: %s is NULL; an array is accepted",
                                values ? "out_values" : "values");
}

static gantry_status_t check_application(const gantry_model_t *model, gantry_model_t *block,
                                         size_t count, size_t output_count) {
    static const char call[] = "gantry_model_apply_model";
    const size_t inputs = block->net.is_sequential ? 1 : block->net.input_count;
    if (model->net.is_sequential)
        return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                                  "%s: model %s is sequential; gantry_model_add_model is accepted",
                                  call, model->name);
    if (!block->net.is_sequential) gantry__model_choose_output(block);
    const size_t outputs = block->net.is_sequential ? 1 : block->net.output_count;
    if (count == inputs && output_count == outputs) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "%s: %zu values and room for %zu outputs; block %s has %zu inputs and %zu outputs",
        call, count, output_count, block->name, inputs, outputs);
}

static gantry_status_t apply_block(gantry_model_t *model, gantry_model_t *block,
                                   const int32_t *values, size_t count, int32_t *out_values,
                                   size_t output_count) {
    const size_t first = model->net.value_count;
    GANTRY__TRY(check_application(model, block, count, output_count));
    for (size_t i = 0; i < count; ++i) {
        if (values[i] < 0 || (size_t)values[i] >= first)
            return gantry__train_refuse(
                NULL,
                "gantry_model_apply_model: value %d is none of the model's; 0 to %zu are accepted",
                values[i], first - 1);
    }
    GANTRY__TRY(block->net.is_sequential ? apply_chain(model, block, values[0], out_values)
                                         : apply_graph(model, block, values, out_values));
    return note_call(model, find_nested(model, block), values, count, out_values, output_count,
                     first);
}

gantry_status_t gantry_model_apply_model(gantry_model_t *model, gantry_model_t *block,
                                         const int32_t *values, size_t count, int32_t *out_values,
                                         size_t output_count) {
    for (size_t i = 0; out_values && i < output_count; ++i) out_values[i] = -1;
    gantry_status_t status = nested_check_given(values, out_values);
    if (status == GANTRY_OK) status = begin_block(model, block, "gantry_model_apply_model", true);
    if (status == GANTRY_OK)
        status = apply_block(model, block, values, count, out_values, output_count);
    return model ? gantry__model_fail(model, status) : status;
}

gantry_status_t gantry_model_add_model(gantry_model_t *model, gantry_model_t *block) {
    static const char call[] = "gantry_model_add_model";
    gantry_status_t status = begin_block(model, block, call, false);
    if (status == GANTRY_OK && !(model->net.is_sequential && block->net.is_sequential))
        status = gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: model %s is functional; sequential models are accepted, else gantry_model_apply_model",
            call, model->net.is_sequential ? block->name : model->name);
    return model ? gantry__model_fail(model, status) : status;
}
