/* SPDX-License-Identifier: Apache-2.0 */
/* Passes: a graph after its trace becomes one that computes the same bits with less work.
 *
 *     (check)   constants request devices that may have them
 *     fold      nodes whose inputs are all constants become constants
 *     common    of nodes that compute the same, only the first is kept
 *     pool      the gradient of a max pool takes that of the Relu in front of it
 *     dead      nodes that nothing needs go
 *     layout    transposes around convolutions cancel; fold, common and dead run again if so
 *     shuffle   (a part of layout) channels are made in the order of a shuffle after them
 *     epilogues a product's node takes the elementwise nodes after it
 *     fuse      elementwise nodes of one device become one node
 *     updates   such nodes that update variables with one program become one node
 *
 * They must run in this order, before the graph is placed. Two more run later, over a schedule:
 * copies begin early, and results are written in place (schedule_copies.c, schedule_overwrite.c).
 * For a memory budget, the nodes get another order, and then some run again. graph->passes_off
 * leaves some out.
 *
 * Owner: what a pass makes belongs to the graph. Threads: externally synchronised, like the
 * graph. */
#ifndef GANTRY_FUNCTION_PASS_H
#define GANTRY_FUNCTION_PASS_H

#include <gantry/function.h>

#include "function/trace/graph.h"
#include "run/runtime_state.h"

/* Runs all passes over a graph that are on. */
gantry_status_t gantry__passes_run(gantry_runtime_t *runtime, gantry__graph_t *graph);

/* ---- one by one ---- */

gantry_status_t gantry__pass_fold(gantry_runtime_t *runtime, gantry__graph_t *graph);
gantry_status_t gantry__pass_common(gantry__graph_t *graph);
gantry_status_t gantry__pass_dead(gantry__graph_t *graph);
/* Puts the nodes in an order in which fewer bytes live at a time; effects keep their order.
 * out_places must have room for all nodes, and gets the new position of each; gantry__graph_rebuild
 * with these positions restores the order. */
gantry_status_t gantry__pass_order(gantry__graph_t *graph, uint32_t *out_places);
gantry_status_t gantry__pass_pool(gantry__graph_t *graph);
/* *out_is_changed: whether the graph is another one. */
gantry_status_t gantry__pass_layout(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                    bool *out_is_changed);
/* The same; a layout pass of its own, which follows the other. */
gantry_status_t gantry__pass_shuffle(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                     bool *out_is_changed);
/* The same, after fusing: convolutions write results whose channels come first. */
gantry_status_t gantry__pass_give_planes(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                         bool *out_is_changed);
gantry_status_t gantry__pass_epilogues(gantry_runtime_t *runtime, gantry__graph_t *graph);
/* Makes cheap values again in front of late uses, until wanted_bytes fewer live at a time, or until
 * no more can be saved, or until the graph has most_nodes. *out_made: how many nodes are added. */
gantry_status_t gantry__pass_recompute(gantry__graph_t *graph, uint64_t wanted_bytes,
                                       size_t most_nodes, uint32_t *out_made);
gantry_status_t gantry__pass_fuse(gantry_runtime_t *runtime, gantry__graph_t *graph);
gantry_status_t gantry__pass_updates(gantry_runtime_t *runtime, gantry__graph_t *graph);

/* ---- for passes ---- */

/* Adds to `uses`, by value, how often nodes and the graph's outputs take the value. */
void gantry__pass_count_uses(const gantry__graph_t *graph, uint32_t *uses);
/* Appends a constant in host memory with what `user`, a node of the graph, requests. The graph may
 * move its nodes. */
gantry_status_t gantry__pass_add_constant(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                          const gantry__node_t *user, const char *name,
                                          gantry_dtype_t dtype, const gantry_shape_t *shape,
                                          const void *data, uint32_t *out_value);

#endif
