/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the fusion pass: groups of nodes (pass_fuse.c), what makes rows a group
 * (fused_rows.c), and the node that stands for one (fused_node.c).
 *
 * Plain values of the pass. Externally synchronised. */
#ifndef GANTRY_FUNCTION_PASS_FUSE_H
#define GANTRY_FUNCTION_PASS_FUSE_H

#include "function/pass.h"
#include "op/fused_program.h"

/* A number by value or node, for those that were there when the pass began. */
typedef struct gantry__fusing_t {
    gantry_runtime_t *runtime;
    gantry__graph_t *graph;
    bool joins_rows; /* groups hold reductions over the last axis; else elementwise nodes alone */
    size_t node_count, value_count;          /* when the pass began */
    const gantry_logical_device_t **devices; /* by node: of a candidate; NULL: of no candidate */
    bool *is_needed;                         /* by node */
    uint32_t *uses;                          /* by value: inputs of needed nodes, results */
    uint32_t *operands;                      /* by value: in the program that is made, + 1 */
    uint32_t *uses_left;  /* by value of a member: uses by nodes that are no members yet */
    uint32_t *new_values; /* by value: what replaces it; itself: nothing */
    uint32_t *new_nodes;  /* by node: the fused node it is in; itself: none */
    bool *is_last;        /* by node: the last member of a fused node */
} gantry__fusing_t;

/* The shape of a candidate's result. */
static inline const gantry__value_t *gantry__fusing_result(const gantry__fusing_t *fusing,
                                                           uint32_t node) {
    return &fusing->graph->values[fusing->graph->nodes[node].first_output];
}

/* Sets fusing->devices[node] if a program may have the node. */
gantry_status_t gantry__fusing_ask(gantry__fusing_t *fusing, uint32_t node);

/* Puts one node in the place of as many of the members, from the first on, as one program may have;
 * sets *out_taken, which is 1 if the first one stays alone. Members have one device and shape and
 * are in program order; nothing between them needs an earlier one's result. */
gantry_status_t gantry__fusing_join(gantry__fusing_t *fusing, const uint32_t *members,
                                    uint32_t count, uint32_t *out_taken);

/* ---- rows ---- */

typedef struct gantry__fusing_rows_t {
    gantry_shape_t lead; /* the shape but for its last dimension */
    int64_t length;      /* 0: any, since the node has one element for each row */
} gantry__fusing_rows_t;

/* The instruction of a reduction over the last axis; GANTRY__FUSED_COUNT: it is none that a program
 * may have, or groups have no reductions. */
gantry__fused_id_t gantry__fusing_reduction(const gantry__fusing_t *fusing,
                                            const gantry__node_t *node);
/* The rows of a candidate; a reduction has those of its operand. */
gantry__fusing_rows_t gantry__fusing_rows_of(const gantry__fusing_t *fusing, uint32_t node);
/* Whether it is a reduction whose result has no last dimension: no member may use that. */
bool gantry__fusing_ends_rows(const gantry__node_t *node);

#endif
