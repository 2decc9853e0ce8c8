/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a model's functions: it lowers the nodes of the graph in the order of the file. If a
 * node needs elements that a trace does not have, the body fails, and changes how the model passes
 * its inputs: those on which the elements depend are bound if they are small; else the model runs
 * op by op from now on. gantry_onnx_model_run sees the change and calls again. */
#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>

#include "shared/memory.h"
#include "onnx/model/model_state.h"

/* Inputs of more elements are not bound: each set of values needs a trace. */
#define MOST_BOUND_ELEMENTS 64

typedef const gantry_tensor_t tensor;

/* ---- what sizes depend on ---- */

static void mark_values(uint8_t *marks, const gantry__onnx_run_t *run,
                        const gantry__onnx_value_t *values, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (values[i] != GANTRY__ONNX_NO_VALUE && !(run->flags[values[i]] & GANTRY__ONNX_KNOWN))
            marks[values[i]] = 1;
    }
}

static void mark_node(uint8_t *marks, const gantry__onnx_run_t *run,
                      const gantry__onnx_node_t *node) {
    mark_values(marks, run, node->inputs, node->input_count);
    for (size_t i = 0; i < node->attr_count; ++i) {
        for (size_t g = 0; node->attrs[i].graphs && g < node->attrs[i].count; ++g)
            mark_values(marks, run, node->attrs[i].graphs[g]->captures,
                        node->attrs[i].graphs[g]->capture_count);
    }
}

/* Marks the values that are not known, and on which the elements depend that the run needs. */
static void mark_needs(uint8_t *marks, const gantry__onnx_run_t *run) {
    const gantry__onnx_graph_t *graph = run->constants->plan.model->graph;
    const gantry__onnx_node_t *node = run->needs_node;
    if (run->needs_input == GANTRY__ONNX_ALL_INPUTS) {
        mark_values(marks, run, node->inputs, node->input_count);
    } else if (run->needs_input < node->input_count) {
        mark_values(marks, run, &node->inputs[run->needs_input], 1);
    }
    for (size_t n = graph->node_count; n-- > 0;) {
        const gantry__onnx_node_t *at = &graph->nodes[n];
        bool is_marked = false;
        for (size_t i = 0; i < at->output_count; ++i)
            is_marked =
                is_marked || (at->outputs[i] != GANTRY__ONNX_NO_VALUE && marks[at->outputs[i]]);
        if (is_marked) mark_node(marks, run, at);
    }
}

/* Whether all marked values that no node makes are small inputs that are passed now. */
static bool can_bind(const onnx_entry_t *entry, const gantry__onnx_run_t *run,
                     const uint8_t *marks) {
    const gantry__onnx_graph_model_t *model = entry->model->graph_model;
    int64_t elements = 0;
    bool is_any = false;
    for (size_t v = 0; v < model->value_count; ++v) {
        const gantry__onnx_value_info_t *info = &model->values[v];
        if (!marks[v] || info->source != GANTRY__ONNX_FROM_INPUT) continue;
        const int64_t own = run->values[v] ? gantry_tensor_elements(run->values[v]) : -1;
        if (info->graph != model->graph || own < 0) return false; /* of a branch or loop; open */
        elements += own;
        is_any = true;
    }
    return is_any && elements <= MOST_BOUND_ELEMENTS;
}

static void change_passing(gantry_onnx_model_t *model, const uint8_t *marks, char *reason) {
    gantry__mutex_lock(&model->mutex);
    bool is_new = false;
    for (size_t i = 0; marks && i < model->graph_model->graph->input_count; ++i) {
        if (!marks[model->graph_model->graph->inputs[i]] || model->is_bound[i]) continue;
        model->is_bound[i] = 1;
        is_new = true;
    }
    if (!marks && !model->is_eager) {
        model->is_eager = is_new = true;
        model->eager_reason = reason;
        reason = NULL;
    }
    if (is_new) ++model->changes;
    gantry__mutex_unlock(&model->mutex);
    gantry__free(reason);
}

static void body_note_needs(const onnx_entry_t *entry, const gantry__onnx_run_t *run,
                            const char *text) {
    uint8_t *marks = gantry__alloc(entry->model->graph_model->value_count, 1);
    char *reason = gantry__strdup(text);
    if (marks && reason) {
        mark_needs(marks, run);
        change_passing(entry->model, can_bind(entry, run, marks) ? marks : NULL, reason);
        reason = NULL;
    }
    gantry__free(reason);
    gantry__free(marks);
}

/* ---- the body ---- */

static gantry_status_t body_take_inputs(const onnx_entry_t *entry, gantry__onnx_run_t *run,
                                        tensor *const *inputs) {
    const gantry__onnx_graph_t *graph = entry->model->graph_model->graph;
    size_t passed = 0;
    for (size_t i = 0; i < graph->input_count; ++i) {
        tensor *x = NULL;
        const uint8_t how = entry->passing[i];
        if (how == ONNX_PASSED) {
            x = inputs[passed++];
        } else if (how == ONNX_BOUND) {
            x = entry->bound[i];
        } else {
            GANTRY__TRY(gantry__onnx_constants_read(
                run->constants, run->host, gantry__onnx_input_info(entry->model, i)->tensor, &x));
        }
        gantry__onnx_run_set(run, graph->inputs[i], x, how != ONNX_PASSED);
    }
    return GANTRY_OK;
}

static gantry_status_t check_declared(const onnx_entry_t *entry, size_t i, tensor *x) {
    const gantry__onnx_graph_model_t *model = entry->model->graph_model;
    const gantry__onnx_value_info_t *info = &model->values[model->graph->outputs[i]];
    const gantry_dtype_t dtype = gantry__onnx_stored_dtype(info->type.element);
    if (info->type.kind != GANTRY__ONNX_TENSOR || dtype == GANTRY_DTYPE_NONE ||
        dtype == gantry_tensor_dtype(x))
        return GANTRY_OK;
    return gantry__fail(GANTRY_INVALID_ARGUMENT,
                        "%s: the output '%.200s' is declared as %s; its node makes %s", model->path,
                        info->name, gantry_dtype_name(dtype),
                        gantry_dtype_name(gantry_tensor_dtype(x)));
}

/* Known results are tensors of the run; the scope gets its own. */
static gantry_status_t give_outputs(const onnx_entry_t *entry, gantry__onnx_run_t *run,
                                    gantry_scope_t *scope, tensor **outputs) {
    const gantry__onnx_graph_t *graph = entry->model->graph_model->graph;
    for (size_t i = 0; i < graph->output_count; ++i) {
        tensor *x = gantry__onnx_run_get(run, graph->outputs[i]);
        if (!x) return run->status;
        GANTRY__TRY(check_declared(entry, i, x));
        const bool is_known = (run->flags[graph->outputs[i]] & GANTRY__ONNX_KNOWN) != 0;
        outputs[i] = is_known || run->is_eager ? gantry_identity(scope, x) : x;
        if (!outputs[i]) return gantry_scope_status(scope);
    }
    return GANTRY_OK;
}

/* Notes for explanations what becomes of a node. */
static void watch_node(void *user, const gantry__onnx_call_t *call, gantry_status_t status) {
    const onnx_entry_t *entry = user;
    if (status == GANTRY_OK && !call->run->is_constant_node)
        atomic_store(&entry->model->node_states[call->run->first_node + call->node->index],
                     call->scope == call->host ? ONNX_NODE_KNOWN : ONNX_NODE_TRACED);
}

static gantry_status_t run_in_trace(onnx_entry_t *entry, gantry__onnx_run_t *run,
                                    gantry_scope_t *scope, tensor *const *inputs,
                                    tensor **outputs) {
    const bool is_eager = entry->is_eager || entry->model->function_options.runs_eagerly;
    GANTRY__TRY(gantry__onnx_run_begin(run, &entry->model->constants, scope, is_eager));
    run->watch = watch_node;
    run->watch_user = entry;
    GANTRY__TRY(body_take_inputs(entry, run, inputs));
    GANTRY__TRY(gantry__onnx_run_graph(run, scope, entry->model->graph_model->graph));
    return give_outputs(entry, run, scope, outputs);
}

void gantry__onnx_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    onnx_entry_t *entry = user;
    gantry__onnx_run_t run;
    char text[GANTRY__MESSAGE_BYTES];
    const gantry_status_t status = run_in_trace(entry, &run, scope, inputs, outputs);
    if (status != GANTRY_OK) {
        (void)snprintf(text, sizeof text, "%s", gantry_last_message());
        if (run.needs_node) body_note_needs(entry, &run, text);
        gantry_scope_clear(scope); /* the text with the node takes the place of the op's own */
        (void)gantry_scope_fail(scope, status, text);
    }
    const bool is_eager = run.is_eager;
    gantry__onnx_run_end(&run);
    if (!is_eager) gantry__onnx_constants_trim(entry->model->runtime, SIZE_MAX);
}
