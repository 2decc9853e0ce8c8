/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the layout pass: in which orders of axes (layout_perm.h) each value of the body is
 * there, the nodes of the new graph in their order, and what makes a value in another order.
 *
 * Owner: the pass (pass_layout.c). Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_LAYOUT_FORMS_H
#define GANTRY_FUNCTION_LAYOUT_FORMS_H

#include "function/pass/fused_node.h"
#include "function/pass/layout_ops.h"

enum { GANTRY__LAYOUT_NUMBERS = 8 };

/* How a window's kernel for images whose channels come first compares with that for channels
 * last. */
typedef enum gantry__layout_planes_t {
    GANTRY__PLANES_SLOW,   /* takes longer by more than two transposes */
    GANTRY__PLANES_SLOWER, /* by half as much as the transposes: pools on processors */
    GANTRY__PLANES_ALIKE,  /* pools on cards */
    GANTRY__PLANES_FASTER  /* depthwise convolutions of few channels */
} gantry__layout_planes_t;

/* A stored tensor that has a value's elements. */
typedef struct gantry__layout_form_t {
    gantry__order_t order;
    uint32_t value; /* of the new graph */
    uint32_t next;  /* the next form of the same value + 1; 0: none */
} gantry__layout_form_t;

typedef struct gantry__layout_t {
    gantry_runtime_t *runtime;
    gantry__graph_t *graph;
    size_t node_count, value_count; /* when the pass began */
    bool *is_free;                  /* by node: may take and give other orders */
    uint8_t *planes;                /* by node that is a window: gantry__layout_planes_t */
    gantry__order_t *wanted;        /* by value: the order that a later node wants; 0: none */
    bool *is_wanted_same;           /* by value: a later node wants it as the body has it */
    gantry__order_t *needed;        /* by value: the order that a later node must have; 0: none */
    bool *is_needed_same;           /* by value: a later node must have it as the body does */
    bool *is_placed;                /* by node: is in the new graph */
    uint32_t *named;                /* by node: nodes that were added with its name */
    uint32_t *firsts;               /* by value: its first form + 1; 0: it is not made yet */
    gantry__layout_form_t *forms;
    uint32_t *order; /* the nodes of the new graph */
    /* constants that were added last, which later nodes may use, too; a ring */
    uint32_t numbers[GANTRY__LAYOUT_NUMBERS];
    uint32_t numbers_count;
    size_t form_count, form_capacity, order_count, order_capacity;
} gantry__layout_t;

/* The shape that the body gives the value. */
gantry_shape_t gantry__layout_shape(const gantry__layout_t *layout, uint32_t value);
/* The value's form of this order; NULL: it is not there. */
const gantry__layout_form_t *gantry__layout_find(const gantry__layout_t *layout, uint32_t value,
                                                 gantry__order_t order);
/* Bytes that must be moved to make the value in this order; 0 for a constant, which is changed
 * once, and if it is made in any case. */
uint64_t gantry__layout_cost(const gantry__layout_t *layout, uint32_t value, gantry__order_t order);

gantry_status_t gantry__layout_add_form(gantry__layout_t *layout, uint32_t value,
                                        gantry__order_t order, uint32_t stored);
/* The node is next in the new graph. */
gantry_status_t gantry__layout_place(gantry__layout_t *layout, uint32_t node);
/* The value in this order for a user, for which nodes are added if it is not there. */
gantry_status_t gantry__layout_get(gantry__layout_t *layout, uint32_t user, uint32_t value,
                                   gantry__order_t order, uint32_t *out_stored);
/* An operand of a result of `rank` in this order, as far as broadcasting needs it: of lower rank,
 * or without axes of size 1 in front. */
gantry_status_t gantry__layout_get_lower(gantry__layout_t *layout, uint32_t user, uint32_t value,
                                         int32_t rank, gantry__order_t order, uint32_t *out_stored);

/* A constant of int32 or int64 numbers, for the node. */
gantry_status_t gantry__layout_add_numbers(gantry__layout_t *layout, uint32_t node,
                                           gantry_dtype_t dtype, const gantry_shape_t *shape,
                                           const int64_t *numbers, uint32_t *out_value);
/* A Reshape of a stored tensor, made for the node. */
gantry_status_t gantry__layout_add_view(gantry__layout_t *layout, uint32_t node, uint32_t stored,
                                        const gantry_shape_t *shape, uint32_t *out_value);
/* A Transpose of a stored matrix, made for the node. */
gantry_status_t gantry__layout_add_matrix_turn(gantry__layout_t *layout, uint32_t node,
                                               uint32_t stored, uint32_t *out_value);
/* Makes the node this op of these inputs and attributes, if the result then has this shape; else
 * *out_is_set is false, and the node stays. */
gantry_status_t gantry__layout_set(gantry__layout_t *layout, uint32_t node, gantry__op_id_t op,
                                   const uint32_t *inputs, uint32_t input_count,
                                   const gantry_attr_t *attrs, uint32_t attr_count,
                                   const gantry_shape_t *result, bool *out_is_set);

#endif
