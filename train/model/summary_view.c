/* SPDX-License-Identifier: Apache-2.0 */
/* The model that a summary shows: each application of a block is one value, of one layer that has
 * the weights of the block's layers.
 *
 *     values    x ── block/one ── block/two ── dense         of the model
 *               x ── block ──────────────────── dense         of the view */
#include <string.h>

#include "train/base/fail.h"
#include "train/base/memory.h"
#include "train/model/summary.h"

/* ---- layers ---- */

/* Gives a layer of the view the weights of the block, where another part of the model has them,
 * too. */
static gantry_status_t fill_layer(const gantry_model_t *model, size_t nested, gantry_layer_t *layer,
                                  gantry__member_t *member) {
    const gantry_model_t *block = model->nested[nested].model;
    *member = (gantry__member_t){.layer = layer, .name = model->nested[nested].name};
    layer->kind.name = block->is_sequential ? "Sequential" : "Functional";
    layer->kind.output_count = block->output_count;
    for (size_t i = 0; i < block->member_count; ++i)
        layer->weight_capacity += block->members[i]->layer->weight_count;
    layer->weights = gantry__train_alloc(layer->weight_capacity, sizeof *layer->weights);
    if (!layer->weights) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < block->member_count; ++i) {
        const gantry_layer_t *part = block->members[i]->layer;
        for (size_t w = 0; w < part->weight_count; ++w)
            layer->weights[layer->weight_count++] = part->weights[w];
    }
    return GANTRY_OK;
}

/* ---- values ---- */

static gantry_status_t summary_view_add_call(gantry__summary_view_t *view,
                                             const gantry__model_value_t *value,
                                             const int32_t *inputs) {
    gantry_model_t *model = &view->model;
    gantry__model_value_t *out = &model->values[model->value_count++];
    *out = *value;
    out->nested_call = 0;
    out->inputs = gantry__train_alloc(value->input_count, sizeof *out->inputs);
    if (!out->inputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < value->input_count; ++i) out->inputs[i] = view->map[inputs[i]];
    return GANTRY_OK;
}

static gantry_status_t summary_view_add_block(gantry__summary_view_t *view,
                                              const gantry_model_t *model,
                                              const gantry__nested_call_t *call) {
    const size_t first = view->model.value_count;
    gantry__model_value_t value = {.member = &view->members[call->nested],
                                   .input_count = call->input_count};
    for (size_t i = 0; i < call->output_count; ++i) {
        const int32_t output = call->inputs[call->input_count + i];
        value.shape = model->values[output].shape;
        value.part = i;
        if (i > 0) value.input_count = 0;
        GANTRY__TRAIN_TRY(summary_view_add_call(view, &value, call->inputs));
        view->map[output] = (int32_t)(first + i);
    }
    return GANTRY_OK;
}

static gantry_status_t fill_values(gantry__summary_view_t *view, const gantry_model_t *model) {
    size_t last = 0; /* the application before */
    for (size_t v = 0; v < model->value_count; ++v) {
        const size_t call = model->values[v].nested_call;
        if (call == 0) {
            view->map[v] = (int32_t)view->model.value_count;
            GANTRY__TRAIN_TRY(
                summary_view_add_call(view, &model->values[v], model->values[v].inputs));
        } else if (call != last) {
            GANTRY__TRAIN_TRY(summary_view_add_block(view, model, &model->nested_calls[call - 1]));
        }
        last = call;
    }
    for (size_t i = 0; i < model->output_count; ++i)
        view->model.outputs[i] = view->map[model->outputs[i]];
    return GANTRY_OK;
}

/* ---- begin and end ---- */

static size_t count_values(const gantry_model_t *model) {
    size_t count = model->value_count;
    for (size_t i = 0; i < model->nested_call_count; ++i)
        count += model->nested_calls[i].output_count;
    return count;
}

gantry_status_t gantry__summary_view_init(gantry__summary_view_t *view,
                                          const gantry_model_t *model) {
    memset(view, 0, sizeof *view);
    memcpy(&view->model, model, sizeof *model);
    view->model.value_count = 0;
    view->layers = gantry__train_alloc(model->nested_count, sizeof *view->layers);
    view->members = gantry__train_alloc(model->nested_count, sizeof *view->members);
    view->map = gantry__train_alloc(model->value_count, sizeof *view->map);
    view->model.values = gantry__train_alloc(count_values(model), sizeof *view->model.values);
    if (!view->layers || !view->members || !view->map || !view->model.values)
        return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < model->nested_count; ++i) {
        view->layer_count = i + 1;
        GANTRY__TRAIN_TRY(fill_layer(model, i, &view->layers[i], &view->members[i]));
    }
    return fill_values(view, model);
}

void gantry__summary_view_deinit(gantry__summary_view_t *view) {
    for (size_t v = 0; view->model.values && v < view->model.value_count; ++v)
        gantry__train_free(view->model.values[v].inputs);
    for (size_t i = 0; view->layers && i < view->layer_count; ++i)
        gantry__train_free(view->layers[i].weights);
    gantry__train_free(view->model.values);
    gantry__train_free(view->layers);
    gantry__train_free(view->members);
    gantry__train_free(view->map);
}
