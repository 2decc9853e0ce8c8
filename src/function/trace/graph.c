/* SPDX-License-Identifier: Apache-2.0 */
#include "function/trace/graph.h"

#include <string.h>

#include "base/shape_limit.h"

/* In a profile these nodes have the row of Identity, because all that they do themselves is to pass
 * tensors on. */
#define NODE_OP(text, outputs) \
    { .name = text, .id = GANTRY__OP_ID_Identity, .output_count = (outputs) }
const gantry__op_def_t gantry__op_placeholder = NODE_OP("Placeholder", 1),
                       gantry__op_if = NODE_OP("If", 0), gantry__op_case = NODE_OP("Case", 0),
                       gantry__op_while = NODE_OP("While", 0),
                       gantry__op_draw = NODE_OP("RngReadAndSkip", 2);
#undef NODE_OP

void gantry__graph_init(gantry__graph_t *graph, const gantry__heap_t *heap) {
    *graph = (gantry__graph_t){.heap = heap};
    gantry__arena_init(&graph->arena, heap);
}

static void graph_release_node(gantry__node_t *node) {
    gantry_tensor_release(node->tensor);
    gantry_variable_release(node->variable);
    gantry__draws_release(node->draws);
    for (uint32_t i = 0; i < node->body_count; ++i) gantry__graph_deinit(&node->bodies[i].graph);
}

void gantry__graph_deinit(gantry__graph_t *graph) {
    for (size_t i = 0; i < graph->node_count; ++i) graph_release_node(&graph->nodes[i]);
    gantry__heap_free(graph->heap, graph->nodes, graph->node_capacity * sizeof *graph->nodes);
    gantry__heap_free(graph->heap, graph->values, graph->value_capacity * sizeof *graph->values);
    gantry__arena_deinit(&graph->arena);
}

/* Copies the texts and lists that an attribute points to. Names are constants of the definition. */
static bool graph_keep_attr(gantry__arena_t *arena, gantry_attr_t *attr) {
    if (attr->s && !(attr->s = gantry__arena_strdup(arena, attr->s))) return false;
    const bool has_list = attr->list && attr->i > 0;
    if (!has_list) return true;
    attr->list = gantry__arena_copy(arena, attr->list, (size_t)attr->i, sizeof *attr->list);
    return attr->list != NULL;
}

static bool graph_keep_attrs(gantry__arena_t *arena, gantry__node_t *node) {
    const uint32_t count = node->attrs ? node->op->attr_count : 0;
    gantry_attr_t *attrs = gantry__arena_copy(arena, node->attrs, count, sizeof *attrs);
    node->attrs = attrs;
    if (!attrs) return false;
    for (uint32_t i = 0; i < count; ++i) {
        if (!graph_keep_attr(arena, &attrs[i])) return false;
    }
    return true;
}

static bool graph_keep_node(gantry__arena_t *arena, gantry__node_t *node) {
    node->inputs = gantry__arena_copy(arena, node->inputs, node->input_count, sizeof *node->inputs);
    node->controls =
        gantry__arena_copy(arena, node->controls, node->control_count, sizeof *node->controls);
    node->colocated =
        gantry__arena_copy(arena, node->colocated, node->colocated_count, sizeof *node->colocated);
    node->name = gantry__arena_strdup(arena, node->name);
    return node->inputs && node->controls && node->colocated && node->name &&
           graph_keep_attrs(arena, node);
}

static inline bool graph_add_value(gantry__graph_t *graph, uint32_t node, gantry_dtype_t dtype,
                                   const gantry_shape_t *shape) {
    if (graph->value_count == graph->value_capacity &&
        !gantry__heap_grow(graph->heap, &graph->values, graph->value_count, &graph->value_capacity,
                           sizeof *graph->values))
        return false;
    gantry__value_t *value = &graph->values[graph->value_count++];
    const int64_t elements = gantry__shape_elements(shape);
    value->node = node;
    value->dtype = dtype;
    value->shape = *shape;
    value->elements = elements;
    value->bytes = elements > 0 ? (uint64_t)elements * gantry_dtype_size(dtype) : 0;
    return true;
}

static gantry_status_t fail_to_add(const gantry__node_t *node) {
    gantry_tensor_release(node->tensor);
    gantry_variable_release(node->variable);
    gantry__draws_release(node->draws);
    return GANTRY_RESOURCE_EXHAUSTED;
}

static bool graph_add_values(gantry__graph_t *graph, const gantry__node_t *node,
                             const gantry_dtype_t *dtypes, const gantry_shape_t *shapes) {
    const uint32_t index = (uint32_t)graph->node_count;
    const size_t before = graph->value_count;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (graph_add_value(graph, index, dtypes[i], &shapes[i])) continue;
        graph->value_count = before;
        return false;
    }
    return true;
}

gantry_status_t gantry__graph_take_next(gantry__graph_t *graph, const gantry_dtype_t *dtypes,
                                        const gantry_shape_t *shapes, uint32_t *out_node) {
    gantry__node_t *node = &graph->nodes[graph->node_count];
    node->first_output = (uint32_t)graph->value_count;
    if (!graph_add_values(graph, node, dtypes, shapes)) return fail_to_add(node);
    *out_node = (uint32_t)graph->node_count++;
    return GANTRY_OK;
}

static bool graph_make_place(gantry__graph_t *graph) {
    return graph->node_count < graph->node_capacity ||
           gantry__heap_grow(graph->heap, &graph->nodes, graph->node_count, &graph->node_capacity,
                             sizeof *graph->nodes);
}

gantry_status_t gantry__graph_add(gantry__graph_t *graph, const gantry__node_t *node,
                                  const gantry_dtype_t *dtypes, const gantry_shape_t *shapes,
                                  uint32_t *out_node) {
    gantry__node_t kept = *node;
    kept.first_output = (uint32_t)graph->value_count;
    if (!graph_keep_node(&graph->arena, &kept) || !graph_make_place(graph) ||
        !graph_add_values(graph, &kept, dtypes, shapes))
        return fail_to_add(node);
    graph->nodes[graph->node_count] = kept;
    *out_node = (uint32_t)graph->node_count++;
    return GANTRY_OK;
}

/* ---- needed nodes ---- */

static void need_value(const gantry__graph_t *graph, bool *is_needed, uint32_t value) {
    is_needed[graph->values[value].node] = true;
}

const char *gantry__node_effect(const gantry__node_t *node) {
    const char *effect = NULL;
    if (node->kind == GANTRY__NODE_ASSIGN) return node->name;
    if (node->kind == GANTRY__NODE_DRAW) return node->part_of ? node->part_of->name : node->name;
    for (uint32_t i = 0; i < node->body_count && !effect; ++i)
        effect = gantry__graph_effect(&node->bodies[i].graph);
    return effect;
}

const char *gantry__graph_effect(const gantry__graph_t *graph) {
    const char *effect = NULL;
    for (size_t i = 0; i < graph->node_count && !effect; ++i)
        effect = gantry__node_effect(&graph->nodes[i]);
    return effect;
}

void gantry__graph_find_needed(const gantry__graph_t *graph, bool *is_needed) {
    for (uint32_t i = 0; i < graph->output_count; ++i)
        need_value(graph, is_needed, graph->outputs[i]);
    for (size_t i = graph->node_count; i-- > 0;) {
        const gantry__node_t *node = &graph->nodes[i];
        is_needed[i] |= node->kind == GANTRY__NODE_ASSIGN || node->kind == GANTRY__NODE_DRAW ||
                        node->marks.has_state;
        if (!is_needed[i]) continue;
        for (uint32_t k = 0; k < node->input_count; ++k)
            need_value(graph, is_needed, node->inputs[k]);
        for (uint32_t k = 0; k < node->control_count; ++k) is_needed[node->controls[k]] = true;
    }
}

void gantry__graph_find_kept(const gantry__graph_t *graph, bool *is_kept) {
    gantry__graph_find_needed(graph, is_kept);
    for (size_t i = graph->node_count; i-- > 0;) {
        const gantry__node_t *node = &graph->nodes[i];
        is_kept[i] |= node->kind == GANTRY__NODE_INPUT;
        if (!is_kept[i]) continue;
        for (uint32_t k = 0; k < node->input_count; ++k)
            need_value(graph, is_kept, node->inputs[k]);
        for (uint32_t k = 0; k < node->colocated_count; ++k) is_kept[node->colocated[k]] = true;
    }
}

/* ---- another order, without some nodes ---- */

#define GONE UINT32_MAX

typedef struct rebuilt_t {
    gantry__node_t *nodes;
    gantry__value_t *values;
    uint32_t *node_numbers, *value_numbers; /* new ones, by old one; GONE */
    size_t node_count, value_count;
} rebuilt_t;

static void rebuild_free(const gantry__graph_t *graph, rebuilt_t *rebuilt) {
    const gantry__heap_t *heap = graph->heap;
    gantry__heap_free(heap, rebuilt->nodes, (graph->node_count + 1) * sizeof *rebuilt->nodes);
    gantry__heap_free(heap, rebuilt->values, (graph->value_count + 1) * sizeof *rebuilt->values);
    gantry__heap_free(heap, rebuilt->node_numbers,
                      (graph->node_count + 1) * sizeof *rebuilt->node_numbers);
    gantry__heap_free(heap, rebuilt->value_numbers,
                      (graph->value_count + 1) * sizeof *rebuilt->value_numbers);
}

static bool rebuild_allocate(const gantry__graph_t *graph, rebuilt_t *rebuilt) {
    const gantry__heap_t *heap = graph->heap;
    const size_t nodes = graph->node_count + 1, values = graph->value_count + 1;
    *rebuilt = (rebuilt_t){.nodes = gantry__heap_zalloc(heap, nodes * sizeof *rebuilt->nodes),
                           .values = gantry__heap_zalloc(heap, values * sizeof *rebuilt->values),
                           .node_numbers = gantry__heap_zalloc(heap, nodes * sizeof(uint32_t)),
                           .value_numbers = gantry__heap_zalloc(heap, values * sizeof(uint32_t))};
    if (!rebuilt->nodes || !rebuilt->values || !rebuilt->node_numbers || !rebuilt->value_numbers)
        return false;
    for (size_t i = 0; i < nodes; ++i) rebuilt->node_numbers[i] = GONE;
    for (size_t i = 0; i < values; ++i) rebuilt->value_numbers[i] = GONE;
    return true;
}

static void rebuild_take(const gantry__graph_t *graph, rebuilt_t *rebuilt, uint32_t index) {
    const uint32_t number = (uint32_t)rebuilt->node_count++;
    gantry__node_t *node = &rebuilt->nodes[number];
    *node = graph->nodes[index];
    rebuilt->node_numbers[index] = number;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        gantry__value_t *value = &rebuilt->values[rebuilt->value_count];
        *value = graph->values[node->first_output + i];
        value->node = number;
        rebuilt->value_numbers[node->first_output + i] = (uint32_t)rebuilt->value_count++;
    }
    if (node->output_count > 0) node->first_output = rebuilt->value_numbers[node->first_output];
}

static void rebuild_connect(const rebuilt_t *rebuilt, gantry__node_t *node) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < node->input_count; ++k)
        node->inputs[k] = rebuilt->value_numbers[node->inputs[k]];
    for (uint32_t k = 0; k < node->control_count; ++k) {
        const uint32_t number = rebuilt->node_numbers[node->controls[k]];
        if (number != GONE) node->controls[kept++] = number;
    }
    node->control_count = kept;
    kept = 0;
    for (uint32_t k = 0; k < node->colocated_count; ++k) {
        const uint32_t number = rebuilt->node_numbers[node->colocated[k]];
        if (number != GONE) node->colocated[kept++] = number;
    }
    node->colocated_count = kept;
}

gantry_status_t gantry__graph_rebuild(gantry__graph_t *graph, const uint32_t *order, size_t count) {
    rebuilt_t rebuilt;
    if (!rebuild_allocate(graph, &rebuilt)) {
        rebuild_free(graph, &rebuilt);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < count; ++i) rebuild_take(graph, &rebuilt, order[i]);
    for (size_t i = 0; i < count; ++i) rebuild_connect(&rebuilt, &rebuilt.nodes[i]);
    for (uint32_t i = 0; i < graph->input_count; ++i)
        graph->inputs[i] = rebuilt.value_numbers[graph->inputs[i]];
    for (uint32_t i = 0; i < graph->output_count; ++i)
        graph->outputs[i] = rebuilt.value_numbers[graph->outputs[i]];
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (rebuilt.node_numbers[i] != GONE) continue;
        graph_release_node(&graph->nodes[i]);
    }
    /* the arrays that are there have room for all that is left */
    memcpy(graph->nodes, rebuilt.nodes, rebuilt.node_count * sizeof *graph->nodes);
    memcpy(graph->values, rebuilt.values, rebuilt.value_count * sizeof *graph->values);
    rebuild_free(graph, &rebuilt);
    graph->node_count = rebuilt.node_count;
    graph->value_count = rebuilt.value_count;
    return GANTRY_OK;
}
