/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the model: a node that calls one becomes the function's nodes, in a scope of their
 * own. Nothing of a function remains. The outputs of the call are other names of values that the
 * function's nodes make, or of its inputs.
 *
 * A call within a call counts as nested; a function that calls itself, also through others, is
 * refused. What a model becomes is bounded by the nodes, by the memory and by the work of reading,
 * so a few functions that each call the next one many times end there. */
#include "onnx/base/limits.h"
#include "shared/memory.h"
#include "onnx/graph/build.h"

/* ---- finding ---- */

/* Finds the number of a name, or gives it one. */
static gantry_status_t function_number_of(gantry__onnx_build_t *build, uint32_t scope,
                                          gantry__onnx_bytes_t name, bool adds, uint32_t fresh,
                                          uint32_t *out_number, bool *out_found) {
    GANTRY__TRY(gantry__onnx_find_name(build->reader, &build->functions, scope, name, out_number,
                                       out_found));
    if (*out_found || !adds) return GANTRY_OK;
    *out_number = fresh;
    return gantry__onnx_set_name(build->reader, &build->functions, scope, name, fresh);
}

/* A function is entered as its domain in scope 0, its overload in the domain's, its name in that
 * one's. index: of a function that is added; UINT32_MAX: it is looked for. */
static gantry_status_t find_key(gantry__onnx_build_t *build, gantry__onnx_bytes_t domain,
                                gantry__onnx_bytes_t overload, gantry__onnx_bytes_t name,
                                uint32_t index, uint32_t *out_number, bool *out_found) {
    const bool adds = index != UINT32_MAX;
    uint32_t scope;
    GANTRY__TRY(function_number_of(build, 0, gantry__onnx_domain(domain), adds, 2 * index + 1,
                                   &scope, out_found));
    if (!*out_found && !adds) return GANTRY_OK;
    GANTRY__TRY(function_number_of(build, scope, overload, adds, 2 * index + 2, &scope, out_found));
    if (!*out_found && !adds) return GANTRY_OK;
    return function_number_of(build, scope, name, adds, index, out_number, out_found);
}

gantry_status_t gantry__onnx_find_function(gantry__onnx_build_t *build,
                                           const gantry__onnx_wire_node_t *node,
                                           const gantry__onnx_wire_function_t **out_function) {
    uint32_t number;
    bool found;
    *out_function = NULL;
    if (build->message->functions.count == 0) return GANTRY_OK;
    GANTRY__TRY(
        find_key(build, node->domain, node->overload, node->op_type, UINT32_MAX, &number, &found));
    if (found) *out_function = &build->message->functions.items[number];
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_add_functions(gantry__onnx_build_t *build) {
    for (size_t i = 0; i < build->message->functions.count; ++i) {
        const gantry__onnx_wire_function_t *function = &build->message->functions.items[i];
        gantry__onnx_place_t *place = &build->reader->place;
        uint32_t number;
        bool found;
        if (function->name.size == 0)
            return gantry__onnx_bad(build->reader, "function %zu has no name; a name is accepted",
                                    i);
        place->in_function = true;
        place->function = function->name;
        GANTRY__TRY(find_key(build, function->domain, function->overload, function->name,
                             (uint32_t)i, &number, &found));
        if (found)
            return gantry__onnx_bad(build->reader,
                                    "two functions have this name, domain and "
                                    "overload; one is accepted");
        GANTRY__TRY(gantry__onnx_check_opsets(build->reader, function->opset_import.items,
                                              function->opset_import.count));
        place->in_function = false;
    }
    return GANTRY_OK;
}

/* ---- expanding ---- */

static gantry_status_t check_nesting(const gantry__onnx_build_t *build,
                                     const gantry__onnx_frame_t *frame,
                                     const gantry__onnx_wire_function_t *function) {
    const gantry__onnx_expansion_t *outer = frame->expansion;
    for (; outer; outer = outer->outer) {
        if (outer->function == function)
            return gantry__onnx_bad(build->reader,
                                    "it calls the function '%.*s', which calls itself; functions "
                                    "that end are accepted",
                                    GANTRY__ONNX_SHOWN(function->name));
    }
    if (frame->depth >= GANTRY__ONNX_MOST_NESTED_GRAPHS)
        return gantry__onnx_bad(build->reader,
                                "graphs and functions are nested more than %d deep; %d are "
                                "accepted",
                                GANTRY__ONNX_MOST_NESTED_GRAPHS, GANTRY__ONNX_MOST_NESTED_GRAPHS);
    return GANTRY_OK;
}

static gantry_status_t bind_inputs(gantry__onnx_build_t *build, const gantry__onnx_frame_t *caller,
                                   const gantry__onnx_frame_t *frame,
                                   const gantry__onnx_wire_node_t *node,
                                   const gantry__onnx_wire_function_t *function) {
    if (node->input.count > function->input.count)
        return gantry__onnx_bad(build->reader,
                                "it gives %zu inputs to a function of %zu; at most these are "
                                "accepted",
                                node->input.count, function->input.count);
    for (size_t i = 0; i < function->input.count; ++i) {
        gantry__onnx_value_t value = GANTRY__ONNX_NO_VALUE;
        if (i < node->input.count)
            GANTRY__TRY(
                gantry__onnx_look_up(build, caller, node->input.items[i], "its input", &value));
        /* the nodes of the function count as readers, the call does not */
        if (value != GANTRY__ONNX_NO_VALUE) build->values[value].uses--;
        if (function->input.items[i].size == 0)
            return gantry__onnx_bad(build->reader, "the function's input %zu has no name", i);
        GANTRY__TRY(gantry__onnx_bind(build, frame, function->input.items[i], value,
                                      "the function's input"));
    }
    return GANTRY_OK;
}

static gantry_status_t bind_outputs(gantry__onnx_build_t *build, const gantry__onnx_frame_t *caller,
                                    const gantry__onnx_frame_t *frame, size_t first_value,
                                    const gantry__onnx_wire_node_t *node,
                                    const gantry__onnx_wire_function_t *function) {
    if (node->output.count > function->output.count)
        return gantry__onnx_bad(build->reader,
                                "it takes %zu outputs of a function of %zu; at most these are "
                                "accepted",
                                node->output.count, function->output.count);
    for (size_t i = 0; i < node->output.count; ++i) {
        const gantry__onnx_bytes_t name = node->output.items[i];
        gantry__onnx_value_t value;
        if (name.size == 0) continue;
        GANTRY__TRY(gantry__onnx_look_up(build, frame, function->output.items[i],
                                         "the function's output", &value));
        if (value == GANTRY__ONNX_NO_VALUE)
            return gantry__onnx_bad(build->reader,
                                    "its output '%.*s' is an input of the function that it does "
                                    "not give",
                                    GANTRY__ONNX_SHOWN(name));
        build->values[value].uses--;
        GANTRY__TRY(gantry__onnx_bind(build, caller, name, value, "its output"));
        if (value >= first_value)
            GANTRY__TRY(gantry__onnx_copy_name(build, name, "the name of an output",
                                               &build->values[value].name));
    }
    return GANTRY_OK;
}

static gantry_status_t expand_nodes(gantry__onnx_build_t *build, gantry__onnx_frame_t *frame,
                                    const gantry__onnx_wire_function_t *function) {
    for (size_t i = 0; i < function->node.count; ++i) {
        build->reader->place.in_function = true;
        build->reader->place.function = function->name;
        GANTRY__TRY(gantry__onnx_make_node(build, frame, &function->node.items[i], i));
    }
    return gantry__onnx_add_hints(build, frame, function->value_info.items,
                                  function->value_info.count);
}

gantry_status_t gantry__onnx_expand(gantry__onnx_build_t *build, gantry__onnx_frame_t *caller,
                                    const gantry__onnx_wire_node_t *node,
                                    const gantry__onnx_wire_function_t *function) {
    const gantry__onnx_place_t place = build->reader->place;
    const size_t first_value = build->value_count;
    gantry__onnx_expansion_t expansion = {.outer = caller->expansion, .function = function};
    gantry__onnx_frame_t frame = {.scope = ++build->scopes,
                                  .depth = caller->depth + 1,
                                  .graph = caller->graph,
                                  .first_node = caller->first_node,
                                  .expansion = &expansion,
                                  .opsets = function->opset_import.items,
                                  .opset_count = function->opset_import.count};
    GANTRY__TRY(check_nesting(build, caller, function));
    GANTRY__TRY(
        gantry__onnx_make_attrs(build, caller, node, &expansion.attrs, &expansion.attr_count));
    GANTRY__TRY(bind_inputs(build, caller, &frame, node, function));
    GANTRY__TRY(expand_nodes(build, &frame, function));
    build->reader->place = place;
    return bind_outputs(build, caller, &frame, first_value, node, function);
}
