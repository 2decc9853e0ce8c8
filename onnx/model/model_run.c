/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <gantry/gantry.h>

#include "shared/memory.h"
#include "onnx/model/model_state.h"

typedef const gantry_tensor_t tensor;

/* What a call passes to a function: the inputs that are neither bound nor left out, and places for
 * all outputs. */
typedef struct onnx_passed_t {
    tensor **inputs, **outputs;
    size_t input_count;
} onnx_passed_t;

static gantry_status_t model_run_call_function(gantry_onnx_model_t *model,
                                               const onnx_entry_t *entry, gantry_scope_t *scope,
                                               tensor *const *inputs, onnx_passed_t *passed) {
    const gantry__onnx_graph_t *graph = model->graph_model->graph;
    passed->input_count = 0;
    for (size_t i = 0; i < graph->input_count; ++i) {
        if (entry->passing[i] == ONNX_PASSED) passed->inputs[passed->input_count++] = inputs[i];
    }
    if (model->device) (void)gantry_device_begin(scope, model->device);
    gantry_status_t status =
        gantry_function_call(scope, entry->function, passed->inputs, passed->input_count,
                             passed->outputs, graph->output_count);
    if (model->device) status = gantry_device_end(scope);
    return status;
}

static uint64_t changes_of(gantry_onnx_model_t *model) {
    gantry__mutex_lock(&model->mutex);
    const uint64_t changes = gantry__onnx_changes(model);
    gantry__mutex_unlock(&model->mutex);
    return changes;
}

/* Calls the function of the inputs. A call that fails because it needs the elements of inputs has
 * changed how they are passed, and is made again: at most once for each input, and once op by
 * op. */
static gantry_status_t call_until_passed(gantry_onnx_model_t *model, gantry_scope_t *scope,
                                         tensor *const *inputs, onnx_passed_t *passed) {
    for (;;) {
        onnx_entry_t *entry = NULL;
        uint64_t changes = 0;
        gantry_status_t status = gantry__onnx_take_entry(model, inputs, &entry, &changes);
        if (status == GANTRY_OK) {
            gantry_function_t *function = entry->function;
            status = model_run_call_function(model, entry, scope, inputs, passed);
            gantry_function_release(function);
        }
        if (status == GANTRY_OK || changes_of(model) == changes) return status;
        gantry_scope_clear(scope);
    }
}

static gantry_status_t run_checked(gantry_onnx_model_t *model, gantry_scope_t *scope,
                                   tensor *const *inputs, tensor **outputs, size_t output_count) {
    const gantry__onnx_graph_t *graph = model->graph_model->graph;
    tensor **places = gantry__alloc(graph->input_count + graph->output_count, sizeof *places);
    if (!places) return GANTRY_RESOURCE_EXHAUSTED;
    onnx_passed_t passed = {places, places + graph->input_count, 0};
    const gantry_status_t status = call_until_passed(model, scope, inputs, &passed);
    for (size_t i = 0; status == GANTRY_OK && i < output_count; ++i) {
        outputs[i] = passed.outputs[i];
        gantry__onnx_constants_note_device(&model->constants, gantry_tensor_device(outputs[i]));
    }
    gantry__free(places);
    return status;
}

static gantry_status_t model_run_check_tensors(const gantry_onnx_model_t *model,
                                               tensor *const *inputs, size_t count) {
    onnx_given_t few[16], *given = count <= 16 ? few : gantry__alloc(count, sizeof *given);
    if (!given) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i)
        given[i] = (onnx_given_t){inputs[i] ? gantry_tensor_dtype(inputs[i]) : GANTRY_DTYPE_NONE,
                                  inputs[i] ? gantry_tensor_shape(inputs[i]) : NULL};
    const gantry_status_t status = gantry__onnx_check_inputs(model, given, count);
    if (given != few) gantry__free(given);
    return status;
}

static gantry_status_t check_run(const gantry_onnx_model_t *model, tensor *const *inputs,
                                 size_t input_count, tensor **outputs, size_t output_count) {
    if (input_count > 0 && !inputs)
        return gantry__refuse("gantry_onnx_model_run: inputs is NULL; an array of %zu is accepted",
                              input_count);
    if (output_count > 0 && !outputs)
        return gantry__refuse("gantry_onnx_model_run: outputs is NULL; an array of %zu is accepted",
                              output_count);
    const size_t count = model->graph_model->graph->output_count;
    if (output_count > count)
        return gantry__refuse("%s has %zu output%s; room for %zu is given", model->name, count,
                              count == 1 ? "" : "s", output_count);
    return model_run_check_tensors(model, inputs, input_count);
}

gantry_status_t gantry_onnx_model_run(gantry_onnx_model_t *model, gantry_scope_t *scope,
                                      tensor *const *inputs, size_t input_count, tensor **outputs,
                                      size_t output_count) {
    for (size_t i = 0; outputs && i < output_count; ++i) outputs[i] = NULL;
    if (!scope)
        return gantry__refuse(
            "gantry_onnx_model_run: the scope is NULL; one from "
            "gantry_scope_begin is accepted");
    GANTRY__TRY(gantry_scope_status(scope));
    gantry_status_t status = GANTRY_OK;
    if (!model) {
        status = gantry__refuse(
            "gantry_onnx_model_run: the model is NULL; one from "
            "gantry_onnx_model_load is accepted");
    } else if (gantry_scope_runtime(scope) != model->runtime) {
        status = gantry__refuse("%s belongs to another runtime than the scope", model->name);
    }
    if (status == GANTRY_OK) status = check_run(model, inputs, input_count, outputs, output_count);
    if (status == GANTRY_OK) status = run_checked(model, scope, inputs, outputs, output_count);
    if (status == GANTRY_OK) return GANTRY_OK;
    return gantry_scope_status(scope) ? gantry_scope_status(scope)
                                      : gantry_scope_fail(scope, status, gantry_last_message());
}
