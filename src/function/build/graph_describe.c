/* SPDX-License-Identifier: Apache-2.0 */
/* A description of a traced graph: each node becomes one of the same kind.
 *
 *     body's inputs      of a loop, its variables become inputs of the subgraph; all others, which
 *                        are captures, the values of the graph around it
 *     control inputs     those that keep the order of a variable's uses fall away: the order of
 *                        nodes gives them again */
#include <string.h>

#include "function/build/graph_description.h"
#include "run/runtime_state.h"

typedef struct describe_t {
    gantry_graph_t *graph;
    const gantry__graph_t *traced;
    gantry_graph_value_t *values; /* for each value of the traced graph */
    gantry_graph_value_t *list;   /* room for what one node lists */
    gantry__graph_aliases_t *aliases;
} describe_t;

static const char describe_call[] = "gantry_function_get_graph";

/* ---- lists of one node, side by side in the room ---- */

static size_t list_inputs(const describe_t *d, const gantry__node_t *node, uint32_t count,
                          gantry_graph_value_t *out) {
    for (uint32_t i = 0; i < count; ++i) out[i] = d->values[node->inputs[i]];
    return count;
}

/* The nodes that made something, which tensors named. */
static size_t list_nodes(const describe_t *d, const gantry__node_t *node, const uint32_t *nodes,
                         uint32_t count, gantry_graph_value_t *out) {
    size_t used = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const gantry__node_t *before = &d->traced->nodes[nodes[i]];
        const bool is_order = before->variable && before->variable == node->variable;
        if (before->output_count > 0 && !is_order) out[used++] = d->values[before->first_output];
    }
    return used;
}

static void list_all(const describe_t *d, const gantry__node_t *node, uint32_t input_count,
                     gantry_graph_node_t *out) {
    gantry_graph_value_t *at = d->list;
    out->inputs = at;
    at += out->input_count = list_inputs(d, node, input_count, at);
    out->controls = at;
    at += out->control_count = list_nodes(d, node, node->controls, node->control_count, at);
    out->colocated = at;
    out->colocated_count = list_nodes(d, node, node->colocated, node->colocated_count, at);
    out->name = node->name;
    out->device = node->wish && !node->wish->is_empty ? node->wish->text : NULL;
}

/* ---- nodes ---- */

/* The tensor that the body used first, so that a gradient of it counts all uses. */
static gantry_status_t find_source(const describe_t *d, gantry_tensor_t **tensor) {
    while (d->aliases->count > 0) {
        const uint32_t *place =
            gantry__id_map_at(&d->aliases->places, (uint64_t)(uintptr_t)*tensor);
        if (!place) return GANTRY_RESOURCE_EXHAUSTED;
        if (*place == 0) break;
        *tensor = d->aliases->pairs[*place - 1][1];
    }
    return GANTRY_OK;
}

static gantry_status_t describe_add(const describe_t *d, const gantry__node_t *node,
                                    const gantry__graph_item_t *item) {
    const gantry__graph_item_t *added;
    GANTRY__TRY(gantry__graph_add_item(d->graph, describe_call, item, &added));
    for (uint32_t i = 0; i < node->output_count; ++i)
        d->values[node->first_output + i] = added->first_output + i;
    return GANTRY_OK;
}

/* Whether the node is a part of a Conv2D with groups: its channels are last. */
static bool describe_has_groups(const describe_t *d, const gantry__node_t *node) {
    if (node->op->id != GANTRY__OP_ID_ConvolveImages) return false;
    for (uint32_t i = 0; i < node->op->attr_count; ++i) {
        const gantry_attr_t *attr = &node->attrs[i];
        if (attr->kind == GANTRY_ATTR_BOOL && attr->i != 0) return false;
        if (attr->kind == GANTRY_ATTR_STRING && strcmp(attr->s, "NCHW") == 0) return false;
    }
    return d->traced->values[node->inputs[0]].shape.dims[3] !=
           d->traced->values[node->inputs[1]].shape.dims[2];
}

/* A gradient, or a convolution of groups, that only some devices compute in one part becomes the op
 * of which it is a part, with the same inputs, because another machine may have no kernel for the
 * part. Sizes of int64, which old files have, are none of that op's. */
static const gantry__op_def_t *describe_choose_op(const describe_t *d, const gantry__node_t *node) {
    if (describe_has_groups(d, node)) return gantry__op_get(GANTRY__OP_ID_Conv2D);
    if (node->op->id == GANTRY__OP_ID__ImagesGradient)
        return gantry__op_get(GANTRY__OP_ID_Conv2DBackpropInput);
    if (node->op->id == GANTRY__OP_ID__ImagesFilterGradient &&
        d->traced->values[node->inputs[1]].dtype == GANTRY_INT32)
        return gantry__op_get(GANTRY__OP_ID_Conv2DBackpropFilter);
    return node->op;
}

static bool describe_has_attr(const gantry__op_def_t *op, const char *name) {
    for (uint32_t i = 0; i < op->attr_count; ++i) {
        if (strcmp(op->attrs[i].name, name) == 0) return true;
    }
    return false;
}

/* The types of another op follow from its inputs, and what it lacks has its default. */
static size_t describe_list_attrs(const gantry__node_t *node, const gantry__op_def_t *op,
                                  gantry_attr_value_t *out) {
    size_t count = 0;
    for (uint32_t i = 0; i < node->op->attr_count; ++i) {
        const gantry_attr_t *attr = &node->attrs[i];
        if (op != node->op &&
            (attr->kind == GANTRY_ATTR_TYPE || !describe_has_attr(op, node->op->attrs[i].name)))
            continue;
        out[count++] = (gantry_attr_value_t){.name = node->op->attrs[i].name,
                                             .kind = (gantry_attr_kind_t)attr->kind,
                                             .i = attr->i,
                                             .f = attr->f,
                                             .s = attr->s,
                                             .list = attr->list};
    }
    return count;
}

static gantry_status_t describe_op(const describe_t *d, const gantry__node_t *node,
                                   gantry__graph_item_t *item) {
    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS];
    const gantry__op_def_t *op = describe_choose_op(d, node);
    const uint32_t *is_apart =
        gantry__id_map_at(&d->aliases->apart, (uint64_t)(uintptr_t)node->name);
    if (!is_apart) return GANTRY_RESOURCE_EXHAUSTED;
    item->kind = GANTRY_GRAPH_OP;
    item->node.op = op->name;
    item->node.attrs = attrs;
    item->node.attr_count = describe_list_attrs(node, op, attrs);
    item->node.refuses_gradient = *is_apart != 0;
    item->node.any_order = node->marks.any_order;
    return describe_add(d, node, item);
}

static gantry_status_t describe_assign(const describe_t *d, const gantry__node_t *node,
                                       gantry__graph_item_t *item) {
    item->kind = GANTRY_GRAPH_ASSIGN;
    item->variable = node->variable;
    item->mode = !node->update                                       ? GANTRY_ASSIGN_SET
                 : node->update == gantry__op_get(GANTRY__OP_ID_Add) ? GANTRY_ASSIGN_ADD
                                                                     : GANTRY_ASSIGN_SUB;
    if (item->mode == GANTRY_ASSIGN_SUB && node->update != gantry__op_get(GANTRY__OP_ID_Sub))
        return gantry__fail(GANTRY_UNIMPLEMENTED,
                            "%s: node %s assigns by %s; a graph has Add and Sub", describe_call,
                            node->name, node->update->name);
    return describe_add(d, node, item);
}

static gantry_status_t describe_graph(const describe_t *outer, const gantry__node_t *block,
                                      const gantry__body_t *body, uint32_t given,
                                      gantry_graph_t *graph);

/* A branch's inputs are all captures of its subgraphs. */
static gantry_status_t describe_block(const describe_t *d, const gantry__node_t *node,
                                      gantry__graph_item_t *item) {
    const bool is_loop = node->kind == GANTRY__NODE_WHILE;
    gantry_graph_t *subgraphs[GANTRY_MAX_GRAPH_BRANCHES];
    item->kind = is_loop ? GANTRY_GRAPH_WHILE : GANTRY_GRAPH_CASE;
    item->subgraphs = subgraphs;
    item->subgraph_count = node->body_count;
    item->most_steps = node->steps;
    for (uint32_t i = 0; i < node->body_count; ++i) {
        GANTRY__TRY(gantry_graph_add_subgraph(d->graph, NULL, &subgraphs[i]));
        GANTRY__TRY(describe_graph(d, node, &node->bodies[i], is_loop ? node->output_count : 0,
                                   subgraphs[i]));
    }
    list_all(d, node, is_loop ? node->output_count : 1, &item->node);
    return describe_add(d, node, item);
}

static gantry_status_t describe_node(const describe_t *d, const gantry__node_t *node) {
    gantry__graph_item_t item = {.kind = GANTRY_GRAPH_CONSTANT, .tensor = node->tensor};
    if (node->kind == GANTRY__NODE_CASE || node->kind == GANTRY__NODE_WHILE)
        return describe_block(d, node, &item);
    list_all(d, node, node->input_count, &item.node);
    switch (node->kind) {
        case GANTRY__NODE_CONST:
            GANTRY__TRY(find_source(d, &item.tensor));
            return describe_add(d, node, &item);
        case GANTRY__NODE_READ:
            item.kind = GANTRY_GRAPH_READ;
            item.variable = node->variable;
            return describe_add(d, node, &item);
        case GANTRY__NODE_ASSIGN: return describe_assign(d, node, &item);
        case GANTRY__NODE_DRAW:
            item.kind = GANTRY_GRAPH_DRAW;
            item.draws = node->draws;
            item.blocks = node->steps;
            return describe_add(d, node, &item);
        default: return describe_op(d, node, &item);
    }
}

/* ---- graphs ---- */

static gantry_status_t describe_argument(const describe_t *d, uint32_t value, const char *name,
                                         int64_t open) {
    const gantry__value_t *traced = &d->traced->values[value];
    gantry_input_spec_t spec = {.name = name, .dtype = traced->dtype, .shape = traced->shape};
    for (int32_t k = 0; k < spec.shape.rank; ++k) {
        if (spec.shape.dims[k] < 0) spec.shape.dims[k] = open;
    }
    return gantry_graph_add_input(d->graph, &spec, &d->values[value]);
}

static gantry_status_t describe_nodes(const describe_t *d, const char *const *output_names) {
    for (size_t i = 0; i < d->traced->node_count; ++i) {
        if (d->traced->nodes[i].kind != GANTRY__NODE_INPUT)
            GANTRY__TRY(describe_node(d, &d->traced->nodes[i]));
    }
    for (uint32_t i = 0; i < d->traced->output_count; ++i)
        GANTRY__TRY(gantry_graph_add_output(d->graph, output_names ? output_names[i] : NULL,
                                            d->values[d->traced->outputs[i]]));
    return GANTRY_OK;
}

static size_t most_listed(const gantry__graph_t *traced) {
    size_t most = 0;
    for (size_t i = 0; i < traced->node_count; ++i) {
        const gantry__node_t *node = &traced->nodes[i];
        const size_t count =
            (size_t)node->input_count + node->control_count + node->colocated_count;
        if (count > most) most = count;
    }
    return most;
}

/* Gives a description its room, in an arena that ends with it. */
static bool describe_begin(describe_t *d, gantry__arena_t *arena) {
    gantry__arena_init(arena, d->traced->heap);
    d->graph->is_batch_invariant = d->traced->is_batch_invariant;
    d->values = gantry__arena_zalloc(arena, d->traced->value_count, sizeof *d->values);
    d->list = gantry__arena_zalloc(arena, most_listed(d->traced), sizeof *d->list);
    return d->values && d->list;
}

static gantry_status_t describe_body(const describe_t *d, const describe_t *outer,
                                     const gantry__node_t *block, const gantry__body_t *body,
                                     uint32_t given) {
    for (uint32_t i = 0; i < d->traced->input_count; ++i) {
        const uint32_t value = d->traced->inputs[i];
        if (i < given)
            GANTRY__TRY(describe_argument(
                d, value, d->traced->nodes[d->traced->values[value].node].name, -1));
        else
            d->values[value] = outer->values[block->inputs[body->sources[i]]];
    }
    return describe_nodes(d, NULL);
}

static gantry_status_t describe_graph(const describe_t *outer, const gantry__node_t *block,
                                      const gantry__body_t *body, uint32_t given,
                                      gantry_graph_t *graph) {
    gantry__arena_t arena;
    describe_t d = {.graph = graph, .traced = &body->graph, .aliases = outer->aliases};
    const gantry_status_t status = describe_begin(&d, &arena)
                                       ? describe_body(&d, outer, block, body, given)
                                       : GANTRY_RESOURCE_EXHAUSTED;
    gantry__arena_deinit(&arena);
    return status;
}

static gantry_status_t describe_root(const describe_t *d, const gantry_input_spec_t *inputs,
                                     const char *const *output_names) {
    for (uint32_t i = 0; i < d->traced->input_count; ++i)
        GANTRY__TRY(describe_argument(d, d->traced->inputs[i], inputs ? inputs[i].name : NULL,
                                      GANTRY_OPEN_SIZE));
    return describe_nodes(d, output_names);
}

gantry_status_t gantry__graph_describe(gantry_graph_t *graph, const gantry__graph_t *traced,
                                       const gantry_input_spec_t *inputs,
                                       const char *const *output_names,
                                       gantry__graph_aliases_t *aliases) {
    gantry__arena_t arena;
    describe_t d = {.graph = graph, .traced = traced, .aliases = aliases};
    const gantry_status_t status = describe_begin(&d, &arena)
                                       ? describe_root(&d, inputs, output_names)
                                       : GANTRY_RESOURCE_EXHAUSTED;
    gantry__arena_deinit(&arena);
    return status;
}
