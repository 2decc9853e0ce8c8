/* SPDX-License-Identifier: Apache-2.0 */
/* The placer of graphs: gives each node a device, kernels and one reason.
 *
 * A function of its request: graph, devices, kernels and settings. Equal requests get equal
 * places. It opens a device before it asks a kernel there about shapes. Externally synchronised. */
#ifndef GANTRY_FUNCTION_PLACE_GRAPH_H
#define GANTRY_FUNCTION_PLACE_GRAPH_H

#include "function/graph.h"
#include "place/plan_cache.h"

/* Where a node runs, and why. */
typedef struct gantry__node_place_t {
    gantry_logical_device_t *device; /* NULL: wherever it is used (arguments, constants) */
    /* the device to name: device, or where an argument or constant is used first; NULL: nowhere */
    gantry_logical_device_t *home;
    gantry__kept_plan_t *kept; /* NULL: the placer was not asked */
    uint32_t choice;           /* of its kernels */
    gantry_placement_reason_t reason;
    uint32_t decided_by; /* of a colocated node: the node of its group that decided + 1; else 0 */
    bool is_apart;       /* soft placement ignored a colocation of this node */
} gantry__node_place_t;

typedef struct gantry__graph_place_t {
    const gantry__graph_t *graph;
    gantry__place_request_t rules; /* devices, registries and settings; the rest is the node's */
    gantry__plan_cache_t *plans;
    /* The one object of a request that merges those of several nodes. */
    gantry_status_t (*make_wish)(void *owner, const gantry__device_reference_t *reference,
                                 const gantry__wish_t **out_wish);
    /* Is told each colocation that soft placement ignores; NULL: no one is. */
    void (*tell)(void *owner, const char *text);
    void *owner;
} gantry__graph_place_t;

/* Fills graph->node_count places, which are zero. A node that no device can run fails with
 * TensorFlow's text, "Cannot assign a device for operation NAME: " in front. */
gantry_status_t gantry__place_graph(const gantry__graph_place_t *request,
                                    gantry__node_place_t *places);

#endif
