/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the fusion passes: groups of nodes (pass_fuse.c), what makes rows a group
 * (fused_rows.c), and the node that replaces a group (fused_node.c), or a group and the product
 * before it (fused_product.c).
 *
 * Owner: plain values of the pass. Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_PASS_FUSE_H
#define GANTRY_FUNCTION_PASS_FUSE_H

#include "function/pass/pass.h"
#include "op/fused_program.h"

/* A number by value or node, for those that were there when the pass began. */
/* What the groups of a pass become. */
typedef enum gantry__fusing_what_t {
    GANTRY__FUSING_ELEMENTWISE, /* nodes of their own */
    GANTRY__FUSING_ROWS,        /* the same with reductions over the last axis */
    GANTRY__FUSING_PRODUCTS     /* parts of the products before them */
} gantry__fusing_what_t;

typedef struct gantry__fusing_t {
    gantry_runtime_t *runtime;
    gantry__graph_t *graph;
    gantry__fusing_what_t what;
    size_t node_count, value_count;          /* when the pass began */
    const gantry_logical_device_t **devices; /* by node: of a candidate; NULL: of no candidate */
    bool *is_needed;                         /* by node */
    bool *is_colocated;   /* by node: shares its device with another by request */
    uint32_t *kernels;    /* by node: nodes before it that run and are no candidates */
    uint32_t *last_use;   /* by value: the last needed node that uses it; node_count: a result */
    uint32_t *uses;       /* by value: inputs of needed nodes, results */
    uint32_t *operands;   /* by value: in the program that is made, + 1 */
    uint32_t *uses_left;  /* by value of a member: uses by nodes that are no members yet */
    uint32_t *new_values; /* by value: what replaces it; itself: nothing */
    uint32_t *new_nodes;  /* by node: the fused node it is in; itself: none */
    bool *is_last;        /* by node: the last member of a fused node */
    uint32_t *views;      /* by node that is_last: a view of the fused node's result; 0: none */
} gantry__fusing_t;

/* The shape of a candidate's result. */
static inline const gantry__value_t *gantry__fusing_result(const gantry__fusing_t *fusing,
                                                           uint32_t node) {
    return &fusing->graph->values[fusing->graph->nodes[node].first_output];
}

/* Whether each call makes the value and nothing else holds it: it is no argument, no constant and
 * no variable's value. */
bool gantry__fusing_is_temporary(const gantry__graph_t *graph, uint32_t value);

/* Sets fusing->devices[node] if a program may have the node. */
gantry_status_t gantry__fusing_ask(gantry__fusing_t *fusing, uint32_t node);

/* Puts one node in the place of as many of the members, from the first on, as one program may have;
 * sets *out_taken, which is 1 if the first one is joined with no other. Members must have one
 * device and shape and be in program order; nothing between them may need an earlier one's
 * result. */
gantry_status_t gantry__fusing_join(gantry__fusing_t *fusing, const uint32_t *members,
                                    uint32_t count, uint32_t *out_taken);
/* Puts new_values and new_nodes in the place of those of the graph. */
void gantry__fusing_redirect(const gantry__fusing_t *fusing);
/* Whether the node is an op that may take a program. */
bool gantry__fusing_is_product(const gantry__node_t *node);
/* Puts one node in the place of all members and a product that only they use, if there is one and
 * the kernel that computes it takes them, too. */
gantry_status_t gantry__fusing_join_product(gantry__fusing_t *fusing, const uint32_t *members,
                                            uint32_t count);

/* ---- rows ---- */

typedef struct gantry__fusing_rows_t {
    gantry_shape_t lead; /* the shape but for its last dimension */
    int64_t length;      /* 0: any, because the node has one element for each row */
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
