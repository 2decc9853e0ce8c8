/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a graph whose elements a subgraph joins. Owner and threads: as graph_description.h. */
#ifndef GANTRY_FUNCTION_GRAPH_JOIN_H
#define GANTRY_FUNCTION_GRAPH_JOIN_H

#include "function/build/graph_description.h"

/* Checks op, attributes, and numbers of inputs of a node whose one subgraph is there; sets
 * node.op to a constant text, and output_count. */
gantry_status_t gantry__graph_join_check(gantry__graph_item_t *item);
/* Runs a checked node with these inputs; body calls its subgraph. Returns the scope's status. */
gantry_status_t gantry__graph_join_run(const gantry__graph_item_t *item, gantry_scope_t *scope,
                                       const gantry_tensor_t *const *in,
                                       const gantry_tensor_t **out, gantry_function_body_fn body,
                                       void *user);

#endif
