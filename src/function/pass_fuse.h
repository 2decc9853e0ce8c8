/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the fusion passes: groups of elementwise nodes (pass_fuse.c), and the node that
 * stands for one (fused_node.c), or for one and the product before it (fused_product.c).
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
    bool of_products; /* groups go into products; else each becomes a node of its own */
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

/* Made by each call and held by nothing else: not an argument, a constant or a variable's value. */
bool gantry__fusing_is_temporary(const gantry__graph_t *graph, uint32_t value);

/* Sets fusing->devices[node] if a program may have the node. */
gantry_status_t gantry__fusing_ask(gantry__fusing_t *fusing, uint32_t node);

/* Puts one node in the place of as many of the members, from the first on, as one program may have;
 * sets *out_taken, which is 1 if the first one stays alone. Members have one device and shape and
 * are in program order; nothing between them needs an earlier one's result. */
gantry_status_t gantry__fusing_join(gantry__fusing_t *fusing, const uint32_t *members,
                                    uint32_t count, uint32_t *out_taken);
/* Whether the node is an op that may take a program. */
bool gantry__fusing_is_product(const gantry__node_t *node);
/* Puts one node in the place of all members and a product that only they use, if there is one and
 * the kernel that computes it takes them, too. */
gantry_status_t gantry__fusing_join_product(gantry__fusing_t *fusing, const uint32_t *members,
                                            uint32_t count);

#endif
