/* SPDX-License-Identifier: Apache-2.0 */
/* Moves transposes through the graph until they cancel, so that images whose channels come first
 * are transposed once before the first convolution and once after the last.
 *
 *     x -> Transpose -> Conv -> Transpose -> Relu -> Transpose -> Conv -> Transpose -> Relu -> y
 *     x -> Transpose -> Conv -> Relu -> Conv -> Relu -> Transpose -> y
 *
 * A Transpose makes no node: its result is another order of axes in which a tensor is there
 * already (layout_forms.h). One walk in program order gives each node that can take several orders
 * the one by which fewest bytes are moved (layout_node.c, op/axes.def), with new numbers of axes.
 * Any other node takes its operands as the body has them, and gets a Transpose if they are not
 * there in that order. Equal ones are shared. A walk backwards finds out before which orders later
 * nodes want.
 *
 * No bit changes: elementwise ops do the same for each element, reductions take the elements in one
 * sequence, and windows add in the order of their elements. Nodes stay as they are if they are not
 * connected, by such nodes, to a convolution or a pool; so do those with control inputs,
 * colocations, or unlike requests. Constants are transposed by the fold pass, which runs again.
 *
 * The first convolutions, of few channels, then read NCHW themselves (layout_planes.c).
 *
 * The walk chooses node by node. Where it moves more bytes in all than the graph did before, the
 * graph stays as it was (layout_before.h).
 *
 * Linear in the number of nodes. A graph without a transpose and without NCHW costs one look at
 * each node, and one in which no node may change its order is not copied. */
#include "function/pass/pass.h"

#include <string.h>

#include "function/pass/layout_before.h"
#include "function/pass/layout_node.h"

/* ---- which nodes ---- */

static bool layout_is_able(const gantry__graph_t *graph, const gantry__node_t *node) {
    return gantry__node_is_pure(node) && node->output_count == 1 && node->control_count == 0 &&
           node->colocated_count == 0 && graph->values[node->first_output].elements > 0 &&
           gantry__layout_op(graph, node).kind != GANTRY__AXES_FIXED;
}

/* Whether the operands were made under the node's own request. */
static bool has_one_wish(const gantry__graph_t *graph, const gantry__node_t *node) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const gantry__node_t *maker = &graph->nodes[graph->values[node->inputs[i]].node];
        if (graph->values[node->inputs[i]].elements < 0 ||
            (maker->kind == GANTRY__NODE_OP && maker->wish != node->wish))
            return false;
    }
    return true;
}

/* Whether there is something to do: a transpose or images of NCHW, and a node that wants channels
 * last. */
static bool layout_has_work(const gantry__graph_t *graph) {
    bool is_wanted = false, is_first = false;
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        if (node->kind != GANTRY__NODE_OP) continue;
        is_wanted |= gantry__layout_wants_last(node);
        is_first = is_first || node->op->id == GANTRY__OP_ID_Transpose ||
                   gantry__layout_is_channels_first(node);
        if (is_wanted && is_first) return true;
    }
    return false;
}

/* ---- regions: free nodes that are connected ---- */

typedef struct regions_t {
    const gantry__layout_t *layout;
    uint32_t *parents; /* by node: of the set that is its region */
    bool *are_wanted;  /* by the root of a region: it has to do with channels last */
} regions_t;

static uint32_t find_region(const regions_t *regions, uint32_t node) {
    uint32_t *parents = regions->parents;
    for (; parents[node] != node; node = parents[node]) parents[node] = parents[parents[node]];
    return node;
}

static bool wants_last(const regions_t *regions, uint32_t node) {
    const gantry__node_t *at = &regions->layout->graph->nodes[node];
    return at->kind == GANTRY__NODE_OP && gantry__layout_wants_last(at);
}

typedef void (*region_edge_fn)(const regions_t *regions, uint32_t maker, uint32_t user);

static void join_regions(const regions_t *regions, uint32_t maker, uint32_t user) {
    if (regions->layout->is_free[maker] && regions->layout->is_free[user])
        regions->parents[find_region(regions, maker)] = find_region(regions, user);
}

static void want_region(const regions_t *regions, uint32_t maker, uint32_t user) {
    if (!wants_last(regions, maker) && !wants_last(regions, user)) return;
    regions->are_wanted[find_region(regions, maker)] = true;
    regions->are_wanted[find_region(regions, user)] = true;
}

static void each_region_edge(const regions_t *regions, region_edge_fn edge) {
    const gantry__graph_t *graph = regions->layout->graph;
    for (uint32_t i = 0; i < regions->layout->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; ++k)
            edge(regions, graph->values[node->inputs[k]].node, i);
    }
}

/* Leaves the nodes that take several orders and are connected to one that wants channels last. */
static gantry_status_t find_free(gantry__layout_t *layout) {
    const gantry__graph_t *graph = layout->graph;
    const size_t count = layout->node_count;
    const regions_t regions = {
        .layout = layout,
        .parents = gantry__heap_zalloc(graph->heap, count * sizeof(uint32_t)),
        .are_wanted = gantry__heap_zalloc(graph->heap, count)};
    const bool is_made = regions.parents && regions.are_wanted;
    for (uint32_t i = 0; is_made && i < count; ++i) {
        regions.parents[i] = i;
        layout->is_free[i] = layout->is_free[i] && layout_is_able(graph, &graph->nodes[i]) &&
                             has_one_wish(graph, &graph->nodes[i]);
    }
    if (is_made) {
        each_region_edge(&regions, join_regions);
        each_region_edge(&regions, want_region);
    }
    for (uint32_t i = 0; is_made && i < count; ++i)
        layout->is_free[i] = layout->is_free[i] && regions.are_wanted[find_region(&regions, i)];
    gantry__heap_free(graph->heap, regions.parents, count * sizeof(uint32_t));
    gantry__heap_free(graph->heap, regions.are_wanted, count);
    return is_made ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* Nodes that nothing needs, and those that others wait for or share a device with, stay as they
 * are. */
static void find_candidates_of_layout(const gantry__layout_t *layout) {
    const gantry__graph_t *graph = layout->graph;
    gantry__graph_find_needed(graph, layout->is_free);
    for (uint32_t i = 0; i < layout->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->control_count; ++k)
            layout->is_free[node->controls[k]] = false;
        for (uint32_t k = 0; k < node->colocated_count; ++k)
            layout->is_free[node->colocated[k]] = false;
    }
}

/* ---- what later nodes want ---- */

static void layout_want(const gantry__layout_t *layout, uint32_t value, gantry__order_t order) {
    if (order == GANTRY__ORDER_SAME) {
        layout->is_wanted_same[value] = true;
    } else if (layout->wanted[value] == 0) {
        layout->wanted[value] = order;
    }
}

static void layout_need(const gantry__layout_t *layout, uint32_t value, gantry__order_t order) {
    layout_want(layout, value, order);
    if (order == GANTRY__ORDER_SAME) {
        layout->is_needed_same[value] = true;
    } else {
        layout->needed[value] = order;
    }
}

/* Of a Transpose's operand, what is wanted of its result. */
static void want_of_transpose(const gantry__layout_t *layout, const gantry__node_t *node) {
    const gantry__order_t back = gantry__order_invert(gantry__layout_perm(layout->graph, node)),
                          wanted = layout->wanted[node->first_output],
                          needed = layout->needed[node->first_output];
    if (wanted != 0) layout_want(layout, node->inputs[0], gantry__order_transpose(wanted, back));
    if (needed != 0) layout_need(layout, node->inputs[0], gantry__order_transpose(needed, back));
    if (layout->is_wanted_same[node->first_output]) layout_want(layout, node->inputs[0], back);
    if (layout->is_needed_same[node->first_output]) layout_need(layout, node->inputs[0], back);
}

/* Whether a node of another rank than its operand's takes images with their channels last. */
static bool takes_last(const gantry__layout_t *layout, const gantry__node_t *node,
                       const gantry__axes_op_t *op) {
    const gantry__graph_t *graph = layout->graph;
    const gantry_shape_t *operand = &graph->values[node->inputs[0]].shape;
    gantry__order_t order;
    return operand->rank != 4 || gantry__layout_forward(graph, node, op, operand,
                                                        &graph->values[node->first_output].shape,
                                                        GANTRY__ORDER_LAST, &order);
}

static void want_of_free(const gantry__layout_t *layout, size_t index) {
    const gantry__graph_t *graph = layout->graph;
    const gantry__node_t *node = &graph->nodes[index];
    const gantry__axes_op_t op = gantry__layout_op(graph, node);
    const gantry_shape_t *result = &graph->values[node->first_output].shape;
    gantry__order_t wanted = layout->wanted[node->first_output], order;
    if (op.kind == GANTRY__AXES_TRANSPOSE) {
        want_of_transpose(layout, node);
        return;
    }
    if ((op.kind == GANTRY__AXES_RESHAPE || op.kind == GANTRY__AXES_REDUCE) &&
        !takes_last(layout, node, &op)) {
        layout_need(layout, node->inputs[0], GANTRY__ORDER_SAME);
    }
    if (op.kind == GANTRY__AXES_CHANNELS && gantry__layout_is_window(node) &&
        layout->planes[index] != GANTRY__PLANES_FASTER)
        wanted = GANTRY__ORDER_LAST;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const gantry_shape_t *operand = &graph->values[node->inputs[i]].shape;
        if (!gantry__layout_is_operand(node, &op, i)) {
            layout_want(layout, node->inputs[i], GANTRY__ORDER_SAME);
        } else if (op.kind != GANTRY__AXES_RESHAPE && operand->rank != result->rank) {
            continue; /* any order will do */
        } else if (wanted != 0 &&
                   gantry__layout_backward(graph, node, &op, operand, result, wanted, &order)) {
            layout_want(layout, node->inputs[i], order);
        } else if (wanted != 0 && op.kind == GANTRY__AXES_RESHAPE && operand->rank == 4 &&
                   takes_last(layout, node, &op)) {
            layout_want(layout, node->inputs[i], GANTRY__ORDER_LAST); /* a shuffle of channels */
        } else if (wanted != 0 || layout->is_wanted_same[node->first_output]) {
            layout_want(layout, node->inputs[i], GANTRY__ORDER_SAME);
        }
    }
}

static void find_wanted(const gantry__layout_t *layout) {
    const gantry__graph_t *graph = layout->graph;
    for (uint32_t i = 0; i < graph->output_count; ++i)
        layout_need(layout, graph->outputs[i], GANTRY__ORDER_SAME);
    for (size_t i = layout->node_count; i-- > 0;) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; !layout->is_free[i] && k < node->input_count; ++k)
            layout_need(layout, node->inputs[k], GANTRY__ORDER_SAME);
        if (layout->is_free[i]) want_of_free(layout, i);
    }
}

/* ---- the walk ---- */

/* The result is there in the orders of the operand, turned. */
static gantry_status_t turn_forms(gantry__layout_t *layout, const gantry__node_t *node) {
    const gantry__order_t by = gantry__layout_perm(layout->graph, node);
    const uint32_t result = node->first_output;
    for (uint32_t at = layout->firsts[node->inputs[0]]; at != 0; at = layout->forms[at - 1].next) {
        const gantry__layout_form_t form = layout->forms[at - 1];
        GANTRY__TRY(gantry__layout_add_form(layout, result, gantry__order_transpose(form.order, by),
                                            form.value));
    }
    return GANTRY_OK;
}

static gantry_status_t layout_visit(gantry__layout_t *layout, uint32_t index) {
    const gantry__node_t *node = &layout->graph->nodes[index];
    if (!layout->is_free[index]) return gantry__layout_keep(layout, index);
    if (node->op->id == GANTRY__OP_ID_Transpose) return turn_forms(layout, node);
    const gantry__layout_choice_t choice = gantry__layout_choose(layout, index);
    return choice.operand == GANTRY__ORDER_SAME && choice.result == GANTRY__ORDER_SAME
               ? gantry__layout_keep(layout, index)
               : gantry__layout_change(layout, index, choice);
}

/* Keeps the names of the transposes that are gone, for explanations. */
static gantry_status_t note_cancelled(const gantry__layout_t *layout) {
    gantry__graph_t *graph = layout->graph;
    uint32_t count = 0;
    for (size_t i = 0; i < layout->node_count; ++i) count += !layout->is_placed[i];
    graph->cancelled = gantry__arena_zalloc(&graph->arena, count, sizeof *graph->cancelled);
    if (!graph->cancelled) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < layout->node_count; ++i) {
        if (!layout->is_placed[i])
            graph->cancelled[graph->cancelled_count++] = graph->nodes[i].name;
    }
    return GANTRY_OK;
}

static gantry_status_t layout_walk(gantry__layout_t *layout) {
    gantry__graph_t *graph = layout->graph;
    for (uint32_t i = 0; i < layout->node_count; ++i) GANTRY__TRY(layout_visit(layout, i));
    for (uint32_t i = 0; i < graph->output_count; ++i) {
        const uint32_t maker = graph->values[graph->outputs[i]].node;
        GANTRY__TRY(gantry__layout_get(layout, maker, graph->outputs[i], GANTRY__ORDER_SAME,
                                       &graph->outputs[i]));
    }
    return GANTRY_OK;
}

static gantry_status_t layout_walk_or_stay(gantry__layout_t *layout,
                                           const gantry__layout_before_t *before,
                                           bool *out_is_changed) {
    find_wanted(layout);
    GANTRY__TRY(layout_walk(layout));
    *out_is_changed = !gantry__layout_moves_more(layout, before);
    GANTRY__TRY(*out_is_changed ? note_cancelled(layout) : gantry__layout_restore(layout, before));
    return gantry__graph_rebuild(layout->graph, layout->order, layout->order_count);
}

static gantry_status_t layout_run(gantry__layout_t *layout, bool *out_is_changed) {
    gantry__layout_before_t before;
    find_candidates_of_layout(layout);
    GANTRY__TRY(find_free(layout));
    if (!memchr(layout->is_free, true, layout->node_count)) return GANTRY_OK;
    GANTRY__TRY(gantry__layout_find_planes(layout));
    gantry_status_t status = gantry__layout_remember(layout, &before);
    if (status == GANTRY_OK) status = layout_walk_or_stay(layout, &before, out_is_changed);
    gantry__layout_before_deinit(layout, &before);
    return status;
}

gantry_status_t gantry__pass_layout(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                    bool *out_is_changed) {
    const gantry__heap_t *heap = graph->heap;
    const size_t nodes = graph->node_count, values = graph->value_count;
    *out_is_changed = false;
    if (!layout_has_work(graph)) return GANTRY_OK;
    gantry__layout_t layout = {.runtime = runtime,
                               .graph = graph,
                               .node_count = nodes,
                               .value_count = values,
                               .is_free = gantry__heap_zalloc(heap, nodes),
                               .planes = gantry__heap_zalloc(heap, nodes),
                               .is_placed = gantry__heap_zalloc(heap, nodes),
                               .wanted = gantry__heap_zalloc(heap, values * sizeof(uint32_t)),
                               .is_wanted_same = gantry__heap_zalloc(heap, values),
                               .needed = gantry__heap_zalloc(heap, values * sizeof(uint32_t)),
                               .is_needed_same = gantry__heap_zalloc(heap, values),
                               .named = gantry__heap_zalloc(heap, nodes * sizeof(uint32_t)),
                               .firsts = gantry__heap_zalloc(heap, values * sizeof(uint32_t))};
    gantry_status_t status = layout.is_free && layout.planes && layout.is_placed && layout.wanted &&
                                     layout.is_wanted_same && layout.needed &&
                                     layout.is_needed_same && layout.named && layout.firsts
                                 ? layout_run(&layout, out_is_changed)
                                 : GANTRY_RESOURCE_EXHAUSTED;
    gantry__heap_free(heap, layout.is_free, nodes);
    gantry__heap_free(heap, layout.planes, nodes);
    gantry__heap_free(heap, layout.is_placed, nodes);
    gantry__heap_free(heap, layout.wanted, values * sizeof(uint32_t));
    gantry__heap_free(heap, layout.is_wanted_same, values);
    gantry__heap_free(heap, layout.needed, values * sizeof(uint32_t));
    gantry__heap_free(heap, layout.is_needed_same, values);
    gantry__heap_free(heap, layout.named, nodes * sizeof(uint32_t));
    gantry__heap_free(heap, layout.firsts, values * sizeof(uint32_t));
    gantry__heap_free(heap, layout.forms, layout.form_capacity * sizeof *layout.forms);
    gantry__heap_free(heap, layout.order, layout.order_capacity * sizeof *layout.order);
    return status == GANTRY_OK ? gantry__layout_read_planes(runtime, graph, out_is_changed)
                               : status;
}
