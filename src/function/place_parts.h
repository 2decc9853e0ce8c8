/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the placer of graphs: one node, groups of nodes, refusals as text.
 * Externally synchronised. */
#ifndef GANTRY_FUNCTION_PLACE_PARTS_H
#define GANTRY_FUNCTION_PLACE_PARTS_H

#include "base/arena.h"
#include "function/place_graph.h"

/* ---- one node: place_node.c ---- */

/* What a graph adds to the rules for one node. */
typedef struct gantry__node_ask_t {
    const gantry__wish_t *wish;      /* NULL: none */
    gantry_logical_device_t *pinned; /* NULL: not */
    gantry_placement_reason_t pin_reason;
    const uint64_t *allowed; /* as in gantry__place_request_t */
} gantry__node_ask_t;

bool gantry__node_is_alias(const gantry__node_t *node);
/* It requests a device. */
bool gantry__node_is_asked(const gantry__node_t *node);

/* The kept plan of a node that needs no kernel's opinion (constants, variables, aliases); NULL: it
 * is refused, or memory ran out. */
gantry__kept_plan_t *gantry__node_plan(const gantry__graph_place_t *request, uint32_t node,
                                       const gantry__node_ask_t *ask);
/* Places an op. Fails with the eager placer's text; *out_refused, if not NULL, is then the refused
 * plan or NULL. */
gantry_status_t gantry__place_op(const gantry__graph_place_t *request, uint32_t node,
                                 const gantry__node_ask_t *ask, gantry__node_place_t *place,
                                 const gantry__kept_plan_t **out_refused);
/* Whether an op can run on a device. Opens no device: one that is closed cannot be asked about
 * shapes, and counts as willing. */
gantry_status_t gantry__node_fits(const gantry__graph_place_t *request, uint32_t node,
                                  gantry_logical_device_t *device, bool *out_fits);

/* ---- groups: place_groups.c ---- */

/* A set of nodes that share one device. */
typedef struct gantry__place_group_t {
    uint64_t *allowed;               /* devices on which all members can run */
    gantry_logical_device_t *pinned; /* the home of its variables, or NULL */
    const gantry__wish_t *wish;      /* of all members together; NULL: none */
    bool floats;                     /* no member decides: constants, arguments, their aliases */
} gantry__place_group_t;

typedef struct gantry__place_groups_t {
    const gantry__graph_place_t *request;
    gantry__arena_t memory;
    uint32_t *parents; /* of each node, in its group's tree; NULL: no node is colocated */
    uint32_t *next;    /* of each node: the next member; a ring */
    gantry__place_group_t **groups; /* of each node that is a root; NULL: not made yet */
    size_t words;                   /* of a mask of devices */
} gantry__place_groups_t;

/* Unites the nodes that are colocated. places: gets is_apart. */
gantry_status_t gantry__place_groups_init(gantry__place_groups_t *groups,
                                          const gantry__graph_place_t *request,
                                          gantry__node_place_t *places);
void gantry__place_groups_deinit(gantry__place_groups_t *groups);
/* Whether the node shares a group with others. */
bool gantry__place_groups_has(const gantry__place_groups_t *groups, uint32_t node);
/* Places all members of the node's group that are ops; others only get decided_by. A group of
 * nodes that all float is left as it is. */
gantry_status_t gantry__place_groups_place(gantry__place_groups_t *groups, uint32_t node,
                                           gantry__node_place_t *places);

/* ---- refusals: place_refusal.c ---- */

/* Puts TensorFlow's text for the node in place of the last message. refused: its plan, or NULL.
 * group: its colocation group, or NULL. */
gantry_status_t gantry__place_refuse(const gantry__graph_place_t *request, uint32_t node,
                                     const gantry__node_ask_t *ask,
                                     const gantry__kept_plan_t *refused,
                                     const gantry__place_groups_t *groups, gantry_status_t status);

#endif
