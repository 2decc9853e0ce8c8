/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/bits.h"
#include "shared/memory.h"
#include "onnx/lower/lower.h"
#include "shared/fail.h"

/* ---- graphs ---- */

static const gantry__onnx_graph_t *subgraph_of(const gantry__onnx_node_t *node, size_t *attr,
                                               size_t *entry) {
    for (; *attr < node->attr_count; ++*attr, *entry = 0) {
        const gantry__onnx_attr_t *a = &node->attrs[*attr];
        if ((a->kind == GANTRY__ONNX_GRAPH || a->kind == GANTRY__ONNX_GRAPHS) && *entry < a->count)
            return a->graphs[(*entry)++];
    }
    return NULL;
}

/* Nodes of a function may have one graph, which the function's caller gives. */
static gantry_status_t add_graph(gantry__onnx_plan_t *plan, const gantry__onnx_graph_t *graph) {
    if (plan->places[graph->index] != 0) return GANTRY_OK;
    if (!gantry__grow(&plan->graphs, plan->graph_count, &plan->graph_capacity,
                      sizeof *plan->graphs))
        return GANTRY_RESOURCE_EXHAUSTED;
    plan->graphs[plan->graph_count++] =
        (onnx_plan_graph_t){.graph = graph, .first_node = plan->node_count};
    plan->places[graph->index] = (uint32_t)plan->graph_count;
    plan->node_count += graph->node_count;
    return GANTRY_OK;
}

/* Lists the graph and the subgraphs of its nodes; the list is walked while it grows. */
static gantry_status_t list_graphs(gantry__onnx_plan_t *plan) {
    GANTRY__TRY(add_graph(plan, plan->model->graph));
    for (size_t g = 0; g < plan->graph_count; ++g) {
        const gantry__onnx_graph_t *graph = plan->graphs[g].graph;
        for (size_t n = 0; n < graph->node_count; ++n) {
            size_t attr = 0, entry = 0;
            for (const gantry__onnx_graph_t *inner;
                 (inner = subgraph_of(&graph->nodes[n], &attr, &entry)) != NULL;)
                GANTRY__TRY(add_graph(plan, inner));
        }
    }
    return GANTRY_OK;
}

size_t gantry__onnx_plan_first(const gantry__onnx_plan_t *plan, const gantry__onnx_graph_t *graph) {
    return plan->graphs[plan->places[graph->index] - 1].first_node;
}

/* ---- needed values ---- */

static void plan_need(gantry__onnx_plan_t *plan, const gantry__onnx_value_t *values, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (values[i] != GANTRY__ONNX_NO_VALUE) plan->is_needed[values[i]] = 1;
    }
}

static bool plan_is_needed(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node) {
    for (size_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] != GANTRY__ONNX_NO_VALUE && plan->is_needed[node->outputs[i]])
            return true;
    }
    return false;
}

/* From the last node to the first one: a node is needed if one of its outputs is. */
static void need_nodes(gantry__onnx_plan_t *plan, const gantry__onnx_graph_t *graph) {
    plan_need(plan, graph->outputs, graph->output_count);
    for (size_t n = graph->node_count; n-- > 0;) {
        const gantry__onnx_node_t *node = &graph->nodes[n];
        if (!plan_is_needed(plan, node)) continue;
        plan_need(plan, node->inputs, node->input_count);
        size_t attr = 0, entry = 0;
        for (const gantry__onnx_graph_t *inner; (inner = subgraph_of(node, &attr, &entry)) != NULL;)
            plan_need(plan, inner->captures, inner->capture_count);
    }
}

/* ---- rows and refusals ---- */

/* Finds attributes that the row demands. */
static gantry_status_t check_demanded(const gantry__onnx_row_t *row,
                                      const gantry__onnx_node_t *node) {
    for (const char *at = gantry__onnx_row_attributes(row); (at = strchr(at, '!')) != NULL;) {
        char name[64];
        ++at;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        if (!gantry__onnx_find_attr(node, name))
            return gantry__refuse("attribute '%s' is missing; %s must have it", name, node->op);
    }
    return GANTRY_OK;
}

static gantry_status_t check_attributes(const gantry__onnx_row_t *row,
                                        const gantry__onnx_node_t *node) {
    static const char *const kinds[] = {
        "of no kind", "a float",         "an integer",     "a text", "a tensor",
        "a graph",    "floats",          "integers",       "texts",  "tensors",
        "graphs",     "a sparse tensor", "sparse tensors", "a type", "types"};
    const char *all = gantry__onnx_row_attributes(row);
    for (size_t i = 0; i < node->attr_count; ++i) {
        const gantry__onnx_attr_t *attr = &node->attrs[i];
        const char letter = gantry__onnx_row_attr(row, attr->name);
        if (!letter)
            return gantry__refuse("attribute '%.200s' is none of %s; it has: %s", attr->name,
                                  node->op, *all ? all : "none");
        const char *at = strchr(gantry__onnx_attr_letters, letter);
        const size_t wanted = at ? (size_t)(at - gantry__onnx_attr_letters) : 0;
        if (wanted != (size_t)attr->kind)
            return gantry__refuse("attribute '%s' is %s; %s is accepted", attr->name,
                                  kinds[attr->kind], kinds[wanted]);
    }
    return check_demanded(row, node);
}

static gantry_status_t plan_check_counts(const gantry__onnx_row_t *row,
                                         const gantry__onnx_node_t *node) {
    const size_t given = node->input_count;
    const bool is_any = row->most_inputs == GANTRY__ONNX_MANY;
    if (given < row->least_inputs && is_any)
        return gantry__refuse("it has %zu inputs; %d or more are accepted", given,
                              row->least_inputs);
    if (given < row->least_inputs || (!is_any && given > row->most_inputs))
        return gantry__refuse("it has %zu inputs; %d to %d are accepted", given, row->least_inputs,
                              row->most_inputs);
    /* A list of inputs has no gaps, unless it may be empty. */
    const bool is_list = is_any && row->least_inputs > 0;
    for (size_t i = 0; i < (is_list ? given : row->least_inputs); ++i) {
        if (node->inputs[i] == GANTRY__ONNX_NO_VALUE)
            return gantry__refuse("input %zu is left out; it must be given", i);
    }
    if (row->most_outputs != GANTRY__ONNX_MANY && node->output_count > row->most_outputs)
        return gantry__refuse("it has %zu outputs; up to %d are accepted", node->output_count,
                              row->most_outputs);
    return GANTRY_OK;
}

/* The row's check of the attributes' values. */
static gantry_status_t plan_check_values(const gantry__onnx_row_t *row,
                                         const gantry__onnx_node_t *node) {
    const gantry__onnx_lower_fn check = gantry__onnx_row_check(row);
    gantry__onnx_call_t call = {.node = node, .row = row, .output_count = node->output_count};
    return check ? check(&call) : GANTRY_OK;
}

static gantry_status_t plan_note_refusal(gantry__onnx_plan_t *plan,
                                         const gantry__onnx_graph_t *graph,
                                         const gantry__onnx_node_t *node, size_t position,
                                         gantry_status_t status) {
    if (status == GANTRY_RESOURCE_EXHAUSTED) return status;
    char *reason = gantry__strdup(gantry_last_message());
    if (!reason || !gantry__grow(&plan->refusals, plan->refusal_count, &plan->refusal_capacity,
                                 sizeof *plan->refusals)) {
        gantry__free(reason);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    plan->refusals[plan->refusal_count++] =
        (gantry__onnx_refusal_t){node, graph, position, status, reason};
    return GANTRY_OK;
}

static gantry_status_t find_rows(gantry__onnx_plan_t *plan, const onnx_plan_graph_t *place) {
    for (size_t n = 0; n < place->graph->node_count; ++n) {
        const gantry__onnx_node_t *node = &place->graph->nodes[n];
        if (!plan_is_needed(plan, node)) continue;
        const gantry__onnx_row_t *row =
            gantry__onnx_find_row(node->domain, node->op, node->version);
        gantry_status_t status = row ? plan_check_counts(row, node) : GANTRY_UNIMPLEMENTED;
        if (status == GANTRY_OK) status = check_attributes(row, node);
        if (status == GANTRY_OK) status = plan_check_values(row, node);
        if (status == GANTRY_OK) {
            plan->rows[place->first_node + n] = row;
        } else {
            GANTRY__TRY(plan_note_refusal(plan, place->graph, node, place->first_node + n, status));
        }
    }
    return GANTRY_OK;
}

const gantry__onnx_refusal_t *gantry__onnx_plan_refusal(const gantry__onnx_plan_t *plan,
                                                        size_t position) {
    size_t least = 0, end = plan->refusal_count;
    while (least < end) {
        const size_t middle = least + (end - least) / 2;
        if (plan->refusals[middle].position < position) {
            least = middle + 1;
        } else {
            end = middle;
        }
    }
    const bool is_there = least < plan->refusal_count && plan->refusals[least].position == position;
    return is_there ? &plan->refusals[least] : NULL;
}

static void need_graphs_of(gantry__onnx_plan_t *plan, const gantry__onnx_graph_t *graph) {
    for (size_t n = 0; n < graph->node_count; ++n) {
        size_t attr = 0, entry = 0;
        if (!plan_is_needed(plan, &graph->nodes[n])) continue;
        for (const gantry__onnx_graph_t *inner;
             (inner = subgraph_of(&graph->nodes[n], &attr, &entry)) != NULL;)
            plan->graphs[plan->places[inner->index] - 1].is_needed = true;
    }
}

/* A subgraph is needed if one of the nodes that have it is: what one reads that nobody needs has no
 * row. Subgraphs mostly come after their graphs in the list; what comes before needs a further
 * pass. */
static void need_graphs(gantry__onnx_plan_t *plan) {
    plan->graphs[0].is_needed = true;
    for (bool is_done = false; !is_done;) {
        is_done = true;
        for (size_t g = 0; g < plan->graph_count; ++g) {
            onnx_plan_graph_t *place = &plan->graphs[g];
            if (!place->is_needed || place->is_marked) continue;
            place->is_marked = true;
            is_done = false;
            need_nodes(plan, place->graph);
            need_graphs_of(plan, place->graph);
        }
    }
}

static gantry_status_t find_all_rows(gantry__onnx_plan_t *plan) {
    need_graphs(plan);
    for (size_t g = 0; g < plan->graph_count; ++g) {
        if (plan->graphs[g].is_needed) GANTRY__TRY(find_rows(plan, &plan->graphs[g]));
    }
    return GANTRY_OK;
}

/* ---- constants ---- */

/* The most elements of a constant that is only a shape and a number in the file. */
#define MOST_FILLED (1 << 25)
#define ONNX_INT64 7

/* Whether ConstantOfShape makes so many elements, or nobody knows how many. */
static bool fills_much(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node) {
    const gantry__onnx_tensor_t *shape = plan->model->values[node->inputs[0]].tensor;
    double product = 1;
    if (!shape || shape->type != ONNX_INT64 || shape->count < 0 ||
        (shape->data != GANTRY__ONNX_RAW && shape->data != GANTRY__ONNX_NUMBERS) ||
        shape->raw.size / sizeof(int64_t) < (uint64_t)shape->count)
        return true;
    for (int64_t i = 0; i < shape->count; ++i) {
        uint64_t size;
        memcpy(&size, shape->raw.data + (size_t)i * sizeof size, sizeof size);
        product *= (double)(int64_t)gantry__bits_little(size);
    }
    return product > MOST_FILLED;
}

/* Results that may be much larger than their inputs are made in the trace. */
static bool grows(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node,
                  const gantry__onnx_row_t *row) {
    if (row->extent == GANTRY__ONNX_FILLS) return fills_much(plan, node);
    return row->extent >= GANTRY__ONNX_EXPANDS;
}

static bool is_constant_node(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node,
                             const gantry__onnx_row_t *row) {
    if (!row || gantry__onnx_row_attr(row, "seed") || grows(plan, node, row) ||
        (row->lists & GANTRY__ONNX_LISTS_MADE) != 0)
        return false;
    for (size_t i = 0; i < node->attr_count; ++i) {
        if (node->attrs[i].kind == GANTRY__ONNX_GRAPH || node->attrs[i].kind == GANTRY__ONNX_GRAPHS)
            return false;
    }
    for (size_t i = 0; i < node->input_count; ++i) {
        const gantry__onnx_value_t value = node->inputs[i];
        if (value != GANTRY__ONNX_NO_VALUE && !plan->is_constant[value]) return false;
    }
    return true;
}

static void find_constants(gantry__onnx_plan_t *plan) {
    const gantry__onnx_graph_model_t *model = plan->model;
    for (size_t v = 0; v < model->value_count; ++v)
        plan->is_constant[v] = model->values[v].source == GANTRY__ONNX_FROM_TENSOR;
    for (size_t n = 0; n < model->graph->node_count; ++n) {
        const gantry__onnx_node_t *node = &model->graph->nodes[n];
        if (!is_constant_node(plan, node, plan->rows[n])) continue;
        for (size_t i = 0; i < node->output_count; ++i) {
            if (node->outputs[i] != GANTRY__ONNX_NO_VALUE) plan->is_constant[node->outputs[i]] = 1;
        }
    }
}

gantry_status_t gantry__onnx_plan_init(gantry__onnx_plan_t *plan,
                                       const gantry__onnx_graph_model_t *model) {
    *plan = (gantry__onnx_plan_t){.model = model};
    plan->places = gantry__alloc(model->graph_count, sizeof *plan->places);
    if (!plan->places) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(list_graphs(plan));
    plan->rows = gantry__alloc(plan->node_count, sizeof *plan->rows);
    plan->is_needed = gantry__alloc(model->value_count, 1);
    plan->is_constant = gantry__alloc(model->value_count, 1);
    if (!plan->rows || !plan->is_needed || !plan->is_constant) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(find_all_rows(plan));
    find_constants(plan);
    return GANTRY_OK;
}

void gantry__onnx_plan_deinit(gantry__onnx_plan_t *plan) {
    for (size_t i = 0; i < plan->refusal_count; ++i) gantry__free(plan->refusals[i].reason);
    gantry__free(plan->refusals);
    gantry__free(plan->graphs);
    gantry__free(plan->places);
    gantry__free(plan->rows);
    gantry__free(plan->is_needed);
    gantry__free(plan->is_constant);
    gantry__free(plan->is_folded);
    gantry__free(plan->next_folded);
    *plan = (gantry__onnx_plan_t){0};
}
