/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and nodes: names become numbers of values. A name is looked up in its graph, then in those
 * around it, and must have been made by an earlier node there. No name hides another one. */
#include <string.h>

#include "onnx/base/limits.h"
#include "shared/memory.h"
#include "onnx/graph/build.h"

gantry_status_t gantry__onnx_copy_name(gantry__onnx_build_t *build, gantry__onnx_bytes_t name,
                                       const char *what, const char **out_text) {
    return gantry__onnx_copy_text(build->reader, name, GANTRY__ONNX_MOST_NAME_BYTES, what,
                                  out_text);
}

/* ---- names ---- */

static gantry_status_t find_outwards(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                     gantry__onnx_bytes_t name, gantry__onnx_value_t *out_value,
                                     bool *out_found) {
    *out_found = false;
    for (; frame && !*out_found; frame = frame->outer)
        GANTRY__TRY(gantry__onnx_find_name(build->reader, &build->names, frame->scope, name,
                                           out_value, out_found));
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_look_up(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                     gantry__onnx_bytes_t name, const char *what,
                                     gantry__onnx_value_t *out_value) {
    bool found;
    *out_value = GANTRY__ONNX_NO_VALUE;
    if (name.size == 0) return GANTRY_OK;
    GANTRY__TRY(find_outwards(build, frame, name, out_value, &found));
    if (!found)
        return gantry__onnx_bad(build->reader,
                                "%s '%.*s' is not made by an input, an initializer or an earlier "
                                "node; nodes come after those that they read",
                                what, GANTRY__ONNX_SHOWN(name));
    if (*out_value != GANTRY__ONNX_NO_VALUE) build->values[*out_value].uses++;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_bind(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                  gantry__onnx_bytes_t name, gantry__onnx_value_t value,
                                  const char *what) {
    gantry__onnx_value_t other;
    bool found;
    GANTRY__TRY(find_outwards(build, frame, name, &other, &found));
    if (found)
        return gantry__onnx_bad(build->reader,
                                "%s '%.*s' has the name of another value; a name of its own is "
                                "accepted",
                                what, GANTRY__ONNX_SHOWN(name));
    return gantry__onnx_set_name(build->reader, &build->names, frame->scope, name, value);
}

gantry_status_t gantry__onnx_define(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                    gantry__onnx_bytes_t name, const char *what,
                                    gantry__onnx_source_t source, gantry__onnx_value_t *out_value) {
    gantry__onnx_value_info_t info = {
        .source = source, .graph = frame->graph, .type = {.rank = -1}};
    if (name.size == 0)
        return gantry__onnx_bad(build->reader, "%s has no name; a name is accepted", what);
    GANTRY__TRY(
        gantry__onnx_bind(build, frame, name, (gantry__onnx_value_t)build->value_count, what));
    GANTRY__TRY(gantry__onnx_copy_name(build, name, what, &info.name));
    info.node = (uint32_t)(build->node_count - frame->first_node);
    GANTRY__TRY(gantry__onnx_grow_list(build->reader, &build->values, build->value_count,
                                       &build->value_capacity, sizeof *build->values));
    *out_value = (gantry__onnx_value_t)build->value_count;
    build->values[build->value_count++] = info;
    return GANTRY_OK;
}

/* ---- what is declared ---- */

static gantry_status_t declare(gantry__onnx_build_t *build, gantry__onnx_value_t value,
                               const gantry__onnx_wire_value_info_t *info, bool is_promise) {
    gantry__onnx_type_t type = {.rank = -1};
    if (!info->type) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_make_type(build, info->type, is_promise, &type));
    /* An optional tensor that is an input is given. */
    if (is_promise && type.kind == GANTRY__ONNX_OPTIONAL && type.inner &&
        type.inner->kind == GANTRY__ONNX_TENSOR)
        type = *type.inner;
    build->values[value].type = type;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_add_hints(gantry__onnx_build_t *build,
                                       const gantry__onnx_frame_t *frame,
                                       const gantry__onnx_wire_value_info_t *infos, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        gantry__onnx_value_t value;
        bool found;
        GANTRY__TRY(gantry__onnx_find_name(build->reader, &build->names, frame->scope,
                                           infos[i].name, &value, &found));
        if (!found || value == GANTRY__ONNX_NO_VALUE) continue;
        if (build->values[value].type.kind == GANTRY__ONNX_UNTYPED)
            GANTRY__TRY(declare(build, value, &infos[i], false));
    }
    return GANTRY_OK;
}

/* ---- nodes ---- */

static gantry_status_t scope_make_inputs(gantry__onnx_build_t *build,
                                         const gantry__onnx_frame_t *frame,
                                         const gantry__onnx_wire_node_t *message,
                                         gantry__onnx_node_t *node) {
    size_t count = message->input.count;
    while (count > 0 && message->input.items[count - 1].size == 0) --count;
    gantry__onnx_value_t *inputs = gantry__onnx_model_alloc(build->reader, count, sizeof *inputs);
    if (!inputs) return GANTRY_RESOURCE_EXHAUSTED;
    node->inputs = inputs;
    node->input_count = count;
    for (size_t i = 0; i < count; ++i)
        GANTRY__TRY(
            gantry__onnx_look_up(build, frame, message->input.items[i], "its input", &inputs[i]));
    /* within a function a value may be left out, too */
    while (node->input_count > 0 && inputs[node->input_count - 1] == GANTRY__ONNX_NO_VALUE)
        --node->input_count;
    return GANTRY_OK;
}

static gantry_status_t scope_make_outputs(gantry__onnx_build_t *build,
                                          const gantry__onnx_frame_t *frame,
                                          const gantry__onnx_wire_node_t *message,
                                          gantry__onnx_node_t *node) {
    const size_t count = message->output.count;
    gantry__onnx_value_t *outputs = gantry__onnx_model_alloc(build->reader, count, sizeof *outputs);
    if (!outputs) return GANTRY_RESOURCE_EXHAUSTED;
    node->outputs = outputs;
    node->output_count = count;
    for (size_t i = 0; i < count; ++i) {
        outputs[i] = GANTRY__ONNX_NO_VALUE;
        if (message->output.items[i].size == 0) continue;
        GANTRY__TRY(gantry__onnx_define(build, frame, message->output.items[i], "its output",
                                        GANTRY__ONNX_FROM_NODE, &outputs[i]));
    }
    return GANTRY_OK;
}

static gantry_status_t scope_name_node(gantry__onnx_build_t *build,
                                       const gantry__onnx_wire_node_t *message,
                                       gantry__onnx_node_t *node) {
    GANTRY__TRY(gantry__onnx_copy_name(build, message->name, "the name of a node", &node->name));
    GANTRY__TRY(gantry__onnx_copy_name(build, message->op_type, "the op of a node", &node->op));
    GANTRY__TRY(gantry__onnx_copy_name(build, gantry__onnx_domain(message->domain),
                                       "the domain of a node", &node->domain));
    return gantry__onnx_copy_name(build, message->overload, "the overload of a node",
                                  &node->overload);
}

static gantry_status_t push_node(gantry__onnx_build_t *build, gantry__onnx_node_t *node) {
    if (++build->total_nodes > GANTRY__ONNX_MOST_NODES)
        return gantry__onnx_bad(build->reader,
                                "the model has more than %d nodes, with those of its functions "
                                "wherever they are called; %d are accepted",
                                GANTRY__ONNX_MOST_NODES, GANTRY__ONNX_MOST_NODES);
    GANTRY__TRY(gantry__onnx_grow_list(build->reader, &build->nodes, build->node_count,
                                       &build->node_capacity, sizeof *build->nodes));
    build->nodes[build->node_count++] = *node;
    return GANTRY_OK;
}

static gantry_status_t make_plain_node(gantry__onnx_build_t *build, gantry__onnx_frame_t *frame,
                                       const gantry__onnx_wire_node_t *message, int64_t version) {
    gantry__onnx_node_t node = {.version = version};
    GANTRY__TRY(scope_name_node(build, message, &node));
    GANTRY__TRY(scope_make_inputs(build, frame, message, &node));
    GANTRY__TRY(gantry__onnx_make_attrs(build, frame, message, &node.attrs, &node.attr_count));
    node.index = (uint32_t)(build->node_count - frame->first_node);
    GANTRY__TRY(scope_make_outputs(build, frame, message, &node));
    return push_node(build, &node);
}

static gantry_status_t scope_check_node(const gantry__onnx_build_t *build,
                                        const gantry__onnx_wire_node_t *message, int64_t version) {
    const gantry__onnx_bytes_t domain = gantry__onnx_domain(message->domain);
    if (message->op_type.size == 0)
        return gantry__onnx_bad(build->reader, "it has no op; a name of an op is accepted");
    if (message->input.count == 0 && message->output.count == 0)
        return gantry__onnx_bad(build->reader,
                                "it has no inputs and no outputs; one of them is accepted");
    if (version == 0)
        return gantry__onnx_bad(build->reader,
                                "no operator set is imported for its domain '%.*s'; opset_import "
                                "must have each domain that a node uses",
                                GANTRY__ONNX_SHOWN(domain));
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_make_node(gantry__onnx_build_t *build, gantry__onnx_frame_t *frame,
                                       const gantry__onnx_wire_node_t *message, size_t index) {
    const gantry__onnx_wire_function_t *function;
    const int64_t version =
        gantry__onnx_imported(frame->opsets, frame->opset_count, message->domain);
    gantry__onnx_place_t *place = &build->reader->place;
    place->in_node = true;
    place->node = message->name;
    place->op = message->op_type;
    place->version = message->op_type.size > 0 ? version : 0;
    place->index = index;
    GANTRY__TRY(gantry__onnx_work(build->reader, 1));
    GANTRY__TRY(scope_check_node(build, message, version));
    GANTRY__TRY(gantry__onnx_find_function(build, message, &function));
    if (function) return gantry__onnx_expand(build, frame, message, function);
    return make_plain_node(build, frame, message, version);
}

/* ---- graphs ---- */

static gantry_status_t scope_add_inputs(gantry__onnx_build_t *build,
                                        const gantry__onnx_frame_t *frame,
                                        const gantry__onnx_wire_graph_t *message) {
    gantry__onnx_value_t *inputs =
        gantry__onnx_model_alloc(build->reader, message->input.count, sizeof *inputs);
    if (!inputs) return GANTRY_RESOURCE_EXHAUSTED;
    frame->graph->inputs = inputs;
    frame->graph->input_count = message->input.count;
    for (size_t i = 0; i < message->input.count; ++i) {
        const gantry__onnx_wire_value_info_t *info = &message->input.items[i];
        GANTRY__TRY(gantry__onnx_define(build, frame, info->name, "the input of the graph",
                                        GANTRY__ONNX_FROM_INPUT, &inputs[i]));
        GANTRY__TRY(declare(build, inputs[i], info, !frame->outer));
    }
    return GANTRY_OK;
}

static gantry_status_t add_tensor(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                  gantry__onnx_bytes_t name, gantry__onnx_tensor_t *tensor) {
    gantry__onnx_value_t value;
    bool found;
    GANTRY__TRY(
        gantry__onnx_find_name(build->reader, &build->names, frame->scope, name, &value, &found));
    if (!found)
        GANTRY__TRY(gantry__onnx_define(build, frame, name, "the initializer",
                                        GANTRY__ONNX_FROM_TENSOR, &value));
    gantry__onnx_value_info_t *info = &build->values[value];
    if (info->tensor)
        return gantry__onnx_bad(build->reader,
                                "two initializers have the name '%.*s'; names of their own are "
                                "accepted",
                                GANTRY__ONNX_SHOWN(name));
    info->tensor = tensor;
    return GANTRY_OK;
}

static gantry_status_t add_initializers(gantry__onnx_build_t *build,
                                        const gantry__onnx_frame_t *frame,
                                        const gantry__onnx_wire_graph_t *message) {
    gantry__onnx_tensor_t *tensor;
    for (size_t i = 0; i < message->initializer.count; ++i) {
        const gantry__onnx_wire_tensor_t *each = &message->initializer.items[i];
        GANTRY__TRY(gantry__onnx_make_tensor(build, each, &tensor));
        GANTRY__TRY(add_tensor(build, frame, each->name, tensor));
    }
    for (size_t i = 0; i < message->sparse_initializer.count; ++i) {
        const gantry__onnx_wire_sparse_t *each = &message->sparse_initializer.items[i];
        GANTRY__TRY(gantry__onnx_make_sparse(build, each, &tensor));
        GANTRY__TRY(add_tensor(build, frame, each->values->name, tensor));
    }
    return GANTRY_OK;
}

/* Before IR 4 an initializer is an input, too, and no caller gives it. */
static void drop_constant_inputs(gantry__onnx_build_t *build, gantry__onnx_graph_t *graph) {
    gantry__onnx_value_t *inputs = (gantry__onnx_value_t *)(uintptr_t)graph->inputs;
    size_t count = 0;
    for (size_t i = 0; i < graph->input_count; ++i) {
        gantry__onnx_value_info_t *info = &build->values[inputs[i]];
        if (info->tensor)
            info->source = GANTRY__ONNX_FROM_TENSOR;
        else
            inputs[count++] = inputs[i];
    }
    graph->input_count = count;
}

static gantry_status_t scope_add_outputs(gantry__onnx_build_t *build,
                                         const gantry__onnx_frame_t *frame,
                                         const gantry__onnx_wire_graph_t *message) {
    gantry__onnx_value_t *outputs =
        gantry__onnx_model_alloc(build->reader, message->output.count, sizeof *outputs);
    if (!outputs) return GANTRY_RESOURCE_EXHAUSTED;
    frame->graph->outputs = outputs;
    frame->graph->output_count = message->output.count;
    for (size_t i = 0; i < message->output.count; ++i) {
        const gantry__onnx_wire_value_info_t *info = &message->output.items[i];
        if (info->name.size == 0)
            return gantry__onnx_bad(build->reader,
                                    "output %zu of the graph has no name; a name is accepted", i);
        GANTRY__TRY(
            gantry__onnx_look_up(build, frame, info->name, "the output of the graph", &outputs[i]));
        if (outputs[i] == GANTRY__ONNX_NO_VALUE) continue;
        if (build->values[outputs[i]].type.kind == GANTRY__ONNX_UNTYPED)
            GANTRY__TRY(declare(build, outputs[i], info, !frame->outer));
    }
    return GANTRY_OK;
}

/* Takes the graph's nodes from the stack. */
static gantry_status_t scope_take_nodes(gantry__onnx_build_t *build,
                                        const gantry__onnx_frame_t *frame) {
    const size_t count = build->node_count - frame->first_node;
    gantry__onnx_node_t *nodes = gantry__onnx_model_alloc(build->reader, count, sizeof *nodes);
    if (!nodes) return GANTRY_RESOURCE_EXHAUSTED;
    if (count > 0) memcpy(nodes, build->nodes + frame->first_node, count * sizeof *nodes);
    frame->graph->nodes = nodes;
    frame->graph->node_count = count;
    build->node_count = frame->first_node;
    return GANTRY_OK;
}

static gantry_status_t fill_graph(gantry__onnx_build_t *build, gantry__onnx_frame_t *frame,
                                  const gantry__onnx_wire_graph_t *message) {
    const gantry__onnx_place_t place = build->reader->place;
    GANTRY__TRY(scope_add_inputs(build, frame, message));
    GANTRY__TRY(add_initializers(build, frame, message));
    if (!frame->outer && build->model->ir_version < 4) drop_constant_inputs(build, frame->graph);
    for (size_t i = 0; i < message->node.count; ++i)
        GANTRY__TRY(gantry__onnx_make_node(build, frame, &message->node.items[i], i));
    build->reader->place = place;
    GANTRY__TRY(scope_add_outputs(build, frame, message));
    GANTRY__TRY(
        gantry__onnx_add_hints(build, frame, message->value_info.items, message->value_info.count));
    return scope_take_nodes(build, frame);
}

gantry_status_t gantry__onnx_make_graph(gantry__onnx_build_t *build,
                                        const gantry__onnx_wire_graph_t *message,
                                        const gantry__onnx_frame_t *outer,
                                        gantry__onnx_graph_t **out_graph) {
    gantry__onnx_graph_t *graph = gantry__onnx_model_alloc(build->reader, 1, sizeof *graph);
    gantry__onnx_frame_t frame = {.outer = outer, .graph = graph, .first_node = build->node_count};
    *out_graph = graph;
    if (!graph) return GANTRY_RESOURCE_EXHAUSTED;
    frame.scope = ++build->scopes;
    frame.depth = outer ? outer->depth + 1 : 0;
    frame.expansion = outer ? outer->expansion : NULL;
    frame.opsets = outer ? outer->opsets : build->message->opset_import.items;
    frame.opset_count = outer ? outer->opset_count : build->message->opset_import.count;
    if (frame.depth > GANTRY__ONNX_MOST_NESTED_GRAPHS)
        return gantry__onnx_bad(build->reader,
                                "graphs and functions are nested more than %d deep; %d are "
                                "accepted",
                                GANTRY__ONNX_MOST_NESTED_GRAPHS, GANTRY__ONNX_MOST_NESTED_GRAPHS);
    if (message->name.size == 0)
        return gantry__onnx_bad(build->reader, "%s has no name; a name is accepted",
                                outer ? "its graph" : "the graph");
    GANTRY__TRY(gantry__onnx_copy_name(build, message->name, "the name of a graph", &graph->name));
    graph->parent = outer ? outer->graph : NULL;
    GANTRY__TRY(gantry__onnx_grow_list(build->reader, &build->graphs, build->graph_count,
                                       &build->graph_capacity, sizeof *build->graphs));
    graph->index = (uint32_t)build->graph_count;
    build->graphs[build->graph_count++] = graph;
    return fill_graph(build, &frame, message);
}
