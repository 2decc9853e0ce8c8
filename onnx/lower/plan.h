/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a model before its sizes are: the row of each node, the nodes that outputs need,
 * and the values that are made of constants.
 *
 * Owner: the constants of the model. Threads: does not change once it is made. */
#ifndef GANTRY_ONNX_PLAN_H
#define GANTRY_ONNX_PLAN_H

#include "onnx/graph/graph.h"
#include "onnx/table/rows.h"

/* A graph of the model and the place of its nodes in the plan's list. */
typedef struct onnx_plan_graph_t {
    const gantry__onnx_graph_t *graph;
    size_t first_node;
    bool is_needed; /* A node that outputs need has it. */
    bool is_marked; /* What its outputs need is marked. */
} onnx_plan_graph_t;

/* A node that this library refuses, with the reason. */
typedef struct gantry__onnx_refusal_t {
    const gantry__onnx_node_t *node;
    const gantry__onnx_graph_t *graph;
    size_t position; /* In the plan's list of nodes; refusals are in its order. */
    gantry_status_t status;
    char *reason;
} gantry__onnx_refusal_t;

/* A plan. */
typedef struct gantry__onnx_plan_t {
    const gantry__onnx_graph_model_t *model;
    onnx_plan_graph_t *graphs; /* Those that nodes have, each once. */
    uint32_t *places;          /* By graph: 1 and its place among these; 0: no node has it. */
    size_t graph_count, graph_capacity, node_count;
    const gantry__onnx_row_t **rows; /* By node; NULL: refused, or nobody needs the node. */
    uint8_t *is_needed;              /* By value. */
    uint8_t *is_constant;            /* By value. */
    uint8_t *is_folded;              /* By node: a convolution before it does its work. */
    uint32_t *next_folded; /* By node: 1 and the position of the node that is folded into it. */
    gantry__onnx_refusal_t *refusals;
    size_t refusal_count, refusal_capacity;
} gantry__onnx_plan_t;

gantry_status_t gantry__onnx_plan_init(gantry__onnx_plan_t *plan,
                                       const gantry__onnx_graph_model_t *model);
void gantry__onnx_plan_deinit(gantry__onnx_plan_t *plan);
/* The refusal of the node at a position; NULL: it is not refused. */
const gantry__onnx_refusal_t *gantry__onnx_plan_refusal(const gantry__onnx_plan_t *plan,
                                                        size_t position);
/* The place of a graph's first node in the plan's list. */
size_t gantry__onnx_plan_first(const gantry__onnx_plan_t *plan, const gantry__onnx_graph_t *graph);

#endif
