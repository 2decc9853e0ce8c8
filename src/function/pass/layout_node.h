/* SPDX-License-Identifier: Apache-2.0 */
/* One node of the layout pass: in which order of axes it is computed, and the node for that order.
 *
 * Owner: plain values of the pass. Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_LAYOUT_NODE_H
#define GANTRY_FUNCTION_LAYOUT_NODE_H

#include "function/pass/layout_forms.h"

/* The orders of a node's operands and of its result. */
typedef struct gantry__layout_choice_t {
    gantry__order_t operand, result;
} gantry__layout_choice_t;

/* The choice by which fewest bytes are moved for the node and for those after it. */
gantry__layout_choice_t gantry__layout_choose(const gantry__layout_t *layout, uint32_t index);
/* Puts the node into the new graph: as the body has it, or by this choice. */
gantry_status_t gantry__layout_keep(gantry__layout_t *layout, uint32_t index);
gantry_status_t gantry__layout_change(gantry__layout_t *layout, uint32_t index,
                                      gantry__layout_choice_t choice);

/* Before the walk: notes which windows have kernels for channels first. */
gantry_status_t gantry__layout_find_planes(const gantry__layout_t *layout);
/* After the walk: convolutions of few channels read images whose channels come first. Sets
 * *out_is_changed if one does. */
gantry_status_t gantry__layout_read_planes(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                           bool *out_is_changed);

#endif
