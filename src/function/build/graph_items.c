/* SPDX-License-Identifier: Apache-2.0 */
/* A node of any kind, checked, copied into its graph, and added: all or nothing. */
#include <string.h>

#include "device/device_table.h"
#include "function/build/graph_description.h"
#include "function/build/graph_join.h"
#include "run/runtime_state.h"
#include "run/tensor_state.h"
#include "run/variable_state.h"

#define MOST_ATTR_NUMBERS 65536 /* in a list, as of prepared ops */

const char *gantry__graph_item_op(const gantry__graph_item_t *item) {
    static const char *const names[] = {"input",  "constant", "",      "ReadVariableOp",
                                        "Assign", "Case",     "While", "Draw"};
    if (item->kind == GANTRY_GRAPH_JOIN) return item->node.op ? item->node.op : "Join";
    return item->op ? item->op->name : names[item->kind];
}

/* ---- checks ---- */

gantry_status_t gantry__graph_check_value(const gantry_graph_t *graph, const char *call,
                                          const char *what, gantry_graph_value_t value) {
    const gantry__graph_root_t *root = graph->root;
    if (value >= root->value_count)
        return gantry__refuse("%s: %s is %u; the graph has %zu values, and one of them is accepted",
                              call, what, (unsigned)value, root->value_count);
    for (const gantry_graph_t *at = graph; at; at = at->parent) {
        if (root->values[value].graph == at) return GANTRY_OK;
    }
    return gantry__refuse(
        "%s: %s is %u, of the subgraph \"%s\", which ends before; a value of this graph, or of one around it, is accepted",
        call, what, (unsigned)value, gantry__graph_label(root->values[value].graph->name).text);
}

static gantry_status_t graph_check_values(const gantry_graph_t *graph, const char *call,
                                          const char *what, const gantry_graph_value_t *values,
                                          size_t count) {
    if (count > 0 && !values)
        return gantry__refuse("%s: %zu %s are given at NULL; an array is accepted", call, count,
                              what);
    if (count > GANTRY_MAX_FUNCTION_VALUES + (size_t)1)
        return gantry__refuse("%s: %zu %s; at most %d are accepted", call, count, what,
                              GANTRY_MAX_FUNCTION_VALUES + 1);
    for (size_t i = 0; i < count; ++i)
        GANTRY__TRY(gantry__graph_check_value(graph, call, what, values[i]));
    return GANTRY_OK;
}

static gantry_status_t check_node(const gantry_graph_t *graph, const char *call,
                                  const gantry_graph_node_t *node) {
    gantry__device_reference_t reference;
    GANTRY__TRY(graph_check_values(graph, call, "inputs", node->inputs, node->input_count));
    GANTRY__TRY(graph_check_values(graph, call, "controls", node->controls, node->control_count));
    GANTRY__TRY(
        graph_check_values(graph, call, "colocated", node->colocated, node->colocated_count));
    if (!node->device) return GANTRY_OK;
    if (strlen(node->device) >= GANTRY__DEVICE_NAME_BYTES)
        return gantry__refuse(
            "%s: the device \"%s\" has %d bytes or more; a device text is accepted", call,
            gantry__graph_label(node->device).text, GANTRY__DEVICE_NAME_BYTES);
    if (strcmp(node->device, GANTRY_DEVICE_NONE) == 0) return GANTRY_OK;
    return gantry__device_reference_from_user(&graph->root->runtime->devices, node->device,
                                              &reference);
}

/* The op with its attributes as the definition has them. */
static gantry_status_t check_op(const gantry_graph_node_t *node, gantry__infer_t *call) {
    call->input_count = (uint32_t)node->input_count;
    GANTRY__TRY(gantry__op_infer(call, node->attrs, node->attr_count));
    for (uint32_t i = 0; i < call->op->attr_count; ++i) {
        const gantry_attr_t *attr = &call->attrs[i];
        const bool is_list = attr->kind == GANTRY_ATTR_INTS || attr->kind == GANTRY_ATTR_SHAPE;
        if (is_list && attr->i > MOST_ATTR_NUMBERS)
            return gantry__refuse("%s: attribute '%s' has %lld entries; accepted are 0 to %d",
                                  call->op->name, attr->name, (long long)attr->i,
                                  MOST_ATTR_NUMBERS);
    }
    return gantry__op_count_outputs(call);
}

static gantry_status_t find_graph_op(const gantry_graph_node_t *node, gantry__infer_t *call) {
    if (!node->op) return gantry__refuse("the op's name is NULL; a name is accepted");
    call->op = gantry__op_find(node->op);
    if (!call->op)
        return gantry__fail(
            GANTRY_NOT_FOUND,
            "Op type not registered '%s'; gantry_op_info lists the %zu that are accepted",
            gantry__graph_label(node->op).text, gantry_op_count());
    if (call->op->flags & GANTRY__OP_SEQUENCED)
        return gantry__refuse(
            "op %s is no node of its own; gantry_graph_add_constant, gantry_graph_add_read and gantry_graph_add_assign are accepted",
            call->op->name);
    return GANTRY_OK;
}

static gantry_status_t check_subgraph(const gantry_graph_t *graph, const gantry_graph_t *subgraph,
                                      const char *what, size_t inputs, size_t outputs) {
    if (!subgraph || subgraph->parent != graph)
        return gantry__refuse("%s is %s; one from gantry_graph_add_subgraph of it is accepted",
                              what, subgraph ? "no subgraph of this graph" : "NULL");
    const gantry__graph_label_t name = gantry__graph_label(subgraph->name);
    if (subgraph->is_closed)
        return gantry__refuse(
            "%s is the subgraph \"%s\" of another branch or loop; one that none has is accepted",
            what, name.text);
    if (subgraph->input_count != inputs || subgraph->output_count != outputs)
        return gantry__refuse(
            "%s, \"%s\", has %zu inputs and %zu outputs; %zu and %zu are accepted", what, name.text,
            subgraph->input_count, subgraph->output_count, inputs, outputs);
    return GANTRY_OK;
}

static gantry_status_t check_branch(const gantry_graph_t *graph, gantry__graph_item_t *item) {
    const size_t inputs = item->node.input_count - 1;
    if (item->node.input_count == 0)
        return gantry__refuse("it has no input; a selector, then the subgraphs' are accepted");
    if (item->subgraph_count == 0 || item->subgraph_count > GANTRY_MAX_GRAPH_BRANCHES)
        return gantry__refuse("%u subgraphs; 1 to %d are accepted", item->subgraph_count,
                              GANTRY_MAX_GRAPH_BRANCHES);
    if (!item->subgraphs)
        return gantry__refuse("subgraphs is NULL; an array of %u is accepted",
                              item->subgraph_count);
    for (uint32_t i = 0; i < item->subgraph_count; ++i) {
        GANTRY__TRY(check_subgraph(
            graph, item->subgraphs[i], "a subgraph", inputs,
            i == 0 && item->subgraphs[0] ? item->subgraphs[0]->output_count : item->output_count));
        for (uint32_t k = 0; k < i; ++k) {
            if (item->subgraphs[k] == item->subgraphs[i])
                return gantry__refuse("subgraphs %u and %u are one; each of its own is accepted", k,
                                      i);
        }
        item->output_count = (uint32_t)item->subgraphs[0]->output_count;
    }
    return GANTRY_OK;
}

static gantry_status_t check_loop(const gantry_graph_t *graph, gantry__graph_item_t *item) {
    const size_t count = item->node.input_count;
    if (item->subgraph_count != 2)
        return gantry__refuse("%u subgraphs; a condition and a body are accepted",
                              item->subgraph_count);
    GANTRY__TRY(check_subgraph(graph, item->subgraphs[0], "condition", count, 1));
    GANTRY__TRY(check_subgraph(graph, item->subgraphs[1], "body", count, count));
    if (item->subgraphs[0] == item->subgraphs[1])
        return gantry__refuse("condition and body are one; each of its own is accepted");
    item->output_count = (uint32_t)count;
    return GANTRY_OK;
}

static gantry_status_t check_joined(const gantry_graph_t *graph, gantry__graph_item_t *item) {
    if (item->subgraph_count != 1)
        return gantry__refuse("%u subgraphs; a body is accepted", item->subgraph_count);
    const size_t given = item->subgraphs[0] ? item->subgraphs[0]->output_count : 0;
    const size_t count = given > 0 ? given : 1;
    GANTRY__TRY(check_subgraph(graph, item->subgraphs[0], "body", 2 * count, count));
    return gantry__graph_join_check(item);
}

/* Nodes that are no ops, branches or loops. */
static gantry_status_t graph_check_plain(const gantry__graph_item_t *item) {
    const bool is_assign = item->kind == GANTRY_GRAPH_ASSIGN;
    const bool has_variable = is_assign || item->kind == GANTRY_GRAPH_READ;
    if (item->node.input_count != is_assign)
        return gantry__refuse("%s has %zu inputs; %d is accepted", gantry__graph_item_op(item),
                              item->node.input_count, is_assign);
    if ((item->kind == GANTRY_GRAPH_CONSTANT && !item->tensor) ||
        (has_variable && !item->variable) || (item->kind == GANTRY_GRAPH_DRAW && !item->draws))
        return gantry__refuse("%s has no %s", gantry__graph_item_op(item),
                              has_variable                      ? "variable"
                              : item->kind == GANTRY_GRAPH_DRAW ? "stream"
                                                                : "tensor");
    return item->subgraph_count == 0
               ? GANTRY_OK
               : gantry__refuse("%s has subgraphs; none is accepted", gantry__graph_item_op(item));
}

/* Checks what the kind needs, and finds the number of outputs. */
static gantry_status_t graph_check_kind(const gantry_graph_t *graph, gantry__graph_item_t *item,
                                        gantry__infer_t *call) {
    item->output_count = 1;
    switch (item->kind) {
        case GANTRY_GRAPH_OP:
            GANTRY__TRY(find_graph_op(&item->node, call));
            GANTRY__TRY(check_op(&item->node, call));
            item->op = call->op;
            item->output_count = call->output_count;
            return GANTRY_OK;
        case GANTRY_GRAPH_ASSIGN: item->output_count = 0; return graph_check_plain(item);
        case GANTRY_GRAPH_CASE: return check_branch(graph, item);
        case GANTRY_GRAPH_WHILE: return check_loop(graph, item);
        case GANTRY_GRAPH_JOIN: return check_joined(graph, item);
        case GANTRY_GRAPH_DRAW: item->output_count = 2; return graph_check_plain(item);
        default: return graph_check_plain(item);
    }
}

/* Puts the call and the node's name in front. */
static gantry_status_t fail_at_node(const char *call, const gantry__graph_item_t *item,
                                    gantry_status_t status) {
    if (status == GANTRY_OK) return GANTRY_OK;
    const char *name = item->node.name;
    if (!name || !*name) return gantry__fail_prefix(status, "%s: ", call);
    return gantry__fail_prefix(status, "%s: node \"%s\": ", call, gantry__graph_label(name).text);
}

/* ---- copies ---- */

static bool graph_copy_values(gantry__arena_t *arena, const gantry_graph_value_t **values,
                              size_t count) {
    *values = count > 0 ? gantry__arena_copy(arena, *values, count, sizeof **values) : NULL;
    return count == 0 || *values;
}

/* The text and the list become the graph's; the name does not. */
static gantry_status_t copy_graph_attr(gantry_graph_t *graph, const char *call,
                                       const gantry_attr_value_t *given,
                                       gantry_attr_value_t *copy) {
    *copy = (gantry_attr_value_t){
        .name = given->name, .kind = given->kind, .i = given->i, .f = given->f};
    if (given->kind == GANTRY_ATTR_STRING)
        return gantry__graph_copy_text(graph, call, given->name, given->s, &copy->s);
    if (given->kind != GANTRY_ATTR_INTS && given->kind != GANTRY_ATTR_SHAPE) return GANTRY_OK;
    copy->list =
        gantry__arena_copy(&graph->root->arena, given->list, (size_t)given->i, sizeof *given->list);
    return copy->list ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t copy_graph_attrs(gantry_graph_t *graph, const char *call,
                                        gantry_graph_node_t *node, const gantry__infer_t *infer) {
    gantry__arena_t *arena = &graph->root->arena;
    gantry_attr_value_t *copies =
        gantry__arena_zalloc(arena, infer->op->attr_count, sizeof *copies);
    if (!copies) return GANTRY_RESOURCE_EXHAUSTED;
    node->attrs = copies;
    node->attr_count = 0;
    for (uint32_t i = 0; i < infer->op->attr_count; ++i) {
        const gantry_attr_t *attr = &infer->attrs[i];
        if (!(infer->given >> i & 1)) continue;
        const gantry_attr_value_t given = {.name = infer->op->attrs[i].name,
                                           .kind = (gantry_attr_kind_t)attr->kind,
                                           .i = attr->i,
                                           .f = attr->f,
                                           .s = attr->s,
                                           .list = attr->list};
        GANTRY__TRY(copy_graph_attr(graph, call, &given, &copies[node->attr_count++]));
    }
    return GANTRY_OK;
}

/* All that are given: they were checked. */
static gantry_status_t copy_join_attrs(gantry_graph_t *graph, const char *call,
                                       gantry_graph_node_t *node) {
    gantry__arena_t *arena = &graph->root->arena;
    const gantry_attr_value_t *given = node->attrs;
    gantry_attr_value_t *copies = gantry__arena_zalloc(arena, node->attr_count, sizeof *copies);
    if (!copies) return GANTRY_RESOURCE_EXHAUSTED;
    node->attrs = copies;
    for (size_t i = 0; i < node->attr_count; ++i) {
        GANTRY__TRY(copy_graph_attr(graph, call, &given[i], &copies[i]));
        copies[i].name = gantry__arena_strdup(arena, given[i].name);
        if (!copies[i].name) return GANTRY_RESOURCE_EXHAUSTED;
    }
    return GANTRY_OK;
}

static gantry_status_t copy_node(gantry_graph_t *graph, const char *call,
                                 gantry__graph_item_t *item, const gantry__infer_t *infer) {
    gantry__arena_t *arena = &graph->root->arena;
    gantry_graph_node_t *node = &item->node;
    node->struct_size = sizeof *node;
    GANTRY__TRY(gantry__graph_copy_text(graph, call, "the name", node->name, &node->name));
    if (node->device && !(node->device = gantry__arena_strdup(arena, node->device)))
        return GANTRY_RESOURCE_EXHAUSTED;
    if (!graph_copy_values(arena, &node->inputs, node->input_count) ||
        !graph_copy_values(arena, &node->controls, node->control_count) ||
        !graph_copy_values(arena, &node->colocated, node->colocated_count))
        return GANTRY_RESOURCE_EXHAUSTED;
    node->op = gantry__graph_item_op(item);
    if (item->kind == GANTRY_GRAPH_OP) return copy_graph_attrs(graph, call, node, infer);
    if (item->kind == GANTRY_GRAPH_JOIN) {
        GANTRY__TRY(copy_join_attrs(graph, call, node));
    } else {
        node->attrs = NULL;
        node->attr_count = 0;
    }
    if (item->subgraph_count == 0) return GANTRY_OK;
    item->subgraphs = gantry__arena_copy(arena, (const void *)item->subgraphs, item->subgraph_count,
                                         sizeof(gantry_graph_t *));
    return item->subgraphs ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* ---- adding ---- */

/* The list of variables holds a reference of its own. */
static gantry_status_t note_variable(gantry__graph_root_t *root, gantry_variable_t *variable) {
    uint32_t *number = gantry__id_map_at(&root->variable_numbers, (uint64_t)(uintptr_t)variable);
    if (!number) return GANTRY_RESOURCE_EXHAUSTED;
    if (*number > 0) return GANTRY_OK;
    if (!gantry__heap_grow(&root->runtime->heap, &root->variables, root->variable_count,
                           &root->variable_capacity, sizeof *root->variables))
        return GANTRY_RESOURCE_EXHAUSTED;
    root->variables[root->variable_count++] = gantry__variable_retain(variable);
    *number = (uint32_t)root->variable_count;
    return GANTRY_OK;
}

/* Room for the node and what it makes; nothing fails after it. */
static gantry_status_t graph_make_room(gantry_graph_t *graph, const gantry__graph_item_t *item) {
    gantry__graph_root_t *root = graph->root;
    const gantry__heap_t *heap = &root->runtime->heap;
    if (root->value_count + item->output_count >= UINT32_MAX || graph->item_count >= UINT32_MAX - 1)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "the graph has %zu values, the most",
                            root->value_count);
    if (item->variable) GANTRY__TRY(note_variable(root, item->variable));
    while (root->value_capacity < root->value_count + item->output_count) {
        if (!gantry__heap_grow(heap, &root->values, root->value_capacity, &root->value_capacity,
                               sizeof *root->values))
            return GANTRY_RESOURCE_EXHAUSTED;
    }
    if (item->kind == GANTRY_GRAPH_INPUT &&
        !gantry__heap_grow(heap, &graph->inputs, graph->input_count, &graph->input_capacity,
                           sizeof *graph->inputs))
        return GANTRY_RESOURCE_EXHAUSTED;
    return gantry__heap_grow(heap, &graph->items, graph->item_count, &graph->item_capacity,
                             sizeof *graph->items)
               ? GANTRY_OK
               : GANTRY_RESOURCE_EXHAUSTED;
}

static uint32_t most_of(uint32_t most, size_t count) {
    return count > most ? (uint32_t)count : most;
}

static void put_item(gantry_graph_t *graph, gantry__graph_item_t *item) {
    gantry__graph_root_t *root = graph->root;
    item->first_output = (gantry_graph_value_t)root->value_count;
    for (uint32_t i = 0; i < item->output_count; ++i)
        root->values[root->value_count++] = (gantry__graph_made_t){graph, graph->value_count++};
    if (item->tensor) item->tensor = gantry_tensor_retain(item->tensor);
    if (item->variable) item->variable = gantry__variable_retain(item->variable);
    if (item->draws) item->draws = gantry__draws_retain(item->draws);
    for (uint32_t i = 0; i < item->subgraph_count; ++i) item->subgraphs[i]->is_closed = true;
    if (item->subgraph_count > 0) item->block = graph->block_count++;
    if (item->kind == GANTRY_GRAPH_INPUT)
        graph->inputs[graph->input_count++] = (uint32_t)graph->item_count;
    graph->most_listed = most_of(graph->most_listed, item->node.input_count);
    graph->most_listed = most_of(graph->most_listed, item->node.control_count);
    graph->items[graph->item_count++] = *item;
}

gantry_status_t gantry__graph_add_item(gantry_graph_t *graph, const char *call,
                                       const gantry__graph_item_t *item,
                                       const gantry__graph_item_t **out_item) {
    gantry__infer_t infer = {.shapes = NULL};
    gantry__graph_item_t copy = *item;
    gantry_status_t status = check_node(graph, call, &copy.node);
    if (status == GANTRY_OK)
        status = fail_at_node(call, item, graph_check_kind(graph, &copy, &infer));
    if (status == GANTRY_OK) status = graph_make_room(graph, &copy);
    if (status == GANTRY_OK) status = copy_node(graph, call, &copy, &infer);
    if (status != GANTRY_OK) return status;
    put_item(graph, &copy);
    *out_item = &graph->items[graph->item_count - 1];
    return GANTRY_OK;
}
