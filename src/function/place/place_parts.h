/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the placer of graphs: its request and its result, one node, groups of nodes, and
 * refusals as text.
 *
 * Owner: the request and what it points to are the caller's. Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_PLACE_PARTS_H
#define GANTRY_FUNCTION_PLACE_PARTS_H

#include "base/arena.h"
#include "function/trace/graph.h"
#include "place/crossover.h"
#include "place/plan_cache.h"

/* The place where a node runs, and the reason. */
typedef struct gantry__node_place_t {
    gantry_logical_device_t *device; /* NULL: wherever it is used (arguments, constants) */
    /* the device to name: device; else where a constant is requested, or where an argument or
     * constant is used first; NULL: nowhere */
    gantry_logical_device_t *home;
    gantry__kept_plan_t *kept; /* NULL: there was no call of the placer */
    uint32_t choice;           /* the number of the chosen one of the plan's kernels */
    gantry_placement_reason_t reason;
    uint32_t decided_by; /* for a colocated node, the node of its group that decided + 1; else 0 */
    bool is_apart;       /* soft placement ignored a colocation of this node */
    /* the device that costs more, for the reason CROSSOVER; else NULL */
    const gantry_logical_device_t *other;
    /* the cost of the node and the copies around it, there and on other */
    double cost_ns, other_cost_ns;
} gantry__node_place_t;

typedef struct gantry__graph_place_t {
    const gantry__graph_t *graph;
    gantry__place_request_t rules; /* devices, registries and settings; the rest is the node's */
    gantry__plan_cache_t *plans;
    /* the costs by position of the view; NULL: crossover is off */
    const gantry__device_cost_t *costs;
    /* Must return the one object of a request that merges those of several nodes. */
    gantry_status_t (*make_wish)(void *owner, const gantry__device_reference_t *reference,
                                 const gantry__wish_t **out_wish);
    /* Must place the bodies of a branch or a loop, and the node itself. */
    gantry_status_t (*place_bodies)(void *owner, uint32_t node, gantry__node_place_t *place);
    /* Gets a text on each colocation that soft placement ignores; NULL: nothing is reported. */
    void (*tell)(void *owner, const char *text);
    void *owner;
} gantry__graph_place_t;

/* ---- one node: place_node.c ---- */

/* What a graph adds to the rules for one node. */
typedef struct gantry__node_ask_t {
    const gantry__wish_t *wish;      /* NULL: none */
    gantry_logical_device_t *pinned; /* NULL: not */
    gantry_placement_reason_t pin_reason;
    /* these fields are those of gantry__place_request_t */
    const uint64_t *allowed;
    const gantry_logical_device_t *passed_over;
    gantry_refusal_t passed_why;
} gantry__node_ask_t;

bool gantry__node_is_alias(const gantry__node_t *node);
/* Whether it is an alias with the elements of its input: all but Bitcast. */
bool gantry__node_is_reshape(const gantry__node_t *node);
/* Whether the node requests a device. */
bool gantry__node_is_asked(const gantry__node_t *node);

/* The kept plan of a node that needs no kernel's opinion (constants, variables, aliases), refused
 * or not; NULL: memory ran out. */
gantry__kept_plan_t *gantry__node_plan(const gantry__graph_place_t *request, uint32_t node,
                                       const gantry__node_ask_t *ask);
/* Places an op. Fails with the eager placer's text; *out_refused, if not NULL, is then the refused
 * plan or NULL. */
gantry_status_t gantry__place_op(const gantry__graph_place_t *request, uint32_t node,
                                 const gantry__node_ask_t *ask, gantry__node_place_t *place,
                                 const gantry__kept_plan_t **out_refused);
/* Whether an op can run on a device. Opens no device; one that is closed cannot judge shapes, and
 * counts as willing. */
gantry_status_t gantry__node_fits(const gantry__graph_place_t *request, uint32_t node,
                                  gantry_logical_device_t *device, bool *out_fits);

/* ---- groups: place_groups.c ---- */

/* A set of nodes that share one device. */
typedef struct gantry__place_group_t {
    uint64_t *allowed;               /* devices on which all members can run */
    gantry_logical_device_t *pinned; /* the home of its variables, or NULL */
    const gantry__wish_t *wish;      /* the merged request of all members; NULL: none */
    bool floats;                     /* no member decides: constants, arguments, aliases */
    gantry_logical_device_t *device; /* if it floats: where its first alias is, or NULL */
    uint32_t first;                  /* the number of that alias + 1 */
} gantry__place_group_t;

typedef struct gantry__place_groups_t {
    const gantry__graph_place_t *request;
    gantry__arena_t memory;
    /* for each node, its parent in its group's tree; NULL: no node is colocated */
    uint32_t *parents;
    uint32_t *next;                 /* for each node, the next member; a ring */
    gantry__place_group_t **groups; /* for each node that is a root; NULL: not made yet */
    size_t words;                   /* the words of a mask of devices */
} gantry__place_groups_t;

/* Unites the nodes that are colocated. places: gets is_apart. */
gantry_status_t gantry__place_groups_init(gantry__place_groups_t *groups,
                                          const gantry__graph_place_t *request,
                                          gantry__node_place_t *places);
void gantry__place_groups_deinit(gantry__place_groups_t *groups);
/* Whether the node shares a group with others. */
bool gantry__place_groups_has(const gantry__place_groups_t *groups, uint32_t node);
/* Places all members of the node's group that are ops; others only get decided_by. In a group of
 * constants, arguments and aliases only the node itself, if it is an alias. */
gantry_status_t gantry__place_groups_place(gantry__place_groups_t *groups, uint32_t node,
                                           gantry__node_place_t *places);

/* ---- crossover: place_crossover.c ---- */

/* Moves placed ops that the rules leave free to where they cost least. Aliases that are where their
 * input is do not follow yet. */
gantry_status_t gantry__place_crossover(const gantry__graph_place_t *request,
                                        const gantry__place_groups_t *groups,
                                        gantry__node_place_t *places);

/* ---- refusals: place_refusal.c ---- */

/* Puts TensorFlow's text for the node in place of the last message. refused: its plan, or NULL.
 * group: its colocation group, or NULL. */
gantry_status_t gantry__place_refuse(const gantry__graph_place_t *request, uint32_t node,
                                     const gantry__node_ask_t *ask,
                                     const gantry__kept_plan_t *refused,
                                     const gantry__place_groups_t *groups, gantry_status_t status);

#endif
