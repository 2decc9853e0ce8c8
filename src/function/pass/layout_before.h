/* SPDX-License-Identifier: Apache-2.0 */
/* The graph as it was before the layout pass, which takes it again if more bytes would be moved.
 *
 * Owner: the pass (pass_layout.c). Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_LAYOUT_BEFORE_H
#define GANTRY_FUNCTION_LAYOUT_BEFORE_H

#include "function/pass/layout_forms.h"

typedef struct gantry__layout_before_t {
    gantry__node_t *nodes;
    gantry__value_t *values;
    uint32_t *lists; /* the inputs of all nodes, and then the outputs of the graph */
    size_t list_count;
    uint64_t moved; /* bytes */
} gantry__layout_before_t;

/* Keeps the graph. The caller must call deinit, also after a failure. */
gantry_status_t gantry__layout_remember(const gantry__layout_t *layout,
                                        gantry__layout_before_t *out);
void gantry__layout_before_deinit(const gantry__layout_t *layout, gantry__layout_before_t *before);

/* Whether the nodes of the new graph move more bytes than those of the old one did: by transposes,
 * and by windows of images whose channels come first, which count as two where no kernel is made
 * for them. */
bool gantry__layout_moves_more(const gantry__layout_t *layout,
                               const gantry__layout_before_t *before);
/* Takes the old graph again: the new order is that of its nodes. */
gantry_status_t gantry__layout_restore(gantry__layout_t *layout,
                                       const gantry__layout_before_t *before);

#endif
