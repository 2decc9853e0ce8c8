/* SPDX-License-Identifier: Apache-2.0 */
/* Rows become a description. What is about their form is checked here, and by
 * gantry__graph_add_item what is about a graph. */
#include "function/saved/saved_format.h"
#include "run/runtime_state.h"
#include "run/tensor_state.h"

typedef struct saved_reader_t {
    const gantry__saved_t *saved;
    gantry__saved_cursor_t cursor;
} saved_reader_t;

static const char call_name[] = "gantry_function_load";

/* ---- nodes ---- */

static gantry_status_t take_nodes(saved_reader_t *reader, const gantry__saved_body_t *body,
                                  gantry_graph_t *graph);

static gantry_status_t take_node_op(saved_reader_t *reader, gantry__graph_item_t *item,
                                    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS]) {
    uint32_t number = 0, count = 0;
    GANTRY__TRY(gantry__saved_pick(&reader->cursor, reader->saved->op_count,
                                   "a node has no such op", &number));
    GANTRY__TRY(
        gantry__saved_take_values(&reader->cursor, &item->node.inputs, &item->node.input_count));
    GANTRY__TRY(gantry__saved_take_u8(&reader->cursor, &count));
    if (count > GANTRY__MAX_ATTRS)
        return gantry__saved_fail(&reader->cursor, "a node has too many attributes");
    for (uint32_t i = 0; i < count; ++i)
        GANTRY__TRY(
            gantry__saved_take_attr(&reader->cursor, &reader->saved->ops[number], &attrs[i]));
    item->node.op = reader->saved->ops[number].op->name;
    item->node.attrs = attrs;
    item->node.attr_count = count;
    return GANTRY_OK;
}

static gantry_status_t saved_read_take_variable(saved_reader_t *reader, gantry__graph_item_t *item,
                                                gantry_graph_value_t *value) {
    uint32_t number = 0, mode = 0;
    GANTRY__TRY(gantry__saved_pick(&reader->cursor, reader->saved->weight_count,
                                   "a variable is no weight", &number));
    item->variable = reader->saved->weights[number].variable;
    if (!item->variable) return gantry__saved_fail(&reader->cursor, "a variable is a constant");
    if (item->kind == GANTRY_GRAPH_READ) return GANTRY_OK;
    GANTRY__TRY(gantry__saved_take_u8(&reader->cursor, &mode));
    GANTRY__TRY(gantry__saved_take_u32(&reader->cursor, value));
    if (mode > GANTRY_ASSIGN_SUB)
        return gantry__saved_fail(&reader->cursor, "an assignment has an unknown mode");
    item->mode = (gantry_assign_mode_t)mode;
    item->node.inputs = value;
    item->node.input_count = 1;
    return GANTRY_OK;
}

static gantry_status_t take_subgraph(saved_reader_t *reader, gantry_graph_t *graph,
                                     gantry_graph_t **out_subgraph) {
    gantry__saved_body_t body = {.name = ""};
    GANTRY__TRY(gantry__saved_take_text(&reader->cursor, &body.name));
    GANTRY__TRY(gantry_graph_add_subgraph(graph, body.name, out_subgraph));
    GANTRY__TRY(gantry__saved_take_body(&reader->cursor, &body));
    return take_nodes(reader, &body, *out_subgraph);
}

static gantry_status_t take_block(saved_reader_t *reader, gantry_graph_t *graph,
                                  gantry__graph_item_t *item,
                                  gantry_graph_t *bodies[GANTRY_MAX_GRAPH_BRANCHES]) {
    uint32_t count = 2;
    GANTRY__TRY(
        gantry__saved_take_values(&reader->cursor, &item->node.inputs, &item->node.input_count));
    if (item->kind == GANTRY_GRAPH_CASE)
        GANTRY__TRY(gantry__saved_take_u8(&reader->cursor, &count));
    else
        GANTRY__TRY(gantry__saved_take_u64(&reader->cursor, &item->most_steps));
    if (count > GANTRY_MAX_GRAPH_BRANCHES)
        return gantry__saved_fail(&reader->cursor, "a branch has too many bodies");
    for (uint32_t i = 0; i < count; ++i) {
        GANTRY__TRY(take_subgraph(reader, graph, &bodies[i]));
    }
    item->subgraphs = bodies;
    item->subgraph_count = count;
    return GANTRY_OK;
}

static gantry_status_t take_join(saved_reader_t *reader, gantry_graph_t *graph,
                                 gantry__graph_item_t *item,
                                 gantry_attr_value_t attrs[GANTRY__MAX_ATTRS],
                                 gantry_graph_t **body) {
    uint32_t count = 0;
    GANTRY__TRY(gantry__saved_take_text(&reader->cursor, &item->node.op));
    GANTRY__TRY(
        gantry__saved_take_values(&reader->cursor, &item->node.inputs, &item->node.input_count));
    GANTRY__TRY(gantry__saved_take_u8(&reader->cursor, &count));
    if (count > GANTRY__MAX_ATTRS)
        return gantry__saved_fail(&reader->cursor, "a node has too many attributes");
    for (uint32_t i = 0; i < count; ++i) {
        attrs[i] = (gantry_attr_value_t){.name = NULL};
        GANTRY__TRY(gantry__saved_take_text(&reader->cursor, &attrs[i].name));
        GANTRY__TRY(gantry__saved_take_attr_value(&reader->cursor, &attrs[i]));
    }
    item->node.attrs = attrs;
    item->node.attr_count = count;
    GANTRY__TRY(take_subgraph(reader, graph, body));
    item->subgraphs = body;
    item->subgraph_count = 1;
    return GANTRY_OK;
}

static gantry_status_t take_draw(saved_reader_t *reader, gantry__graph_item_t *item) {
    uint32_t number = 0;
    GANTRY__TRY(gantry__saved_pick(&reader->cursor, reader->saved->stream_count,
                                   "a draw has no such stream", &number));
    item->draws = reader->saved->streams[number];
    return gantry__saved_take_u64(&reader->cursor, &item->blocks);
}

static gantry_status_t take_relations(saved_reader_t *reader, uint32_t flags,
                                      gantry_graph_node_t *node) {
    if (flags & GANTRY__SAVED_HAS_DEVICE)
        GANTRY__TRY(gantry__saved_take_text(&reader->cursor, &node->device));
    if (flags & GANTRY__SAVED_HAS_CONTROLS)
        GANTRY__TRY(
            gantry__saved_take_values(&reader->cursor, &node->controls, &node->control_count));
    if (flags & GANTRY__SAVED_HAS_COLOCATED)
        GANTRY__TRY(
            gantry__saved_take_values(&reader->cursor, &node->colocated, &node->colocated_count));
    return GANTRY_OK;
}

static gantry_status_t add_plain_node(saved_reader_t *reader, gantry_graph_t *graph, uint32_t flags,
                                      gantry__graph_item_t *item) {
    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS];
    const gantry__graph_item_t *added;
    gantry_graph_value_t value = 0;
    gantry_status_t status;
    switch (item->kind) {
        case GANTRY_GRAPH_CONSTANT:
            status =
                gantry__saved_take_constant(&reader->cursor, reader->saved, flags, &item->tensor);
            break;
        case GANTRY_GRAPH_OP: status = take_node_op(reader, item, attrs); break;
        case GANTRY_GRAPH_READ:
        case GANTRY_GRAPH_ASSIGN: status = saved_read_take_variable(reader, item, &value); break;
        default: status = take_draw(reader, item);
    }
    if (status == GANTRY_OK) status = gantry__graph_add_item(graph, call_name, item, &added);
    gantry_tensor_release(item->tensor);
    return status;
}

static GANTRY__NOINLINE gantry_status_t add_block_node(saved_reader_t *reader,
                                                       gantry_graph_t *graph,
                                                       gantry__graph_item_t *item) {
    gantry_graph_t *bodies[GANTRY_MAX_GRAPH_BRANCHES];
    const gantry__graph_item_t *added;
    GANTRY__TRY(take_block(reader, graph, item, bodies));
    return gantry__graph_add_item(graph, call_name, item, &added);
}

static GANTRY__NOINLINE gantry_status_t add_join_node(saved_reader_t *reader, gantry_graph_t *graph,
                                                      gantry__graph_item_t *item) {
    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS];
    gantry_graph_t *body;
    const gantry__graph_item_t *added;
    GANTRY__TRY(take_join(reader, graph, item, attrs, &body));
    return gantry__graph_add_item(graph, call_name, item, &added);
}

static gantry_status_t take_node(saved_reader_t *reader, gantry_graph_t *graph) {
    gantry__graph_item_t item = {.kind = GANTRY_GRAPH_INPUT};
    uint32_t kind = 0, flags = 0;
    GANTRY__TRY(gantry__saved_take_u8(&reader->cursor, &kind));
    GANTRY__TRY(gantry__saved_take_u8(&reader->cursor, &flags));
    GANTRY__TRY(gantry__saved_take_text(&reader->cursor, &item.node.name));
    if (kind == GANTRY_GRAPH_INPUT || kind > GANTRY_GRAPH_JOIN ||
        flags >= 2 * GANTRY__SAVED_ANY_ORDER ||
        (flags & GANTRY__SAVED_REFUSES_GRADIENT && kind != GANTRY_GRAPH_OP))
        return gantry__saved_fail(&reader->cursor, "a node is of an unknown kind");
    if (kind == GANTRY_GRAPH_JOIN && reader->saved->format < 2)
        return gantry__saved_fail(
            &reader->cursor,
            "a node joins elements by a body; a graph of format 2 has such nodes, and this one is of format 1");
    item.kind = (gantry_graph_kind_t)kind;
    item.node.refuses_gradient = flags & GANTRY__SAVED_REFUSES_GRADIENT;
    item.node.any_order = flags & GANTRY__SAVED_ANY_ORDER;
    GANTRY__TRY(take_relations(reader, flags, &item.node));
    if (kind == GANTRY_GRAPH_JOIN) return add_join_node(reader, graph, &item);
    return kind == GANTRY_GRAPH_CASE || kind == GANTRY_GRAPH_WHILE
               ? add_block_node(reader, graph, &item)
               : add_plain_node(reader, graph, flags, &item);
}

/* Adds inputs, nodes and outputs. */
static gantry_status_t take_nodes(saved_reader_t *reader, const gantry__saved_body_t *body,
                                  gantry_graph_t *graph) {
    gantry_graph_value_t value;
    graph->is_batch_invariant = body->flags & GANTRY__SAVED_BATCH_INVARIANT;
    for (uint32_t i = 0; i < body->input_count; ++i)
        GANTRY__TRY(gantry_graph_add_input(graph, &body->inputs[i], &value));
    for (uint32_t i = 0; i < body->node_count; ++i) GANTRY__TRY(take_node(reader, graph));
    for (uint32_t i = 0; i < body->output_count; ++i)
        GANTRY__TRY(gantry_graph_add_output(graph, body->output_names[i], body->outputs[i]));
    return GANTRY_OK;
}

/* ---- all ---- */

static gantry_status_t read_graph(saved_reader_t *reader, gantry_graph_t *graph) {
    const gantry__saved_t *saved = reader->saved;
    GANTRY__TRY(take_nodes(reader, &saved->body, graph));
    for (size_t i = 0; i < saved->metadata_count; ++i)
        GANTRY__TRY(
            gantry_graph_set_metadata(graph, saved->metadata[i].key, saved->metadata[i].text));
    if (reader->cursor.at != reader->cursor.end)
        return gantry__saved_fail(&reader->cursor, "more bytes follow");
    atomic_store(&graph->root->is_frozen, true);
    return GANTRY_OK;
}

static gantry_status_t make_description(const gantry__saved_t *saved, gantry_graph_t **out_graph) {
    gantry__arena_t arena;
    saved_reader_t reader = {saved,
                             {saved->bytes, saved->nodes, saved->bytes + saved->size, &arena}};
    GANTRY__TRY(gantry_graph_create(saved->runtime, saved->body.name, out_graph));
    gantry__arena_init(&arena, &saved->runtime->heap);
    const gantry_status_t status = read_graph(&reader, *out_graph);
    gantry__arena_deinit(&arena);
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry_graph_release(*out_graph);
    *out_graph = NULL;
    return status;
}

gantry_status_t gantry__saved_describe(gantry__saved_t *saved, gantry_graph_t **out_graph) {
    gantry__mutex_lock(&saved->lock);
    const gantry_status_t status =
        saved->graph ? GANTRY_OK : make_description(saved, &saved->graph);
    *out_graph = saved->graph;
    gantry__mutex_unlock(&saved->lock);
    return status;
}
