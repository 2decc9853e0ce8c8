/* SPDX-License-Identifier: Apache-2.0 */
/* An order of the nodes in which fewer bytes live at a time, for a function with a memory budget.
 *
 * Of the nodes whose inputs are there, the one that adds least is next: the bytes of its outputs
 * less those of the inputs that it uses last. Of equals, the first in the order of demand: results
 * and effects in program order, each after the nodes that it needs, the deepest first. Nodes with
 * effects (variables, draws, branches and loops) keep their order among themselves. Greedy: it may
 * take more than the order that was there. The time grows with nodes times nodes that are ready. */
#include "function/pass/pass.h"
#include "function/place/place_parts.h"

#include <string.h>

typedef struct order_t {
    gantry__graph_t *graph;
    uint32_t *roots; /* for each value, the value in whose memory it is */
    uint32_t *uses;  /* for each root, the uses to come, and one for a result of the function */
    /* for each node, the number of nodes that come first and are not placed yet */
    uint32_t *missing;
    uint32_t *starts; /* for each node, where its followers begin; one more entry */
    uint32_t *followers;
    uint32_t *ranks;  /* for each node, its place in the order of demand, from 1; 0: none yet */
    uint32_t *depths; /* for each node, the longest way from an argument */
    uint32_t *ready;
    uint32_t *done; /* the order; before that, a stack */
    size_t ready_count, done_count;
} order_t;

static bool has_effect(const gantry__node_t *node) {
    return node->kind == GANTRY__NODE_READ || node->kind == GANTRY__NODE_ASSIGN ||
           node->kind == GANTRY__NODE_DRAW || node->body_count > 0;
}

/* Arguments and constants are there before the call. */
static bool is_made_by_call(const gantry__node_t *node) {
    return node->kind != GANTRY__NODE_INPUT && node->kind != GANTRY__NODE_CONST;
}

/* ---- edges ---- */

typedef void (*edge_fn)(order_t *order, uint32_t first, uint32_t then);

static void each_edge(order_t *order, edge_fn edge) {
    const gantry__graph_t *graph = order->graph;
    uint32_t last_effect = UINT32_MAX;
    for (uint32_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; ++k)
            edge(order, graph->values[node->inputs[k]].node, i);
        for (uint32_t k = 0; k < node->control_count; ++k) edge(order, node->controls[k], i);
        for (uint32_t k = 0; k < node->colocated_count; ++k) edge(order, node->colocated[k], i);
        if (!has_effect(node)) continue;
        if (last_effect != UINT32_MAX) edge(order, last_effect, i);
        last_effect = i;
    }
}

static void count_edge(order_t *order, uint32_t first, uint32_t then) {
    ++order->starts[first + 1];
    ++order->missing[then];
}

/* starts[first] moves on, and is put back afterwards. */
static void put_edge(order_t *order, uint32_t first, uint32_t then) {
    order->followers[order->starts[first]++] = then;
}

static gantry_status_t find_followers(order_t *order) {
    const size_t count = order->graph->node_count;
    each_edge(order, count_edge);
    for (size_t i = 0; i < count; ++i) order->starts[i + 1] += order->starts[i];
    order->followers =
        gantry__arena_zalloc(&order->graph->arena, order->starts[count], sizeof *order->followers);
    if (!order->followers) return GANTRY_RESOURCE_EXHAUSTED;
    each_edge(order, put_edge);
    memmove(order->starts + 1, order->starts, count * sizeof *order->starts);
    order->starts[0] = 0;
    return GANTRY_OK;
}

/* ---- bytes ---- */

static void find_roots(const order_t *order) {
    const gantry__graph_t *graph = order->graph;
    for (uint32_t i = 0; i < graph->value_count; ++i) {
        const gantry__node_t *node = &graph->nodes[graph->values[i].node];
        order->roots[i] = gantry__node_is_alias(node) ? order->roots[node->inputs[0]] : i;
    }
    for (uint32_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; !gantry__node_is_alias(node) && k < node->input_count; ++k)
            ++order->uses[order->roots[node->inputs[k]]];
    }
    for (uint32_t i = 0; i < graph->output_count; ++i)
        ++order->uses[order->roots[graph->outputs[i]]];
}

/* Bytes that live on after the node, less those that lived before it. */
static int64_t added_bytes(const order_t *order, uint32_t index) {
    const gantry__graph_t *graph = order->graph;
    const gantry__node_t *node = &graph->nodes[index];
    int64_t bytes = 0;
    if (!is_made_by_call(node) || gantry__node_is_alias(node)) return 0;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        const uint32_t value = node->first_output + i;
        if (order->uses[value] > 0) bytes += (int64_t)graph->values[value].bytes;
    }
    for (uint32_t k = 0; k < node->input_count; ++k) {
        const uint32_t root = order->roots[node->inputs[k]];
        if (order->uses[root] == 1 && is_made_by_call(&graph->nodes[graph->values[root].node]))
            bytes -= (int64_t)graph->values[root].bytes;
    }
    return bytes;
}

/* ---- demand ---- */

static uint32_t order_maker_of(const order_t *order, const gantry__node_t *node, uint32_t input) {
    return order->graph->values[node->inputs[input]].node;
}

static void find_depths(const order_t *order) {
    for (uint32_t i = 0; i < order->graph->node_count; ++i) {
        const gantry__node_t *node = &order->graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; ++k) {
            const uint32_t depth = order->depths[order_maker_of(order, node, k)] + 1;
            if (depth > order->depths[i]) order->depths[i] = depth;
        }
    }
}

/* The deepest of the node's inputs that have no rank; false if there is none. */
static bool find_needed(const order_t *order, const gantry__node_t *node, uint32_t *out_index) {
    bool found = false;
    for (uint32_t k = 0; k < node->input_count; ++k) {
        const uint32_t index = order_maker_of(order, node, k);
        if (order->ranks[index] > 0) continue;
        if (!found || order->depths[index] > order->depths[*out_index]) *out_index = index;
        found = true;
    }
    return found;
}

/* A way from a node to its inputs is no longer than there are nodes. */
static void demand(order_t *order, uint32_t index, uint32_t *rank) {
    size_t height = 0;
    if (order->ranks[index] == 0) order->done[height++] = index;
    while (height > 0) {
        const uint32_t top = order->done[height - 1];
        if (find_needed(order, &order->graph->nodes[top], &order->done[height])) {
            ++height;
        } else {
            order->ranks[top] = ++*rank;
            --height;
        }
    }
}

static void find_ranks(order_t *order) {
    const gantry__graph_t *graph = order->graph;
    uint32_t rank = 0;
    find_depths(order);
    for (uint32_t i = 0; i < graph->node_count; ++i) {
        if (has_effect(&graph->nodes[i])) demand(order, i, &rank);
    }
    for (uint32_t i = 0; i < graph->output_count; ++i)
        demand(order, graph->values[graph->outputs[i]].node, &rank);
    for (uint32_t i = 0; i < graph->node_count; ++i) demand(order, i, &rank);
}

/* ---- the walk ---- */

static size_t find_next(const order_t *order) {
    size_t best = 0;
    int64_t best_bytes = INT64_MAX;
    for (size_t i = 0; i < order->ready_count; ++i) {
        const int64_t bytes = added_bytes(order, order->ready[i]);
        if (bytes > best_bytes || (bytes == best_bytes && order->ranks[order->ready[i]] >
                                                              order->ranks[order->ready[best]]))
            continue;
        best = i;
        best_bytes = bytes;
    }
    return best;
}

static void finish_node(order_t *order, size_t at) {
    const uint32_t index = order->ready[at];
    const gantry__node_t *node = &order->graph->nodes[index];
    order->ready[at] = order->ready[--order->ready_count];
    order->done[order->done_count++] = index;
    for (uint32_t k = 0; !gantry__node_is_alias(node) && k < node->input_count; ++k)
        --order->uses[order->roots[node->inputs[k]]];
    for (uint32_t i = order->starts[index]; i < order->starts[index + 1]; ++i) {
        const uint32_t follower = order->followers[i];
        if (--order->missing[follower] == 0) order->ready[order->ready_count++] = follower;
    }
}

static gantry_status_t order_walk(order_t *order, uint32_t *out_places) {
    GANTRY__TRY(find_followers(order));
    find_roots(order);
    find_ranks(order);
    for (uint32_t i = 0; i < order->graph->node_count; ++i) {
        if (order->missing[i] == 0) order->ready[order->ready_count++] = i;
    }
    while (order->ready_count > 0) finish_node(order, find_next(order));
    for (uint32_t i = 0; i < order->done_count; ++i) out_places[order->done[i]] = i;
    return gantry__graph_rebuild(order->graph, order->done, order->done_count);
}

gantry_status_t gantry__pass_order(gantry__graph_t *graph, uint32_t *out_places) {
    const size_t nodes = graph->node_count + 1, values = graph->value_count + 1;
    uint32_t *numbers =
        gantry__heap_zalloc(graph->heap, (6 * nodes + 2 * values) * sizeof *numbers);
    if (!numbers) return GANTRY_RESOURCE_EXHAUSTED;
    order_t order = {.graph = graph,
                     .roots = numbers,
                     .uses = numbers + values,
                     .missing = numbers + 2 * values,
                     .starts = numbers + 2 * values + nodes,
                     .ready = numbers + 2 * values + 2 * nodes,
                     .done = numbers + 2 * values + 3 * nodes,
                     .ranks = numbers + 2 * values + 4 * nodes,
                     .depths = numbers + 2 * values + 5 * nodes};
    gantry_status_t status = order_walk(&order, out_places);
    gantry__heap_free(graph->heap, numbers, (6 * nodes + 2 * values) * sizeof *numbers);
    return status;
}
